// What each pass of the converter and the compiler did to a graph.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "model/graph_model.h"

namespace poprt::inspector {

enum class Change { none, added, removed, changed };

// Nodes are the same when their first outputs have one name, else when they have one name
// themselves. Of `after` what was added or changed, per node; and the nodes of `before` that are
// gone.
struct GraphChanges {
  std::vector<Change> after;
  std::vector<int> before;  // what each node of `after` was; kNone: added
  std::vector<int> removed;
  size_t added = 0, changed = 0;
};

struct PassStep {
  std::string name, summary, stage;  // stage: "model", "convert", "compile"
  int64_t rewrites = 0;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
  std::shared_ptr<const GraphModel>
      graph;  // after it; that of the step before when nothing changed
  std::shared_ptr<const GraphChanges> changes;  // since the step before; null when nothing changed
  size_t added = 0, removed = 0, changed = 0;
};

struct Compilation {
  std::vector<PassStep> steps;                      // the first is the model as it was read
  std::shared_ptr<const program::Program> program;  // null when compiling failed
  std::vector<program::Weight> weights;             // of the program
  std::string error;                                // why; the steps before it are here
};

// Runs the pipeline on a copy. `progress` gets 0..1; throws Error(cancelled) only.
Compilation compile_with_history(
    const ir::Graph& graph, const compiler::Options& options = {},
    const std::atomic<bool>* cancel = nullptr,
    const std::function<void(double, std::string_view)>& progress = {});

// Options under which a model compiles that leaves dimensions open: each is 1, for looking at.
// `assumed` gets what that is, "image=1×1×8×8", and stays empty when nothing is open.
compiler::Options options_for_looking(const ir::Graph& graph, std::string& assumed);

GraphChanges changes_between(const GraphModel& before, const GraphModel& after);

// What one step did to a node.
struct NodeEvent {
  int step = 0;
  Change change = Change::none;
  std::string was, node, op;  // its operator before; its name and operator after
};

// What the steps did to a node of the graph of `step`, before it and after it; a node that was
// taken away goes on in the one that took its place. The first event says where it came from: the
// model (step 0) or the pass that made it.
std::vector<NodeEvent> history_of(const Compilation& compilation, int step, int node);
// One line: "Relu became poprt.Conv".
std::string event_text(const NodeEvent& event);

}  // namespace poprt::inspector

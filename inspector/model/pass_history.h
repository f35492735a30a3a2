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

struct PassStep {
  std::string name, summary, stage;  // stage: "model", "convert", "compile"
  int64_t rewrites = 0;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
  std::shared_ptr<const GraphModel>
      graph;  // after it; that of the step before when nothing changed
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

// Nodes are the same when their first outputs have one name. Of `after` what was added or changed,
// per node; and the nodes of `before` that are gone.
struct GraphChanges {
  std::vector<Change> after;
  std::vector<int> removed;
  size_t added = 0, changed = 0;
};
GraphChanges changes_between(const GraphModel& before, const GraphModel& after);

// The step after which a node with that first output exists for the first time; -1 when none has
// it.
int step_that_made(const Compilation& compilation, std::string_view output);

}  // namespace poprt::inspector

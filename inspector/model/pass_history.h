// What each pass of the converter and the compiler did to a graph.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver.h"
#include "model/graph_model.h"
#include "model/program_model.h"

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
  // The first is the model as it was read. Where several parts are compiled, models of a fused one
  // or a model at several shapes, each part begins with a step of stage "model".
  std::vector<PassStep> steps;
  std::shared_ptr<const program::Program> program;  // null when compiling failed
  std::vector<program::Weight> weights;             // of the program
  std::map<std::string, std::string> notes;         // opaque blobs that belong to it, by name
  std::string error;                                // why; the steps before it are here
};

// Compiles a copy (compiler/driver.h). `progress` gets 0..1; throws Error(cancelled) only.
Compilation compile_with_history(
    const ir::Graph& graph, const compiler::DriverOptions& options = {},
    const std::atomic<bool>* cancel = nullptr,
    const std::function<void(double, std::string_view)>& progress = {});

// What was compiled, with its variants by name; null when compiling failed.
std::shared_ptr<const ProgramModel> program_model(const Compilation& compilation);

// Shapes of inputs that leave dimensions open; several of an input: a model at several shapes.
using ChosenShapes = std::map<std::string, std::vector<Shape>>;
// "image=1,3,224,224 mask=1,8", in words separated by blanks; several shapes of an input have / in
// between, or a word each. Throws invalid_argument.
ChosenShapes read_shapes(std::string_view words);
// The inputs that leave dimensions open, in the shapes that options_for_looking() gives them, as
// read_shapes() reads them; empty: there are none.
std::string shapes_text(const ir::Graph& graph, const ChosenShapes& chosen = {});

// Options under which a model compiles for looking at: dimensions that it leaves open are as
// chosen, else 1, of pictures 224 on each side; and it is for as many IPUs and stages as it was cut
// for. `assumed` gets what of it nobody chose, "image=1×1×8×8, 2 IPUs". Throws invalid_argument for
// a chosen shape of an input that the graph does not have, or that contradicts it, and for inputs
// with different numbers of shapes.
compiler::DriverOptions options_for_looking(const ir::Graph& graph, std::string& assumed,
                                            const ChosenShapes& chosen = {});

GraphChanges changes_between(const GraphModel& before, const GraphModel& after);

// What one step did to a node.
struct NodeEvent {
  int step = 0;
  Change change = Change::none;
  std::string was, node, op;  // its operator before; its name and operator after
  bool origin = false;        // it is in the model that is compiled
};

// What the steps did to a node of the graph of `step`, before it and after it; a node that was
// taken away goes on in the one that took its place. The first event says where it came from: the
// model or the pass that made it. A node of step 0 is followed through each part that contains it.
std::vector<NodeEvent> history_of(const Compilation& compilation, int step, int node);
// One line: "Relu became poprt.Conv".
std::string event_text(const NodeEvent& event);

}  // namespace poprt::inspector

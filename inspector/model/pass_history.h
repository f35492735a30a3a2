// The changes of each converter and compiler pass to a graph.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver.h"
#include "model/graph_changes.h"
#include "model/graph_model.h"
#include "model/program_model.h"

namespace poprt::inspector {

struct PassStep {
  std::string name, summary, stage;  // stage: "model", "convert", "compile"
  int64_t rewrites = 0;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;  // operators, including those of branches and bodies
  // After the step; shared with the previous step if nothing changed. Types that are inferred
  // again, for example from the shapes of the compilation, are no changes of a step.
  std::shared_ptr<const GraphModel> graph;
  std::shared_ptr<const GraphChanges> changes;  // since the previous step; null if nothing changed
  // Without the inputs and outputs of branches and bodies that are added or removed.
  size_t added = 0, removed = 0, changed = 0;
};

struct Compilation {
  // The first step is the original model. If several parts are compiled (models of a fused one, or
  // a model at several shapes), each part starts with a step of stage "model".
  std::vector<PassStep> steps;
  std::shared_ptr<const program::Program> program;  // null if compiling failed
  std::vector<program::Weight> weights;             // of the program
  std::map<std::string, std::string> notes;         // opaque blobs of the program, by name
  // The error of the compilation, or empty. Steps before it are kept.
  std::string error;
};

// Compiles a copy (compiler/driver.h). `progress` receives 0..1. Throws only Error(cancelled).
Compilation compile_with_history(
    const ir::Graph& graph, const compiler::DriverOptions& options = {},
    const std::atomic<bool>* cancel = nullptr,
    const std::function<void(double, std::string_view)>& progress = {});

// The compiled program with named variants, or null if compiling failed.
std::shared_ptr<const ProgramModel> program_model(const Compilation& compilation);

// Shapes of inputs with variable dimensions. Several shapes per input select a model at several
// shapes.
using ChosenShapes = std::map<std::string, std::vector<Shape>>;
// Parses "image=1,3,224,224 mask=1,8", with words separated by blanks. Several shapes of an input
// are separated by / or are in several words. Throws invalid_argument.
ChosenShapes read_shapes(std::string_view words);
// Returns the shapes that options_for_inspection() gives to inputs with variable dimensions, in the
// form that read_shapes() parses. Empty if there are no such inputs.
std::string shapes_text(const ir::Graph& graph, const ChosenShapes& chosen = {});

// Returns options for compiling a model to display it. Variable dimensions have the chosen size,
// else 1, or 224 for the sides of pictures. The model is compiled for the IPUs and stages that its
// cuts define. `assumed` receives the sizes that were not chosen, such as "image=1×1×8×8, 2 IPUs".
// Throws invalid_argument if a shape is chosen for an unknown input or contradicts the graph, or if
// inputs have different numbers of shapes.
compiler::DriverOptions options_for_inspection(const ir::Graph& graph, std::string& assumed,
                                               const ChosenShapes& chosen = {});

// Returns the error of a compilation with the sizes that options_for_inspection() assumed, because
// they may be its cause. Without assumed sizes or without an error, returns the error itself.
std::string error_with_assumed(const std::string& error, const std::string& assumed);

// The change of a node by one step.
struct NodeEvent {
  int step = 0;
  Change change = Change::none;
  std::string was, node, op;  // operator before; name and operator after
  bool origin = false;        // whether the event is that the model has the node
};

// Returns the changes of a node of the graph of `step`, before and after this step. If a pass
// removes the node, its replacement is followed. The first event is its origin: the model, or the
// pass that added it. A node of step 0 is followed through each part that contains it.
std::vector<NodeEvent> history_of(const Compilation& compilation, int step, int node);
// One line, such as "Relu became poprt.Conv".
std::string event_text(const NodeEvent& event);

}  // namespace poprt::inspector

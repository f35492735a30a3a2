// From a model to an executable, or to a converted ONNX model: the one place that knows which steps
// there are and in which order they run. The C API, the command line and the inspector call it.
//
//   read_model ──► convert_model ──► settle_opset       what `poprt` writes as ONNX
//       │                └──► compile_converted         where a compilation converts to the same
//       └──► compile_model ─┬─ a model                   ─┬─► convert ─► shard, lower ─► link
//                           ├─ each model of a fused one ─┤
//                           └─ the model at each shape   ─┘
//
// All functions may run on any thread; callbacks are called on the thread of the caller.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/shape_sets.h"
#include "compiler/variants.h"
#include "ir/graph.h"

namespace poprt::compiler {

// An ONNX model: a file, or, without a path, bytes with the folder of their external data.
struct ModelSource {
  std::optional<std::filesystem::path> path = {};
  std::span<const std::byte> bytes = {};
  std::optional<std::filesystem::path> folder = {};
};

// What is converted and lowered at a time: a model, one of a fused model, or a model at one of
// several shapes.
struct Part {
  size_t index = 0, count = 1;
  std::string name;  // "graph0 NAME", "shape 1 of 2"; empty: the only part
};

// All that is decided about a model. A default value means what a model alone says.
struct DriverOptions : Options {
  // Which outputs there are (compiler/outputs.h).
  std::vector<std::string> outputs, removed_outputs, checkpoints;
  // Refuses a model that is not a fused one.
  bool fused_only = false;
  // The shapes that the model is compiled at, smallest first; not empty: they replace input_shape.
  // A conversion takes the last one, because ONNX has one shape.
  std::vector<ShapeSet> shapes;
  // Above 0: more shapes between those (with_steps()).
  double max_padding = 0;
  std::map<std::string, Padding> padding;  // by input
  // IPUs, stages and batches_per_step are those that the nodes of the model name, when they do;
  // num_ipus, virtual_graph, pipelining and batches_per_step are not used then.
  bool as_cut = false;
  bool variable_weights = false;  // constants become inputs that have a value
  // The note that contains the converted model as ONNX, for runners with faithful numerics; empty:
  // there is none.
  std::string faithful_note;
  int64_t num_io_tiles = 0;  // only for warnings
  // Opset of a converted file; 0: that of the model. The lowest from lowest_opset on that is
  // possible, when convert_version is 0.
  int64_t convert_version = 0, lowest_opset = 0;
  // Called often; an exception that it throws ends the work.
  std::function<void()> ask;
  // Each part before it is converted, and when it is converted, where the graph may be changed.
  std::function<void(const Part&, const ir::Graph&)> begins;
  std::function<void(const Part&, ir::Graph&)> converted;
};

// Imports an ONNX model. Throws as onnx/import.h says.
std::unique_ptr<ir::Graph> read_model(const ModelSource& source, bool allow_links = false,
                                      bool strict = false);

// Several ONNX files as one graph (compiler/fuse_graphs.h), named after the files. Models of
// several opsets become those of the newest.
std::unique_ptr<ir::Graph> read_fused(const std::vector<std::filesystem::path>& paths);

// Chooses the outputs and runs the converter on the whole graph. The result is for a file when
// keep_onnx is set. Progress runs from 0 to 1. Returns whether the same graph is what a compilation
// with these options would lower, so that compile_converted() may go on from it: one model at one
// shape, whose conversion keep_onnx does not change.
bool convert_model(ir::Graph& graph, const DriverOptions& options);

// Gives a converted graph the opset of the options, and its nodes unique names, unless the pass
// that does so is skipped. Replaces the graph where several opsets are tried.
void settle_opset(std::unique_ptr<ir::Graph>& graph, const DriverOptions& options);

// Compiles a graph as it was read, which is used up: a model, all models of a fused one, or a model
// at several shapes, linked to one executable. Progress runs from 0 to 1. With passes_only the
// result is empty. Throws what the steps throw, and unimplemented for options that do not go
// together.
Executable compile_model(std::unique_ptr<ir::Graph> graph, const DriverOptions& options);

// Compiles what convert_model() has made with the same options and returned true for, before an
// opset was settled. The graph is used up. Gives what compile_model() gives of the model, bit for
// bit.
Executable compile_converted(std::unique_ptr<ir::Graph> graph, const DriverOptions& options);

}  // namespace poprt::compiler

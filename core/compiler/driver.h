// Compiles a model to an executable, or converts it to an ONNX model. This file alone defines the
// steps and their order. The C API, the command line and the inspector call it.
//
//   read_model ──► convert_model ──► settle_opset       the ONNX model that `poprt` writes
//       │                └──► compile_converted         if a compilation converts to the same graph
//       └──► compile_model ─┬─ a model                   ─┬─► convert ─► shard, lower ─► link
//                           ├─ each model of a fused one ─┤
//                           └─ the model at each shape   ─┘
//
// All functions may run on any thread. Callbacks are called on the thread of the caller.
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
#include "compiler/generation.h"
#include "compiler/shape_sets.h"
#include "compiler/variants.h"
#include "ir/graph.h"

namespace poprt::compiler {

// An ONNX model: a file, or bytes and the folder of their external data if `path` is empty.
struct ModelSource {
  std::optional<std::filesystem::path> path = {};
  std::span<const std::byte> bytes = {};
  std::optional<std::filesystem::path> folder = {};
  bool shapes_only = false;  // tensors in external files that are missing are zeros
};

// The unit of conversion and lowering: a model, one of a fused model, or a model at one of several
// shapes.
struct Part {
  size_t index = 0, count = 1;
  std::string name;  // such as "graph0 NAME" or "shape 1 of 2"; empty if there is only one part
};

// All options of a compilation.
struct DriverOptions : Options {
  // The names that select the outputs of the result (compiler/outputs.h).
  std::vector<std::string> outputs, removed_outputs, checkpoints;
  // Whether a model that is not fused is an error.
  bool fused_only = false;
  // The shapes that the model is compiled at, smallest first. If not empty, they replace
  // input_shape. A conversion uses the last one, because an ONNX model has one shape.
  std::vector<ShapeSet> shapes;
  // If above 0, more shapes are added between those in `shapes` (with_steps()).
  double max_padding = 0;
  std::map<std::string, Padding> padding;  // by input
  // If the nodes of the model are assigned to IPUs and stages, these assignments determine the
  // number of IPUs, the stages and batches_per_step. num_ipus, virtual_graph, pipelining and
  // batches_per_step are then not used.
  bool use_assigned_ipus = false;
  bool variable_weights = false;  // constants become inputs with a value
  // Name of the note with the converted model as ONNX, for runners with faithful numerics; empty:
  // no note.
  std::string faithful_note;
  int64_t num_io_tiles = 0;  // used only for warnings
  // If set, the model is compiled for a generator, at the shapes of generation_shapes().
  std::optional<GenerationOptions> generation;
  // Opset of a converted file. If convert_version is 0, it is the lowest possible opset from
  // lowest_opset on, or the opset of the model if lowest_opset is 0, too.
  int64_t convert_version = 0, lowest_opset = 0;
  // Called often. If it throws, the work ends, and the exception leaves the compiling function.
  std::function<void()> check_stopped;
  // `begins` is called for each part before its conversion, `converted` after it. `converted` may
  // change the graph.
  std::function<void(const Part&, const ir::Graph&)> begins;
  std::function<void(const Part&, ir::Graph&)> converted;
};

// Imports an ONNX model; `copy` is as in onnx::ImportOptions. Throws the errors of onnx/import.h.
std::unique_ptr<ir::Graph> read_model(const ModelSource& source, bool allow_links = false,
                                      bool strict = false, bool copy = false);

// Merges several ONNX files into one graph (compiler/fuse_graphs.h), with names from the files.
// Models of different opsets are converted to the newest one. Throws like read_model(),
// opsets::convert() and fuse_graphs().
std::unique_ptr<ir::Graph> read_fused(const std::vector<std::filesystem::path>& paths);

// Selects the outputs and runs the converter on the whole graph. The result is for a file if
// keep_onnx is set. Progress runs from 0 to 1. Returns whether a compilation with these options
// would lower the same graph, so that compile_converted() can continue from it: the model is not
// fused, has one shape and does not compute with its sizes, keep_onnx does not change its
// conversion, and variable_weights, use_assigned_ipus, rewrite_limit and `converted` are not set.
bool convert_model(ir::Graph& graph, const DriverOptions& options);

// Converts the graph to the opset of the options, and gives its nodes unique names unless
// skip_passes contains unique_name_for_nodes. Replaces the graph if several opsets are tried.
// Throws unimplemented for an operator that an ONNX model cannot contain, and like
// opsets::convert().
void settle_opset(std::unique_ptr<ir::Graph>& graph, const DriverOptions& options);

// Compiles an imported graph to one executable: a model, all models of a fused one, or a model at
// several shapes or at those of a generator. The graph is consumed. Progress runs from 0 to 1. With
// passes_only the result is empty. Throws the errors of the steps, and unimplemented or
// invalid_argument for options that cannot be combined.
Executable compile_model(std::unique_ptr<ir::Graph> graph, const DriverOptions& options);

// Continues the compilation of a graph for which convert_model() returned true. The options must be
// the same, and the graph must not have been changed since, for example by settle_opset(). The
// graph is consumed. The result is equal to that of compile_model(), bit for bit.
Executable compile_converted(std::unique_ptr<ir::Graph> graph, const DriverOptions& options);

}  // namespace poprt::compiler

// Compiles an ONNX graph to a program and weights.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/common/custom.h"
#include "passes/pass.h"
#include "program/builder.h"
#include "program/narrow_weights.h"

namespace poprt::compiler {

enum class Precision { keep, fp32, fp16, fp8, fp8_weight, int8 };

// Algorithms for 3x3 convolutions in addition to direct sums: none (`off`); Winograd's F(2x2),
// whose rounding error is hardly larger (`exact`); also F(4x4) if it is faster (`fast`). With
// `automatic`, a layer may use what stays within 1e-4 of exact sums
// (docs/decisions/convolution-accuracy.md), which today includes F(4x4), as with `fast`.
enum class Winograd { automatic, off, exact, fast };

// How nodes are assigned to several IPUs: as the model specifies (pass manual_sharding), or in
// equal parts of the work.
enum class VirtualGraph { off, manual, automatic };

struct Calibration;  // compiler/quantize/calibrate.h

struct Options {
  // Sizes for variable dimensions. The elements of a sequence input NAME are NAME[0], NAME[1] ...
  std::map<std::string, Shape> input_shape;
  // Number of elements of a sequence input (0 or 1 for an optional). Without an entry, the entries
  // NAME[0], NAME[1] ... of input_shape determine it (NAME for an optional).
  std::map<std::string, int64_t> input_length;
  // Receives outputs that are text, which the device cannot store. They must be constant. If null,
  // such outputs are errors.
  std::map<std::string, Tensor>* constant_outputs = nullptr;
  // convert() returns an ONNX model with the original outputs. Sizes that depend on data stay
  // unknown until the result is compiled.
  bool keep_onnx = false;
  // Inputs of which a run may use only the first places along an axis (compiler/padding.h). `mask`
  // names a bool input, [extent of the axis], that is true for these places. Operators ignore the
  // other places, or are rejected.
  struct RealPlaces {
    std::string mask;
    size_t axis = 0;
  };
  std::map<std::string, RealPlaces> real_places;
  // By the name of a value: the largest number in an integer value that decides a size, the largest
  // length of a result of Range, or the largest number of rounds of the Loop that makes the value,
  // if no bound follows from the graph. A run that exceeds it fails.
  std::map<std::string, int64_t> max_size;
  // Outputs NAME:shape (compiler/flow/specialize.h) that are added even if the shapes of the inputs
  // determine the size of output NAME.
  std::set<std::string> sized_outputs;
  // If set, receives the axes of each output NAME along which its size is computed by an output
  // NAME:shape.
  std::map<std::string, std::set<size_t>>* sized_axes = nullptr;
  // Whether an index outside its tensor selects zeros, or has no effect, instead of being a failure
  // of the run.
  bool zero_out_of_range = false;
  // Whether no weights are stored transformed (compiler/winograd_storage.h).
  bool compact = false;
  int64_t batch_size = 0;  // with batch_axis: the batch of all inputs; 0: not given
  int64_t batch_axis = -1;
  std::set<std::string> without_batch;  // inputs without the batch, such as variable weights
  Precision precision = Precision::keep;
  Winograd winograd = Winograd::automatic;
  // Converts 64-bit integers to 32 bits, including inputs and outputs, like PopRT's converter.
  bool narrow_int64 = false;
  std::vector<std::string> passes;       // run after the default converter passes
  std::vector<std::string> skip_passes;  // omitted from all lists of passes
  // Passes selected by options. Each runs at its place in the pipeline, or at its place in
  // `passes`.
  std::vector<std::string> requested;
  // Arguments by pass name.
  std::map<std::string, passes::Arguments, std::less<>> pass_arguments;
  // Bytes of the largest constant that folding creates. -1: only the limit of all constants that it
  // creates counts (passes/fold/constant_folding.cpp).
  int64_t max_tensor_size = -1;
  // The most rewrites of all passes together, to bisect a wrong rewrite. convert() and compile()
  // count separately; compile_model() of compiler/driver.h counts the rewrites of both, for each
  // part of the model separately.
  int64_t rewrite_limit = INT64_MAX;
  // Name of the last pass that runs in each list that contains it; empty: all passes run.
  std::string stop_after;
  std::vector<std::string> fp16_skip_op_types;  // types of nodes that stay f32 in an fp16 model
  passes::PrecisionParameters narrowing;        // parameters of the precision passes
  // If set, precisions fp8 and fp8_weight choose the formats of each product by their loss.
  // Precision int8 requires it, and chooses ranges.
  std::shared_ptr<const Calibration> calibration;
  bool eight_bits_io = false;  // images are inputs of bytes
  // Runs only the converter passes that compiling requires. The result is the reference for
  // checking a conversion.
  bool plain = false;
  // Number of IPUs (compiler/shard.h). The results are equal bit for bit for any number, because
  // the same passes create the same nodes, and each IPU runs some of them.
  int64_t num_ipus = 1;
  // If a model has fewer nodes than IPUs, uses as many IPUs as nodes instead of failing. This is
  // for small models in a fused model.
  bool fewer_ipus = false;
  VirtualGraph virtual_graph = VirtualGraph::off;
  std::vector<float> split_ratios;  // for `automatic`: the work of each IPU, relative to their sum
  bool pipelining = false;          // IPUs work on different runs at the same time
  int64_t batches_per_step = 1;     // with `pipelining`, a multiple of the stages
  // Whether results must not depend on the instruction set (kernels::Call::reproducible).
  bool reproducible = false;
  bool verify_each = true;  // whether the graph is verified after each pass
  // Whether attributes that an operator does not have, and declared shapes that differ from those
  // inferred from chosen input shapes, are errors and not warnings.
  bool strict = false;
  // The patterns and transforms of plug-ins that compile() applies.
  passes::PatternSettings patterns;
  passes::TransformSettings transforms;
  std::function<void(const passes::PassReport&, const ir::Graph&)> after_pass;
  // Called with each graph after all passes have run.
  std::function<void(const ir::Graph&)> lowered;
  // Whether compile() stops after the passes and returns an empty executable.
  bool passes_only = false;
  // Receives 0..1 and the current step. Conversion and compilation each run from 0 to 1.
  std::function<void(double done, std::string_view what)> progress;
};

// A compiled model. The records in `weights` are filled when the executable is written or loaded.
struct Executable {
  program::Program program;
  std::vector<program::Weight> weights;
  // Opaque blobs for the PopEF file, by name, for example class labels that are strings
  // (flow/class_labels.h) and the metadata of the ONNX model (onnx_metadata.h).
  std::map<std::string, std::string> notes;
  // The weights that the payload stores in a narrower type, usually that of the model.
  std::vector<program::NarrowWeights> narrow;
};

// Makes shapes static and runs the converter passes. `poprt` saves the result as ONNX. Class labels
// that are strings become indices. Returns whether the result does not depend on keep_onnx, because
// the model has no control flow and no size that depends on data (compiler/flow/specialize.h).
// Throws invalid_argument, with the names of the input and of the option that sets it, if a shape
// is still unknown, not_found if max_size names no value, and the errors of passes and of
// specialize().
bool convert(ir::Graph& graph, const Options& options);

// Compiles a converted graph and consumes it. Equal graphs and options give equal bytes. Throws
// like take_placement() (compiler/shard.h) and lower(), and the errors of passes.
Executable compile(ir::Graph& graph, const Options& options);

}  // namespace poprt::compiler

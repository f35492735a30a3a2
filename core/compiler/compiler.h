// ONNX graph in, program and weights out.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/common/custom.h"
#include "passes/pass.h"
#include "program/builder.h"
#include "program/narrow_weights.h"

namespace poprt::compiler {

enum class Precision { keep, fp32, fp16, fp8, fp8_weight };

// What 3x3 convolutions may be computed by, besides direct sums: nothing; Winograd's F(2x2), which
// rounds hardly more; F(4x4) too, where that is faster. docs/design.md states the errors.
enum class Winograd { automatic, off, exact, fast };

// Which IPU a node is on, when there are several: as the model says (pass manual_sharding), or
// equal parts of the work.
enum class VirtualGraph { off, manual, automatic };

struct Calibration;  // compiler/quantize/calibrate.h

struct Options {
  // Fixes variable dimensions. Elements of a sequence input NAME are NAME[0], NAME[1] ...
  std::map<std::string, Shape> input_shape;
  // Elements of a sequence input (or 0 and 1 of an optional one) where input_shape does not tell.
  std::map<std::string, int64_t> input_length;
  // Where outputs go that are text, which the device cannot hold: they must be constant. Null: such
  // an output is refused.
  std::map<std::string, Tensor>* constant_outputs = nullptr;
  // convert() makes nothing but ONNX, with the model's own outputs: sizes that depend on data stay
  // unknown until the result is compiled.
  bool keep_onnx = false;
  // Inputs of which a run may use only the first places along an axis (compiler/padding.h): `mask`
  // names an input, bool [extent of the axis], that is true for these places. Operators leave the
  // others out, or are refused.
  struct RealPlaces {
    std::string mask;
    size_t axis = 0;
  };
  std::map<std::string, RealPlaces> real_places;
  int64_t batch_size = 0;  // with batch_axis: the batch of every input; 0: not given
  int64_t batch_axis = -1;
  Precision precision = Precision::keep;
  Winograd winograd = Winograd::automatic;
  // 64-bit integers become 32-bit, those of inputs and outputs too, as PopRT's converter has it.
  bool narrow_int64 = false;
  std::vector<std::string> passes;       // run after the default converter passes
  std::vector<std::string> skip_passes;  // left out of the default pipeline
  // Passes that options stand for: each runs at its place in the pipeline, or where `passes` names
  // it.
  std::vector<std::string> requested;
  // Arguments of passes, by their names.
  std::map<std::string, passes::Arguments, std::less<>> pass_arguments;
  int64_t max_tensor_size = -1;
  int64_t rewrite_limit = INT64_MAX;
  std::string stop_after;
  std::vector<std::string> fp16_skip_op_types;  // stay f32 in an fp16 model
  passes::PrecisionParameters narrowing;        // what the precision passes are told
  // With it, precisions fp8 and fp8_weight take each product's formats from what they lose.
  std::shared_ptr<const Calibration> calibration;
  bool eight_bits_io = false;  // images enter as bytes
  // Only the converter passes without which a model may not compile: what conversion is checked
  // against.
  bool plain = false;
  // Several IPUs (compiler/shard.h). Results are those of one, bit for bit: the same passes make
  // the same nodes, of which each IPU runs its own.
  int64_t num_ipus = 1;
  // A model with less nodes than IPUs takes as many as it has nodes, instead of being refused: that
  // of a fused one which shares its IPUs with larger ones.
  bool fewer_ipus = false;
  VirtualGraph virtual_graph = VirtualGraph::off;
  std::vector<float> split_ratios;  // of automatic: the parts of the work, for each IPU
  bool pipelining = false;          // IPUs work on different runs at the same time
  int64_t batches_per_step = 1;     // a multiple of the stages
  bool verify_each = true;
  // Attributes that an operator does not have, and shapes that are declared otherwise than they
  // come out behind inputs of chosen shapes, are errors, not warnings.
  bool strict = false;
  // Of plug-ins: which patterns and transforms compile() applies.
  passes::PatternSettings patterns;
  passes::TransformSettings transforms;
  std::function<void(const passes::PassReport&, const ir::Graph&)> after_pass;
  // Told of each graph as it is lowered, when all passes have run.
  std::function<void(const ir::Graph&)> lowered;
  // compile() ends there, and returns an empty executable.
  bool passes_only = false;
  // 0..1, and what is being done; conversion and compilation each run from 0 to 1.
  std::function<void(double done, std::string_view what)> progress;
};

// A compiled model. `weights` records are filled when the executable is written or loaded.
struct Executable {
  program::Program program;
  std::vector<program::Weight> weights;
  // What belongs beside the program in a PopEF file, by name of opaque blob: class labels that are
  // strings (flow/class_labels.h), and what the ONNX model says about itself (onnx_metadata.h).
  std::map<std::string, std::string> notes;
  // Weights that were narrow in the model: a payload stores them so.
  std::vector<program::NarrowWeights> narrow;
};

// Fixes shapes and runs the converter passes: what `poprt` saves as ONNX. Class labels that are
// strings become their indices. Returns whether the result is the same with and without keep_onnx:
// the model has no control flow and no size that depends on data (compiler/flow/specialize.h).
// Throws invalid_argument when a shape is still unknown, naming the input and the option that fixes
// it.
bool convert(ir::Graph& graph, const Options& options);

// Lowers a converted graph (takes it apart). Same graph and options give the same bytes.
Executable compile(ir::Graph& graph, const Options& options);

}  // namespace poprt::compiler

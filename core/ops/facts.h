// Properties of operators that passes and the compiler query instead of comparing names. An
// operator states them in its own file, in OpDef::facts. A property that is not stated is "no" or
// "none", which is always safe: the operator is compiled without special treatment.
//
// Bit i of a mask is input i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "kernels/common/activation.h"
#include "ops/trial.h"

namespace poprt::ops {

struct ElementwiseProgram;
class BoundContext;
struct SizeRange;
using kernels::Activation;

// An operand of an elementwise program: an input, a constant or an earlier result
// (ops/common/elementwise_program.h).
using ElementwiseValue = int64_t;

// Converts a node to steps of an elementwise program. operands[i] is input i of the node, or any
// value if that input is omitted. Element types are ignored, except by Cast and Clip.
struct ElementwiseForm {
  using Append = ElementwiseValue (*)(ElementwiseProgram& program, const ir::Node& node,
                                      std::span<const ElementwiseValue> operands);
  Append append = nullptr;     // null: the operator has no such form
  size_t least = 1, most = 1;  // the minimum and maximum number of inputs
};

// An activation that the kernels of products and convolutions apply to a result before they store
// it: attributes `activation`, `alpha` and `beta` of internal operators.
struct Epilogue {
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;
};

// The form of an operator between operands in the channel-blocked layout
// (passes/layout/blocked_layout.cpp).
enum class BlockedForm : uint8_t {
  none,
  // The same operator on the blocked input 0; further inputs are constants of one element. The
  // result is finite for every finite argument, so that the unspecified lanes after the last
  // channel are harmless.
  unary,
  // The same operator on two blocked operands, or on one and a constant for each channel; finite
  // for finite arguments.
  binary,
};

// The form that computes on bytes, in place of an operator between DequantizeLinear and
// QuantizeLinear with the same scale and zero point.
enum class QdqForm : uint8_t {
  none,
  moves,   // the operator moves elements, so it can move their bytes
  orders,  // the operator compares elements, and their bytes have the same order
};

// How an operator uses text, which the compiler may replace by numbers
// (compiler/flow/class_labels.cpp). Operators whose QdqForm is `moves` pass input 0 on as well.
enum class TextForm : uint8_t {
  none,
  passes_on,   // the elements of output 0 are elements of text_inputs
  to_text,     // the same for text; other types are converted to text
  compares,    // compares text_inputs with each other
  translates,  // translates text_inputs by a table of keys and values (ops/common/label_table.h)
};

// Nodes that only the compiler creates.
enum class Marker : uint8_t {
  none,
  unspecified,  // a value that is never read
  loop_begin,   // begins a region of nodes that run several times
  loop_end,
};

// The kind of multiplication by weights. Reports of precision have a line for each such node.
enum class LayerForm : uint8_t {
  none,
  matmul,  // multiplies the last two axes of input 0 and input 1
  // multiplies two matrices as Gemm does, with transA, transB, alpha, beta and input 2
  gemm,
  conv,
};

// Which elements of which inputs are the elements of output 0. The compiler looks through such
// operators to find the numbers that decide shapes (compiler/flow/size_ranges.cpp).
enum class ElementSource : uint8_t {
  none,
  itself,    // input 0 itself, which may also be a sequence
  in_order,  // all elements of input 0 in the same order
  joined,    // all inputs, concatenated along `axis`
  picked,    // the elements of input 0 at the places in input 1 along `axis`
  chosen,    // the elements of input 1 where input 0 is true, of input 2 elsewhere
};

// How the elements of input 0 are converted without changing their places.
enum class CastForm : uint8_t {
  none,
  to_type,     // to the type of attribute `to` or of input 1
  to_quarter,  // divided by 2^(input 1), to an 8-bit float in a byte
};

// The least and the greatest number that an operator needs to consider. If `checked`, others are
// errors of the run.
struct NumberLimits {
  int64_t least, most;
  bool checked = false;
};

// Whether a result can only rise, or only fall, while one input rises. If so, bounds of the result
// are computed from bounds of the inputs (compiler/flow/size_ranges.cpp).
enum class Monotone : uint8_t {
  none,
  all,       // with each input while the others are constant
  first,     // with input 0
  quotient,  // as `all`, if input 1 has one sign
};

// The state of a recurrent operator: `output` of a run is `input` of the next run of a sequence.
struct StateForm {
  size_t input, output;
};

struct Facts {
  // Each element of output 0 depends only on the elements at the same (broadcast) place.
  bool per_element = false;
  // The elements of the results are elements of the inputs (except those that attribute `reduction`
  // of a Scatter computes): there is no arithmetic that depends on the type.
  bool moves = false;
  // With s32 instead of s64 operands it computes the same results as long as the values fit.
  bool narrows = false;
  // The shapes of its results depend on the values of its inputs.
  bool data_sized = false;
  // Its results are larger than its inputs, so a file stores the inputs (a scalar may be folded).
  bool unpacks = false;
  // It reads or produces text. Only the compiler computes text.
  bool text = false;
  LayerForm layer = LayerForm::none;
  // Each row of a sequence is combined with every other row, so the cost is quadratic in their
  // number.
  bool attends = false;
  // It can be computed by Winograd's algorithm (attribute kWinogradAttribute).
  bool winograd = false;
  // Its u8 weights contain 8-bit floats.
  bool byte_weights = false;
  // It rounds floats to a few values at a distance that a scale decides.
  bool quantizes = false;

  // Inputs whose values decide the shape of a result.
  uint32_t shape_inputs = 0;
  // Those of shape_inputs that may be increased: a longer result starts with the same elements as a
  // shorter one.
  uint32_t extent_inputs = 0;
  // OpDef::bound reads the bounds of shape_inputs. Other operators are refused if their shape
  // depends on data.
  bool bounds_shape = false;
  // OpDef::bound supports inputs that are partly real along two axes (Item::twin); other operators
  // are refused. Elementwise operators support them.
  bool bounds_twins = false;
  // Inputs whose values decide shapes or control flow, including all shape_inputs. A program is
  // compiled for one value only, or for a bound.
  uint32_t constant_inputs = 0;
  // Inputs that must be s64 in ONNX (shapes, axes, counts) for every type of the data.
  uint32_t s64_inputs = 0;
  // Inputs that stay f32 when the data is converted to f16: scales, regions of interest.
  uint32_t f32_inputs = 0;
  // Inputs that usually are trained weights.
  uint32_t weight_inputs = 0;
  // Inputs that only determine the type of the result.
  uint32_t type_inputs = 0;

  // constant_inputs, if it depends on the node.
  uint32_t (*constant_inputs_of)(const ir::Node& node) = nullptr;
  // Inputs, subgraph inputs, subgraph outputs and outputs are the same values, so they have the
  // same type.
  bool passes_types = false;
  // The subgraph runs in rounds. Its inputs are the number of the round, a condition, and the
  // states. Its outputs are the condition, the states, and the parts of the scan outputs.
  bool runs_rounds = false;
  // How often the subgraphs run, at most if the condition of a loop may end it, or -1 if that is
  // unknown; null: once.
  int64_t (*repeats)(const ir::Node& node) = nullptr;
  Marker marker = Marker::none;
  ElementSource source = ElementSource::none;
  CastForm cast = CastForm::none;
  BlockedForm blocked = BlockedForm::none;
  QdqForm qdq = QdqForm::none;
  TextForm text_form = TextForm::none;
  // text_form, if it depends on the node.
  TextForm (*text_form_of)(const ir::Node& node) = nullptr;
  uint32_t text_inputs = 0;
  // For a classifier, whose classes may be text in attribute `classlabels_strings`: the attribute
  // that contains the classes as numbers.
  std::string_view class_numbers = {};
  ElementwiseForm elementwise = {};
  // Computes output 0, which depends only on the shapes of the inputs; these are static.
  Tensor (*from_shapes)(const ir::Node& node) = nullptr;
  // Whether ONNX's shape inference computes a shape that contradicts the specification.
  bool (*misjudged_by_onnx)(const ir::Node& node) = nullptr;
  // The states that a sequence carries from run to run.
  std::span<const StateForm> states = {};
  // The activation that the node computes on input 0; nothing if it computes none.
  std::optional<Epilogue> (*epilogue)(const ir::Node& node) = nullptr;
  Monotone monotone = Monotone::none;
  // `monotone` applies only while input 0 is not negative.
  bool monotone_from_zero = false;
  // The neutral element of a reduction: elements with this value do not affect the result.
  // Infinities represent the least and the greatest number of the type.
  std::optional<double> neutral = std::nullopt;
  // Computes the range of the result from the ranges of the inputs (ops/bound.h), if `monotone`
  // does not describe the operator or a closer range may be known. If it returns nothing,
  // `monotone` is used.
  std::optional<SizeRange> (*size_range)(BoundContext& ctx) = nullptr;
  // The limits of each number in a shape input whose range is not known, if the other inputs limit
  // its effect, or if the numbers have an upper limit; nothing if neither holds (ops/bound.h). The
  // type of input 0 is static.
  std::optional<NumberLimits> (*shape_limits)(const BoundContext& ctx, size_t input) = nullptr;
  // Converts a node of domain poprt to a node of ai.graphcore, which an ONNX model may contain.
  // Returns whether there is one.
  bool (*to_graphcore)(ir::Node& node) = nullptr;
  // Counts floating-point operations of a node whose shapes are static (ops/common/flops.h).
  int64_t (*flops)(const ir::Node& node) = nullptr;
  // Trials that determine the supported types, if the common ones are unsuitable (ops/trial.h).
  Trial trial = {};
};

// The facts of the definition that covers the node; empty facts if there is none.
const Facts& facts_of(const ir::Node& node);

// The result of Facts::constant_inputs_of() for the node, or without that function
// Facts::constant_inputs.
uint32_t constant_inputs(const ir::Node& node);

// The mask for operators with any number of inputs.
inline constexpr uint32_t kEveryInput = ~uint32_t{0};

inline bool in_mask(uint32_t mask, size_t input) {
  return mask == kEveryInput || (input < 32 && (mask >> input & 1) != 0);
}

}  // namespace poprt::ops

// What passes and the compiler ask about an operator instead of looking for its name. The operator
// states it in its own file, in OpDef::facts; what it does not state is "no" or "none", which is
// safe: the operator is computed as it stands.
//
// Masks have bit i for input i.
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

// What an elementwise program computes with: an input, a constant or an earlier result
// (ops/common/elementwise_program.h).
using ElementwiseValue = int64_t;

// How a node becomes steps of an elementwise program: on operands[i] for its input i, any value for
// one that was left out. Element types are not looked at, except by Cast.
struct ElementwiseForm {
  using Append = ElementwiseValue (*)(ElementwiseProgram& program, const ir::Node& node,
                                      std::span<const ElementwiseValue> operands);
  Append append = nullptr;     // null: no such form
  size_t least = 1, most = 1;  // inputs that it must have and may have
};

// An activation as the kernels of products and convolutions apply it to a result before they store
// it: attributes `activation`, `alpha` and `beta` of internal operators.
struct Epilogue {
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;
};

// What becomes of an operator between operands in the channel-blocked layout
// (passes/layout/blocked_layout.cpp).
enum class BlockedForm : uint8_t {
  none,
  // The same operator on the blocked input 0; further inputs are constants of one element. It is
  // finite for every finite argument, so that the unspecified lanes past the channels stay
  // harmless.
  unary,
  // The same operator on two blocked operands, or one and a constant for each channel; finite for
  // finite arguments.
  binary,
};

// Between DequantizeLinear and QuantizeLinear of one scale and zero point.
enum class QdqForm : uint8_t {
  none,
  moves,   // it moves bytes as it moves numbers
  orders,  // it compares numbers, and their bytes compare alike
};

// What an operator does with text, in whose place the compiler may put numbers
// (compiler/flow/class_labels.cpp). Operators whose QdqForm is `moves` hand input 0 on, too.
enum class TextForm : uint8_t {
  none,
  hands_on,    // elements of text_inputs are those of output 0
  to_text,     // the same of text; of anything else it makes text
  compares,    // text_inputs with each other
  translates,  // text_inputs by a table of keys and values (ops/common/label_table.h)
};

// What the compiler puts into a graph for itself.
enum class Marker : uint8_t {
  none,
  unspecified,  // a value that nobody looks at
  loop_begin,   // what stands between the two runs several times
  loop_end,
};

// What is multiplied by weights: what reports of precision have a line for.
enum class LayerForm : uint8_t {
  none,
  matmul,  // the last two axes of input 0 and input 1
  gemm,    // two matrices, which transA and transB turn; alpha, beta and input 2
  conv,
};

// Which elements of which inputs those of output 0 are. Numbers that decide shapes are looked for
// through these (compiler/flow/size_ranges.cpp).
enum class ElementSource : uint8_t {
  none,
  itself,    // input 0, whatever it is, be it a sequence
  in_order,  // all elements of input 0 in their order
  joined,    // all inputs along `axis`
  picked,    // of input 0 at the places that input 1 names along `axis`
  chosen,    // of input 1 where input 0 holds, of input 2 elsewhere
};

// What becomes of the numbers of input 0 that keep their places.
enum class CastForm : uint8_t {
  none,
  to_type,     // that of attribute `to`, or of input 1
  to_quarter,  // a byte for each, times 2^ input 1
};

// Whether a result can only rise, or only fall, while one input does: then bounds of it are
// computed from bounds of the inputs (compiler/flow/size_ranges.cpp).
enum class Monotone : uint8_t {
  none,
  all,       // with each input alone, the others being any constants
  first,     // with input 0
  quotient,  // as `all`, as long as input 1 has one sign
};

struct Facts {
  // Each element of output 0 depends on the elements in its (broadcast) place alone.
  bool per_element = false;
  // The first axis of output 0 is that of input 0, and each place of it is computed from the same
  // place of input 0 (and from all of the other inputs).
  bool per_sample = false;
  // The elements of its results are elements of its inputs (but for what attribute `reduction` of a
  // Scatter computes): no arithmetic that a type could change.
  bool moves = false;
  // Between s64 operands it computes the same in s32, as long as the values fit.
  bool narrows = false;
  // How large its results are depends on the values of its inputs, not on their shapes alone.
  bool data_sized = false;
  // Its results are larger than what they are made from, so a file keeps the inputs (a scalar may
  // be folded).
  bool unpacks = false;
  // It takes or makes text, which only the compiler computes.
  bool text = false;
  LayerForm layer = LayerForm::none;
  // Each row of a sequence meets each other one: its cost rises with the square of their number.
  bool attends = false;
  // It can be computed by Winograd's products (attribute kWinogradAttribute).
  bool winograd = false;
  // Its u8 weights are quarter numbers (f8) under another name.
  bool byte_weights = false;

  // Inputs whose values are extents of a result.
  uint32_t shape_inputs = 0;
  // Those of shape_inputs that a longer result may have: the result begins with the same elements
  // as a shorter one.
  uint32_t extent_inputs = 0;
  // OpDef::bound reads the bounds of shape_inputs; other operators are refused when their shape
  // depends on data.
  bool bounds_shape = false;
  // OpDef::bound follows inputs of which a part along two axes is real (Item::twin); others are
  // refused. Elementwise operators do.
  bool bounds_twins = false;
  // Inputs whose values decide shapes or control flow, all shape_inputs among them: a program can
  // be made for one value only, or for a bound.
  uint32_t constant_inputs = 0;
  // Inputs that ONNX wants in s64 (shapes, axes, counts) whatever the type of the data is.
  uint32_t s64_inputs = 0;
  // Inputs that stay f32 when the data becomes f16: scales, regions of interest.
  uint32_t f32_inputs = 0;
  // Inputs at which models keep trained weights.
  uint32_t weight_inputs = 0;
  // Inputs that only say what type the result has.
  uint32_t type_inputs = 0;

  // The same where it depends on the node.
  uint32_t (*constant_inputs_of)(const ir::Node& node) = nullptr;
  // Inputs, subgraph inputs, subgraph outputs and outputs are the same values: they have one type.
  bool passes_types = false;
  // The subgraph runs in rounds: its first input is the number of the round, its second, and its
  // first output, the condition of a round; then the states, and what a round makes of scan
  // outputs.
  bool runs_rounds = false;
  // How often the subgraphs run, where that is known; null: once.
  int64_t (*repeats)(const ir::Node& node) = nullptr;
  Marker marker = Marker::none;
  ElementSource source = ElementSource::none;
  CastForm cast = CastForm::none;
  BlockedForm blocked = BlockedForm::none;
  QdqForm qdq = QdqForm::none;
  TextForm text_form = TextForm::none;
  // The same where it depends on the node.
  TextForm (*text_form_of)(const ir::Node& node) = nullptr;
  uint32_t text_inputs = 0;
  // Of a classifier, whose classes may be text in attribute `classlabels_strings`: the attribute
  // that holds them as numbers.
  std::string_view class_numbers = {};
  ElementwiseForm elementwise = {};
  // Output 0, which depends on the shapes of the inputs alone; these are static.
  Tensor (*from_shapes)(const ir::Node& node) = nullptr;
  // Whether ONNX's own shape inference gives the node another shape than its specification does.
  bool (*misjudged_by_onnx)(const ir::Node& node) = nullptr;
  // What the node computes on input 0 as an activation; nothing when this node does not.
  std::optional<Epilogue> (*epilogue)(const ir::Node& node) = nullptr;
  Monotone monotone = Monotone::none;
  // ... as long as input 0 is not negative.
  bool monotone_from_zero = false;
  // A reduction: places that hold this number change no result. Infinities are the least and the
  // largest number of the type.
  std::optional<double> neutral = std::nullopt;
  // The range of the result from those of the inputs, where `monotone` does not say it; nothing
  // where none is known (ops/bound.h).
  std::optional<SizeRange> (*size_range)(BoundContext& ctx) = nullptr;
  // Makes a node of domain poprt one of ai.graphcore, which an ONNX model may contain. Returns
  // whether there is one.
  bool (*to_graphcore)(ir::Node& node) = nullptr;
  // Floating-point operations of a node whose shapes are static (ops/common/flops.h).
  int64_t (*flops)(const ir::Node& node) = nullptr;
  // Nodes that tell what it takes, where the common ones do not (ops/trial.h).
  Trial trial = {};
};

// The facts of the definition that covers the node; those of nothing where there is none.
const Facts& facts_of(const ir::Node& node);

// Facts::constant_inputs of the node.
uint32_t constant_inputs(const ir::Node& node);

// Of operators with any number of inputs.
inline constexpr uint32_t kEveryInput = ~uint32_t{0};

inline bool in_mask(uint32_t mask, size_t input) {
  return mask == kEveryInput || (input < 32 && (mask >> input & 1) != 0);
}

}  // namespace poprt::ops

// Elementwise programs: the content of poprt.Elementwise and the form to which every elementwise
// float operator is lowered.
//
// All inputs broadcast to one shape, which every output has. Values are floats internally: f16 and
// bf16 inputs are widened, outputs are rounded when stored, booleans are 1 and 0. A node stores the
// program in attributes: `program` and `constants` are the integers and floats of the kernel's call
// (kernels/calls/elementwise.h), `dtypes` the DType numbers of the outputs.
//
// To fuse a set of nodes in topological order, a pass does:
//
//   ElementwiseProgram program;
//   ... for each node for which is_fusable_elementwise():
//         operands: program.add_input() for a value from outside (once per value),
//                   program.constant(*scalar_constant(v)) for a scalar constant,
//                   or the result of append_elementwise() for its producer;
//         value_of[node.output(0)] = append_elementwise(program, node, operands);
//   program.add_output(value_of[v], v->dtype()) for every value that is read outside;
//   program.to_node(fused_node);
//
// Every output must have the full broadcast shape, and the program must be within the limits in
// kernels/common/elementwise.h (see fits()). append_elementwise() appends at most kMaxStepsPerNode
// steps, or one for each input of a variadic operator.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "ir/graph.h"
#include "kernels/calls/elementwise.h"
#include "ops/facts.h"

namespace poprt::ops {

using kernels::ElementwiseOp;

struct ElementwiseProgram {
  // An operand code: input, constant or step result (kernels/common/elementwise.h).
  using Value = ElementwiseValue;
  struct Step {
    ElementwiseOp op;
    Value a = 0, b = 0, c = 0;
  };

  int64_t inputs = 0;
  std::vector<float> constants;
  std::vector<Step> steps;
  std::vector<Value> outputs;
  std::vector<DType> dtypes;

  Value add_input() { return inputs++; }
  Value constant(float value);  // constants with equal bits are shared
  Value step(ElementwiseOp op, Value a, Value b = 0, Value c = 0);
  // If the value is an input or a constant, a copy step is added.
  void add_output(Value value, DType dtype);

  bool is_constant(Value v) const { return v < 0; }
  float constant_of(Value v) const { return constants[static_cast<size_t>(-1 - v)]; }
  // Whether the program is within the limits of the kernel.
  bool fits() const;

  // The call of kernel `elementwise`.
  kernels::calls::Elementwise call() const;
  void to_node(ir::Node& node) const;
  // Checks the attributes; throws invalid_argument naming the node.
  static ElementwiseProgram from_node(const ir::Node& node);
};

// Facts::elementwise of an operator that is one operation on its inputs.
template <ElementwiseOp op>
ElementwiseValue append_step(ElementwiseProgram& program, const ir::Node&,
                             std::span<const ElementwiseValue> in) {
  const auto operand = [&](size_t i) { return i < in.size() ? in[i] : ElementwiseValue{0}; };
  return program.step(op, in[0], operand(1), operand(2));
}
template <ElementwiseOp op>
inline constexpr ElementwiseForm step = {append_step<op>, kernels::elementwise_arity(op),
                                         kernels::elementwise_arity(op)};

// Facts::elementwise of an operator that combines any number of inputs, two at a time.
inline constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();
template <ElementwiseOp op>
ElementwiseValue append_fold(ElementwiseProgram& program, const ir::Node&,
                             std::span<const ElementwiseValue> in) {
  ElementwiseValue y = in.size() > 1 ? in[0] : program.step(ElementwiseOp::copy, in[0]);
  for (const ElementwiseValue x : in.subspan(1)) y = program.step(op, y, x);
  return y;
}
template <ElementwiseOp op>
inline constexpr ElementwiseForm fold_step = {append_fold<op>, 1, kAnyNumber};

// Facts::epilogue of an operator that is an activation without parameters.
template <Activation activation>
std::optional<Epilogue> plain_epilogue(const ir::Node&) {
  return Epilogue{activation};
}

// Facts::elementwise of Cast and CastLike: converts to the type of the result of the node.
ElementwiseValue append_cast(ElementwiseProgram& program, const ir::Node& node,
                             std::span<const ElementwiseValue> in);

// The number in a constant f32 / f16 / bf16 / bool / s8 / u8 value of one element.
std::optional<float> scalar_constant(const ir::Value* value);

// Whether a program can express the node. Types must be known, inputs f32, f16, bf16 or bool (also
// s8, u8, s32 and s64 for Cast to float and for exponents of Pow) and outputs f32, f16, bf16 or
// bool. Only one output may be read. Excluded are Identity, Cast with saturate = 0, and below opset
// 7 PRelu and nodes with attribute `broadcast`. QuantizeLinear and DequantizeLinear of bytes with
// one constant scale and zero point are supported, too; a QuantizeLinear must be the last step of
// its program, because only the store saturates.
bool is_fusable_elementwise(const ir::Node& node);

// The largest number of steps of one ordinary node (a variadic operator has as many as inputs).
inline constexpr int64_t kMaxStepsPerNode = 4;

// Appends the computation of the node on operands[i] for its input i (any value for an omitted one)
// and returns the result. elementwise_known() must be true for the node; element types are ignored
// except by Cast and Clip.
ElementwiseProgram::Value append_elementwise(ElementwiseProgram& program, const ir::Node& node,
                                             std::span<const ElementwiseProgram::Value> operands);

// Whether append_elementwise supports the operator of the node.
bool elementwise_known(const ir::Node& node);

}  // namespace poprt::ops

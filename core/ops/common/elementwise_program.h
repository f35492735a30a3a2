// Elementwise programs: what poprt.Elementwise carries and what every float elementwise operator
// lowers to.
//
// All inputs broadcast to one shape, which every output has. Values are floats inside (f16 and bf16
// inputs are widened, outputs rounded on store, booleans are 1 and 0). In a node the program lies
// in attributes: `program` and `constants` are the integers and floats of the kernel's call
// (kernels/calls/elementwise.h), `dtypes` DType numbers of the outputs.
//
// A fusing pass does, for a set of nodes in topological order:
//   ElementwiseProgram program;
//   ... for each node that is_fusable_elementwise():
//         operands: program.add_input() for a value from outside (once per value),
//                   program.constant(*scalar_constant(v)) for a scalar constant,
//                   or what append_elementwise() returned for its producer;
//         value_of[node.output(0)] = append_elementwise(program, node, operands);
//   program.add_output(value_of[v], v->dtype()) for every value that is read outside;
//   program.to_node(fused_node);
// Every output must have the full broadcast shape, and the limits in kernels/common/elementwise.h
// hold (fits() says so). append_elementwise() itself appends at most kMaxStepsPerNode steps.
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
  Value constant(float value);  // equal bits share one constant
  Value step(ElementwiseOp op, Value a, Value b = 0, Value c = 0);
  // An input or constant as output gets a copy step.
  void add_output(Value value, DType dtype);

  bool is_constant(Value v) const { return v < 0; }
  float constant_of(Value v) const { return constants[static_cast<size_t>(-1 - v)]; }
  // Within the kernel's limits.
  bool fits() const;

  // As kernel `elementwise` takes it.
  kernels::calls::Elementwise call() const;
  void to_node(ir::Node& node) const;
  // Checked; throws invalid_argument naming the node.
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

// ... that takes any number of inputs, two at a time.
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

// ... that is an activation without parameters.
template <Activation activation>
std::optional<Epilogue> plain_epilogue(const ir::Node&) {
  return Epilogue{activation};
}

// Cast and CastLike: to the type of the node's result.
ElementwiseValue append_cast(ElementwiseProgram& program, const ir::Node& node,
                             std::span<const ElementwiseValue> in);

// The number that a constant f32 / f16 / bf16 / bool / s8 / u8 value of one element holds.
std::optional<float> scalar_constant(const ir::Value* value);

// True when the node computes elementwise on float (or bool) values in a way that a program can
// express: types known, inputs among f32 f16 bf16 bool (also integers for Cast to float and
// exponents of Pow), outputs f32 f16 bf16 bool, one output read, no legacy axis attribute. So are
// QuantizeLinear and DequantizeLinear of bytes with one constant scale and zero point; a
// QuantizeLinear ends its program, since only the store saturates.
bool is_fusable_elementwise(const ir::Node& node);

// Most steps that one ordinary node can become (variadic operators take their input count).
inline constexpr int64_t kMaxStepsPerNode = 4;

// Appends the node's computation on operands[i] for its input i (any value for an omitted one) and
// returns the result. The node is known (elementwise_known); element types are not looked at except
// for Cast.
ElementwiseProgram::Value append_elementwise(ElementwiseProgram& program, const ir::Node& node,
                                             std::span<const ElementwiseProgram::Value> operands);

// True for every (domain, operator) that append_elementwise understands.
bool elementwise_known(const ir::Node& node);

}  // namespace poprt::ops

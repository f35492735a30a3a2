// Inference and lowering that all elementwise operators share. An operator file is
//   POPRT_ELEMENTWISE_OP(abs, "Abs", 1, numeric, .elementwise = step<ElementwiseOp::abs>)
// with its other facts behind; one that is not a single step of its inputs has a function that
// appends its steps (see leaky_relu.cpp).
#pragma once

#include "ops/common/axes.h"
#include "ops/common/elementwise_program.h"
#include "ops/op.h"

namespace poprt::ops {

// Which element types the operands may have.
enum class ElementwiseTypes { any, numeric, floating, integer, logical };

// Output: the inputs' broadcast shape, the operands' dtype or bool. All operands have one dtype
// unless `mixed`. Throws invalid_argument where types contradict.
void infer_elementwise(InferContext& ctx, ElementwiseTypes types, bool gives_bool,
                       bool mixed = false);

// Emits kernel `elementwise` for float operands, `elementwise_generic` and `cast` for the rest.
void lower_elementwise(LowerContext& ctx);

// Emits `program` on its inputs and then its outputs. In f64 and integers exactly, by an
// instruction of `elementwise_generic` for each step; in all other types by `elementwise`. A
// condition of `where` is a result that elementwise_gives_bool.
void emit_program(LowerContext& ctx, const ElementwiseProgram& program,
                  std::span<const LowerContext::BufferId> operands, DType type);

// The shape of input i as it broadcasts: opsets below 7 have a `broadcast` and an `axis` attribute,
// PRelu's slope lies on axis 1 there.
Shape broadcast_input_shape(const ir::Node& node, size_t i);

#define POPRT_ELEMENTWISE_DEF(symbol, ...) \
  namespace poprt::ops::symbol##_op {      \
    extern const OpDef def;                \
    const OpDef def = {__VA_ARGS__};       \
  }  // namespace poprt::ops::symbol##_op

// An operator whose result has its operands' type and may overwrite the first two. What follows the
// types are further Facts.
#define POPRT_ELEMENTWISE_OP(symbol, op_name, first_opset, types, ...)                        \
  POPRT_ELEMENTWISE_DEF(                                                                      \
      symbol, .name = op_name, .since = first_opset,                                          \
      .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::types, false); }, \
      .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 3},      \
      .facts = {.per_element = true, __VA_ARGS__})

// An operator whose result is bool.
#define POPRT_ELEMENTWISE_BOOL_OP(symbol, op_name, first_opset, types, ...)                  \
  POPRT_ELEMENTWISE_DEF(                                                                     \
      symbol, .name = op_name, .since = first_opset,                                         \
      .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::types, true); }, \
      .lower = lower_elementwise, .axes = axes::elementwise,                                 \
      .facts = {.per_element = true, __VA_ARGS__})

}  // namespace poprt::ops

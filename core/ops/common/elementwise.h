// Inference and lowering that all elementwise operators share. The file of an operator contains
//
//   POPRT_ELEMENTWISE_OP(abs, "Abs", 1, numeric, .elementwise = step<ElementwiseOp::abs>)
//
// followed by its other facts. An operator that is not a single step of its inputs has a function
// that appends its steps (see leaky_relu.cpp).
#pragma once

#include "ops/common/axes.h"
#include "ops/common/elementwise_program.h"
#include "ops/op.h"

namespace poprt::ops {

// The element types that the operands may have.
enum class ElementwiseTypes { any, numeric, floating, integer, logical };

// The output has the broadcast shape of the inputs, and the dtype of the operands or bool. All
// operands have one dtype unless `mixed`. Throws invalid_argument if types contradict each other.
void infer_elementwise(InferContext& ctx, ElementwiseTypes types, bool gives_bool,
                       bool mixed = false);

// Emits kernel `elementwise` for f32, f16 and bf16, and `elementwise_generic` and `cast` for other
// types.
void lower_elementwise(LowerContext& ctx);

// Emits `program`; `operands` are its inputs followed by its outputs. f64, bool and integers of
// whole bytes are computed exactly, by an instruction of `elementwise_generic` for each step; all
// other types by `elementwise`. A condition of `where` must be a result of an operation that
// returns bool.
void emit_program(LowerContext& ctx, const ElementwiseProgram& program,
                  std::span<const LowerContext::BufferId> operands, DType type);

// The shape of input i as it broadcasts. Opsets below 7 have attributes `broadcast` and `axis`;
// there, the slope of PRelu is on axis 1.
Shape broadcast_input_shape(const ir::Node& node, size_t i);

#define POPRT_ELEMENTWISE_DEF(symbol, ...) \
  namespace poprt::ops::symbol##_op {      \
    extern const OpDef def;                \
    const OpDef def = {__VA_ARGS__};       \
  }  // namespace poprt::ops::symbol##_op

// Defines an operator whose result has the type of its operands and may overwrite the first two.
// The arguments after the types are further Facts.
#define POPRT_ELEMENTWISE_OP(symbol, op_name, first_opset, types, ...)                        \
  POPRT_ELEMENTWISE_DEF(                                                                      \
      symbol, .name = op_name, .since = first_opset,                                          \
      .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::types, false); }, \
      .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 3},      \
      .facts = {.per_element = true, __VA_ARGS__})

// Defines an operator whose result is bool.
#define POPRT_ELEMENTWISE_BOOL_OP(symbol, op_name, first_opset, types, ...)                  \
  POPRT_ELEMENTWISE_DEF(                                                                     \
      symbol, .name = op_name, .since = first_opset,                                         \
      .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::types, true); }, \
      .lower = lower_elementwise, .axes = axes::elementwise,                                 \
      .facts = {.per_element = true, __VA_ARGS__})

}  // namespace poprt::ops

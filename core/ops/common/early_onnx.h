// Experimental operators of early ONNX, which opset 10 removed. Their definitions are in the
// operator documentation of ONNX 1.0 to 1.4.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// factor * v + addend, with scalars of the type of v.
inline ir::Value* scale_and_shift(Expansion& e, ir::Value* v, float factor, float addend) {
  if (!is_float(v->dtype())) e.fail_unsupported("element type {}", dtype_name(v->dtype()));
  if (factor != 1) v = e.newest("Mul", {v, e.number(v->dtype(), static_cast<double>(factor))});
  if (addend != 0) v = e.newest("Add", {v, e.number(v->dtype(), static_cast<double>(addend))});
  return v;
}

// alpha * f(beta * x). No defaults of alpha and beta were published.
inline void expand_scaled(Expansion& e, std::string_view f) {
  for (const char* name : {"alpha", "beta"})
    e.check(e.node.find_attr(name) != nullptr, fmt::format("attribute {} is missing", name));
  ir::Value* x = scale_and_shift(e, e.in(0), e.node.float_attr("beta", 1), 0);
  e.out(0, scale_and_shift(e, e.newest(f, {x}), e.node.float_attr("alpha", 1), 0));
}

// The shape of a filled tensor: attribute shape, or the shape of the input (with input_as_shape = 1
// its value), followed by attribute extra_shape.
inline Shape filled_shape(const Expansion& e) {
  Shape shape = e.node.ints_attr("shape");
  e.check(shape.empty() || !e.has(0), "the node has both an input and attribute shape");
  if (e.has(0)) shape = e.node.int_attr("input_as_shape", 0) ? e.const_ints(0) : e.shape(0);
  for (const int64_t d : e.node.ints_attr("extra_shape")) shape.push_back(d);
  for (const int64_t d : shape) e.check(d >= 0, "a dimension is negative");
  return shape;
}

}  // namespace poprt::ops

// Defines the operator of core/ops/STEM.cpp as `symbol::def`. The last arguments are its Facts.
#define POPRT_EARLY_ONNX_OP(symbol, op_name, expand, ...)                         \
  namespace poprt::ops::symbol {                                                  \
  extern const OpDef def;                                                         \
  const OpDef def = {.name = op_name,                                             \
                     .until = 9,                                                  \
                     .infer = infer_by_expansion,                                 \
                     .lower = [](LowerContext& c) { (expand)(expansion_of(c)); }, \
                     .axes = axes::expansion,                                     \
                     .facts = {__VA_ARGS__}};                                     \
  }

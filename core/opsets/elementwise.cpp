#include <cmath>
#include <limits>
#include <numbers>

#include "base/onnx_dtype.h"
#include "ops/common/scalar.h"
#include "opsets/rules.h"
#include "opsets/types.h"

namespace poprt::opsets {
namespace {

Value* gelu_argument(Rewriter& r, Value* x) {
  if (r.at.string_attr("approximate", "none") != "tanh")
    return r.newest("Erf", {r.newest("Div", {x, r.number(x->dtype(), std::numbers::sqrt2)})});
  Value* cube = r.newest("Mul", {r.newest("Mul", {x, x}), x});
  Value* sum = r.newest("Add", {x, r.newest("Mul", {cube, r.number(x->dtype(), 0.044715)})});
  return r.newest("Tanh",
                  {r.newest("Mul", {sum, r.number(x->dtype(), std::sqrt(2 / std::numbers::pi))})});
}

DType known_type(const Rewriter& r, size_t input) {
  const DType dtype = r.in(input)->dtype();
  if (dtype == DType::undefined) r.reject("the type of '{}' must be known", r.in(input)->name());
  return dtype;
}

bool is_plain_float(DType t) { return t == DType::f32 || t == DType::f64 || t == DType::f16; }

// Computes Max or Min by comparisons and Where, for types that opset 11 does not accept there.
void by_where(Rewriter& r, std::string_view comparison) {
  if (is_plain_float(known_type(r, 0))) return;
  Value* best = r.in(0);
  for (size_t i = 1; i < r.at.inputs().size(); i++)
    best = r.newest("Where", {r.newest(comparison, {best, r.in(i)}), best, r.in(i)});
  r.result(0, best == r.in(0) ? r.newest("Identity", {best}) : best);
}

// Puts Casts before and after the node, because the older definition does not accept the type of
// its data.
void widen_by(Rewriter& r, DType wide) {
  const DType dtype = known_type(r, 0);
  const ir::Value* y = r.at.output();
  std::vector<Value*> inputs;
  for (Value* v : r.at.inputs()) inputs.push_back(v && v->dtype() == dtype ? r.cast(v, wide) : v);
  const ir::Node* n = r.like(inputs);
  for (size_t i = 0; i < n->outputs().size(); i++) {
    if (!r.wants(i)) continue;
    const bool data = r.at.output(i)->dtype() == y->dtype() && y->dtype() == dtype;
    r.result(i, data ? r.cast(n->output(i), dtype) : n->output(i));
  }
  r.replaced = true;
}

}  // namespace

void swiglu_to_parts(Rewriter& r) {
  Value* a = r.in(0);
  const double alpha = r.at.float_attr("alpha", 1.0f);
  Value* scaled = alpha == 1 ? a : r.newest("Mul", {a, r.number(known_type(r, 0), alpha)});
  Value* gate = r.newest("Mul", {a, r.newest("Sigmoid", {scaled})});
  r.result(0, r.newest("Mul", {gate, r.in(1)}));
}

void mod_of_floats_to_fmod(Rewriter& r) {
  if (!is_float(known_type(r, 0)) || r.at.int_attr("fmod", 0) != 0) return;
  Value* b = r.in(1);
  Value* y = r.newest("Mod", {r.in(0), b}, {{"fmod", int64_t{1}}});
  Value* zero = r.number(y->dtype(), 0);
  Value* other_sign = r.newest("Xor", {r.newest("Less", {y, zero}), r.newest("Less", {b, zero})});
  Value* nonzero = r.newest("Not", {r.newest("Equal", {y, zero})});
  r.result(0,
           r.newest("Where", {r.newest("And", {nonzero, other_sign}), r.newest("Add", {y, b}), y}));
}

void cast_like_to_cast(Rewriter& r) {
  const auto number = onnx_from_dtype(known_type(r, 1));
  if (!number) r.reject("ONNX does not have the type {}", dtype_name(r.in(1)->dtype()));
  r.result(0, r.newest("Cast", {r.in(0)}, {{"to", int64_t{*number}}}));
}

// Only casts to 8-bit floats follow it, which older definitions do not have.
void drop_saturate(Rewriter& r) { r.drop("saturate"); }
// Only casts to f8e8m0 follow it.
void drop_round_mode(Rewriter& r) { r.drop("round_mode"); }

void celu_to_elu(Rewriter& r) {
  const auto alpha = static_cast<double>(r.at.float_attr("alpha", 1.0f));
  Value* factor = r.number(known_type(r, 0), alpha);
  r.result(0, r.newest("Mul", {r.newest("Elu", {r.newest("Div", {r.in(0), factor})}), factor}));
}

void celu_of_f32(Rewriter& r) {
  if (known_type(r, 0) != DType::f32) celu_to_elu(r);
}

void gelu_to_parts(Rewriter& r) {
  Value* x = r.in(0);
  known_type(r, 0);
  Value* gate = r.newest("Add", {gelu_argument(r, x), r.number(x->dtype(), 1)});
  r.result(0, r.newest("Mul", {r.newest("Mul", {x, gate}), r.number(x->dtype(), 0.5)}));
}

void mish_to_parts(Rewriter& r) {
  r.result(0, r.newest("Mul", {r.in(0), r.newest("Tanh", {r.newest("Softplus", {r.in(0)})})}));
}

void hard_swish_to_parts(Rewriter& r) {
  if (known_type(r, 0) == DType::f64) {  // an attribute would round 1/6 to f32
    const auto number = [&](double value) { return r.number(DType::f64, value); };
    Value* sum = r.newest("Clip", {r.newest("Add", {r.in(0), number(3)}), number(0), number(6)});
    return r.result(0, r.newest("Mul", {r.in(0), r.newest("Div", {sum, number(6)})}));
  }
  Value* gate = r.newest("HardSigmoid", {r.in(0)}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  r.result(0, r.newest("Mul", {r.in(0), gate}));
}

void swish_to_parts(Rewriter& r) {
  Value* x = r.in(0);
  known_type(r, 0);
  Value* gate = r.scaled(x, static_cast<double>(r.at.float_attr("alpha", 1.0f)));
  r.result(0, r.newest("Mul", {x, r.newest("Sigmoid", {gate})}));
}

// `Not(Less)` is not used because it is true for NaN, whereas `GreaterOrEqual` is false.
void greater_or_equal_to_parts(Rewriter& r) {
  r.result(0, r.newest("Or", {r.newest("Greater", {r.in(0), r.in(1)}),
                              r.newest("Equal", {r.in(0), r.in(1)})}));
}

void less_or_equal_to_parts(Rewriter& r) {
  r.result(0, r.newest("Or", {r.newest("Less", {r.in(0), r.in(1)}),
                              r.newest("Equal", {r.in(0), r.in(1)})}));
}

void clip_of_integers(Rewriter& r) {
  if (is_plain_float(known_type(r, 0))) return;
  Value* y = r.in(0);
  if (r.has(1)) y = r.newest("Max", {y, r.in(1)});
  if (r.has(2)) y = r.newest("Min", {y, r.in(2)});
  r.result(0, y == r.in(0) ? r.newest("Identity", {y}) : y);
}

void max_of_integers(Rewriter& r) { by_where(r, "Greater"); }
void min_of_integers(Rewriter& r) { by_where(r, "Less"); }

void relu_of_integers(Rewriter& r) {
  const DType dtype = known_type(r, 0);
  if (input_allows("Relu", 13, 0, dtype)) return;
  r.result(0, r.newest("Max", {r.in(0), r.number(dtype, 0)}));
}

// In opset 11, base and exponent have the same floating-point type. Integers are converted to f64,
// which represents them exactly up to 2^53.
void pow_of_one_type(Rewriter& r) {
  const DType base = known_type(r, 0), exponent = known_type(r, 1);
  if (base == exponent && is_plain_float(base)) return;
  if (is_plain_float(base)) return r.result(0, r.newest("Pow", {r.in(0), r.cast(r.in(1), base)}));
  Value* y = r.newest("Pow", {r.cast(r.in(0), DType::f64), r.cast(r.in(1), DType::f64)});
  r.result(0, r.cast(y, base));
}

void bernoulli_to_parts(Rewriter& r) {
  Value* x = r.in(0);
  Value* random = r.newest("RandomUniformLike", {x});
  if (const auto* given = r.at.find_attr("seed")) random->producer()->attributes["seed"] = *given;
  r.result(0, r.cast(r.newest("Less", {random, x}), r.at.output()->dtype()));
}

void range_without_stash(Rewriter& r) { r.drop("stash_type"); }

void widen(Rewriter& r) {
  const DType dtype = known_type(r, 0);
  // Nothing to do if the target's definition accepts the type.
  if (input_allows(r.at.op_type, r.target(), 0, dtype)) return;
  if (dtype == DType::f16) return widen_by(r, DType::f32);
  if (dtype_bits(dtype) == 8 || dtype_bits(dtype) == 16 || dtype == DType::boolean)
    if (dtype != DType::bf16 && !is_float(dtype)) widen_by(r, DType::s32);
}

void widen_to_float(Rewriter& r) {
  if (dtype_bits(known_type(r, 0)) == 8 && !input_allows(r.at.op_type, r.target(), 0, r.dtype(0)))
    widen_by(r, DType::f32);
}

}  // namespace poprt::opsets

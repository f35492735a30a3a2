#include <cmath>
#include <numbers>

#include "passes/common/rewrite.h"
#include "passes/fuse/gelu_product.h"

namespace poprt::passes::gelu_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// scale * x^exponent.
struct Power {
  Value* x;
  int exponent;
  double scale;
};

// Returns v as scale * x^exponent.
std::optional<Power> power_of(Value* v) {
  const Product p = factors_of(v);
  Power out{nullptr, 0, p.scale};
  for (Value* f : p.factors) {
    Value* base = f;
    int exponent = 1;
    if (const Node* pow = producer_if(f, "Pow")) {
      const auto e = const_scalar(pow->input(1));
      if (e && (*e == 2 || *e == 3)) {
        base = pow->input(0);
        exponent = static_cast<int>(*e);
      }
    } else if (const Node* mul = producer_if(f, "Mul"); mul && mul->input(0) == mul->input(1)) {
      base = mul->input(0);
      exponent = 2;
    }
    if (out.x && out.x != base) return std::nullopt;
    out.x = base;
    out.exponent += exponent;
  }
  if (!out.x) return std::nullopt;
  return out;
}

constexpr double kCubic = 0.044715;

// Returns x if v = sqrt(2 / pi) * (x + 0.044715 x^3).
Value* cubic_argument(Value* v, DType dtype) {
  const Product p = factors_of(v);
  if (!is_close(p.scale, std::sqrt(2 / std::numbers::pi), dtype)) return nullptr;
  if (p.factors.size() == 1) {
    const Node* sum = producer_if(p.factors[0], "Add");
    for (size_t side = 0; sum && side < 2; side++) {
      Value* x = sum->input(side);
      const auto cube = power_of(sum->input(1 - side));
      if (cube && cube->x == x && cube->exponent == 3 && is_close(cube->scale, kCubic, dtype))
        return x;
    }
  }
  if (p.factors.size() == 2) {  // matches x * (1 + 0.044715 x^2)
    for (size_t f = 0; f < 2; f++) {
      const Node* sum = producer_if(p.factors[f], "Add");
      Value* x = p.factors[1 - f];
      for (size_t side = 0; sum && side < 2; side++) {
        if (!is_scalar(sum->input(side), 1)) continue;
        const auto square = power_of(sum->input(1 - side));
        if (square && square->x == x && square->exponent == 2 &&
            is_close(square->scale, kCubic, dtype))
          return x;
      }
    }
  }
  return nullptr;
}

// Returns x if v = 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)).
Value* argument(const Value* v, DType dtype) {
  const Node* add = producer_if(v, "Add");
  for (size_t side = 0; add && side < 2; side++) {
    const Node* tanh = producer_if(add->input(side), "Tanh");
    if (tanh && is_scalar(add->input(1 - side), 1)) return cubic_argument(tanh->input(0), dtype);
  }
  return nullptr;
}

void run(Graph& graph, PassContext& context) { replace_gelus(graph, context, "tanh", argument); }

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "gelu_pattern",
                     .summary = "fuses GELU that is computed with Tanh",
                     .condition =
                         "the intermediate products have no other reader; x and the "
                         "result have one static shape",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::gelu_pattern_pass

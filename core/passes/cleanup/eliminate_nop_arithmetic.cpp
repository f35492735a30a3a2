#include <algorithm>

#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_arithmetic_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool all_equal(const Value* v, double expected) {
  if (!v || !v->is_constant() || v->dtype() == DType::string || v->constant().count() == 0)
    return false;
  if (!is_plain_float(v->dtype()) && !is_integer(v->dtype())) return false;
  const std::vector<double> values = v->constant().to_doubles();
  return std::all_of(values.begin(), values.end(), [&](double x) { return x == expected; });
}

// Whether broadcasting with the neutral operand keeps the shape of x.
bool keeps_shape(const Value* x, const Value* neutral, const Value* out) {
  if (same_static_shape(x, out)) return true;
  if (!x->type.has_shape || neutral->shape().size() > x->shape().size()) return false;
  return std::all_of(neutral->shape().begin(), neutral->shape().end(),
                     [](int64_t d) { return d == 1; });
}

Value* unchanged(const Node& n) {
  const bool add = n.is("Add"), mul = n.is("Mul");
  if (!add && !mul && !n.is("Sub") && !n.is("Div") && !n.is("Pow")) return nullptr;
  const double neutral = add || n.is("Sub") ? 0 : 1;
  Value *x = n.input(0), *y = n.input(1);
  if (all_equal(y, neutral) && keeps_shape(x, y, n.output())) return x;
  if ((add || mul) && all_equal(x, neutral) && keeps_shape(y, x, n.output())) return y;
  return nullptr;
}

void run(Graph& graph, PassContext& context) { bypass_unchanged(graph, context, "", unchanged); }

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_arithmetic",
                     .summary = "removes x + 0, x - 0, x * 1, x / 1 and x ** 1",
                     .condition =
                         "the other operand is a constant 0 or 1 and does not change the shape; x "
                         "+ 0 may turn -0 into 0 or keep it",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_arithmetic_pass

#include <algorithm>
#include <cmath>

#include "passes/common/build.h"

namespace poprt::passes::replace_where_with_mul_add_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool is_finite(const Value* v) {
  if (!v->is_constant()) return true;
  const std::vector<double> values = v->constant().to_doubles();
  return std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    const DType dtype = n.output()->dtype();
    if (!n.is("Where") || !is_plain_float(dtype) || !is_finite(n.input(1)) ||
        !is_finite(n.input(2)) || !context.allow())
      return;
    Value* keep = cast_to(n, n.input(0), dtype);
    Value* drop = cast_to(n, computed(n, "Not", {n.input(0)}), dtype);
    Value* result = computed(
        n, "Add", {computed(n, "Mul", {keep, n.input(1)}), computed(n, "Mul", {drop, n.input(2)})});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_where_with_mul_add",
                     .summary = "replaces Where(c, x, y) by c * x + not(c) * y",
                     .condition = "finite floats, because 0 times infinity is NaN",
                     .numerics = Numerics::exact,
                     .run = run,
                     .against = {"replace_where_with_wherev2"}};

}  // namespace poprt::passes::replace_where_with_mul_add_pass

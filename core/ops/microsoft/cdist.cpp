// The distance of every row of A to every row of B, or its square (attribute metric).
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_cdist_op {
namespace {

void expand(Expansion& e) {
  const std::string metric = e.node.string_attr("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    e.fail_unsupported("metric '{}', expected euclidean or sqeuclidean", metric);
  const Shape a = e.shape(0), b = e.shape(1);
  e.check(a.size() == 2 && b.size() == 2 && a[1] == b[1],
          "A and B must be matrices of equal width");
  const auto squares = [&](ir::Value* v, const Shape& shape) {
    return e.reshape(e.newest("ReduceSumSquare", {v, e.ints({1})}, {{"keepdims", int64_t{0}}}),
                     shape);
  };
  ir::Value* product = e.scaled(e.add("MatMul", {e.in(0), e.swap_last_two(e.in(1))}), -2);
  ir::Value* y = e.add(
      "Add", {e.add("Add", {product, squares(e.in(0), {a[0], 1})}), squares(e.in(1), {1, b[0]})});
  y = e.newest("Max", {y, e.number(y->dtype(), 0)});
  e.out(0, metric == "euclidean" ? e.add("Sqrt", {y}) : y);
}

}  // namespace
}  // namespace poprt::ops::microsoft_cdist_op

POPRT_EXPANSION(microsoft_cdist_op, "com.microsoft", "CDist", expand)

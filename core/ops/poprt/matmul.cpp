// poprt.MatMul: a batch of products of f32 matrices, which it reads and writes with strides, so
// that operands and results are not transposed in memory (pass strided_products). Attributes:
//
//   shape    of the result
//   sizes    [m, n, k]
//   strides  [row of a, k of b, n of b, row of the result]; rows of a and of the result are dense
//   batch    count and strides of a, b and the result, four numbers for each axis of the batch
#include "base/checked.h"
#include "kernels/calls/matmul_dynamic.h"
#include "ops/common/axes.h"
#include "ops/common/flops.h"
#include "ops/op.h"

namespace poprt::ops::poprt_matmul_op {
namespace {

struct Product {
  std::vector<int64_t> sizes, strides, batch;

  explicit Product(const ir::Node& n)
      : sizes(n.ints_attr("sizes")), strides(n.ints_attr("strides")), batch(n.ints_attr("batch")) {}

  bool is_complete() const {
    const auto all = {&sizes, &strides, &batch};
    return sizes.size() == 3 && strides.size() == 4 && batch.size() % 4 == 0 &&
           std::ranges::all_of(all, [](const std::vector<int64_t>* list) {
             return std::ranges::all_of(*list, [](int64_t v) { return v >= 0; });
           });
  }
  int64_t results() const {
    int64_t count = checked_mul(sizes[0], sizes[1]);
    for (size_t i = 0; i < batch.size(); i += 4) count = checked_mul(count, batch[i]);
    return count;
  }
};

void infer(InferContext& ctx) {
  const Product p(ctx.node);
  const Shape shape = ctx.node.ints_attr("shape");
  if (!p.is_complete() || !is_static(shape) || element_count(shape) != p.results())
    ctx.fail_input("the sizes do not fit the result {}", shape_string(shape));
  ctx.out(0, ctx.in(0).dtype, shape);
}

void lower(LowerContext& ctx) {
  if (ctx.in_dtype(0) != DType::f32 || ctx.in_dtype(1) != DType::f32)
    ctx.fail_unsupported("operands must be f32");
  const Product p(ctx.node);
  calls::StridedProduct product{.m = p.sizes[0],
                                .n = p.sizes[1],
                                .k = p.sizes[2],
                                .a_row = p.strides[0],
                                .a_k = 1,
                                .b_k = p.strides[1],
                                .b_n = p.strides[2],
                                .batch = {},
                                .y_row = std::max<int64_t>(1, p.strides[3])};
  for (size_t i = 0; i < p.batch.size(); i += 4)
    product.batch.push_back(
        {.count = p.batch[i], .a = p.batch[i + 1], .b = p.batch[i + 2], .y = p.batch[i + 3]});
  ctx.emit(calls::MatmulDynamic{product}, {ctx.in(0), ctx.in(1), LowerContext::kNone, ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "MatMul",
    .domain = "poprt",
    .infer = infer,
    .lower = lower,
    .axes = axes::none,
    .facts = {.trial = {"T[2,3,4]; T[4,5]",
                        "shape = [3, 2, 5], sizes = [3, 5, 4], strides = [4, 5, 1, 10], "
                        "batch = [2, 12, 0, 5]"}}};

}  // namespace poprt::ops::poprt_matmul_op

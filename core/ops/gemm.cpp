#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/matmul.h"
#include "ops/op.h"

namespace poprt::ops::gemm_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &a = ctx.in(0), &b = ctx.in(1);
  if (!a.has_shape || !b.has_shape) return ctx.out_dtype(0, a.dtype);
  if (a.shape.size() != 2 || b.shape.size() != 2)
    ctx.fail_input("A {} and B {} must have two dimensions", shape_string(a.shape),
                   shape_string(b.shape));
  const size_t ta = ctx.node.int_attr("transA", 0) != 0, tb = ctx.node.int_attr("transB", 0) != 0;
  const int64_t ka = a.shape[1 - ta], kb = b.shape[tb];
  if (ka >= 0 && kb >= 0 && ka != kb)
    ctx.fail_input("A {} does not fit B {}", shape_string(a.shape), shape_string(b.shape));
  ctx.out(0, a.dtype, {a.shape[ta], b.shape[1 - tb]});
}

void lower(LowerContext& ctx) {
  const size_t ta = ctx.node.int_attr("transA", 0) != 0, tb = ctx.node.int_attr("transB", 0) != 0;
  const float alpha = ctx.node.float_attr("alpha", 1.0f), beta = ctx.node.float_attr("beta", 1.0f);
  const int64_t m = ctx.out_shape()[0], n = ctx.out_shape()[1], k = ctx.in_shape(0)[1 - ta];
  const bool has_c = ctx.has(2) && beta != 0;
  // C is read as a matrix with strides, 0 along a broadcast axis. Attribute `broadcast` of opsets
  // below 7 is not read, because C is broadcast in all opsets.
  int64_t c_row = 0, c_n = 0;
  if (has_c) {
    Shape c = ctx.in_shape(2);
    if (c.size() > 2) ctx.fail_unsupported("C {} has more than two dimensions", shape_string(c));
    c.insert(c.begin(), 2 - c.size(), 1);
    if ((c[0] != 1 && c[0] != m) || (c[1] != 1 && c[1] != n))
      fail(ErrorCode::invalid_argument, "{}: C {} does not broadcast to [{},{}]",
           ctx.node.describe(), shape_string(ctx.in_shape(2)), m, n);
    c_row = c[0] == 1 ? 0 : c[1];
    c_n = c[1] == 1 ? 0 : 1;
  }
  const Tensor* w = ctx.constant(1);
  const bool c_is_bias = has_c && ctx.constant(2) && c_row == 0;
  const bool c_is_residual = has_c && c_row == n && c_n == 1 && beta == 1;
  if (ctx.out_dtype() == DType::f32 && w && !ta && (!has_c || c_is_bias || c_is_residual)) {
    PackedMatmul p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.b = *w;
    p.b_k = tb ? 1 : n;
    p.b_n = tb ? k : 1;
    p.b_scale = alpha;
    p.a = ctx.in(0);
    if (c_is_bias) {
      p.bias = *ctx.constant(2);
      p.bias_scale = beta;
    } else if (has_c) {
      p.residual = ctx.in(2);
    }
    p.c = ctx.out(0);
    return lower_packed_matmul(ctx, p);
  }
  StridedMatmul s;
  s.dtype = ctx.out_dtype();
  s.m = m;
  s.n = n;
  s.k = k;
  s.a_row = ta ? 1 : k;
  s.a_k = ta ? m : 1;
  s.b_k = tb ? 1 : n;
  s.b_n = tb ? k : 1;
  s.alpha = alpha;
  s.beta = beta;
  s.c_row = c_row;
  s.c_n = c_n;
  s.a = ctx.in(0);
  s.b = ctx.in(1);
  if (has_c) s.c = ctx.in(2);
  s.out = ctx.out(0);
  lower_strided_matmul(ctx, s);
}

void map_axes(AxesContext& ctx) {
  const size_t ta = ctx.node.int_attr("transA", 0) != 0, tb = ctx.node.int_attr("transB", 0) != 0;
  ctx.carry(0, ta, 0, 0);
  ctx.carry(1, 1 - tb, 0, 1);
  ctx.reduce({{0, 1 - ta}, {1, tb}});
  axes::aligned(ctx, 2, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Gemm",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::gemm,
                   .packs = 0b110,
                   .facts = {.layer = LayerForm::gemm,
                             .weight_inputs = 0b111,
                             .flops = flops::gemm,
                             .trial = {"T[4,4]; T[4,4]; T[4,4]"}},
                   .bound = [](BoundContext& c) { return bound_product(c, true); }};

}  // namespace poprt::ops::gemm_op

// Inputs: query, key, value, past_state?, decay?, beta?. Outputs: output, present_state. Computed
// in f32, or in f64 for f64 inputs.
#include <cmath>
#include <limits>

#include "kernels/calls/linear_attention.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::linear_attention_op {
namespace {

struct Sizes {
  int64_t q_heads, kv_heads, k, v;
};

Sizes sizes_of(const ir::Node& node) {
  const Shape &q = node.input(0)->shape(), &k = node.input(1)->shape(), &v = node.input(2)->shape();
  Sizes s{node.int_attr("q_num_heads", 0), node.int_attr("kv_num_heads", 0), 0, 0};
  if (s.q_heads < 1 || s.kv_heads < 1 || s.q_heads % s.kv_heads || q.size() != 3 || k.size() != 3 ||
      v.size() != 3 || q[2] % s.q_heads || v[2] % s.kv_heads ||
      k[2] != q[2] / s.q_heads * s.kv_heads || k[0] != q[0] || v[0] != q[0] || k[1] != q[1] ||
      v[1] != q[1])
    fail(ErrorCode::invalid_argument,
         "{}: query {}, key {} and value {} do not fit {} and {} heads", node.describe(),
         shape_string(q), shape_string(k), shape_string(v), s.q_heads, s.kv_heads);
  s.k = q[2] / s.q_heads;
  s.v = v[2] / s.kv_heads;
  return s;
}

void infer(InferContext& ctx) {
  const ir::ValueType& q = ctx.in(0);
  const DType state = ctx.has(3) ? ctx.in(3).dtype : q.dtype;
  if (!q.is_static() || !ctx.in(1).is_static() || !ctx.in(2).is_static()) {
    ctx.out_dtype(0, q.dtype);
    return ctx.out_dtype(1, state);
  }
  const Sizes s = sizes_of(ctx.node);
  ctx.out(0, q.dtype, {q.shape[0], q.shape[1], s.q_heads * s.v});
  ctx.out(1, state, {q.shape[0], s.kv_heads, s.k, s.v});
}

void lower(LowerContext& ctx) {
  const Sizes s = sizes_of(ctx.node);
  const Shape& q = ctx.in_shape(0);
  const std::string rule = ctx.node.string_attr("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") ctx.fail_unsupported("update_rule '{}'", rule);
  if (gated != ctx.has(4) || delta != ctx.has(5))
    ctx.fail_unsupported("update_rule '{}' needs {} decay and {} beta", rule, gated ? "a" : "no",
                         delta ? "a" : "no");
  const int64_t decay = gated ? ctx.in_shape(4).back() : 0;
  if (gated && decay != s.kv_heads && decay != s.kv_heads * s.k)
    ctx.fail_unsupported("decay {}", shape_string(ctx.in_shape(4)));
  const DType t = real_type(ctx);
  float scale = ctx.node.float_attr("scale", 0);
  if (scale == 0)
    scale = t == DType::f64 ? std::numeric_limits<float>::quiet_NaN()
                            : 1.0f / std::sqrt(static_cast<float>(s.k));
  const auto y = out_as(ctx, 0, t), state = out_as(ctx, 1, t);
  const auto place = [&](program::BufferId id, size_t i) {
    return id != LowerContext::kNone ? id : ctx.temporary(t, ctx.out_shape(i));
  };
  const auto state_place = ctx.node.outputs().size() > 1
                               ? place(state, 1)
                               : ctx.temporary(t, {q[0], s.kv_heads, s.k, s.v});
  ctx.emit(calls::LinearAttention{.batch = q[0],
                                  .tokens = q[1],
                                  .q_heads = s.q_heads,
                                  .kv_heads = s.kv_heads,
                                  .kn = s.k,
                                  .vn = s.v,
                                  .decay_of_keys = decay == s.kv_heads * s.k && s.k != 1,
                                  .beta_heads = delta ? ctx.in_shape(5).back() : 0,
                                  .scale = scale},
           {in_as(ctx, 0, t), in_as(ctx, 1, t), in_as(ctx, 2, t), in_as(ctx, 3, t),
            in_as(ctx, 4, t), in_as(ctx, 5, t), place(y, 0), state_place});
  finish_as(ctx, 0, y, t);
  finish_as(ctx, 1, state, t);
}

// Samples and heads are independent, and so are the columns of the values. Tokens are not, and with
// the delta rule the rows of the state are not either.
void map_axes(AxesContext& ctx) {
  const Sizes s = sizes_of(ctx.node);
  const int64_t shared = s.q_heads / s.kv_heads;
  const auto by_head = [&](size_t input, size_t axis, int64_t block) {
    axes::grouped(ctx, {{input, axis}, block, 0, 2, s.v * shared, s.kv_heads});
    axes::grouped(ctx, {{input, axis}, block, 1, 1, 1, s.kv_heads});
  };
  const auto by_column = [&](size_t input, size_t axis) {
    axes::grouped(ctx, {{input, axis}, 1, 0, 2, 1, s.v});
    axes::grouped(ctx, {{input, axis}, 1, 1, 3, 1, s.v});
  };
  for (size_t i = 0; i < ctx.input_count(); i++)
    for (size_t o = 0; o < ctx.output_count(); o++) axes::range(ctx, i, 0, 1, o, 0);
  ctx.carry(0, 1, 0, 1);
  ctx.number(0, 1);
  axes::grouped(ctx, {{0, 2}, s.k, 0, 2, s.v, s.q_heads});
  ctx.independent(0, 1);
  by_head(1, 2, s.k);
  by_head(2, 2, s.v);
  by_column(2, 2);
  const bool delta = ctx.has(5);
  if (!delta) axes::grouped(ctx, {{1, 2}, 1, 1, 2, 1, s.k});
  if (ctx.has(3)) {
    by_head(3, 1, 1);
    by_column(3, 3);
    if (!delta) ctx.carry(3, 2, 1, 2);
  }
  for (const size_t i : {4, 5})
    if (ctx.has(i) && ctx.in(i).back() % s.kv_heads == 0)
      by_head(i, ctx.in(i).size() - 1, ctx.in(i).back() / s.kv_heads);
}

}  // namespace

constexpr StateForm kLinearAttentionStates[] = {{3, 1}};

extern const OpDef def;
const OpDef def = {
    .name = "LinearAttention",
    .since = 27,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::linear_attention,
    .facts = {.states = kLinearAttentionStates,
              .trial = {"T[1,2,4]; T[1,2,4]; T[1,2,4]",
                        R"(q_num_heads = 2, kv_num_heads = 2, update_rule = "linear")", 2}}};

}  // namespace poprt::ops::linear_attention_op

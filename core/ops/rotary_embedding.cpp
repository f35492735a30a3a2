// X is [B, heads, S, size] or [B, S, heads * size]. The computation is in f32, or in f64 for f64
// input.
#include "kernels/calls/rotary_embedding.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/cost.h"
#include "ops/common/value_range.h"

namespace poprt::ops::rotary_embedding_op {
namespace {

void infer(InferContext& ctx) {
  ctx.out(0, ctx.in(0));
  const ir::ValueType& table = ctx.in(1);
  if (table.has_shape && table.shape.size() == 2)
    check_places(ctx.node, 3, table.shape[0], "position");
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &table = ctx.in_shape(1);
  if (x.size() != 3 && x.size() != 4)
    ctx.fail_unsupported("X {} must have three or four dimensions", shape_string(x));
  const bool packed = x.size() == 3;
  const int64_t heads = packed ? ctx.node.int_attr("num_heads", 0) : x[1];
  if (packed && (heads < 1 || x[2] % heads)) ctx.fail_unsupported("num_heads is {}", heads);
  const int64_t tokens = packed ? x[1] : x[2], head = packed ? x[2] / heads : x[3];
  int64_t rotated = ctx.node.int_attr("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = head;
  if (rotated < 0 || rotated % 2 || table.empty() || table.back() != rotated / 2 ||
      ctx.in_shape(2) != table)
    ctx.fail_unsupported("cos_cache {} and sin_cache {} do not fit {} rotated elements",
                         shape_string(table), shape_string(ctx.in_shape(2)), rotated);
  const int64_t rows = element_count(std::span(table).first(table.size() - 1));
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  check_numbers(ctx, 3, calls::Number::position, rows);
  ctx.emit(calls::RotaryEmbedding{.batch = x[0],
                                  .heads = heads,
                                  .tokens = tokens,
                                  .head = head,
                                  .rotated = rotated,
                                  .interleaved = ctx.node.int_attr("interleaved", 0) != 0,
                                  .table = rows,
                                  .sb = heads * tokens * head,
                                  .sh = packed ? head : tokens * head,
                                  .st = packed ? heads * head : head},
           {in_as(ctx, 0, t), in_as(ctx, 1, t), in_as(ctx, 2, t),
            ctx.has(3) ? ctx.in(3) : LowerContext::kNone, y});
  finish_as(ctx, 0, y, t);
}

// The rotated elements of a head are combined in pairs: d and d + rotated / 2, or 2 d and 2 d + 1
// if interleaved. Only if the whole head is rotated, its columns are linked.
void map_axes(AxesContext& ctx) {
  const bool packed = ctx.in(0).size() == 3, interleaved = ctx.node.int_attr("interleaved", 0) != 0;
  const size_t tokens = packed ? 1 : 2, last = ctx.in(0).size() - 1;
  const int64_t heads = packed ? std::max<int64_t>(ctx.node.int_attr("num_heads", 0), 1) : 1;
  const int64_t head = ctx.in(0)[last] / heads, half = head / 2;
  axes::range(ctx, 0, 0, last, 0, 0);
  if (packed) axes::grouped(ctx, {{0, 2}, head, 0, 2, head, heads});
  const bool whole = half > 0 && ctx.in(1).back() == half && head % 2 == 0;
  if (whole) ctx.link({0, last, 0, last, half, interleaved ? 2 : 1, interleaved ? 2 : 1});
  for (const size_t i : {1, 2, 3}) {
    if (!ctx.has(i)) continue;
    const size_t columns = ctx.in(i).size() - 1;
    if (whole && i < 3) ctx.link({i, columns, 0, last, half, 1, interleaved ? 2 : 1});
    // Without position ids, the tables have one row for each token.
    if ((i < 3 && ctx.has(3)) || ctx.in(i).size() < 2) continue;
    ctx.carry(i, 0, 0, 0);
    ctx.carry(i, 1, 0, tokens);
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "RotaryEmbedding",
                   .since = 23,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::rotary,
                   .facts = {.trial = {"T[1,4,4,4]; T[1,4,2]; T[1,4,2]"}}};

}  // namespace poprt::ops::rotary_embedding_op

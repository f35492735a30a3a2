#include <algorithm>

#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::space_to_depth_op {
namespace {

// Whether output channels are ordered by channel first (mode CRD, since opset 28).
bool channels_first(const ir::Node& n) { return n.string_attr("mode", "DCR") == "CRD"; }

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const int64_t b = ctx.node.int_attr("blocksize", 0);
  if (b < 1 || b > 1 << 20) ctx.fail_input("blocksize {} is out of range", b);
  const std::string mode = ctx.node.string_attr("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") ctx.fail_input("mode is '{}', expected DCR or CRD", mode);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  if (in.shape.size() != 4) ctx.fail_input("expected rank 4, found {}", shape_string(in.shape));
  const auto cut = [&](int64_t d) {
    if (d >= 0 && d % b != 0) ctx.fail_input("{} is not a multiple of blocksize {}", d, b);
    return d < 0 ? d : d / b;
  };
  const int64_t c = in.shape[1];
  ctx.out(0, in.dtype,
          {in.shape[0], c < 0 ? c : checked_mul(c, b * b, "shape"), cut(in.shape[2]),
           cut(in.shape[3])});
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  const int64_t b = ctx.node.int_attr("blocksize", 0);
  const auto s = contiguous_strides(in);
  // The index is (n, i, j, c, h, w), or (n, c, i, j, h, w) in mode CRD, where i is the row and j
  // the column within the block.
  Shape dims = {in[0], b, b, in[1], out[2], out[3]};
  std::vector<int64_t> from = {s[0], s[2], 1, s[1], b * s[2], b};
  if (channels_first(ctx.node)) {
    std::rotate(dims.begin() + 1, dims.begin() + 3, dims.begin() + 4);
    std::rotate(from.begin() + 1, from.begin() + 3, from.begin() + 4);
  }
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0),
                    {dims, from, contiguous_strides(dims), 0, 0});
}

void map_axes(AxesContext& ctx) {
  const int64_t b = ctx.node.int_attr("blocksize", 0), c = ctx.in(0)[1];
  ctx.carry(0, 0, 0, 0);
  const bool crd = channels_first(ctx.node);
  ctx.link({0, 1, 0, 1, c, 1, crd ? b * b : 1});
  ctx.link({0, 2, 0, 1, b, 1, crd ? b : b * c});
  ctx.link({0, 3, 0, 1, b, 1, crd ? 1 : c});
  for (const size_t d : {2, 3}) ctx.link({0, d, 0, d, kNoRepeat, b, 1});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SpaceToDepth",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true, .trial = {"T[1,4,4,4]", "blocksize = 2"}}};

}  // namespace poprt::ops::space_to_depth_op

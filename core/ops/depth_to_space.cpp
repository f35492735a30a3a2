#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::depth_to_space_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const int64_t b = ctx.node.int_attr("blocksize", 0);
  if (b < 1 || b > 1 << 20) ctx.fail_input("blocksize {} is out of range", b);
  if (const std::string mode = ctx.node.string_attr("mode", "DCR"); mode != "DCR" && mode != "CRD")
    ctx.fail_input("mode is '{}', expected DCR or CRD", mode);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  if (in.shape.size() != 4) ctx.fail_input("expected rank 4, found {}", shape_string(in.shape));
  const auto grown = [b](int64_t d) { return d < 0 ? d : checked_mul(d, b, "shape"); };
  const int64_t c = in.shape[1];
  if (c >= 0 && c % (b * b) != 0)
    ctx.fail_input("{} channels are not a multiple of blocksize * blocksize = {}", c, b * b);
  ctx.out(0, in.dtype,
          {in.shape[0], c < 0 ? c : c / (b * b), grown(in.shape[2]), grown(in.shape[3])});
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  const int64_t b = ctx.node.int_attr("blocksize", 0), h = in[2], w = in[3], hw = h * w;
  const int64_t c = out[1];
  const bool dcr = ctx.node.string_attr("mode", "DCR") == "DCR";
  // The index is (n, c, h, i, w, j), where i is the row and j the column within the block.
  const Shape dims = {in[0], c, h, b, w, b};
  StridedCopy copy{dims, {}, contiguous_strides(dims), 0, 0};
  copy.from_strides = dcr ? std::vector<int64_t>{in[1] * hw, hw, w, b * c * hw, 1, c * hw}
                          : std::vector<int64_t>{in[1] * hw, b * b * hw, w, b * hw, 1, hw};
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0), copy);
}

void map_axes(AxesContext& ctx) {
  const int64_t b = ctx.node.int_attr("blocksize", 0), c = ctx.out()[1];
  const bool dcr = ctx.node.string_attr("mode", "DCR") == "DCR";
  ctx.carry(0, 0, 0, 0);
  ctx.link({0, 1, 0, 1, c, dcr ? 1 : b * b, 1});
  ctx.link({0, 1, 0, 2, b, dcr ? b * c : b, 1});
  ctx.link({0, 1, 0, 3, b, dcr ? c : 1, 1});
  for (const size_t d : {2, 3}) ctx.link({0, d, 0, d, kNoRepeat, 1, b});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DepthToSpace",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true, .trial = {"T[1,4,4,4]", "blocksize = 2"}}};

}  // namespace poprt::ops::depth_to_space_op

// Inference only: the data passes through; the mask, if asked for, keeps everything.
#include <cstring>

#include "ops/common/elementwise.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (ctx.opset() >= 12 && ctx.has(2)) {
    const auto training = ctx.ints(2);
    const Tensor* ratio = ctx.constant(1);
    const bool drops = !ratio ? !ctx.has(1) || !ctx.constant(1) : ratio->to_doubles().at(0) != 0;
    if (!training || (training->at(0) != 0 && drops))
      ctx.fail_unsupported("training_mode must be the constant false; export for inference");
  }
  ctx.out(0, t);
  ir::ValueType mask = t;
  if (ctx.opset() >= 10) mask.dtype = DType::boolean;
  if (ctx.node.output(1)) ctx.out(1, mask);
}

void lower(LowerContext& ctx) {
  if (ctx.out(0) != LowerContext::kNone) ctx.emit("copy", {ctx.in(0), ctx.out(0)});
  if (ctx.node.output(1) && ctx.out(1) != LowerContext::kNone) {
    const Shape& shape = ctx.out_shape(1);
    const DType type = ctx.out_dtype(1);
    const auto ones =
        ctx.pack(static_cast<uint64_t>(element_count(shape)), DType::boolean, shape,
                 [](std::span<std::byte> to) { std::memset(to.data(), 1, to.size()); });
    if (type == DType::boolean)
      ctx.emit("copy", {ones, ctx.out(1)});
    else
      ctx.emit("cast", {ones, ctx.out(1)}, {1});
  }
}

}  // namespace

extern const OpDef dropout_op;
const OpDef dropout_op = {
    .name = "Dropout", .infer = infer, .lower = lower, .sharing = {.in_place = 1}};

}  // namespace poprt::ops

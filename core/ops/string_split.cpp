// The compiler computes the result from constant inputs (ops/common/strings.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::string_split_op {
namespace {

void infer(InferContext& ctx) {
  ctx.out_dtype(0, DType::string);
  if (ctx.in(0).has_shape) ctx.out(1, DType::s64, ctx.in(0).shape);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "StringSplit",
                   .since = 20,
                   .infer = infer,
                   .lower = lower_text,
                   .axes = axes::none,
                   .facts = {.text = true, .trial = {R"(T[1] = ["a b"])", "", 2}}};

}  // namespace poprt::ops::string_split_op

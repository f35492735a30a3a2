// The compiler computes the result from constant inputs (ops/common/strings.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::regex_full_match_op {
namespace {

void infer(InferContext& ctx) {
  if (ctx.in(0).has_shape) ctx.out(0, DType::boolean, ctx.in(0).shape);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "RegexFullMatch",
                   .since = 20,
                   .infer = infer,
                   .lower = lower_text,
                   .axes = axes::none,
                   .facts = {.text = true, .trial = {R"(T[1] = ["a"])", R"(pattern = "a")"}}};

}  // namespace poprt::ops::regex_full_match_op

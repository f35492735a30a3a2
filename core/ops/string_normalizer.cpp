// The compiler computes the result from constant inputs (ops/common/strings.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::string_normalizer_op {
namespace {

void infer(InferContext& ctx) { ctx.out_dtype(0, DType::string); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "StringNormalizer",
                   .since = 10,
                   .infer = infer,
                   .lower = lower_text,
                   .axes = axes::none,
                   .facts = {.text = true, .trial = {R"(T[1] = ["a"])"}}};

}  // namespace poprt::ops::string_normalizer_op

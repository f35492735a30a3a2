// The compiler computes the result from constant inputs (ops/common/strings.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::string_concat_op {
namespace {

void infer(InferContext& ctx) { ctx.out_dtype(0, DType::string); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "StringConcat",
                   .since = 20,
                   .infer = infer,
                   .lower = lower_text,
                   .axes = axes::none,
                   .facts = {.text = true, .trial = {R"(T[1] = ["a"]; T[1] = ["b"])"}}};

}  // namespace poprt::ops::string_concat_op

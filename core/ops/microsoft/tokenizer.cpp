// Splits each text into tokens along a new last axis. The compiler computes the result from
// constant inputs (ops/common/strings.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::microsoft_tokenizer_op {
namespace {

void infer(InferContext& ctx) { ctx.out_dtype(0, DType::string); }

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Tokenizer",
    .domain = "com.microsoft",
    .infer = infer,
    .lower = lower_text,
    .axes = axes::none,
    .facts = {.text = true,
              .trial = {R"(T[1] = ["a b"])",
                        R"(mark = 0, mincharnum = 1, pad_value = "", separators = [" "])"}}};

}  // namespace poprt::ops::microsoft_tokenizer_op

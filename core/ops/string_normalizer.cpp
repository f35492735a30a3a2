// Computed by the compiler from constants (ops/common/strings.h).
#include "ops/common/compile_time.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) { ctx.out_dtype(0, DType::string); }

}  // namespace

extern const OpDef string_normalizer_op;
const OpDef string_normalizer_op = {.name = "StringNormalizer",
                                    .since = 10,
                                    .infer = infer,
                                    .lower = lower_text,
                                    .facts = {.text = true, .trial = {R"(T[1] = ["a"])"}}};

}  // namespace poprt::ops

#include "ops/common/integer_matmul.h"

namespace poprt::ops {

extern const OpDef matmul_integer_op;
const OpDef matmul_integer_op = {
    .name = "MatMulInteger",
    .since = 10,
    .infer = [](InferContext& c) { infer_integer_matmul(c, 0, 1, DType::s32); },
    .lower = [](LowerContext& c) { lower_integer_matmul(c, 0, 1, 2, 3, c.out(0)); },
    .packs = 0b10};

}  // namespace poprt::ops

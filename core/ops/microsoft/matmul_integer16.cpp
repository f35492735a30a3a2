// The product of two s16 tensors. Sums wrap to 32 bits.
#include "ops/common/expansion.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_matmul_integer16_op, "com.microsoft", "MatMulInteger16",
    [](Expansion& e) {
      for (const size_t i : {0, 1})
        if (e.dtype(i) != DType::s16)
          e.fail_unsupported("element type {}, expected s16", dtype_name(e.dtype(i)));
      e.out(0, e.add("MatMul", {e.cast(e.in(0), DType::s32), e.cast(e.in(1), DType::s32)}));
    },
    .trial = {"T[4,4]; T[4,4]"})

#include "ops/common/random.h"

POPRT_RANDOM_OP(random_uniform_like, "RandomUniformLike", 1, infer_random_like, uniform)

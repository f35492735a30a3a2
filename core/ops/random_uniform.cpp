#include "ops/common/random.h"

POPRT_RANDOM_OP(random_uniform, "RandomUniform", 1, infer_random_shape, uniform)

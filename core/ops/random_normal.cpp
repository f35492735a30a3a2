#include "ops/common/random.h"

POPRT_RANDOM_OP(random_normal, "RandomNormal", 1, infer_random_shape, normal)

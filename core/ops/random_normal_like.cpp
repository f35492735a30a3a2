#include "ops/common/random.h"

POPRT_RANDOM_OP(random_normal_like, "RandomNormalLike", 1, infer_random_like, normal)

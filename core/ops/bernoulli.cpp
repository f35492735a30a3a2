#include "ops/common/random.h"

POPRT_RANDOM_OP(bernoulli, "Bernoulli", 15, infer_random_like, bernoulli)

#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(thresholded_relu, "ThresholdedRelu", 1, floating)

#include "ops/common/gelu.h"

POPRT_ELEMENTWISE_OP(gelu, "Gelu", 20, floating, .blocked = BlockedForm::unary,
                     .elementwise = {append_gelu}, .epilogue = gelu_epilogue)

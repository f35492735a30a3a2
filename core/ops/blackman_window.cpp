#include "ops/common/signal_window.h"

POPRT_SIGNAL_WINDOW_OP(blackman_window, "BlackmanWindow", 0.42, 0.5, 0.08)

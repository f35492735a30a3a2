#include "ops/common/signal_window.h"

POPRT_SIGNAL_WINDOW_OP(hamming_window, "HammingWindow", 25.0 / 46.0, 21.0 / 46.0, 0.0)

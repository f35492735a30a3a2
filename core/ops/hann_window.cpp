#include "ops/common/signal_window.h"

POPRT_SIGNAL_WINDOW_OP(hann_window, "HannWindow", 0.5, 0.5, 0.0)

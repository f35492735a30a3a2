// unblock: f32 [N, ceil(C/16), pixels, 16] to plain [N, C, pixels]
// (kernels/common/layout.h).
#include "kernels/common/layout.h"

namespace poprt::kernels {

extern const Kernel unblock_kernel;
const Kernel unblock_kernel = {
    "unblock", [](const Call& call) { return prepare_layout("unblock", call, false); }};

}  // namespace poprt::kernels

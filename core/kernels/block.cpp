// block: f32 plain [N, C, pixels] to [N, ceil(C/16), pixels, 16], missing channels zero
// (kernels/common/layout.h).
#include "kernels/common/layout.h"

namespace poprt::kernels {

extern const Kernel block_kernel;
const Kernel block_kernel = {"block",
                             [](const Call& call) { return prepare_layout("block", call, true); }};

}  // namespace poprt::kernels

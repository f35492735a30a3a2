// The plan of block if `to_blocks`, otherwise of unblock (calls/block.h, calls/unblock.h).
#pragma once

#include "kernels/kernel.h"

namespace poprt::kernels {

Plan prepare_layout(std::string_view kernel, const Call& call, int64_t n, int64_t channels,
                    int64_t pixels, bool to_blocks);

}  // namespace poprt::kernels

// What block and unblock share: operands [from, to], ints [N, C, pixels].
#pragma once

#include "kernels/kernel.h"

namespace poprt::kernels {

Plan prepare_layout(std::string_view kernel, const Call& call, bool to_blocks);

}  // namespace poprt::kernels

// store_slice: operands [part, index, whole]. whole[index] = part, where whole is [n, dims of
// part...] and index is s64. An index outside [0, n) is ignored.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct StoreSlice {
  static constexpr std::string_view kKernel = "store_slice";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls

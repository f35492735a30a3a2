// store_slice: operands [part, index, whole]: whole[index] = part, for whole [n, dims of
// part...] and an s64 index; an index outside [0, n) writes nothing.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct StoreSlice {
  static constexpr std::string_view kKernel = "store_slice";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls

// byte_map: operands [x, table [256], y]. y[i] = table[x[i]]. x and y are u8 or s8; the table has
// the type of y and is indexed by the bits of x as an unsigned number.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct ByteMap {
  static constexpr std::string_view kKernel = "byte_map";

  int64_t count = 0;  // elements of x and y

  void fields(Fields& f) { f.size("count", count); }
};

}  // namespace poprt::kernels::calls

// one_hot: operands [indices [outer, inner] (s32, s64 or f32), values [2], to [outer, depth,
// inner]]. to[o, d, i] = values[1] if indices[o, i] is d, otherwise values[0]. A negative index
// counts from the end; for an index outside the depth all results are values[0].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct OneHot {
  static constexpr std::string_view kKernel = "one_hot";

  int64_t outer = 0;
  int64_t depth = 0;
  int64_t inner = 0;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("depth", depth);
    f.size("inner", inner);
  }
};

}  // namespace poprt::kernels::calls

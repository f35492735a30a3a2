// label_map: operands [x [count], keys [keys], values [keys + 1], y [count]]. y[i] = values[place
// of x[i] among the sorted keys], or the last value if x[i] is not a key. x and keys are s64, s32,
// s16, f32 or f64. NaN may be the last key and is equal to itself.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct LabelMap {
  static constexpr std::string_view kKernel = "label_map";

  int64_t count = 0;
  int64_t keys = 0;
  int64_t size = 1;  // of a value, in bytes: a power of two

  void fields(Fields& f) {
    f.size("count", count);
    f.size("keys", keys);
    f.size("size", size, 1, 16);
    f.require((size & (size - 1)) == 0, "the size of a value is not a power of two");
  }
};

}  // namespace poprt::kernels::calls

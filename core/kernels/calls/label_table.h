// label_table: operands [x [count], values [entries + 1], y [count]]. y[i] = values[x[i] - first],
// or the last value if there is no such entry. x is s64, s32 or s16.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct LabelTable {
  static constexpr std::string_view kKernel = "label_table";

  int64_t count = 0;
  int64_t entries = 0;
  int64_t size = 1;   // of a value, in bytes: a power of two
  int64_t first = 0;  // the label of entry 0

  void fields(Fields& f) {
    f.size("count", count);
    f.size("entries", entries);
    f.size("size", size, 1, 16);
    f.integer("first", first);
    f.require((size & (size - 1)) == 0, "the size of a value is not a power of two");
  }
};

}  // namespace poprt::kernels::calls

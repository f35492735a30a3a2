// shift: operands [step s32, x [outer, added, inner], state [slots, outer, length, inner], y?
// [outer, length, inner]]. Slot step mod slots is shifted by `added` along its length, x is
// inserted at the front, and y is the new content of the slot. At step 0 all slots start with
// zeros.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Shift {
  static constexpr std::string_view kKernel = "shift";

  int64_t slots = 0;
  int64_t outer = 0;
  int64_t length = 0;
  int64_t added = 0;
  int64_t inner = 0;

  void fields(Fields& f) {
    f.size("slots", slots, 1);
    f.size("outer", outer);
    f.size("length", length);
    f.size("added", added, 0, length);
    f.size("inner", inner);
  }
};

}  // namespace poprt::kernels::calls

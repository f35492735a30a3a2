// check_size: operands [from, to] (s32 or s64, of one type and number of elements). Copies numbers
// that decide a size. A number outside [0, most] is a failure of the run and is clamped.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct CheckSize {
  static constexpr std::string_view kKernel = "check_size";

  int64_t most = 0;
  bool option = false;  // `most` is from option max_size, which the message names

  void fields(Fields& f) {
    f.size("most", most);
    f.flag("option", option);
  }
};

}  // namespace poprt::kernels::calls

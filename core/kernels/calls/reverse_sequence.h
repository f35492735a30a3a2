// reverse_sequence: operands [from [d0, d1, inner], lens (s64), to]. Reverses the first lens[b]
// steps of each sequence and copies the rest. A length outside [0, steps] is clamped and, if
// `checked`, is a failure of the run.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The dimension of time; the other dimension is the batch.
enum class TimeAxis : int64_t { first = 0, second = 1 };

struct ReverseSequence {
  static constexpr std::string_view kKernel = "reverse_sequence";

  int64_t d0 = 0;
  int64_t d1 = 0;
  int64_t inner = 0;
  TimeAxis time = TimeAxis::first;
  bool checked = false;

  void fields(Fields& f) {
    f.size("d0", d0);
    f.size("d1", d1);
    f.size("inner", inner);
    f.choice("time", time, TimeAxis::second);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

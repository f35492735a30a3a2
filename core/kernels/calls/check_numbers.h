// check_numbers: operand [from]. A number outside [0, end) that is not the ignored one is a failure
// of the run. Numbers are s32, s64, f32 or f64 and `step` elements apart. Operators emit this call
// before the kernel that reads the numbers, which continues with a defined result.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The kind of the numbers, for the message. The values are part of the file format.
enum class Number : int64_t {
  batch_index = 0,
  sequence_length = 1,
  position = 2,
  label = 3,
  valid_keys = 4,  // nonpad_kv_seqlen of Attention
};

struct CheckNumbers {
  static constexpr std::string_view kKernel = "check_numbers";

  int64_t count = 0;
  int64_t step = 1;
  int64_t end = 0;
  Number what = Number::batch_index;
  bool has_ignored = false;
  int64_t ignored = 0;  // a number that is always valid

  void fields(Fields& f) {
    f.size("count", count);
    f.size("step", step, 1);
    f.size("end", end);
    f.choice("what", what, Number::valid_keys);
    f.flag("has_ignored", has_ignored);
    f.integer("ignored", ignored);
  }
};

}  // namespace poprt::kernels::calls

// gather: operands [from [outer, axis, inner], indices (s32 or s64, any shape), to [outer, count of
// indices, inner]]. to[o, i, :] = from[o, indices[i], :]. A negative index counts from the end. An
// index outside [-axis, axis), which is an error in ONNX, selects zero bytes and, if `checked`, is
// a failure of the run.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Gather {
  static constexpr std::string_view kKernel = "gather";

  int64_t outer = 0;
  int64_t axis = 0;  // the size of `from` along the axis that the indices address
  int64_t inner = 0;
  bool checked = false;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("axis", axis);
    f.size("inner", inner);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

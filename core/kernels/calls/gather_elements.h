// gather_elements: operands [data, indices (s32 or s64), to]. to[i] = data[i with its axis replaced
// by indices[i]]. A negative index counts from the end; an index outside the axis selects zero
// bytes and, if `checked`, is a failure of the run.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/indexed_axis.h"

namespace poprt::kernels::calls {

struct GatherElements {
  static constexpr std::string_view kKernel = "gather_elements";

  IndexedAxis at;
  bool checked = false;  // an index outside the data is a failure of the run

  void fields(Fields& f) {
    at.fields(f);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

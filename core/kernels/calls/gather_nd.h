// gather_nd: operands [data [batch, dims..., slice], indices [batch, count, depth] (s32 or s64), to
// [batch, count, slice]]. Slice t of the result is the slice of the data at index tuple t. Negative
// indices count from the end; a tuple outside the data selects zero bytes and, if `checked`, is a
// failure of the run.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/indexed_slices.h"

namespace poprt::kernels::calls {

struct GatherNd {
  static constexpr std::string_view kKernel = "gather_nd";

  IndexedSlices at;
  bool checked = false;  // an index outside the data is a failure of the run

  void fields(Fields& f) {
    at.fields(f);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

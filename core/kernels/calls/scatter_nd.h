// scatter_nd: operands [indices [batch, count, depth] (s32 or s64), updates [batch, count, slice],
// to [batch, dims..., slice]]. The slice of the result at index tuple t OP= slice t of the updates,
// in the order of t. A tuple outside the data is ignored; if `checked`, it is a failure of the
// run.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/indexed_slices.h"
#include "kernels/common/accumulate.h"

namespace poprt::kernels::calls {

struct ScatterNd {
  static constexpr std::string_view kKernel = "scatter_nd";

  ScatterReduction reduction = ScatterReduction::none;
  IndexedSlices at;      // of `to`
  bool checked = false;  // an index outside the data is a failure of the run

  void fields(Fields& f) {
    f.choice("reduction", reduction, ScatterReduction::max);
    at.fields(f);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

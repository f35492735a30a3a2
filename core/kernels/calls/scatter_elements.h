// scatter_elements: operands [indices (s32 or s64), updates, to]. to[i with its axis replaced by
// indices[i]] OP= updates[i], in the order of i. An index outside the axis is ignored; if
// `checked`, it is a failure of the run.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/indexed_axis.h"
#include "kernels/common/accumulate.h"

namespace poprt::kernels::calls {

struct ScatterElements {
  static constexpr std::string_view kKernel = "scatter_elements";

  ScatterReduction reduction = ScatterReduction::none;
  IndexedAxis at;        // of `to`
  bool checked = false;  // an index outside the data is a failure of the run

  void fields(Fields& f) {
    f.choice("reduction", reduction, ScatterReduction::max);
    at.fields(f);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

// tensor_scatter: operands [update [batch, outer, count, bytes], indices? [batch] (s64), cache
// [batch, outer, slots, bytes]]. Writes the update into the cache: rows of batch b start at slot
// indices[b], or at 0 without indices. Rows outside the cache are dropped and, if `checked`, are a
// failure of the run.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct TensorScatter {
  static constexpr std::string_view kKernel = "tensor_scatter";

  int64_t batch = 0;
  int64_t outer = 0;
  int64_t slots = 0;
  int64_t count = 0;      // slots of an update
  int64_t bytes = 0;      // of a slot
  bool circular = false;  // rows beyond the end continue at slot 0
  bool checked = false;

  void fields(Fields& f) {
    f.size("batch", batch);
    f.size("outer", outer);
    f.size("slots", slots);
    f.size("count", count);
    f.size("bytes", bytes);
    f.flag("circular", circular);
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls

// DynamicSlice and DynamicUpdate: a window of `sizes` along `axes` that starts at the places in
// input 1.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

struct DynamicWindow {
  std::vector<size_t> axes;
  std::vector<int64_t> sizes;
  std::vector<ir::Value*> starts;  // s64 [1]; a start that would leave the tensor is clamped
};

inline DynamicWindow dynamic_window(Expansion& e) {
  const Shape x = e.shape(0);
  const auto axes = e.node.ints_attr("axes"), sizes = e.node.ints_attr("sizes");
  e.check(axes.size() == sizes.size() && !axes.empty() &&
              element_count(e.shape(1)) == static_cast<int64_t>(axes.size()),
          "axes, sizes and the index must have equal lengths");
  DynamicWindow w;
  ir::Value* index = e.reshape(e.cast(e.in(1), DType::s64), {static_cast<int64_t>(axes.size())});
  for (size_t i = 0; i < axes.size(); i++) {
    const auto n = static_cast<int64_t>(i);
    w.axes.push_back(static_cast<size_t>(normalize_axis(axes[i], static_cast<int64_t>(x.size()))));
    e.check(sizes[i] >= 0 && sizes[i] <= x[w.axes[i]], "sizes are larger than the tensor");
    w.sizes.push_back(sizes[i]);
    ir::Value* start = e.slice(index, 0, n, n + 1);
    start = e.newest("Min", {start, e.ints({x[w.axes[i]] - sizes[i]})});
    w.starts.push_back(e.newest("Max", {start, e.ints({0})}));
  }
  return w;
}

}  // namespace poprt::ops

// DynamicSlice and DynamicUpdate: a window of `sizes` along `axes` that starts at the places in
// input 1.
#pragma once

#include "ops/common/check_index.h"

namespace poprt::ops {

struct DynamicWindow {
  std::vector<size_t> axes;
  std::vector<int64_t> sizes;
  std::vector<ir::Value*> starts;  // s64 [1]; a start that would leave the tensor fails the run
};

inline DynamicWindow dynamic_window(Expansion& e) {
  const Shape x = e.shape(0);
  const auto axes = e.node.ints_attr("axes"), sizes = e.node.ints_attr("sizes");
  e.check(axes.size() == sizes.size() && !axes.empty() &&
              element_count(e.shape(1)) == static_cast<int64_t>(axes.size()),
          "axes, sizes and the index must have equal lengths");
  DynamicWindow w;
  std::vector<int64_t> most;
  for (size_t i = 0; i < axes.size(); i++) {
    w.axes.push_back(static_cast<size_t>(normalize_axis(axes[i], static_cast<int64_t>(x.size()))));
    e.check(sizes[i] >= 0 && sizes[i] <= x[w.axes[i]], "sizes are larger than the tensor");
    w.sizes.push_back(sizes[i]);
    most.push_back(x[w.axes[i]] - sizes[i]);
  }
  const Shape parts = {std::ssize(axes)};
  ir::Value* index = e.in(1);
  if (!index->is_constant()) index = e.reshape(e.cast(index, DType::s64), parts);
  index = e.reshape(checked_index(e, index, most, calls::Fitting::start), parts);
  for (int64_t i = 0; i < std::ssize(axes); i++) w.starts.push_back(e.slice(index, 0, i, i + 1));
  return w;
}

}  // namespace poprt::ops

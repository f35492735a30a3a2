// A panel with one tensor: statistics, histogram and a grid of values, computed on another thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "model/task.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {

class TensorPanel {
 public:
  explicit TensorPanel(Wake wake = {}) : wake_(std::move(wake)) {}

  // Shows `tensor`. The computation starts if the name or the tensor has changed.
  void draw(const std::string& name, const Tensor& tensor);
  bool busy() const { return task_.running(); }
  void settle() { task_.wait(); }

 private:
  void draw_statistics(const TensorStatistics& s) const;
  void draw_grid();
  int64_t columns_that_fit(int64_t indices) const;

  Wake wake_;
  Tensor tensor_;
  std::string name_;
  Task<TensorStatistics> task_;
  std::shared_ptr<const TensorStatistics> statistics_;
  std::string error_;
  int slice_ = 0;   // index over all dimensions except the last two
  int column_ = 0;  // the first visible column
};

}  // namespace poprt::inspector

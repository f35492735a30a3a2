// Draws a tensor as a picture or a row of it as a line, from samples that are computed once on
// another thread.
#pragma once

#include <imgui.h>

#include <functional>
#include <optional>
#include <string>

#include "base/tensor.h"
#include "model/task.h"
#include "model/tensor_samples.h"

namespace poprt::inspector {

// Whether the last dimensions are [H, W], [3, H, W] or [H, W, 3], with at least 8 x 8 pixels. Other
// dimensions may precede them.
bool is_picture(const Tensor& tensor);

// The samples of the tensor and row that were requested last.
template <class Samples>
class SamplesOf {
 public:
  explicit SamplesOf(Wake wake) : wake_(std::move(wake)) {}

  // Returns null until they are computed, and if computing failed.
  const Samples* get(const Tensor& tensor, int64_t row, typename Task<Samples>::Work work) {
    // The tensor is kept, so that no other one has its address.
    if (tensor.data() != tensor_.data() || tensor.shape() != tensor_.shape() ||
        tensor.dtype() != tensor_.dtype() || row != row_) {
      tensor_ = tensor;
      row_ = row;
      samples_.reset();
      task_ = Task<Samples>(std::move(work), wake_);
    }
    if (task_.started() && !task_.running()) {
      samples_ = task_.take();
      task_ = {};
    }
    return samples_ ? &*samples_ : nullptr;
  }
  bool busy() const { return task_.running(); }
  void settle() { task_.wait(); }

 private:
  Wake wake_;
  Tensor tensor_;
  int64_t row_ = -1;
  Task<Samples> task_;
  std::optional<Samples> samples_;
};

class TensorPicture {
 public:
  explicit TensorPicture(Wake wake = {}) : samples_(std::move(wake)) {}

  // Draws the first picture of the tensor, in colours if it has 3 channels, from its smallest value
  // (black) to its largest.
  void draw(const Tensor& tensor, ImVec2 size);
  bool busy() const { return samples_.busy(); }
  void settle() { samples_.settle(); }

 private:
  SamplesOf<PictureSamples> samples_;
};

class TensorRow {
 public:
  // The number of largest elements in the samples.
  static constexpr size_t kTop = 10;
  explicit TensorRow(Wake wake = {}) : samples_(std::move(wake)) {}

  // The samples of a row, which must exist; null until they are computed.
  const RowSamples* samples(const Tensor& tensor, int64_t row);
  // Draws the elements of the row as a line, with zero marked.
  void draw(const char* name, const Tensor& tensor, int64_t row, ImVec2 size);
  bool busy() const { return samples_.busy(); }
  void settle() { samples_.settle(); }

 private:
  SamplesOf<RowSamples> samples_;
};

}  // namespace poprt::inspector

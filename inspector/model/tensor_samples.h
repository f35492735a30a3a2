// A picture or a row of a tensor with few enough points to be drawn in each frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/tensor.h"

namespace poprt::inspector {

// The last dimensions of a tensor as a picture: [H, W], [3, H, W] or [H, W, 3].
struct PictureShape {
  int64_t height = 0, width = 0, channels = 1;  // height is 0 if the tensor is no picture
  bool channels_last = false;

  // The element of a pixel in the first picture of the tensor.
  int64_t element(int64_t y, int64_t x, int64_t channel) const;
};
PictureShape picture_shape(const Tensor& tensor);

struct PictureSamples {
  int rows = 0, columns = 0;   // at most `most` each; every sample is one pixel
  std::vector<uint8_t> bytes;  // [rows, columns, channels]; 0: smallest value, 255: largest

  uint8_t byte(int row, int column, int64_t channel, int64_t channels) const {
    return bytes[static_cast<size_t>((int64_t{row} * columns + column) * channels + channel)];
  }
};
// Samples of the first picture of the tensor, which must be one. The range of values is that of all
// finite pixels; other pixels are white. It converts some elements at a time, because a tensor of
// doubles may not fit into memory. Throws Error(cancelled).
PictureSamples picture_samples(const Tensor& tensor, int most,
                               const std::atomic<bool>* cancel = nullptr);

struct RowSamples {
  double least = 0, most = 0;  // of the finite elements and zero
  // Elements and their values. If the row has more than `most_points` elements, each point is the
  // finite element with the largest magnitude of a part of the row.
  std::vector<std::pair<int64_t, double>> points;
  std::vector<int64_t> top;     // top_elements()
  std::vector<double> softmax;  // softmax_of() these
};
// Samples of a row of the last dimension, and its `top` largest elements. Throws Error(cancelled).
RowSamples row_samples(const Tensor& tensor, int64_t row, int64_t most_points, size_t top,
                       const std::atomic<bool>* cancel = nullptr);

}  // namespace poprt::inspector

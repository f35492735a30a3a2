#include "model/tensor_samples.h"

#include <algorithm>
#include <cmath>

#include "model/tensor_compare.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {

int64_t PictureShape::element(int64_t y, int64_t x, int64_t channel) const {
  return channels_last ? (y * width + x) * channels + channel : (channel * height + y) * width + x;
}

PictureShape picture_shape(const Tensor& t) {
  const Shape& s = t.shape();
  const size_t rank = s.size();
  if (rank < 2 || dtype_bits(t.dtype()) == 0 || t.dtype() == DType::c64 || t.dtype() == DType::c128)
    return {};
  if (rank > 2 && s[rank - 1] == 3) return {s[rank - 3], s[rank - 2], 3, true};
  const bool colour = rank > 2 && s[rank - 3] == 3;
  return {s[rank - 2], s[rank - 1], colour ? 3 : 1, false};
}

PictureSamples picture_samples(const Tensor& tensor, int most, const std::atomic<bool>* cancel) {
  const PictureShape p = picture_shape(tensor);
  double least = INFINITY, largest = -INFINITY;
  for_values(tensor, 0, p.height * p.width * p.channels, cancel,
             [&](int64_t, const std::vector<double>& values) {
               for (const double v : values)
                 if (std::isfinite(v)) least = std::min(least, v), largest = std::max(largest, v);
             });
  // Halved, so that the range of doubles does not overflow.
  const double range = largest > least ? largest / 2 - least / 2 : 0.5;
  PictureSamples samples;
  samples.rows = static_cast<int>(std::min<int64_t>(p.height, most));
  samples.columns = static_cast<int>(std::min<int64_t>(p.width, most));
  for (int row = 0; row < samples.rows; row++)
    for (int column = 0; column < samples.columns; column++)
      for (int64_t c = 0; c < p.channels; c++) {
        const int64_t y = row * p.height / samples.rows, x = column * p.width / samples.columns;
        const double v = tensor_values(tensor, p.element(y, x, c), 1)[0];
        samples.bytes.push_back(
            std::isfinite(v) ? static_cast<uint8_t>(std::lround((v / 2 - least / 2) / range * 255))
                             : 255);
      }
  return samples;
}

RowSamples row_samples(const Tensor& tensor, int64_t row, int64_t most_points, size_t top,
                       const std::atomic<bool>* cancel) {
  RowSamples samples;
  const int64_t length = row_length(tensor);
  const int64_t step = (length + most_points - 1) / std::max<int64_t>(1, most_points);
  for_values(tensor, row * length, length, cancel,
             [&](int64_t first, const std::vector<double>& values) {
               for (size_t k = 0; k < values.size(); k++) {
                 const double v = values[k];
                 if (!std::isfinite(v)) continue;
                 samples.least = std::min(samples.least, v);
                 samples.most = std::max(samples.most, v);
                 const int64_t i = first - row * length + static_cast<int64_t>(k);
                 auto& points = samples.points;
                 if (points.empty() || points.back().first / step != i / step)
                   points.emplace_back(i, v);
                 else if (std::abs(v) > std::abs(points.back().second))
                   points.back() = {i, v};
               }
             });
  samples.top = top_elements(tensor, row, top, cancel);
  samples.softmax = softmax_of(tensor, row, samples.top, cancel);
  return samples;
}

}  // namespace poprt::inspector

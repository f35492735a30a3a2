#include "passes/common/byte_weights.h"

#include <algorithm>
#include <cmath>

#include "passes/common/weighted_products.h"

namespace poprt::passes {
namespace {

// Returns the index along an axis of the element at a flat position.
class AxisIndex {
 public:
  AxisIndex(const Shape& shape, int64_t axis)
      : count_(static_cast<size_t>(shape[static_cast<size_t>(axis)])),
        inner_(static_cast<size_t>(
            element_count(std::span(shape).subspan(static_cast<size_t>(axis) + 1)))) {}
  size_t operator()(size_t position) const { return position / inner_ % count_; }
  size_t count() const { return count_; }

 private:
  size_t count_, inner_;
};

}  // namespace

bool is_finite(const Tensor& weight) {
  return std::ranges::all_of(to_floats(weight), [](float x) { return std::isfinite(x); });
}

std::vector<float> byte_scales(const Tensor& weight, int64_t axis) {
  const AxisIndex channel(weight.shape(), axis);
  const std::vector<float> values = to_floats(weight);
  std::vector<float> scales(channel.count());
  for (size_t i = 0; i < values.size(); i++)
    scales[channel(i)] = std::max(scales[channel(i)], std::fabs(values[i]));
  for (float& s : scales) s /= kLargestByte;
  return scales;
}

Tensor to_bytes(const Tensor& weight, int64_t axis, std::span<const float> scales) {
  const AxisIndex channel(weight.shape(), axis);
  const std::vector<float> values = to_floats(weight);
  std::vector<int8_t> bytes(values.size());
  for (size_t i = 0; i < values.size(); i++)
    bytes[i] = static_cast<int8_t>(
        std::clamp(std::nearbyint(values[i] / scales[channel(i)]), -kLargestByte, kLargestByte));
  return Tensor::of<int8_t>(weight.shape(), bytes);
}

bool is_faster_on_bytes(const Shape& weight, int64_t group) {
  constexpr int64_t kLeastChannels = 3, kDepthwise = 16;
  return weight[1] >= kLeastChannels ||
         (weight[1] == 1 && group == weight[0] && group % kDepthwise == 0);
}

}  // namespace poprt::passes

#include "model/tensor_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "model/format.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {
namespace {

constexpr int64_t kRun = 1 << 16;  // elements between two checks of `cancel`

double size_of(const DifferingElement& e) {
  const double d = std::abs(e.difference);
  return std::isnan(d) ? HUGE_VAL : d;
}

bool has_numbers(const Tensor& t) {
  return t.defined() && t.dtype() != DType::string && t.dtype() != DType::c64 &&
         t.dtype() != DType::c128;
}

// Keeps the `most` largest elements. It is called whenever the list has about twice that size, and
// at the end.
void keep_largest(std::vector<DifferingElement>& list, size_t most) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    const double x = size_of(a), y = size_of(b);
    return x != y ? x > y : a.index < b.index;
  });
  if (list.size() > most) list.resize(most);
}

}  // namespace

TensorDifference compare_tensors(const std::string& name, const Tensor& left, const Tensor& right,
                                 const Tolerance& tolerance, size_t most,
                                 const std::atomic<bool>* cancel) {
  TensorDifference d;
  d.name = name;
  if (left.shape() != right.shape() || !has_numbers(left) || !has_numbers(right)) {
    d.problem = fmt::format("left is {} {}, right is {} {}", dtype_name(left.dtype()),
                            dimensions_text(left.shape()), dtype_name(right.dtype()),
                            dimensions_text(right.shape()));
    return d;
  }
  const int64_t count = left.count();
  d.elements = static_cast<uint64_t>(count);
  d.where.assign(TensorDifference::kBins, 0);
  double squares = 0, squares_right = 0;
  for (int64_t at = 0; at < count; at += kRun) {
    if (cancel && cancel->load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "comparing was cancelled");
    const int64_t n = std::min(kRun, count - at);
    const std::vector<double> a = tensor_values(left, at, n), b = tensor_values(right, at, n),
                              differences = element_differences(left, right, at, n);
    for (int64_t i = 0; i < n; i++) {
      const double x = a[static_cast<size_t>(i)], y = b[static_cast<size_t>(i)];
      squares_right += std::isfinite(y) ? y * y : 0;
      const double signed_difference = differences[static_cast<size_t>(i)];
      if (signed_difference == 0) continue;
      const double difference = std::abs(signed_difference);
      if (!std::isnan(difference)) {
        d.largest = std::max(d.largest, difference);
        const double relative = std::isinf(difference) ? difference : difference / std::abs(y);
        if (y != 0) d.largest_relative = std::max(d.largest_relative, relative);
        if (std::isfinite(difference)) squares += difference * difference;
      }
      if (std::isfinite(difference) &&
          difference <= tolerance.absolute + tolerance.relative * std::abs(y))
        continue;
      d.differing++;
      d.where[static_cast<size_t>((at + i) * static_cast<int64_t>(TensorDifference::kBins) /
                                  count)]++;
      d.worst.push_back({at + i, x, y, signed_difference});
      if (d.worst.size() >= 2 * most + 16) keep_largest(d.worst, most);
    }
  }
  keep_largest(d.worst, most);
  for (DifferingElement& e : d.worst) {
    e.left_text = element_text(left, e.index);
    e.right_text = element_text(right, e.index);
  }
  const auto divisor = static_cast<double>(std::max<int64_t>(1, count));
  d.rms = std::sqrt(squares / divisor);
  d.rms_right = std::sqrt(squares_right / divisor);
  return d;
}

std::vector<TensorDifference> compare_outputs(const std::vector<NamedTensor>& left,
                                              const std::vector<NamedTensor>& right,
                                              const Tolerance& tolerance,
                                              const std::atomic<bool>* cancel) {
  const auto find = [&](const std::string& name) {
    return std::find_if(right.begin(), right.end(),
                        [&](const NamedTensor& t) { return t.name == name; });
  };
  const bool any_common = std::any_of(
      left.begin(), left.end(), [&](const NamedTensor& t) { return find(t.name) != right.end(); });
  const bool by_position = !any_common && left.size() == right.size();
  std::vector<TensorDifference> list;
  for (size_t i = 0; i < left.size(); i++) {
    const auto other =
        by_position ? right.begin() + static_cast<std::ptrdiff_t>(i) : find(left[i].name);
    if (other == right.end()) {
      list.push_back({});
      list.back().name = left[i].name;
      list.back().problem = "the other model has no such output";
    } else {
      list.push_back(
          compare_tensors(left[i].name, left[i].tensor, other->tensor, tolerance, 1000, cancel));
    }
  }
  return list;
}

std::string coordinates_text(const Shape& shape, int64_t index) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t extent = std::max<int64_t>(1, shape[d]);
    text = fmt::format("{}{}{}", index % extent, text.empty() ? "" : ", ", text);
    index /= extent;
  }
  return "[" + text + "]";
}

int64_t row_length(const Tensor& t) { return t.shape().empty() ? 1 : t.shape().back(); }

int64_t row_count(const Tensor& t) {
  const int64_t length = row_length(t);
  return length == 0 ? 0 : t.count() / length;
}

std::vector<int64_t> top_elements(const Tensor& tensor, int64_t row, size_t most,
                                  const std::atomic<bool>* cancel) {
  if (!has_numbers(tensor) || row < 0 || row >= row_count(tensor)) return {};
  const int64_t length = row_length(tensor);
  using Element = std::pair<double, int64_t>;
  std::vector<Element> best;
  const auto larger = [](const Element& a, const Element& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  for_values(tensor, row * length, length, cancel,
             [&](int64_t first, const std::vector<double>& values) {
               for (size_t k = 0; k < values.size(); k++)
                 if (!std::isnan(values[k]))
                   best.emplace_back(values[k], first - row * length + static_cast<int64_t>(k));
               const size_t n = std::min(most, best.size());
               std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(n),
                                 best.end(), larger);
               best.resize(n);
             });
  std::vector<int64_t> order;
  for (const Element& e : best) order.push_back(e.second);
  return order;
}

std::vector<double> softmax_of(const Tensor& tensor, int64_t row, std::span<const int64_t> elements,
                               const std::atomic<bool>* cancel) {
  if (elements.empty()) return {};
  const int64_t length = row_length(tensor);
  double most = -HUGE_VAL, sum = 0;
  bool any_nan = false;
  for_values(tensor, row * length, length, cancel, [&](int64_t, const std::vector<double>& values) {
    for (const double v : values) {
      any_nan |= std::isnan(v);
      most = std::max(most, v);
    }
  });
  if (any_nan || std::isinf(most))
    return std::vector<double>(elements.size(), std::numeric_limits<double>::quiet_NaN());
  for_values(tensor, row * length, length, cancel, [&](int64_t, const std::vector<double>& values) {
    for (const double v : values) sum += std::exp(v - most);
  });
  std::vector<double> parts;
  for (const int64_t i : elements)
    parts.push_back(std::exp(tensor_values(tensor, row * length + i, 1)[0] - most) / sum);
  return parts;
}

}  // namespace poprt::inspector

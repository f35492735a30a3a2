#include "model/tensor_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

// A multiple of the number of elements that share a byte.
constexpr int64_t kValuesPerRun = 1 << 14;

bool is_numeric(DType dtype) {
  return is_float(dtype) || is_integer(dtype) || dtype == DType::boolean || dtype == DType::f8e8m0;
}

// Calls `visit(values)` for runs of elements, about `limit` elements in total.
template <class F>
void for_runs(const Tensor& tensor, uint64_t limit, const std::atomic<bool>* cancel, F&& visit) {
  const int64_t count = tensor.count();
  const int64_t runs = (count + kValuesPerRun - 1) / kValuesPerRun;
  const auto wanted = std::max<int64_t>(1, static_cast<int64_t>(limit) / kValuesPerRun);
  const int64_t step = std::max<int64_t>(1, (runs + wanted - 1) / wanted);
  for (int64_t r = 0; r < runs; r += step) {
    if (cancel && cancel->load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "statistics were cancelled");
    visit(tensor_values(tensor, r * kValuesPerRun,
                        std::min(kValuesPerRun, count - r * kValuesPerRun)));
  }
}

// The difference of 64-bit integers, rounded once.
template <class T>
void subtract(const Tensor& left, const Tensor& right, int64_t first, std::vector<double>& out) {
  const auto* a = left.values<T>().data() + first;
  const auto* b = right.values<T>().data() + first;
  for (size_t i = 0; i < out.size(); i++) {
    const auto x = static_cast<uint64_t>(a[i]), y = static_cast<uint64_t>(b[i]);
    out[i] = a[i] < b[i] ? -static_cast<double>(y - x) : static_cast<double>(x - y);
  }
}

}  // namespace

std::vector<double> tensor_values(const Tensor& tensor, int64_t first, int64_t count) {
  if (count <= 0) return {};
  const int bits = dtype_bits(tensor.dtype());
  const int64_t per_byte = bits < 8 ? 8 / bits : 1;
  const int64_t from = first / per_byte * per_byte;
  const int64_t n = first + count - from;
  const auto* bytes = static_cast<const std::byte*>(tensor.data()) + from * bits / 8;
  // A tensor that refers to the bytes of the run, which outlive it.
  const Tensor run =
      Tensor::view(tensor.dtype(), {n}, bytes, dtype_bytes(tensor.dtype(), n), nullptr);
  std::vector<double> values = run.to_doubles();
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first - from));
  return values;
}

void for_values(const Tensor& tensor, int64_t first, int64_t count, const std::atomic<bool>* cancel,
                const std::function<void(int64_t, const std::vector<double>&)>& visit) {
  for (int64_t at = 0; at < count; at += kValuesPerRun) {
    if (cancel && cancel->load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "reading a tensor was cancelled");
    visit(first + at, tensor_values(tensor, first + at, std::min(kValuesPerRun, count - at)));
  }
}

std::vector<double> element_differences(const Tensor& left, const Tensor& right, int64_t first,
                                        int64_t count) {
  std::vector<double> differences(static_cast<size_t>(std::max<int64_t>(0, count)));
  const DType dtype = left.dtype();
  if (dtype == right.dtype() && (dtype == DType::s64 || dtype == DType::u64)) {
    if (dtype == DType::s64)
      subtract<int64_t>(left, right, first, differences);
    else
      subtract<uint64_t>(left, right, first, differences);
    return differences;
  }
  const std::vector<double> a = tensor_values(left, first, count),
                            b = tensor_values(right, first, count);
  for (size_t i = 0; i < a.size(); i++) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    differences[i] = same ? 0 : a[i] - b[i];
  }
  return differences;
}

TensorStatistics tensor_statistics(const Tensor& tensor, uint64_t limit,
                                   const std::atomic<bool>* cancel) {
  TensorStatistics s;
  s.elements = static_cast<uint64_t>(tensor.count());
  s.numeric = is_numeric(tensor.dtype());
  if (!s.numeric || s.elements == 0) return s;
  uint64_t finite = 0;
  double mean = 0, squares = 0;  // Welford's algorithm
  for_runs(tensor, limit, cancel, [&](const std::vector<double>& values) {
    for (const double v : values) {
      s.examined++;
      if (v == 0) s.zeros++;
      if (std::isnan(v)) s.nans++;
      if (std::isinf(v)) s.infinities++;
      if (!std::isfinite(v)) continue;
      s.least = finite == 0 ? v : std::min(s.least, v);
      s.most = finite == 0 ? v : std::max(s.most, v);
      finite++;
      const double d = v - mean;
      mean += d / static_cast<double>(finite);
      squares += d * (v - mean);
    }
  });
  s.mean = mean;
  s.deviation = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  // Halved, so that the range of doubles does not overflow.
  const double range = s.most / 2 - s.least / 2;
  for_runs(tensor, limit, cancel, [&](const std::vector<double>& values) {
    for (const double v : values) {
      if (!std::isfinite(v)) continue;
      const double place = range > 0 ? (v / 2 - s.least / 2) / range : 0.5;
      const auto bin = static_cast<size_t>(place * static_cast<double>(TensorStatistics::kBins));
      s.histogram[std::min(bin, TensorStatistics::kBins - 1)]++;
    }
  });
  return s;
}

std::string element_text(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::string)
    return printable(tensor.string_values()[static_cast<size_t>(index)]);
  if (!is_numeric(tensor.dtype())) return "?";
  if (tensor.dtype() == DType::u64)
    return std::to_string(tensor.values<uint64_t>()[static_cast<size_t>(index)]);
  if (tensor.dtype() == DType::s64)
    return std::to_string(tensor.values<int64_t>()[static_cast<size_t>(index)]);
  const double v = tensor_values(tensor, index, 1)[0];
  if (is_integer(tensor.dtype()) || tensor.dtype() == DType::boolean)
    return fmt::format("{:.0f}", v);
  if (tensor.dtype() == DType::f64) return fmt::format("{:.17g}", v);
  std::string text = fmt::format("{:.7g}", v);
  for (int digits = 8; digits <= 9 && tensor.dtype() == DType::f32; digits++) {
    if (std::strtof(text.c_str(), nullptr) == static_cast<float>(v)) break;
    text = fmt::format("{:.{}g}", v, digits);
  }
  return text;
}

}  // namespace poprt::inspector

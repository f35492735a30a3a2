#include "compiler/quantize/gptq.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/quarter.h"

namespace poprt::compiler {
namespace {

constexpr int64_t kRowsAtOnce = 8;     // rows of inputs per pass over the sums
constexpr size_t kWeightsAtOnce = 32;  // rows of weights per pass over the factor
constexpr double kDamping = 0.01;      // times the mean of the diagonal, as in the paper

// Adds several independent sums, which the processor computes in parallel.
template <class T>
T dot(const T* a, const T* b, int64_t n) {
  constexpr int64_t kSums = 8;
  T sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int64_t l = 0; l < kSums; l++) sums[l] += a[i + l] * b[i + l];
  T sum = 0;
  for (const T s : sums) sum += s;
  for (; i < n; i++) sum += a[i] * b[i];
  return sum;
}

// Factors G = R R^T with an upper triangular R, which replaces the upper half of G.
void factor(std::vector<double>& g, int64_t n) {
  for (int64_t j = n - 1; j >= 0; j--) {
    double* row = &g[static_cast<size_t>(j * n)];
    const int64_t rest = n - j - 1;
    const double square = row[j] - dot(row + j + 1, row + j + 1, rest);
    row[j] = std::sqrt(std::max(square, 1e-30));
    for (int64_t i = 0; i < j; i++) {
      double* other = &g[static_cast<size_t>(i * n)];
      other[j] = (other[j] - dot(other + j + 1, row + j + 1, rest)) / row[j];
    }
  }
}

// Returns U = R^-1. The inverse of G is U^T U.
std::vector<float> inverse_factor(const Gram& gram) {
  const int64_t n = gram.size();
  std::vector<double> r(static_cast<size_t>(n * n));
  double mean = 0;
  for (int64_t i = 0; i < n; i++)
    mean += static_cast<double>(gram.row(i)[i]) / static_cast<double>(n);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i; j < n; j++)
      r[static_cast<size_t>(i * n + j)] = static_cast<double>(gram.row(i)[j]);
    r[static_cast<size_t>(i * n + i)] += kDamping * mean + 1e-20;
  }
  factor(r, n);
  std::vector<float> u(static_cast<size_t>(n * n));
  std::vector<double> row(static_cast<size_t>(n));
  for (int64_t i = n - 1; i >= 0; i--) {
    std::ranges::fill(row, 0.0);
    row[static_cast<size_t>(i)] = 1;
    const double* from = &r[static_cast<size_t>(i * n)];
    for (int64_t k = i + 1; k < n; k++) {
      const double f = from[k];
      const float* other = &u[static_cast<size_t>(k * n)];
      for (int64_t j = k; j < n; j++)
        row[static_cast<size_t>(j)] -= f * static_cast<double>(other[j]);
    }
    for (int64_t j = i; j < n; j++)
      u[static_cast<size_t>(i * n + j)] = static_cast<float>(row[static_cast<size_t>(j)] / from[i]);
  }
  return u;
}

// Rounds a group of rows. The columns after each column compensate its error.
void round_rows(std::span<float> rows, int64_t n, std::span<const float> u,
                const QuarterRounding& format, std::span<uint8_t> codes) {
  const int64_t count = static_cast<int64_t>(rows.size()) / n;
  for (int64_t k = 0; k < n; k++) {
    const float* factor = &u[static_cast<size_t>(k * n)];
    for (int64_t r = 0; r < count; r++) {
      float* row = &rows[static_cast<size_t>(r * n)];
      uint8_t& code = codes[static_cast<size_t>(r * n + k)];
      code = format.encode(row[k]);
      const float error = (row[k] - format.decode(code)) / factor[k];
      for (int64_t j = k + 1; j < n; j++) row[j] -= error * factor[j];
    }
  }
}

}  // namespace

void Gram::add(std::span<const float> rows) {
  const int64_t n = size_, count = static_cast<int64_t>(rows.size()) / n;
  rows_ += count;
  for (int64_t first = 0; first < count; first += kRowsAtOnce) {
    const int64_t some = std::min(kRowsAtOnce, count - first);
    const float* x = &rows[static_cast<size_t>(first * n)];
    for (int64_t i = 0; i < n; i++) {
      float* sums = &sums_[static_cast<size_t>(i * n)];
      for (int64_t r = 0; r < some; r++) {
        const float* row = x + r * n;
        const float f = row[i];
        if (f == 0) continue;
        for (int64_t j = i; j < n; j++) sums[j] += f * row[j];
      }
    }
  }
}

double output_loss(const Gram& gram, std::span<const float> was, std::span<const float> is) {
  const int64_t n = gram.size(), count = static_cast<int64_t>(was.size()) / n;
  if (gram.rows() == 0) return 0;
  double sum = 0;
  std::vector<float> d(static_cast<size_t>(n));
  for (int64_t r = 0; r < count; r++) {
    const float* before = &was[static_cast<size_t>(r * n)];
    const float* after = &is[static_cast<size_t>(r * n)];
    for (int64_t i = 0; i < n; i++) d[static_cast<size_t>(i)] = after[i] - before[i];
    for (int64_t i = 0; i < n; i++) {
      const float di = d[static_cast<size_t>(i)];
      if (di == 0) continue;
      const float others = dot(gram.row(i) + i + 1, d.data() + i + 1, n - i - 1);
      sum +=
          static_cast<double>(di) * (static_cast<double>(gram.row(i)[i]) * static_cast<double>(di) +
                                     2 * static_cast<double>(others));
    }
  }
  return sum / static_cast<double>(gram.rows());
}

GptqResult gptq(const Gram& gram, std::span<const float> weights,
                const passes::QuarterFormat& format) {
  const int64_t n = gram.size();
  POPRT_ASSERT(n > 0 && weights.size() % static_cast<size_t>(n) == 0);
  std::vector<uint8_t> nearest(weights.size()), codes(weights.size());
  std::vector<float> values(weights.size());
  encode_quarters(format.dtype, format.scale, weights, nearest);
  decode_quarters(format.dtype, format.scale, nearest, values);
  GptqResult result{nearest, output_loss(gram, weights, values), 0};
  result.after = result.before;
  const std::vector<float> u = inverse_factor(gram);
  const QuarterRounding rounding(format.dtype, format.scale);
  values.assign(weights.begin(), weights.end());
  const size_t step = kWeightsAtOnce * static_cast<size_t>(n);
  for (size_t at = 0; at < values.size(); at += step) {
    const size_t some = std::min(step, values.size() - at);
    round_rows(std::span(values).subspan(at, some), n, u, rounding,
               std::span(codes).subspan(at, some));
  }
  decode_quarters(format.dtype, format.scale, codes, values);
  const double after = output_loss(gram, weights, values);
  if (after < result.before) {
    result.after = after;
    result.codes = std::move(codes);
  }
  return result;
}

}  // namespace poprt::compiler

// The attribute post_transform of ai.onnx.ml, which converts the raw scores of a classifier or
// regressor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace poprt::kernels {

// In the order of the names NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT in ONNX.
enum class PostTransform : int64_t { none, logistic, softmax, softmax_zero, probit };
inline constexpr int64_t kPostTransforms = 5;

inline double logistic(double x) noexcept { return 1 / (1 + std::exp(-x)); }

// sqrt(2) erfinv(2 p - 1) with Winitzki's approximation of erfinv (a = 0.147), which is accurate to
// 2e-3. ONNX Runtime computes the same, so the approximation is part of the operator's meaning.
inline double probit(double p) noexcept {
  const double x = 2 * p - 1;
  const double log = std::log((1 - x) * (1 + x));
  const double v = 2 / (3.14159 * 0.147) + 0.5 * log;
  return std::copysign(std::sqrt(2.0) * std::sqrt(-v + std::sqrt(v * v - log / 0.147)), x);
}

inline void apply_post_transform(PostTransform transform, std::span<double> scores) noexcept {
  switch (transform) {
    case PostTransform::none: return;
    case PostTransform::logistic:
      for (double& s : scores) s = logistic(s);
      return;
    case PostTransform::probit:
      for (double& s : scores) s = probit(s);
      return;
    case PostTransform::softmax:
    case PostTransform::softmax_zero: {
      if (scores.empty()) return;
      const double high = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& s : scores) {
        // SOFTMAX_ZERO keeps zeros.
        const bool zero = transform == PostTransform::softmax_zero && std::fabs(s) <= 1e-7;
        s = zero ? s * std::exp(-high) : std::exp(s - high);
        if (!zero) sum += s;
      }
      for (double& s : scores) s /= sum;
      return;
    }
  }
}

// The two scores of a binary classifier with a single score s: logistic of [-s, s]; without that
// transform [1 - s, s] if all weights are positive, otherwise [-s, s].
inline void apply_binary_transform(PostTransform transform, bool all_positive, double s,
                                   double out[2]) noexcept {
  if (transform == PostTransform::logistic) {
    out[0] = logistic(-s);
    out[1] = logistic(s);
  } else if (all_positive) {
    out[0] = 1 - s;
    out[1] = s;
  } else {
    out[0] = -s;
    out[1] = s;
  }
}

}  // namespace poprt::kernels

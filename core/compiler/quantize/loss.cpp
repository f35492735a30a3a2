#include "compiler/quantize/loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace poprt::compiler {
namespace {

struct Named {
  Loss loss;
  std::string_view name;
};
constexpr std::array kLosses = {
    Named{Loss::mse, "mse"},           Named{Loss::mae, "mae"},
    Named{Loss::snr, "snr"},           Named{Loss::kld, "kld"},
    Named{Loss::cos_dist, "cos_dist"}, Named{Loss::gptq, "gptq"},
    Named{Loss::minmax, "minmax"},     Named{Loss::percentile, "percentile"},
    Named{Loss::entropy, "entropy"}};

struct Sums {
  double squares = 0, distance = 0;  // sums over the differences
  // The sums of the squares of both tensors and of their products.
  double was = 0, is = 0, product = 0;
  double was_weight = 0, is_weight = 0, most = 0;  // sums and maximum of magnitudes
};

Sums sums_of(std::span<const float> was, std::span<const float> is) {
  Sums s;
  for (size_t i = 0; i < was.size(); i++) {
    const double a = static_cast<double>(was[i]), b = static_cast<double>(is[i]), d = b - a;
    s.squares += d * d;
    s.distance += std::fabs(d);
    s.was += a * a;
    s.is += b * b;
    s.product += a * b;
    s.was_weight += std::fabs(a);
    s.is_weight += std::fabs(b);
    s.most = std::max(s.most, std::fabs(b));
  }
  return s;
}

double divergence(const Sums& s, std::span<const float> was, std::span<const float> is) {
  if (s.was_weight == 0) return 0;
  if (s.is_weight == 0) return INFINITY;
  const double least = s.most * 0x1p-40;
  double sum = 0;
  for (size_t i = 0; i < was.size(); i++) {
    const double p = std::fabs(static_cast<double>(was[i]));
    const double q = std::max(std::fabs(static_cast<double>(is[i])), least);
    if (p > 0) sum += p * std::log(p / q);
  }
  return std::max((sum - s.was_weight + s.is_weight) / s.was_weight, 0.0);
}

}  // namespace

std::optional<Loss> loss_named(std::string_view name) {
  const auto found = std::ranges::find(kLosses, name, &Named::name);
  if (found == kLosses.end()) return std::nullopt;
  return found->loss;
}

std::string_view loss_name(Loss loss) {
  return std::ranges::find(kLosses, loss, &Named::loss)->name;
}

double loss_of(Loss loss, std::span<const float> was, std::span<const float> is) {
  POPRT_ASSERT(was.size() == is.size());
  if (was.empty()) return 0;
  const Sums s = sums_of(was, is);
  const auto count = static_cast<double>(was.size());
  switch (loss) {
    case Loss::mae: return s.distance / count;
    case Loss::snr: return s.was > 0 ? s.squares / s.was : (s.squares > 0 ? INFINITY : 0);
    case Loss::kld: return divergence(s, was, is);
    case Loss::cos_dist:
      if (s.was == 0 || s.is == 0) return s.was == s.is ? 0 : 1;
      return std::max(0.0, 1 - 2 * s.product / (s.was + s.is));
    case Loss::mse:
    case Loss::gptq:
    case Loss::minmax:
    case Loss::percentile:
    case Loss::entropy: break;
  }
  return s.squares / count;
}

Moments moments_of(std::span<const float> values) {
  Moments m;
  const auto count = static_cast<double>(values.size());
  for (const float v : values) m.mean += static_cast<double>(v) / count;
  double cubes = 0, fourths = 0;
  for (const float v : values) {
    const double d = static_cast<double>(v) - m.mean;
    m.variance += d * d / count;
    cubes += d * d * d / count;
    fourths += d * d * d * d / count;
  }
  if (m.variance > 0) {
    m.skewness = cubes / std::pow(m.variance, 1.5);
    m.kurtosis = fourths / (m.variance * m.variance) - 3;
  }
  return m;
}

}  // namespace poprt::compiler

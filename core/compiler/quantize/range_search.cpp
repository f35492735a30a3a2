#include "compiler/quantize/range_search.h"

#include <algorithm>
#include <cmath>

namespace poprt::compiler {
namespace {

using passes::ByteFormat;

// At least this many values are sampled over all runs if there are more, and fewer than twice as
// many.
constexpr int64_t kLeastSampled = int64_t{1} << 18;
constexpr int kRanges = 25;
constexpr double kNarrower = 0.95;  // ratio of two neighbouring ranges
constexpr int kSteps = 255;
constexpr size_t kBins = 2048;

// The value below which `percent` of the sorted values are.
float quantile(std::span<const float> sorted, double percent) {
  const double at = percent / 100 * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::nearbyint(at))];
}

RangeTrial by_percentile(const RecordedValues& values, double percent) {
  std::vector<float> sorted = values.sample;
  std::ranges::sort(sorted);
  RangeTrial trial;
  if (sorted.empty()) return trial;
  trial.least = std::min(0.0f, quantile(sorted, 100 - percent));
  trial.most = std::max(0.0f, quantile(sorted, percent));
  return trial;
}

// A histogram over the whole range, and its distance to coarser ones.
class Histogram {
 public:
  explicit Histogram(const RecordedValues& values)
      : least_(std::min(0.0f, values.least)), width_(std::max(0.0f, values.most) - least_) {
    // Zeros, such as those of Relu, are exact in every range, and would outweigh all other values.
    for (const float v : values.sample)
      if (v != 0) counts_[bin_of(v)]++;
  }

  // The divergence of the histogram inside the range, with all other values in its first and last
  // bin, from the same histogram averaged over 256 steps. Averages are over the bins with values.
  double divergence(float least, float most) const {
    const size_t first = bin_of(least), last = bin_of(most), bins = last - first + 1;
    std::vector<double> inside(bins), averaged(bins);
    for (size_t i = 0; i < kBins; i++)
      inside[std::clamp(i, first, last) - first] += static_cast<double>(counts_[i]);
    for (size_t step = 0; step <= kSteps; step++) {
      const size_t begin = step * bins / (kSteps + 1), end = (step + 1) * bins / (kSteps + 1);
      double sum = 0, used = 0;
      for (size_t i = begin; i < end; i++) {
        sum += static_cast<double>(counts_[first + i]);
        used += inside[i] > 0 ? 1 : 0;
      }
      for (size_t i = begin; i < end; i++)
        if (inside[i] > 0) averaged[i] = sum / used;
    }
    return distance(inside, averaged);
  }

 private:
  size_t bin_of(float v) const {
    if (!(width_ > 0)) return 0;
    const double at = (static_cast<double>(v) - static_cast<double>(least_)) /
                      static_cast<double>(width_) * static_cast<double>(kBins);
    return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(kBins - 1)));
  }

  static double distance(std::span<const double> p, std::span<const double> q) {
    double p_sum = 0, q_sum = 0, sum = 0;
    for (size_t i = 0; i < p.size(); i++) p_sum += p[i], q_sum += q[i];
    if (!(p_sum > 0)) return 0;
    if (!(q_sum > 0)) return INFINITY;
    constexpr double kLeast = 1e-6;  // probability of a bin that only outliers reach
    for (size_t i = 0; i < p.size(); i++)
      if (p[i] > 0) sum += p[i] / p_sum * std::log(p[i] / p_sum / std::max(q[i] / q_sum, kLeast));
    return sum;
  }

  float least_, width_;
  std::vector<int64_t> counts_ = std::vector<int64_t>(kBins);
};

}  // namespace

void RecordedValues::add(std::span<const float> values, int64_t run, int64_t runs) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t step = std::max<int64_t>(1, count * runs / kLeastSampled);
  for (int64_t i = run % step; i < count; i += step)
    if (const float v = values[static_cast<size_t>(i)]; std::isfinite(v)) sample.push_back(v);
  for (const float v : values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
  }
}

ByteFormat byte_format(float least, float most) {
  const float low = std::min(0.0f, least), high = std::max(0.0f, most);
  ByteFormat format;
  format.scale = (high - low) / kSteps;
  if (!(format.scale >= 0x1p-100f) || !std::isfinite(format.scale)) format.scale = 1;
  format.zero = static_cast<int>(std::clamp(std::nearbyint(-low / format.scale), 0.0f, 255.0f));
  return format;
}

std::vector<float> rounded(std::span<const float> values, const ByteFormat& format) {
  std::vector<float> out(values.size());
  const auto zero = static_cast<float>(format.zero);
  for (size_t i = 0; i < values.size(); i++)
    out[i] = (std::clamp(std::nearbyint(values[i] / format.scale) + zero, 0.0f, 255.0f) - zero) *
             format.scale;
  return out;
}

RangeSearch search_range(const RecordedValues& values, Loss loss, double percent) {
  RangeSearch search;
  const bool one = loss == Loss::minmax || loss == Loss::percentile;
  const Histogram histogram(values);
  double part = 1;
  for (int i = 0; i < (one ? 1 : kRanges); i++, part *= kNarrower) {
    const auto ratio = static_cast<float>(part);
    RangeTrial trial{values.least * ratio, values.most * ratio, {}, 0};
    if (loss == Loss::percentile) trial = by_percentile(values, percent);
    trial.format = byte_format(trial.least, trial.most);
    trial.loss = loss == Loss::entropy
                     ? histogram.divergence(trial.least, trial.most)
                     : loss_of(loss, values.sample, rounded(values.sample, trial.format));
    search.trials.push_back(trial);
    if (trial.loss < search.chosen().loss) search.best = search.trials.size() - 1;
  }
  return search;
}

}  // namespace poprt::compiler

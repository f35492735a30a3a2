#include "compiler/quantize/format_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/quarter.h"

namespace poprt::compiler {
namespace {

using passes::QuarterFormat;

constexpr int kBelow = 8, kAbove = 1;  // number of scales below and above the one that fits

double most_of(DType dtype) { return dtype == DType::f8_143 ? 240 : 57344; }

}  // namespace

std::vector<float> rounded(std::span<const float> values, const QuarterFormat& format) {
  std::vector<uint8_t> codes(values.size());
  std::vector<float> out(values.size());
  encode_quarters(format.dtype, format.scale, values, codes);
  decode_quarters(format.dtype, format.scale, codes, out);
  return out;
}

std::vector<float> finite_values(std::span<const float> values) {
  std::vector<float> finite;
  finite.reserve(values.size());
  std::ranges::copy_if(values, std::back_inserter(finite),
                       [](float v) { return std::isfinite(v); });
  return finite;
}

FormatSearch search_format(std::span<const float> all, Loss loss) {
  const std::vector<float> values = finite_values(all);
  double most = 0;
  for (const float v : values) most = std::max(most, std::fabs(static_cast<double>(v)));
  FormatSearch search;
  for (const DType dtype : {DType::f8_143, DType::f8_152}) {
    const double needed = most > 0 ? std::ceil(std::log2(most / most_of(dtype))) : 0;
    const int fits = static_cast<int>(std::clamp(needed, -1000.0, 1000.0));
    const int first =
        std::clamp(fits - kBelow, passes::kLeastQuarterScale, passes::kMostQuarterScale);
    const int last =
        std::clamp(fits + kAbove, passes::kLeastQuarterScale, passes::kMostQuarterScale);
    for (int scale = first; scale <= last; scale++) {
      const QuarterFormat format{dtype, scale};
      search.trials.push_back({format, loss_of(loss, values, rounded(values, format))});
      if (search.trials.back().loss < search.chosen().loss) search.best = search.trials.size() - 1;
    }
  }
  return search;
}

}  // namespace poprt::compiler

#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

using test::any_bytes;

OPS_SAMPLE(SumBytes) {
  for (const DType x : {DType::u8, DType::s8})
    for (const int64_t inner : {1, 70}) {
      const int64_t n = 1000;
      samples.add("SumBytes", 1, "poprt")
          .input(any_bytes(x, {3, n, inner}, 5))
          .shape({3, inner})
          .dtype(DType::s32)
          .reference([=](const SampleValues& in) {
            std::vector<double> y(static_cast<size_t>(3 * inner));
            for (size_t i = 0; i < in[0].size(); i++) {
              const auto at = static_cast<int64_t>(i);
              y[static_cast<size_t>(at / (n * inner) * inner + at % inner)] += in[0][i];
            }
            return SampleValues{y};
          });
    }
}

}  // namespace
}  // namespace poprt::ops::sampled

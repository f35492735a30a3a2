#include <gtest/gtest.h>

#include <array>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

// 3 rows, each with 2 of 4 experts, whose weights are 70 x 37; expert 7 does not exist.
constexpr int64_t kRows = 3, kShare = 2, kExperts = 4, kColumns = 70, kDepth = 37;
constexpr std::array<int64_t, kRows * kShare> kChosen = {2, 0, 2, 3, 0, 7};

std::vector<double> products(const SampleValues& in) {
  std::vector<double> y;
  for (int64_t r = 0; r < kRows * kShare; r++)
    for (int64_t n = 0; n < kColumns; n++) {
      double sum = 0;
      const int64_t expert = kChosen[static_cast<size_t>(r)];
      for (int64_t k = 0; k < kDepth && expert < kExperts; k++)
        sum += in[0][static_cast<size_t>(r / kShare * kDepth + k)] *
               in[1][static_cast<size_t>((expert * kColumns + n) * kDepth + k)];
      y.push_back(sum);
    }
  return y;
}

OPS_SAMPLE(ExpertRows) {
  samples.add("ExpertRows", 1, "poprt")
      .attr("share", kShare)
      .input(random_f32({kRows, kDepth}, -1, 1))
      .input(random_f32({kExperts, kColumns, kDepth}, -1, 1))
      .input(Tensor::of<int64_t>({kRows * kShare}, kChosen))
      .shape({kRows * kShare, kColumns})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) { return SampleValues{products(in)}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

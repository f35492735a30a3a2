#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(Count) {
  samples.add("Count", 1, "poprt")
      .input(Tensor::of<int32_t>({2, 4}, {0, 3, -1, 0, 0, 7, 2, 0}))
      .shape({})
      .dtype(DType::s64)
      .reference([](const SampleValues& in) {
        double count = 0;
        for (const double v : in[0]) count += v != 0;
        return SampleValues{{count}};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

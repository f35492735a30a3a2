#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

// The cheapest path is (0, 0), (1, 0), (2, 1).
OPS_SAMPLE(DynamicTimeWarping) {
  samples.add("DynamicTimeWarping", 1, "poprt")
      .input(Tensor::of<float>({3, 2}, {0, 9, 1, 8, 7, 2}))
      .shape({2, 4})
      .dtype(DType::s32)
      .reference([](const SampleValues&) { return SampleValues{{0, 1, 2, -1, 0, 0, 1, -1}}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

// tests/core/compiler/lower_test.cpp tests the state between runs.
OPS_SAMPLE(Shift) {
  samples.add("Shift", 1, "poprt")
      .attr("axis", int64_t{1})
      .attr("length", int64_t{3})
      .input(Tensor::scalar(int32_t{0}))
      .input(Tensor::of<float>({2, 2}, {1, 2, 3, 4}))
      .shape({2, 3})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) {
        const auto& x = in[1];
        return SampleValues{{x[0], x[1], 0, x[2], x[3], 0}};
      });
}

OPS_SAMPLE(ShiftFromTheEnd) {
  samples.add("Shift", 1, "poprt")
      .attr("axis", int64_t{-1})
      .attr("length", int64_t{3})
      .input(Tensor::scalar(int32_t{0}))
      .input(Tensor::of<float>({2, 2}, {1, 2, 3, 4}))
      .shape({2, 3})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) {
        const auto& x = in[1];
        return SampleValues{{x[0], x[1], 0, x[2], x[3], 0}};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(CheckIndex) {
  samples.add("CheckIndex", 1, "poprt")
      .attr("invalid", int64_t{4})
      .input(Tensor::of<int64_t>({4}, {0, -1, 2, -3}))
      .input(Tensor::scalar(int64_t{3}))
      .shape({4})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{0, 2, 2, 0}}; });
  // Only the first place of each row is real.
  samples.add("CheckIndex", 1, "poprt")
      .attr("axis", int64_t{1})
      .input(Tensor::of<int32_t>({2, 3}, {1, 9, 9, -2, -9, 9}))
      .input(Tensor::scalar(int64_t{2}))
      .input(Tensor::scalar(int64_t{1}))
      .shape({2, 3})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{1, 0, 0, 0, 0, 0}}; });
  samples.add("CheckIndex", 1, "poprt")
      .attr("component", int64_t{1})
      .input(Tensor::of<int64_t>({2, 2}, {-7, -2, 9, 1}))
      .input(Tensor::scalar(int64_t{2}))
      .shape({2, 2})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{-7, 0, 9, 1}}; });
  samples.add("CheckIndex", 1, "poprt")
      .attr("what", int64_t{1})
      .input(Tensor::of<int64_t>({2}, {0, 3}))
      .input(Tensor::scalar(int64_t{3}))
      .shape({2})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{0, 3}}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

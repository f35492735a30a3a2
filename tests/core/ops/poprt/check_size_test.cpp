#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(CheckSize) {
  samples.add("CheckSize", 1, "poprt")
      .attr("most", int64_t{9})
      .input(Tensor::of<int64_t>({3}, {0, 4, 9}))
      .shape({3})
      .dtype(DType::s64)
      .reference([](const SampleValues& in) { return SampleValues{in[0]}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

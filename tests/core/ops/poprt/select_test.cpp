#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(Select) {
  for (const bool condition : {true, false})
    samples.add("Select", 1, "poprt")
        .input(Tensor::scalar(condition))
        .input(random_f32({3, 5}, -2, 2))
        .input(random_f32({3, 5}, -9, 9))
        .shape({3, 5})
        .dtype(DType::f32)
        .reference(
            [](const SampleValues& in) { return SampleValues{in[0][0] != 0 ? in[1] : in[2]}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

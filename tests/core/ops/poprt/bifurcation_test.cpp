#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(Bifurcation) {
  samples.add("Bifurcation", 1, "poprt")
      .attr("min_ngram_size", int64_t{1})
      .attr("max_ngram_size", int64_t{3})
      .input(Tensor::of<int64_t>({4}, {2, 3, 4, 5}))
      .input(Tensor::of<int64_t>({2}, {2, 3}))
      .input(Tensor::of<int64_t>({1}, {2}))
      .input(Tensor::of<int64_t>({3}, {4, 9, 6}))
      .shape({5})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{2, 3, 4, 9, 6}}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

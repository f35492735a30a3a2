#include <gtest/gtest.h>

#include <set>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(BoundedUnique) {
  samples.add("Unique", 1, "poprt")
      .input(Tensor::of<float>({5}, {4, 1, 4, 4, 2}))
      .shape({5})
      .reference([](const SampleValues& in) {
        std::set<double> sorted(in[0].begin(), in[0].end());
        std::vector<double> y(sorted.begin(), sorted.end());
        y.resize(5);
        return SampleValues{y};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

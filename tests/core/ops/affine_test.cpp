#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(Affine) {
  samples.add("Affine", 6)
      .input(random_f32({2, 3, 5}, -3, 3))
      .attr("alpha", 2.5f)
      .attr("beta", -1.0f)
      .shape({2, 3, 5})
      .reference([](const SampleValues& in) {
        return SampleValues{map(in[0], [](double x) { return 2.5 * x - 1; })};
      });
  samples.add("Affine", 1).input(random_f32({4})).shape({4}).reference([](const SampleValues& in) {
    return in;
  });
}

}  // namespace
}  // namespace poprt::ops::sampled

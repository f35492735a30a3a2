#include <gtest/gtest.h>

#include <cmath>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(NegativeLogLikelihoodLoss) {
  samples.add("NegativeLogLikelihoodLoss", 13)
      .input(random_f32({2, 3, 2}))
      .input(Tensor::of<int64_t>({2, 2}, {0, 2, 1, 2}))
      .input(Tensor::of<float>({3}, {1, 2, 0.5f}))
      .attr("ignore_index", int64_t{1})
      .shape({})
      .reference([](const SampleValues& in) {
        const double *x = in[0].data(), *w = in[2].data();
        return SampleValues{{(-w[0] * x[0] - w[2] * x[5] - w[2] * x[11]) / (w[0] + 2 * w[2])}};
      });
}

OPS_SAMPLE(SoftmaxCrossEntropyLoss) {
  samples.add("SoftmaxCrossEntropyLoss", 13)
      .input(random_f32({4, 3}))
      .input(Tensor::of<int64_t>({4}, {0, 2, 1, 2}))
      .attr("reduction", std::string("none"))
      .shape({4})
      .shape({4, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> logs, loss;
        for (size_t n = 0; n < 4; n++) {
          double sum = 0;
          for (size_t c = 0; c < 3; c++) sum += std::exp(in[0][n * 3 + c]);
          for (size_t c = 0; c < 3; c++) logs.push_back(in[0][n * 3 + c] - std::log(sum));
          loss.push_back(-logs[n * 3 + static_cast<size_t>(in[1][n])]);
        }
        return SampleValues{loss, logs};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

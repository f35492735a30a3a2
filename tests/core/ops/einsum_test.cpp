#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(Einsum) {
  samples
      .add("Einsum", 12)  // a batched matrix product with transposed operands
      .input(random_f32({2, 3, 4, 5}))
      .input(random_f32({2, 6, 4, 5}, -1, 1, 2))
      .attr("equation", std::string("bthd, bshd -> bhts"))
      .shape({2, 4, 3, 6})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t b = 0; b < 2; b++)
          for (size_t h = 0; h < 4; h++)
            for (size_t t = 0; t < 3; t++)
              for (size_t s = 0; s < 6; s++) {
                double sum = 0;
                for (size_t d = 0; d < 5; d++)
                  sum +=
                      in[0][((b * 3 + t) * 4 + h) * 5 + d] * in[1][((b * 6 + s) * 4 + h) * 5 + d];
                y.push_back(sum);
              }
        return SampleValues{y};
      });
  samples
      .add("Einsum", 12)  // a diagonal, an ellipsis and a sum
      .input(random_f32({2, 3, 3, 4}))
      .attr("equation", std::string("...iij->j..."))
      .shape({4, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t j = 0; j < 4; j++)
          for (size_t b = 0; b < 2; b++) {
            double sum = 0;
            for (size_t i = 0; i < 3; i++) sum += in[0][((b * 3 + i) * 3 + i) * 4 + j];
            y.push_back(sum);
          }
        return SampleValues{y};
      });
  samples
      .add("Einsum", 12)  // a diagonal and a transpose
      .input(random_f32({2, 3, 3, 4}))
      .attr("equation", std::string("aiib->bia"))
      .shape({4, 3, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t b = 0; b < 4; b++)
          for (size_t i = 0; i < 3; i++)
            for (size_t a = 0; a < 2; a++) y.push_back(in[0][((a * 3 + i) * 3 + i) * 4 + b]);
        return SampleValues{y};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/ops/sample.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(CumProd) {
  samples.add("CumProd", 26)
      .input(random_f32({2, 4}))
      .constant_input(Tensor::scalar(int64_t{1}))
      .attr("exclusive", int64_t{1})
      .shape({2, 4})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t r = 0; r < 2; r++) {
          double product = 1;
          for (size_t i = 0; i < 4; i++) {
            y.push_back(product);
            product *= in[0][r * 4 + i];
          }
        }
        return SampleValues{y};
      });
}

OPS_SAMPLE(Swish) {
  samples.add("Swish", 24)
      .input(random_f32({3, 5}, -3, 3))
      .attr("alpha", 2.0f)
      .shape({3, 5})
      .reference([](const SampleValues& in) {
        return SampleValues{map(in[0], [](double x) { return x / (1 + std::exp(-2 * x)); })};
      });
}

OPS_SAMPLE(Shrink) {
  samples.add("Shrink", 9)
      .input(random_f32({3, 5}, -3, 3))
      .attr("lambd", 1.5f)
      .attr("bias", 0.5f)
      .shape({3, 5})
      .reference([](const SampleValues& in) {
        return SampleValues{map(in[0], [](double x) {
          return x < -1.5 ? x + 0.5 : x > 1.5 ? x - 0.5 : 0;
        })};
      });
}

OPS_SAMPLE(BitCast) {
  samples.add("BitCast", 26)
      .input(random_f32({4}))
      .attr("to", int64_t{6})
      .shape({4})
      .dtype(DType::s32)
      .reference([](const SampleValues& in) {
        return SampleValues{map(in[0], [](double x) {
          const auto f = static_cast<float>(x);
          int32_t bits;
          std::memcpy(&bits, &f, 4);
          return static_cast<double>(bits);
        })};
      });
}

OPS_SAMPLE(LRN) {
  samples.add("LRN", 13)
      .input(random_f32({2, 5, 3}))
      .attr("size", int64_t{3})
      .attr("alpha", 0.5f)
      .attr("bias", 2.0f)
      .shape({2, 5, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (int i = 0; i < 30; i++) {
          double sum = 0;
          for (int c = i / 3 % 5 - 1; c <= i / 3 % 5 + 1; c++) {
            if (c < 0 || c > 4) continue;
            const double v = in[0][static_cast<size_t>(i / 15 * 15 + c * 3 + i % 3)];
            sum += v * v;
          }
          y.push_back(in[0][static_cast<size_t>(i)] / std::pow(2 + 0.5 / 3 * sum, 0.75));
        }
        return SampleValues{y};
      });
}

OPS_SAMPLE(Det) {
  samples.add("Det", 11)
      .input(random_f32({4, 2, 2}))
      .shape({4})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 4; i++) {
          const double* m = in[0].data() + i * 4;
          y.push_back(m[0] * m[3] - m[1] * m[2]);
        }
        return SampleValues{y};
      });
  // Pivots of 0 exchange rows. The last matrix is singular.
  samples.add("Det", 11)
      .input(Tensor::of<float>({3, 3, 3}, {0, 2, 1, 3, 0, 4, 5, 6, 0, 0, 0, 1, 0, 1,
                                           0, 1, 0, 0, 0, 0, 1, 0, 0, 2, 3, 4, 5}))
      .shape({3})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 27; i += 9) {
          const double* m = in[0].data() + i;
          y.push_back(m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                      m[2] * (m[3] * m[7] - m[4] * m[6]));
        }
        return SampleValues{y};
      });
}

OPS_SAMPLE(Unique) {
  samples.add("Unique", 11)
      .constant_input(Tensor::of<float>({6}, {2, 1, 1, 3, 4, 3}))
      .attr("sorted", int64_t{0})
      .shape({4})
      .shape({4})
      .shape({6})
      .shape({4})
      .dtype(DType::f32)
      .dtype(DType::s64)
      .dtype(DType::s64)
      .dtype(DType::s64)
      .reference([](const SampleValues&) {
        return SampleValues{{2, 1, 3, 4}, {0, 1, 3, 4}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1}};
      });
}

// NaN counts as one value, after all others.
TEST(Unique, NotANumberIsOneValueAndTheGreatest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool sorted : {true, false}) {
    Sample s;
    s.op = "Unique";
    s.opset = 11;
    s.constant_input(Tensor::of<float>({7}, {nan, 2, -1, nan, 2, 5, nan}))
        .attr("sorted", int64_t{sorted})
        .shape({})
        .shape({})
        .shape({})
        .shape({});
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    const auto results = evaluate(*g.node, s.inputs);
    const auto y = results[0].to_doubles();
    const auto counts = results[3].to_doubles(), inverse = results[2].to_doubles();
    ASSERT_GE(y.size(), 4u);
    const std::vector<double> wanted =
        sorted ? std::vector<double>{-1, 2, 5} : std::vector<double>{2, -1, 5};
    const size_t where = sorted ? 3 : 0, first = sorted ? 0 : 1;
    EXPECT_TRUE(std::isnan(y[where]));
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(y[first + i], wanted[i]);
    EXPECT_EQ(counts[where], 3);
    for (const size_t i : {0, 3, 6}) EXPECT_EQ(inverse[i], static_cast<double>(where));
  }
}

}  // namespace
}  // namespace poprt::ops::sampled

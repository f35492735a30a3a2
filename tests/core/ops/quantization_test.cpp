#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/ops/run_node.h"
#include "core/ops/sample.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::sampled {
namespace {

template <class T>
Tensor random_bytes(Shape shape, uint32_t seed) {
  Tensor t = Tensor::zeros(dtype_of<T>(), std::move(shape));
  std::mt19937 engine(seed);
  for (T& v : t.mutable_values<T>()) v = static_cast<T>(engine());
  return t;
}

double saturate(double v, double low, double high) {
  return std::clamp(std::nearbyint(v), low, high);
}

OPS_SAMPLE(QuantizeLinear) {
  const auto quantize = [](double zero, double low, double high) {
    return [=](const SampleValues& in) {
      return SampleValues{map(in[0], [&](double x) {
        return saturate(std::nearbyint(x / in[1][0]) + zero, low, high);
      })};
    };
  };
  samples.add("QuantizeLinear", 13)
      .input(random_f32({3, 700}, -9, 9))
      .constant_input(Tensor::scalar(0.0625f))
      .constant_input(Tensor::scalar(uint8_t{100}))
      .shape({3, 700})
      .dtype(DType::u8)
      .reference(quantize(100, 0, 255));
  samples.add("QuantizeLinear", 21)
      .input(random_f32({5}, -900, 900))
      .constant_input(Tensor::scalar(0.015625f))
      .attr("output_dtype", int64_t{5})
      .shape({5})
      .dtype(DType::s16)
      .reference(quantize(0, -32768, 32767));
  // Blocks of two along axis 0, without a zero point.
  samples.add("QuantizeLinear", 21)
      .input(random_f32({4, 3}, -9, 9))
      .constant_input(Tensor::of<float>({2, 3}, {0.5f, 0.25f, 2, 1, 4, 0.125f}))
      .attr("axis", int64_t{0})
      .attr("block_size", int64_t{2})
      .attr("output_dtype", int64_t{3})
      .shape({4, 3})
      .dtype(DType::s8)
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 12; i++)
          y.push_back(saturate(in[0][i] / in[1][i / 6 * 3 + i % 3], -128, 127));
        return SampleValues{y};
      });
}

// Rounds to `bits` significant bits, and ties to even.
double rounded(double v, int bits) {
  int exponent;
  const double m = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(m, bits)), exponent - bits);
}

// Attribute precision: x, the scale and their quotient have 11 bits (float16) or 8 (bfloat16).
OPS_SAMPLE(QuantizeLinearInPrecision) {
  for (const int64_t number : {10, 16}) {
    const int bits = number == 10 ? 11 : 8;
    const auto reference = [bits](auto parameter, double low, double high) {
      return [=](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < in[0].size(); i++) {
          const double q =
              rounded(rounded(in[0][i], bits) / rounded(in[1][parameter(i)], bits), bits);
          y.push_back(saturate(std::nearbyint(q) + in[2][parameter(i)], low, high));
        }
        return SampleValues{y};
      };
    };
    samples.add("QuantizeLinear", 23)
        .input(random_f32({3, 700}, -9, 9))
        .constant_input(Tensor::scalar(0.073f))
        .constant_input(Tensor::scalar(uint8_t{100}))
        .attr("precision", number)
        .shape({3, 700})
        .dtype(DType::u8)
        .reference(reference([](size_t) { return size_t{0}; }, 0, 255));
    samples.add("QuantizeLinear", 25)
        .input(random_f32({50, 3, 7}, -9, 9))
        .input(Tensor::of<float>({3}, {0.073f, 0.11f, 0.31f}))
        .input(Tensor::of<int8_t>({3}, {1, -7, 0}))
        .attr("precision", number)
        .shape({50, 3, 7})
        .dtype(DType::s8)
        .reference(reference([](size_t i) { return i / 7 % 3; }, -128, 127));
    // Blocks of two along axis 0.
    samples.add("QuantizeLinear", 23)
        .input(random_f32({4, 300}, -9, 9))
        .input(random_f32({2, 300}, 0.05f, 0.3f, 2))
        .input(random_bytes<int8_t>({2, 300}, 3))
        .attr("axis", int64_t{0})
        .attr("block_size", int64_t{2})
        .attr("precision", number)
        .shape({4, 300})
        .dtype(DType::s8)
        .reference(reference([](size_t i) { return i / 600 * 300 + i % 300; }, -128, 127));
    // Blocks of three along axis 1, the last of one.
    samples.add("QuantizeLinear", 23)
        .input(random_f32({5, 7, 4}, -9, 9))
        .input(random_f32({5, 3, 4}, 0.05f, 0.3f, 2))
        .input(random_bytes<int8_t>({5, 3, 4}, 3))
        .attr("axis", int64_t{1})
        .attr("block_size", int64_t{3})
        .attr("precision", number)
        .shape({5, 7, 4})
        .dtype(DType::s8)
        .reference(
            reference([](size_t i) { return i / 28 * 12 + i / 4 % 7 / 3 * 4 + i % 4; }, -128, 127));
  }
  // Without the attribute, the quotient is a float.
  samples.add("QuantizeLinear", 23)
      .input(random_f32({700}, -9, 9))
      .constant_input(Tensor::scalar(0.0625f))
      .constant_input(Tensor::scalar(uint8_t{100}))
      .attr("precision", int64_t{1})
      .shape({700})
      .dtype(DType::u8)
      .reference([](const SampleValues& in) {
        return SampleValues{
            map(in[0], [](double x) { return saturate(std::nearbyint(x * 16) + 100, 0, 255); })};
      });
}

TEST(QuantizeLinear, AScaleThatDoesNotFitIsRefusedByInference) {
  const Tensor x = random_f32({2, 5}), row = random_f32({4}),
               bytes = random_bytes<int8_t>({2, 5}, 1), row_bytes = random_bytes<int8_t>({4}, 1);
  const struct {
    const Tensor &x, &bytes;
    Shape scale;
    int64_t block;
  } kBad[] = {
      {x, bytes, {1, 1}, 0}, {row, row_bytes, {1}, 2}, {x, bytes, {}, -2}, {x, bytes, {3}, 0}};
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"})
    for (const auto& bad : kBad) {
      SampleList list;
      const bool quantizes = op[0] == 'Q';
      const Sample& s = list.add(op, 21)
                            .input(quantizes ? bad.x : bad.bytes)
                            .constant_input(random_f32(bad.scale, 0.1f, 1))
                            .attr("block_size", bad.block);
      try {
        infer(*make_graph(s).node);
        ADD_FAILURE() << op << shape_string(bad.scale);
      } catch (const Error& e) {
        EXPECT_NE(e.message().find("does not fit input"), std::string::npos) << e.message();
      }
    }
}

TEST(QuantizeLinear, AnotherPrecisionIsRefused) {
  for (const int64_t precision : {3, 11, 99, -1}) {
    SampleList list;
    const Sample& s = list.add("QuantizeLinear", 23)
                          .input(random_f32({4}))
                          .constant_input(Tensor::scalar(0.5f))
                          .attr("precision", precision);
    EXPECT_THROW(infer(*make_graph(s).node), Error) << precision;
  }
}

OPS_SAMPLE(DequantizeLinear) {
  samples.add("DequantizeLinear", 13)
      .input(random_bytes<int8_t>({2, 3, 5}, 1))
      .constant_input(Tensor::of<float>({3}, {0.5f, 0.25f, 3}))
      .constant_input(Tensor::of<int8_t>({3}, {1, -7, 0}))
      .shape({2, 3, 5})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 30; i++)
          y.push_back((in[0][i] - in[2][i / 5 % 3]) * in[1][i / 5 % 3]);
        return SampleValues{y};
      });
}

OPS_SAMPLE(DynamicQuantizeLinear) {
  samples.add("DynamicQuantizeLinear", 11)
      .input(random_f32({40}, -2, 5))
      .shape({40})
      .shape({})
      .shape({})
      .dtype(DType::u8)
      .dtype(DType::f32)
      .dtype(DType::u8)
      .reference([](const SampleValues& in) {
        const auto [low, high] = std::minmax_element(in[0].begin(), in[0].end());
        const auto scale = static_cast<double>(static_cast<float>((*high - *low) / 255));
        const double zero = saturate(-*low / scale, 0, 255);
        return SampleValues{
            map(in[0],
                [&](double x) { return saturate(std::nearbyint(x / scale) + zero, 0, 255); }),
            {scale},
            {zero}};
      });
}

TEST(DynamicQuantizeLinear, WithoutARangeTheScaleIsOne) {
  for (const Shape& shape : {Shape{3}, Shape{0}}) {
    SampleList list;
    Sample& s = list.add("DynamicQuantizeLinear", 11).input(Tensor::zeros(DType::f32, shape));
    s.shape(shape).shape({}).shape({});
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    const auto y = evaluate(*g.node, s.inputs);
    EXPECT_EQ(y[0].to_doubles(), std::vector<double>(static_cast<size_t>(shape[0]), 0));
    EXPECT_EQ(y[1].to_doubles(), std::vector<double>{1});
    EXPECT_EQ(y[2].to_doubles(), std::vector<double>{0});
  }
}

// Exact sums [batch, m, n] of a [batch, m, k] and b [k, n].
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, size_t rows,
                            size_t k, size_t n, double a_zero, const std::vector<double>& b_zero) {
  std::vector<double> y(rows * n, 0);
  for (size_t r = 0; r < rows; r++)
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < k; i++)
        y[r * n + j] +=
            (a[r * k + i] - a_zero) * (b[i * n + j] - b_zero[b_zero.size() == 1 ? 0 : j]);
  return y;
}

OPS_SAMPLE(MatMulInteger) {
  samples.add("MatMulInteger", 10)
      .input(random_bytes<uint8_t>({2, 5, 300}, 2))
      .input(random_bytes<int8_t>({300, 70}, 3))
      .input(Tensor::scalar(uint8_t{7}))
      .input(random_bytes<int8_t>({70}, 4))
      .shape({2, 5, 70})
      .dtype(DType::s32)
      .tolerance(0, 0)
      .reference([](const SampleValues& in) {
        return SampleValues{product(in[0], in[1], 10, 300, 70, in[2][0], in[3])};
      });
}

// Zero points and scales of each matrix of a batch, [.., M, 1] and [.., 1, N]; b may be broadcast.
SampleValues each_matrix(const SampleValues& in, bool b_broadcasts) {
  SampleValues y(1);
  for (size_t batch = 0; batch < 2; batch++)
    for (size_t m = 0; m < 3; m++)
      for (size_t n = 0; n < 5; n++) {
        const size_t of = b_broadcasts ? 0 : batch;
        double sum = 0;
        for (size_t k = 0; k < 4; k++)
          sum += (in[0][(batch * 3 + m) * 4 + k] - in[2][batch * 3 + m]) *
                 (in[1][(of * 4 + k) * 5 + n] - in[3][of * 5 + n]);
        y[0].push_back(sum);
      }
  return y;
}

OPS_SAMPLE(MatMulIntegerByMatrix) {
  for (const bool broadcasts : {false, true})
    for (const bool constant : {false, true}) {
      const int64_t of = broadcasts ? 1 : 2;
      const Tensor b = random_bytes<int8_t>({of, 4, 5}, 3);
      Sample& s = samples.add("MatMulInteger", 10).input(random_bytes<uint8_t>({2, 3, 4}, 2));
      (constant ? s.constant_input(b) : s.input(b))
          .input(random_bytes<uint8_t>({2, 3, 1}, 4))
          .input(random_bytes<int8_t>({of, 1, 5}, 5))
          .shape({2, 3, 5})
          .dtype(DType::s32)
          .tolerance(0, 0)
          .reference([=](const SampleValues& in) { return each_matrix(in, broadcasts); });
    }
}

OPS_SAMPLE(QLinearMatMulByMatrix) {
  samples.add("QLinearMatMul", 10)
      .input(random_bytes<uint8_t>({2, 3, 4}, 2))
      .input(random_f32({2, 3, 1}, 0.25f, 1, 6))
      .input(random_bytes<uint8_t>({2, 3, 1}, 4))
      .input(random_bytes<int8_t>({2, 4, 5}, 3))
      .input(random_f32({2, 1, 5}, 0.25f, 1, 7))
      .input(random_bytes<int8_t>({2, 1, 5}, 5))
      .input(Tensor::scalar(200.0f))
      .input(Tensor::scalar(uint8_t{100}))
      .shape({2, 3, 5})
      .reference([](const SampleValues& in) {
        SampleValues y = each_matrix({in[0], in[3], in[2], in[5]}, false);
        for (size_t i = 0; i < 30; i++)
          y[0][i] = saturate(
              std::nearbyint(y[0][i] * in[1][i / 5] * in[4][i / 15 * 5 + i % 5] / in[6][0]) +
                  in[7][0],
              0, 255);
        return y;
      });
}

OPS_SAMPLE(QLinearMatMul) {
  samples.add("QLinearMatMul", 10)
      .input(random_bytes<uint8_t>({4, 33}, 5))
      .constant_input(Tensor::scalar(0.5f))
      .constant_input(Tensor::scalar(uint8_t{128}))
      .input(random_bytes<uint8_t>({33, 9}, 6))
      .constant_input(Tensor::scalar(0.25f))
      .constant_input(Tensor::scalar(uint8_t{120}))
      .constant_input(Tensor::scalar(1024.0f))
      .constant_input(Tensor::scalar(uint8_t{100}))
      .shape({4, 9})
      .reference([](const SampleValues& in) {
        return SampleValues{map(product(in[0], in[3], 4, 33, 9, in[2][0], in[5]), [&](double s) {
          return saturate(std::nearbyint(s * in[1][0] * in[4][0] / in[6][0]) + in[7][0], 0, 255);
        })};
      });
}

// 3x3 kernels with padding 1 on [n, c, 5, 5], `groups` groups.
std::vector<double> convolve(const std::vector<double>& x, const std::vector<double>& w, size_t n,
                             size_t c, size_t m, size_t groups, double x_zero,
                             const std::vector<double>& w_zero) {
  std::vector<double> y;
  const size_t cg = c / groups;
  for (size_t image = 0; image < n; image++)
    for (size_t f = 0; f < m; f++)
      for (int oy = 0; oy < 5; oy++)
        for (int ox = 0; ox < 5; ox++) {
          double sum = 0;
          for (size_t i = 0; i < cg; i++)
            for (int ky = 0; ky < 3; ky++)
              for (int kx = 0; kx < 3; kx++) {
                const int iy = oy + ky - 1, ix = ox + kx - 1;
                if (iy < 0 || iy > 4 || ix < 0 || ix > 4) continue;
                const size_t plane = image * c + f / (m / groups) * cg + i;
                sum += (x[plane * 25 + static_cast<size_t>(iy * 5 + ix)] - x_zero) *
                       (w[(f * cg + i) * 9 + static_cast<size_t>(ky * 3 + kx)] -
                        w_zero[w_zero.size() == 1 ? 0 : f]);
              }
          y.push_back(sum);
        }
  return y;
}

OPS_SAMPLE(ConvInteger) {
  samples.add("ConvInteger", 10)
      .input(random_bytes<uint8_t>({2, 40, 5, 5}, 7))
      .input(random_bytes<int8_t>({4, 40, 3, 3}, 8))
      .input(Tensor::scalar(uint8_t{9}))
      .input(random_bytes<int8_t>({4}, 9))
      .attr("pads", std::vector<int64_t>{1, 1, 1, 1})
      .shape({2, 4, 5, 5})
      .dtype(DType::s32)
      .tolerance(0, 0)
      .reference([](const SampleValues& in) {
        return SampleValues{convolve(in[0], in[1], 2, 40, 4, 1, in[2][0], in[3])};
      });
}

OPS_SAMPLE(QLinearConv) {
  samples.add("QLinearConv", 10)
      .input(random_bytes<uint8_t>({1, 4, 5, 5}, 10))
      .constant_input(Tensor::scalar(0.5f))
      .constant_input(Tensor::scalar(uint8_t{128}))
      .constant_input(random_bytes<int8_t>({6, 2, 3, 3}, 11))
      .constant_input(Tensor::of<float>({6}, {0.5f, 0.25f, 1, 2, 0.5f, 0.125f}))
      .constant_input(Tensor::of<int8_t>({6}, {0, 0, 0, 0, 0, 0}))
      .constant_input(Tensor::scalar(512.0f))
      .constant_input(Tensor::scalar(uint8_t{100}))
      .constant_input(Tensor::of<int32_t>({6}, {10, -5000, 0, 77, 1, 900}))
      .attr("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attr("group", int64_t{2})
      .shape({1, 6, 5, 5})
      .reference([](const SampleValues& in) {
        auto y = convolve(in[0], in[3], 1, 4, 6, 2, in[2][0], in[5]);
        for (size_t i = 0; i < y.size(); i++)
          y[i] = saturate(
              std::nearbyint((y[i] + in[8][i / 25]) * in[1][0] * in[4][i / 25] / in[6][0]) +
                  in[7][0],
              0, 255);
        return SampleValues{y};
      });
}

TEST(DequantizeLinear, BlocksAlongTheLastAxis) {
  // The last block is shorter.
  const int64_t rows = 7, n = 45, block = 16, blocks = 3;
  for (const DType dtype : {DType::u4, DType::s4, DType::u8, DType::s8}) {
    const Tensor x = test::any_bytes(dtype, {rows, n}, 11),
                 zero = test::any_bytes(dtype, {rows, blocks}, 12);
    const Tensor scale = test::random_floats({rows, blocks}, 13);
    const auto y = test::run_node({.op = "DequantizeLinear",
                                   .opset = 21,
                                   .attributes = {{"axis", int64_t{1}}, {"block_size", block}},
                                   .inputs = {x, scale, zero},
                                   .runtime = {0, 1, 2}})[0]
                       .to_doubles();
    const auto q = x.to_doubles(), s = scale.to_doubles(), z = zero.to_doubles();
    for (int64_t i = 0; i < rows * n; i++) {
      const auto b = static_cast<size_t>(i / n * blocks + i % n / block),
                 e = static_cast<size_t>(i);
      ASSERT_EQ(y[e], static_cast<double>(static_cast<float>((q[e] - z[b]) * s[b])))
          << dtype_name(dtype) << " element " << i;
    }
  }
}

}  // namespace
}  // namespace poprt::ops::sampled

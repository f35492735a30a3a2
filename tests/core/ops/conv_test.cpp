// Conv and ConvTranspose of ONNX in plain layout, and poprt.ConvTranspose.
#include <array>

#include "core/ops/built_node.h"
#include "ops/common/conv_transpose.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;

// y[n, m, o...] sums x * w over every (input, tap) pair with o = i * stride + k * dilation - pad
// (transposed) or i = o * stride + k * dilation - pad, visited pair by pair.
struct Naive {
  std::vector<double> value, magnitude;
  Naive(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& out, int64_t group,
        Ints strides, Ints pads, Ints dilations, bool transposed) {
    const Shape &xs = x.shape(), &ws = w.shape();
    const size_t rank = xs.size() - 2;
    const int64_t m_group = out[1] / group, c_group = xs[1] / group;
    value.assign(static_cast<size_t>(element_count(out)), 0);
    magnitude.assign(value.size(), 2);
    const auto out_strides = contiguous_strides(out);
    const Shape in_space(xs.begin() + 2, xs.end()), kernel(ws.begin() + 2, ws.end()),
        out_space(out.begin() + 2, out.end());
    const Shape& walk = transposed ? in_space : out_space;
    const auto unflatten = [](int64_t at, const Shape& s) {
      Shape r(s.size());
      for (size_t d = s.size(); d-- > 0; at /= s[d]) r[d] = at % s[d];
      return r;
    };
    for (int64_t n = 0; n < xs[0]; n++)
      for (int64_t m = 0; m < out[1]; m++)
        for (int64_t p = 0; p < element_count(walk); p++)
          for (int64_t t = 0; t < element_count(kernel); t++) {
            const Shape at = unflatten(p, walk), tap = unflatten(t, kernel);
            int64_t in_at = 0, out_at = 0;
            bool inside = true;
            for (size_t d = 0; d < rank; d++) {
              const int64_t other = at[d] * strides[d] + tap[d] * dilations[d] - pads[d];
              const int64_t i = transposed ? at[d] : other, o = transposed ? other : at[d];
              inside = inside && i >= 0 && i < in_space[d] && o >= 0 && o < out_space[d];
              in_at = in_at * in_space[d] + i;
              out_at = out_at * out_space[d] + o;
            }
            if (!inside) continue;
            const int64_t g = m / m_group;
            for (int64_t c = 0; c < c_group; c++) {
              const int64_t filter =
                  transposed ? (g * c_group + c) * m_group + m % m_group : m * c_group + c;
              const double v =
                  static_cast<double>(x.values<float>()[static_cast<size_t>(
                      (n * xs[1] + g * c_group + c) * element_count(in_space) + in_at)]) *
                  static_cast<double>(
                      w.values<float>()[static_cast<size_t>(filter * element_count(kernel) + t)]);
              const auto to = static_cast<size_t>(n * out_strides[0] + m * out_strides[1] + out_at);
              value[to] += v;
              magnitude[to] += std::abs(v);
            }
          }
    if (bias.defined())
      for (size_t i = 0; i < value.size(); i++)
        value[i] +=
            static_cast<double>(bias.values<float>()[i / static_cast<size_t>(out_strides[1]) %
                                                     static_cast<size_t>(out[1])]);
  }
};

void check(bool transposed, Shape x_shape, Shape w_shape, Shape out, int64_t group, Ints strides,
           Ints pads, Ints dilations,
           std::map<std::string, ir::Attribute, std::less<>> extra = {}) {
  SCOPED_TRACE(shape_string(x_shape) + shape_string(w_shape) + shape_string(out));
  std::mt19937 rng(3);
  const Tensor x = random_tensor(x_shape, rng), w = random_tensor(w_shape, rng),
               bias = random_tensor({out[1]}, rng);
  extra.insert({{"group", group}, {"strides", strides}, {"dilations", dilations}});
  if (!extra.contains("auto_pad") && !extra.contains("output_shape")) extra.insert({"pads", pads});
  BuiltNode node(transposed ? "ConvTranspose" : "Conv", "", {{x, false}, {w, false}, {bias, false}},
                 extra);
  const Tensor got = node.run()[0];
  ASSERT_EQ(got.shape(), out);
  const Naive want(x, w, bias, out, group, strides, pads, dilations, transposed);
  expect_close(got.values<float>(), want.value, want.magnitude);
}

TEST(Conv, MatchesNaiveLoopsInOneTwoAndThreeDimensions) {
  check(false, {2, 3, 20}, {5, 3, 4}, {2, 5, 10}, 1, {2}, {1, 2}, {1});
  check(false, {1, 4, 9, 11}, {6, 4, 3, 3}, {1, 6, 9, 11}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1});
  check(false, {2, 6, 9, 11}, {4, 3, 3, 2}, {2, 4, 4, 4}, 2, {2, 3}, {1, 0, 1, 1}, {2, 1});
  check(false, {1, 7, 8, 8}, {14, 1, 3, 3}, {1, 14, 6, 6}, 7, {1, 1}, {0, 0, 0, 0}, {1, 1});
  check(false, {1, 2, 5, 6, 7}, {3, 2, 3, 2, 3}, {1, 3, 3, 5, 3}, 1, {2, 1, 2}, {1, 0, 0, 1, 0, 0},
        {1, 1, 1});
  check(false, {1, 70, 7, 7}, {20, 70, 3, 3}, {1, 20, 7, 7}, 1, {1, 1}, {1, 1, 1, 1},
        {1, 1});  // K in pieces
  check(false, {1, 3, 5, 130}, {4, 3, 3, 3}, {1, 4, 5, 130}, 1, {1, 1}, {1, 1, 1, 1}, {1, 1});
  check(false, {1, 3, 9, 131}, {4, 3, 5, 5}, {1, 4, 4, 43}, 1, {2, 3}, {1, 0, 1, 0}, {1, 1});
}

TEST(Conv, MatchesNaiveLoopsInFourDimensions) {
  check(false, {2, 4, 3, 4, 3, 5}, {6, 2, 2, 2, 1, 3}, {2, 6, 3, 3, 2, 3}, 2, {1, 1, 2, 2},
        {0, 0, 0, 1, 1, 0, 0, 1}, {1, 1, 1, 1});
}

TEST(Conv, AutoPadPutsTheOddElementUpperOrLower) {
  check(false, {1, 1, 5, 6}, {1, 1, 2, 2}, {1, 1, 5, 6}, 1, {1, 1}, {0, 0, 1, 1}, {1, 1},
        {{"auto_pad", std::string("SAME_UPPER")}});
  check(false, {1, 1, 5, 6}, {1, 1, 2, 2}, {1, 1, 5, 6}, 1, {1, 1}, {1, 1, 0, 0}, {1, 1},
        {{"auto_pad", std::string("SAME_LOWER")}});
  check(false, {1, 1, 5, 6}, {1, 1, 3, 3}, {1, 1, 3, 4}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1},
        {{"auto_pad", std::string("VALID")}});
}

TEST(ConvTranspose, MatchesNaiveLoops) {
  check(true, {1, 3, 6}, {3, 2, 4}, {1, 2, 14}, 1, {2}, {0, 0}, {1});
  check(true, {2, 4, 5, 6}, {4, 3, 3, 3}, {2, 3, 9, 11}, 1, {2, 2}, {1, 1, 1, 1}, {1, 1});
  check(true, {1, 4, 5, 6}, {4, 3, 3, 3}, {1, 6, 10, 12}, 2, {2, 2}, {1, 1, 1, 1}, {1, 1},
        {{"output_padding", Ints{1, 1}}, {"dilations", Ints{1, 1}}, {"strides", Ints{2, 2}}});
}

TEST(ConvTranspose, ProductsMatchNaiveLoops) {
  check(true, {2, 5, 9, 60}, {5, 19, 3, 4}, {2, 19, 17, 179}, 1, {2, 3}, {1, 2, 1, 0}, {1, 1});
  check(true, {1, 8, 3, 4, 5}, {8, 3, 2, 3, 2}, {1, 6, 4, 9, 10}, 2, {1, 2, 2}, {0, 0, 0, 0, 0, 0},
        {1, 1, 1});
  check(true, {1, 4, 6, 7}, {4, 2, 2, 3}, {1, 2, 7, 11}, 1, {1, 1}, {1, 0, 0, 2}, {2, 3});
  check(true, {1, 530, 2, 9}, {530, 2, 2, 2}, {1, 2, 3, 10}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1});
}

TEST(ConvTranspose, OutputShapeAndAutoPadDecideThePads) {
  check(true, {1, 2, 3, 3}, {2, 2, 3, 3}, {1, 2, 6, 6}, 1, {2, 2}, {0, 0, 1, 1}, {1, 1},
        {{"auto_pad", std::string("SAME_UPPER")}});
  check(true, {1, 2, 3, 3}, {2, 2, 3, 3}, {1, 2, 6, 6}, 1, {2, 2}, {1, 1, 0, 0}, {1, 1},
        {{"auto_pad", std::string("SAME_LOWER")}});
  check(true, {1, 2, 3, 3}, {2, 2, 3, 3}, {1, 2, 10, 8}, 1, {3, 2}, {0, 0, 0, 0}, {1, 1},
        {{"output_shape", Ints{10, 8}}, {"output_padding", Ints{1, 1}}});
}

TEST(BlockedConvTranspose, MatchesTheGenericOne) {
  std::mt19937 rng(8);
  for (const auto& [c, h, w, m, k] : std::vector<std::array<int64_t, 5>>{
           {16, 4, 5, 16, 2}, {40, 3, 17, 33, 2}, {64, 9, 16, 32, 2}, {20, 5, 6, 7, 3}}) {
    const Tensor x = random_tensor({2, c, h, w}, rng), weights = random_tensor({c, m, k, k}, rng),
                 bias = random_tensor({m}, rng);
    BuiltNode plain("ConvTranspose", "", {{x, false}, {weights, true}, {bias, true}},
                    {{"strides", Ints{k, k}}});
    const Tensor want = plain.run()[0];
    EXPECT_TRUE(poprt_conv_transpose_supported(*plain.node));
    const Tensor blocked = BuiltNode("Block", "poprt", {{x, false}}).run()[0];
    const Tensor y =
        BuiltNode("ConvTranspose", "poprt", {{blocked, false}, {weights, true}, {bias, true}},
                  {{"strides", Ints{k, k}}, {"channels", c}})
            .run()[0];
    const Tensor got = BuiltNode("Unblock", "poprt", {{y, false}}, {{"channels", m}}).run()[0];
    const auto values = want.values<float>();
    expect_close(got.values<float>(), std::vector<double>(values.begin(), values.end()),
                 std::vector<double>(values.size(), 10.0));
  }
}

// A transposed convolution of two dimensions.
struct Transposed {
  int64_t batch, c, m, group;
  Ints in, kernel, strides, pads, dilations, padding;

  Shape out() const {
    Shape y{batch, m};
    for (size_t d = 0; d < 2; d++)
      y.push_back((in[d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1 + padding[d] -
                  pads[d] - pads[d + 2]);
    return y;
  }
};

void expect_phases(const Transposed& t, std::mt19937& rng) {
  const Shape x_shape{t.batch, t.c, t.in[0], t.in[1]},
      out = t.out(), w_shape{t.c, t.m / t.group, t.kernel[0], t.kernel[1]};
  SCOPED_TRACE(shape_string(x_shape) + shape_string(w_shape) + shape_string(out) +
               shape_string(t.strides) + shape_string(t.pads) + shape_string(t.dilations));
  const Tensor x = random_tensor(x_shape, rng), w = random_tensor(w_shape, rng),
               bias = random_tensor({t.m}, rng);
  const Tensor blocked = BuiltNode("Block", "poprt", {{x, false}}).run()[0];
  const Tensor y = BuiltNode("ConvTranspose", "poprt", {{blocked, false}, {w, true}, {bias, true}},
                             {{"strides", t.strides},
                              {"channels", t.c},
                              {"group", t.group},
                              {"pads", t.pads},
                              {"dilations", t.dilations},
                              {"output_shape", Ints{out[2], out[3]}},
                              {"activation", std::string("relu")}})
                       .run()[0];
  // Unused lanes after the last channel must be finite.
  for (const float v : y.values<float>()) ASSERT_TRUE(std::isfinite(v));
  const Tensor got = BuiltNode("Unblock", "poprt", {{y, false}}, {{"channels", t.m}}).run()[0];
  Naive want(x, w, bias, out, t.group, t.strides, t.pads, t.dilations, true);
  for (double& v : want.value) v = std::max(v, 0.0);
  expect_close(got.values<float>(), want.value, want.magnitude);
}

TEST(BlockedConvTranspose, PhasesMatchNaiveLoops) {
  std::mt19937 rng(4);
  const Ints no_pads{0, 0, 0, 0}, one{1, 1}, none{0, 0};
  for (const Transposed& t : std::vector<Transposed>{
           {2, 16, 16, 1, {5, 7}, {4, 4}, {1, 1}, no_pads, one, none},
           {1, 40, 33, 1, {5, 7}, {4, 4}, {2, 2}, {1, 1, 1, 1}, one, none},
           {2, 20, 24, 1, {6, 5}, {3, 3}, {2, 2}, {1, 1, 1, 1}, one, one},
           {1, 64, 64, 4, {5, 6}, {4, 4}, {2, 2}, {1, 1, 1, 1}, one, none},
           {1, 32, 32, 2, {5, 6}, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}, none},
           {1, 32, 17, 1, {1, 30}, {1, 16}, {1, 8}, {0, 4, 0, 4}, one, none},
           {1, 16, 20, 1, {6, 6}, {3, 3}, {3, 2}, {0, 2, 1, 0}, {2, 3}, {1, 1}},
           {1, 16, 20, 1, {4, 6}, {2, 3}, {4, 5}, no_pads, {2, 5}, {3, 4}},  // phases without taps
           {2, 16, 3, 1, {5, 7}, {4, 4}, {2, 2}, {1, 1, 1, 1}, one, none},   // merged phases
           {1, 24, 1, 1, {9, 4}, {5, 8}, {3, 4}, {1, 2, 0, 3}, one, {2, 1}},
           {1, 16, 7, 1, {4, 4}, {4, 4}, {2, 2}, {3, 2, 3, 2}, one, none},
           {2, 40, 1, 1, {1, 37}, {1, 20}, {1, 10}, no_pads, one, none},
           {1, 17, 2, 1, {2, 9}, {2, 33}, {2, 16}, {0, 5, 1, 3}, one, {0, 3}},
           {1, 16, 1, 1, {1, 5}, {1, 70}, {1, 33}, no_pads, one, none}})
    expect_phases(t, rng);
}

TEST(BlockedConvTranspose, RandomFormsMatchNaiveLoops) {
  std::mt19937 rng(5);
  const auto number = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(rng() % static_cast<uint64_t>(most - least + 1));
  };
  for (int i = 0; i < 120; i++) {
    Transposed t{number(1, 2), number(16, 50), number(1, 40), 1, {}, {}, {}, {0, 0, 0, 0}, {}, {}};
    if (i % 4 == 0) t.c = 16 * number(2, 3) * 2, t.m = 16 * number(1, 2) * 2, t.group = 2;
    for (size_t d = 0; d < 2; d++) {
      t.in.push_back(number(2, 9));
      t.kernel.push_back(number(1, 5));
      t.strides.push_back(number(1, 4));
      t.dilations.push_back(i % 3 == 0 ? number(1, 4) : 1);
      t.padding.push_back(number(0, std::max(t.strides[d], t.dilations[d]) - 1));
      const int64_t extent = (t.kernel[d] - 1) * t.dilations[d] + 1;
      t.pads[d] = number(0, extent - 1);
      t.pads[d + 2] = number(0, extent - 1);
    }
    if (std::ranges::any_of(t.out(), [](int64_t d) { return d < 1; })) continue;
    expect_phases(t, rng);
  }
}

TEST(ConvTranspose, OneConstantMatrixMultipliesASinglePixel) {
  std::mt19937 rng(6);
  for (const bool with_bias : {false, true}) {
    const Tensor x = random_tensor({3, 50, 1, 1}, rng), w = random_tensor({50, 7, 4, 3}, rng),
                 bias = with_bias ? random_tensor({7}, rng) : Tensor();
    std::vector<std::pair<Tensor, bool>> inputs{{x, false}, {w, true}};
    if (with_bias) inputs.emplace_back(bias, true);
    const Tensor y = BuiltNode("ConvTranspose", "", inputs, {{"strides", Ints{2, 1}}}).run()[0];
    const Shape out{3, 7, 4, 3};
    ASSERT_EQ(y.shape(), out);
    const Naive want(x, w, bias, out, 1, {2, 1}, {0, 0, 0, 0}, {1, 1}, true);
    expect_close(y.values<float>(), want.value, want.magnitude);
  }
}

}  // namespace
}  // namespace poprt::ops

#include "compiler/faithful.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/quarter.h"
#include "core/compiler/support.h"

namespace poprt::compiler {
namespace {

std::unique_ptr<ir::Graph> parsed(const std::string& body) {
  auto graph = ir::parse_text(
      fmt::format("graph \"g\" opset {{\"\": 17, \"ai.graphcore\": 1}} {{\n{}\n}}", body));
  ops::infer(*graph);
  return graph;
}

Tensor halves(Shape shape, std::vector<float> values) {
  Tensor t = Tensor::zeros(DType::f16, std::move(shape));
  for (size_t i = 0; i < values.size(); i++) t.mutable_values<f16_t>()[i] = to_f16(values[i]);
  return t;
}

// MatMul of a row and a column.
double dot(const std::vector<float>& a, const std::vector<float>& b, const Faithful& options = {}) {
  const auto n = static_cast<int64_t>(a.size());
  const auto g = parsed(fmt::format(
      "input %a : f16[1,{}]\ninput %b : f16[{},1]\n%y = MatMul(%a, %b)\noutput %y", n, n));
  return run_faithfully(*g, {{"a", halves({1, n}, a)}, {"b", halves({n, 1}, b)}}, options)
      .at("y")
      .to_doubles()[0];
}

TEST(Faithful, RoundsPartialSumsOfSixteenToHalf) {
  // 2048 + 1 is 2048 in a half, so subtracting 2048 leaves 0.
  std::vector<float> a(48, 0.0f), ones(48, 1.0f);
  a[0] = 2048;
  a[16] = 1;
  a[32] = -2048;
  EXPECT_EQ(dot(a, ones), 0);
  EXPECT_EQ(dot(a, ones, {.float_partials = true}), 1);
  // The products of one group are summed in f32.
  a[16] = 0;
  a[1] = 1;
  a[2] = -2048;
  a[32] = 0;
  EXPECT_EQ(dot(a, ones), 1);
}

TEST(Faithful, StochasticRoundingIsUnbiasedAndSeeded) {
  // 2048 + 0.5 is between the halves 2048 and 2050; Add and products round it.
  const auto g =
      parsed("input %a : f16[1,2000]\ninput %b : f16[1,2000]\n%y = Add(%a, %b)\noutput %y");
  const std::map<std::string, Tensor> feeds = {
      {"a", halves({1, 2000}, std::vector<float>(2000, 2048))},
      {"b", halves({1, 2000}, std::vector<float>(2000, 0.5f))}};
  const auto sums = [&](std::optional<uint64_t> seed) {
    return run_faithfully(*g, feeds, {.seed = seed}).at("y").to_doubles();
  };
  const auto first = sums(1);
  double mean = 0;
  for (const double y : first) {
    EXPECT_TRUE(y == 2048 || y == 2050) << y;
    mean += y / 2000;
  }
  EXPECT_NEAR(mean, 2048.5, 0.08);  // four standard deviations
  EXPECT_EQ(first, sums(1));
  EXPECT_NE(first, sums(2));
  EXPECT_EQ(sums({}), std::vector<double>(2000, 2048));

  int up = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    const double y = dot({2048, 0.5}, {1, 1}, {.seed = seed});
    EXPECT_TRUE(y == 2048 || y == 2050) << y;
    up += y == 2050;
  }
  EXPECT_NEAR(up, 100, 40);
  EXPECT_TRUE(std::isnan(dot({300}, {300}, {.seed = 1})));
  EXPECT_EQ(dot({300}, {300}, {.saturate = true, .seed = 1}), 65504);
}

TEST(Faithful, OverflowIsNaNOrTheGreatestHalf) {
  EXPECT_TRUE(std::isnan(dot({300}, {300})));
  EXPECT_EQ(dot({300}, {300}, {.saturate = true}), 65504);
  EXPECT_EQ(dot({300}, {-300}, {.saturate = true}), -65504);
  const auto g = parsed("input %x : f16[2]\n%y = Mul(%x, %x)\noutput %y");
  const auto feeds = std::map<std::string, Tensor>{{"x", halves({2}, {300, 2})}};
  EXPECT_TRUE(std::isnan(run_faithfully(*g, feeds).at("y").to_doubles()[0]));
  EXPECT_EQ(run_faithfully(*g, feeds, {.saturate = true}).at("y").to_doubles(),
            (std::vector<double>{65504, 4}));
}

std::vector<int64_t> codes_of(const char* format, int scale, std::vector<float> values,
                              bool saturate) {
  const auto g =
      parsed(fmt::format("input %x : f32[{}]\nconst %s : s32[] = {}\n"
                         "%y = ai.graphcore.CastToFP8(%x, %s) {{fp8Format = \"{}\"}}\n"
                         "output %y",
                         values.size(), scale, format));
  const auto n = static_cast<int64_t>(values.size());
  return run_faithfully(*g, {{"x", Tensor::of<float>({n}, values)}}, {.saturate = saturate})
      .at("y")
      .to_int64s();
}

TEST(Faithful, EightBitFloatsRoundFromHalvesAndOverflowLikeTheChip) {
  // 1.0625 is half way between 1 and 1.125; a slightly larger number rounds to it in a half.
  EXPECT_EQ(codes_of("F143", 0, {1.0625f + 0x1p-13f, 1.0625f + 0x1p-9f}, false),
            (std::vector<int64_t>{0x40, 0x41}));
  EXPECT_EQ(codes_of("F143", 0, {241, 300, -300, INFINITY, NAN, -0.0f, 1e-6f}, false),
            (std::vector<int64_t>{0x7f, 0x80, 0x80, 0x80, 0x80, 0, 0}));
  EXPECT_EQ(codes_of("F143", 0, {300, -300, INFINITY}, true),
            (std::vector<int64_t>{0x7f, 0xff, 0x80}));
  EXPECT_EQ(codes_of("F152", 3, {8}, false), (std::vector<int64_t>{0x40}));
}

// Sums of `group` products, rounded one after the other.
float chip_sum(const std::vector<float>& a, const std::vector<float>& b, size_t group) {
  float partial = 0;
  for (size_t at = 0; at < a.size(); at += group) {
    float s = 0;
    for (size_t k = at; k < std::min(a.size(), at + group); k++) s += a[k] * b[k];
    partial = to_float(to_f16(partial + s));
  }
  return partial;
}

TEST(Faithful, ProductsOfRandomNumbersMatchANaiveLoop) {
  std::mt19937 rng(4);
  std::normal_distribution<float> normal;
  const auto g = parsed(R"(
    input %x8 : u8[3,70]
    input %w8 : u8[70,2]
    const %s : s32[] = -2
    const %t : s32[] = 1
    %y = ai.graphcore.FP8MatMul(%x8, %w8, %s, %t) {fp8FormatLHS = "F143", fp8FormatRHS = "F152"}
    output %y
  )");
  std::vector<float> a(210), b(140);
  Tensor x = Tensor::zeros(DType::u8, {3, 70}), w = Tensor::zeros(DType::u8, {70, 2});
  const auto fill = [&](DType dtype, std::vector<float>& values, Tensor& codes) {
    for (size_t i = 0; i < values.size(); i++) {
      const uint8_t code = float_to_quarter(dtype, normal(rng), true);
      codes.mutable_values<uint8_t>()[i] = code;
      values[i] = quarter_to_float(dtype, code);
    }
  };
  fill(DType::f8_143, a, x);
  fill(DType::f8_152, b, w);
  const auto y = run_faithfully(*g, {{"x8", x}, {"w8", w}}).at("y").to_doubles();
  for (size_t r = 0; r < 3; r++)
    for (size_t c = 0; c < 2; c++) {
      std::vector<float> row, column;
      for (size_t k = 0; k < 70; k++) {
        row.push_back(a[r * 70 + k]);
        column.push_back(b[k * 2 + c]);
      }
      EXPECT_EQ(y[r * 2 + c],
                static_cast<double>(to_float(to_f16(chip_sum(row, column, 32) * 0.5f))));
    }
}

TEST(Faithful, ScalesOfCodesKeepPartialSumsInRange) {
  // 240 * 240 in every place is far beyond a half, but not 64 times (240 / 256)^2.
  const auto g = parsed(R"(
    input %x : u8[1,64]
    input %w : u8[64,1]
    const %s : s32[] = -8
    %y = ai.graphcore.FP8MatMul(%x, %w, %s, %s)
    output %y
  )");
  Tensor codes = Tensor::zeros(DType::u8, {1, 64});
  std::ranges::fill(codes.mutable_values<uint8_t>(), uint8_t{0x7f});
  const auto y = run_faithfully(*g, {{"x", codes}, {"w", codes.reshaped({64, 1})}}).at("y");
  EXPECT_EQ(y.to_doubles()[0], 64 * 0.9375 * 0.9375);
}

TEST(Faithful, TheFastEmulatorIsNeverFartherFromExactSums) {
  std::mt19937 rng(6);
  std::normal_distribution<float> normal;
  constexpr int64_t kSize = 400;
  std::vector<float> x(8 * kSize), w(kSize * 8);
  for (float& v : x) v = to_float(to_f16(normal(rng)));
  for (float& v : w) v = to_float(to_f16(normal(rng)));
  std::string text = fmt::format(
      "input %x : f16[8,{}]\ninput %w : f16[{},8]\n"
      "%y = MatMul(%x, %w)\noutput %y",
      kSize, kSize);
  const auto g = parsed(text);
  const std::map<std::string, Tensor> feeds = {{"x", halves({8, kSize}, x)},
                                               {"w", halves({kSize, 8}, w)}};
  const auto chip = run_faithfully(*g, feeds).at("y").to_doubles();
  const Executable fast = test::compile_text("graph \"g\" opset {\"\": 17} {\n" + text + "\n}");
  const auto ours = test::run_executable(fast, feeds).at("y").to_doubles();
  double chip_error = 0, our_error = 0;
  for (size_t i = 0; i < 64; i++) {
    double exact = 0;
    for (size_t k = 0; k < kSize; k++)
      exact += static_cast<double>(x[i / 8 * kSize + k]) * static_cast<double>(w[k * 8 + i % 8]);
    chip_error += (chip[i] - exact) * (chip[i] - exact);
    our_error += (ours[i] - exact) * (ours[i] - exact);
  }
  EXPECT_LT(our_error, chip_error / 4);
  EXPECT_GT(our_error, 0);
}

TEST(Faithful, ConvolutionsSumChannelsOfOnePlaceFirst) {
  const auto g = parsed(R"(
    input %x : f16[1,32,1,2]
    input %w : f16[1,32,1,2]
    input %b : f16[1]
    %y = Conv(%x, %w, %b)
    output %y
  )");
  std::mt19937 rng(8);
  std::normal_distribution<float> normal;
  std::vector<float> x(64), w(64), rows, columns;
  for (float& v : x) v = to_float(to_f16(normal(rng)));
  for (float& v : w) v = to_float(to_f16(normal(rng)));
  for (size_t place = 0; place < 2; place++)
    for (size_t c = 0; c < 32; c++) {
      rows.push_back(x[c * 2 + place]);
      columns.push_back(w[c * 2 + place]);
    }
  const auto y = run_faithfully(*g, {{"x", halves({1, 32, 1, 2}, x)},
                                     {"w", halves({1, 32, 1, 2}, w)},
                                     {"b", halves({1}, {0.3f})}})
                     .at("y")
                     .to_doubles();
  const float bias = to_float(to_f16(0.3f));
  EXPECT_EQ(y[0], static_cast<double>(to_float(to_f16(chip_sum(rows, columns, 16) + bias))));
}

Tensor random_halves(Shape shape, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  Tensor t = Tensor::zeros(DType::f16, std::move(shape));
  for (f16_t& v : t.mutable_values<f16_t>()) v = to_f16(normal(rng));
  return t;
}

float at(const Tensor& t, int64_t i) { return to_float(t.values<f16_t>()[static_cast<size_t>(i)]); }
float rounded_to_half(float x) { return to_float(to_f16(x)); }

using Feeds = std::map<std::string, Tensor>;

// Compares every element of y of `body` with `wanted` of its index.
void expect_each(const std::string& body, const Feeds& feeds,
                 const std::function<float(int64_t)>& wanted) {
  const Tensor y = run_faithfully(*parsed(body), feeds).at("y");
  const std::vector<double> values = y.to_doubles();
  for (int64_t i = 0; i < y.count(); i++)
    ASSERT_EQ(values[static_cast<size_t>(i)], static_cast<double>(wanted(i)))
        << i << " of " << body;
}

// The product of [2,1,3,20] and [5,20,4] is [2,5,3,4].
TEST(Faithful, MatricesOfABatchMeetAsTheirShapesSay) {
  const Tensor a = random_halves({2, 1, 3, 20}, 1), b = random_halves({5, 20, 4}, 2);
  const auto sum = [&](int64_t row, int64_t matrix, int64_t column) {
    std::vector<float> u, v;
    for (int64_t k = 0; k < 20; k++) {
      u.push_back(at(a, row * 20 + k));
      v.push_back(at(b, (matrix * 20 + k) * 4 + column));
    }
    return chip_sum(u, v, 16);
  };
  expect_each("input %a : f16[2,1,3,20]\ninput %b : f16[5,20,4]\n%y = MatMul(%a, %b)\noutput %y",
              {{"a", a}, {"b", b}}, [&](int64_t i) {
                const int64_t column = i % 4, row = i / 4 % 3, matrix = i / 12 % 5, first = i / 60;
                return sum(first * 3 + row, matrix, column);
              });
  // A value that a Cast widened is still a half; the result stays f32.
  const auto g = parsed(
      "input %a : f16[2,1,3,20]\ninput %b : f16[5,20,4]\n%c = Cast(%a) {to = 1}\n%d = Cast(%b) {to "
      "= 1}\n%y = MatMul(%c, %d)\noutput %y");
  const Tensor y = run_faithfully(*g, {{"a", a}, {"b", b}}).at("y");
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(y.shape(), (Shape{2, 5, 3, 4}));
  EXPECT_EQ(y.values<float>()[119], sum(5, 4, 3));
}

TEST(Faithful, FloatsAreComputedInFloat) {
  // Neither 1 + 2^-12 nor the sum is a half.
  const auto g = parsed("input %a : f32[1,2]\ninput %b : f32[2,1]\n%y = MatMul(%a, %b)\noutput %y");
  const float x = 1 + 0x1p-12f;
  EXPECT_EQ(run_faithfully(*g, {{"a", Tensor::of<float>({1, 2}, {x, x})},
                                {"b", Tensor::of<float>({2, 1}, {1, 1})}})
                .at("y")
                .values<float>()[0],
            2 * x);
}

// alpha A B + beta C, each step rounded to a half.
TEST(Faithful, GemmScalesAndAddsABroadcastOperand) {
  const Tensor a = random_halves({3, 18}, 3), b = random_halves({18, 2}, 4),
               bt = random_halves({2, 18}, 5);
  const auto product = [&](int64_t i, bool turned) {
    std::vector<float> u, v;
    for (int64_t k = 0; k < 18; k++) {
      u.push_back(at(a, i / 2 * 18 + k));
      v.push_back(turned ? at(bt, i % 2 * 18 + k) : at(b, k * 2 + i % 2));
    }
    return chip_sum(u, v, 16);
  };
  struct Case {
    Shape shape;
    std::function<int64_t(int64_t)> place;
  };
  const Case cases[] = {
      {{2}, [](int64_t i) { return i % 2; }},    {{1, 2}, [](int64_t i) { return i % 2; }},
      {{3, 1}, [](int64_t i) { return i / 2; }}, {{3, 2}, [](int64_t i) { return i; }},
      {{1}, [](int64_t) { return 0; }},          {{}, [](int64_t) { return 0; }}};
  for (const Case& c : cases)
    for (const bool turned : {false, true}) {
      const Tensor bias = random_halves(c.shape, 6);
      expect_each(
          fmt::format("input %a : f16[3,18]\ninput %b : f16{}\ninput %c : f16{}\n%y = Gemm(%a, %b, "
                      "%c) {{alpha = 0.75, beta = 1.5, transB = {}}}\noutput %y",
                      turned ? "[2,18]" : "[18,2]", shape_string(c.shape), turned ? 1 : 0),
          {{"a", a}, {"b", turned ? bt : b}, {"c", bias}}, [&](int64_t i) {
            return rounded_to_half(rounded_to_half(product(i, turned) * 0.75f) +
                                   rounded_to_half(at(bias, c.place(i)) * 1.5f));
          });
    }
  const std::string head = "input %a : f16[3,18]\ninput %b : f16[18,2]\ninput %c : f16[2]\n";
  const Feeds feeds = {{"a", a}, {"b", b}, {"c", random_halves({2}, 6)}};
  expect_each(head + "%y = Gemm(%a, %b, %c) {beta = 0.0}\noutput %y", feeds,
              [&](int64_t i) { return product(i, false); });
  expect_each(head + "%y = Gemm(%a, %b)\noutput %y", feeds,
              [&](int64_t i) { return product(i, false); });
}

// The operand is square, so a program could confuse its rows and columns.
TEST(Faithful, ABiasOfASquareIsThatOfColumns) {
  const Tensor a = random_halves({2, 3}, 3), b = random_halves({3, 2}, 4),
               c = halves({2}, {10, 200});
  const auto g = parsed(
      "input %a : f16[2,3]\ninput %b : f16[3,2]\ninput %c : f16[2]\n%y = Gemm(%a, %b, %c)\n"
      "output %y");
  const auto y = run_faithfully(*g, {{"a", a}, {"b", b}, {"c", c}}).at("y").to_doubles();
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(y[i], i % 2 ? 200 : 10, 9) << i;
  // A rotated operand is computed like any other operand.
  const auto turned =
      parsed("input %a : f16[3,2]\ninput %b : f16[3,2]\n%y = Gemm(%a, %b) {transA = 1}\noutput %y");
  const Tensor at3 = random_halves({3, 2}, 7);
  const auto z = run_faithfully(*turned, {{"a", at3}, {"b", b}}).at("y").to_doubles();
  for (int64_t i = 0; i < 4; i++) {
    float sum = 0;
    for (int64_t k = 0; k < 3; k++) sum += at(at3, k * 2 + i / 2) * at(b, k * 2 + i % 2);
    EXPECT_NEAR(z[static_cast<size_t>(i)], sum, 1e-2);
  }
}

TEST(Faithful, ConvolutionsOfGroupsStrideAndDilation) {
  const Tensor x = random_halves({2, 40, 5, 6}, 1), w = random_halves({4, 20, 2, 2}, 2),
               b = random_halves({4}, 3);
  // Lines: (5 + 1 + 1 - 2 * 1 - 1) / 2 + 1 = 3. Columns: (6 + 0 + 2 - 1 - 1) / 3 + 1 = 3.
  expect_each(R"(
    input %x : f16[2,40,5,6]
    input %w : f16[4,20,2,2]
    input %b : f16[4]
    %y = Conv(%x, %w, %b) {group = 2, strides = [2, 3], dilations = [2, 1], pads = [1, 0, 1, 2]}
    output %y
  )",
              {{"x", x}, {"w", w}, {"b", b}}, [&](int64_t i) {
                const int64_t v = i % 3, h = i / 3 % 3, m = i / 9 % 4, image = i / 36;
                float partial = 0;
                for (int64_t r = 0; r < 2; r++)
                  for (int64_t c = 0; c < 2; c++) {
                    const int64_t line = h * 2 - 1 + r * 2, column = v * 3 + c;
                    if (line < 0 || line > 4 || column < 0 || column > 5) continue;
                    for (int64_t first = 0; first < 20; first += 16) {
                      float s = 0;
                      for (int64_t k = first; k < std::min<int64_t>(20, first + 16); k++)
                        s += at(x, ((image * 40 + m / 2 * 20 + k) * 5 + line) * 6 + column) *
                             at(w, ((m * 20 + k) * 2 + r) * 2 + c);
                      partial = rounded_to_half(partial + s);
                    }
                  }
                return rounded_to_half(partial + at(b, m));
              });
}

TEST(Faithful, ConvolutionsThatItHasNotAreRefused) {
  const auto message_for = [](const std::string& shapes,
                              const std::string& attributes) -> std::string {
    const size_t comma = shapes.find(' ');
    const std::string x = shapes.substr(0, comma), w = shapes.substr(comma + 1);
    try {
      const auto g = parsed("input %x : f16" + x + "\ninput %w : f16" + w +
                            "\n%y = Conv(%x, %w) {" + attributes + "} \"conv\"\noutput %y");
      run_faithfully(*g, {{"x", Tensor::zeros(DType::f16, g->inputs()[0]->shape())},
                          {"w", Tensor::zeros(DType::f16, g->inputs()[1]->shape())}});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unimplemented);
      return e.message();
    }
    return "taken";
  };
  const std::string refusal =
      "Conv node 'conv': faithful convolutions have two dimensions and explicit pads";
  EXPECT_EQ(message_for("[1,2,3,3] [1,2,2,2]", ""), "taken");
  EXPECT_EQ(message_for("[1,2,3,3] [1,2,2,2]", "auto_pad = \"NOTSET\""), "taken");
  EXPECT_EQ(message_for("[1,2,3,3] [1,2,2,2]", "auto_pad = \"SAME_UPPER\""), refusal);
  EXPECT_EQ(message_for("[1,2,3] [1,2,2]", ""), refusal);
}

// Groups have 32 products if both operands are 8-bit floats. 8-bit weights are converted to halves
// if the other operand is a half.
TEST(Faithful, EightBitWeightsWithHalvesAreSummedAsHalves) {
  Tensor codes = Tensor::zeros(DType::u8, {40, 2});
  for (size_t i = 0; i < 80; i++)
    codes.mutable_values<uint8_t>()[i] =
        float_to_quarter(DType::f8_143, static_cast<float>(i % 13) / 4 - 1, true);
  const Tensor x = random_halves({1, 40}, 9);
  expect_each(R"(
    input %x : f16[1,40]
    input %w : u8[40,2]
    const %s : s32[] = 0
    const %t : s32[] = 3
    %y = ai.graphcore.FP8MatMul(%x, %w, %s, %t)
    output %y
  )",
              {{"x", x}, {"w", codes}}, [&](int64_t i) {
                std::vector<float> u, v;
                for (int64_t k = 0; k < 40; k++) {
                  u.push_back(at(x, k));
                  v.push_back(8 * quarter_to_float(
                                      DType::f8_143,
                                      codes.values<uint8_t>()[static_cast<size_t>(k * 2 + i)]));
                }
                return chip_sum(u, v, 16);
              });
}

TEST(Faithful, EightBitConvolutionsWithHalvesAreSummedAsHalves) {
  Tensor codes = Tensor::zeros(DType::u8, {2, 40, 1, 1});
  for (size_t i = 0; i < 80; i++)
    codes.mutable_values<uint8_t>()[i] =
        float_to_quarter(DType::f8_143, static_cast<float>(i % 13) / 4 - 1, true);
  const Tensor x = random_halves({1, 40, 1, 1}, 9);
  expect_each(R"(
    input %x : f16[1,40,1,1]
    input %w : u8[2,40,1,1]
    const %s : s32[] = 0
    %y = ai.graphcore.FP8Conv(%x, %w, %s, %s)
    output %y
  )",
              {{"x", x}, {"w", codes}}, [&](int64_t i) {
                std::vector<float> u, v;
                for (int64_t k = 0; k < 40; k++) {
                  u.push_back(at(x, k));
                  v.push_back(quarter_to_float(
                      DType::f8_143, codes.values<uint8_t>()[static_cast<size_t>(i * 40 + k)]));
                }
                return chip_sum(u, v, 16);
              });
}

// The rule also applies to f32, and to values that were infinite before.
TEST(Faithful, CastsToHalvesOverflowButKeepInfinity) {
  const auto g = parsed("input %x : f32[5]\n%y = Cast(%x) {to = 10}\noutput %y");
  const Feeds feeds = {{"x", Tensor::of<float>({5}, {INFINITY, -INFINITY, 70000, -70000, 65504})}};
  const auto y = run_faithfully(*g, feeds).at("y").to_doubles();
  EXPECT_EQ(y[0], INFINITY);
  EXPECT_EQ(y[1], -INFINITY);
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
  EXPECT_EQ(y[4], 65504);
  EXPECT_EQ(run_faithfully(*g, feeds, {.saturate = true}).at("y").to_doubles(),
            (std::vector<double>{INFINITY, -INFINITY, 65504, -65504, 65504}));
}

TEST(Faithful, AnInfinityThatWasThereIsNoOverflow) {
  const auto g = parsed("input %x : f16[3]\n%y = Mul(%x, %x)\noutput %y");
  const auto y = run_faithfully(*g, {{"x", halves({3}, {-INFINITY, 300, 2})}}).at("y").to_doubles();
  EXPECT_EQ(y, (std::vector<double>{INFINITY, INFINITY, 4}));
  EXPECT_TRUE(
      std::isnan(run_faithfully(*g, {{"x", halves({3}, {NAN, 300, 2})}}).at("y").to_doubles()[1]));
}

// With a seed, operators are computed in f32. An overflow of f32 is also one of halves.
TEST(Faithful, StochasticRoundingKeepsInfinitiesAndDetectsOverflow) {
  const auto exp = parsed("input %x : f16[2]\n%y = Exp(%x)\noutput %y");
  const auto log = parsed("input %x : f16[2]\n%y = Log(%x)\noutput %y");
  const auto run = [](const ir::Graph& g, std::vector<float> x, bool saturate) {
    return run_faithfully(g, {{"x", halves({2}, x)}}, {.saturate = saturate, .seed = 1})
        .at("y")
        .to_doubles();
  };
  const std::vector<double> kept = {INFINITY, 1};
  for (const bool saturate : {false, true}) EXPECT_EQ(run(*exp, {INFINITY, 0}, saturate), kept);
  EXPECT_EQ(run(*exp, {100, 0}, true), (std::vector<double>{65504, 1}));
  EXPECT_EQ(run(*log, {0, 1}, true), (std::vector<double>{-65504, 0}));
  const auto overflowed = run(*exp, {100, 0}, false);
  EXPECT_TRUE(std::isnan(overflowed[0]));
  EXPECT_EQ(overflowed[1], 1);
  EXPECT_TRUE(std::isnan(run(*exp, {12, 0}, false)[0])) << "a number in f32";
}

TEST(Faithful, OverflowOfAPartialSumStaysToTheEnd) {
  std::vector<float> a(32, 0.0f), b(32, 1.0f);
  a[0] = 60000, a[1] = 60000, a[16] = -60000, a[17] = -60000;
  EXPECT_TRUE(std::isnan(dot(a, b)));
  EXPECT_EQ(dot(a, b, {.saturate = true}), -54496) << "65504 less twice 60000";
  EXPECT_EQ(dot(a, b, {.float_partials = true}), 0);
  a[0] = INFINITY;
  EXPECT_TRUE(std::isnan(dot(a, b, {.saturate = true}))) << "no number, however it is limited";
}

TEST(Faithful, ErrorsNameTheMismatchedInput) {
  const auto g = parsed("input %x : f16[2]\n%y = Relu(%x)\noutput %y");
  const auto message_for = [&](const Feeds& feeds) -> std::string {
    try {
      run_faithfully(*g, feeds);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message();
    }
    return "taken";
  };
  EXPECT_EQ(message_for({{"x", halves({2}, {1, 2})}}), "taken");
  EXPECT_EQ(message_for({}), "input 'x' is f16[2], and is not given");
  EXPECT_EQ(message_for({{"x", Tensor::zeros(DType::f32, {2})}}),
            "input 'x' is f16[2], given are f32 [2]");
  EXPECT_EQ(message_for({{"x", Tensor::zeros(DType::f16, {2, 1})}}),
            "input 'x' is f16[2], given are f16 [2,1]");
}

TEST(Faithful, RefusesInputsOfAnotherType) {
  const auto g = parsed("input %x : f16[2]\n%y = Relu(%x)\noutput %y");
  EXPECT_THROW(run_faithfully(*g, {}), Error);
  EXPECT_THROW(run_faithfully(*g, {{"x", Tensor::zeros(DType::f32, {2})}}), Error);
}

}  // namespace
}  // namespace poprt::compiler

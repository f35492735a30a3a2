#include "compiler/faithful.h"

#include <gtest/gtest.h>

#include <cmath>
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
  // 2048 and 1 are 2048 in a half, so that taking 2048 away leaves nothing.
  std::vector<float> a(48, 0.0f), ones(48, 1.0f);
  a[0] = 2048;
  a[16] = 1;
  a[32] = -2048;
  EXPECT_EQ(dot(a, ones), 0);
  EXPECT_EQ(dot(a, ones, {.float_partials = true}), 1);
  // Inside of one group they are summed in f32.
  a[16] = 0;
  a[1] = 1;
  a[2] = -2048;
  a[32] = 0;
  EXPECT_EQ(dot(a, ones), 1);
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

TEST(Faithful, EightBitFloatsAreMadeOfHalvesAndOverflowAsTheChipSays) {
  // 1.0625 is the middle of 1 and 1.125; what is a bit more is that in a half.
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

TEST(Faithful, ProductsOfRandomNumbersAreThoseOfANaiveLoop) {
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

TEST(Faithful, RefusesInputsOfAnotherType) {
  const auto g = parsed("input %x : f16[2]\n%y = Relu(%x)\noutput %y");
  EXPECT_THROW(run_faithfully(*g, {}), Error);
  EXPECT_THROW(run_faithfully(*g, {{"x", Tensor::zeros(DType::f32, {2})}}), Error);
}

}  // namespace
}  // namespace poprt::compiler

// Samples of every elementwise operator, and tests of their shared lowering.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/ops/sample.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::sampled {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

// Adds samples on f32, f16 and f64, with a shape that is no multiple of a vector.
void unary(SampleList& samples, const char* op, int64_t opset, float low, float high, Unary f,
           const char* domain = "") {
  const auto reference = [f](const SampleValues& in) { return SampleValues{map(in[0], f)}; };
  const Tensor x = random_f32({3, 37}, low, high);
  samples.add(op, opset, domain).input(x).shape({3, 37}).tolerance(2e-6, 1e-6).reference(reference);
  Tensor half = Tensor::zeros(DType::f16, {3, 37}), wide = Tensor::zeros(DType::f64, {3, 37});
  for (size_t i = 0; i < 111; i++) {
    half.mutable_values<f16_t>()[i] = to_f16(x.values<float>()[i]);
    wide.mutable_values<double>()[i] = static_cast<double>(x.values<float>()[i]);
  }
  samples.add(op, opset, domain)
      .input(half)
      .shape({3, 37})
      .tolerance(1e-3, 1e-5)
      .reference(reference);
  samples.add(op, opset, domain)
      .input(wide)
      .shape({3, 37})
      .tolerance(1e-12, 1e-12)
      .reference(reference);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

OPS_SAMPLE(UnaryFloat) {
  const auto add = [&](const char* op, int64_t opset, float lo, float hi, Unary f) {
    unary(samples, op, opset, lo, hi, f);
  };
  add("Neg", 13, -3, 3, [](double x) { return -x; });
  add("Abs", 13, -3, 3, [](double x) { return std::fabs(x); });
  add("Sign", 13, -3, 3, [](double x) { return double((x > 0) - (x < 0)); });
  add("Reciprocal", 13, 0.5, 3, [](double x) { return 1 / x; });
  add("Sqrt", 13, 0, 9, [](double x) { return std::sqrt(x); });
  add("Exp", 13, -9, 9, [](double x) { return std::exp(x); });
  add("Log", 13, 0.01f, 9, [](double x) { return std::log(x); });
  add("Erf", 13, -4, 4, [](double x) { return std::erf(x); });
  add("Tanh", 13, -9, 9, [](double x) { return std::tanh(x); });
  add("Sigmoid", 13, -9, 9, sigmoid);
  add("Relu", 14, -3, 3, [](double x) { return x > 0 ? x : 0; });
  add("Softplus", 1, -9, 9, softplus);
  add("Softsign", 1, -9, 9, [](double x) { return x / (1 + std::fabs(x)); });
  add("HardSwish", 14, -5, 5, [](double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); });
  add("Mish", 18, -5, 5, [](double x) { return x * std::tanh(softplus(x)); });
  add("Gelu", 20, -5, 5, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); });
  add("Ceil", 13, -3, 3, [](double x) { return std::ceil(x); });
  add("Floor", 13, -3, 3, [](double x) { return std::floor(x); });
  add("Round", 11, -3, 3, [](double x) { return std::nearbyint(x); });
  add("Sin", 7, -9, 9, [](double x) { return std::sin(x); });
  add("Cos", 7, -9, 9, [](double x) { return std::cos(x); });
  add("Tan", 7, -1.2f, 1.2f, [](double x) { return std::tan(x); });
  add("Asin", 7, -0.9f, 0.9f, [](double x) { return std::asin(x); });
  add("Acos", 7, -0.9f, 0.9f, [](double x) { return std::acos(x); });
  add("Atan", 7, -9, 9, [](double x) { return std::atan(x); });
  add("Sinh", 9, -4, 4, [](double x) { return std::sinh(x); });
  add("Cosh", 9, -4, 4, [](double x) { return std::cosh(x); });
  add("Asinh", 9, -9, 9, [](double x) { return std::asinh(x); });
  add("Acosh", 9, 1.1f, 9, [](double x) { return std::acosh(x); });
  add("Atanh", 9, -0.9f, 0.9f, [](double x) { return std::atanh(x); });
  add("LeakyRelu", 16, -3, 3, [](double x) { return x < 0 ? double(0.01f) * x : x; });
  add("Elu", 6, -3, 3, [](double x) { return x < 0 ? std::expm1(x) : x; });
  add("Celu", 12, -3, 3, [](double x) { return x < 0 ? std::expm1(x) : x; });
  add("Selu", 6, -3, 3, [](double x) {
    return double(1.05070102214813232421875f) *
           (x < 0 ? double(1.67326319217681884765625f) * std::expm1(x) : x);
  });
  add("ThresholdedRelu", 10, -3, 3, [](double x) { return x > 1 ? x : 0; });
  add("HardSigmoid", 6, -5, 5,
      [](double x) { return std::fmax(0, std::fmin(1, double(0.2f) * x + 0.5)); });
  unary(samples, "Silu", 1, -9, 9, [](double x) { return x * sigmoid(x); }, "poprt");
  unary(
      samples, "Gelu", 1, -5, 5,
      [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, "poprt");
}

OPS_SAMPLE(GeluTanh) {
  samples.add("Gelu", 20)
      .input(random_f32({40}, -5, 5))
      .attr("approximate", std::string("tanh"))
      .shape({40})
      .reference([](const SampleValues& in) {
        return SampleValues{map(in[0], [](double x) {
          return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
        })};
      });
}

OPS_SAMPLE(SwiGlu) {
  samples.add("SwiGLU", 28)
      .input(random_f32({40}, -5, 5))
      .input(random_f32({40}, -2, 2, 2))
      .attr("alpha", 1.5f)
      .shape({40})
      .reference([](const SampleValues& in) {
        SampleValues y{in[0]};
        for (size_t i = 0; i < y[0].size(); i++) y[0][i] *= sigmoid(1.5 * in[0][i]) * in[1][i];
        return y;
      });
}

// Adds samples of [2,3,4] with [3,1] and of the exchanged operands.
void binary(SampleList& samples, const char* op, int64_t opset, float low, float high, Binary f,
            bool gives_bool = false) {
  for (const bool swap : {false, true}) {
    auto& s = samples.add(op, opset);
    s.input(random_f32(swap ? Shape{3, 1} : Shape{2, 3, 4}, low, high, 2))
        .input(random_f32(swap ? Shape{2, 3, 4} : Shape{3, 1}, low, high, 3))
        .shape({2, 3, 4})
        .tolerance(2e-6, 1e-6)
        .reference([=](const SampleValues& in) {
          std::vector<double> y;
          for (size_t i = 0; i < 24; i++) {
            const size_t j = i / 4 % 3;
            y.push_back(f(in[0][swap ? j : i], in[1][swap ? i : j]));
          }
          return SampleValues{y};
        });
    if (gives_bool) s.dtype(DType::boolean);
  }
}

OPS_SAMPLE(BinaryFloat) {
  binary(samples, "Add", 14, -3, 3, [](double a, double b) { return a + b; });
  binary(samples, "Sub", 14, -3, 3, [](double a, double b) { return a - b; });
  binary(samples, "Mul", 14, -3, 3, [](double a, double b) { return a * b; });
  binary(samples, "Div", 14, 1, 3, [](double a, double b) { return a / b; });
  binary(samples, "Pow", 15, 0.5, 3, [](double a, double b) { return std::pow(a, b); });
  binary(samples, "Min", 13, -3, 3, [](double a, double b) { return std::fmin(a, b); });
  binary(samples, "Max", 13, -3, 3, [](double a, double b) { return std::fmax(a, b); });
  binary(samples, "Sum", 13, -3, 3, [](double a, double b) { return a + b; });
  binary(samples, "Mean", 13, -3, 3, [](double a, double b) { return (a + b) / 2; });
  binary(samples, "Greater", 13, -1, 1, [](double a, double b) { return double(a > b); }, true);
  binary(samples, "Less", 13, -1, 1, [](double a, double b) { return double(a < b); }, true);
  binary(
      samples, "GreaterOrEqual", 16, -1, 1, [](double a, double b) { return double(a >= b); },
      true);
  binary(
      samples, "LessOrEqual", 16, -1, 1, [](double a, double b) { return double(a <= b); }, true);
}

template <class T>
void exact(SampleList& samples, const char* op, int64_t opset, std::initializer_list<T> a,
           std::initializer_list<T> b, std::vector<double> y, bool gives_bool = false,
           const char* key = nullptr, ir::Attribute value = int64_t{0}) {
  auto& s = samples.add(op, opset);
  const auto n = static_cast<int64_t>(a.size());
  s.input(Tensor::of<T>({n}, a));
  if (b.size()) s.input(Tensor::of<T>({n}, b));
  s.shape({n}).tolerance(0, 0).reference([y](const SampleValues&) { return SampleValues{y}; });
  if (gives_bool) s.dtype(DType::boolean);
  if (key) s.attr(key, value);
}

// Codes of NaN, an infinity where the type has one, 1 and -0 (NaN in the fnuz types).
OPS_SAMPLE(QuarterNumbers) {
  const auto add = [&](const char* op, DType t, std::vector<uint8_t> codes, std::vector<double> y) {
    Tensor x = Tensor::zeros(t, {4});
    std::copy(codes.begin(), codes.end(), static_cast<uint8_t*>(x.mutable_data()));
    samples.add(op, 20)
        .input(x)
        .shape({4})
        .dtype(DType::boolean)
        .reference([y](const SampleValues&) { return SampleValues{y}; });
  };
  add("IsNaN", DType::f8e4m3fn, {0x7F, 0x7E, 0x38, 0x80}, {1, 0, 0, 0});
  add("IsNaN", DType::f8e4m3fnuz, {0x80, 0x7F, 0x40, 0x00}, {1, 0, 0, 0});
  add("IsNaN", DType::f8e5m2, {0x7F, 0x7C, 0x3C, 0x80}, {1, 0, 0, 0});
  add("IsNaN", DType::f8e5m2fnuz, {0x80, 0x7F, 0x40, 0x00}, {1, 0, 0, 0});
  add("IsInf", DType::f8e4m3fn, {0x7F, 0x7E, 0x38, 0x80}, {0, 0, 0, 0});
  add("IsInf", DType::f8e4m3fnuz, {0x80, 0x7F, 0x40, 0x00}, {0, 0, 0, 0});
  add("IsInf", DType::f8e5m2, {0x7F, 0x7C, 0xFC, 0x80}, {0, 1, 1, 0});
  add("IsInf", DType::f8e5m2fnuz, {0x80, 0x7F, 0x40, 0x00}, {0, 0, 0, 0});
}

OPS_SAMPLE(Integers) {
  exact<int32_t>(samples, "Div", 14, {7, -7, 5, INT32_MIN}, {2, 2, 0, -1},
                 {3, -3, 0, double(INT32_MIN)});
  // Numbers below and above the limit of exact quotients in double.
  constexpr int64_t kEdge = INT64_C(1) << 51, kOdd = 94906265;
  exact<int64_t>(
      samples, "Div", 14,
      {kEdge - 1, -kEdge, 3 * kOdd - 1, kOdd * kOdd / 4 * 4 - 1, INT64_MIN, INT64_MIN, 9},
      {kEdge - 2, -1, kOdd, -(kOdd * kOdd / 4), -1, 2, 0},
      {1, double(kEdge), 2, -3, double(INT64_MIN), double(INT64_MIN / 2), 0});
  exact<int32_t>(samples, "Mod", 13, {7, -7, 7, 5}, {3, 3, -3, 0}, {1, 2, -2, 0});
  exact<float>(samples, "Mod", 13, {7, -7, 7, -7, -5.5f}, {3, 3, -3, -3, 2}, {1, -1, 1, -1, -1.5},
               false, "fmod", int64_t{1});
  exact<int64_t>(samples, "Mod", 13, {7, -7, 7}, {3, 3, -3}, {1, -1, 1}, false, "fmod", int64_t{1});
  exact<int64_t>(samples, "Add", 14, {INT64_C(1) << 60, 1}, {1, 2},
                 {double((INT64_C(1) << 60) + 1), 3});
  exact<uint8_t>(samples, "Sub", 14, {3, 5}, {5, 3}, {254, 2});
  exact<int32_t>(samples, "Pow", 15, {2, -3, 2}, {10, 3, -1}, {1024, -27, 0});
  exact<int64_t>(samples, "Equal", 13, {1, 2, 3}, {1, 5, 3}, {1, 0, 1}, true);
  exact<int8_t>(samples, "Max", 13, {1, -2}, {-5, 7}, {1, 7});
  exact<int16_t>(samples, "Neg", 13, {1, -2}, {}, {-1, 2});
  exact<uint32_t>(samples, "BitShift", 11, {16, 4, 1}, {1, 2, 40}, {8, 1, 0}, false, "direction",
                  std::string("RIGHT"));
  exact<uint8_t>(samples, "BitShift", 11, {16, 4, 255}, {1, 2, 4}, {32, 16, 240}, false,
                 "direction", std::string("LEFT"));
  exact<int32_t>(samples, "BitwiseAnd", 18, {6, -1}, {3, 5}, {2, 5});
  exact<int32_t>(samples, "BitwiseOr", 18, {6, 8}, {3, 5}, {7, 13});
  exact<int32_t>(samples, "BitwiseXor", 18, {6, 8}, {3, 5}, {5, 13});
  exact<uint8_t>(samples, "BitwiseNot", 18, {6, 255}, {}, {249, 0});
  exact<bool>(samples, "And", 7, {true, true, false}, {true, false, false}, {1, 0, 0}, true);
  exact<bool>(samples, "Or", 7, {true, true, false}, {true, false, false}, {1, 1, 0}, true);
  exact<bool>(samples, "Xor", 7, {true, true, false}, {true, false, false}, {0, 1, 0}, true);
  exact<bool>(samples, "Not", 1, {true, false, false}, {}, {0, 1, 1}, true);
  const float inf = std::numeric_limits<float>::infinity();
  exact<float>(samples, "IsNaN", 13, {1, NAN, inf}, {}, {0, 1, 0}, true);
  exact<float>(samples, "IsInf", 10, {1, NAN, inf, -inf}, {}, {0, 0, 1, 1}, true);
  exact<double>(samples, "IsInf", 10, {1.0, NAN, inf, -inf}, {}, {0, 0, 1, 0}, true,
                "detect_negative", int64_t{0});
}

OPS_SAMPLE(Mixed) {
  samples.add("PRelu", 16)
      .input(random_f32({2, 3, 4}, -1, 1))
      .input(random_f32({3, 1}, 0, 1, 4))
      .shape({2, 3, 4})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 24; i++)
          y.push_back(in[0][i] < 0 ? in[0][i] * in[1][i / 4 % 3] : in[0][i]);
        return SampleValues{y};
      });
  const auto clip = [](const SampleValues& in) {
    return SampleValues{map(in[0], [](double x) { return std::fmax(-0.5, std::fmin(0.25, x)); })};
  };
  samples.add("Clip", 6)
      .input(random_f32({33}))
      .attr("min", -0.5f)
      .attr("max", 0.25f)
      .shape({33})
      .reference(clip);
  samples.add("Clip", 13)
      .input(random_f32({33}))
      .input(Tensor::scalar(-0.5f))
      .constant_input(Tensor::scalar(0.25f))
      .shape({33})
      .reference(clip);
  samples.add("Clip", 13)
      .input(random_f32({33}))
      .omit()
      .input(Tensor::scalar(0.25f))
      .shape({33})
      .reference([](const SampleValues& in) {
        return SampleValues{map(in[0], [](double x) { return std::fmin(0.25, x); })};
      });
  samples.add("Where", 16)
      .input(Tensor::of<bool>({2, 1}, {true, false}))
      .input(random_f32({3}, -1, 1, 5))
      .input(random_f32({2, 3}, -1, 1, 6))
      .shape({2, 3})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 6; i++) y.push_back(in[0][i / 3] != 0 ? in[1][i % 3] : in[2][i]);
        return SampleValues{y};
      });
  samples.add("Where", 16)
      .input(Tensor::of<bool>({3}, {true, false, true}))
      .input(Tensor::of<int64_t>({3}, {1, 2, 3}))
      .input(Tensor::of<int64_t>({1}, {9}))
      .shape({3})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{1, 9, 3}}; });
  samples.add("Dropout", 13)
      .input(random_f32({5}))
      .shape({5})
      .reference([](const SampleValues& in) { return SampleValues{in[0]}; });
  samples.add("Dropout", 13)
      .input(random_f32({5}))
      .shape({5})
      .shape({5})
      .dtype(DType::f32)
      .dtype(DType::boolean)
      .reference([](const SampleValues& in) { return SampleValues{in[0], {1, 1, 1, 1, 1}}; });
  samples.add("CastLike", 15)
      .input(Tensor::of<float>({3}, {1.5f, -2.5f, 3}))
      .input(Tensor::of<int64_t>({1}, {0}))
      .shape({3})
      .dtype(DType::s64)
      .reference([](const SampleValues&) { return SampleValues{{1, -2, 3}}; });
  // ONNX numbers: float16 10, int32 6, bool 9, uint8 2, float8e4m3fn 17.
  const auto cast = [&](int64_t to, DType type, std::vector<double> y) {
    samples.add("Cast", 19)
        .input(Tensor::of<float>({4}, {1.75f, -2.5f, 0, 300}))
        .attr("to", to)
        .shape({4})
        .dtype(type)
        .tolerance(0, 0)
        .reference([y](const SampleValues&) { return SampleValues{y}; });
  };
  cast(10, DType::f16, {1.75, -2.5, 0, 300});
  cast(6, DType::s32, {1, -2, 0, 300});
  cast(9, DType::boolean, {1, 1, 0, 1});
  cast(2, DType::u8, {1, 254, 0, 44});
  cast(17, DType::f8e4m3fn, {1.75, -2.5, 0, 288});
}

OPS_SAMPLE(Elementwise) {
  // (x + b) * 2 in f32 and x > 0 as bool, b broadcast.
  ElementwiseProgram p;
  const auto x = p.add_input(), b = p.add_input();
  p.add_output(p.step(ElementwiseOp::mul, p.step(ElementwiseOp::add, x, b), p.constant(2)),
               DType::f32);
  p.add_output(p.step(ElementwiseOp::greater, x, p.constant(0)), DType::boolean);
  samples.add("Elementwise", 1, "poprt")
      .input(random_f32({7, 300}))
      .input(random_f32({300}, -1, 1, 2))
      .attr("program", kernels::calls::encode(p.call()).ints)
      .attr("constants", p.constants)
      .attr("dtypes", std::vector<int64_t>{static_cast<int64_t>(DType::f32),
                                           static_cast<int64_t>(DType::boolean)})
      .shape({7, 300})
      .shape({7, 300})
      .dtype(DType::f32)
      .dtype(DType::boolean)
      .reference([](const SampleValues& in) {
        SampleValues y(2);
        for (size_t i = 0; i < in[0].size(); i++) {
          y[0].push_back((in[0][i] + in[1][i % 300]) * 2);
          y[1].push_back(in[0][i] > 0);
        }
        return y;
      });
}

Tensor evaluate_one(const Sample& s) {
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  return evaluate(*g.node, s.inputs)[0];
}

TEST(Elementwise, LegacyAxisPlacesTheSecondOperand) {
  SampleList list;
  const Sample& s = list.add("Add", 6)
                        .input(random_f32({2, 3, 4}))
                        .input(random_f32({3}, -1, 1, 9))
                        .attr("broadcast", int64_t{1})
                        .attr("axis", int64_t{1});
  const auto y = evaluate_one(s).to_doubles();
  const auto a = s.inputs[0].to_doubles(), b = s.inputs[1].to_doubles();
  for (size_t i = 0; i < 24; i++) EXPECT_NEAR(y[i], a[i] + b[i / 4 % 3], 1e-6);
}

TEST(Elementwise, ManyOperandsAreSummedInPieces) {
  for (const char* op : {"Sum", "Mean"}) {
    SampleList list;
    Sample& s = list.add(op, 13);
    for (uint32_t i = 0; i < 40; i++) s.input(random_f32({5, 7}, -1, 1, i));
    const auto y = evaluate_one(s).to_doubles();
    for (size_t k = 0; k < 35; k++) {
      double sum = 0;
      for (const Tensor& t : s.inputs) sum += t.to_doubles()[k];
      EXPECT_NEAR(y[k], std::string(op) == "Mean" ? sum / 40 : sum, 1e-5);
    }
  }
}

TEST(Elementwise, NaNWinsInMinAndMax) {
  for (const char* op : {"Min", "Max"}) {
    SampleList list;
    const Sample& s = list.add(op, 13)
                          .input(Tensor::of<float>({2}, {NAN, 1}))
                          .input(Tensor::of<float>({2}, {1, NAN}));
    for (const double y : evaluate_one(s).to_doubles()) EXPECT_TRUE(std::isnan(y));
  }
}

TEST(Elementwise, BroadcastsAcrossManyDimensions) {
  SampleList list;
  const Sample& s =
      list.add("Mul", 14).input(random_f32({5, 1, 6, 1, 40})).input(random_f32({4, 1, 7, 1}));
  const auto y = evaluate_one(s).to_doubles();
  const auto a = s.inputs[0].to_doubles(), b = s.inputs[1].to_doubles();
  size_t at = 0;
  for (size_t i = 0; i < 5; i++)
    for (size_t j = 0; j < 4; j++)
      for (size_t k = 0; k < 6; k++)
        for (size_t l = 0; l < 7; l++)
          for (size_t m = 0; m < 40; m++, at++)
            ASSERT_NEAR(y[at], a[(i * 6 + k) * 40 + m] * b[j * 7 + l], 1e-6);
}

TEST(Elementwise, MixedTypesAreRefused) {
  SampleList list;
  const Sample& s =
      list.add("Add", 14).input(random_f32({2})).input(Tensor::of<int64_t>({2}, {1, 2}));
  const SampleGraph g = make_graph(s);
  EXPECT_THROW(infer(*g.node), Error);
}

TEST(Elementwise, MalformedProgramsAreRefused) {
  SampleList list;
  for (const std::vector<int64_t>& program : {std::vector<int64_t>{},
                                              {1, 1, 1, 9999, 0, 0, 0, 16},
                                              {1, 1, 1, 6, 5, 0, 0, 16},
                                              {1, 1, 1, 6, 16, 0, 0, 16},
                                              {1, 1, 1, 6, 0, 0, 0, 17},
                                              {1, 1 << 30, 1}}) {
    const Sample& s = list.add("Elementwise", 1, "poprt")
                          .input(random_f32({2}))
                          .attr("program", program)
                          .attr("dtypes", std::vector<int64_t>{1});
    const SampleGraph g = make_graph(s);
    EXPECT_THROW(infer(*g.node), Error);
  }
}

}  // namespace
}  // namespace poprt::ops::sampled

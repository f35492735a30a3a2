// Compares every operation of kernel `elementwise_generic`, on the limits of every type, with
// integers that are wide enough not to wrap and with the definitions in double.
#include "kernels/calls/elementwise_generic.h"

#include <cmath>
#include <functional>
#include <limits>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

using Op = ElementwiseOp;
__extension__ using Wide = __int128;

// y[i, j, k] of a[i], b[j] and c[k].
template <class T, class Y>
std::vector<Y> results(Op op, const std::vector<T>& a, const std::vector<T>& b,
                       const std::vector<T>& c) {
  const int arity = elementwise_arity(op);
  const auto size = [](const auto& v) { return static_cast<int64_t>(v.size()); };
  std::vector<Tensor> operands = {Tensor::of<T>({size(a), 1, 1}, std::span<const T>(a))};
  if (arity > 1) operands.push_back(Tensor::of<T>({size(b), 1}, std::span<const T>(b)));
  if (arity > 2) operands.push_back(Tensor::of<T>({size(c)}, std::span<const T>(c)));
  const Shape shape = {size(a), arity > 1 ? size(b) : 1, arity > 2 ? size(c) : 1};
  operands.push_back(Tensor::zeros(dtype_of<Y>(), shape));
  test::run_call(calls::ElementwiseGeneric{op}, operands);
  const auto y = operands.back().template values<Y>();
  return {y.begin(), y.end()};
}

// The value of T that `v` wraps to.
template <class T>
T wrapped(Wide v) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(v));
}

// Multiplies modulo 2^128, because the square of the greatest u64 does not fit.
Wide product(Wide a, Wide b) {
  __extension__ using Bits = unsigned __int128;
  return static_cast<Wide>(static_cast<Bits>(a) * static_cast<Bits>(b));
}

// Returns a to the power of b, from the highest bit of b on.
template <class T>
T power(T a, T b) {
  if (b < 0) return a == 1 ? 1 : static_cast<Wide>(a) == -1 ? (b % 2 ? a : T(1)) : T(0);
  T y = 1;
  for (int bit = 63; bit >= 0; bit--) {
    y = wrapped<T>(product(y, y));
    if (static_cast<uint64_t>(b) >> bit & 1) y = wrapped<T>(product(y, a));
  }
  return y;
}

template <class T>
T wanted2(Op op, T x, T y) {
  const Wide a = x, b = y;
  const bool shifts = b >= 0 && b < static_cast<Wide>(sizeof(T) * 8);
  const Wide remainder = b == 0 ? 0 : a % b;
  switch (op) {
    case Op::add: return wrapped<T>(a + b);
    case Op::sub: return wrapped<T>(a - b);
    case Op::mul: return wrapped<T>(product(a, b));
    case Op::div: return b == 0 ? T(0) : wrapped<T>(a / b);
    case Op::pow: return power(x, y);
    case Op::fmod: return wrapped<T>(remainder);
    case Op::mod:
      return wrapped<T>(remainder && (remainder < 0) != (b < 0) ? remainder + b : remainder);
    case Op::min: return a < b ? x : y;
    case Op::max: return a < b ? y : x;
    case Op::prelu: return a < 0 ? wrapped<T>(a * b) : x;
    case Op::bit_and: return wrapped<T>(a & b);
    case Op::bit_or: return wrapped<T>(a | b);
    case Op::bit_xor: return wrapped<T>(a ^ b);
    case Op::shift_left: return shifts ? wrapped<T>(a << static_cast<int>(b)) : T(0);
    case Op::shift_right:
      return shifts ? wrapped<T>(a >> static_cast<int>(b)) : static_cast<T>(a < 0 ? -1 : 0);
    default: ADD_FAILURE(); return 0;
  }
}

template <class T>
T wanted1(Op op, T x) {
  const Wide a = x;
  switch (op) {
    case Op::copy: return x;
    case Op::neg: return wrapped<T>(-a);
    case Op::abs: return wrapped<T>(a < 0 ? -a : a);
    case Op::sign: return a < 0 ? T(-1) : a > 0 ? T(1) : T(0);
    case Op::relu: return a < 0 ? T(0) : x;
    case Op::square: return wrapped<T>(product(a, a));
    case Op::cube: return wrapped<T>(product(wrapped<T>(product(a, a)), a));
    case Op::bit_not: return wrapped<T>(~a);
    default: ADD_FAILURE(); return 0;
  }
}

// Small numbers, numbers around half and the end of the range, around the width of the type, and
// around the largest integers that are exact in double.
template <class T>
std::vector<T> limits() {
  constexpr Wide kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  constexpr Wide kBits = sizeof(T) * 8, kHalf = Wide{1} << 51, kExact = Wide{1} << 53;
  std::vector<T> list;
  for (const Wide v :
       {kLeast,  kLeast + 1, kMost,         kMost - 1, kMost / 2,  Wide{0},    Wide{1},
        Wide{2}, Wide{3},    Wide{10},      kBits - 1, kBits,      kBits + 1,  kHalf - 1,
        kHalf,   kHalf + 1,  2 * kHalf - 1, 2 * kHalf, kExact + 1, Wide{46341}})
    for (const Wide s : {v, -v})
      if (s >= kLeast && s <= kMost && std::ranges::find(list, static_cast<T>(s)) == list.end())
        list.push_back(static_cast<T>(s));
  return list;
}

template <class T>
void check_integers() {
  const std::vector<T> values = limits<T>();
  const size_t n = values.size();
  for (const Op op :
       {Op::copy, Op::neg, Op::abs, Op::sign, Op::relu, Op::square, Op::cube, Op::bit_not}) {
    const auto got = results<T, T>(op, values, {}, {});
    for (size_t i = 0; i < n; i++)
      ASSERT_EQ(got[i], wanted1(op, values[i]))
          << "operation " << static_cast<int>(op) << " of " << +values[i];
  }
  for (const Op op :
       {Op::add, Op::sub, Op::mul, Op::div, Op::pow, Op::mod, Op::fmod, Op::min, Op::max, Op::prelu,
        Op::bit_and, Op::bit_or, Op::bit_xor, Op::shift_left, Op::shift_right}) {
    const auto got = results<T, T>(op, values, values, {});
    for (size_t i = 0; i < n * n; i++)
      ASSERT_EQ(got[i], wanted2(op, values[i / n], values[i % n]))
          << "operation " << static_cast<int>(op) << " of " << +values[i / n] << " and "
          << +values[i % n];
  }
  const std::pair<Op, std::function<bool(T, T)>> truths[] = {
      {Op::logical_and, [](T a, T b) { return a && b; }},
      {Op::logical_or, [](T a, T b) { return a || b; }},
      {Op::logical_xor, [](T a, T b) { return !a != !b; }},
      {Op::equal, std::equal_to<T>()},
      {Op::greater, std::greater<T>()},
      {Op::less, std::less<T>()},
      {Op::greater_equal, std::greater_equal<T>()},
      {Op::less_equal, std::less_equal<T>()}};
  for (const auto& [op, holds] : truths) {
    const auto got = results<T, bool>(op, values, values, {});
    for (size_t i = 0; i < n * n; i++)
      ASSERT_EQ(got[i], holds(values[i / n], values[i % n]))
          << "operation " << static_cast<int>(op) << " of " << +values[i / n] << " and "
          << +values[i % n];
  }
  const auto is_zero = results<T, bool>(Op::logical_not, values, {}, {}),
             is_something = results<T, bool>(Op::to_bool, values, {}, {});
  for (size_t i = 0; i < n; i++) {
    ASSERT_EQ(is_zero[i], values[i] == 0);
    ASSERT_EQ(is_something[i], values[i] != 0);
  }
  const auto clipped = results<T, T>(Op::clip, values, values, values);
  for (size_t i = 0; i < clipped.size(); i++)
    ASSERT_EQ(clipped[i], std::min(std::max(values[i / n / n], values[i / n % n]), values[i % n]));
}

TEST(ElementwiseGeneric, IntegersAtTheirLimits) {
  check_integers<int8_t>();
  check_integers<uint8_t>();
  check_integers<int16_t>();
  check_integers<uint16_t>();
  check_integers<int32_t>();
  check_integers<uint32_t>();
  check_integers<int64_t>();
  check_integers<uint64_t>();
}

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

void expect_same(double got, double want, double tolerance, const std::string& what) {
  if (std::isnan(want) || std::isinf(want) || tolerance == 0)
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << what << ": " << got;
  else
    ASSERT_NEAR(got, want, tolerance * (1 + std::fabs(want))) << what;
}

TEST(ElementwiseGeneric, DoublesAreComputedAsDefined) {
  const std::vector<double> x = {kNan, -kInf, -700, -3.5, -1, -0.5, -0.25, 0,
                                 1e-9, 0.5,   1,    2.5,  30, 700,  kInf};
  const std::pair<Op, std::function<double(double)>> unary[] = {
      {Op::neg, [](double v) { return 0 - v; }},
      {Op::abs, [](double v) { return v < 0 ? -v : v; }},
      {Op::sign, [](double v) { return std::isnan(v) ? v : (v > 0) - (v < 0); }},
      {Op::reciprocal, [](double v) { return std::pow(v, -1); }},
      {Op::sqrt, [](double v) { return v < 0 ? kNan : std::pow(v, 0.5); }},
      {Op::exp, [](double v) { return std::pow(std::exp(1.0), v); }},
      {Op::log, [](double v) { return std::log2(v) * std::log(2.0); }},
      {Op::erf, [](double v) { return 1 - std::erfc(v); }},
      {Op::tanh, [](double v) { return 1 - 2 / (std::exp(2 * v) + 1); }},
      {Op::sigmoid, [](double v) { return (1 + std::tanh(v / 2)) / 2; }},
      {Op::relu, [](double v) { return v < 0 ? 0 : v; }},
      {Op::softplus, [](double v) { return v > 30 ? v : std::log(1 + std::exp(v)); }},
      {Op::softsign, [](double v) { return v / (1 + (v < 0 ? -v : v)); }},
      {Op::hard_swish, [](double v) { return v * std::max(0.0, std::min(1.0, (v + 3) / 6)); }},
      {Op::mish, [](double v) { return v * std::tanh(v > 30 ? v : std::log(1 + std::exp(v))); }},
      {Op::gelu_erf, [](double v) { return v * (1 + std::erf(v / std::sqrt(2.0))) / 2; }},
      {Op::gelu_tanh,
       [](double v) {
         const double inner = std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * std::pow(v, 3));
         return v * (1 + std::tanh(inner)) / 2;
       }},
      {Op::square, [](double v) { return std::pow(v, 2); }},
      {Op::cube, [](double v) { return std::pow(v, 3); }},
      {Op::ceil, [](double v) { return -std::floor(-v); }},
      {Op::floor, [](double v) { return -std::ceil(-v); }},
      {Op::round,
       [](double v) {
         return v == 2.5 ? 2 : v == -3.5 ? -4 : v == 0.5 || v == -0.5 ? 0 : std::round(v);
       }},
      {Op::sin, [](double v) { return std::sin(v); }},
      {Op::cos, [](double v) { return std::cos(v); }},
      {Op::tan, [](double v) { return std::sin(v) / std::cos(v); }},
      {Op::asin, [](double v) { return std::acos(0.0) - std::acos(v); }},
      {Op::acos, [](double v) { return std::acos(0.0) - std::asin(v); }},
      {Op::atan, [](double v) { return std::atan2(v, 1); }},
      {Op::sinh, [](double v) { return (std::exp(v) - std::exp(-v)) / 2; }},
      {Op::cosh, [](double v) { return (std::exp(v) + std::exp(-v)) / 2; }},
      {Op::asinh, [](double v) { return std::asinh(v); }},
      {Op::acosh, [](double v) { return v < 1 ? kNan : std::acosh(v); }},
      {Op::atanh, [](double v) { return std::fabs(v) > 1 ? kNan : std::atanh(v); }}};
  for (const auto& [op, f] : unary) {
    const auto got = results<double, double>(op, x, {}, {});
    for (size_t i = 0; i < x.size(); i++) {
      // The definition has no value if it multiplies or divides infinities.
      const double want = f(x[i]);
      if (std::isnan(want) && !std::isnan(x[i]) && std::isinf(x[i])) continue;
      expect_same(got[i], want, 1e-7,
                  fmt::format("operation {} of {}", static_cast<int>(op), x[i]));
    }
  }
  const std::pair<Op, std::function<double(double, double)>> binary[] = {
      {Op::add, std::plus<double>()},
      {Op::sub, std::minus<double>()},
      {Op::mul, std::multiplies<double>()},
      {Op::div, std::divides<double>()},
      {Op::pow, [](double a, double b) { return std::pow(a, b); }},
      {Op::fmod, [](double a, double b) { return std::fmod(a, b); }},
      {Op::min,
       [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNan : std::fmin(a, b); }},
      {Op::max,
       [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNan : std::fmax(a, b); }},
      {Op::prelu, [](double a, double b) { return a < 0 ? a * b : a; }},
      {Op::elu, [](double a, double b) { return a < 0 ? b * std::expm1(a) : a; }},
      {Op::celu, [](double a, double b) { return a < 0 ? b * std::expm1(a / b) : a; }},
      {Op::thresholded, [](double a, double b) { return a > b ? a : 0; }},
      {Op::silu, [](double a, double b) { return a / (1 + std::exp(-a * b)); }}};
  for (const auto& [op, f] : binary) {
    const auto got = results<double, double>(op, x, x, {});
    for (size_t i = 0; i < got.size(); i++) {
      const double a = x[i / x.size()], b = x[i % x.size()];
      expect_same(got[i], f(a, b), 1e-12,
                  fmt::format("operation {} of {} and {}", static_cast<int>(op), a, b));
    }
  }
  const auto mod = results<double, double>(Op::mod, {-7.5, -6, 0, 6, 7.5}, {-2, 2}, {});
  EXPECT_EQ(mod, (std::vector<double>{-1.5, 0.5, 0, 0, 0, 0, 0, 0, -0.5, 1.5}));
}

TEST(ElementwiseGeneric, DoublesOfThreeOperands) {
  const std::vector<double> x = {-kInf, -2, -0.5, 0, 0.5, 3, kInf};
  const std::pair<Op, std::function<double(double, double, double)>> ternary[] = {
      {Op::clip, [](double a, double b, double c) { return std::min(std::max(a, b), c); }},
      {Op::hard_sigmoid,
       [](double a, double b, double c) { return std::max(0.0, std::min(1.0, a * b + c)); }},
      {Op::selu, [](double a, double b, double c) { return c * (a > 0 ? a : b * std::expm1(a)); }}};
  for (const auto& [op, f] : ternary) {
    const auto got = results<double, double>(op, x, x, x);
    const size_t n = x.size();
    for (size_t i = 0; i < got.size(); i++) {
      const double a = x[i / n / n], b = x[i / n % n], c = x[i % n];
      const double sum = a * b + c;
      if (op == Op::hard_sigmoid && std::isnan(sum)) continue;
      if (std::isnan(f(a, b, c))) continue;
      expect_same(got[i], f(a, b, c), 1e-12,
                  fmt::format("operation {} of {}, {} and {}", static_cast<int>(op), a, b, c));
    }
  }
  const std::vector<double> flags = {0, 1};
  EXPECT_EQ((results<double, bool>(Op::is_inf, {-kInf, kInf, 1, kNan}, flags, flags)),
            (std::vector<bool>{false, false, true, true, false, true, false, true, false, false,
                               false, false, false, false, false, false}));
  EXPECT_EQ((results<double, bool>(Op::is_nan, {kNan, kInf, 0}, {}, {})),
            (std::vector<bool>{true, false, false}));
}

// `where` moves the bits of any type. Other operations refuse types that they do not have.
TEST(ElementwiseGeneric, ChoicesOfEveryTypeAndRefusals) {
  for (const DType type :
       {DType::f16, DType::bf16, DType::f32, DType::f64, DType::u8, DType::s64}) {
    std::mt19937 rng(3);
    const Tensor choice = test::random_numbers(DType::boolean, {70, 1}, rng),
                 yes = test::random_numbers(type, {1, 90}, rng),
                 no = test::random_numbers(type, {70, 90}, rng);
    std::vector<Tensor> operands = {choice, yes, no, Tensor::zeros(type, {70, 90})};
    test::run_call(calls::ElementwiseGeneric{Op::where}, operands);
    const auto a = yes.to_doubles(), b = no.to_doubles(), got = operands[3].to_doubles();
    for (size_t i = 0; i < got.size(); i++)
      ASSERT_EQ(got[i], choice.values<bool>()[i / 90] ? a[i % 90] : b[i]) << dtype_name(type);
  }
  const auto takes = [](Op op, DType type, DType result, DType second = DType::undefined) {
    std::vector<Tensor> operands = {Tensor::zeros(type, {2})};
    for (int i = 1; i < elementwise_arity(op); i++)
      operands.push_back(Tensor::zeros(second == DType::undefined ? type : second, {2}));
    operands.push_back(Tensor::zeros(result, {2}));
    try {
      test::prepare_call(calls::ElementwiseGeneric{op}, operands);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_TRUE(takes(Op::add, DType::s32, DType::s32));
  EXPECT_FALSE(takes(Op::add, DType::s32, DType::s64));
  EXPECT_FALSE(takes(Op::add, DType::s32, DType::s32, DType::u32));
  EXPECT_TRUE(takes(Op::less, DType::s32, DType::boolean));
  EXPECT_FALSE(takes(Op::less, DType::s32, DType::s32));
  EXPECT_FALSE(takes(Op::exp, DType::s32, DType::s32));
  EXPECT_FALSE(takes(Op::bit_and, DType::f64, DType::f64));
  EXPECT_TRUE(takes(Op::where, DType::boolean, DType::f16, DType::f16));
  EXPECT_FALSE(takes(Op::where, DType::u8, DType::f16, DType::f16));
  EXPECT_FALSE(takes(Op::mul_add, DType::f64, DType::f64));
}

}  // namespace
}  // namespace poprt::kernels

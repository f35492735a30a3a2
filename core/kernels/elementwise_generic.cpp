// elementwise_generic (calls/elementwise_generic.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/calls/elementwise_generic.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/elementwise.h"
#include "kernels/isa/integer_rows.h"
#include "kernels/kernel.h"

namespace poprt::kernels::elementwise_generic_kernel {
namespace {

using Op = ElementwiseOp;
constexpr int64_t kTaskElements = 4096;

// Computes n results; operand i advances by step[i] elements (0 or 1).
using RowFn = void (*)(void* out, const void* const* from, const int64_t* step, int64_t n) noexcept;

struct Params {
  Broadcast walk;
  RowFn row = nullptr;
  size_t operands = 0;
  size_t element_bytes[3] = {};
  size_t out_bytes = 0;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t last = std::min(end * kTaskElements, p.walk.count);
  int64_t step[3] = {};
  for (size_t i = 0; i < p.operands; i++) step[i] = p.walk.strides[i].back();
  if (begin * kTaskElements >= last) return;
  for_each_run<3>(
      p.walk, p.operands, begin * kTaskElements, last,
      [&](const int64_t* offsets, int64_t e, int64_t n) {
        const void* from[3] = {};
        for (size_t i = 0; i < p.operands; i++)
          from[i] = static_cast<const std::byte*>(data[i]) +
                    offsets[i] * static_cast<int64_t>(p.element_bytes[i]);
        p.row(static_cast<std::byte*>(data[p.operands]) + static_cast<size_t>(e) * p.out_bytes,
              from, step, n);
      });
}

// Integer arithmetic wraps. It is done in an unsigned type of at least 32 bits, so that nothing is
// promoted to a signed type.
template <class T>
struct WrapOf {
  using type = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
};

template <class T>
T int_pow(T base, T exponent) {
  using W = typename WrapOf<T>::type;
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>)
      if (base == -1) return exponent % 2 ? T(-1) : T(1);
    return 0;
  }
  W result = 1, b = static_cast<W>(base);
  for (auto e = static_cast<W>(exponent); e; e >>= 1) {
    if (e & 1) result *= b;
    b *= b;
  }
  return static_cast<T>(result);
}

template <class T>
T divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    using W = typename WrapOf<T>::type;
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return static_cast<T>(W{0} - static_cast<W>(a));
    if constexpr (sizeof(T) == 8) {
      // Below this limit, the truncated quotient of doubles, whose division is several times as
      // fast, is the right one: different quotients of such numbers are further apart than the
      // rounding error.
      constexpr W kLimit = W{1} << 51;
      const W shift = std::is_signed_v<T> ? kLimit : 0;
      if (static_cast<W>(a) + shift < 2 * kLimit && static_cast<W>(b) + shift < 2 * kLimit)
        return static_cast<T>(static_cast<double>(a) / static_cast<double>(b));
    }
    return static_cast<T>(a / b);
  }
}

template <class T>
T remainder_c(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
}

template <class T>
T remainder_python(T a, T b) {
  const T r = remainder_c(a, b);
  if constexpr (std::is_floating_point_v<T>)
    if (r == 0) return std::copysign(r, b);
  if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>)
    return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  return r;
}

template <class T>
bool is_nan_number(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

template <class T, Op op>
T value1(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::neg: return -x;
      case Op::abs: return std::fabs(x);
      case Op::reciprocal: return 1 / x;
      case Op::sqrt: return std::sqrt(x);
      case Op::exp: return std::exp(x);
      case Op::log: return std::log(x);
      case Op::erf: return std::erf(x);
      case Op::tanh: return std::tanh(x);
      case Op::sigmoid: return 1 / (1 + std::exp(-x));
      case Op::softplus: return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
      case Op::softsign: return x / (1 + std::fabs(x));
      case Op::hard_swish: return x * std::clamp<T>(x / 6 + T(0.5), 0, 1);
      case Op::mish: return x * std::tanh(value1<T, Op::softplus>(x));
      case Op::gelu_erf: return x / 2 * (1 + std::erf(x * T(0.70710678118654752440)));
      case Op::gelu_tanh:
        return x / 2 * (1 + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
      case Op::ceil: return std::ceil(x);
      case Op::floor: return std::floor(x);
      case Op::round: return std::nearbyint(x);
      case Op::sin: return std::sin(x);
      case Op::cos: return std::cos(x);
      case Op::tan: return std::tan(x);
      case Op::asin: return std::asin(x);
      case Op::acos: return std::acos(x);
      case Op::atan: return std::atan(x);
      case Op::sinh: return std::sinh(x);
      case Op::cosh: return std::cosh(x);
      case Op::asinh: return std::asinh(x);
      case Op::acosh: return std::acosh(x);
      case Op::atanh: return std::atanh(x);
      default: break;
    }
  } else {
    using W = typename WrapOf<T>::type;
    switch (op) {
      case Op::neg: return static_cast<T>(W{0} - static_cast<W>(x));
      case Op::abs: return x < 0 ? static_cast<T>(W{0} - static_cast<W>(x)) : x;
      case Op::bit_not: return static_cast<T>(~static_cast<W>(x));
      default: break;
    }
  }
  using M = std::conditional_t<std::is_floating_point_v<T>, T,
                               typename std::conditional_t<std::is_floating_point_v<T>,
                                                           std::type_identity<T>, WrapOf<T>>::type>;
  switch (op) {
    case Op::sign: return is_nan_number(x) ? x : static_cast<T>((x > 0) - (x < 0));
    case Op::relu: return x < 0 ? T(0) : x;
    case Op::square: return static_cast<T>(static_cast<M>(x) * static_cast<M>(x));
    case Op::cube: return static_cast<T>(static_cast<M>(x) * static_cast<M>(x) * static_cast<M>(x));
    default: return x;
  }
}

template <class T, Op op>
T value2(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::add: return x + y;
      case Op::sub: return x - y;
      case Op::mul: return x * y;
      case Op::pow: return std::pow(x, y);
      case Op::prelu: return x < 0 ? x * y : x;
      case Op::elu: return x < 0 ? y * std::expm1(x) : x;
      case Op::celu: return x < 0 ? y * std::expm1(x / y) : x;
      case Op::thresholded: return x > y ? x : T(0);
      case Op::silu: return x / (1 + std::exp(-x * y));
      default: break;
    }
  } else {
    using W = typename WrapOf<T>::type;
    constexpr T width = sizeof(T) * 8;
    const W a = static_cast<W>(x), b = static_cast<W>(y);
    switch (op) {
      case Op::add: return static_cast<T>(a + b);
      case Op::sub: return static_cast<T>(a - b);
      case Op::mul: return static_cast<T>(a * b);
      case Op::pow: return int_pow(x, y);
      case Op::prelu: return x < 0 ? static_cast<T>(a * b) : x;
      case Op::bit_and: return static_cast<T>(a & b);
      case Op::bit_or: return static_cast<T>(a | b);
      case Op::bit_xor: return static_cast<T>(a ^ b);
      case Op::shift_left: return y < 0 || y >= width ? T(0) : static_cast<T>(a << b);
      case Op::shift_right: {
        // The bits of the sign remain if the amount is not less than the width (ONNX opset 28).
        const bool all = y < 0 || y >= width;
        return all ? static_cast<T>(x < 0 ? -1 : 0) : static_cast<T>(x >> b);
      }
      default: break;
    }
  }
  switch (op) {
    case Op::div: return divide(x, y);
    case Op::mod: return remainder_python(x, y);
    case Op::fmod: return remainder_c(x, y);
    case Op::min: return x < y || is_nan_number(x) ? x : y;
    default: return x > y || is_nan_number(x) ? x : y;  // max
  }
}

template <class T, Op op>
bool truth2(T x, T y) {
  switch (op) {
    case Op::logical_and: return x != 0 && y != 0;
    case Op::logical_or: return x != 0 || y != 0;
    case Op::logical_xor: return (x != 0) != (y != 0);
    case Op::equal: return x == y;
    case Op::greater: return x > y;
    case Op::less: return x < y;
    case Op::greater_equal: return x >= y;
    default: return x <= y;
  }
}

template <class T, Op op>
void row(void* out, const void* const* from, const int64_t* step, int64_t n) noexcept {
  const auto* a = static_cast<const T*>(from[0]);
  const auto* b = static_cast<const T*>(from[1]);
  const auto* c = static_cast<const T*>(from[2]);
  auto* o = static_cast<T*>(out);
  auto* flags = static_cast<uint8_t*>(out);
  for (int64_t i = 0; i < n; i++) {
    if constexpr (op == Op::where) {
      o[i] = static_cast<const uint8_t*>(from[0])[i * step[0]] ? b[i * step[1]] : c[i * step[2]];
    } else if constexpr (op == Op::clip) {
      const T x = a[i * step[0]], lo = b[i * step[1]], hi = c[i * step[2]];
      const T y = lo > x ? lo : x;
      o[i] = hi < y ? hi : y;
    } else if constexpr (op == Op::hard_sigmoid) {
      o[i] = std::clamp<T>(a[i * step[0]] * b[i * step[1]] + c[i * step[2]], 0, 1);
    } else if constexpr (op == Op::selu) {
      const T x = a[i * step[0]];
      o[i] = c[i * step[2]] * (x < 0 ? b[i * step[1]] * static_cast<T>(std::expm1(x)) : x);
    } else if constexpr (op == Op::is_inf) {
      const double x = static_cast<double>(a[i * step[0]]);
      flags[i] = std::isinf(x) && (x < 0 ? b[i * step[1]] != 0 : c[i * step[2]] != 0);
    } else if constexpr (op == Op::is_nan) {
      flags[i] = is_nan_number(a[i * step[0]]);
    } else if constexpr (op == Op::logical_not) {
      flags[i] = a[i * step[0]] == 0;
    } else if constexpr (op == Op::to_bool) {
      flags[i] = a[i * step[0]] != 0;
    } else if constexpr (elementwise_gives_bool(op)) {
      flags[i] = truth2<T, op>(a[i * step[0]], b[i * step[1]]);
    } else if constexpr (elementwise_arity(static_cast<int64_t>(op)) == 2) {
      o[i] = value2<T, op>(a[i * step[0]], b[i * step[1]]);
    } else {
      o[i] = value1<T, op>(a[i * step[0]]);
    }
  }
}

// Returns null for an operation that the type does not have: f64 has no bit operations, and
// integers have no transcendental functions.
template <class T>
RowFn row_of(Op wanted) {
#define ROW(name) \
  case Op::name: return row<T, Op::name>;
  switch (wanted) {
    ROW(copy);
    ROW(neg);
    ROW(abs);
    ROW(sign);
    ROW(relu);
    ROW(square);
    ROW(cube);
    ROW(logical_not);
    ROW(to_bool);
    ROW(add);
    ROW(sub);
    ROW(mul);
    ROW(div);
    ROW(pow);
    ROW(mod);
    ROW(fmod);
    ROW(min);
    ROW(max);
    ROW(prelu);
    ROW(logical_and);
    ROW(logical_or);
    ROW(logical_xor);
    ROW(equal);
    ROW(greater);
    ROW(less);
    ROW(greater_equal);
    ROW(less_equal);
    ROW(clip);
    ROW(where);
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (wanted) {
      ROW(reciprocal);
      ROW(sqrt);
      ROW(exp);
      ROW(log);
      ROW(erf);
      ROW(tanh);
      ROW(sigmoid);
      ROW(softplus);
      ROW(softsign);
      ROW(hard_swish);
      ROW(mish);
      ROW(gelu_erf);
      ROW(gelu_tanh);
      ROW(ceil);
      ROW(floor);
      ROW(round);
      ROW(sin);
      ROW(cos);
      ROW(tan);
      ROW(asin);
      ROW(acos);
      ROW(atan);
      ROW(sinh);
      ROW(cosh);
      ROW(asinh);
      ROW(acosh);
      ROW(atanh);
      ROW(is_nan);
      ROW(is_inf);
      ROW(elu);
      ROW(celu);
      ROW(thresholded);
      ROW(silu);
      ROW(hard_sigmoid);
      ROW(selu);
      default: break;
    }
  } else {
    switch (wanted) {
      ROW(bit_not);
      ROW(bit_and);
      ROW(bit_or);
      ROW(bit_xor);
      ROW(shift_left);
      ROW(shift_right);
      default: break;
    }
  }
#undef ROW
  return nullptr;
}

// `where` and `copy` only move bit patterns, so these functions serve every type of 8, 16, 32 or 64
// bits.
RowFn moving_row(Op op, int bits) {
  switch (bits) {
    case 8: return row_of<uint8_t>(op);
    case 16: return row_of<uint16_t>(op);
    case 32: return row_of<uint32_t>(op);
    case 64: return row_of<uint64_t>(op);
    default: return nullptr;
  }
}

RowFn find_row(Op op, DType t) {
  if (op == Op::where || op == Op::copy) {
    const RowFn fast =
        POPRT_SELECT_ISA(integer_rows).find(static_cast<int64_t>(op), dtype_bits(t) / 8, false);
    return fast ? fast : moving_row(op, dtype_bits(t));
  }
  if (is_integer(t) || t == DType::boolean)
    if (const RowFn fast = POPRT_SELECT_ISA(integer_rows)
                               .find(static_cast<int64_t>(op), dtype_bits(t) / 8, is_signed(t)))
      return fast;
  switch (t) {
    case DType::f64: return row_of<double>(op);
    case DType::s8: return row_of<int8_t>(op);
    case DType::u8:
    case DType::boolean: return row_of<uint8_t>(op);
    case DType::s16: return row_of<int16_t>(op);
    case DType::u16: return row_of<uint16_t>(op);
    case DType::s32: return row_of<int32_t>(op);
    case DType::u32: return row_of<uint32_t>(op);
    case DType::s64: return row_of<int64_t>(op);
    case DType::u64: return row_of<uint64_t>(op);
    default: return nullptr;
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) {
    expect(ok, "elementwise_generic", what);
  };
  const Op op = calls::decode<calls::ElementwiseGeneric>(call).op;
  const int arity = elementwise_arity(static_cast<int64_t>(op));
  check(static_cast<int>(call.operands.size()) == arity + 1, "wrong number of operands");
  const Operand& out = call.operands.back();
  const DType t = call.operands[op == Op::where ? 1 : 0].dtype;
  auto p = std::make_shared<Params>();
  std::vector<std::span<const int64_t>> shapes;
  for (int i = 0; i < arity; i++) {
    const Operand& in = call.operands[static_cast<size_t>(i)];
    check(in.present, "an input is missing");
    check(op == Op::where && i == 0 ? in.dtype == DType::boolean : in.dtype == t,
          "operand types do not match");
    shapes.push_back(in.shape);
    p->element_bytes[i] = static_cast<size_t>(dtype_bits(in.dtype)) / 8;
  }
  check(out.present && out.dtype == (elementwise_gives_bool(op) ? DType::boolean : t),
        "the result has the wrong type");
  p->row = find_row(op, t);
  if (!p->row)
    fail(ErrorCode::unimplemented, "kernel elementwise_generic: operation {} on {}",
         static_cast<int64_t>(op), dtype_name(t));
  p->operands = static_cast<size_t>(arity);
  p->out_bytes = static_cast<size_t>(dtype_bits(out.dtype)) / 8;
  p->walk = make_broadcast("elementwise_generic", out.shape, shapes);
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, (p->walk.count + kTaskElements - 1) / kTaskElements);
  plan.work = static_cast<double>(p->walk.count) * 1.5;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"elementwise_generic", prepare};

}  // namespace poprt::kernels::elementwise_generic_kernel

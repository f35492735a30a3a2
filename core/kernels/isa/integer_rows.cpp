#include "kernels/isa/integer_rows.h"

#include "kernels/common/elementwise.h"
#include "kernels/isa/independent.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

using Op = ElementwiseOp;

// Arithmetic is unsigned and at least 32 bits wide, so that it wraps.
template <class T>
struct Wrap {
  using type = uint32_t;
};
template <>
struct Wrap<int64_t> {
  using type = uint64_t;
};
template <>
struct Wrap<uint64_t> {
  using type = uint64_t;
};

template <class T, Op op>
POPRT_INLINE T value1(T x) {
  using W = typename Wrap<T>::type;
  switch (op) {
    case Op::neg: return static_cast<T>(W{0} - static_cast<W>(x));
    case Op::abs: return x < 0 ? static_cast<T>(W{0} - static_cast<W>(x)) : x;
    case Op::sign: return static_cast<T>((x > 0) - (x < 0));
    case Op::relu: return x < 0 ? T{0} : x;
    case Op::square: return static_cast<T>(static_cast<W>(x) * static_cast<W>(x));
    default: return static_cast<T>(~static_cast<W>(x));  // bit_not
  }
}

template <class T, Op op>
POPRT_INLINE T value2(T x, T y) {
  using W = typename Wrap<T>::type;
  const W a = static_cast<W>(x), b = static_cast<W>(y);
  switch (op) {
    case Op::add: return static_cast<T>(a + b);
    case Op::sub: return static_cast<T>(a - b);
    case Op::mul: return static_cast<T>(a * b);
    case Op::bit_and: return static_cast<T>(a & b);
    case Op::bit_or: return static_cast<T>(a | b);
    case Op::bit_xor: return static_cast<T>(a ^ b);
    case Op::min: return x < y ? x : y;
    default: return x > y ? x : y;  // max
  }
}

template <class T, Op op>
POPRT_INLINE uint8_t truth(T x, T y) {
  switch (op) {
    case Op::logical_and: return (x != 0) & (y != 0);
    case Op::logical_or: return (x != 0) | (y != 0);
    case Op::logical_xor: return (x != 0) ^ (y != 0);
    case Op::equal: return x == y;
    case Op::greater: return x > y;
    case Op::less: return x < y;
    case Op::greater_equal: return x >= y;
    default: return x <= y;
  }
}

template <class T, Op op>
void row(void* out, const void* const* from, const int64_t* step, int64_t n) noexcept {
  typedef T Loose __attribute__((aligned(1), may_alias));
  const auto* a = static_cast<const Loose*>(from[0]);
  if constexpr (op == Op::logical_not || op == Op::to_bool) {
    auto* o = static_cast<uint8_t*>(out);
    const auto test = [](T x) -> uint8_t { return op == Op::to_bool ? x != 0 : x == 0; };
    if (step[0]) {
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = test(a[i]);
    } else {
      const uint8_t y = test(a[0]);
      for (int64_t i = 0; i < n; i++) o[i] = y;
    }
  } else if constexpr (elementwise_arity(static_cast<int64_t>(op)) == 1) {
    auto* o = static_cast<Loose*>(out);
    if (step[0]) {
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = value1<T, op>(a[i]);
    } else {
      const T y = value1<T, op>(a[0]);
      for (int64_t i = 0; i < n; i++) o[i] = y;
    }
  } else if constexpr (op == Op::clip) {
    const auto *b = static_cast<const Loose*>(from[1]), *c = static_cast<const Loose*>(from[2]);
    auto* o = static_cast<Loose*>(out);
    const auto clip = [](T x, T low, T high) {
      const T y = low > x ? low : x;
      return high < y ? high : y;
    };
    if (step[0] && !step[1] && !step[2]) {
      const T low = *b, high = *c;
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = clip(a[i], low, high);
    } else {
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = clip(a[i * step[0]], b[i * step[1]], c[i * step[2]]);
    }
  } else if constexpr (op == Op::where) {
    const auto* flags = static_cast<const uint8_t*>(from[0]);
    const auto *b = static_cast<const Loose*>(from[1]), *c = static_cast<const Loose*>(from[2]);
    auto* o = static_cast<Loose*>(out);
    // Both operands are read, so that the selection needs no branch.
    const auto choose = [](uint8_t flag, T x, T y) { return flag ? x : y; };
    if (step[0] && step[1] && step[2]) {
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = choose(flags[i], b[i], c[i]);
    } else if (step[0] && step[1]) {
      const T y = *c;
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = choose(flags[i], b[i], y);
    } else if (step[0] && step[2]) {
      const T x = *b;
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++) o[i] = choose(flags[i], x, c[i]);
    } else {
      POPRT_INDEPENDENT
      for (int64_t i = 0; i < n; i++)
        o[i] = choose(flags[i * step[0]], b[i * step[1]], c[i * step[2]]);
    }
  } else {
    const auto* b = static_cast<const Loose*>(from[1]);
    // An operand that is repeated is read once.
    const auto each = [&](auto put) {
      if (step[0] && step[1]) {
        POPRT_INDEPENDENT
        for (int64_t i = 0; i < n; i++) put(i, a[i], b[i]);
      } else if (step[0]) {
        const T y = *b;
        POPRT_INDEPENDENT
        for (int64_t i = 0; i < n; i++) put(i, a[i], y);
      } else if (step[1]) {
        const T x = *a;
        POPRT_INDEPENDENT
        for (int64_t i = 0; i < n; i++) put(i, x, b[i]);
      } else {
        const T x = *a, y = *b;
        POPRT_INDEPENDENT
        for (int64_t i = 0; i < n; i++) put(i, x, y);
      }
    };
    if constexpr (elementwise_gives_bool(op)) {
      auto* o = static_cast<uint8_t*>(out);
      each([o](int64_t i, T x, T y) { o[i] = truth<T, op>(x, y); });
    } else {
      auto* o = static_cast<Loose*>(out);
      each([o](int64_t i, T x, T y) { o[i] = value2<T, op>(x, y); });
    }
  }
}

template <class T>
IntegerRow find_row(Op op) {
#define ROW(name) \
  case Op::name: return row<T, Op::name>;
  switch (op) {
    ROW(neg);
    ROW(abs);
    ROW(sign);
    ROW(relu);
    ROW(square);
    ROW(bit_not);
    ROW(logical_not);
    ROW(to_bool);
    ROW(add);
    ROW(sub);
    ROW(mul);
    ROW(min);
    ROW(max);
    ROW(bit_and);
    ROW(bit_or);
    ROW(bit_xor);
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
    default: return nullptr;
  }
#undef ROW
}

IntegerRow find(int64_t op, int bytes, bool is_signed) noexcept {
  const auto o = static_cast<Op>(op);
  switch (bytes) {
    case 1: return is_signed ? find_row<int8_t>(o) : find_row<uint8_t>(o);
    case 2: return is_signed ? find_row<int16_t>(o) : find_row<uint16_t>(o);
    case 4: return is_signed ? find_row<int32_t>(o) : find_row<uint32_t>(o);
    case 8: return is_signed ? find_row<int64_t>(o) : find_row<uint64_t>(o);
    default: return nullptr;
  }
}

}  // namespace

extern const IntegerRowTable POPRT_ISA_NAME(integer_rows);
const IntegerRowTable POPRT_ISA_NAME(integer_rows) = {find};

}  // namespace poprt::kernels::isa

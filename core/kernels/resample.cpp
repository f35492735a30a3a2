// resample (calls/resample.h).
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/resample.h"
#include "kernels/kernel.h"

namespace poprt::kernels::resample_kernel {
namespace {

constexpr std::string_view kName = "resample";
constexpr int64_t kTaskBytes = 64 << 10;
constexpr int64_t kChunk = 256;

struct Params {
  int64_t in = 0, inner = 0, out = 0, taps = 0, rows = 0, per_task = 1;
  std::vector<int32_t> index;
  std::vector<float> weight;
  std::vector<int32_t> index_by_tap;  // transposed, for two or four taps along the last axis
  std::vector<float> weight_by_tap;
  float outside = 0;
  bool exact = false;  // the weights are an operand
};

template <class A, class T>
A value_of(T v) {
  if constexpr (std::is_same_v<T, f16_t> || std::is_same_v<T, bf16_t>)
    return static_cast<A>(to_float(v));
  else
    return static_cast<A>(v);
}

template <class T, class A>
T stored(A v) {
  if constexpr (std::is_same_v<T, f16_t>) {
    return to_f16(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, bf16_t>) {
    return to_bf16(static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T>) {
    constexpr A low = static_cast<A>(std::numeric_limits<T>::min());
    constexpr A high = static_cast<A>(std::numeric_limits<T>::max());
    if (!(v > low)) return std::numeric_limits<T>::min();
    if (v >= high) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  } else {
    return static_cast<T>(v);
  }
}

// Rows along the last axis. The indices and the weights of one tap are adjacent for all results, so
// that the loop over the results can be vectorised.
template <class From, class To, class A, int kTaps>
void run_last(const void* params, void* const* data, int64_t begin, int64_t end,
              std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t last = std::min(end * p.per_task, p.rows);
  const int32_t* index = p.index_by_tap.data();
  const float* weight = p.weight_by_tap.data();
  for (int64_t r = begin * p.per_task; r < last; r++) {
    const auto* from = static_cast<const From*>(data[0]) + r * p.in;
    auto* to = static_cast<To*>(data[1]) + r * p.out;
    for (int64_t o = 0; o < p.out; o++) {
      A sum = 0;
      for (int t = 0; t < kTaps; t++)
        sum += static_cast<A>(weight[t * p.out + o]) * value_of<A>(from[index[t * p.out + o]]);
      to[o] = stored<To>(sum);
    }
  }
}

template <class From, class To, class A>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t last = std::min(end * p.per_task, p.rows);
  for (int64_t r = begin * p.per_task; r < last; r++) {
    const int64_t o = r % p.out;
    const auto* from = static_cast<const From*>(data[0]) + r / p.out * p.in * p.inner;
    auto* to = static_cast<To*>(data[p.exact ? 2 : 1]) + r * p.inner;
    const int32_t* index = p.index.data() + o * p.taps;
    const float* weight = p.weight.data() + o * p.taps;
    const auto weight_of = [&](int64_t t) {
      if constexpr (std::is_same_v<From, double>)
        if (p.exact) return static_cast<const double*>(data[1])[o * p.taps + t];
      return static_cast<A>(weight[t]);
    };
    if (index[0] < 0) {
      std::fill_n(to, p.inner, stored<To>(static_cast<A>(p.outside)));
      continue;
    }
    if (p.inner == 1) {
      A sum = 0;
      for (int64_t t = 0; t < p.taps; t++) sum += weight_of(t) * value_of<A>(from[index[t]]);
      *to = stored<To>(sum);
      continue;
    }
    for (int64_t first = 0; first < p.inner; first += kChunk) {
      const int64_t n = std::min(kChunk, p.inner - first);
      A sum[kChunk];
      for (int64_t t = 0; t < p.taps; t++) {
        const From* row = from + index[t] * p.inner + first;
        const A w = weight_of(t);
        if (t == 0)
          for (int64_t i = 0; i < n; i++) sum[i] = w * value_of<A>(row[i]);
        else
          for (int64_t i = 0; i < n; i++) sum[i] += w * value_of<A>(row[i]);
      }
      for (int64_t i = 0; i < n; i++) to[first + i] = stored<To>(sum[i]);
    }
  }
}

template <class From, class To, class A>
RunFn run_of(int64_t last_taps) {
  return last_taps == 2   ? run_last<From, To, A, 2>
         : last_taps == 4 ? run_last<From, To, A, 4>
                          : run<From, To, A>;
}
template <class T, class A>
RunFn run_for(bool widens, bool narrows, int64_t last_taps) {
  return widens    ? run_of<T, A, A>(last_taps)
         : narrows ? run_of<A, T, A>(last_taps)
                   : run_of<T, T, A>(last_taps);
}

// `last_taps` is 2 or 4 along the last axis, otherwise 0.
RunFn find_run(DType from, DType to, int64_t last_taps) {
  const bool same = from == to;
  const auto wide = [](DType t) {
    return t == DType::f64 || t == DType::s32 || t == DType::s64 ? DType::f64 : DType::f32;
  };
  const bool widens = !same && to == wide(from), narrows = !same && from == wide(to);
  expect(same || widens || narrows, kName, "this combination of dtypes is not supported");
  switch (narrows ? to : from) {
    case DType::f32: return run_for<float, float>(widens, narrows, last_taps);
    case DType::f64: return run_for<double, double>(widens, narrows, last_taps);
    case DType::f16: return run_for<f16_t, float>(widens, narrows, last_taps);
    case DType::bf16: return run_for<bf16_t, float>(widens, narrows, last_taps);
    case DType::s8: return run_for<int8_t, float>(widens, narrows, last_taps);
    case DType::u8: return run_for<uint8_t, float>(widens, narrows, last_taps);
    case DType::s16: return run_for<int16_t, float>(widens, narrows, last_taps);
    case DType::u16: return run_for<uint16_t, float>(widens, narrows, last_taps);
    case DType::s32: return run_for<int32_t, double>(widens, narrows, last_taps);
    case DType::s64: return run_for<int64_t, double>(widens, narrows, last_taps);
    default: expect(false, kName, "the dtype is not supported");
  }
  return nullptr;
}

Plan prepare(const Call& call) {
  const bool exact = call.operands.size() == 3;
  expect((exact || call.operands.size() == 2) && call.operands.front().present &&
             call.operands.back().present,
         kName, "expected operands from, to");
  const Operand &from = call.operands.front(), &to = call.operands.back();
  auto params = std::make_shared<Params>();
  Params& p = *params;
  auto c = calls::decode<calls::Resample>(call);
  const int64_t outer = c.outer, entries = static_cast<int64_t>(c.index.size());
  p.in = c.in;
  p.inner = c.inner;
  p.out = c.out;
  p.taps = c.taps;
  p.index.assign(c.index.begin(), c.index.end());
  p.weight = std::move(c.weights);
  p.outside = c.outside;
  p.exact = exact;
  if (exact)
    expect(from.dtype == DType::f64 && call.operands[1].present &&
               call.operands[1].dtype == DType::f64 &&
               dtype_bytes(DType::f64, entries) <= call.operands[1].bytes,
           kName, "the weights are not f64 or too few");
  p.rows = checked_mul(outer, p.out, "resample");
  const int64_t source = checked_mul(checked_mul(outer, p.in, "resample"), p.inner, "resample");
  const int64_t result = checked_mul(p.rows, p.inner, "resample");
  expect(dtype_bytes(from.dtype, source) <= from.bytes && dtype_bytes(to.dtype, result) <= to.bytes,
         kName, "an operand is too short");
  Plan plan;
  const bool all_inside =
      std::all_of(p.index.begin(), p.index.end(), [](int32_t i) { return i >= 0; });
  const bool last = !exact && p.inner == 1 && all_inside && (p.taps == 2 || p.taps == 4);
  plan.run = find_run(from.dtype, to.dtype, last ? p.taps : 0);
  if (result == 0) p.rows = 0;
  if (last) {
    for (int64_t t = 0; t < p.taps; t++)
      for (int64_t o = 0; o < p.out; o++) {
        p.index_by_tap.push_back(p.index[static_cast<size_t>(o * p.taps + t)]);
        p.weight_by_tap.push_back(p.weight[static_cast<size_t>(o * p.taps + t)]);
      }
    if (result) p.rows = outer;
  }
  p.per_task = std::max<int64_t>(1, kTaskBytes / 4 / std::max<int64_t>(1, last ? p.out : p.inner));
  plan.tasks = std::max<int64_t>(1, (p.rows + p.per_task - 1) / p.per_task);
  plan.work = static_cast<double>(result * p.taps) * (p.inner == 1 ? 1.0 : 0.2) +
              5.0 * static_cast<double>(p.rows);
  plan.params = std::move(params);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::resample_kernel

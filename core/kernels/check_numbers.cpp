// check_numbers (calls/check_numbers.h). One task.
#include "kernels/calls/check_numbers.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/common/operands.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::check_numbers_kernel {
namespace {

constexpr std::string_view kNames[] = {"batch index", "sequence length", "position", "label",
                                       "nonpad_kv_seqlen"};

struct Params : calls::CheckNumbers {
  Outside outside;

  explicit Params(const calls::CheckNumbers& c)
      : calls::CheckNumbers(c), outside(kNames[static_cast<size_t>(c.what)], false) {
    outside.wanted = true;
  }
};

// A fraction is rounded down. NaN and numbers that no integer can represent are invalid.
template <class T>
int64_t whole(T v) {
  if constexpr (std::is_integral_v<T>) {
    return v;
  } else {
    constexpr T kLimit = 9e18f;
    if (!(v >= -kLimit)) return std::numeric_limits<int64_t>::min();
    return v < kLimit ? static_cast<int64_t>(std::floor(v)) : std::numeric_limits<int64_t>::max();
  }
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  if (begin == end) return;
  const auto& p = *static_cast<const Params*>(params);
  const auto* from = static_cast<const T*>(data[0]);
  for (int64_t i = 0; i < p.count; i++) {
    const int64_t number = whole(from[i * p.step]);
    if (number >= 0 && number < p.end) [[likely]]
      continue;
    if (!p.has_ignored || number != p.ignored) p.outside.found(i, number, p.end);
  }
}

Plan prepare(const Call& call) {
  const Operands r("check_numbers", call, 1);
  auto p = std::make_shared<Params>(calls::decode<calls::CheckNumbers>(call));
  const DType type = r.has(0) ? r.dtype(0) : DType::undefined;
  Plan plan;
  switch (type) {
    case DType::s32: plan.run = run<int32_t>; break;
    case DType::s64: plan.run = run<int64_t>; break;
    case DType::f32: plan.run = run<float>; break;
    case DType::f64: plan.run = run<double>; break;
    default: r.fail_dtype(0);
  }
  // The tensor may end with the last number, before the end of its step.
  r.needs(0, type,
          {p->count ? checked_add(checked_mul(p->count - 1, p->step), int64_t{1}) : int64_t{0}});
  plan.outputs = 0;
  plan.work = static_cast<double>(p->count);
  plan.params = std::move(p);
  plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"check_numbers", prepare};

}  // namespace poprt::kernels::check_numbers_kernel

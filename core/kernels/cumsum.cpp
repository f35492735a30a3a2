// cumsum (calls/cumsum.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/cumsum.h"
#include "kernels/common/numbers.h"
#include "kernels/isa/reduce.h"
#include "kernels/kernel.h"

namespace poprt::kernels::cumsum_kernel {
namespace {

struct Params : calls::Cumsum {
  const isa::ReduceTable* isa = &POPRT_SELECT_ISA(reduce);
};

// The number of adjacent columns that are summed together; a task is a block of so many columns.
constexpr int64_t kColumns = 512;

template <class T>
void run_columns(const void* params, void* const* data, int64_t begin, int64_t end,
                 std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
  for (int64_t t = begin; t < end; t++) {
    const int64_t column = t % blocks * kColumns, n = std::min(kColumns, p.inner - column);
    const int64_t at = t / blocks * p.n * p.inner + column;
    Sum sum[kColumns];
    std::fill(sum, sum + n, static_cast<Sum>(p.product));
    for (int64_t k = 0; k < p.n; k++) {
      const int64_t i = at + (p.reverse ? p.n - 1 - k : k) * p.inner;
      const T* x = static_cast<const T*>(data[0]) + i;
      T* y = static_cast<T*>(data[1]) + i;
      if constexpr (std::is_same_v<T, float>)
        if (!p.exclusive) {
          p.isa->running(p.product, x, sum, y, n);
          continue;
        }
      const auto each = [&](auto join) {
        if (p.exclusive)
          for (int64_t j = 0; j < n; j++) {
            const Sum before = sum[j];
            sum[j] = join(before, static_cast<Sum>(x[j]));
            y[j] = static_cast<T>(before);
          }
        else
          for (int64_t j = 0; j < n; j++)
            y[j] = static_cast<T>(sum[j] = join(sum[j], static_cast<Sum>(x[j])));
      };
      if (p.product)
        each([](Sum a, Sum b) { return a * b; });
      else
        each([](Sum a, Sum b) { return a + b; });
    }
  }
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* y = static_cast<T*>(data[1]);
  for (int64_t t = begin; t < end; t++) {
    const int64_t at = t / p.inner * p.n * p.inner + t % p.inner;
    // Integers wrap, so the sum is a wide unsigned integer or a double.
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    Sum sum = p.product ? 1 : 0;
    for (int64_t k = 0; k < p.n; k++) {
      const int64_t i = at + (p.reverse ? p.n - 1 - k : k) * p.inner;
      const T v = x[i];
      if (p.exclusive) y[i] = static_cast<T>(sum);
      if (p.product)
        sum *= static_cast<Sum>(v);
      else
        sum += static_cast<Sum>(v);
      if (!p.exclusive) y[i] = static_cast<T>(sum);
    }
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "cumsum", what); };
  check(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present &&
            call.operands[0].dtype == call.operands[1].dtype,
        "expected operands x and y of one element type");
  auto p = std::make_shared<Params>(Params{calls::decode<calls::Cumsum>(call)});
  const int64_t count = checked_mul(checked_mul(p->outer, p->n), p->inner);
  check(element_count(call.operands[0].shape) == count &&
            element_count(call.operands[1].shape) == count,
        "an operand has another size");
  Plan plan;
  if (!visit_number(call.operands[0].dtype, [&]<class T>(T) { plan.run = run<T>; }))
    fail(ErrorCode::unimplemented, "kernel cumsum: element type {}",
         dtype_name(call.operands[0].dtype));
  plan.tasks = count == 0 ? 0 : p->outer * p->inner;
  if (p->inner > 1) {
    visit_number(call.operands[0].dtype, [&]<class T>(T) { plan.run = run_columns<T>; });
    plan.tasks = count == 0 ? 0 : p->outer * ((p->inner + kColumns - 1) / kColumns);
  }
  plan.work = static_cast<double>(count);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"cumsum", prepare};

}  // namespace poprt::kernels::cumsum_kernel

// non_zero (calls/non_zero.h). One task.
#include <algorithm>
#include <vector>

#include "kernels/calls/non_zero.h"
#include "kernels/common/numbers.h"
#include "kernels/common/operands.h"

namespace poprt::kernels {
namespace {

struct Params : calls::NonZero {
  int64_t count = 0;  // elements of x
};

template <class T>
void run(const void* params, void* const* data, int64_t, int64_t, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const T* x = static_cast<const T*>(data[0]);
  auto* y = static_cast<int64_t*>(data[1]);
  const auto rank = static_cast<int64_t>(p.dims.size());
  int64_t column = 0;
  for (int64_t i = 0; i < p.count && column < p.bound; i++) {
    if (x[i] == T{}) continue;
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0;) {
      const int64_t size = p.dims[static_cast<size_t>(d)];
      y[d * p.bound + column] = rest % size;
      rest /= size;
    }
    column++;
  }
  for (int64_t d = 0; d < rank; d++)
    std::fill(y + d * p.bound + column, y + (d + 1) * p.bound, int64_t{-1});
}

Plan prepare(const Call& call) {
  const Operands r("non_zero", call, 2);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::NonZero>(call)});
  p->count = element_count(p->dims);
  r.needs(0, r.dtype(0), {p->count});
  r.needs(1, DType::s64, {static_cast<int64_t>(p->dims.size()), p->bound});
  Plan plan;
  if (!visit_number(r.dtype(0), [&]<class T>(T) { plan.run = run<T>; })) r.fail_dtype(0);
  plan.work = static_cast<double>(p->count) * 2;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel non_zero_kernel;
const Kernel non_zero_kernel = {"non_zero", prepare};

}  // namespace poprt::kernels

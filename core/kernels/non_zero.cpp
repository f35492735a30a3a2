// non_zero (calls/non_zero.h). One task.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/calls/non_zero.h"
#include "kernels/common/numbers.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::non_zero_kernel {
namespace {

struct Params : calls::NonZero {
  int64_t count = 0;  // the number of elements of x
};

template <class T>
void run(const void* params, void* const* data, int64_t, int64_t, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const T* x = static_cast<const T*>(data[0]);
  auto* y = static_cast<int64_t*>(data[1]);
  const size_t rank = p.dims.size(), last = rank ? rank - 1 : 0;
  const int64_t row = rank ? p.dims[last] : 1;
  const auto line = [&](size_t d) { return y + static_cast<int64_t>(d) * p.bound; };
  // the index of an element, incremented without division
  std::array<int64_t, calls::NonZero::kMaxRank> place{};
  int64_t column = 0;
  for (int64_t begin = 0; begin < p.count && column < p.bound; begin += row) {
    for (int64_t j = 0; j < row && column < p.bound; j++) {
      if (x[begin + j] == T{}) continue;
      place[last] = j;
      for (size_t d = 0; d < rank; d++) line(d)[column] = place[d];
      column++;
    }
    for (size_t d = last; d-- > 0; place[d] = 0)
      if (++place[d] < p.dims[d]) break;
  }
  for (size_t d = 0; d < rank; d++) std::fill(line(d) + column, line(d + 1), int64_t{-1});
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

extern const Kernel def;
const Kernel def = {"non_zero", prepare};

}  // namespace poprt::kernels::non_zero_kernel

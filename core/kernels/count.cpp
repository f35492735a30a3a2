// count (calls/count.h). One task.
#include "kernels/calls/count.h"
#include "kernels/common/numbers.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::count_kernel {
namespace {

struct Params {
  int64_t count;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  if (begin == end) return;
  const int64_t count = static_cast<const Params*>(params)->count;
  const T* x = static_cast<const T*>(data[0]);
  int64_t n = 0;
  for (int64_t i = 0; i < count; i++) n += !(x[i] == T{});
  *static_cast<int64_t*>(data[1]) = n;
}

Plan prepare(const Call& call) {
  calls::decode<calls::Count>(call);
  const Operands r("count", call, 2);
  r.check(r.has(0), "an operand is missing");
  const int64_t count = element_count(call.operands[0].shape);
  r.needs(0, r.dtype(0), {count});
  r.needs(1, DType::s64, {1});
  Plan plan;
  if (!visit_number(r.dtype(0), [&]<class T>(T) { plan.run = run<T>; })) r.fail_dtype(0);
  plan.params = std::make_shared<Params>(count);
  plan.work = static_cast<double>(count);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"count", prepare};

}  // namespace poprt::kernels::count_kernel

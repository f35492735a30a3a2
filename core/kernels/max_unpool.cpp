// max_unpool (calls/max_unpool.h). One task.
#include <cstring>
#include <vector>

#include "kernels/calls/max_unpool.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::max_unpool_kernel {
namespace {

struct Params {
  int64_t count, size, small, large;
  std::vector<int64_t> dims, strides;
  Outside outside{"index", false};
};

void run(const void* params, void* const* data, int64_t, int64_t, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* y = static_cast<std::byte*>(data[2]);
  std::memset(y, 0, static_cast<size_t>(p.large * p.size));
  if (p.small == p.large)
    return dispatch_size(p.size, [&]<class T>(T) {
      const auto* x = static_cast<const T*>(data[0]);
      for (int64_t i = 0; i < p.count; i++) {
        const int64_t at = load_index(data[1], true, i);
        if (at >= 0 && at < p.small)
          static_cast<T*>(data[2])[at] = x[i];
        else
          p.outside.found(i, at, p.small);
      }
    });
  for (int64_t i = 0; i < p.count; i++) {
    int64_t at = load_index(data[1], true, i), to = 0;
    if (at < 0 || at >= p.small) [[unlikely]] {
      p.outside.found(i, at, p.small);
      continue;
    }
    for (size_t d = p.dims.size(); d-- > 0;) {
      to += at % p.dims[d] * p.strides[d];
      at /= p.dims[d];
    }
    std::memcpy(y + to * p.size, static_cast<const std::byte*>(data[0]) + i * p.size,
                static_cast<size_t>(p.size));
  }
}

Plan prepare(const Call& call) {
  const Operands r("max_unpool", call, 3);
  const auto c = calls::decode<calls::MaxUnpool>(call);
  auto p = std::make_shared<Params>();
  p->count = c.count;
  p->outside.wanted = c.checked;
  p->dims = c.dims;
  p->strides = contiguous_strides(c.large);
  p->small = element_count(p->dims);
  p->large = element_count(c.large);
  p->size = element_size(r.dtype(0), "max_unpool");
  r.needs(0, r.dtype(0), {p->count});
  r.needs(1, DType::s64, {p->count});
  r.needs(2, r.dtype(0), {p->large});
  Plan plan;
  plan.run = run;
  plan.work = static_cast<double>(p->count) * 5 + static_cast<double>(p->large);
  plan.params = std::move(p);
  if (c.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"max_unpool", prepare};

}  // namespace poprt::kernels::max_unpool_kernel

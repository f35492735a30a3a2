// check_size (calls/check_size.h). One task.
#include "kernels/calls/check_size.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/elements.h"
#include "kernels/common/operands.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::check_size_kernel {
namespace {

struct Params {
  int64_t count = 0, most = 0;
  bool wide = true;
  Outside outside;

  explicit Params(const calls::CheckSize& c)
      : most(c.most), outside(c.option ? "max_size: number" : "size", false) {
    outside.wanted = true;
  }
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  if (begin == end) return;
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t i = 0; i < p.count; i++) {
    const int64_t given = load_index(data[0], p.wide, i);
    const int64_t size = std::clamp<int64_t>(given, 0, p.most);
    if (given != size) [[unlikely]]
      p.outside.found(i, given, p.most + 1);
    if (p.wide) {
      static_cast<int64_t*>(data[1])[i] = size;
    } else {
      static_cast<int32_t*>(data[1])[i] = static_cast<int32_t>(size);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("check_size", call, 2);
  const auto c = calls::decode<calls::CheckSize>(call);
  r.check(r.has(0) && is_index(r.dtype(0)), "the numbers must be s32 or s64");
  auto p = std::make_shared<Params>(c);
  p->count = element_count(call.operands[0].shape);
  p->wide = r.dtype(0) == DType::s64;
  r.check(p->wide || c.most <= calls::kMostExtent, "the bound is not a number of the type");
  r.needs(0, r.dtype(0), {p->count});
  r.needs(1, r.dtype(0), {p->count});
  Plan plan;
  plan.run = run;
  plan.work = static_cast<double>(p->count);
  plan.params = std::move(p);
  plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"check_size", prepare};

}  // namespace poprt::kernels::check_size_kernel

// gather_nd (calls/gather_nd.h).
#include "kernels/calls/gather_nd.h"
#include "kernels/common/indexed_slices.h"

namespace poprt::kernels::gather_nd_kernel {
namespace {

constexpr std::string_view kName = "gather_nd";

struct Params {
  IndexedSlices at;
  int64_t size = 1, per_task = 1;
  Outside outside;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* from = static_cast<const std::byte*>(data[0]);
  auto* to = static_cast<std::byte*>(data[2]);
  const auto bytes = static_cast<size_t>(p.at.slice * p.size);
  const int64_t last = std::min(end * p.per_task, p.at.batch * p.at.count);
  for (int64_t t = begin * p.per_task; t < last; t++) {
    const int64_t origin = p.at.origin(data[1], t);
    std::byte* result = to + t * p.at.slice * p.size;
    if (origin < 0) [[unlikely]] {
      std::memset(result, 0, bytes);
      p.at.report(p.outside, data[1], t);
    } else {
      std::memcpy(result, from + origin * p.size, bytes);
    }
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands data, indices, to");
  auto p = std::make_shared<Params>();
  const auto c = calls::decode<calls::GatherNd>(call);
  p->at = read_indexed_slices(c.at, call.operands[0], call.operands[1], call.operands[2], kName);
  p->outside.wanted = c.checked;
  p->size = element_size(call.operands[0].dtype, kName);
  const int64_t tuples = p->at.batch * p->at.count, bytes = p->at.slice * p->size;
  p->per_task = std::max<int64_t>(1, 65536 / std::max<int64_t>(8, bytes));
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, (tuples + p->per_task - 1) / p->per_task);
  plan.work = static_cast<double>(tuples) * (4.0 + static_cast<double>(bytes) / 8.0);
  plan.params = std::move(p);
  if (c.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::gather_nd_kernel

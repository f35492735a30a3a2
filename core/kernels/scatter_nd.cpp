// scatter_nd (calls/scatter_nd.h).
#include "kernels/calls/scatter_nd.h"
#include "kernels/common/accumulate.h"
#include "kernels/common/indexed_slices.h"

namespace poprt::kernels::scatter_nd_kernel {
namespace {

constexpr std::string_view kName = "scatter_nd";

struct Params {
  IndexedSlices at;
  Accumulate accumulate = nullptr;
  int64_t size = 1;
  Outside outside;
};

void run(const void* params, void* const* data, int64_t begin, int64_t, std::byte*) noexcept {
  if (begin != 0) return;
  const auto& p = *static_cast<const Params*>(params);
  const auto* updates = static_cast<const std::byte*>(data[1]);
  auto* to = static_cast<std::byte*>(data[2]);
  for (int64_t t = 0; t < p.at.batch * p.at.count; t++) {
    const int64_t origin = p.at.origin(data[0], t);
    if (origin >= 0)
      p.accumulate(to + origin * p.size, updates + t * p.at.slice * p.size, p.at.slice);
    else
      p.at.report(p.outside, data[0], t);
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands indices, updates, to");
  const auto c = calls::decode<calls::ScatterNd>(call);
  const Operand& to = call.operands[2];
  auto p = std::make_shared<Params>();
  p->at = read_indexed_slices(c.at, to, call.operands[0], call.operands[1], kName);
  p->size = element_size(to.dtype, kName);
  p->outside.wanted = c.checked;
  p->accumulate = find_accumulate(to.dtype, c.reduction);
  expect(p->accumulate, kName, "the dtype has no such reduction");
  Plan plan;
  plan.run = run;
  plan.work =
      static_cast<double>(p->at.batch * p->at.count) * (4.0 + static_cast<double>(p->at.slice));
  plan.params = std::move(p);
  if (c.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::scatter_nd_kernel

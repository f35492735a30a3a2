// gather_elements (calls/gather_elements.h).
#include "kernels/calls/gather_elements.h"
#include "kernels/common/indexed_axis.h"

namespace poprt::kernels::gather_elements_kernel {
namespace {

constexpr std::string_view kName = "gather_elements";

struct Params {
  IndexedAxis at;
  int64_t size = 1, per_task = 1;
  Outside outside;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t from = begin * p.per_task, to = std::min(end * p.per_task, p.at.lines);
  dispatch_size(p.size, [&]<class T>(T) {
    const auto* source = static_cast<const T*>(data[0]);
    auto* result = static_cast<T*>(data[2]);
    int64_t signs = 0;  // negative if an element is outside
    p.at.each(data[1], from, to, [&](int64_t i, int64_t element) {
      result[i] = element < 0 ? T{} : source[element];
      signs |= element;
    });
    if (signs < 0) [[unlikely]]
      p.at.report(p.outside, data[1], from, to);
  });
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands data, indices, to");
  auto p = std::make_shared<Params>();
  const auto c = calls::decode<calls::GatherElements>(call);
  p->at = read_indexed_axis(c.at, call.operands[0], call.operands[1], kName);
  p->outside.wanted = c.checked;
  p->size = element_size(call.operands[0].dtype, kName);
  const int64_t count = p->at.lines * p->at.line;
  expect(call.operands[2].dtype == call.operands[0].dtype &&
             dtype_bytes(call.operands[2].dtype, count) <= call.operands[2].bytes,
         kName, "the result has another size");
  p->per_task = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p->at.line));
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, (p->at.lines + p->per_task - 1) / p->per_task);
  plan.work = 1.5 * static_cast<double>(count);
  plan.params = std::move(p);
  if (c.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::gather_elements_kernel

// scatter_elements (calls/scatter_elements.h).
#include "kernels/calls/scatter_elements.h"
#include "kernels/common/accumulate.h"
#include "kernels/common/indexed_axis.h"

namespace poprt::kernels::scatter_elements_kernel {
namespace {

constexpr std::string_view kName = "scatter_elements";

struct Params {
  IndexedAxis at;
  Accumulate accumulate = nullptr;
  int64_t size = 1;
  Outside outside;
};

// A task is one index of the dimensions before the axis, so tasks never write the same element.
template <class Put>
void each_update(const Params& p, const void* indices, int64_t begin, int64_t end, Put put) {
  if (p.at.lines == 0) return;
  const int64_t per_outer = p.at.along ? 1 : p.at.lines / p.at.outer;
  bool inside = true;
  p.at.each(indices, begin * per_outer, end * per_outer, [&](int64_t i, int64_t element) {
    if (element >= 0)
      put(i, element);
    else
      inside = false;
  });
  if (!inside) [[unlikely]]
    p.at.report(p.outside, indices, begin * per_outer, end * per_outer);
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* updates = static_cast<const std::byte*>(data[1]);
  auto* to = static_cast<std::byte*>(data[2]);
  each_update(p, data[0], begin, end, [&](int64_t i, int64_t element) {
    p.accumulate(to + element * p.size, updates + i * p.size, 1);
  });
}

// Stores elements of T's size, without a reduction.
template <class T>
void store(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto* updates = static_cast<const T*>(data[1]);
  auto* to = static_cast<T*>(data[2]);
  each_update(*static_cast<const Params*>(params), data[0], begin, end,
              [&](int64_t i, int64_t element) { to[element] = updates[i]; });
}

decltype(Plan::run) run_of(ScatterReduction reduction, int64_t size) {
  if (reduction != ScatterReduction::none) return run;
  switch (size) {
    case 1: return store<uint8_t>;
    case 2: return store<uint16_t>;
    case 4: return store<uint32_t>;
    case 8: return store<uint64_t>;
    default: return run;
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands indices, updates, to");
  const Operand &updates = call.operands[1], &to = call.operands[2];
  const auto c = calls::decode<calls::ScatterElements>(call);
  auto p = std::make_shared<Params>();
  p->at = read_indexed_axis(c.at, to, call.operands[0], kName);
  p->size = element_size(to.dtype, kName);
  p->outside.wanted = c.checked;
  p->accumulate = find_accumulate(to.dtype, c.reduction);
  expect(p->accumulate, kName, "the dtype has no such reduction");
  const int64_t count = p->at.lines * p->at.line;
  expect(updates.dtype == to.dtype && dtype_bytes(updates.dtype, count) <= updates.bytes, kName,
         "the updates have another size or dtype");
  Plan plan;
  plan.run = run_of(c.reduction, p->size);
  plan.tasks = p->at.lines ? std::max<int64_t>(1, p->at.along ? p->at.lines : p->at.outer) : 1;
  plan.work = 4.0 * static_cast<double>(count);
  plan.params = std::move(p);
  if (c.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::scatter_elements_kernel

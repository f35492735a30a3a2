// fill (calls/fill.h).
#include <algorithm>

#include "kernels/calls/fill.h"
#include "kernels/common/elements.h"

namespace poprt::kernels::fill_kernel {
namespace {

constexpr std::string_view kName = "fill";
constexpr int64_t kTaskBytes = 256 << 10;

struct Params {
  int64_t size, count, per_task;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t from = begin * p.per_task, to = std::min(end * p.per_task, p.count);
  fill_elements(static_cast<std::byte*>(data[1]) + from * p.size, data[0], p.size, to - from);
}

Plan prepare(const Call& call) {
  calls::decode<calls::Fill>(call);
  expect(call.operands.size() == 2 && call.operands[1].present, kName,
         "expected operands value, to");
  const Operand &value = call.operands[0], &to = call.operands[1];
  auto params = std::make_shared<Params>();
  if (value.present) {
    params->size = element_size(to.dtype, kName);
    params->count = element_count(to.shape);
    expect(value.dtype == to.dtype && value.bytes >= static_cast<uint64_t>(params->size), kName,
           "the value must have the dtype of the result");
  } else {
    params->size = 1;
    params->count = static_cast<int64_t>(dtype_bytes(to.dtype, element_count(to.shape)));
  }
  params->per_task = kTaskBytes / params->size;
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, (params->count + params->per_task - 1) / params->per_task);
  plan.work = static_cast<double>(params->count * params->size) / 16.0;
  plan.params = std::move(params);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::fill_kernel

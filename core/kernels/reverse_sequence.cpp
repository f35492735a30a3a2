// reverse_sequence (calls/reverse_sequence.h). A task is one index of d0.
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/reverse_sequence.h"
#include "kernels/common/elements.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::reverse_sequence_kernel {
namespace {

constexpr std::string_view kName = "reverse_sequence";

struct Params {
  int64_t d0, d1, row;
  bool time_first;
  Outside outside{"sequence length", false};
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t steps = p.time_first ? p.d0 : p.d1;
  const auto* from = static_cast<const std::byte*>(data[0]);
  auto* to = static_cast<std::byte*>(data[2]);
  for (int64_t i = begin; i < std::min(end, p.d0); i++)
    for (int64_t j = 0; j < p.d1; j++) {
      const int64_t batch = p.time_first ? j : i, time = p.time_first ? i : j;
      const int64_t given = load_index(data[1], true, batch);
      const int64_t length = std::clamp<int64_t>(given, 0, steps);
      if (given != length) [[unlikely]]
        p.outside.found(batch, given, steps + 1);
      const int64_t source = time < length ? length - 1 - time : time;
      const int64_t at = p.time_first ? source * p.d1 + j : i * p.d1 + source;
      std::memcpy(to + (i * p.d1 + j) * p.row, from + at * p.row, static_cast<size_t>(p.row));
    }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands from, lens, to");
  const Operand &from = call.operands[0], &lens = call.operands[1], &to = call.operands[2];
  const auto c = calls::decode<calls::ReverseSequence>(call);
  auto p = std::make_shared<Params>();
  p->d0 = c.d0;
  p->d1 = c.d1;
  p->outside.wanted = c.checked;
  p->time_first = c.time == calls::TimeAxis::first;
  p->row = checked_mul(c.inner, element_size(from.dtype, kName));
  const auto bytes = static_cast<uint64_t>(checked_mul(checked_mul(p->d0, p->d1), p->row));
  expect(from.dtype == to.dtype && bytes <= from.bytes && bytes <= to.bytes &&
             lens.dtype == DType::s64 &&
             lens.bytes >= dtype_bytes(DType::s64, p->time_first ? p->d1 : p->d0),
         kName, "an operand has another size or dtype");
  if (bytes == 0) p->d0 = 0;
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, p->d0);
  plan.work = static_cast<double>(bytes) / 8.0 + 5.0 * static_cast<double>(p->d0 * p->d1);
  plan.params = std::move(p);
  if (c.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::reverse_sequence_kernel

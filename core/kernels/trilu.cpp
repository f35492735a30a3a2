// trilu (calls/trilu.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/trilu.h"
#include "kernels/common/elements.h"

namespace poprt::kernels::trilu_kernel {
namespace {

constexpr std::string_view kName = "trilu";

struct Params : calls::Trilu {
  int64_t all_rows = 0, size = 0, per_task = 1;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t most = p.rows + p.columns;
  const int64_t k = data[1] ? std::clamp(load_index(data[1], true, 0), -most, most) : 0;
  const auto* from = static_cast<const std::byte*>(data[0]);
  auto* to = static_cast<std::byte*>(data[2]);
  const int64_t last = std::min(end * p.per_task, p.all_rows);
  for (int64_t r = begin * p.per_task; r < last; r++) {
    const int64_t diagonal = r % p.rows + k;
    const int64_t cut = std::clamp<int64_t>(p.upper ? diagonal : diagonal + 1, 0, p.columns);
    const int64_t start = r * p.columns * p.size, at = start + cut * p.size;
    const auto left = static_cast<size_t>(cut * p.size),
               right = static_cast<size_t>((p.columns - cut) * p.size);
    if (p.upper) {
      std::memset(to + start, 0, left);
      std::memcpy(to + at, from + at, right);
    } else {
      std::memcpy(to + start, from + start, left);
      std::memset(to + at, 0, right);
    }
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[2].present, kName,
         "expected operands from, k, to");
  const Operand &from = call.operands[0], &k = call.operands[1], &to = call.operands[2];
  expect(from.dtype == to.dtype, kName, "dtypes differ");
  expect(!k.present || (k.dtype == DType::s64 && k.bytes >= 8), kName, "k must be one s64");
  auto p = std::make_shared<Params>(Params{calls::decode<calls::Trilu>(call)});
  p->size = element_size(from.dtype, kName);
  p->all_rows = checked_mul(p->matrices, p->rows);
  const uint64_t bytes = dtype_bytes(from.dtype, checked_mul(p->all_rows, p->columns));
  expect(bytes <= from.bytes && bytes <= to.bytes, kName, "an operand is too short");
  if (p->columns == 0) p->all_rows = 0;
  p->per_task = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, p->columns * p->size));
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, (p->all_rows + p->per_task - 1) / p->per_task);
  plan.work = static_cast<double>(bytes) / 8.0;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::trilu_kernel

// label_table (calls/label_table.h).
#include <algorithm>

#include "kernels/calls/label_table.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::label_table_kernel {
namespace {

constexpr int64_t kBlock = 4096;

using Params = calls::LabelTable;

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto entries = static_cast<uint64_t>(p.entries), low = static_cast<uint64_t>(p.first);
  const int64_t from = begin * kBlock, last = std::min(end * kBlock, p.count);
  dispatch_size(p.size, [&]<size_t N>(Raw<N>) {
    const auto* x = static_cast<const T*>(data[0]);
    const auto* values = static_cast<const Raw<N>*>(data[1]);
    auto* y = static_cast<Raw<N>*>(data[2]);
    for (int64_t i = from; i < last; i++)
      y[i] = values[std::min(static_cast<uint64_t>(int64_t{x[i]}) - low, entries)];
  });
}

Plan prepare(const Call& call) {
  const Operands r("label_table", call, 3);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const DType type = r.dtype(0), value = r.dtype(1);
  Plan plan;
  switch (type) {
    case DType::s64: plan.run = run<int64_t>; break;
    case DType::s32: plan.run = run<int32_t>; break;
    case DType::s16: plan.run = run<int16_t>; break;
    default: r.fail_dtype(0);
  }
  r.needs(0, type, {p->count});
  r.check(dtype_bits(value) == 8 * p->size, "bad size of a value");
  r.needs(1, value, {p->entries + 1});
  r.needs(2, value, {p->count});
  plan.tasks = (p->count + kBlock - 1) / kBlock;
  plan.work = static_cast<double>(p->count);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"label_table", prepare};

}  // namespace poprt::kernels::label_table_kernel

// label_map (calls/label_map.h).
#include <algorithm>
#include <cmath>

#include "kernels/calls/label_map.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::label_map_kernel {
namespace {

constexpr int64_t kBlock = 1024;

using Params = calls::LabelMap;

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  const auto* keys = static_cast<const T*>(data[1]);
  // Keys that are NaN follow all others; the binary search excludes them.
  int64_t ordered = p.keys;
  if constexpr (std::is_floating_point_v<T>)
    while (ordered > 0 && std::isnan(keys[ordered - 1])) ordered--;
  dispatch_size(p.size, [&]<size_t N>(Raw<N>) {
    const auto* values = static_cast<const Raw<N>*>(data[2]);
    auto* y = static_cast<Raw<N>*>(data[3]);
    for (int64_t i = begin * kBlock; i < std::min(end * kBlock, p.count); i++) {
      int64_t at = std::lower_bound(keys, keys + ordered, x[i]) - keys;
      if (at == ordered || keys[at] != x[i]) at = p.keys;
      if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(x[i])) at = ordered;
      y[i] = values[at];
    }
  });
}

Plan prepare(const Call& call) {
  const Operands r("label_map", call, 4);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const DType type = r.dtype(0);
  Plan plan;
  switch (type) {
    case DType::s64: plan.run = run<int64_t>; break;
    case DType::s32: plan.run = run<int32_t>; break;
    case DType::s16: plan.run = run<int16_t>; break;
    case DType::f32: plan.run = run<float>; break;
    case DType::f64: plan.run = run<double>; break;
    default: r.fail_dtype(0);
  }
  r.needs(0, type, {p->count});
  r.needs(1, type, {p->keys});
  r.check(dtype_bits(r.dtype(2)) == 8 * p->size, "bad size of a value");
  r.needs(2, r.dtype(2), {p->keys + 1});
  r.needs(3, r.dtype(2), {p->count});
  plan.tasks = (p->count + kBlock - 1) / kBlock;
  plan.work = static_cast<double>(p->count) * 10;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"label_map", prepare};

}  // namespace poprt::kernels::label_map_kernel

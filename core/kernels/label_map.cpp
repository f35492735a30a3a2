// label_map: operands [x, keys, values, y]: y[i] = values[place of x[i] among the sorted keys], or
// the last value. x and keys are s64, s32, s16, f32 or f64; NaN is the last key and found like
// others. ints: [count, keys, bytes of a value]; there is one value more than keys.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

constexpr int64_t kBlock = 1024;

struct Params {
  int64_t count, keys, size;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  const auto* keys = static_cast<const T*>(data[1]);
  const auto* values = static_cast<const std::byte*>(data[2]);
  auto* y = static_cast<std::byte*>(data[3]);
  const auto size = static_cast<size_t>(p.size);
  for (int64_t i = begin * kBlock; i < std::min(end * kBlock, p.count); i++) {
    int64_t at = p.keys;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x[i])) {
        // The first of the NaN at the end.
        while (at > 0 && std::isnan(keys[at - 1])) at--;
        std::memcpy(y + static_cast<size_t>(i) * size, values + static_cast<size_t>(at) * size,
                    size);
        continue;
      }
    }
    const T* found = std::lower_bound(keys, keys + p.keys, x[i], [](T a, T b) { return a < b; });
    if (found != keys + p.keys && *found == x[i]) at = found - keys;
    std::memcpy(y + static_cast<size_t>(i) * size, values + static_cast<size_t>(at) * size, size);
  }
}

Plan prepare(const Call& call) {
  const CallReader r("label_map", call, 4, 3);
  auto p = std::make_shared<Params>(Params{r.size(0), r.size(1), r.size(2, 1)});
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
  r.check(p->size <= 16 && dtype_bits(r.dtype(2)) == 8 * p->size, "bad size of a value");
  r.needs(2, r.dtype(2), {p->keys + 1});
  r.needs(3, r.dtype(2), {p->count});
  plan.tasks = (p->count + kBlock - 1) / kBlock;
  plan.work = static_cast<double>(p->count) * 10;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel label_map_kernel;
const Kernel label_map_kernel = {"label_map", prepare};

}  // namespace poprt::kernels

// one_hot (calls/one_hot.h).
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/calls/one_hot.h"
#include "kernels/common/elements.h"

namespace poprt::kernels::one_hot_kernel {
namespace {

constexpr std::string_view kName = "one_hot";
constexpr int64_t kBlockBytes = 16 << 10;

struct Params : calls::OneHot {
  int64_t size = 0;  // size of an element in bytes
  DType index = DType::undefined;
};

int64_t index_at(const Params& p, const void* indices, int64_t i) noexcept {
  if (p.index != DType::f32) return load_index(indices, p.index == DType::s64, i);
  float f;
  std::memcpy(&f, static_cast<const std::byte*>(indices) + i * 4, 4);
  return std::fabs(f) < 1e18f ? static_cast<int64_t>(f) : INT64_MAX;
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* on = static_cast<const std::byte*>(data[1]) + p.size;
  const int64_t last = std::min(end, p.outer);
  if (last <= begin) return;  // in an empty tensor, depth * inner may overflow
  const int64_t slab = p.depth * p.inner;
  const int64_t step = std::max<int64_t>(1, kBlockBytes / (slab * p.size));
  for (int64_t block = begin; block < last; block += step) {
    const int64_t count = std::min(step, last - block);
    auto* to = static_cast<std::byte*>(data[2]) + block * slab * p.size;
    fill_elements(to, data[1], p.size, count * slab);
    dispatch_size(p.size, [&]<size_t N>(Raw<N>) {
      for (int64_t o = 0; o < count; o++, to += slab * static_cast<int64_t>(N))
        for (int64_t i = 0; i < p.inner; i++) {
          int64_t d = index_at(p, data[0], (block + o) * p.inner + i);
          if (d < 0) d += p.depth;
          if (d >= 0 && d < p.depth)
            std::memcpy(to + (d * p.inner + i) * static_cast<int64_t>(N), on, N);
        }
    });
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands indices, values, to");
  const Operand &indices = call.operands[0], &values = call.operands[1], &to = call.operands[2];
  auto p = std::make_shared<Params>(Params{calls::decode<calls::OneHot>(call)});
  p->size = element_size(to.dtype, kName);
  p->index = indices.dtype;
  expect(is_index(p->index) || p->index == DType::f32, kName, "indices must be s32, s64 or f32");
  const int64_t lines = checked_mul(p->outer, p->inner), count = checked_mul(lines, p->depth);
  expect(values.dtype == to.dtype && values.bytes >= dtype_bytes(to.dtype, 2) &&
             indices.bytes >= dtype_bytes(p->index, lines) &&
             to.bytes >= dtype_bytes(to.dtype, count),
         kName, "an operand is too short");
  if (count == 0) p->outer = 0;
  Plan plan;
  plan.run = run;
  plan.tasks = std::max<int64_t>(1, p->outer);
  plan.work = static_cast<double>(count * p->size) / 16.0 + 2.0 * static_cast<double>(lines);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::one_hot_kernel

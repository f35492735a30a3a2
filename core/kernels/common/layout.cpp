#include "kernels/common/layout.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/isa/pool.h"

namespace poprt::kernels {
namespace {

struct Params {
  const isa::PoolTable* table;
  int64_t channels, blocks, pixels, task_pixels, pixel_tasks;
};

template <bool kToBlocks>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t task = begin; task < end; task++) {
    const int64_t pixel = task % p.pixel_tasks * p.task_pixels, plane = task / p.pixel_tasks;
    const int64_t image = plane / p.blocks, block = plane % p.blocks;
    const int64_t count = std::min<int64_t>(16, p.channels - block * 16);
    const int64_t pixels = std::min(p.task_pixels, p.pixels - pixel);
    const int64_t plain = (image * p.channels + block * 16) * p.pixels + pixel;
    const int64_t blocked = (plane * p.pixels + pixel) * 16;
    const auto* from = static_cast<const float*>(data[0]);
    auto* to = static_cast<float*>(data[1]);
    if constexpr (kToBlocks)
      p.table->block(from + plain, p.pixels, count, pixels, to + blocked);
    else
      p.table->unblock(from + blocked, p.pixels, count, pixels, to + plain);
  }
}

}  // namespace

Plan prepare_layout(std::string_view kernel, const Call& call, int64_t n, int64_t c, int64_t pixels,
                    bool to_blocks) {
  expect(call.operands.size() == 2, kernel, "expected operands from, to");
  const int64_t blocks = (c + 15) / 16;
  const int64_t plain = checked_mul(checked_mul(n, c), pixels);
  const int64_t blocked = checked_mul(checked_mul(n, blocks * 16), pixels);
  for (size_t i = 0; i < 2; i++) {
    const Operand& o = call.operands[i];
    const int64_t need = (i == 0) == to_blocks ? plain : blocked;
    expect(o.present && o.dtype == DType::f32 && o.bytes / 4 >= static_cast<uint64_t>(need), kernel,
           "an operand is missing, too small or not f32");
  }
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(pool);
  p->channels = c;
  p->blocks = blocks;
  p->pixels = pixels;
  p->task_pixels = 2048;
  p->pixel_tasks = (pixels + p->task_pixels - 1) / p->task_pixels;
  Plan plan;
  plan.run = to_blocks ? run<true> : run<false>;
  plan.tasks = checked_mul(checked_mul(n, blocks), p->pixel_tasks);
  plan.work = static_cast<double>(blocked) * 8 / 15.0;
  plan.params = p;
  return plan;
}

}  // namespace poprt::kernels

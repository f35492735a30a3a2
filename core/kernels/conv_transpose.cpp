// conv_transpose (calls/conv_transpose.h). A task is some input rows of one image.
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/conv_transpose.h"
#include "kernels/common/conv.h"

namespace poprt::kernels::conv_transpose_kernel {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->transpose(p.shape, p.blocking, static_cast<const float*>(data[0]),
                     static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                     static_cast<float*>(data[4]), begin, end);
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_transpose";
  const auto named = calls::decode<calls::ConvTranspose>(call);
  const ConvCall c = read_conv(kName, named.conv, call.operands, named.depth);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  expect(!call.operands[3].present, kName, "a residual is not supported");
  expect_f32(kName, call.operands, 0, c.x_elements);
  const int64_t taps = checked_mul(checked_mul(s.kd, s.kh), s.kw), rows = checked_mul(s.d, s.h);
  expect_f32(kName, call.operands, 1, checked_mul(checked_mul(taps, s.c), s.oc_blocks * 16));
  p->table = &POPRT_SELECT_ISA(conv);
  isa::ConvBlocking& b = p->blocking;
  b.vectors = p->table->best_vectors(s.w, s.oc_blocks);
  b.pixels = std::clamp<int64_t>(65536 / (s.c * s.w), 1, (rows + 7) / 8);
  b.pixel_tasks = (rows + b.pixels - 1) / b.pixels;
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(s.batch, b.pixel_tasks);
  plan.work = conv_ns(c, c.flops / static_cast<double>(taps));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_transpose", prepare};

}  // namespace poprt::kernels::conv_transpose_kernel

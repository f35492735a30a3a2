// conv_stem_bf16 (calls/conv_stem_bf16.h). A task is some rows of an image.
#include "kernels/calls/conv_stem_bf16.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/conv.h"
#include "kernels/isa/conv_bf16.h"

namespace poprt::kernels::conv_stem_bf16_kernel {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvBf16Table* table;
  bool dots;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->stem(p.dots, p.shape, p.blocking, static_cast<const float*>(data[0]),
                static_cast<const uint16_t*>(data[1]), static_cast<const float*>(data[2]), data[3],
                data[4], begin, end, scratch);
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_stem_bf16";
  const auto named = calls::decode<calls::ConvStemBf16>(call);
  const ConvCall c = read_conv(kName, named.conv, call.operands, {}, false, ConvTypes::bf16_or_f32);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  expect_f32(kName, call.operands, 0, checked_mul(s.batch * s.c, checked_mul(s.h, s.w)));
  expect_bf16_weights(
      kName, call.operands[1],
      checked_mul(checked_mul((s.c + 1) / 2, checked_mul(s.kh, s.kw)), s.oc_blocks));
  p->table = &POPRT_SELECT_ISA(conv_bf16);
  p->dots = can_use_bf16();
  if (!p->dots) warn_without_bf16();

  // The copied rows of a task take about 64 KiB, and there are at least about eight tasks.
  isa::ConvBlocking& b = p->blocking;
  const int64_t columns = checked_add(checked_mul(s.ow - 1, s.stride_w), s.kw);
  const int64_t row_bytes =
      checked_mul(checked_mul(columns, s.stride_h), isa::bf16_rows(s, 1).channels * 2);
  b.pixels = std::clamp<int64_t>((64 << 10) / row_bytes, 1,
                                 std::min(s.oh, ceil_div(checked_mul(s.oh, s.batch), int64_t{8})));
  b.pixel_tasks = ceil_div(s.oh, b.pixels);
  b.vectors = p->table->best_vectors(s.ow, s.oc_blocks);
  const isa::Bf16Rows l = isa::bf16_rows(s, b.pixels);

  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(s.batch, b.pixel_tasks);
  plan.work = conv_ns(c, c.flops * (p->dots ? 0.7 : 2.5));
  plan.scratch_bytes =
      static_cast<size_t>(checked_mul(checked_mul(l.rows, l.columns), l.channels * 2));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_stem_bf16", prepare};

}  // namespace poprt::kernels::conv_stem_bf16_kernel

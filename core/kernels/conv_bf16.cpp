// conv_bf16 (calls/conv_bf16.h).
#include "kernels/calls/conv_bf16.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/conv.h"
#include "kernels/isa/conv_bf16.h"

namespace poprt::kernels::conv_bf16_kernel {
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
  p.table->blocked(p.dots, p.shape, p.blocking, data[0], static_cast<const uint16_t*>(data[1]),
                   static_cast<const float*>(data[2]), data[3], data[4], begin, end, scratch);
}

// The inputs of a task take at most 384 KiB of an L2 cache (unless 48 pixels take more), and sums
// of a chunk of K are computed with weights that are in the L1 cache. Several threads have about
// four tasks each. Tasks for other output channels of the same pixels copy the inputs again, so a
// single thread has no such tasks.
void split(Params& p, int64_t threads) {
  const isa::ConvShape& s = p.shape;
  isa::ConvBlocking& b = p.blocking;
  const int64_t segments = s.c_blocks * s.taps(), pixels = s.out_pixels();
  const int64_t wanted = threads > 1 ? 4 * std::min<int64_t>(threads, 16) : 1;
  b.pixels = std::clamp<int64_t>((384 << 10) / (segments * 32), 48, 1024);
  b.pixels = std::min(b.pixels, std::max<int64_t>(56, ceil_div(pixels, wanted)));
  b.pixels = ceil_div(pixels, ceil_div(pixels, b.pixels));
  b.pixel_tasks = ceil_div(pixels, b.pixels);
  b.segments = ceil_div(segments, ceil_div(segments, isa::kSummedSegments));
  b.vectors = p.table->best_vectors(b.pixels, s.oc_blocks);
  b.oc_blocks = s.oc_blocks;
  const int64_t others = checked_mul(s.batch * s.groups, b.pixel_tasks);
  if (others < wanted) b.oc_blocks = ceil_div(s.oc_blocks, ceil_div(wanted, others));
  b.oc_blocks = std::min(ceil_div(b.oc_blocks, b.vectors) * b.vectors, s.oc_blocks);
  b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_bf16";
  const auto named = calls::decode<calls::ConvBf16>(call);
  const ConvCall c =
      read_conv(kName, named.conv, call.operands, named.depth, false, ConvTypes::bf16_or_f32);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  expect(s.groups == 1 || s.c % 16 == 0, kName, "groups require multiples of 16 channels");
  const int64_t taps = checked_mul(checked_mul(s.kd, s.kh), s.kw);
  expect_stored(kName, call.operands, 0, c.x_elements);
  expect_bf16_weights(kName, call.operands[1],
                      checked_mul(checked_mul((s.c + 1) / 2, taps), s.groups * s.oc_blocks));
  p->table = &POPRT_SELECT_ISA(conv_bf16);
  p->dots = can_use_bf16();
  if (!p->dots) warn_without_bf16();
  split(*p, call.threads);

  Plan plan;
  plan.run = run;
  plan.tasks =
      checked_mul(checked_mul(s.batch * s.groups, p->blocking.pixel_tasks), p->blocking.oc_tasks);
  plan.work = conv_ns(c, c.flops * (p->dots ? 0.5 : 2.0));
  plan.scratch_bytes = static_cast<size_t>(
      checked_add(bf16_input_bytes(s, p->blocking), bf16_sum_bytes(p->blocking)));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_bf16", prepare};

}  // namespace poprt::kernels::conv_bf16_kernel

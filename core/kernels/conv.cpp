// conv (calls/conv.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/conv.h"
#include "kernels/common/conv_blocked.h"

namespace poprt::kernels::conv_kernel {
namespace {

// A part of the channels, and where it begins in the operands, in floats.
struct Part {
  ConvBlockedParams params;
  int64_t tasks = 0, x = 0, weights = 0, bias = 0, y = 0;

  void run(void* const* data, int64_t begin, int64_t end, float* scratch) const noexcept {
    const auto at = [&](size_t i, int64_t offset) {
      return data[i] ? static_cast<float*>(data[i]) + offset : nullptr;
    };
    params.table->blocked(params.shape, params.blocking, nullptr, at(0, x), at(1, weights),
                          at(2, bias), at(3, y), at(4, y), begin, end, scratch);
  }
};

struct Params {
  Part groups;
  Part single;  // the group after the pairs (calls/conv.h); no tasks if there is none
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* floats = reinterpret_cast<float*>(scratch);
  const int64_t tasks = p.groups.tasks;
  if (begin < tasks) p.groups.run(data, begin, std::min(end, tasks), floats);
  if (end > tasks) p.single.run(data, std::max<int64_t>(begin - tasks, 0), end - tasks, floats);
}

// Adds the group after the pairs. plan_blocked_conv() has checked each of the two parts alone
// against the operands; both together must fit them, too.
void add_single(const calls::Conv& c, const Call& call, Params& p, Plan& plan) {
  calls::BlockedConv conv = c.conv;
  conv.groups = 1;
  conv.c = c.pair_c;
  conv.m = c.pair_m;
  const Plan more = plan_blocked_conv("conv", conv, c.depth, call.operands, false, p.single.params);
  isa::ConvShape &pairs = p.groups.params.shape, &single = p.single.params.shape;
  const int64_t x_blocks = pairs.groups * pairs.c_blocks, y_blocks = pairs.groups * pairs.oc_blocks;
  pairs.x_blocks = single.x_blocks = checked_add(x_blocks, single.c_blocks);
  pairs.y_blocks = single.y_blocks = checked_add(y_blocks, single.oc_blocks);
  const auto floats = [&](int64_t blocks, int64_t pixels) {
    return checked_mul(checked_mul(blocks, pixels), int64_t{16});
  };
  const auto weights = [](const isa::ConvShape& s) {
    return checked_mul(checked_mul(s.groups * s.oc_blocks, s.c),
                       checked_mul(s.taps(), int64_t{16}));
  };
  p.single.tasks = more.tasks;
  p.single.x = floats(x_blocks, pairs.in_pixels());
  p.single.y = floats(y_blocks, pairs.out_pixels());
  p.single.weights = weights(pairs);
  p.single.bias = y_blocks * 16;
  const int64_t y = floats(checked_mul(pairs.batch, pairs.y_blocks), pairs.out_pixels());
  expect_f32("conv", call.operands, 0,
             floats(checked_mul(pairs.batch, pairs.x_blocks), pairs.in_pixels()));
  expect_f32("conv", call.operands, 1, checked_add(p.single.weights, weights(single)));
  if (call.operands[2].present) expect_f32("conv", call.operands, 2, pairs.y_blocks * 16);
  if (call.operands[3].present) expect_f32("conv", call.operands, 3, y);
  expect_f32("conv", call.operands, 4, y);
  plan.tasks = checked_add(plan.tasks, more.tasks);
  plan.work += more.work;
  plan.scratch_bytes = std::max(plan.scratch_bytes, more.scratch_bytes);
}

Plan prepare(const Call& call) {
  const auto c = calls::decode<calls::Conv>(call);
  auto p = std::make_shared<Params>();
  Plan plan = plan_blocked_conv("conv", c.conv, c.depth, call.operands, false, p->groups.params);
  isa::ConvShape& shape = p->groups.params.shape;
  shape.pair_c = c.pair_c;
  shape.pair_m = c.pair_m;
  p->groups.tasks = plan.tasks;
  if (c.single) add_single(c, call, *p, plan);
  plan.run = run;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv", prepare};

}  // namespace poprt::kernels::conv_kernel

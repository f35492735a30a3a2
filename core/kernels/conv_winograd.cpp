// conv_winograd (calls/conv_winograd.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/conv_winograd.h"
#include "kernels/common/conv.h"
#include "kernels/isa/winograd.h"

namespace poprt::kernels::conv_winograd_kernel {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::WinogradBlocking blocking;
  const isa::WinogradTable* table;
};

// The number of tiles of a task whose weights are already transformed. Their transformed inputs
// take at most 640 KiB of an L2 cache of 1 MiB, unless eight tiles take more.
int64_t tiles_of_transformed(const isa::ConvShape& s, int64_t positions, int64_t tiles,
                             int64_t wanted) {
  const int64_t most =
      std::clamp<int64_t>(163840 / checked_mul(positions, isa::winograd_blocks(s) * 16), 8, 168);
  // If the weights fit into the L2 cache, each task has fewer tiles; otherwise it has fewer output
  // channels, and its inputs are transformed again.
  const bool small_weights = positions * s.c * s.oc_blocks * 64 <= 768 << 10;
  if (!small_weights && tiles < 28 * wanted) return most;
  return std::min(most, std::max<int64_t>(12, ceil_div(tiles, wanted)));
}

// The same if each task transforms its weights, which pays for many tiles. Products read the inputs
// and weights of one row of positions and of kSummedSegments blocks of input channels at a time;
// these inputs take half of an L2 cache of 1 MiB. All inputs of a task take at most 8 MiB, unless
// eight tiles take more.
int64_t tiles_of_plain(const isa::ConvShape& s, int64_t edge) {
  const int64_t c = isa::winograd_blocks(s) * 16, summed = std::min(c, isa::kSummedSegments * 16);
  const int64_t most = (int64_t{2} << 20) / checked_mul(edge * edge, c);
  return std::clamp<int64_t>(std::min(131072 / (edge * summed), most), 8, 168);
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_winograd";
  const auto named = calls::decode<calls::ConvWinograd>(call);
  const ConvCall c =
      read_conv(kName, named.conv, call.operands, named.depth, false, ConvTypes::bf16_or_f32);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  isa::WinogradBlocking& b = p->blocking;
  b.tile = named.tile;
  b.transformed = !named.plain_weights;
  const int64_t positions = (b.tile + 2) * (b.tile + 2);
  expect_stored(kName, call.operands, 0, c.x_elements);
  expect_f32(
      kName, call.operands, 1,
      checked_mul(checked_mul(b.transformed ? positions : int64_t{9}, checked_mul(s.c, s.kd)),
                  checked_mul(s.oc_blocks, int64_t{16})));
  p->table = &POPRT_SELECT_ISA(winograd);

  const int64_t tiles = checked_mul(checked_mul(s.batch, s.od),
                                    checked_mul(ceil_div(s.oh, b.tile), ceil_div(s.ow, b.tile)));
  const double products = static_cast<double>(tiles) * static_cast<double>(positions);
  const double work = conv_ns(c, products * 2 * static_cast<double>(s.c * s.kd) *
                                     static_cast<double>(s.oc_blocks) * 16) +
                      products * static_cast<double>(isa::winograd_blocks(s) + s.oc_blocks) * 1.5;
  // There are about eight tasks of at least 20 microseconds.
  const auto wanted = static_cast<int64_t>(std::clamp(work / 20e3, 1.0, 8.0));
  b.tiles = b.transformed ? tiles_of_transformed(s, positions, tiles, wanted)
                          : tiles_of_plain(s, b.tile + 2);
  b.tiles = ceil_div(tiles, ceil_div(tiles, b.tiles));
  b.tile_tasks = ceil_div(tiles, b.tiles);
  b.vectors = p->table->best_vectors(b.tiles, s.oc_blocks);
  b.oc_blocks = s.oc_blocks;
  if (b.tile_tasks < wanted)
    b.oc_blocks = std::max<int64_t>(4, ceil_div(s.oc_blocks, ceil_div(wanted, b.tile_tasks)));
  b.oc_blocks = std::min(s.oc_blocks, ceil_div(b.oc_blocks, b.vectors) * b.vectors);
  b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);

  Plan plan;
  plan.run = run_conv<Params>;
  plan.tasks = checked_mul(b.tile_tasks, b.oc_tasks);
  plan.work = work;
  plan.scratch_bytes = static_cast<size_t>(checked_mul(b.scratch_floats(s), int64_t{4}));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_winograd", prepare};

}  // namespace poprt::kernels::conv_winograd_kernel

// recurrent_step: one time step of LSTM, GRU or RNN in one direction, all f32. The products of the
// inputs with W for the whole sequence come ready (x); the step adds R times the state and updates
// the cell. Operands [x, r, bias?, peephole?, lens? (s32), v?, h_prev?, c_prev?, h, c?, y?]:
//   x        rows of one sequence and time at x_offset + (time * batch + sequence) * x_row, in them
//            gate g of block b (16 hidden units) at b * x_block + g * x_gate
//   r        [blocks, hidden, gates, 16], units past `hidden` zero
//   bias     [2 * gates of the cell, hidden]: of W, then of R; peephole [3, hidden]
//   lens     valid steps of each sequence; later steps keep the state and give zeros in y
//   v        [batch, hidden], what r multiplies (the previous h, or r * h of a GRU's second half);
//            omitted: zeros. h_prev and c_prev [batch, hidden] likewise
//   h, c     [batch, hidden], the new state; h must not be v
//   y        [steps, directions, batch, hidden], gets h too
// Ints [kind (isa/recurrent.h), steps, batch, hidden, directions, direction, step, reverse,
// x_offset, x_row, x_block, x_gate, input_forget, activations f, g, h]; floats [clip (0: none),
// alpha and beta of f, g, h].
#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "kernels/isa/recurrent.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

constexpr std::string_view kName = "recurrent_step";
constexpr int64_t kGroup = 4;          // rows that share one pass over r
constexpr int64_t kPrefetched = 4096;  // the most floats of v to fetch ahead: half of an L1 cache

struct Params {
  isa::RecurrentCell cell;
  const isa::RecurrentTable* table = nullptr;
  int64_t steps = 0, batch = 0, directions = 1, direction = 0, step = 0;
  bool reverse = false;
  int64_t x_offset = 0, x_row = 0;
  int64_t gates = 1, blocks = 0, per_task = 1;
};

enum Slot { kX, kR, kBias, kPeephole, kLens, kV, kHPrev, kCPrev, kH, kC, kY, kSlots };

int64_t length_of(const Params& p, const void* lens, int64_t b) noexcept {
  if (!lens) return p.steps;
  int32_t n;
  std::memcpy(&n, static_cast<const std::byte*>(lens) + b * 4, 4);
  return std::clamp<int64_t>(n, 0, p.steps);
}

// A sequence that is over: its state stays, its output is zero.
void keep(const Params& p, const isa::RecurrentRow& row, int64_t block) noexcept {
  const int64_t first = block * 16, n = std::min<int64_t>(16, p.cell.hidden - first);
  const auto copy = [&](float* to, const float* from) {
    if (!to) return;
    for (int64_t i = 0; i < n; i++) to[first + i] = from ? from[first + i] : 0.0f;
  };
  copy(row.h, row.h_prev);
  copy(row.c, row.c_prev);
  copy(row.y, nullptr);
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t hidden = p.cell.hidden;
  const int64_t from = begin * p.per_task, to = std::min(end * p.per_task, p.blocks);
  const auto at = [&](int slot, int64_t offset) {
    auto* q = static_cast<float*>(data[slot]);
    return q ? q + offset : nullptr;
  };
  const auto* r = static_cast<const float*>(data[kR]);
  // Another processor has just written half of v: fetch its lines together, not one by one.
  if (const float* v = at(kV, 0); v && p.batch * hidden <= kPrefetched)
    for (int64_t i = 0; i < p.batch * hidden; i += 16) __builtin_prefetch(v + i);
  for (int64_t i = from; i < to; i++) {
    // Every other step walks r backwards, so that what the last step left in the cache is used.
    const int64_t block = p.step % 2 ? from + to - 1 - i : i;
    std::array<isa::RecurrentRow, kGroup> rows;
    int64_t n = 0;
    const auto flush = [&] {
      if (n)
        p.table->block(p.cell, rows.data(), n, block, r + block * hidden * p.gates * 16,
                       at(kBias, 0), at(kPeephole, 0));
      n = 0;
    };
    for (int64_t b = 0; b < p.batch; b++) {
      const int64_t length = length_of(p, data[kLens], b);
      const bool active = p.step < length;
      const int64_t time = active && p.reverse ? length - 1 - p.step : p.step;
      const int64_t state = b * hidden;
      const isa::RecurrentRow row = {
          at(kX, p.x_offset + (time * p.batch + b) * p.x_row),
          at(kV, state),
          at(kHPrev, state),
          at(kCPrev, state),
          at(kH, state),
          at(kC, state),
          at(kY, ((time * p.directions + p.direction) * p.batch + b) * hidden)};
      if (!active) {
        keep(p, row, block);
        continue;
      }
      rows[static_cast<size_t>(n++)] = row;
      if (n == kGroup) flush();
    }
    flush();
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == kSlots && call.ints.size() == 16 && call.floats.size() == 7, kName,
         "expected 11 operands, 16 integers and 7 floats");
  auto params = std::make_shared<Params>();
  Params& p = *params;
  isa::RecurrentCell& cell = p.cell;
  const auto kind = call.ints[0];
  expect(kind >= 0 && kind < isa::kRecurrentKinds, kName, "unknown kind");
  cell.kind = static_cast<isa::RecurrentKind>(kind);
  p.steps = call.ints[1];
  p.batch = call.ints[2];
  cell.hidden = call.ints[3];
  p.directions = call.ints[4];
  p.direction = call.ints[5];
  p.step = call.ints[6];
  p.reverse = call.ints[7] != 0;
  p.x_offset = call.ints[8];
  p.x_row = call.ints[9];
  cell.x_block = call.ints[10];
  cell.x_gate = call.ints[11];
  cell.input_forget = call.ints[12] != 0;
  for (size_t i = 0; i < 3; i++) {
    const int64_t a = call.ints[13 + i];
    expect(a >= 0 && a < isa::kRecurrentActivations, kName, "unknown activation");
    cell.activation[i] = static_cast<isa::RecurrentActivation>(a);
    cell.alpha[i] = call.floats[1 + 2 * i];
    cell.beta[i] = call.floats[2 + 2 * i];
  }
  cell.clip = call.floats[0];
  constexpr int64_t kHuge = int64_t{1} << 40;
  for (size_t i = 1; i <= 6; i++)
    expect(call.ints[i] >= 0 && call.ints[i] < kHuge, kName, "negative or huge size");
  for (size_t i = 8; i <= 11; i++)
    expect(call.ints[i] >= 0 && call.ints[i] < kHuge, kName, "negative or huge stride");
  expect(p.step < p.steps && p.direction < p.directions && cell.hidden > 0, kName,
         "the step or the direction is outside its range");
  p.blocks = (cell.hidden + 15) / 16;
  // Gates that r has, and that the cell has in x and bias.
  p.gates = std::array<int64_t, 5>{1, 4, 3, 2, 1}[static_cast<size_t>(kind)];
  const int64_t total = std::array<int64_t, 5>{1, 4, 3, 3, 3}[static_cast<size_t>(kind)];
  const auto mul = [](int64_t a, int64_t b) { return checked_mul(a, b, "recurrent_step"); };
  const auto room = [&](Slot slot, bool required, int64_t elements, DType dtype = DType::f32) {
    const Operand& o = call.operands[slot];
    if (!o.present) return expect(!required, kName, "an operand is missing");
    expect(o.dtype == dtype, kName, "an operand has another dtype");
    expect(o.bytes / 4 >= static_cast<uint64_t>(elements), kName, "an operand is too short");
  };
  const int64_t state = mul(p.batch, cell.hidden);
  if (p.batch > 0) {
    const int64_t row = checked_add(mul(mul(p.steps, p.batch) - 1, p.x_row),
                                    checked_add(p.x_offset, mul(total - 1, cell.x_gate)));
    const auto block_end = [&](int64_t block) {
      return checked_add(mul(block, cell.x_block), std::min<int64_t>(16, cell.hidden - block * 16));
    };
    room(kX, true, checked_add(row, block_end(p.blocks - 1)));
    if (p.blocks > 1) room(kX, true, checked_add(row, block_end(p.blocks - 2)));
  }
  room(kR, true, mul(mul(p.blocks * 16, cell.hidden), p.gates));
  room(kBias, false, mul(2 * total, cell.hidden));
  room(kPeephole, false, mul(3, cell.hidden));
  room(kLens, false, p.batch, DType::s32);
  room(kV, false, state);
  room(kHPrev, false, state);
  room(kCPrev, cell.kind == isa::RecurrentKind::gru_state, state);
  room(kH, true, state);
  room(kC, cell.kind == isa::RecurrentKind::lstm || cell.kind == isa::RecurrentKind::gru_gates,
       state);
  room(kY, false, mul(mul(p.steps, p.directions), state));
  p.table = &POPRT_SELECT_ISA(recurrent);

  Plan plan;
  plan.outputs = 3;
  plan.run = run;
  const double bytes = 4.0 * static_cast<double>(cell.hidden * cell.hidden * p.gates);
  // r streams from the L2 cache (100 bytes a nanosecond) or, when it is larger, from beyond (45).
  const double stream = bytes / (bytes < 600e3 ? 100.0 : 45.0);
  const double multiply =
      bytes / 4 * 2 * static_cast<double>(p.batch) / 100.0;  // 100 operations a nanosecond
  plan.work = call.operands[kV].present ? std::max(stream, multiply) : 100;
  // Fixed pieces of some 10 microseconds: each thread of two owns half of r.
  const auto pieces = std::clamp<int64_t>(static_cast<int64_t>(plan.work / 10e3), 1, p.blocks);
  p.per_task = (p.blocks + pieces - 1) / pieces;
  plan.tasks = (p.blocks + p.per_task - 1) / p.per_task;
  plan.params = std::move(params);
  return plan;
}

}  // namespace

extern const Kernel recurrent_step_kernel;
const Kernel recurrent_step_kernel = {kName, prepare};

}  // namespace poprt::kernels

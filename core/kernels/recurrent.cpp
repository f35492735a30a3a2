// recurrent (calls/recurrent.h).
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "kernels/calls/recurrent.h"
#include "kernels/common/dynamic_grid.h"
#include "kernels/common/vnni_product.h"
#include "kernels/isa/recurrent.h"
#include "kernels/kernel.h"

namespace poprt::kernels::recurrent_kernel {
namespace {

constexpr std::string_view kName = "recurrent";
constexpr int64_t kGroup = 4;  // number of sequences that share one pass over r
// number of groups whose rows are found once for each step instead of once for each block
constexpr int64_t kTogether = 8;
constexpr int64_t kPrefetched = 4096;  // the most floats of v to prefetch: half of an L1 cache

struct Params {
  isa::RecurrentCell cell;
  const isa::RecurrentTable* table = nullptr;
  int64_t steps = 0, batch = 0, directions = 1, direction = 0;
  bool reverse = false;
  int64_t x_offset = 0, x_row = 0;
  int64_t gates = 1, blocks = 0;
  bool chain_in_y = false;          // the states are in y; without `lens`, each step writes its row
  int64_t cell_row = 0, z_row = 0;  // in work
  bool bytes = false;               // r and the state in its product are bytes
  const isa::VnniTable* vnni_table = nullptr;
  const isa::QuantizeTable* quantize = nullptr;
  bool vnni = false;
  // If false, work is split by sequences: a task is per_task groups for all steps. If true, it is
  // split by units: a task is per_task blocks of one half step, and the tasks of a round start
  // after the previous round.
  bool by_units = false;
  int64_t per_task = 1, pieces = 1;

  bool two_halves() const { return cell.kind == isa::RecurrentKind::gru_gates; }
  int64_t groups() const { return (batch + kGroup - 1) / kGroup; }
};

enum Slot {
  kX,
  kR,
  kRState,
  kRSums,
  kRScales,
  kBias,
  kPeephole,
  kLens,
  kHFirst,
  kCFirst,
  kY,
  kHLast,
  kCLast,
  kWork,
  kSlots
};

int64_t length_of(const Params& p, const void* lens, int64_t b) noexcept {
  if (!lens) return p.steps;
  int32_t n;
  std::memcpy(&n, static_cast<const std::byte*>(lens) + b * 4, 4);
  return std::clamp<int64_t>(n, 0, p.steps);
}

// Handles a sequence that has ended: its state is kept, and its output is zero.
void keep_state(const Params& p, const isa::RecurrentRow& row, int64_t block) noexcept {
  const int64_t first = block * 16, n = std::min<int64_t>(16, p.cell.hidden - first);
  const auto copy = [&](float* to, const float* from) {
    if (!to) return;
    for (int64_t i = 0; i < n; i++) to[first + i] = from ? from[first + i] : 0.0f;
  };
  copy(row.h, row.h_prev);
  copy(row.c, row.c_prev);
  copy(row.y, nullptr);
}

// The addresses of the states of one sequence.
struct States {
  const Params& p;
  void* const* data;
  int64_t sequence;

  float* at(int slot, int64_t offset) const {
    auto* q = static_cast<float*>(data[slot]);
    return q ? q + offset : nullptr;
  }
  float* state(int slot, int64_t row = 0) const {
    return at(slot, (row * p.batch + sequence) * p.cell.hidden);
  }
  float* y(int64_t time) const { return state(kY, time * p.directions + p.direction); }
  // The state after `step`; -1: before the first step. Null represents zeros.
  float* h(int64_t step) const {
    if (step < 0) return state(kHFirst);
    if (p.chain_in_y) return y(p.reverse ? p.steps - 1 - step : step);
    return step + 1 == p.steps && data[kHLast] ? state(kHLast) : state(kWork, step % 2);
  }
  float* c(int64_t step) const {
    if (p.cell.kind != isa::RecurrentKind::lstm) return nullptr;
    if (step < 0) return state(kCFirst);
    return step + 1 == p.steps && data[kCLast] ? state(kCLast) : state(kWork, p.cell_row);
  }
};

isa::RecurrentRow row_of(const Params& p, void* const* data, int64_t sequence, int64_t step,
                         int64_t time, bool second_half) noexcept {
  const States s{p, data, sequence};
  isa::RecurrentRow row{};
  row.x = s.at(kX, p.x_offset + (time * p.batch + sequence) * p.x_row);
  row.h_prev = s.h(step - 1);
  row.v = row.h_prev;
  row.c_prev = s.c(step - 1);
  row.h = s.h(step);
  row.c = s.c(step);
  const bool last = step + 1 == p.steps;
  row.y = !p.chain_in_y ? s.y(time) : last ? s.state(kHLast) : nullptr;
  if (!p.two_halves()) return row;
  float *z = s.state(kWork, p.z_row), *gated = s.state(kWork, p.z_row + 1);
  if (second_half) {
    row.v = row.v ? gated : nullptr;
    row.c_prev = z;
  } else {
    row.h = gated;
    row.c = z;
    row.y = nullptr;
  }
  return row;
}

// States as bytes: rows of 4 * vnni_steps(hidden) bytes, with the rows of a group side by side, and
// their quantisation grids.
struct ByteStates {
  uint8_t* bytes = nullptr;
  DynamicGrid* grids = nullptr;
  int64_t row_bytes = 0;

  ByteStates() = default;
  ByteStates(const Params& p, std::byte* scratch)
      : bytes(reinterpret_cast<uint8_t*>(scratch) + p.groups() * kGroup * sizeof(DynamicGrid)),
        grids(reinterpret_cast<DynamicGrid*>(scratch)),
        row_bytes(4 * vnni_steps(p.cell.hidden)) {}
  static size_t size(const Params& p) {
    return static_cast<size_t>(checked_mul(
        p.groups() * kGroup,
        checked_add(4 * vnni_steps(p.cell.hidden), static_cast<int64_t>(sizeof(DynamicGrid)))));
  }
  void put(const Params& p, int64_t at, const float* v) const {
    const DynamicGrid grid = dynamic_grid(*p.quantize, v, p.cell.hidden);
    grids[at] = grid;
    uint8_t* to = bytes + at * row_bytes;
    p.quantize->quantize(isa::Whole::u8, to, v, &grid.scale, &grid.zero, false, p.cell.hidden);
    std::fill(to + p.cell.hidden, to + row_bytes, uint8_t{0});
  }
};

// products[i] is the product of a block of r and row `at` + i of the bytes, for i < n.
void multiply_bytes(const Params& p, void* const* data, const ByteStates& states, int64_t at,
                    int64_t n, int64_t block, float (*products)[isa::kVnniPanel]) noexcept {
  const int64_t steps = vnni_steps(p.cell.hidden);
  int32_t sums[kGroup * isa::kVnniPanel];
  const auto* panel = static_cast<const uint8_t*>(data[kR]) + block * steps * isa::kVnniBytes;
  p.vnni_table->multiply(isa::VnniSigns::panel, p.vnni, states.bytes + at * states.row_bytes,
                         states.row_bytes, n, {panel, nullptr, steps}, false, sums);
  for (int64_t i = 0; i < n; i++) {
    const auto [scale, zero] = states.grids[at + i];
    p.vnni_table->real(
        products[i], sums + i * isa::kVnniPanel, isa::kVnniPanel, static_cast<int32_t>(zero),
        static_cast<const int32_t*>(data[kRSums]) + block * isa::kVnniPanel, scale,
        static_cast<const float*>(data[kRScales]) + block * isa::kVnniPanel, false, nullptr);
  }
}

// The rows of group g whose sequences have not ended at `step`; the others only keep their state.
struct GroupRows {
  std::array<isa::RecurrentRow, kGroup> active, over;
  int64_t active_count = 0, over_count = 0;

  void find(const Params& p, void* const* data, int64_t g, int64_t step,
            bool second_half) noexcept {
    for (int64_t b = g * kGroup; b < std::min((g + 1) * kGroup, p.batch); b++) {
      const int64_t length = length_of(p, data[kLens], b);
      const bool is_active = step < length;
      const int64_t time = is_active && p.reverse ? length - 1 - step : step;
      const isa::RecurrentRow row = row_of(p, data, b, step, time, second_half);
      if (is_active)
        active[static_cast<size_t>(active_count++)] = row;
      else
        over[static_cast<size_t>(over_count++)] = row;
    }
  }
};

// Computes one half step (for most cells the whole step) of blocks [from, to) and of groups [first,
// last).
void advance(const Params& p, void* const* data, int64_t half_step, int64_t from, int64_t to,
             int64_t first, int64_t last, std::byte* scratch) noexcept {
  const int64_t step = p.two_halves() ? half_step / 2 : half_step;
  const bool second_half = p.two_halves() && half_step % 2;
  isa::RecurrentCell cell = p.cell;
  if (second_half) cell.kind = isa::RecurrentKind::gru_state;
  const int64_t gates = second_half ? 1 : p.gates;
  const auto* r = static_cast<const float*>(data[second_half ? kRState : kR]);
  const auto *bias = static_cast<const float*>(data[kBias]),
             *peephole = static_cast<const float*>(data[kPeephole]);
  // Another core has just written a part of v. Prefetching fetches its cache lines at the same time
  // instead of one by one.
  if (p.by_units && p.batch * cell.hidden <= kPrefetched)
    for (int64_t b = 0; b < p.batch; b++)
      if (const float* v = row_of(p, data, b, step, step, second_half).v)
        for (int64_t i = 0; i < cell.hidden; i += 16) __builtin_prefetch(v + i);
  const ByteStates states = p.bytes ? ByteStates(p, scratch) : ByteStates();
  for (int64_t begin = first; begin < last; begin += kTogether) {
    const int64_t groups = std::min(kTogether, last - begin);
    std::array<GroupRows, kTogether> rows;
    for (int64_t g = 0; g < groups; g++) {
      GroupRows& of = rows[static_cast<size_t>(g)];
      of.find(p, data, begin + g, step, second_half);
      for (int64_t i = 0; p.bytes && i < of.active_count; i++)
        if (const float* v = of.active[static_cast<size_t>(i)].v)
          states.put(p, (begin + g) * kGroup + i, v);
    }
    for (int64_t i = from; i < to; i++) {
      // Every other step reads r backwards, to use the part that the last step left in the cache.
      const int64_t block = step % 2 ? from + to - 1 - i : i;
      const float* weights = p.bytes ? nullptr : r + block * cell.hidden * gates * 16;
      // Groups do not depend on how the work is split, so the bits of the result do not depend on
      // it either.
      for (int64_t g = 0; g < groups; g++) {
        const GroupRows& of = rows[static_cast<size_t>(g)];
        for (int64_t n = 0; n < of.over_count; n++)
          keep_state(p, of.over[static_cast<size_t>(n)], block);
        if (of.active_count == 0) continue;
        float sums[kGroup][isa::kVnniPanel];
        const bool multiplied = p.bytes && of.active[0].v;
        if (multiplied)
          multiply_bytes(p, data, states, (begin + g) * kGroup, of.active_count, block, sums);
        p.table->block(cell, of.active.data(), of.active_count, block, weights,
                       multiplied ? sums[0] : nullptr, bias, peephole);
      }
    }
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  if (p.by_units) {
    for (int64_t task = begin; task < end; task++) {
      const int64_t from = task % p.pieces * p.per_task;
      advance(p, data, task / p.pieces, from, std::min(from + p.per_task, p.blocks), 0, p.groups(),
              scratch);
    }
    return;
  }
  const int64_t half_steps = p.two_halves() ? 2 * p.steps : p.steps;
  for (int64_t s = 0; s < half_steps; s++)
    advance(p, data, s, 0, p.blocks, begin * p.per_task, std::min(end * p.per_task, p.groups()),
            scratch);
}

// Runs a call with twelve operands: without r_sums and r_scales.
void run_of_floats(const void* params, void* const* data, int64_t begin, int64_t end,
                   std::byte* scratch) noexcept {
  std::array<void*, kSlots> slots{};
  std::copy_n(data, kRSums, slots.begin());
  std::copy_n(data + kRSums, kSlots - kBias, slots.begin() + kBias);
  run(params, slots.data(), begin, end, scratch);
}

// Nanoseconds of a step of `groups` groups on a thread that computes 1 / `share` of the units.
double step_ns(const Params& p, int64_t groups, int64_t share) {
  const double gates = static_cast<double>(p.two_halves() ? 3 : p.gates);
  const double hidden = static_cast<double>(p.cell.hidden);
  const double elements = gates * hidden * hidden / static_cast<double>(share);
  // r is streamed from the L2 cache (100 bytes per nanosecond) or, if it is larger, from beyond it
  // (45). 100 operations, or 300 with bytes, take a nanosecond.
  const double stored = p.bytes ? elements : 4 * elements;
  const double stream = stored / (stored < 600e3 ? 100.0 : 45.0);
  const double rows = static_cast<double>(std::min(groups * kGroup, p.batch));
  return std::max(stream, elements * 2 * rows / (p.bytes ? 300.0 : 100.0));
}

// Threads that process different sequences never wait for each other. Threads that process
// different units read less of r each, but exchange the state after every step, which costs about 2
// microseconds.
void split(Params& p, int64_t threads) {
  const int64_t groups = p.groups();
  p.per_task = std::max<int64_t>(1, (groups + threads - 1) / threads);
  p.pieces = std::min(threads, p.blocks);
  const int64_t half_steps = p.two_halves() ? 2 : 1;
  const double exchange = 2e3 * static_cast<double>(half_steps);
  p.by_units = step_ns(p, groups, p.pieces) + exchange < step_ns(p, p.per_task, 1);
  if (!p.by_units) return;
  p.per_task = (p.blocks + p.pieces - 1) / p.pieces;
  p.pieces = (p.blocks + p.per_task - 1) / p.per_task;
}

void read_byte_weights(const Call& call, Params& p) {
  expect(p.cell.kind == isa::RecurrentKind::lstm, kName, "only an lstm can have r as bytes");
  const int64_t columns = checked_mul(p.blocks, isa::kVnniPanel, "recurrent");
  const int64_t bytes = checked_mul(checked_mul(columns, vnni_steps(p.cell.hidden), "recurrent"),
                                    int64_t{4}, "recurrent");
  const auto room = [&](Slot slot, DType dtype, int64_t least) {
    const Operand& o = call.operands[slot];
    expect(o.present && o.dtype == dtype && o.bytes >= static_cast<uint64_t>(least), kName,
           "weights in bytes, their sums or scales are missing or too short");
  };
  room(kR, DType::s8, bytes);
  room(kRSums, DType::s32, 4 * columns);
  room(kRScales, DType::f32, 4 * columns);
  p.vnni_table = &POPRT_SELECT_ISA(vnni);
  p.quantize = &POPRT_SELECT_ISA(quantize);
  p.vnni = can_use_vnni();
}

Plan prepare(const Call& call) {
  if (call.operands.size() == kSlots - 2) {
    std::vector<Operand> slots(call.operands.begin(), call.operands.end());
    slots.insert(slots.begin() + kRSums, 2, Operand{});
    Call whole = call;
    whole.operands = slots;
    Plan plan = prepare(whole);
    plan.run = run_of_floats;
    return plan;
  }
  expect(call.operands.size() == kSlots, kName, "expected 12 or 14 operands");
  const auto c = calls::decode<calls::Recurrent>(call);
  auto params = std::make_shared<Params>();
  Params& p = *params;
  isa::RecurrentCell& cell = p.cell;
  cell.kind = c.kind;
  cell.in_order = call.reproducible;
  p.steps = c.steps;
  p.batch = c.batch;
  cell.hidden = c.hidden;
  p.directions = c.directions;
  p.direction = c.direction;
  p.reverse = c.reverse;
  p.x_offset = c.x_offset;
  p.x_row = c.x_row;
  cell.x_block = c.x_block;
  cell.x_gate = c.x_gate;
  cell.input_forget = c.input_forget;
  for (size_t i = 0; i < c.activations.size(); i++) {
    cell.activation[i] = c.activations[i].code;
    cell.alpha[i] = c.activations[i].alpha;
    cell.beta[i] = c.activations[i].beta;
  }
  cell.clip = c.clip;
  const auto kind = static_cast<size_t>(c.kind);
  p.blocks = (cell.hidden + 15) / 16;
  // The number of gates in r, and the number of gates of the cell in x and bias.
  p.gates = std::array<int64_t, 5>{1, 4, 3, 2, 1}[kind];
  const int64_t total = std::array<int64_t, 5>{1, 4, 3, 3, 3}[kind];
  const auto mul = [](int64_t a, int64_t b) { return checked_mul(a, b, "recurrent"); };
  const auto room = [&](Slot slot, bool required, int64_t elements, DType dtype = DType::f32) {
    const Operand& o = call.operands[slot];
    if (!o.present) return expect(!required, kName, "an operand is missing");
    expect(o.dtype == dtype, kName, "an operand has another dtype");
    expect(o.bytes / 4 >= static_cast<uint64_t>(elements), kName, "an operand is too short");
  };
  const int64_t state = mul(p.batch, cell.hidden);
  if (p.batch > 0) {
    expect(p.x_row > 0 || mul(p.steps, p.batch) == 1, kName, "rows of x have a stride of 0");
    const int64_t row = checked_add(mul(mul(p.steps, p.batch) - 1, p.x_row),
                                    checked_add(p.x_offset, mul(total - 1, cell.x_gate)));
    const auto block_end = [&](int64_t block) {
      return checked_add(mul(block, cell.x_block), std::min<int64_t>(16, cell.hidden - block * 16));
    };
    room(kX, true, checked_add(row, block_end(p.blocks - 1)));
    if (p.blocks > 1) room(kX, true, checked_add(row, block_end(p.blocks - 2)));
  }
  p.chain_in_y = call.operands[kY].present && !call.operands[kLens].present;
  const bool lstm = cell.kind == isa::RecurrentKind::lstm;
  p.cell_row = p.chain_in_y ? 0 : 2;
  p.z_row = p.cell_row + lstm;
  const int64_t work_rows = p.z_row + (p.two_halves() ? 2 : 0);
  const int64_t matrix = mul(p.blocks * 16, cell.hidden);
  p.bytes = call.operands[kR].dtype == DType::s8;
  if (p.bytes) {
    read_byte_weights(call, p);
  } else {
    room(kR, true, mul(matrix, p.gates));
  }
  room(kRState, p.two_halves(), matrix);
  room(kBias, false, mul(2 * total, cell.hidden));
  room(kPeephole, false, mul(3, cell.hidden));
  room(kLens, false, p.batch, DType::s32);
  for (const Slot slot : {kHFirst, kCFirst, kHLast, kCLast}) room(slot, false, state);
  room(kY, false, mul(mul(p.steps, p.directions), state));
  room(kWork, work_rows > 0, mul(work_rows, state));
  p.table = &POPRT_SELECT_ISA(recurrent);

  split(p, call.threads);
  Plan plan;
  plan.outputs = 4;
  plan.run = run;
  if (p.bytes) plan.scratch_bytes = ByteStates::size(p);
  plan.work = static_cast<double>(p.steps) * step_ns(p, p.groups(), 1);
  if (p.by_units) {
    plan.tasks = p.pieces;
    plan.rounds = p.two_halves() ? 2 * p.steps : p.steps;
  } else {
    plan.tasks = (p.groups() + p.per_task - 1) / p.per_task;
  }
  if (p.batch == 0) plan.tasks = 0;
  plan.params = std::move(params);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::recurrent_kernel

#include "ipu/lowering.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "ipu/calibration.h"
#include "ipu/exchange.h"
#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

// A tile has at least this number of bytes of a tensor.
constexpr int64_t kGrainBytes = 128;

}  // namespace

int64_t OpCost::cycles() const {
  int64_t sum = 0;
  for (const Superstep& s : steps) sum += s.cycles();
  return sum;
}

Lowering::Lowering(const Target& target, const ChipOptions& options, PlanCache& plans)
    : target_(target),
      options_(options),
      plans_(plans),
      tiles_(std::max<int64_t>(1, target.tiles - options.num_io_tiles)) {}

int64_t Lowering::share(DType type, int64_t n) const {
  const int64_t least =
      std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, chip_bytes(type, 1)));
  return std::min(n, std::max(least, round_up(ceil_div(n, tiles_), vector_width(target_, type))));
}

int64_t Lowering::spread(DType type, int64_t n) const {
  return n ? std::min(tiles_, ceil_div(n, share(type, n))) : 0;
}

DType Lowering::partials(DType inputs) const {
  if (inputs == DType::f32) return DType::f32;
  return inputs == DType::f16 && options_.float_partials ? DType::f32 : DType::f16;
}

void Lowering::step(std::string_view what, int64_t bytes, int64_t compute, int64_t tiles,
                    bool shared, int64_t peers) {
  const Calibration& c = calibration();
  bytes += std::exchange(pending_bytes_, 0);
  Superstep s;
  s.what = what;
  s.exchange_bytes = bytes;
  s.tiles = std::clamp<int64_t>(tiles, 1, tiles_);
  s.compute = compute;
  s.repeats = rounds_;
  s.sync = static_cast<int64_t>(c.sync);
  s.overhead = static_cast<int64_t>(c.step_overhead);
  s.exchange = exchange_cycles(target_, bytes, shared, peers);
  cost_.steps.push_back(s);
  temporary(bytes);
  if (std::ranges::find(cost_.vertices, what) == cost_.vertices.end())
    cost_.vertices.push_back(what);
}

void Lowering::temporary(int64_t bytes_per_tile) {
  cost_.temporary_bytes = std::max(cost_.temporary_bytes, bytes_per_tile);
}

OpCost Lowering::take() {
  pending_bytes_ = 0;
  rounds_ = 1;
  return std::exchange(cost_, {});
}

void Lowering::align(DType type, int64_t n) { pending_bytes_ += chip_bytes(type, share(type, n)); }

void Lowering::broadcast(DType type, int64_t n, int64_t to) {
  // A tile reads at most as many elements as it computes.
  pending_bytes_ += chip_bytes(type, std::min(n, share(type, to)));
}

void Lowering::broadcast_rows(DType type, int64_t rows, int64_t to) {
  // A tile has a block of rows with at most this number of columns.
  constexpr int64_t kColumns = 64;
  const int64_t columns = std::clamp<int64_t>(to / std::max<int64_t>(rows, 1), 1, kColumns);
  pending_bytes_ += chip_bytes(type, std::min(rows, ceil_div(share(type, to), columns)));
}

void Lowering::elementwise(Elementwise op, DType type, int64_t n, int64_t operands, bool scalar) {
  if (n == 0) return;
  step("elementwise", 0, elementwise_cycles(target_, op, type, share(type, n), operands, scalar),
       spread(type, n));
}

void Lowering::cast(DType from, DType to, int64_t n) {
  if (n == 0 || from == to) return;
  step("cast", 0, cast_cycles(target_, from, to, share(to, n)), spread(to, n));
}

void Lowering::rearrange(DType type, int64_t n, int64_t piece, int64_t stride) {
  if (n == 0) return;
  const int64_t bytes = chip_bytes(type, share(type, n));
  // A sender has runs that are neighbours in the input, and sends those of one tile together.
  const int64_t runs = std::max<int64_t>(ceil_div(bytes, std::max<int64_t>(piece, 1)), 1);
  const double tiles = std::ceil(static_cast<double>(runs) * static_cast<double>(stride) /
                                 static_cast<double>(std::max<int64_t>(bytes, 1)));
  const auto peers = static_cast<int64_t>(std::clamp(tiles, 1.0, static_cast<double>(runs)));
  step("rearrange", bytes, rearrangement_cycles(bytes, piece), spread(type, n), false, peers);
}

void Lowering::transpose(DType type, int64_t n) {
  if (n == 0) return;
  const int64_t bytes = chip_bytes(type, share(type, n));
  // A tile computes a square block of the result. The exchange brings each of its columns from
  // another tile.
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(share(type, n))));
  step("transpose", bytes, transpose_cycles(target_, type, share(type, n)), spread(type, n), false,
       side);
}

void Lowering::fill(DType type, int64_t n) {
  if (n == 0) return;
  step("fill", 0, fill_cycles(target_, type, share(type, n)), spread(type, n));
}

void Lowering::reduce(DType type, int64_t n, int64_t results, bool contiguous) {
  if (n == 0) return;
  results = std::clamp<int64_t>(results, 1, n);
  const int64_t depth = ceil_div(n, results);
  const int64_t here = share(type, n), on = spread(type, n);
  // The number of results to which the elements of one tile contribute.
  const int64_t own = std::max<int64_t>(1, ceil_div(here, depth));
  step("reduce", 0, reduce_cycles(target_, type, here, own, contiguous), on);
  if (on == 1) return;
  // Intermediate results are summed in steps, until one sum is left for each result.
  int64_t partial = results <= on ? ceil_div(on, results) : 2;
  while (partial > 1) {
    const int64_t radix =
        partial > 64
            ? std::max<int64_t>(
                  2, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(partial)) >> 3))
            : partial;
    const int64_t outputs = results * ceil_div(partial, radix);
    const int64_t each = std::max<int64_t>(1, ceil_div(outputs, on));
    step("reduce", chip_bytes(DType::f32, each * radix),
         reduce_cycles(target_, DType::f32, each * radix, each, false), std::min(on, outputs),
         false, radix);
    partial = ceil_div(partial, radix);
  }
}

void Lowering::softmax(DType type, int64_t rows, int64_t columns) {
  const int64_t n = rows * columns;
  if (n == 0) return;
  if (options_.stable_softmax) {
    reduce(type, n, rows);
    broadcast_rows(type, rows, n);
    elementwise(Elementwise::add, type, n, 2, true);
  }
  elementwise(Elementwise::exp, type, n);
  reduce(type, n, rows);
  elementwise(Elementwise::inverse, DType::f32, rows);
  broadcast_rows(type, rows, n);
  elementwise(Elementwise::add, type, n, 2, true);
}

void Lowering::normalize(DType type, int64_t n, int64_t groups, int64_t channels, bool centered) {
  if (n == 0) return;
  if (centered) {
    reduce(type, n, groups);
    // The squares are summed in the same compute sets as the elements. Only the last of them is
    // counted twice: if all are, fewer of the published networks are within 25 %.
    cost_.steps.back().compute *= 2;
    elementwise(Elementwise::square, DType::f32, groups);
  } else {
    elementwise(Elementwise::square, type, n);
    reduce(type, n, groups);
  }
  elementwise(Elementwise::rsqrt, DType::f32, groups);
  if (centered) {
    broadcast_rows(type, groups, n);
    elementwise(Elementwise::add, type, n, 2, true);
  }
  broadcast_rows(type, groups, n);
  elementwise(Elementwise::add, type, n, 2, true);
  broadcast(type, channels, n);
  elementwise(Elementwise::add, type, n, 2, true);
  if (centered) {
    broadcast(type, channels, n);
    elementwise(Elementwise::add, type, n, 2, true);
  }
}

const Plan& Lowering::product(const Product& product) {
  const Plan& plan = plans_.plan(product, options_.plan_options(target_));
  const PlanCost& c = plan.cost;
  const Split& split = plan.split;
  const int64_t on = split.tiles();
  const int64_t base = static_cast<int64_t>(calibration().sync);
  const auto exchanged = [&](int64_t cycles, bool shared) {
    return cycles ? bytes_in_exchange(target_, cycles - base, shared) : 0;
  };
  const int64_t inputs = exchanged(c.input_exchange, c.shared_input);
  if (split.broadcast()) step("exchange of inputs", inputs, 0, on, c.shared_input);
  begin_repeat(split.rounds());
  if (plan.flattened)
    step("transform", split.broadcast() ? 0 : inputs, c.transform - base, on, c.shared_input);
  if (c.rearrange)
    step("rearrange", bytes_in_exchange(target_, c.rearrange_exchange, false), c.rearrange, on);
  if (c.slice) step("slice operands", 0, c.slice - base, on);
  if (c.weight_exchange) step("exchange of weights", exchanged(c.weight_exchange, false), 0, on);
  step(method_name(plan.method), plan.flattened || split.broadcast() ? 0 : inputs, c.compute, on,
       c.shared_input);
  for (const ReduceStage& stage : c.stages)
    if (stage.depth > 1) step("reduce partials", stage.bytes, stage.compute, on);
  if (c.cast && split.serial_in == 1) step("cast", 0, c.cast - base, on);
  if (c.update) step("update", 0, c.update - base, on);
  if (c.add) step("add in place", 0, c.add - base, on);
  end_repeat(split.rounds());
  if (c.cast && split.serial_in > 1) step("cast", 0, c.cast - base, on);
  temporary(c.temporary_bytes);
  cost_.plan = plan;
  return plan;
}

void Lowering::bias(DType type, int64_t n, int64_t channels) {
  broadcast(type, channels, n);
  elementwise(Elementwise::add, type, n, 2, true);
}

void Lowering::gather(DType type, int64_t rows, int64_t row, int64_t indices) {
  if (!rows || !row || !indices) return;
  // The table is divided by rows and by columns. If there are more tiles than parts, the indices
  // are also divided, and each part of the table is sent to all tiles that look up in it. The
  // fastest division is taken.
  int64_t best = INT64_MAX, best_found = 0, best_columns = 1, best_rows = 1;
  const int64_t atom = vector_width(target_, type);
  for (int64_t columns = 1; columns <= ceil_div(row, atom);
       columns = columns < 4 ? columns + 1 : columns * 5 / 4) {
    const int64_t part = round_up(ceil_div(row, columns), atom);
    for (int64_t parts = 1; parts * columns <= tiles_ && parts <= rows;
         parts = parts < 4 ? parts + 1 : parts * 5 / 4) {
      const int64_t lookups = std::max<int64_t>(1, std::min(indices, tiles_ / (parts * columns)));
      const int64_t each = ceil_div(indices, lookups);
      const int64_t found = parts == 1 ? each : std::min(each, ceil_div(each * 5, parts * 4));
      const int64_t table = chip_bytes(type, ceil_div(rows, parts) * part);
      const int64_t exchange = 4 * each + (lookups > 1 ? table : 0);
      const int64_t outputs = ceil_div(indices * row, parts * columns * lookups);
      const int64_t second = parts > 1 ? chip_bytes(type, outputs * parts) : 0;
      if (lookups > 1 && table > target_.bytes_per_tile / 4) continue;
      const int64_t total = exchange / target_.exchange_bytes +
                            gather_cycles(target_, type, part, each, found) +
                            second / target_.exchange_bytes +
                            (parts > 1 ? reduce_add_cycles(target_, type, outputs, parts) : 0);
      if (total >= best) continue;
      best = total;
      best_found = found;
      best_columns = columns;
      best_rows = parts;
    }
  }
  const int64_t part = round_up(ceil_div(row, best_columns), atom);
  const int64_t lookups =
      std::max<int64_t>(1, std::min(indices, tiles_ / (best_rows * best_columns)));
  const int64_t each = ceil_div(indices, lookups);
  const int64_t table = chip_bytes(type, ceil_div(rows, best_rows) * part);
  step("gather", 4 * each + (lookups > 1 ? table : 0),
       gather_cycles(target_, type, part, each, best_found), best_rows * best_columns * lookups);
  if (best_rows > 1) {
    const int64_t outputs = ceil_div(indices * row, best_rows * best_columns * lookups);
    step("gather", chip_bytes(type, outputs * best_rows),
         reduce_add_cycles(target_, type, outputs, best_rows), tiles_, false, best_rows);
  }
}

void Lowering::pick(DType type, int64_t n) {
  if (n == 0) return;
  const int64_t here = share(type, n);
  step("gather", 4 * here + 4 * chip_bytes(type, here), gather_cycles(target_, type, 1, here, here),
       spread(type, n));
}

void Lowering::scatter(DType type, int64_t n, int64_t row, int64_t indices) {
  if (!n || !indices) return;
  row = std::max<int64_t>(row, 1);
  const int64_t columns = std::min(tiles_, ceil_div(row, vector_width(target_, type)));
  const int64_t part = ceil_div(row, columns);
  const int64_t found = ceil_div(indices, std::max<int64_t>(1, tiles_ / columns));
  // The tensor is copied and its rows are replaced.
  step("copy", 0, copy_cycles(target_, chip_bytes(type, share(type, n)), 8), spread(type, n));
  step("update", 4 * indices + chip_bytes(type, found * part),
       gather_cycles(target_, type, part, indices, found), spread(type, n));
}

void Lowering::update_add(DType type, int64_t rows, int64_t row, int64_t indices) {
  if (!rows || !row || !indices) return;
  // The table is divided into columns. Groups of tiles have copies of it, to which they add a part
  // of the rows; the copies are then summed.
  const int64_t columns = std::min(tiles_, ceil_div(row, vector_width(target_, type)));
  const int64_t part = ceil_div(row, columns);
  const int64_t copies = std::clamp<int64_t>(tiles_ / columns, 1, indices);
  const int64_t each = ceil_div(indices, copies);
  step("update", 4 * each + chip_bytes(type, each * part),
       update_add_cycles(target_, type, part, each, each), columns * copies);
  if (copies == 1) return;
  const int64_t sums = ceil_div(rows * row, columns * copies);
  step("update", chip_bytes(type, sums * copies), reduce_add_cycles(target_, type, sums, copies),
       columns * copies, false, copies);
}

void Lowering::slice(std::string_view what, DType type, int64_t n) {
  if (n == 0) return;
  step(what, 0, dynamic_slice_cycles(target_, type, share(type, n)), spread(type, n));
}

void Lowering::pool(DType type, int64_t channels, int64_t field, int64_t taps, int64_t inputs) {
  if (!channels || !field) return;
  // Channels are divided into vectors, then the field.
  const int64_t vectors = ceil_div(channels, vector_width(target_, type));
  const int64_t parts = std::max<int64_t>(1, tiles_ / std::max<int64_t>(1, vectors));
  const int64_t field_parts = std::min(field, parts);
  const int64_t own = ceil_div(vectors * field_parts, tiles_) * vector_width(target_, type);
  const int64_t each = ceil_div(field, field_parts);
  step("pool", 2 * chip_bytes(type, share(type, inputs)),
       pool_cycles(target_, type, own, each, taps), std::min(tiles_, vectors * field_parts));
}

void Lowering::sort(DType type, int64_t rows, int64_t columns) {
  const int64_t n = rows * columns;
  if (n <= 1) return;
  const auto levels = static_cast<int64_t>(
      std::bit_width(static_cast<uint64_t>(std::max<int64_t>(columns - 1, 1))));
  const int64_t rounds = levels * (levels + 1) / 2;
  begin_repeat(rounds);
  step("compare and exchange", chip_bytes(type, share(type, n)),
       elementwise_cycles(target_, Elementwise::max, type, 2 * share(type, n), 2), spread(type, n));
  end_repeat(rounds);
}

}  // namespace poprt::ipu

#include "ipu/plan_cost.h"

#include <algorithm>

#include "ipu/calibration.h"
#include "ipu/exchange.h"
#include "ipu/numbers.h"
#include "ipu/vertices.h"

namespace poprt::ipu {
namespace {

// The elements of the whole product, padded to the grain.
struct Whole {
  int64_t inputs = 0, weights = 0, results = 0;
};

struct Costing {
  const Target& target;
  const Product& p;
  const PlanOptions& options;
  const Method method;
  const Split& s;
  const Change change;
  const TileWork& w;
  const Grain grain;
  PlanCost& c;

  int64_t depth() const { return s.in * s.kernel; }
  int64_t outputs() const { return w.groups * w.field() * w.out; }
  // Elements of the result of a tile, after the reduction.
  int64_t reduced() const { return ceil_div(outputs(), depth()); }

  // Bytes of an operand that a tile does not have. An operand that is where the plan wants it is
  // divided equally among the tiles that read it.
  int64_t received_inputs() const {
    return c.input_bytes - (p.resident_inputs ? c.input_bytes / s.out : 0);
  }
  int64_t received_weights() const {
    return c.weight_bytes -
           (p.computed_weights ? 0 : c.weight_bytes / (s.batch * s.rows * s.width));
  }
  int64_t input_elements() const;
  Whole whole() const;
  // Sizes of operands and partial sums, and the memory that they need.
  void bytes();
  void steps();
  void sum_partials(int64_t sync);
  void rearrange();
  void objective();
};

// Elements of the inputs that the busiest tile reads, with the border of its field.
int64_t Costing::input_elements() const {
  const int64_t rows = ceil_div(p.rows, s.rows);
  const int64_t in_rows =
      w.kernel_rows == 1 ? rows
                         : (rows - 1) * p.stride_rows + (w.kernel_rows - 1) * p.dilation_rows + 1;
  const int64_t in_width = p.kernel_width == 1 ? w.width
                                               : (w.width - 1) * p.stride_width +
                                                     (p.kernel_width - 1) * p.dilation_width + 1;
  return w.groups * w.in * ceil_div(p.batch, s.batch) * in_rows * in_width;
}

Whole Costing::whole() const {
  const int64_t in = round_up(p.in, grain.in), out = round_up(p.out, grain.out);
  return {p.groups * p.batch * p.rows * p.stride_rows * p.width * p.stride_width * in,
          p.groups * p.taps() * in * out, p.groups * p.field() * out};
}

void Costing::bytes() {
  c.input_bytes = chip_bytes(p.inputs, input_elements());
  c.weight_bytes = chip_bytes(p.inputs, w.groups * w.taps() * w.in * w.out);
  c.partial_bytes = chip_bytes(p.partials, outputs());
  c.reduce_bytes = depth() > 1 ? chip_bytes(p.partials, reduced()) * depth() : 0;
  c.shared_input = s.out % 2 == 0;
  // Sums of the rounds of a loop over input channels.
  const int64_t sums = s.serial_in > 1 ? chip_bytes(p.partials, reduced()) : 0;
  c.bound_bytes = std::max(c.input_bytes + c.weight_bytes + c.partial_bytes, c.reduce_bytes) + sums;
  // Partial sums of the type of the result, in one round, are the result.
  const bool are_temporary = p.partials != p.result || depth() > 1 || s.rounds() > 1;
  c.temporary_bytes =
      std::max(received_inputs() + received_weights() + (are_temporary ? c.partial_bytes : 0),
               depth() > 1 ? c.partial_bytes + c.reduce_bytes : 0) +
      sums;
}

// The cycles of the program. Bytes that a tile already has are not exchanged.
void Costing::steps() {
  const auto sync = static_cast<int64_t>(calibration().sync);
  const int64_t inputs = received_inputs(), weights = received_weights();
  c.input_exchange = inputs > 0 ? exchange_cycles(target, inputs, c.shared_input) + sync : 0;
  c.weight_exchange = weights > 0 ? exchange_cycles(target, weights, false) + sync : 0;
  if (depth() > 1) sum_partials(sync);
  // A reduction writes the type of the result.
  if (p.partials != p.result && (depth() == 1 || s.serial_in > 1))
    c.cast = cast_cycles(target, p.partials, p.result, reduced()) + sync;
  if (s.rounds() > 1) {
    // A tile stores an equal part of an operand, of which it slices the part of a round.
    const auto slice = [&](int64_t elements) {
      return copy_cycles(target, chip_bytes(p.inputs, ceil_div(elements, s.tiles() * s.rounds())),
                         8);
    };
    c.slice = slice(whole().weights) + (s.serial_in > 1 ? slice(whole().inputs) : 0) + sync;
  }
  if (s.serial_out > 1) c.update = copy_cycles(target, chip_bytes(p.result, reduced()), 8) + sync;
  if (s.serial_in > 1)
    c.add = elementwise_cycles(target, Elementwise::add, p.partials, reduced(), 2) + sync;
  if (change.flattened)
    // Neighbours become channels: every input is copied to the places of all taps that read it.
    c.transform = copy_cycles(target, c.input_bytes, 4) + sync;
}

// Every stage of the sum divides the results among the tiles that have partial results of them.
void Costing::sum_partials(int64_t sync) {
  const ReduceDepths depths = reduce_depths(depth(), options.multi_stage_reduce);
  int64_t results = reduced() * depth();
  c.reduce = c.reduce_exchange = 0;
  for (size_t i = 0; i < depths.size() && depths[i] > 1; i++) {
    results = ceil_div(results, depths[i]);
    ReduceStage& stage = c.stages[i];
    stage.depth = depths[i];
    stage.bytes = chip_bytes(p.partials, results) * (depths[i] - 1);
    stage.exchange = exchange_cycles(target, stage.bytes, false);
    stage.compute = reduce_add_cycles(target, p.partials, results, depths[i], options.fast_reduce);
    c.reduce_exchange += stage.exchange + sync;
    c.reduce += stage.compute;
  }
}

// The rearrangements that the library adds: of a matrix product whose right operand is not the
// field, and of channels that are padded. Copies move one element at a time and take 5/4 of the
// cycles that their rate gives, or 5/3 if the channels are not a whole number of vectors.
void Costing::rearrange() {
  const bool turned = p.matmul && !change.swapped;
  const int64_t fused = method == Method::amp ? fused_kernel_rows(target, w) : 1;
  const bool pads_in = p.in % std::max<int64_t>(grain.in / fused, 1) != 0;
  const bool pads_out = p.out % grain.out != 0;
  const Whole all = whole();
  const auto add = [&](DType type, int64_t elements) {
    const int64_t bytes = ceil_div(chip_bytes(type, elements), s.tiles());
    const int64_t rate = std::min(target.memcpy_bytes, chip_bytes(type, 1));
    const int64_t parts = p.in * p.out % vector_width(target, type) ? 3 : 4;
    c.rearranged_bytes = std::max(c.rearranged_bytes, bytes);
    c.rearrange += ceil_div(bytes * 5, parts * rate);
    c.rearrange_exchange += exchange_cycles(target, bytes, false);
  };
  // A round rearranges the slices that it reads and its results.
  if (turned || pads_in || change.flattened) add(p.inputs, ceil_div(all.inputs, s.serial_in));
  if (turned || pads_in || pads_out || change.flattened)
    add(p.inputs, ceil_div(all.weights, s.rounds()));
  if (turned || pads_out) add(p.result, ceil_div(all.results, s.serial_out));
}

void Costing::objective() {
  const auto moved = [&](int64_t bytes, int64_t tiles) { return bytes - bytes / tiles; };
  const int64_t inputs = exchange_cycles(target, moved(c.input_bytes, s.out), c.shared_input);
  const auto sync = static_cast<int64_t>(calibration().sync);
  const auto without = [&](int64_t cycles) { return cycles ? cycles - sync : 0; };
  // Each stage after the first one exchanges all results of the stage before it.
  int64_t later = 0;
  for (size_t i = 1; i < c.stages.size() && c.stages[i].depth > 1; i++) {
    const ReduceStage& stage = c.stages[i];
    later += exchange_cycles(target, ceil_div(stage.bytes * stage.depth, stage.depth - 1), false);
  }
  const int64_t in_loop =
      (s.broadcast() ? 0 : inputs) + later +
      exchange_cycles(target, moved(c.weight_bytes, s.batch * s.rows * s.width), false) +
      c.compute + exchange_cycles(target, c.partial_bytes, false) + c.reduce + c.rearrange +
      c.rearrange_exchange + without(c.slice) + without(c.update) + without(c.add);
  c.objective = s.rounds() * in_loop + (s.broadcast() ? inputs : 0) + without(c.cast);
}

TileWork work_of(const Product& p, const PlanOptions& options, const Grain& g, const Split& s) {
  TileWork w;
  w.groups = std::min(p.groups, ceil_div(ceil_div(p.groups, g.groups), s.groups) * g.groups);
  w.rows = ceil_div(p.batch, s.batch) * ceil_div(p.rows, s.rows);
  w.width = ceil_div(p.width, s.width);
  w.in = std::min(p.in, ceil_div(ceil_div(p.in, g.in), s.in * s.serial_in) * g.in);
  w.out = std::min(p.out, ceil_div(ceil_div(p.out, g.out), s.out * s.serial_out) * g.out);
  w.kernel_rows = ceil_div(p.kernel_rows, s.kernel);
  w.kernel_width = p.kernel_width;
  w.stride = p.stride_width;
  w.inputs = p.inputs;
  w.partials = p.partials;
  w.wide_loads = options.wide_loads;
  return w;
}

}  // namespace

Grain grain_of(const Target& t, const Product& p, Method method) {
  switch (method) {
    case Method::amp: {
      const AmpShape shape = amp_shape(t, p.inputs, p.partials);
      return {1, std::max<int64_t>(shape.group, 1), std::max<int64_t>(shape.units, 1)};
    }
    case Method::slic: return {4, 4, 4};
    case Method::vmac: return {p.inputs == DType::f16 ? 8 : 4, 1, 1};
    case Method::hmac: return {1, vector_width(t, p.inputs), 1};
    case Method::outer_product: return {1, 1, vector_width(t, p.inputs)};
  }
  return {};
}

bool try_plan_cost(const Target& target, const Product& p, const PlanOptions& options,
                   Method method, const Split& s, Change change, TileWork& w, PlanCost& c,
                   int64_t most) {
  const Grain grain = grain_of(target, p, method);
  w = work_of(p, options, grain, s);
  c = {};
  c.compute = vertex_cycles(target, method, w);
  if (c.compute < 0 || s.rounds() * c.compute > most) return false;
  Costing costing{target, p, options, method, s, change, w, grain, c};
  costing.bytes();
  costing.steps();
  costing.rearrange();
  c.temporary_bytes += c.rearranged_bytes;  // the copy exists while the product reads it
  costing.objective();
  if (change.flattened) c.temporary_bytes += c.input_bytes;
  if (change.flattened) c.bound_bytes += c.input_bytes;
  const auto sync = static_cast<int64_t>(calibration().sync);
  const int64_t in_loop = c.rearrange + c.rearrange_exchange + (c.rearrange ? sync : 0) + c.slice +
                          (s.broadcast() ? 0 : c.input_exchange) + c.weight_exchange + c.compute +
                          c.reduce_exchange + c.reduce + c.update + c.add +
                          (s.serial_in > 1 ? 0 : c.cast) + c.transform;
  c.total = s.rounds() * in_loop + (s.broadcast() ? c.input_exchange : 0) +
            (s.serial_in > 1 ? c.cast : 0);
  return true;
}

}  // namespace poprt::ipu

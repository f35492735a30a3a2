#include "ipu/estimate.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ipu/calibration.h"
#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

void add_cycles(Estimate& e) {
  double busy = 0, computing = 0;
  e.stage_cycles.assign(static_cast<size_t>(e.options.num_ipus), 0);
  for (const ChipOp& op : e.program.ops) {
    e.flops += op.flops * op.repeats;
    int64_t& stage = e.stage_cycles[static_cast<size_t>(op.ipu)];
    stage += op.cycles();
    for (const Superstep& s : op.cost.steps) {
      const int64_t times = s.repeats * op.repeats;
      e.compute_cycles += times * s.compute;
      e.exchange_cycles += times * s.exchange;
      e.sync_cycles += times * s.sync;
      e.overhead_cycles += times * s.overhead;
      const auto cycles = static_cast<double>(times * s.compute);
      computing += cycles;
      busy += cycles * static_cast<double>(s.tiles) / static_cast<double>(e.target.tiles);
    }
    if (!op.cost.has_rule && std::ranges::find(e.without_rule, op.type) == e.without_rule.end())
      e.without_rule.push_back(op.type);
  }
  e.tile_balance = computing > 0 ? busy / computing : 0;
}

// Adds the cycles of copying tensors that an IPU reads and another one writes.
void add_inter_ipu(Estimate& e) {
  const Target& t = e.target;
  std::vector<int64_t> writer(e.program.tensors.size(), -1);
  for (const ChipOp& op : e.program.ops)
    for (const size_t o : op.outputs) writer[o] = op.ipu;
  std::set<std::pair<int64_t, size_t>> done;
  for (const ChipOp& op : e.program.ops)
    for (const size_t i : op.inputs) {
      if (writer[i] < 0 || writer[i] == op.ipu) continue;
      if (!done.emplace(op.ipu, i).second) continue;
      const double rate = t.link_gbytes * static_cast<double>(t.links) * 0.85 / t.clock_ghz;
      const int64_t cycles =
          t.global_sync +
          static_cast<int64_t>(static_cast<double>(e.program.tensors[i].bytes) / rate);
      e.inter_ipu_cycles += cycles;
      e.stage_cycles[static_cast<size_t>(op.ipu)] += cycles;
    }
}

// The seconds from batch to batch if the device computes for `busy` seconds. The host prepares a
// batch in a buffer (`fill`), which is transferred (`move`), and then the batch is computed.
//
// Without prefetch the host begins when the chip requests the batch. With it, one buffer is filled
// while the chip computes; a second one is also filled during a transfer. I/O tiles transfer while
// others compute.
double steady_period(const ChipOptions& o, double busy, double fill, double move) {
  const bool overlaps = o.num_io_tiles > 0 && o.batches_per_step > 1;
  const bool several = o.prefetch && o.input_buffers() > 1;
  if (overlaps) return std::max({busy, several ? std::max(fill, move) : fill + move});
  if (!o.prefetch) return fill + move + busy;
  return several ? std::max(fill, move + busy) : move + std::max(fill, busy);
}

// Replicas share the link of the host. The time to prepare a batch is the part of a call that
// other calls can hide, divided among the batches of the call.
void add_host(Estimate& e) {
  const Target& t = e.target;
  const ChipOptions& o = e.options;
  const int64_t bytes = e.program.input_bytes + e.program.output_bytes;
  const double rate = t.host_gbytes * 1e9 / static_cast<double>(o.replicas);
  e.host_seconds = static_cast<double>(bytes) / rate;
  const auto batches = static_cast<double>(o.batches_per_step);
  const double call = calibration().call_overlap_ms * 1e-3;
  e.fill_seconds = std::max(0.0, t.call_milliseconds * 1e-3 - call) / batches;
  // A stream that the host rearranges has one buffer.
  const auto buffer = [&](int64_t stream, int64_t buffers) {
    const int64_t all = std::min(stream, std::numeric_limits<int64_t>::max() / buffers) * buffers;
    if (all <= e.stream_bytes) return;
    e.stream_bytes = all;
    e.stream_buffers = buffers;
  };
  buffer(e.program.largest_input, o.input_buffers());
  buffer(e.program.largest_output, o.rearrange_anchors_on_host ? 1 : o.stream_buffers);
  const double device = t.seconds(static_cast<double>(e.cycles));
  double busy = device;
  if (o.overlap && e.stages > 1) {
    e.pipeline_rounds = o.batches_per_step + e.stages - 1;
    const auto slowest = static_cast<double>(*std::ranges::max_element(e.stage_cycles));
    busy = t.seconds(slowest) * static_cast<double>(e.pipeline_rounds) /
           static_cast<double>(o.batches_per_step);
  }
  const double period = steady_period(o, busy, e.fill_seconds, e.host_seconds);
  e.wait_seconds = period - steady_period(o, busy, 0, e.host_seconds);
  e.period_seconds = period + call / batches;
  e.latency_seconds = device + e.host_seconds + t.call_milliseconds * 1e-3;
  e.throughput = e.period_seconds > 0
                     ? static_cast<double>(e.program.samples * o.replicas) / e.period_seconds
                     : 0;
}

// Whether the program contains something that no published network has.
bool is_unmeasured(const Estimate& e) {
  if (e.options.num_ipus > 1 || !e.without_rule.empty() || !e.program.assumptions.empty())
    return true;
  // The documents of the chip's library advise against a smaller proportion.
  if (e.options.available_memory_proportion < 0.05) return true;
  int64_t convolutions = 0, quarters = 0, products = 0;
  for (const ChipOp& op : e.program.ops) {
    const auto& plan = op.cost.plan;
    if (op.repeats != 1) return true;
    for (const Superstep& s : op.cost.steps)  // loops over time, as in recurrent networks
      if (s.repeats > 1 && (!plan || plan->split.rounds() != s.repeats)) return true;
    if (!plan) continue;
    const Product& p = plan->product;
    if (p.groups > 1 && p.taps() > 1) return true;
    products++;
    convolutions += p.taps() > 1;
    quarters += dtype_bits(p.inputs) == 8;
  }
  return products == 0 || (quarters > 0 && convolutions == 0);
}

void set_quality(Estimate& e) {
  e.host_quality = {Trust::unchecked,
                    e.program.assumptions.empty() ? "factor of 2" : "not measured"};
  e.memory_quality = {Trust::checked, "factor of 2.2 for single products; code is not known"};
  int64_t convolutions = 0, products = 0, floats = 0;
  for (const ChipOp& op : e.program.ops)
    if (op.cost.plan) {
      products++;
      convolutions += op.cost.plan->product.taps() > 1;
      floats += op.cost.plan->product.inputs == DType::f32;
    }
  const bool only_products = products == static_cast<int64_t>(e.program.ops.size());
  if (std::ranges::find(targets(), e.target) == targets().end())
    e.cycle_quality = {Trust::unchecked, "not measured on such a target"};
  else if (is_unmeasured(e))
    e.cycle_quality = {Trust::unchecked, "not measured"};
  else if (floats > 0 && (!only_products || e.target.architecture == "ipu21"))
    e.cycle_quality = {Trust::unchecked, "not measured for products of floats"};
  else if (e.target.architecture == "ipu21" && convolutions > 8)
    e.cycle_quality = {Trust::calibrated, "10 % (one network)"};
  else if (e.target.architecture == "ipu21")
    e.cycle_quality = {Trust::checked, "25 %, small batches up to 50 %"};
  else if (only_products)
    e.cycle_quality = {Trust::checked, "10 % for products, relative to the chip's own model"};
  else
    e.cycle_quality = {Trust::unchecked, "as on a C600, if only the clock differs"};
}

}  // namespace

std::string_view trust_name(Trust trust) {
  constexpr std::string_view names[] = {"calibrated", "checked", "unchecked"};
  return names[static_cast<size_t>(trust)];
}

std::string_view verdict(bool fits, bool borderline) {
  return !fits ? "does not fit" : borderline ? "fits, borderline" : "fits";
}

bool Estimate::fits() const { return tiles_fit() && streams_fit(); }

bool Estimate::tiles_fit() const {
  return std::ranges::all_of(memory, [](const TileMemory& m) { return m.fits(); });
}

bool Estimate::borderline() const {
  return fits() && std::ranges::any_of(memory, [](const TileMemory& m) { return m.borderline(); });
}

int64_t Estimate::tile_bytes() const {
  int64_t bytes = 0;
  for (const TileMemory& m : memory) bytes = std::max({bytes, m.bytes, m.io_tile});
  return bytes;
}

int64_t Estimate::needed_bytes() const {
  int64_t bytes = 0;
  for (const TileMemory& m : memory) bytes = std::max({bytes, m.bytes_with_gaps, m.io_tile});
  return bytes;
}

bool Estimate::streams_fit() const { return stream_bytes <= kStreamBytes; }

double Estimate::utilization() const {
  const double peak = static_cast<double>(target.tiles * target.half_units * 8) *
                      static_cast<double>(cycles) * static_cast<double>(options.num_ipus);
  return peak > 0 ? static_cast<double>(flops) / peak : 0;
}

Estimate estimate_of(ChipProgram program, const Target& target, const ChipOptions& options) {
  Estimate e;
  e.target = target;
  e.options = options;
  e.program = std::move(program);
  add_cycles(e);
  add_inter_ipu(e);
  // Tensors move between I/O tiles and others. Without I/O tiles the host writes to the tiles that
  // compute.
  const int64_t bytes = e.program.input_bytes + e.program.output_bytes;
  if (options.num_io_tiles) e.io_cycles = bytes / options.num_io_tiles / target.exchange_bytes;
  // The first and the last stream are part of the call. Others wait for the host, unless they are
  // grouped with these, or I/O tiles wait while others compute.
  const bool overlaps = options.num_io_tiles > 0 && options.batches_per_step > 1;
  if (!options.group_host_sync && !overlaps)
    e.io_cycles += std::max<int64_t>(0, e.program.streams - 2) * target.global_sync;
  for (const int64_t s : e.stage_cycles) e.cycles += s;
  e.stages = std::max<int64_t>(
      1, std::ranges::count_if(e.stage_cycles, [](int64_t cycles) { return cycles > 0; }));
  e.cycles += e.io_cycles;
  add_host(e);
  e.memory = memory_of(e.program, target, options);
  set_quality(e);
  return e;
}

void assign_ipus(ChipProgram& program, const Target& target, const ChipOptions& options) {
  const int64_t ipus = options.num_ipus;
  if (ipus <= 1 || program.ops.empty()) return;
  // The load of an operation is a weighted mean of two fractions: its part of the bytes of all
  // weights, without weights that an earlier operation reads, and its part of all cycles.
  std::vector<double> load(program.ops.size(), 0);
  std::vector<bool> counted(program.tensors.size(), false);
  double bytes = 0, cycles = 0;
  for (const ChipTensor& t : program.tensors)
    if (t.kind == TensorKind::weight && t.alias_of < 0) bytes += static_cast<double>(t.bytes);
  for (const ChipOp& op : program.ops) cycles += static_cast<double>(op.cycles());
  const double full = bytes / (static_cast<double>(target.memory()) * static_cast<double>(ipus));
  // Only the bytes count if the weights need at least half of the memory.
  const double by_bytes = std::clamp(full * 2, 0.3, 1.0);
  double sum = 0;
  for (size_t i = 0; i < program.ops.size(); i++) {
    double own = 0;
    for (const size_t t : program.ops[i].inputs)
      if (program.tensors[t].kind == TensorKind::weight && !counted[t]) {
        counted[t] = true;
        own += static_cast<double>(program.tensors[t].bytes);
      }
    load[i] =
        by_bytes * (bytes > 0 ? own / bytes : 0) +
        (1 - by_bytes) * (cycles > 0 ? static_cast<double>(program.ops[i].cycles()) / cycles : 0);
    sum += load[i];
  }
  double before = 0;
  for (size_t i = 0; i < program.ops.size(); i++) {
    const double middle = before + load[i] / 2;
    program.ops[i].ipu = std::clamp<int64_t>(
        static_cast<int64_t>(middle / std::max(sum, 1e-30) * static_cast<double>(ipus)), 0,
        ipus - 1);
    before += load[i];
  }
}

}  // namespace poprt::ipu

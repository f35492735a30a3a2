#include "model/chip_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "ipu/report.h"
#include "model/format.h"
#include "model/node_names.h"
#include "model/stable_order.h"

namespace poprt::inspector {

ChipModel::ChipModel(ChipChoice choice, ipu::Estimate estimate, std::vector<ipu::Remedy> remedies)
    : choice_(std::move(choice)), estimate_(std::move(estimate)), remedies_(std::move(remedies)) {
  double now = 0;
  for (size_t i = 0; i < ops().size(); i++) {
    begins_.push_back(now);
    for (const ipu::Superstep& s : ops()[i].cost.steps) {
      const auto times = static_cast<double>(s.repeats * ops()[i].repeats);
      const std::pair<ChipPhase::Kind, int64_t> parts[] = {
          {ChipPhase::control, s.sync + s.overhead},
          {ChipPhase::exchange, s.exchange},
          {ChipPhase::compute, s.compute}};
      for (const auto& [kind, cycles] : parts) {
        if (cycles <= 0) continue;
        const double end = now + times * static_cast<double>(cycles);
        phases_.push_back({kind, i, now, end});
        now = end;
      }
    }
  }
  begins_.push_back(now);
}

size_t ChipModel::op_at(double cycle) const {
  if (ops().empty()) return 0;
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), cycle);
  const auto at = static_cast<size_t>(std::max<std::ptrdiff_t>(after - begins_.begin() - 1, 0));
  return std::min(at, ops().size() - 1);
}

std::vector<size_t> ChipModel::by_cycles() const {
  std::vector<size_t> order(ops().size());
  std::iota(order.begin(), order.end(), size_t{0});
  stable_order(order, [&](size_t a, size_t b) { return ops()[a].cycles() > ops()[b].cycles(); });
  return order;
}

int64_t ChipModel::computing_tiles() const {
  return std::max<int64_t>(1, estimate_.target.tiles - estimate_.options.num_io_tiles);
}

size_t ChipModel::op_or_peak(int64_t ipu, int op) const {
  return op >= 0 ? static_cast<size_t>(op) : estimate_.memory[static_cast<size_t>(ipu)].peak_op;
}

std::vector<double> ChipModel::tile_bytes(int64_t ipu, int op) const {
  std::vector<int64_t> bytes = estimate_.memory[static_cast<size_t>(ipu)].by_tile;
  if (op >= 0 && static_cast<size_t>(op) < ops().size())
    bytes = ipu::bytes_at(estimate_.program, estimate_.target, estimate_.options, ipu,
                          static_cast<size_t>(op));
  return {bytes.begin(), bytes.end()};
}

// The tiles of an operation begin where its result begins.
std::vector<double> ChipModel::tile_cycles(int64_t ipu, int op) const {
  const int64_t tiles = computing_tiles();
  std::vector<double> cycles(static_cast<size_t>(tiles));
  for (size_t i = 0; i < ops().size(); i++) {
    const ipu::ChipOp& o = ops()[i];
    if (o.ipu != ipu || (op >= 0 && static_cast<size_t>(op) != i)) continue;
    const int64_t first =
        o.outputs.empty() ? 0 : ipu::first_tile(estimate_.program.tensors[o.outputs[0]], tiles);
    for (const ipu::Superstep& s : o.cost.steps)
      for (int64_t t = 0; t < std::min(s.tiles, tiles); t++)
        cycles[static_cast<size_t>((first + t) % tiles)] +=
            static_cast<double>(s.compute * s.repeats * o.repeats);
  }
  return cycles;
}

std::vector<ipu::LargestTensor> ChipModel::tensors(int64_t ipu, int op, int64_t tile) const {
  if (ops().empty()) return {};
  return ipu::tensors_at(estimate_.program, estimate_.target, estimate_.options, ipu,
                         op_or_peak(ipu, op), tile);
}

std::vector<std::string> ChipModel::explanation() const {
  std::vector<std::string> lines = ipu::memory_lines(estimate_, remedies_);
  for (std::string& line : lines) line = printable(line);
  return lines;
}

std::string ChipModel::headline() const {
  const ipu::Estimate& e = estimate_;
  return fmt::format("{}: {} cycles, {:.4g} ms [{}, error {}] · {} samples/s · {}", e.target.name,
                     e.cycles, e.milliseconds(), ipu::trust_name(e.cycle_quality.trust),
                     e.cycle_quality.error,
                     e.throughput < 100 ? fmt::format("{:.3g}", e.throughput)
                                        : fmt::format("{:.0f}", e.throughput),
                     ipu::verdict(e.fits(), e.borderline()));
}

ChipModel estimate_on_chip(const ir::Graph& graph, const compiler::DriverOptions& options,
                           const ChipChoice& choice, Progress& progress) {
  progress.step(0.1, "converting for the chip");
  const auto copy = with_unique_names(graph);
  compiler::DriverOptions conversion = options;
  conversion.max_size = compiler::scan_rounds(*copy, options.max_size);
  compiler::convert_model(*copy, conversion);
  compiler::prepare_for_chip(*copy);
  compiler::EstimateOptions o;
  o.target = ipu::target_of(choice.target);
  o.precision = choice.precision == "fp32"         ? compiler::Precision::fp32
                : choice.precision == "fp8"        ? compiler::Precision::fp8
                : choice.precision == "fp8_weight" ? compiler::Precision::fp8_weight
                                                   : compiler::Precision::fp16;
  o.chip.available_memory_proportion = choice.proportion;
  o.chip.num_ipus = choice.ipus;
  o.rounds = options.max_size;
  progress.step(0.4, "planning");
  ipu::Estimate e = ipu::estimate_of(compiler::chip_program(*copy, o), o.target, o.chip);
  std::vector<ipu::Remedy> remedies;
  if (!e.fits()) {
    progress.step(0.7, "looking for options that fit");
    remedies = compiler::find_remedies(*copy, o);
  }
  return ChipModel(choice, std::move(e), std::move(remedies));
}

std::vector<double> chip_times(const GraphModel& graph, const ChipModel& chip) {
  std::vector<std::pair<std::string, double>> times;
  for (const ipu::ChipOp& op : chip.ops())
    times.emplace_back(printable(op.name),
                       1e9 * chip.estimate().target.seconds(static_cast<double>(op.cycles())));
  return sums_of_nodes(graph, times);
}

std::vector<ChipComparison> compare_chips(const ChipModel& a, const ChipModel& b) {
  std::vector<ChipComparison> rows;
  const auto add = [&](const std::string& what, auto value, bool more_is_better = false) {
    rows.push_back(
        {what, static_cast<double>(value(a)), static_cast<double>(value(b)), more_is_better});
  };
  add("cycles", [](const ChipModel& m) { return m.estimate().cycles; });
  add("milliseconds", [](const ChipModel& m) { return m.estimate().milliseconds(); });
  add("samples/s", [](const ChipModel& m) { return m.estimate().throughput; }, true);
  add("compute cycles", [](const ChipModel& m) { return m.estimate().compute_cycles; });
  add("exchange cycles", [](const ChipModel& m) { return m.estimate().exchange_cycles; });
  add("sync cycles", [](const ChipModel& m) { return m.estimate().sync_cycles; });
  add("bytes of the busiest tile", [](const ChipModel& m) { return m.estimate().tile_bytes(); });
  add("  with gaps", [](const ChipModel& m) { return m.estimate().needed_bytes(); });
  add(
      "bytes of a tile", [](const ChipModel& m) { return m.estimate().target.bytes_per_tile; },
      true);
  std::map<std::string, std::pair<double, double>> types;
  for (const ipu::TypeCost& t : ipu::cycles_by_type(a.estimate()))
    types[t.type].first = static_cast<double>(t.cycles);
  for (const ipu::TypeCost& t : ipu::cycles_by_type(b.estimate()))
    types[t.type].second = static_cast<double>(t.cycles);
  for (const auto& [type, cycles] : types)
    if (cycles.first > 0 || cycles.second > 0)
      rows.push_back({printable(type), cycles.first, cycles.second});
  return rows;
}

std::vector<Table> chip_tables(const ChipModel& chip, const ChipModel* other) {
  const ipu::Estimate& e = chip.estimate();
  Table estimate{"estimate", {"what", "value"}, {}};
  estimate.rows = {{std::string("target"), e.target.name},
                   {std::string("cycles"), e.cycles},
                   {std::string("milliseconds"), e.milliseconds()},
                   {std::string("samples/s"), e.throughput},
                   {std::string("fits"), e.fits()},
                   {std::string("borderline"), e.borderline()}};
  for (const std::string& line : e.program.assumptions)
    estimate.rows.push_back({std::string("assumed"), printable(line)});
  for (const std::string& line : chip.explanation())
    estimate.rows.push_back({std::string("out of memory"), line});
  Table memory{"chip memory", {"ipu", "category", "bytes"}, {}};
  for (const ipu::TileMemory& m : e.memory)
    for (size_t i = 0; i < ipu::kCategories; i++)
      if (m.by_category[i])
        memory.rows.push_back({m.ipu,
                               std::string(ipu::category_name(static_cast<ipu::Category>(i))),
                               m.by_category[i]});
  Table operations{"operations", {"operation", "type", "ipu", "cycles", "temporary"}, {}};
  for (const size_t i : chip.by_cycles()) {
    const ipu::ChipOp& op = chip.ops()[i];
    operations.rows.push_back(
        {printable(op.name), printable(op.type), op.ipu, op.cycles(), op.cost.temporary_bytes});
  }
  std::vector<Table> tables = {std::move(estimate), std::move(memory), std::move(operations)};
  if (!other) return tables;
  Table comparison{"comparison", {"what", chip.choice().target, other->choice().target}, {}};
  for (const ChipComparison& row : compare_chips(chip, *other))
    comparison.rows.push_back({row.what, row.a, row.b});
  tables.push_back(std::move(comparison));
  return tables;
}

}  // namespace poprt::inspector

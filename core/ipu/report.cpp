#include "ipu/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json.h"

namespace poprt::ipu {
namespace {

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

// "1 node", "2 nodes".
std::string count_of(int64_t n, std::string_view noun) {
  if (n == 1) return fmt::format("1 {}", noun);
  return fmt::format("{} {}{}", n, noun, noun.ends_with("h") ? "es" : "s");
}

std::string quality_text(const Quality& q) {
  return fmt::format("[{}, error {}]", trust_name(q.trust), q.error);
}

void add_speed(std::string& out, const Estimate& e) {
  const Target& t = e.target;
  out += fmt::format("Target: {} ({}), {}, {} at {} GHz, {}\n", t.name, t.architecture,
                     count_of(e.options.num_ipus, "IPU"), count_of(t.tiles, "tile"), t.clock_ghz,
                     count_of(e.options.num_io_tiles, "I/O tile"));
  out += fmt::format("Cycles: {} for one batch of {}, {:.3f} ms {}\n", e.cycles,
                     count_of(e.program.samples, "sample"), e.milliseconds(),
                     quality_text(e.cycle_quality));
  for (const std::string& line : e.program.assumptions) out += "  assumed: " + line + "\n";
  out += fmt::format(
      "  compute {:.1f} %, exchange {:.1f} %, sync {:.1f} %, control {:.1f} %, I/O {:.1f} %, "
      "between IPUs {:.1f} %\n",
      percent(e.compute_cycles, e.cycles), percent(e.exchange_cycles, e.cycles),
      percent(e.sync_cycles, e.cycles), percent(e.overhead_cycles, e.cycles),
      percent(e.io_cycles, e.cycles), percent(e.inter_ipu_cycles, e.cycles));
  out +=
      fmt::format("  {:.2f} GFLOP, {:.1f} % of the AMP's peak for halves, tile balance {:.0f} %\n",
                  static_cast<double>(e.flops) / 1e9, 100 * e.utilization(), 100 * e.tile_balance);
  out += fmt::format(
      "Throughput: {:.1f} samples/s, {:.3f} ms from batch to batch, {:.3f} ms for a batch that "
      "runs alone {}\n",
      e.throughput, 1e3 * e.period_seconds, 1e3 * e.latency_seconds, quality_text(e.host_quality));
  if (e.pipeline_rounds)
    out += fmt::format(
        "Pipeline: {}, {} for {}: {} fill it and {} drain it; the slowest stage takes {}\n",
        count_of(e.stages, "stage"), count_of(e.pipeline_rounds, "round"),
        count_of(e.options.batches_per_step, "batch"), e.stages - 1, e.stages - 1,
        count_of(*std::ranges::max_element(e.stage_cycles), "cycle"));
  out += fmt::format(
      "Host: {} in and {} out for a batch, {:.3f} ms at {} GB/s{}\n",
      count_of(e.program.input_bytes, "byte"), count_of(e.program.output_bytes, "byte"),
      1e3 * e.host_seconds, t.host_gbytes,
      e.options.replicas > 1 ? fmt::format(", which {} replicas share", e.options.replicas) : "");
  out += fmt::format(
      "  prefetch {}, {} for each input: the host prepares a batch in {:.3f} ms, of which the chip "
      "waits {:.3f} ms\n",
      e.options.prefetch ? "on" : "off", count_of(e.options.input_buffers(), "buffer"),
      1e3 * e.fill_seconds, 1e3 * e.wait_seconds);
}

// Adds the memory of each IPU. IPUs without an operation, which have code only, are only counted.
void add_memory(std::string& out, const Estimate& e) {
  int64_t idle = 0;
  for (const TileMemory& m : e.memory) {
    if (e.memory.size() > 1 && m.fits() &&
        std::ranges::none_of(e.program.ops, [&](const ChipOp& op) { return op.ipu == m.ipu; })) {
      idle++;
      continue;
    }
    out += fmt::format(
        "Memory of IPU {}: {} bytes on the busiest tile ({}), {} with gaps, of {}: {} {}\n", m.ipu,
        m.bytes, m.tile, m.bytes_with_gaps, m.available, verdict(m.fits(), m.borderline()),
        quality_text(e.memory_quality));
    out += fmt::format("  all tiles {:.1f} MB, always live {} bytes per tile\n", megabytes(m.total),
                       m.always);
    for (size_t i = 0; i < kCategories; i++)
      if (m.by_category[i])
        out += fmt::format("  {:<22} {:>10} bytes\n", category_name(static_cast<Category>(i)),
                           m.by_category[i]);
  }
  if (idle > 0) out += fmt::format("IPUs without an operation: {} of {}\n", idle, e.memory.size());
}

void add_types(std::string& out, const Estimate& e) {
  out += fmt::format("Cycles by operator {}:\n", quality_text(e.cycle_quality));
  for (const TypeCost& t : cycles_by_type(e))
    if (t.cycles)
      out += fmt::format("  {:<28} {:>12} cycles {:>5.1f} %  {}\n", t.type, t.cycles,
                         percent(t.cycles, e.cycles), count_of(t.count, "node"));
  // Published networks use at most 45 % of the AMP.
  if (e.utilization() > 0.6 && e.program.ops.size() > 20)
    out +=
        "More than 60 % of the AMP's peak is more than any published network reaches: a cost may "
        "be missing\n";
  if (e.without_rule.empty()) return;
  out += "Operators without a rule, which cost nothing here:";
  for (const std::string& type : e.without_rule) out += " " + type;
  out += "\n";
}

void add_operations(std::string& out, const Estimate& e, const ReportOptions& options) {
  for (const ChipOp& op : e.program.ops) {
    if (options.operations) {
      out += fmt::format("{} '{}' IPU {}: {} cycles, {} temporary bytes\n", op.type, op.name,
                         op.ipu, op.cycles(), op.cost.temporary_bytes);
      for (const Superstep& s : op.cost.steps)
        out += fmt::format(
            "  {:<20} sync {:>4} exchange {:>8} compute {:>9} control {:>4} tiles {:>4} x {}\n",
            s.what, s.sync, s.exchange, s.compute, s.overhead, s.tiles, s.repeats);
    }
    if (options.plans && op.cost.plan)
      out += plan_text(e.target, *op.cost.plan, e.options.plan_options(e.target), op.name);
  }
}

nlohmann::ordered_json memory_json(const Estimate& e, const TileMemory& m) {
  nlohmann::ordered_json json = {{"ipu", m.ipu},
                                 {"tile", m.tile},
                                 {"bytes", m.bytes},
                                 {"bytes_with_gaps", m.bytes_with_gaps},
                                 {"available", m.available},
                                 {"always_live", m.always},
                                 {"total_bytes", m.total},
                                 {"io_tile_bytes", m.io_tile},
                                 {"code_bytes", m.code},
                                 {"fits", m.fits()},
                                 {"borderline", m.borderline()}};
  for (size_t i = 0; i < kCategories; i++)
    json["by_category"][std::string(category_name(static_cast<Category>(i)))] = m.by_category[i];
  json["largest"] = nlohmann::ordered_json::array();
  for (const LargestTensor& t : m.largest)
    json["largest"].push_back({{"name", t.name}, {"bytes", t.bytes}});
  json["errors"] = out_of_memory(m, e.program);
  json["by_tile"] = m.by_tile;
  json["liveness"] = m.liveness;
  return json;
}

nlohmann::ordered_json quality_json(const Quality& q) {
  return {{"trust", trust_name(q.trust)}, {"error", q.error}};
}

nlohmann::ordered_json operation_json(const ChipOp& op) {
  nlohmann::ordered_json json = {{"name", op.name},
                                 {"type", op.type},
                                 {"ipu", op.ipu},
                                 {"cycles", op.cycles()},
                                 {"flops", op.flops * op.repeats},
                                 {"temporary_bytes", op.cost.temporary_bytes},
                                 {"has_rule", op.cost.has_rule}};
  json["steps"] = nlohmann::ordered_json::array();
  for (const Superstep& s : op.cost.steps)
    json["steps"].push_back({{"what", s.what},
                             {"sync", s.sync},
                             {"exchange", s.exchange},
                             {"compute", s.compute},
                             {"control", s.overhead},
                             {"exchange_bytes", s.exchange_bytes},
                             {"tiles", s.tiles},
                             {"repeats", s.repeats * op.repeats}});
  if (const auto& plan = op.cost.plan) {
    const Split& s = plan->split;
    json["plan"] = {{"method", method_name(plan->method)},
                    {"groups", s.groups},
                    {"batch", s.batch},
                    {"rows", s.rows},
                    {"width", s.width},
                    {"in", s.in},
                    {"out", s.out},
                    {"kernel_rows", s.kernel},
                    {"serial_in", s.serial_in},
                    {"serial_out", s.serial_out},
                    {"within_memory", plan->within_memory},
                    {"cycles", plan->cost.total}};
  }
  return json;
}

}  // namespace

std::vector<TypeCost> cycles_by_type(const Estimate& e) {
  std::map<std::string, TypeCost> types;
  for (const ChipOp& op : e.program.ops) {
    TypeCost& t = types[op.type];
    t.type = op.type;
    t.cycles += op.cycles();
    t.count++;
  }
  std::vector<TypeCost> all;
  for (auto& [name, t] : types) all.push_back(t);
  std::ranges::sort(all, [](const TypeCost& a, const TypeCost& b) {
    return std::tie(b.cycles, a.type) < std::tie(a.cycles, b.type);
  });
  return all;
}

std::vector<std::string> memory_lines(const Estimate& e, const std::vector<Remedy>& remedies) {
  std::vector<std::string> lines;
  if (e.fits()) return lines;
  size_t full = 0;  // IPUs whose memory is not sufficient; only the first one is explained
  for (const TileMemory& m : e.memory) {
    if (m.fits() || full++ > 0) continue;
    lines = out_of_memory(m, e.program);
  }
  if (full > 1) lines.push_back(fmt::format("{} of {} IPUs do not fit", full, e.memory.size()));
  if (!e.streams_fit())
    lines.push_back(fmt::format(
        "Out of memory. Single stream of length {} in {}: the host has at most {} "
        "bytes for a stream",
        e.stream_bytes / e.stream_buffers, count_of(e.stream_buffers, "buffer"), kStreamBytes));
  for (const Remedy& r : remedies)
    lines.push_back(
        r.fits ? fmt::format("It fits with {}{}: {} cycles, {} bytes on the busiest tile, {} with "
                             "gaps, of {}",
                             r.text, r.borderline ? ", borderline" : "", r.cycles, r.bytes,
                             r.bytes_with_gaps, e.target.bytes_per_tile)
               : fmt::format("No option that was tried makes it fit. The closest is {}, with {} "
                             "bytes on the busiest tile, {} with gaps, of {}",
                             r.text, r.bytes, r.bytes_with_gaps, e.target.bytes_per_tile));
  return lines;
}

std::string report_text(const Estimate& e, const ReportOptions& options) {
  std::string out;
  add_speed(out, e);
  add_memory(out, e);
  for (const std::string& line : memory_lines(e, options.remedies)) out += line + "\n";
  add_types(out, e);
  add_operations(out, e, options);
  return out;
}

nlohmann::ordered_json report_json(const Estimate& e, const ReportOptions& options) {
  nlohmann::ordered_json json = {{"cycles", e.cycles},
                                 {"milliseconds", e.milliseconds()},
                                 {"fits", e.fits()},
                                 {"borderline", e.borderline()},
                                 {"samples", e.program.samples},
                                 {"throughput", e.throughput},
                                 {"period_milliseconds", 1e3 * e.period_seconds},
                                 {"latency_milliseconds", 1e3 * e.latency_seconds},
                                 {"host_milliseconds", 1e3 * e.host_seconds},
                                 {"fill_milliseconds", 1e3 * e.fill_seconds},
                                 {"wait_milliseconds", 1e3 * e.wait_seconds},
                                 {"stream_bytes", e.stream_bytes},
                                 {"input_bytes", e.program.input_bytes},
                                 {"output_bytes", e.program.output_bytes},
                                 {"flops", e.flops},
                                 {"utilization", e.utilization()},
                                 {"tile_balance", e.tile_balance}};
  json["phases"] = {{"compute", e.compute_cycles}, {"exchange", e.exchange_cycles},
                    {"sync", e.sync_cycles},       {"control", e.overhead_cycles},
                    {"io", e.io_cycles},           {"inter_ipu", e.inter_ipu_cycles}};
  json["quality"] = {{"cycles", quality_json(e.cycle_quality)},
                     {"memory", quality_json(e.memory_quality)},
                     {"host", quality_json(e.host_quality)}};
  json["target"] = target_json(e.target);
  json["options"] = {{"num_ipus", e.options.num_ipus},
                     {"num_io_tiles", e.options.num_io_tiles},
                     {"batches_per_step", e.options.batches_per_step},
                     {"available_memory_proportion", e.options.available_memory_proportion},
                     {"partials_type", e.options.float_partials ? "float" : "half"},
                     {"use_128bit_conv_unit_load", e.options.use_128bit_conv_unit_load},
                     {"enable_fast_reduce", e.options.fast_reduce},
                     {"enable_multi_stage_reduce", e.options.multi_stage_reduce},
                     {"enable_non_stable_softmax", !e.options.stable_softmax},
                     {"enable_pipelining", e.options.overlap},
                     {"outline_threshold", e.options.outline_threshold},
                     {"group_host_sync", e.options.group_host_sync},
                     {"rearrange_streams_on_host", e.options.rearrange_streams_on_host},
                     {"rearrange_anchors_on_host", e.options.rearrange_anchors_on_host},
                     {"stream_buffering_depth", e.options.stream_buffers},
                     {"enable_prefetch_datastreams", e.options.prefetch},
                     {"replicas", e.options.replicas}};
  json["stage_cycles"] = e.stage_cycles;
  json["stages"] = e.stages;
  json["pipeline_rounds"] = e.pipeline_rounds;
  json["memory"] = nlohmann::ordered_json::array();
  for (const TileMemory& m : e.memory) json["memory"].push_back(memory_json(e, m));
  json["remedies"] = nlohmann::ordered_json::array();
  for (const Remedy& r : options.remedies)
    json["remedies"].push_back({{"option", r.text},
                                {"cycles", r.cycles},
                                {"bytes", r.bytes},
                                {"fits", r.fits},
                                {"bytes_with_gaps", r.bytes_with_gaps},
                                {"borderline", r.borderline}});
  json["operators"] = nlohmann::ordered_json::array();
  for (const TypeCost& t : cycles_by_type(e))
    json["operators"].push_back({{"type", t.type}, {"cycles", t.cycles}, {"nodes", t.count}});
  json["without_rule"] = e.without_rule;
  json["assumptions"] = e.program.assumptions;
  if (options.operations) {
    json["operations"] = nlohmann::ordered_json::array();
    for (const ChipOp& op : e.program.ops) json["operations"].push_back(operation_json(op));
  }
  return json;
}

std::string comparison_text(const Estimate& a, const std::string& name_a, const Estimate& b,
                            const std::string& name_b) {
  std::string out = fmt::format("{:<28} {:>16} {:>16} {:>8}\n", "", name_a, name_b, "ratio");
  constexpr size_t kWidth = 16;  // of a column
  const auto ratio = [](double x, double y) {
    return fmt::format("{:>8.3f}\n", x != 0 ? y / x : 0);
  };
  const auto measure = [&](const char* what, double x, double y) {
    out += fmt::format("{:<28} {:>{}.3f} {:>{}.3f} {}", what, x, kWidth, y, kWidth, ratio(x, y));
  };
  const auto count = [&](std::string_view what, int64_t x, int64_t y) {
    out += fmt::format("{:<28} {:>{}} {:>{}} {}", what, x, kWidth, y, kWidth,
                       ratio(static_cast<double>(x), static_cast<double>(y)));
  };
  const auto words = [&](const char* what, std::string_view x, std::string_view y) {
    if (std::max(x.size(), y.size()) <= kWidth)
      out += fmt::format("{:<28} {:>{}} {:>{}}\n", what, x, kWidth, y, kWidth);
    else if (x == y)
      out += fmt::format("{}: {}\n", what, x);
    else
      out += fmt::format("{}, {}: {}\n{}, {}: {}\n", what, name_a, x, what, name_b, y);
  };
  count("cycles", a.cycles, b.cycles);
  measure("milliseconds", a.milliseconds(), b.milliseconds());
  measure("samples/s", a.throughput, b.throughput);
  count("compute cycles", a.compute_cycles, b.compute_cycles);
  count("exchange cycles", a.exchange_cycles, b.exchange_cycles);
  count("bytes of the busiest tile", a.tile_bytes(), b.tile_bytes());
  count("  with gaps", a.needed_bytes(), b.needed_bytes());
  words("memory", verdict(a.fits(), a.borderline()), verdict(b.fits(), b.borderline()));
  words("trust of the cycles", trust_name(a.cycle_quality.trust),
        trust_name(b.cycle_quality.trust));
  words("  error", a.cycle_quality.error, b.cycle_quality.error);
  words("trust of the samples/s", trust_name(a.host_quality.trust),
        trust_name(b.host_quality.trust));
  words("  error", a.host_quality.error, b.host_quality.error);
  words("trust of the memory", trust_name(a.memory_quality.trust),
        trust_name(b.memory_quality.trust));
  std::map<std::string, std::pair<int64_t, int64_t>> types;
  for (const TypeCost& t : cycles_by_type(a)) types[t.type].first = t.cycles;
  for (const TypeCost& t : cycles_by_type(b)) types[t.type].second = t.cycles;
  for (const auto& [type, cycles] : types)
    if (cycles.first || cycles.second) count("  " + type, cycles.first, cycles.second);
  for (const std::string& line : a.program.assumptions) out += "assumed: " + line + "\n";
  return out;
}

}  // namespace poprt::ipu

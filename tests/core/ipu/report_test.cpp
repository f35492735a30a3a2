#include "ipu/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace poprt::ipu {
namespace {

using nlohmann::ordered_json;

Superstep superstep(std::string_view what, int64_t first) {
  Superstep s;
  s.what = what;
  s.sync = first;
  s.exchange = first + 1;
  s.compute = first + 2;
  s.overhead = first + 3;
  s.exchange_bytes = first + 4;
  s.tiles = first + 5;
  s.repeats = 3;
  return s;
}

TileMemory tile_memory(int64_t ipu) {
  TileMemory m;
  m.ipu = ipu;
  m.tile = 71 + ipu;
  m.bytes = 500'072;
  m.bytes_with_gaps = 500'100;
  m.available = 638'976;
  m.always = 123'456;
  m.total = 45'678'901;
  m.io_tile = 2'003;
  for (size_t i = 0; i < kCategories; i++) {
    m.by_category[i] = i % 3 == 1 ? 0 : static_cast<int64_t>(1000 + i);
    m.total_by_category[i] = static_cast<int64_t>(9000 + i);
  }
  m.peak_op = 1;
  m.by_tile = {11, 12, 13};
  m.liveness = {21, 22};
  m.largest = {{"w0", 400}, {"w1", 300}};
  m.code = 5'001;
  m.code_available = 212'992;
  return m;
}

// An estimate whose fields have distinct values, so that a report with another field is found.
Estimate example() {
  Estimate e;
  e.target = target_of("c600");
  e.options.num_ipus = 2;
  e.options.num_io_tiles = 32;
  e.options.batches_per_step = 16;
  e.options.available_memory_proportion = 0.35;
  e.options.outline_threshold = 7.5;
  e.options.replicas = 4;
  e.options.stream_buffers = 5;
  ChipOp a;
  a.name = "first";
  a.type = "MatMul";
  a.cost.steps = {superstep("AMP", 100), superstep("reduce", 200)};
  a.cost.temporary_bytes = 77;
  a.flops = 1'000'000'000;
  a.ipu = 1;
  a.repeats = 2;
  a.cost.plan = Plan{};
  a.cost.plan->method = Method::amp;
  a.cost.plan->split = {2, 3, 4, 5, 6, 7, 8, 9, 10};
  a.cost.plan->within_memory = false;
  a.cost.plan->cost.total = 12'345;
  ChipOp b;
  b.name = "second";
  b.type = "Softmax";
  b.cost.steps = {superstep("max", 300)};
  b.cost.has_rule = false;
  ChipOp c = b;
  c.name = "third";
  ChipOp view;
  view.name = "view";
  view.type = "Reshape";
  e.program.ops = {a, b, c, view};
  e.program.input_bytes = 1'048;
  e.program.output_bytes = 2'096;
  e.program.samples = 8;
  e.memory = {tile_memory(0), tile_memory(1)};
  e.cycles = 20'000;
  e.compute_cycles = 8'000;
  e.exchange_cycles = 5'000;
  e.sync_cycles = 3'000;
  e.overhead_cycles = 2'000;
  e.io_cycles = 1'200;
  e.inter_ipu_cycles = 800;
  e.stage_cycles = {9'000, 11'000};
  e.stages = 2;
  e.pipeline_rounds = 17;
  e.flops = 2'560'000'000;
  e.host_seconds = 0.0011;
  e.fill_seconds = 0.0022;
  e.wait_seconds = 0.0033;
  e.stream_bytes = 4'444;
  e.stream_buffers = 2;
  e.period_seconds = 0.0055;
  e.latency_seconds = 0.0066;
  e.throughput = 5818.2;
  e.tile_balance = 0.77;
  e.cycle_quality = {Trust::calibrated, "error C"};
  e.memory_quality = {Trust::checked, "error M"};
  e.host_quality = {Trust::unchecked, "error H"};
  return e;
}

// 2.56 GFLOP are 2560000000 / (1472 tiles * 16 units * 8 * 20000 cycles * 2 IPUs) of the peak.
TEST(Report, TheTextHasEachNumberInItsPlace) {
  EXPECT_EQ(report_text(example(), {}),
            R"(Target: c600 (ipu21), 2 IPUs, 1472 tiles at 1.5 GHz, 32 I/O tiles
Cycles: 20000 for one batch of 8 samples, 0.013 ms [calibrated, error error C]
  compute 40.0 %, exchange 25.0 %, sync 15.0 %, control 10.0 %, I/O 6.0 %, between IPUs 4.0 %
  2.56 GFLOP, 34.0 % of the AMP's peak for halves, tile balance 77 %
Throughput: 5818.2 samples/s, 5.500 ms from batch to batch, 6.600 ms for a batch that runs alone [unchecked, error error H]
Pipeline: 2 stages, 17 rounds for 16 batches: 1 fill it and 1 drain it; the slowest stage takes 11000 cycles
Host: 1048 bytes in and 2096 bytes out for a batch, 1.100 ms at 8 GB/s, which 4 replicas share
  prefetch on, 5 buffers for each input: the host prepares a batch in 2.200 ms, of which the chip waits 3.300 ms
Memory of IPU 0: 500072 bytes on the busiest tile (71), 500100 with gaps, of 638976: fits [checked, error error M]
  all tiles 45.7 MB, always live 123456 bytes per tile
  weights                      1000 bytes
  internalExchangeCode         1002 bytes
  vertexInstanceState          1003 bytes
  hostExchangeBuffers          1005 bytes
  activations                  1006 bytes
Memory of IPU 1: 500072 bytes on the busiest tile (72), 500100 with gaps, of 638976: fits [checked, error error M]
  all tiles 45.7 MB, always live 123456 bytes per tile
  weights                      1000 bytes
  internalExchangeCode         1002 bytes
  vertexInstanceState          1003 bytes
  hostExchangeBuffers          1005 bytes
  activations                  1006 bytes
Cycles by operator [calibrated, error error C]:
  MatMul                               7272 cycles  36.4 %  1 node
  Softmax                              7236 cycles  36.2 %  2 nodes
)");
}

// Parts of the text that depend on conditions.
TEST(Report, TheTextOfASingleIpuHasNoPipelineAndNoReplicas) {
  Estimate e = example();
  e.options = {};
  e.pipeline_rounds = 0;
  e.program.samples = e.program.input_bytes = e.program.output_bytes = 1;
  e.options.prefetch = false;
  const std::string text = report_text(e, {});
  EXPECT_EQ(text.find("Pipeline"), std::string::npos);
  EXPECT_NE(text.find(", 1 IPU, 1472 tiles at 1.5 GHz, 0 I/O tiles\n"), std::string::npos);
  EXPECT_NE(text.find("for one batch of 1 sample,"), std::string::npos);
  EXPECT_NE(text.find("Host: 1 byte in and 1 byte out for a batch, 1.100 ms at 8 GB/s\n  prefetch "
                      "off, 1 buffer for"),
            std::string::npos);
  e.options.replicas = 2;
  EXPECT_NE(report_text(e, {}).find("GB/s, which 2 replicas share\n"), std::string::npos);
  e.cycles = 0;  // no part of nothing
  EXPECT_NE(report_text(e, {}).find("compute 0.0 %, exchange 0.0 %"), std::string::npos);
}

// A tile that is more than 4/5 full is borderline. Each kind of memory that is too small is enough
// for "does not fit".
TEST(Report, StatesWhetherTheMemoryOfAnIpuFits) {
  const auto verdict = [](const std::function<void(TileMemory&)>& change) {
    Estimate e = example();
    e.memory.pop_back();
    e.memory[0].available = 1000;
    e.memory[0].bytes_with_gaps = 700;
    e.memory[0].io_tile = 0;
    change(e.memory[0]);
    const std::string text = report_text(e, {});
    const size_t begin = text.find(" with gaps, of 1000: ") + 21;
    return text.substr(begin, text.find(" [", begin) - begin);
  };
  EXPECT_EQ(verdict([](TileMemory&) {}), "fits");
  EXPECT_EQ(verdict([](TileMemory& m) { m.bytes_with_gaps = 800; }), "fits");
  EXPECT_EQ(verdict([](TileMemory& m) { m.bytes_with_gaps = 801; }), "fits, borderline");
  EXPECT_EQ(verdict([](TileMemory& m) { m.bytes_with_gaps = 1000; }), "fits, borderline");
  EXPECT_EQ(verdict([](TileMemory& m) { m.bytes_with_gaps = 1001; }), "does not fit");
  EXPECT_EQ(verdict([](TileMemory& m) { m.io_tile = 1000; }), "fits");
  EXPECT_EQ(verdict([](TileMemory& m) { m.io_tile = 1001; }), "does not fit");
  EXPECT_EQ(verdict([](TileMemory& m) { m.code = m.code_available; }), "fits");
  EXPECT_EQ(verdict([](TileMemory& m) { m.code = m.code_available + 1; }), "does not fit");
}

// 0.6 of the peak of 1472 * 16 * 8 operations in each cycle of two IPUs.
TEST(Report, CountsIpusWithoutAnOperation) {
  Estimate e = example();
  e.memory[0].io_tile = 0;
  e.memory = {e.memory[0], e.memory[0], e.memory[0], e.memory[0]};
  for (size_t i = 0; i < e.memory.size(); i++) e.memory[i].ipu = static_cast<int64_t>(i);
  e.memory[3].io_tile = e.memory[3].available + 1;  // does not fit
  const std::string text = report_text(e, {});
  for (const int ipu : {0, 1, 3})
    EXPECT_NE(text.find(fmt::format("Memory of IPU {}: ", ipu)), std::string::npos) << text;
  EXPECT_EQ(text.find("Memory of IPU 2: "), std::string::npos) << text;
  EXPECT_NE(text.find("\nIPUs without an operation: 1 of 4\n"), std::string::npos) << text;
}

TEST(Report, WarnsOfProgramsThatAreFasterThanAnyPublishedOne) {
  Estimate e = example();
  const auto warns = [&] {
    return report_text(e, {}).find("a cost may be missing") != std::string::npos;
  };
  e.cycles = 1000;
  constexpr int64_t kPeak = int64_t{1472} * 16 * 8 * 1000 * 2;
  e.program.ops.resize(21);
  e.flops = kPeak * 6 / 10 + 1000;
  EXPECT_TRUE(warns());
  e.flops = kPeak * 6 / 10 - 1000;
  EXPECT_FALSE(warns());
  e.flops = kPeak;
  EXPECT_TRUE(warns());
  e.program.ops.resize(20);  // a small program may reach this utilization
  EXPECT_FALSE(warns());
}

TEST(Report, ListsOperatorsWithoutARule) {
  Estimate e = example();
  EXPECT_EQ(report_text(e, {}).find("without a rule"), std::string::npos);
  e.without_rule = {"Mystery", "Riddle"};
  EXPECT_TRUE(report_text(e, {}).ends_with(
      "Operators without a rule, which cost nothing here: Mystery Riddle\n"));
}

TEST(Report, StatesWhatIsAssumed) {
  Estimate e = example();
  const std::string without = report_text(e, {}), line = "Loop 'a' counts as 1 round";
  EXPECT_EQ(without.find("assumed"), std::string::npos);
  e.program.assumptions = {line};
  std::string with = without;
  with.insert(with.find("  compute "), "  assumed: " + line + "\n");
  EXPECT_EQ(report_text(e, {}), with);
  EXPECT_EQ(report_json(e, {})["assumptions"], ordered_json::array({line}));
  EXPECT_TRUE(comparison_text(e, "one", e, "two").ends_with("\nassumed: " + line + "\n"));
}

TEST(Report, TheTextHasALineForEachOperationAndItsSteps) {
  const Estimate e = example();
  const std::string with = report_text(e, {.operations = true}), without = report_text(e, {});
  ASSERT_TRUE(with.starts_with(without));
  EXPECT_EQ(with.substr(without.size()),
            R"(MatMul 'first' IPU 1: 7272 cycles, 77 temporary bytes
  AMP                  sync  100 exchange      101 compute       102 control  103 tiles  105 x 3
  reduce               sync  200 exchange      201 compute       202 control  203 tiles  205 x 3
Softmax 'second' IPU 0: 3618 cycles, 0 temporary bytes
  max                  sync  300 exchange      301 compute       302 control  303 tiles  305 x 3
Softmax 'third' IPU 0: 3618 cycles, 0 temporary bytes
  max                  sync  300 exchange      301 compute       302 control  303 tiles  305 x 3
Reshape 'view' IPU 0: 0 cycles, 0 temporary bytes
)");
}

TEST(Report, TheTextHasThePlanOfEachProduct) {
  Estimate e = example();
  const std::string without = report_text(e, {});
  const std::string plan =
      plan_text(e.target, *e.program.ops[0].cost.plan, e.options.plan_options(e.target), "first");
  EXPECT_EQ(report_text(e, {.plans = true}), without + plan);
}

TEST(Report, TypesAreSortedByTheirCyclesAndThenByTheirNames) {
  Estimate e;
  const auto add = [&](const char* type, int64_t cycles) {
    ChipOp op;
    op.type = type;
    op.cost.steps = {{}};
    op.cost.steps[0].compute = cycles;
    e.program.ops.push_back(op);
  };
  add("B", 10);
  add("C", 30);
  add("A", 10);
  add("D", 15);
  add("D", 16);
  add("E", 0);
  std::string found;
  for (const TypeCost& t : cycles_by_type(e))
    found += fmt::format("{}:{}/{} ", t.type, t.cycles, t.count);
  EXPECT_EQ(found, "D:31/2 C:30/1 A:10/1 B:10/1 E:0/1 ");
}

TEST(Report, TheJsonHasEachNumberInItsPlace) {
  const Estimate e = example();
  ReportOptions options;
  options.remedies = {{"--num_io_tiles 64", 19'000, true, 500'000, 600'000, true},
                      {"--float", 1, false, 650'000, 700'000}};
  ordered_json json = report_json(e, options);
  EXPECT_EQ(json["target"], target_json(e.target));
  json.erase("target");
  const auto memory = [](int64_t ipu) {
    return ordered_json{
        {"ipu", ipu},
        {"tile", 71 + ipu},
        {"bytes", 500'072},
        {"bytes_with_gaps", 500'100},
        {"available", 638'976},
        {"always_live", 123'456},
        {"total_bytes", 45'678'901},
        {"io_tile_bytes", 2'003},
        {"code_bytes", 5'001},
        {"fits", true},
        {"borderline", false},
        {"by_category",
         {{"weights", 1000},
          {"vertexCode", 0},
          {"internalExchangeCode", 1002},
          {"vertexInstanceState", 1003},
          {"stack", 0},
          {"hostExchangeBuffers", 1005},
          {"activations", 1006},
          {"temporaries", 0}}},
        {"largest", {{{"name", "w0"}, {"bytes", 400}}, {{"name", "w1"}, {"bytes", 300}}}},
        {"errors", ordered_json::array()},
        {"by_tile", {11, 12, 13}},
        {"liveness", {21, 22}}};
  };
  const auto quality = [](const char* trust, const char* error) {
    return ordered_json{{"trust", trust}, {"error", error}};
  };
  ordered_json expected = {
      {"cycles", 20'000},
      {"milliseconds", e.milliseconds()},
      {"fits", true},
      {"samples", 8},
      {"throughput", 5818.2},
      {"period_milliseconds", 5.5},
      {"latency_milliseconds", 6.6},
      {"host_milliseconds", 1.1},
      {"fill_milliseconds", 2.2},
      {"wait_milliseconds", 3.3},
      {"stream_bytes", 4'444},
      {"input_bytes", 1'048},
      {"output_bytes", 2'096},
      {"flops", 2'560'000'000},
      {"utilization", e.utilization()},
      {"tile_balance", 0.77},
      {"phases",
       {{"compute", 8'000},
        {"exchange", 5'000},
        {"sync", 3'000},
        {"control", 2'000},
        {"io", 1'200},
        {"inter_ipu", 800}}},
      {"quality",
       {{"cycles", quality("calibrated", "error C")},
        {"memory", quality("checked", "error M")},
        {"host", quality("unchecked", "error H")}}},
      {"options",
       {{"num_ipus", 2},
        {"num_io_tiles", 32},
        {"batches_per_step", 16},
        {"available_memory_proportion", 0.35},
        {"partials_type", "half"},
        {"use_128bit_conv_unit_load", false},
        {"enable_fast_reduce", false},
        {"enable_multi_stage_reduce", true},
        {"enable_non_stable_softmax", false},
        {"enable_pipelining", false},
        {"outline_threshold", 7.5},
        {"group_host_sync", false},
        {"rearrange_streams_on_host", false},
        {"rearrange_anchors_on_host", true},
        {"stream_buffering_depth", 5},
        {"enable_prefetch_datastreams", true},
        {"replicas", 4}}},
      {"stage_cycles", {9'000, 11'000}},
      {"stages", 2},
      {"pipeline_rounds", 17},
      {"memory", {memory(0), memory(1)}},
      {"remedies",
       {{{"option", "--num_io_tiles 64"}, {"cycles", 19'000}, {"bytes", 500'000}, {"fits", true}},
        {{"option", "--float"}, {"cycles", 1}, {"bytes", 650'000}, {"fits", false}}}},
      {"operators",
       {{{"type", "MatMul"}, {"cycles", 7'272}, {"nodes", 1}},
        {{"type", "Softmax"}, {"cycles", 7'236}, {"nodes", 2}},
        {{"type", "Reshape"}, {"cycles", 0}, {"nodes", 1}}}},
      {"without_rule", ordered_json::array()}};
  expected["borderline"] = false;
  expected["remedies"][0].update({{"bytes_with_gaps", 600'000}, {"borderline", true}});
  expected["remedies"][1].update({{"bytes_with_gaps", 700'000}, {"borderline", false}});
  expected["assumptions"] = ordered_json::array();
  for (const auto& [key, value] : expected.items()) {
    ASSERT_TRUE(json.contains(key)) << key;
    if (value.is_number_float())
      EXPECT_NEAR(json[key].get<double>(), value.get<double>(), 1e-12) << key;
    else
      EXPECT_EQ(json[key], value) << key;
  }
  EXPECT_EQ(json.size(), expected.size());
}

// Each option of the report changes with its field alone.
TEST(Report, TheJsonHasEachOptionThatIsOn) {
  const std::pair<const char*, bool ChipOptions::*> fields[] = {
      {"use_128bit_conv_unit_load", &ChipOptions::use_128bit_conv_unit_load},
      {"enable_fast_reduce", &ChipOptions::fast_reduce},
      {"enable_multi_stage_reduce", &ChipOptions::multi_stage_reduce},
      {"enable_non_stable_softmax", &ChipOptions::stable_softmax},
      {"enable_pipelining", &ChipOptions::overlap},
      {"group_host_sync", &ChipOptions::group_host_sync},
      {"rearrange_streams_on_host", &ChipOptions::rearrange_streams_on_host},
      {"rearrange_anchors_on_host", &ChipOptions::rearrange_anchors_on_host},
      {"enable_prefetch_datastreams", &ChipOptions::prefetch},
      {"partials_type", &ChipOptions::float_partials}};
  Estimate e = example();
  const ordered_json before = report_json(e, {})["options"];
  for (const auto& [key, field] : fields) {
    Estimate changed = e;
    changed.options.*field = !(changed.options.*field);
    ordered_json now = report_json(changed, {})["options"];
    EXPECT_NE(now[key], before[key]) << key;
    if (before[key].is_boolean())
      EXPECT_EQ(now[key], !before[key].get<bool>()) << key;
    else
      EXPECT_EQ(now[key], "float");
    now[key] = before[key];
    EXPECT_EQ(now, before) << key;
  }
}

TEST(Report, TheJsonHasOperationsWithTheirPlansIfTheyAreWanted) {
  const Estimate e = example();
  EXPECT_FALSE(report_json(e, {}).contains("operations"));
  const ordered_json found = report_json(e, {.operations = true})["operations"];
  const auto step = [](const char* what, int64_t first, int64_t repeats) {
    return ordered_json{{"what", what},          {"sync", first},
                        {"exchange", first + 1}, {"compute", first + 2},
                        {"control", first + 3},  {"exchange_bytes", first + 4},
                        {"tiles", first + 5},    {"repeats", repeats}};
  };
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0], (ordered_json{{"name", "first"},
                                    {"type", "MatMul"},
                                    {"ipu", 1},
                                    {"cycles", 7'272},
                                    {"flops", 2'000'000'000},
                                    {"temporary_bytes", 77},
                                    {"has_rule", true},
                                    {"steps", {step("AMP", 100, 6), step("reduce", 200, 6)}},
                                    {"plan",
                                     {{"method", method_name(Method::amp)},
                                      {"groups", 2},
                                      {"batch", 3},
                                      {"rows", 4},
                                      {"width", 5},
                                      {"in", 6},
                                      {"out", 7},
                                      {"kernel_rows", 8},
                                      {"serial_in", 10},
                                      {"serial_out", 9},
                                      {"within_memory", false},
                                      {"cycles", 12'345}}}}));
  EXPECT_EQ(found[2], (ordered_json{{"name", "third"},
                                    {"type", "Softmax"},
                                    {"ipu", 0},
                                    {"cycles", 3'618},
                                    {"flops", 0},
                                    {"temporary_bytes", 0},
                                    {"has_rule", false},
                                    {"steps", ordered_json::array({step("max", 300, 3)})}}));
  EXPECT_EQ(found[3]["steps"], ordered_json::array());
}

TEST(Report, OnlyTheFirstIpuThatIsFullIsExplained) {
  Estimate e = example();
  const std::vector<Remedy> remedies = {{"A 1", 100, true, 200, 250},
                                        {"B 2", 300, false, 400, 450}};
  EXPECT_TRUE(memory_lines(e, remedies).empty());
  e.memory.push_back(tile_memory(2));
  e.memory[1].bytes_with_gaps = e.memory[1].available + 1;
  const std::string fits =
      "It fits with A 1: 100 cycles, 200 bytes on the busiest tile, 250 with gaps, of 638976";
  const std::string closest =
      "No option that was tried makes it fit. The closest is B 2, with 400 bytes on the busiest "
      "tile, 450 with gaps, of 638976";
  std::vector<std::string> expected = out_of_memory(e.memory[1], e.program);
  ASSERT_FALSE(expected.empty());
  expected.push_back(fits);
  expected.push_back(closest);
  EXPECT_EQ(memory_lines(e, remedies), expected);
  e.memory[2].bytes_with_gaps = e.memory[2].available + 1;
  expected.insert(expected.end() - 2, "2 of 3 IPUs do not fit");
  EXPECT_EQ(memory_lines(e, remedies), expected);
  EXPECT_EQ(memory_lines(e, {{"A 1", 100, true, 200, 250, true}}).back(),
            "It fits with A 1, borderline: 100 cycles, 200 bytes on the busiest tile, 250 with "
            "gaps, of 638976");
  const std::string text = report_text(e, {.remedies = remedies});
  std::string all;
  for (const std::string& line : expected) all += line + "\n";
  EXPECT_NE(text.find(all), std::string::npos);
}

TEST(Report, AStreamThatIsTooLargeForTheHostIsExplained) {
  Estimate e = example();
  e.stream_bytes = kStreamBytes;
  e.stream_buffers = 2;
  EXPECT_TRUE(memory_lines(e, {}).empty());
  e.stream_bytes = kStreamBytes + 2;
  EXPECT_EQ(memory_lines(e, {}),
            std::vector<std::string>{
                "Out of memory. Single stream of length 67108865 in 2 buffers: the host has at "
                "most 134217728 bytes for a stream"});
  e.stream_buffers = 1;
  ASSERT_EQ(memory_lines(e, {}).size(), 1U);
  EXPECT_NE(memory_lines(e, {})[0].find("length 134217730 in 1 buffer:"), std::string::npos);
}

TEST(Report, AComparisonHasBothNumbersAndTheirRatio) {
  const Estimate a = example();
  Estimate b = example();
  b.cycles = 50'000;
  b.throughput = 1000;
  b.compute_cycles = 6'000;
  b.exchange_cycles = 0;
  b.memory[1].bytes_with_gaps = 700'000;
  b.memory[0].io_tile = 800'000;
  b.cycle_quality = {Trust::checked, "error D"};
  b.host_quality = {Trust::calibrated, "error I"};
  b.memory_quality = {Trust::unchecked, "error N"};
  b.program.ops.erase(b.program.ops.begin());
  b.program.ops[0].type = "Added";
  EXPECT_EQ(comparison_text(a, "one", b, "two"),
            R"(                                          one              two    ratio
cycles                                  20000            50000    2.500
milliseconds                            0.013            0.033    2.500
samples/s                            5818.200         1000.000    0.172
compute cycles                           8000             6000    0.750
exchange cycles                          5000                0    0.000
bytes of the busiest tile              500072           800000    1.600
  with gaps                            500100           800000    1.600
memory                                   fits     does not fit
trust of the cycles                calibrated          checked
  error                               error C          error D
trust of the samples/s              unchecked       calibrated
  error                               error H          error I
trust of the memory                   checked        unchecked
  Added                                     0             3618    0.000
  MatMul                                 7272                0    0.000
  Softmax                                7236             3618    0.500
)");
  b.cycle_quality.error = "not measured for products";
  const std::string long_words = comparison_text(a, "one", b, "two");
  EXPECT_NE(long_words.find("\n  error, one: error C\n  error, two: not measured for products\n"),
            std::string::npos)
      << long_words;
  EXPECT_NE(comparison_text(b, "one", b, "two").find("\n  error: not measured for products\n"),
            std::string::npos);
}

}  // namespace
}  // namespace poprt::ipu

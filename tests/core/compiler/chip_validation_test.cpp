// Compares the estimator with published results; docs/chip.md has the tables, which this test
// generates.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>

#include "core/compiler/chip_models.h"
#include "ipu/calibration.h"
#include "ipu/numbers.h"
#include "support/generated_section.h"
#include "support/published_chip.h"

namespace poprt::compiler {
namespace {

using chip_models::Model;
using chip_models::Transformer;

std::string page() { return POPRT_TEST_DATA "/../../docs/chip.md"; }

struct ThroughputRow {
  std::string name, role;
  int64_t batch;
  double throughput;
  std::function<Model()> model;
  std::function<void(EstimateOptions&)> set;
};

Transformer bert(int64_t batch, int64_t layers, int64_t hidden) {
  Transformer t;
  t.batch = batch;
  t.layers = layers;
  t.hidden = hidden;
  t.heads = hidden / 64;
  t.inner = 4 * hidden;
  return t;
}

Transformer vit(int64_t batch) {
  Transformer t = bert(batch, 12, 768);
  t.pre_norm = true;
  t.classes = 1000;
  t.vocabulary = 0;
  return t;
}

Transformer clip_text(int64_t batch) {
  Transformer t = bert(batch, 12, 768);
  t.pre_norm = t.causal = t.quick_gelu = true;
  t.classes = 0;
  t.sequence = 77;
  t.vocabulary = 49408;
  return t;
}

// RoFormer is modelled as 6 layers of width 384 without biases.
Transformer roformer(int64_t batch, int64_t sequence) {
  Transformer t = bert(batch, 6, 384);
  t.sequence = sequence;
  t.rotary = t.relu = true;
  t.biases = t.all_tokens = false;
  t.vocabulary = 12000;
  return t;
}

void memory_proportion(EstimateOptions& o, double p) { o.chip.available_memory_proportion = p; }

std::vector<ThroughputRow> convolutional_rows() {
  using chip_models::resnet50;
  const auto tiles64 = [](EstimateOptions& o) { o.chip.num_io_tiles = 64; };
  const auto quarter = [](EstimateOptions& o) {
    o.chip.num_io_tiles = 64;
    o.precision = Precision::fp8;
  };
  const auto single = [](EstimateOptions& o) { o.chip.batches_per_step = 1; };
  const auto plain = [](EstimateOptions&) {};
  return {{"ResNet-50 fp16", "fit", 1, 3118.8, [] { return resnet50(1, true); }, single},
          {"ResNet-50 fp16", "fit", 4, 7062, [] { return resnet50(4, false); }, tiles64},
          {"ResNet-50 fp16", "check", 32, 13542, [] { return resnet50(32, false); }, tiles64},
          {"ResNet-50 fp16", "check", 80, 15541, [] { return resnet50(80, true); }, plain},
          {"ResNet-50 fp8", "check", 4, 7966, [] { return resnet50(4, false); }, quarter},
          {"ResNet-50 fp8", "check", 32, 18851, [] { return resnet50(32, false); }, quarter}};
}

// Settings that are not published have the defaults of the tool: one batch in a step, so that
// transfers are not hidden, no I/O tiles, and 0.6 of the memory.
void standard(EstimateOptions& o) {
  o.chip.num_io_tiles = 0;
  o.chip.batches_per_step = 1;
  o.chip.stream_buffers = 1;
}

std::vector<ThroughputRow> transformer_rows() {
  using chip_models::transformer;
  using chip_models::vision_transformer;
  const auto plain = standard;
  const auto p04 = [](EstimateOptions& o) {
    standard(o);
    memory_proportion(o, 0.4);
  };
  const auto large = [](EstimateOptions& o) {
    standard(o);
    memory_proportion(o, 0.15);
    o.chip.batches_per_step = 256;
    o.chip.use_128bit_conv_unit_load = true;
    o.chip.outline_threshold = 10;
  };
  const auto clip = [](EstimateOptions& o) {
    standard(o);
    memory_proportion(o, 0.8);
    o.chip.num_io_tiles = 32;
    o.chip.use_128bit_conv_unit_load = o.chip.fast_reduce = true;
    o.chip.outline_threshold = 5000;
  };
  return {
      {"BERT-base 128", "check", 16, 4817, [] { return transformer(bert(16, 12, 768)); }, p04},
      {"BERT-base 128", "check", 128, 5672, [] { return transformer(bert(128, 12, 768)); }, p04},
      {"BERT-large 128", "check", 18, 1472.8, [] { return transformer(bert(18, 24, 1024)); },
       large},
      {"ViT-B/16", "check", 8, 2600, [] { return vision_transformer(vit(8), 16); }, plain},
      {"ViT-B/16", "check", 32, 3109, [] { return vision_transformer(vit(32), 16); }, plain},
      {"CLIP text encoder", "check", 4, 2674, [] { return transformer(clip_text(4)); }, clip},
      {"CLIP text encoder", "check", 40, 7305, [] { return transformer(clip_text(40)); }, clip},
      {"RoFormerV2 128", "check", 1, 2783, [] { return transformer(roformer(1, 128)); }, plain},
      {"RoFormerV2 128", "check", 64, 29799, [] { return transformer(roformer(64, 128)); }, plain},
      {"RoFormerV2 128", "check", 356, 42643, [] { return transformer(roformer(356, 128)); },
       plain},
      {"RoFormer 1024", "check", 12, 2520, [] { return transformer(roformer(12, 1024)); }, plain}};
}

ipu::Estimate estimate_row(const ThroughputRow& row) {
  const Model m = row.model();
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = m.weights;
  o.chip.num_io_tiles = 32;
  o.chip.batches_per_step = 128;
  o.chip.stream_buffers = 2;
  row.set(o);
  return ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip);
}

double ratio_of(const ThroughputRow& row, const ipu::Estimate& e) {
  const double published = static_cast<double>(row.batch) / row.throughput;
  return e.period_seconds / published;
}

// The supersteps of an estimate by operator, the most expensive first.
std::string superstep_table(const ThroughputRow& row, const ipu::Estimate& e) {
  struct Sum {
    std::string name;
    int64_t count = 0, compute = 0, exchange = 0, control = 0;
    int64_t cycles() const { return compute + exchange + control; }
  };
  std::map<std::string, Sum> sums;
  int64_t steps = 0;
  for (const ipu::ChipOp& op : e.program.ops)
    for (const ipu::Superstep& s : op.cost.steps) {
      const std::string name = fmt::format("{}: {}", op.type, s.what);
      const int64_t times = s.repeats * op.repeats;
      Sum& sum = sums[name];
      sum.name = name;
      sum.count += times;
      sum.compute += times * s.compute;
      sum.exchange += times * s.exchange;
      sum.control += times * (s.sync + s.overhead);
      steps += times;
    }
  std::vector<Sum> all;
  for (auto& [name, sum] : sums) all.push_back(sum);
  std::ranges::sort(all, {}, [](const Sum& s) { return std::pair(-s.cycles(), s.name); });
  const auto published =
      static_cast<int64_t>(static_cast<double>(row.batch) / row.throughput * 1.5e9);
  const auto predicted = static_cast<int64_t>(e.period_seconds * 1.5e9);
  std::string text = fmt::format(
      "\n{}, batch {}: published {} cycles, predicted {}. The device takes {} of them in {} "
      "supersteps; {} are the transfers of the host and its call. The difference is {} cycles for "
      "each superstep.\n\n| superstep | number | compute | exchange | sync and control | cycles |\n"
      "|---|---|---|---|---|---|\n",
      row.name, row.batch, published, predicted, e.cycles, steps, predicted - e.cycles,
      (published - predicted) / steps);
  for (const Sum& s : all)
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", s.name, s.count, s.compute, s.exchange,
                        s.control, s.cycles());
  return text;
}

TEST(ChipValidation, NetworksOnAC600) {
  std::string text =
      "| network, length | batch | role | published cycles | predicted | ratio | AMP use |\n"
      "|---|---|---|---|---|---|---|\n";
  std::string misses;
  std::vector<double> checks;
  std::vector<ThroughputRow> rows = convolutional_rows();
  for (ThroughputRow& row : transformer_rows()) rows.push_back(std::move(row));
  for (const ThroughputRow& row : rows) {
    const ipu::Estimate e = estimate_row(row);
    const double ratio = ratio_of(row, e);
    const double published = static_cast<double>(row.batch) / row.throughput * 1.5e9;
    const double use = e.utilization() * static_cast<double>(e.cycles) / (published * ratio);
    text += fmt::format("| {} | {} | {} | {:.2f} M | {:.2f} M | {:.2f} | {:.0f} % |\n", row.name,
                        row.batch, row.role, published / 1e6, published * ratio / 1e6, ratio,
                        100 * use);
    // The use of the AMP in published results is 9 % to 45 %; above 60 % a cost is missing.
    EXPECT_GT(use, 0.02) << row.name << " " << row.batch;
    EXPECT_LT(use, 0.6) << row.name << " " << row.batch;
    EXPECT_GT(ratio, 1 / 1.5) << row.name << " " << row.batch;
    EXPECT_LT(ratio, 1.5) << row.name << " " << row.batch;
    EXPECT_TRUE(e.without_rule.empty());
    EXPECT_TRUE(e.fits()) << row.name << " " << row.batch;
    if (ratio > 1.15 || ratio < 0.85) misses += superstep_table(row, e);
    if (row.role == "check") checks.push_back(ratio);
    if (row.role == "fit") EXPECT_NEAR(ratio, 1.0, 0.02) << row.batch;
  }
  double error = 0;
  for (const double r : checks) error += std::abs(r - 1);
  error /= static_cast<double>(checks.size());
  const auto close = std::ranges::count_if(checks, [](double r) { return r < 1.25 && r > 0.8; });
  text += fmt::format(
      "\n{} of {} checks are within a factor of 1.25; the mean absolute error is {:.0f} %, the "
      "geometric mean {:.2f}.\n",
      close, checks.size(), 100 * error, ipu::geometric_mean(checks));
  EXPECT_GE(static_cast<double>(close), 0.8 * static_cast<double>(checks.size()));
  EXPECT_LE(error, 0.12);
  std::printf("%s", text.c_str());
  test::expect_section(page(), "networks", text);
  test::expect_section(page(), "misses", misses.empty() ? "There is none.\n" : misses.substr(1));
}

struct Other {
  ipu::Prediction prediction;
  std::vector<ipu::Superstep> steps;
};

struct OtherRow {
  const char* name;
  double published_cycles, published_megabytes;
  Other predicted;
};

// The library's records have no control of supersteps, which is fitted to a network on a chip.
Other prediction_of(const ipu::OpCost& cost, double bytes, int64_t tiles) {
  int64_t cycles = 0;
  for (const ipu::Superstep& s : cost.steps) cycles += s.cycles() - s.repeats * s.overhead;
  bytes += static_cast<double>(cost.temporary_bytes * tiles);
  return {{static_cast<double>(cycles), bytes / 1e6}, cost.steps};
}

// Operations that are not products, lowered by `append`; `elements` halves exist always.
Other lowered(int64_t tiles, int64_t elements, const std::function<void(ipu::Lowering&)>& append) {
  ipu::Target target = ipu::target_of("mk2");
  target.tiles = tiles;
  ipu::ChipOptions options;
  options.float_partials = true;
  ipu::PlanCache plans(target, options.plan_options(target));
  ipu::Lowering lowering(target, options, plans);
  append(lowering);
  return prediction_of(lowering.take(), 2.0 * static_cast<double>(elements), tiles);
}

// 16 sequences of 25 steps, 1024 inputs and 1024 outputs.
Other recurrent(const char* type, int64_t gates) {
  constexpr int64_t kBatch = 16, kSteps = 25, kWidth = 1024;
  ir::Graph g;
  g.opsets[""] = 17;
  const auto input = [&](const char* name, Shape shape) {
    return g.add_input(name, ir::ValueType::of(DType::f16, std::move(shape)));
  };
  ir::Node* node =
      g.add_node(type, "",
                 {input("x", {kSteps, kBatch, kWidth}), input("w", {1, gates * kWidth, kWidth}),
                  input("r", {1, gates * kWidth, kWidth})});
  node->attributes["hidden_size"] = kWidth;
  node->output()->type = ir::ValueType::of(DType::f16, {kSteps, 1, kBatch, kWidth});
  g.add_output(node->output());
  EstimateOptions o;
  o.target = ipu::target_of("mk2");
  o.weights = {"w", "r"};
  o.chip.float_partials = true;
  const ipu::ChipProgram program = chip_program(g, o);
  double bytes = 0;
  for (const ipu::ChipTensor& t : program.tensors) bytes += static_cast<double>(t.bytes);
  return prediction_of(program.ops[0].cost, bytes, o.target.tiles);
}

std::vector<OtherRow> other_rows() {
  using ipu::Lowering;
  constexpr int64_t kReduced = int64_t{16} * 4 * 16 * 32 * 8, kSums = int64_t{16} * 256 * 8 * 4;
  const auto reduce = [](int64_t n, int64_t results, bool contiguous) {
    return lowered(1024, n + results,
                   [=](Lowering& l) { l.reduce(DType::f16, n, results, contiguous); });
  };
  constexpr int64_t kIn = int64_t{147} * 147, kOut = int64_t{73} * 73;
  return {{"bert_reduce_0", 1466, 0.61, reduce(kReduced, 2048, false)},
          {"bert_reduce_1", 1882, 0.89, reduce(kReduced, 2048, false)},
          {"bert_reduce_2", 2758, 0.59, reduce(kSums, 128, true)},
          // The gradient of an input is a sum of up to four gradients of results.
          {"inception_tr_bs1_pool1", 15346, 13.1,
           lowered(1472, 2 * 64 * (kIn + kOut),
                   [](Lowering& l) {
                     l.pool(DType::f16, 64, kOut, 9, 64 * kIn);
                     l.pool(DType::f16, 64, kIn, 4, 64 * kOut);
                   })},
          {"embedding_small", 177759, 51.6,
           lowered(1472, 200 * (1000 + 2 * 21600),
                   [](Lowering& l) {
                     l.gather(DType::f16, 1000, 200, 21600);
                     l.update_add(DType::f16, 1000, 200, 21600);
                   })},
          {"lstm_16_25_1024_1024_half", 334603, 36.1, recurrent("LSTM", 4)},
          {"gru_16_25_1024_1024_half", 432853, 30.4, recurrent("GRU", 3)}};
}

// The supersteps of a row that is not within a factor of 1.25.
std::string steps_table(const OtherRow& row) {
  std::string text = fmt::format(
      "\n{}: published {:.0f} cycles, predicted {:.0f}.\n\n| superstep | number | compute | "
      "exchange "
      "| sync |\n|---|---|---|---|---|\n",
      row.name, row.published_cycles, row.predicted.prediction.cycles);
  for (const ipu::Superstep& s : row.predicted.steps)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", s.what, s.repeats, s.repeats * s.compute,
                        s.repeats * s.exchange, s.repeats * s.sync);
  return text;
}

// The rows of the table for operations that are not products, and their ratios of bytes.
std::string other_operations(std::vector<double>& bytes) {
  std::string text, misses;
  std::vector<double> cycles;
  for (const OtherRow& row : other_rows()) {
    const ipu::Prediction& p = row.predicted.prediction;
    cycles.push_back(p.cycles / row.published_cycles);
    bytes.push_back(p.megabytes / row.published_megabytes);
    text += fmt::format("| {} | {:.0f} | {:.0f} | {:.2f} | {:.1f} | {:.1f} | {:.2f} | | | |\n",
                        row.name, row.published_cycles, p.cycles, cycles.back(),
                        row.published_megabytes, p.megabytes, bytes.back());
    EXPECT_GT(cycles.back(), 0.4) << row.name;
    EXPECT_LT(cycles.back(), 2.5) << row.name;
    if (cycles.back() > 1.25 || cycles.back() < 0.8) misses += steps_table(row);
  }
  test::expect_section(page(), "operation misses", misses.substr(1));
  return text + fmt::format("| geometric mean of {} | | | {:.2f} | | | | | | |\n", cycles.size(),
                            ipu::geometric_mean(cycles));
}

// The passes of a layer or convolution whose cycles are not within 10 %.
std::string passes_table(const ipu::PublishedRow& row, const ipu::Prediction& p) {
  std::string text = fmt::format(
      "\n{}: published {:.0f} cycles, predicted {:.0f}.\n\n| pass | method | compute | exchange of "
      "operands | partial sums | rearrangements, casts | cycles |\n|---|---|---|---|---|---|---|\n",
      row.name, row.cycles, p.cycles);
  for (const ipu::PassCycles& s : p.passes)
    if (s.total > 0)
      text += fmt::format("| {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |\n", s.name,
                          s.method, s.compute, s.exchange, s.sums, s.rearrange, s.total);
  return text;
}

TEST(ChipValidation, OperationsOfTheChipsOwnModel) {
  std::string misses;
  std::string text =
      "| operation | published cycles | predicted | ratio | published MB | predicted "
      "| ratio | published kB of a tile | predicted | ratio |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  std::vector<double> all;
  const auto add = [&](const std::vector<ipu::PublishedRow>& rows) {
    std::vector<double> cycles, bytes, tiles;
    for (const ipu::PublishedRow& row : rows) {
      const ipu::Prediction p = ipu::predict(row);
      cycles.push_back(p.cycles / row.cycles);
      bytes.push_back(p.megabytes / row.megabytes);
      if (row.trains && std::abs(cycles.back() - 1) > 0.1) misses += passes_table(row, p);
      const std::string name = row.trains ? std::string(row.name)
                                          : fmt::format("gemm_{}x{}x{}", row.product.batch,
                                                        row.product.in, row.product.out);
      std::string tile = "| | |";
      if (row.kilobytes > 0) {
        tiles.push_back(p.kilobytes / row.kilobytes);
        tile = fmt::format("{:.0f} | {:.0f} | {:.2f} |", row.kilobytes, p.kilobytes, tiles.back());
        EXPECT_GT(tiles.back(), 0.75) << name;
        EXPECT_LT(tiles.back(), 1.33) << name;
      }
      text += fmt::format("| {} | {:.0f} | {:.0f} | {:.2f} | {:.1f} | {:.1f} | {:.2f} | {}\n", name,
                          row.cycles, p.cycles, cycles.back(), row.megabytes, p.megabytes,
                          bytes.back(), tile);
    }
    text += fmt::format("| geometric mean of {} | | | {:.2f} | | | {:.2f} | | | {} |\n",
                        rows.size(), ipu::geometric_mean(cycles), ipu::geometric_mean(bytes),
                        tiles.empty() ? "" : fmt::format("{:.2f}", ipu::geometric_mean(tiles)));
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  add(ipu::published_gemms());
  add(ipu::published_layers());
  add(ipu::published_convolutions());
  test::expect_section(page(), "layer misses", misses.substr(1));
  text += other_operations(all);
  const auto near = std::ranges::count_if(all, [](double r) { return r < 1.3 && r > 1 / 1.3; });
  text += fmt::format(
      "\nMemory: {} of {} rows are within a factor of 1.3, the geometric mean is {:.2f}.\n", near,
      all.size(), ipu::geometric_mean(all));
  EXPECT_GE(static_cast<double>(near), 0.8 * static_cast<double>(all.size()));
  test::expect_section(page(), "operations", text);
}

TEST(ChipValidation, BatchesThatArePublishedToFit) {
  struct Case {
    const char* name;
    Model model;
    double proportion;
    int64_t ipus;
    bool fits;
  };
  Transformer xl = bert(1, 48, 1600);
  xl.heads = 25;
  xl.pre_norm = xl.causal = true;
  xl.vocabulary = xl.classes = 50257;
  Transformer large = bert(1, 40, 5120);
  large.heads = 40;
  large.pre_norm = large.causal = true;
  large.vocabulary = large.classes = 32000;
  std::vector<Case> cases;
  const auto add = [&](const char* name, Model m, double p, int64_t ipus, bool fits) {
    cases.push_back({name, std::move(m), p, ipus, fits});
  };
  add("ResNet-50, batch 90", chip_models::resnet50(90, false), 0.6, 1, true);
  add("ResNeXt-101, batch 16", chip_models::resnext101(16), 0.6, 1, true);
  add("EfficientNet-B0, batch 48", chip_models::efficientnet(48, 1, 1, 224), 0.6, 1, true);
  add("EfficientNet-B4, batch 10", chip_models::efficientnet(10, 1.4, 1.8, 380), 0.6, 1, true);
  add("BERT-base 128, batch 80", chip_models::transformer(bert(80, 12, 768)), 0.6, 1, true);
  add("BERT-large 128, batch 3", chip_models::transformer(bert(3, 24, 1024)), 0.6, 1, true);
  add("BERT-large 128, batch 18", chip_models::transformer(bert(18, 24, 1024)), 0.15, 1, true);
  add("decoder of 1.5 B weights", chip_models::transformer(xl), 0.2, 8, true);
  add("decoder of 1.5 B weights", chip_models::transformer(xl), 0.2, 4, false);
  add("decoder of 13 B weights", chip_models::transformer(large), 0.2, 64, true);
  add("decoder of 13 B weights", chip_models::transformer(large), 0.2, 32, false);
  std::string text =
      "| model | IPUs | available memory | published | bytes of the busiest tile | estimate |\n"
      "|---|---|---|---|---|---|\n";
  for (const Case& c : cases) {
    EstimateOptions o;
    o.target = ipu::target_of("mk2");
    o.weights = c.model.weights;
    o.chip.num_ipus = c.ipus;
    memory_proportion(o, c.proportion);
    const auto e = ipu::estimate_of(chip_program(*c.model.graph, o), o.target, o.chip);
    int64_t bytes = 0;
    for (const ipu::TileMemory& m : e.memory) bytes = std::max(bytes, m.bytes_with_gaps);
    EXPECT_EQ(e.fits(), c.fits) << c.name << " on " << c.ipus;
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", c.name, c.ipus, c.proportion,
                    c.fits ? "fits" : "does not fit", bytes, e.fits() ? "fits" : "does not fit");
  }
  test::expect_section(page(), "feasibility", text);
}

// Names the part of a product that takes most cycles: of the AMP its multiplications, the loads of
// its weights, or the instructions around them; or else an exchange, copies and sums, or the sync
// and control of the supersteps.
std::string limit_of(const ipu::Estimate& e) {
  const ipu::Plan& plan = *e.program.ops[0].cost.plan;
  const ipu::TileWork& w = plan.work;
  const ipu::AmpShape shape = ipu::amp_shape(e.target, w.inputs, w.partials);
  const int64_t rounds = plan.split.serial_in * plan.split.serial_out;
  const int64_t blocks = w.groups * w.taps() * ipu::ceil_div(w.in, shape.group) *
                         ipu::ceil_div(w.out, shape.units) * rounds;
  const int64_t multiplications = blocks * w.field() * shape.element_cycles;
  const int64_t loads = blocks * shape.units * 32 / e.target.load_bytes;
  const int64_t compute = plan.cost.compute * rounds;
  const std::map<int64_t, std::string> parts = {
      {multiplications, "multiplications"},
      {loads, "loads of weights"},
      {compute - multiplications - loads, "instructions around the AMP"},
      {e.exchange_cycles, "exchange"},
      {e.compute_cycles - compute, "copies and sums"},
      {e.sync_cycles + e.overhead_cycles, "sync and control"}};
  return parts.rbegin()->second;
}

// Tries proportions of the memory, and returns the estimate with the largest one with which the
// product fits.
ipu::Estimate estimate_product(Precision precision, int64_t k, int64_t n, double& proportion) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* w = g.add_input("w", ir::ValueType::of(DType::f32, {k, k}));
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {k, n}));
  ir::Node* product = g.add_node("MatMul", "", {w, x});
  product->output()->type = ir::ValueType::of(DType::f32, {k, n});
  g.add_output(product->output());
  EstimateOptions o;
  o.target = ipu::target_of("mk2");
  o.weights = {"w"};
  o.precision = precision;
  o.chip.rearrange_streams_on_host = true;  // the operands are on the tiles of the plan
  for (const double p : {0.6, 0.4, 0.3, 0.2, 0.1}) {
    proportion = p;
    memory_proportion(o, p);
    auto e = ipu::estimate_of(chip_program(g, o), o.target, o.chip);
    if (e.fits() || p == 0.1) return e;
  }
  return {};
}

TEST(ChipValidation, ProductsOnMk2) {
  std::string text =
      "| type | m = k | n | available memory | cycles | TFLOP/s | limit |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Precision precision : {Precision::fp16, Precision::fp32})
    for (const int64_t k : {1024, 2048, 4096, 8192}) {
      int64_t before = 0;
      bool fitted = true;
      for (const int64_t n : {4, 16, 64, 256, 1024, 4096, 16384}) {
        double proportion = 0;
        const ipu::Estimate e = estimate_product(precision, k, n, proportion);
        const int64_t cycles = e.cycles - e.io_cycles;
        const double seconds = e.target.seconds(static_cast<double>(cycles));
        const double teraflops = static_cast<double>(e.flops) / seconds / 1e12;
        EXPECT_GT(teraflops, 1) << k << " " << n;
        EXPECT_LT(teraflops, precision == Precision::fp16 ? 250 : 62.5) << k << " " << n;
        if (n > 4) EXPECT_GT(cycles, before) << k << " " << n;
        if (n > 4 && e.fits()) EXPECT_TRUE(fitted) << k << " " << n;
        before = cycles;
        fitted = e.fits();
        const char* type = precision == Precision::fp16 ? "fp16" : "fp32";
        if (e.fits())
          text += fmt::format("| {} | {} | {} | {} | {} | {:.1f} | {} |\n", type, k, n, proportion,
                              cycles, teraflops, limit_of(e));
        else
          text += fmt::format("| {} | {} | {} | | | | does not fit |\n", type, k, n);
      }
    }
  std::printf("%s", text.c_str());
  test::expect_section(page(), "products", text);
}

TEST(ChipValidation, ConstantsOfTheCalibration) {
  std::string text =
      "| constant | value | unit | source | grade | fitted to |\n|---|---|---|---|---|---|\n";
  for (const ipu::CalibrationRow& r : ipu::calibration_rows())
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", r.name, r.value, r.unit, r.source,
                        r.grade, r.rows.empty() ? "nothing" : r.rows);
  test::expect_section(page(), "constants", text);
}

// Returns processor time, so that other programs on the machine do not change the result.
double processor_seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(ChipValidation, NetworksAreEstimatedInLessThanASecond) {
  std::vector<ThroughputRow> rows = convolutional_rows();
  for (ThroughputRow& row : transformer_rows()) rows.push_back(std::move(row));
  for (const ThroughputRow& row : rows)
    EXPECT_LT(processor_seconds([&] { estimate_row(row); }), 1.0) << row.name << " " << row.batch;
}

int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// The graph has shapes only: its weights are inputs.
TEST(ChipValidation, ADecoderOf13BillionWeightsIsEstimatedFor64Ipus) {
  Transformer t = bert(1, 40, 5120);
  t.heads = 40;
  t.pre_norm = t.causal = true;
  t.vocabulary = t.classes = 32000;
  const int64_t before = peak_kilobytes();
  ipu::Estimate e;
  const double seconds = processor_seconds([&] {
    const Model m = chip_models::transformer(t);
    EstimateOptions o;
    o.target = ipu::target_of("c600");
    o.weights = m.weights;
    o.chip.num_ipus = 64;
    memory_proportion(o, 0.2);
    e = estimate(*m.graph, o);
  });
  EXPECT_LT(seconds, 20);
  EXPECT_LT(peak_kilobytes() - before, 1'000'000);
  EXPECT_EQ(e.memory.size(), 64u);
  EXPECT_TRUE(e.fits());
  int64_t weights = 0;
  for (const ipu::ChipTensor& w : e.program.tensors)
    if (w.kind == ipu::TensorKind::weight) weights += w.bytes;
  EXPECT_NEAR(static_cast<double>(weights), 2 * 13e9, 0.3e9);
  std::printf("%.2f s of processor, %lld MB more memory\n", seconds,
              static_cast<long long>((peak_kilobytes() - before) / 1000));
}

}  // namespace
}  // namespace poprt::compiler

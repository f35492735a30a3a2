#include "compiler/chip_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "base/error.h"
#include "core/compiler/chip_models.h"

namespace poprt::compiler {
namespace {

EstimateOptions read(const std::map<std::string, std::string, std::less<>>& options) {
  return chip_options([&](std::string_view name) -> const char* {
    const auto at = options.find(name);
    return at == options.end() ? nullptr : at->second.c_str();
  });
}

TEST(ChipOptions, DefaultsMatchTheEstimator) {
  const EstimateOptions o = read({});
  EXPECT_EQ(o.target, ipu::target_of("c600"));
  EXPECT_EQ(o.precision, Precision::keep);
  EXPECT_EQ(o.chip, ipu::ChipOptions());
}

TEST(ChipOptions, EveryOptionHasItsField) {
  const EstimateOptions o = read({{"ipu_version", "ipu2"},
                                  {"precision", "fp8_weight"},
                                  {"num_ipus", "4"},
                                  {"num_io_tiles", "32"},
                                  {"batches_per_step", "128"},
                                  {"available_memory_proportion", "0.25"},
                                  {"partials_type", "float"},
                                  {"use_128bit_conv_unit_load", "True"},
                                  {"enable_fast_reduce", "True"},
                                  {"enable_pipelining", "True"},
                                  {"outline_threshold", "7.5"},
                                  {"enable_multi_stage_reduce", "False"},
                                  {"group_host_sync", "True"},
                                  {"rearrange_streams_on_host", "True"},
                                  {"rearrange_anchors_on_host", "False"}});
  EXPECT_EQ(o.target.name, "mk2");
  EXPECT_EQ(o.precision, Precision::fp8_weight);
  EXPECT_EQ(o.chip.num_ipus, 4);
  EXPECT_EQ(o.chip.num_io_tiles, 32);
  EXPECT_EQ(o.chip.batches_per_step, 128);
  EXPECT_EQ(o.chip.available_memory_proportion, 0.25);
  EXPECT_TRUE(o.chip.float_partials);
  EXPECT_TRUE(o.chip.use_128bit_conv_unit_load);
  EXPECT_TRUE(o.chip.fast_reduce);
  EXPECT_TRUE(o.chip.overlap);
  EXPECT_FALSE(o.chip.multi_stage_reduce);
  EXPECT_TRUE(o.chip.group_host_sync);
  EXPECT_TRUE(o.chip.rearrange_streams_on_host);
  EXPECT_FALSE(o.chip.rearrange_anchors_on_host);
  EXPECT_EQ(o.chip.outline_threshold, 7.5);
  EXPECT_LT(read({{"enable_outlining", "False"}}).chip.outline_threshold, 0);
}

// docs/chip.md lists these options. Each one changes the cycles, the throughput or the memory.
TEST(ChipOptions, EachOptionChangesTheEstimate) {
  chip_models::Transformer t;
  t.batch = 16;
  t.layers = 2;
  const auto m = chip_models::transformer(t);
  using Map = std::map<std::string, std::string, std::less<>>;
  const auto numbers = [&](Map options) {
    EstimateOptions o = read(options);
    o.weights = m.weights;
    const auto e = ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip);
    int64_t bytes = 0;
    for (const ipu::TileMemory& i : e.memory) bytes = std::max(bytes, i.bytes);
    return std::tuple(e.cycles, e.period_seconds, e.throughput, bytes);
  };
  const Map base = {{"precision", "fp16"}, {"num_ipus", "2"}};
  for (const auto& [name, value] : {std::pair("estimate_target", "bow"),
                                    {"ipu_version", "ipu2"},
                                    {"precision", "fp8"},
                                    {"num_ipus", "1"},
                                    {"num_io_tiles", "32"},
                                    {"batches_per_step", "128"},
                                    {"available_memory_proportion", "0.02"},
                                    {"partials_type", "float"},
                                    {"use_128bit_conv_unit_load", "True"},
                                    {"enable_fast_reduce", "True"},
                                    {"enable_pipelining", "True"},
                                    {"enable_outlining", "False"},
                                    {"enable_prefetch_datastreams", "False"},
                                    {"enable_non_stable_softmax", "True"},
                                    {"popart.replicatedGraphCount", "4"},
                                    {"outline_threshold", "1e8"}}) {
    Map changed = base;
    changed[name] = value;
    EXPECT_NE(numbers(changed), numbers(base)) << name << " " << value;
  }
}

namespace {

// A product of input `x` and a weight, whose result is the only output with `also_sum` false.
ipu::Estimate estimate_with_streams(const std::map<std::string, std::string, std::less<>>& options,
                                    bool also_sum) {
  ir::Graph g;
  g.opsets[""] = 17;
  const auto input = [&](const char* name, Shape shape) {
    return g.add_input(name, ir::ValueType::of(DType::f16, std::move(shape)));
  };
  ir::Value* x = input("x", {256, 1024});
  ir::Node* product = g.add_node("MatMul", "", {x, input("w", {1024, 1024})});
  product->output()->type = ir::ValueType::of(DType::f16, {256, 1024});
  g.add_output(product->output());
  if (also_sum) {
    ir::Node* sum = g.add_node("Add", "", {product->output(), input("late", {256, 1024})});
    sum->output()->type = ir::ValueType::of(DType::f16, {256, 1024});
    g.add_output(sum->output());
  }
  EstimateOptions o = read(options);
  o.weights = {"w"};
  return ipu::estimate_of(chip_program(g, o), o.target, o.chip);
}

}  // namespace

// A product with few results and many channels has more than 16 partial sums of each result.
TEST(ChipOptions, ManyPartialSumsAreSummedInStages) {
  ir::Graph g;
  g.opsets[""] = 17;
  const auto input = [&](const char* name, Shape shape) {
    return g.add_input(name, ir::ValueType::of(DType::f16, std::move(shape)));
  };
  ir::Node* product = g.add_node("MatMul", "", {input("x", {16, 2048}), input("w", {2048, 1024})});
  product->output()->type = ir::ValueType::of(DType::f16, {16, 1024});
  g.add_output(product->output());
  const auto sums = [&](const char* several) {
    EstimateOptions o = read({{"enable_multi_stage_reduce", several}});
    o.weights = {"w"};
    const ipu::ChipProgram program = chip_program(g, o);
    return std::ranges::count_if(program.ops[0].cost.steps, [](const ipu::Superstep& s) {
      return s.what == "reduce partials";
    });
  };
  EXPECT_EQ(sums("True"), 2);
  EXPECT_EQ(sums("False"), 1);
}

// The elements of inputs and outputs are in another order on the host than in the plan of a
// product. If the chip rearranges them, the product has a superstep for it.
TEST(ChipOptions, StreamsOfProductsAreRearrangedOnTheChipOrTheHost) {
  const auto steps = [](std::map<std::string, std::string, std::less<>> options) {
    const auto e = estimate_with_streams(options, false);
    return e.program.ops[0].cost.steps;
  };
  const auto usual = steps({});
  const auto host = steps({{"rearrange_streams_on_host", "True"}});
  const auto chip = steps({{"rearrange_anchors_on_host", "False"}});
  EXPECT_EQ(usual.size(), host.size() + 1);
  EXPECT_EQ(usual.front().what, "rearrange");
  EXPECT_EQ(chip.size(), usual.size() + 1);
  EXPECT_EQ(chip.back().what, "rearrange");
}

// The host needs its buffer until the rearranged elements are transferred.
TEST(ChipOptions, AStreamThatTheHostRearrangesHasOneBuffer) {
  const auto stream = [](const char* streams, const char* anchors) {
    return estimate_with_streams({{"stream_buffering_depth", "4"},
                                  {"rearrange_streams_on_host", streams},
                                  {"rearrange_anchors_on_host", anchors}},
                                 false);
  };
  constexpr int64_t kBytes = 256 * 1024 * 2;
  EXPECT_EQ(stream("True", "True").stream_bytes, kBytes);
  EXPECT_EQ(stream("False", "True").stream_bytes, 4 * kBytes);
  EXPECT_EQ(stream("True", "False").stream_bytes, 4 * kBytes);
  EXPECT_GT(stream("True", "True").wait_seconds, stream("False", "True").wait_seconds);
}

// Input `late` and the result of the product exist during the whole program, and the chip waits for
// the host twice instead of four times.
TEST(ChipOptions, GroupedTransfersNeedMoreMemoryAndFewerSyncs) {
  const auto apart = estimate_with_streams({{"group_host_sync", "False"}}, true);
  const auto grouped = estimate_with_streams({{"group_host_sync", "True"}}, true);
  EXPECT_EQ(apart.cycles, grouped.cycles + 2 * apart.target.global_sync);
  EXPECT_LT(apart.memory[0].bytes, grouped.memory[0].bytes);
}

// The chip computes the model in less time than the host needs for a call.
TEST(ChipOptions, ASecondBufferHelpsIfTheChipWaitsForTheHost) {
  chip_models::Transformer t;
  t.layers = 1;
  t.hidden = t.inner = 64;
  t.heads = 1;
  const auto m = chip_models::transformer(t);
  using Map = std::map<std::string, std::string, std::less<>>;
  const auto period = [&](const Map& options) {
    EstimateOptions o = read(options);
    o.weights = m.weights;
    return ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip).period_seconds;
  };
  const double one = period({}), two = period({{"stream_buffering_depth", "2"}});
  EXPECT_LT(two, one);
  EXPECT_LT(one, period({{"enable_prefetch_datastreams", "False"}}));
  EXPECT_EQ(one, period({{"enable_prefetch_datastreams", "True"}}));
}

TEST(ChipOptions, TheTargetOfEstimatesTakesPrecedence) {
  EXPECT_EQ(read({{"ipu_version", "ipu2"}, {"estimate_target", "bow"}}).target.name, "bow");
  const std::string path = ::testing::TempDir() + "chip_options_target.json";
  std::ofstream(path) << R"({"base": "mk2", "tiles": 100})";
  EXPECT_EQ(read({{"estimate_target", path}}).target.tiles, 100);
  std::ofstream(path) << R"({"base": )";
  try {
    read({{"estimate_target", path}});
    FAIL() << "the file is not JSON";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(e.message(), "'" + path + "' is not JSON: there is an error at byte 10");
  }
  std::ofstream(path) << R"({"tilez": 4})";
  try {
    read({{"estimate_target", path}});
    FAIL() << "there is no such field";
  } catch (const Error& e) {
    EXPECT_TRUE(e.message().starts_with("'" + path + "': target: there is no field 'tilez'"))
        << e.message();
  }
}

TEST(ChipOptions, RefusesValuesOutsideTheirRange) {
  for (const auto& [name, value] : {std::pair("num_ipus", "0"),
                                    {"num_ipus", "two"},
                                    {"num_io_tiles", "1472"},
                                    {"batches_per_step", "0"},
                                    {"available_memory_proportion", "1.5"},
                                    {"available_memory_proportion", "nan"},
                                    {"estimate_target", "ipu9"}}) {
    try {
      read({{name, value}});
      FAIL() << name << " " << value;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << name;
      EXPECT_NE(e.message().find(value), std::string::npos) << e.message();
    }
  }
}

// A conversion uses the last of several shapes, which replace input_shape.
TEST(ChipOptions, ASmallerBatchChangesTheShapesThatAreUsed) {
  DriverOptions shapes;
  shapes.shapes = {{{"x", {8, 4}}}, {{"m", {4}}, {"x", {64, 4}}}};
  EXPECT_EQ(set_batch(shapes, 64, 16), "--input_shape m=4 x=16,4");
  EXPECT_EQ(shapes.shapes.back().at("x"), (Shape{16, 4}));
  EXPECT_EQ(shapes.batch_size, 0);
  DriverOptions one;
  one.input_shape = {{"x", {64, 4}}};
  EXPECT_EQ(set_batch(one, 64, 16), "--input_shape x=16,4");
  DriverOptions none;
  EXPECT_EQ(set_batch(none, 64, 16), "--batch_size 16 --batch_axis 0");
}

}  // namespace
}  // namespace poprt::compiler

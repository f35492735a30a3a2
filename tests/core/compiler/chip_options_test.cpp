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
                                  {"outline_threshold", "7.5"}});
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
    EXPECT_NE(e.message().find("is not JSON"), std::string::npos) << e.message();
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

}  // namespace
}  // namespace poprt::compiler

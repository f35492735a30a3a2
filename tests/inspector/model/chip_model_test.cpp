#include "model/chip_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ir/text.h"
#include "model/pass_history.h"

namespace poprt::inspector {
namespace {

std::unique_ptr<ir::Graph> sample() {
  return ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f16[64,512]
  const %w : f16[512,256] = fill 1.0
  %m : f16[64,256] = MatMul(%x, %w) "product"
  %s : f16[64,256] = Softmax(%m) "weights"
  %y : f16[64,256] = Relu(%s) "rectified"
  output %y
}
)");
}

ChipModel estimated(const ChipChoice& choice = {}) {
  const auto graph = sample();
  std::string assumed;
  Progress progress;
  return estimate_on_chip(*graph, options_for_inspection(*graph, assumed, {}), choice, progress);
}

TEST(ChipModel, PhasesFollowEachOtherAndSumToTheCycles) {
  const ChipModel m = estimated();
  ASSERT_EQ(m.ops().size(), 3u);
  double end = 0;
  for (const ChipPhase& p : m.phases()) {
    EXPECT_EQ(p.begin, end);
    EXPECT_GT(p.end, p.begin);
    EXPECT_GE(p.begin, m.begin_of(p.op));
    EXPECT_LE(p.end, m.begin_of(p.op + 1));
    end = p.end;
  }
  EXPECT_EQ(end, m.all_cycles());
  EXPECT_EQ(end, static_cast<double>(m.estimate().cycles));
  EXPECT_EQ(m.op_at(0), 0u);
  EXPECT_EQ(m.op_at(m.begin_of(1)), 1u);
  EXPECT_EQ(m.op_at(m.all_cycles()), 2u);
  const auto order = m.by_cycles();
  EXPECT_TRUE(std::ranges::is_sorted(
      order, [&](size_t a, size_t b) { return m.ops()[a].cycles() > m.ops()[b].cycles(); }));
}

TEST(ChipModel, TilesHaveTheBytesOfTheEstimate) {
  const ChipModel m = estimated();
  const ipu::TileMemory& memory = m.estimate().memory[0];
  const auto most = m.tile_bytes(0, -1);
  ASSERT_EQ(most.size(), 1472u);
  EXPECT_EQ(most[static_cast<size_t>(memory.tile)], static_cast<double>(memory.bytes));
  std::vector<double> found(most.size(), 0);
  for (int op = 0; op < 3; op++) {
    const auto now = m.tile_bytes(0, op);
    for (size_t t = 0; t < now.size(); t++) found[t] = std::max(found[t], now[t]);
  }
  EXPECT_EQ(found, most);
  const auto tensors = m.tensors(0, -1, memory.tile);
  ASSERT_FALSE(tensors.empty());
  EXPECT_EQ(tensors[0].name, memory.largest[0].name);
  EXPECT_EQ(tensors[0].bytes, memory.largest[0].bytes);
}

TEST(ChipModel, TilesComputeTheCyclesOfTheSupersteps) {
  const ChipModel m = estimated();
  const auto all = m.tile_cycles(0, -1);
  std::vector<double> sum(all.size(), 0);
  for (int op = 0; op < 3; op++) {
    const auto own = m.tile_cycles(0, op);
    for (size_t t = 0; t < own.size(); t++) sum[t] += own[t];
  }
  EXPECT_EQ(sum, all);
  EXPECT_LE(*std::ranges::max_element(all), static_cast<double>(m.estimate().compute_cycles));
}

TEST(ChipModel, ExplainsWhyAProgramDoesNotFit) {
  EXPECT_TRUE(estimated().explanation().empty());
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f16[65536,8192]
  input %b : f16[65536,8192]
  %y : f16[65536,8192] = Add(%x, %b) "sum"
  output %y
}
)");
  std::string assumed;
  Progress progress;
  const ChipModel m =
      estimate_on_chip(*graph, options_for_inspection(*graph, assumed, {}), {}, progress);
  const auto lines = m.explanation();
  ASSERT_GE(lines.size(), 3u);
  EXPECT_NE(lines[0].find("Out of memory on tile"), std::string::npos) << lines[0];
  EXPECT_TRUE(lines.back().starts_with("It fits with") ||
              lines.back().starts_with("No option that was tried makes it fit"))
      << lines.back();
  EXPECT_NE(m.headline().find("does not fit"), std::string::npos);
}

TEST(ChipModel, NodesHaveTheTimeOfTheirOperations) {
  const auto graph = sample();
  const GraphModel shown(*graph);
  const ChipModel m = estimated();
  const auto times = chip_times(shown, m);
  double sum = 0;
  for (const double t : times) sum += t;
  EXPECT_NEAR(sum, 1e9 * m.estimate().target.seconds(m.all_cycles()), 1);
  EXPECT_GT(times[static_cast<size_t>(shown.find("product"))], 0);
}

TEST(ChipModel, TwoEstimatesAreComparedByTheirNumbers) {
  const ChipModel a = estimated(), b = estimated({.target = "mk1"});
  const auto rows = compare_chips(a, b);
  const auto row = [&](const char* what) {
    return *std::ranges::find(rows, what, &ChipComparison::what);
  };
  EXPECT_EQ(row("cycles").a, static_cast<double>(a.estimate().cycles));
  EXPECT_EQ(row("cycles").b, static_cast<double>(b.estimate().cycles));
  EXPECT_EQ(row("bytes of a tile").b, 262144);
  EXPECT_GT(row("MatMul").b, 0);
  EXPECT_TRUE(row("samples/s").more_is_better);
  EXPECT_FALSE(row("milliseconds").more_is_better);
}

TEST(ChipModel, TablesHaveTheNumbersOfTheView) {
  const ChipModel a = estimated(), b = estimated({.target = "mk1"});
  auto tables = chip_tables(a, nullptr);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(std::get<int64_t>(tables[0].rows[1][1]), a.estimate().cycles);
  EXPECT_EQ(tables[2].rows.size(), 3u);
  EXPECT_EQ(std::get<int64_t>(tables[2].rows[0][3]), a.ops()[a.by_cycles()[0]].cycles());
  tables = chip_tables(a, &b);
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_EQ(tables[3].columns[2], "mk1");
  EXPECT_FALSE(tables_json(tables).empty());
}

// The error of fp8 on a chip without products of 8-bit floats suggests fp8_weight.
TEST(ChipModel, WeightsOfEightBitsAreSmaller) {
  const auto weights = [](const char* precision) {
    ChipChoice choice;
    choice.target = "mk2";
    choice.precision = precision;
    const auto model = estimated(choice);
    const auto& bytes = model.estimate().memory[0].by_category;
    return bytes[static_cast<size_t>(ipu::Category::weights)];
  };
  EXPECT_LT(weights("fp8_weight"), weights("fp16"));
  EXPECT_THROW(weights("fp8"), Error);
}

TEST(ChipModel, EndsWhenItIsCancelled) {
  const auto graph = sample();
  std::string assumed;
  Progress progress;
  progress.cancel = true;
  try {
    estimate_on_chip(*graph, options_for_inspection(*graph, assumed, {}), {}, progress);
    FAIL() << "it was cancelled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace poprt::inspector

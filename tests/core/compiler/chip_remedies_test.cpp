#include "compiler/chip_remedies.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "base/error.h"
#include "core/compiler/chip_models.h"

namespace poprt::compiler {
namespace {

TEST(ChipRemedies, NamesOnlyOptionsWithWhichTheProgramFits) {
  chip_models::Transformer t;
  t.batch = 18;
  t.layers = 24;
  t.hidden = 1024;
  t.heads = 16;
  t.inner = 4096;
  const auto m = chip_models::transformer(t);
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = m.weights;
  ASSERT_FALSE(ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip).fits());
  const auto remedies = find_remedies(*m.graph, o);
  ASSERT_FALSE(remedies.empty());
  EXPECT_LE(remedies.size(), 3u);
  int64_t before = 0;
  std::set<std::string> kinds;
  for (const ipu::Remedy& r : remedies) {  // a new estimate with each option fits
    EXPECT_TRUE(r.fits);
    EXPECT_TRUE(kinds.insert(r.text.substr(0, r.text.find(' '))).second) << r.text;
    EstimateOptions changed = o;
    std::istringstream words(r.text);
    for (std::string name, value; words >> name >> value;) {
      if (name == "--available_memory_proportion")
        changed.chip.available_memory_proportion = std::stod(value);
      else if (name == "--num_ipus")
        changed.chip.num_ipus = std::stoll(value);
      else if (name == "--precision")
        changed.precision = value == "fp8" ? Precision::fp8 : Precision::fp16;
      else
        FAIL() << r.text;
    }
    const auto e = ipu::estimate_of(chip_program(*m.graph, changed), changed.target, changed.chip);
    EXPECT_TRUE(e.fits()) << r.text;
    EXPECT_EQ(e.cycles, r.cycles) << r.text;
    EXPECT_EQ(e.tile_bytes(), r.bytes) << r.text;
    EXPECT_EQ(e.needed_bytes(), r.bytes_with_gaps) << r.text;
    EXPECT_EQ(e.borderline(), r.borderline) << r.text;
    // All estimates have one batch size, and each IPU counts as a cost.
    EXPECT_GE(e.cycles * changed.chip.num_ipus, before) << r.text;
    before = e.cycles * changed.chip.num_ipus;
  }
  const auto lower = std::ranges::find_if(remedies, [](const ipu::Remedy& r) {
    return r.text.starts_with("--available_memory_proportion");
  });
  ASSERT_NE(lower, remedies.end());
  o.chip.available_memory_proportion = std::stod(lower->text.substr(lower->text.find(' ')));
  EXPECT_TRUE(ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip).fits());
}

// Only a smaller batch fits a chip with little memory: the image is large, and the product has one
// weight.
TEST(ChipRemedies, TriesSmallerBatchesAndNamesTheLargestThatFits) {
  const auto made = [](int64_t batch) {
    auto g = std::make_unique<ir::Graph>();
    g->opsets[""] = 17;
    ir::Value* x = g->add_input("x", ir::ValueType::of(DType::f16, {batch, 1 << 16}));
    ir::Node* exp = g->add_node("Exp", "", {x});
    exp->output()->type = x->type;
    g->add_output(exp->output());
    return g;
  };
  EstimateOptions o;
  o.target = ipu::target_of("mk2");
  o.target.tiles = 8;
  o.target.bytes_per_tile = 250'000;
  const auto fits = [&](int64_t batch) {
    return ipu::estimate_of(chip_program(*made(batch), o), o.target, o.chip).fits();
  };
  ASSERT_FALSE(fits(16));
  ASSERT_TRUE(fits(4));
  std::vector<int64_t> tried;
  const auto remedies = find_remedies(*made(16), o, [&](int64_t batch) {
    tried.push_back(batch);
    return OtherBatch{made(batch), fmt::format("--batch_size {}", batch)};
  });
  const std::string batch = fits(8) ? "--batch_size 8" : "--batch_size 4";
  EXPECT_TRUE(std::ranges::any_of(remedies, [&](const auto& r) { return r.text == batch; }));
  EXPECT_EQ(tried.front(), 8);
  // A model whose batch size is fixed has other remedies only.
  const auto fixed = find_remedies(*made(16), o, [](int64_t) -> OtherBatch {
    fail(ErrorCode::invalid_argument, "the dimension is fixed");
  });
  for (const ipu::Remedy& r : fixed) EXPECT_FALSE(r.text.starts_with("--batch_size")) << r.text;
}

// A table of embeddings is one operation, which no option makes smaller. The table keeps its 16
// bits, because the conversion to 8-bit floats changes products only.
TEST(ChipRemedies, NamesTheClosestOptionIfNoneFits) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* table = g.add_input("table", ir::ValueType::of(DType::f16, {600'000, 1024}));
  ir::Value* places = g.add_input("places", ir::ValueType::of(DType::s32, {8}));
  ir::Node* node = g.add_node("Gather", "", {table, places});
  node->output()->type = ir::ValueType::of(DType::f16, {8, 1024});
  g.add_output(node->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = {"table"};
  const auto e = ipu::estimate_of(chip_program(g, o), o.target, o.chip);
  ASSERT_FALSE(e.fits());
  const auto remedies = find_remedies(g, o);
  ASSERT_EQ(remedies.size(), 1u);
  EXPECT_FALSE(remedies[0].fits);
  EXPECT_GT(remedies[0].bytes_with_gaps, o.target.bytes_per_tile);
  EstimateOptions half = o, tiles = o;
  half.precision = Precision::fp16;
  tiles.chip.num_io_tiles = 256;
  for (const EstimateOptions& other : {half, tiles})
    EXPECT_LE(remedies[0].bytes_with_gaps,
              ipu::estimate_of(chip_program(g, other), o.target, o.chip).needed_bytes());
  const auto lines = ipu::memory_lines(e, remedies);
  const auto has = [&](const char* part) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has("more IPUs do not help"));
  EXPECT_TRUE(has("No option that was tried makes it fit. The closest is --"));
  EXPECT_TRUE(has("largest variable table"));
}

// Half precision needs less memory than less room for temporary data, but still too much.
TEST(ChipRemedies, TheClosestOptionNeedsTheLeastMemory) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f32, {16, 1 << 16}));
  ir::Node* exp = g.add_node("Exp", "", {x});
  exp->output()->type = x->type;
  g.add_output(exp->output());
  EstimateOptions o;
  o.target = ipu::target_of("mk2");
  o.target.tiles = 8;
  o.target.bytes_per_tile = 2000;
  o.precision = Precision::fp32;
  const auto needed = [&](const EstimateOptions& with) {
    return ipu::estimate_of(chip_program(g, with), with.target, with.chip).needed_bytes();
  };
  EstimateOptions lower = o, half = o;
  lower.chip.available_memory_proportion = 0.4;
  half.precision = Precision::fp16;
  ASSERT_LT(needed(half), needed(lower));
  const auto remedies = find_remedies(g, o);
  ASSERT_EQ(remedies.size(), 1u);
  EXPECT_FALSE(remedies[0].fits);
  EXPECT_LE(remedies[0].bytes_with_gaps, needed(half));
}

TEST(ChipRemedies, AStreamHasAtMost128MegabytesOnTheHost) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f16, {1, 40 << 20}));
  ir::Node* exp = g.add_node("Exp", "", {x});
  exp->output()->type = x->type;
  g.add_output(exp->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  EXPECT_TRUE(ipu::estimate_of(chip_program(g, o), o.target, o.chip).fits());
  o.chip.stream_buffers = 2;
  const auto e = ipu::estimate_of(chip_program(g, o), o.target, o.chip);
  EXPECT_TRUE(e.tiles_fit());
  EXPECT_FALSE(e.streams_fit());
  const auto remedies = find_remedies(g, o);
  ASSERT_FALSE(remedies.empty());
  EXPECT_TRUE(std::ranges::any_of(remedies, [](const ipu::Remedy& r) {
    return r.fits && r.text == "--stream_buffering_depth 1";
  }));
  const auto all = find_remedies(g, o, {}, 100);
  for (size_t most = 1; most < all.size(); most++)
    EXPECT_EQ(find_remedies(g, o, {}, most).size(), most);
  EXPECT_TRUE(ipu::memory_lines(e, {})[0].starts_with("Out of memory. Single stream of length"));
}

// Few I/O tiles cannot hold the inputs and outputs of a large batch.
TEST(ChipRemedies, IoTilesHaveMemoryToo) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f16, {1, 10 << 20}));
  ir::Node* exp = g.add_node("Exp", "", {x});
  exp->output()->type = x->type;
  g.add_output(exp->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.chip.num_io_tiles = 32;
  const auto e = ipu::estimate_of(chip_program(g, o), o.target, o.chip);
  EXPECT_FALSE(e.fits());
  EXPECT_GT(e.memory[0].io_tile, o.target.bytes_per_tile);
  EXPECT_LE(e.memory[0].bytes_with_gaps, o.target.bytes_per_tile);
  const auto remedies = find_remedies(g, o);
  EXPECT_TRUE(std::ranges::any_of(
      remedies, [](const ipu::Remedy& r) { return r.fits && r.text == "--num_io_tiles 128"; }));
}

}  // namespace
}  // namespace poprt::compiler

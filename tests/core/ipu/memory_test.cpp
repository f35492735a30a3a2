#include "ipu/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace poprt::ipu {
namespace {

size_t at(Category c) { return static_cast<size_t>(c); }

ChipTensor tensor(const char* name, TensorKind kind, int64_t share, int64_t tiles, size_t first,
                  size_t last) {
  ChipTensor t;
  t.name = name;
  t.kind = kind;
  t.share = share;
  t.tiles = tiles;
  t.bytes = share * tiles;
  t.first = first;
  t.last = last;
  return t;
}

// Three operations: a -> b -> c -> d, with a weight.
ChipProgram chain() {
  ChipProgram p;
  p.tensors = {tensor("w", TensorKind::weight, 1000, 1472, 0, 2),
               tensor("a", TensorKind::input, 400, 1472, 0, 0),
               tensor("b", TensorKind::activation, 300, 1472, 0, 1),
               tensor("c", TensorKind::activation, 200, 1472, 1, 2),
               tensor("d", TensorKind::output, 100, 1472, 2, 2)};
  for (size_t i = 0; i < 3; i++) {
    ChipOp op;
    op.name = "op" + std::to_string(i);
    op.type = "Relu";
    op.inputs = {i + 1, 0};
    op.outputs = {i + 2};
    p.ops.push_back(op);
  }
  return p;
}

TEST(Memory, TilesNeedMostAtThePeak) {
  ChipProgram p = chain();
  p.tensors.push_back(tensor("small", TensorKind::activation, 50, 3, 1, 1));
  p.ops[1].inputs.push_back(5);
  p.ops[2].cost.temporary_bytes = 20;
  const Target& target = target_of("c600");
  const TileMemory m = memory_of(p, target, {})[0];
  std::vector<int64_t> most(m.by_tile.size(), 0);
  for (size_t op = 0; op < 3; op++) {
    const auto now = bytes_at(p, target, {}, 0, op);
    ASSERT_EQ(now.size(), most.size());
    for (size_t t = 0; t < now.size(); t++) most[t] = std::max(most[t], now[t]);
  }
  EXPECT_EQ(most, m.by_tile);
  const auto tile = static_cast<size_t>(first_tile(p.tensors[5], 1472));
  EXPECT_EQ(bytes_at(p, target, {}, 0, 1)[tile] - bytes_at(p, target, {}, 0, 1)[(tile + 3) % 1472],
            50);
  const auto found = tensors_at(p, target, {}, 0, 1, static_cast<int64_t>(tile));
  std::vector<std::string> names;
  for (const LargestTensor& t : found) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string>{"w", "b", "c", "small"}));
}

TEST(Memory, TensorsThatDoNotLiveTogetherShareAddresses) {
  const auto all = memory_of(chain(), target_of("c600"), {});
  ASSERT_EQ(all.size(), 1u);
  const TileMemory& m = all[0];
  EXPECT_EQ(m.by_category[at(Category::weights)], 1000);
  EXPECT_EQ(m.by_category[at(Category::activations)], 700);  // a and b
  EXPECT_EQ(m.peak_op, 0u);
  EXPECT_EQ(m.liveness[0], 700 * 1472);
  EXPECT_EQ(m.liveness[1], 500 * 1472);
  EXPECT_TRUE(m.fits());
  EXPECT_LE(m.bytes, m.bytes_with_gaps);
}

TEST(Memory, CategoriesOfTheBusiestTileAddUp) {
  ChipProgram p = chain();
  p.ops[1].cost.temporary_bytes = 5000;
  const TileMemory m = memory_of(p, target_of("c600"), {})[0];
  EXPECT_EQ(std::accumulate(m.by_category.begin(), m.by_category.end(), int64_t{0}), m.bytes);
  EXPECT_EQ(m.by_category[at(Category::temporaries)], 5000);
  EXPECT_EQ(m.peak_op, 1u);
}

// Interleaved memory begins above the memory that holds the code.
TEST(Memory, PartialSumsAreInInterleavedMemory) {
  ChipProgram p;
  ChipOp op;
  op.type = "MatMul";
  op.cost.temporary_bytes = 10'000;
  op.cost.plan.emplace().cost.partial_bytes = 6144;
  op.cost.plan->cost.weight_bytes = 2048;
  op.cost.plan->cost.weight_exchange = 500;
  p.ops.push_back(op);
  const Target& t = target_of("mk2");
  ChipOptions options;
  const TileMemory m = memory_of(p, t, options)[0];
  EXPECT_EQ(m.bytes_with_gaps, 212992 + 6144);
  EXPECT_LT(m.bytes, 30'000);
  options.use_128bit_conv_unit_load = true;
  EXPECT_EQ(memory_of(p, t, options)[0].bytes_with_gaps, 212992 + 6144 + 2048);
  p.ops[0].cost.plan->cost.partial_bytes = 430'000;
  p.ops[0].cost.temporary_bytes = 440'000;
  const TileMemory full = memory_of(p, t, options)[0];
  EXPECT_LT(full.bytes, t.bytes_per_tile);
  EXPECT_FALSE(full.fits());
}

// Each operation that is not outlined has control and exchange code.
TEST(Memory, CodeMustFitTheMemoryThatIsNotInterleaved) {
  ChipProgram p;
  ChipOp op;
  op.type = "Add";
  Superstep s;
  s.what = "elementwise";
  s.exchange_bytes = 64;
  op.cost.steps.assign(10, s);
  p.ops.assign(300, op);
  const TileMemory m = memory_of(p, target_of("mk2"), {})[0];
  EXPECT_LT(m.bytes_with_gaps, m.available);
  EXPECT_GT(m.code, m.code_available);
  EXPECT_FALSE(m.fits());
  const auto lines = out_of_memory(m, p);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("_poplar_start must be 0"), std::string::npos) << lines[0];
  for (size_t i = 1; i < p.ops.size(); i++) p.ops[i].same_as = 0;
  EXPECT_TRUE(memory_of(p, target_of("mk2"), {})[0].fits());
}

TEST(Memory, SmallTensorsAreNotAllOnTheFirstTile) {
  ChipProgram p;
  for (int i = 0; i < 100; i++) {
    p.tensors.push_back(
        tensor(("w" + std::to_string(i)).c_str(), TensorKind::weight, 1000, 1, 0, 0));
    p.tensors.back().name = "w" + std::to_string(i);
  }
  ChipOp op;
  op.inputs.resize(100);
  std::iota(op.inputs.begin(), op.inputs.end(), size_t{0});
  p.ops.push_back(op);
  const TileMemory m = memory_of(p, target_of("c600"), {})[0];
  EXPECT_LE(m.by_category[at(Category::weights)], 5000);
}

TEST(Memory, OutOfMemoryNamesTileBytesAndTheLargestVariables) {
  ChipProgram p = chain();
  p.tensors[0].share = 700000;
  const TileMemory m = memory_of(p, target_of("c600"), {})[0];
  EXPECT_FALSE(m.fits());
  const auto lines = out_of_memory(m, p);
  ASSERT_GE(lines.size(), 4u);
  EXPECT_TRUE(lines[0].starts_with("Memory allocation error : Out of memory on tile 0: "))
      << lines[0];
  EXPECT_NE(lines[0].find("tiles only have 638976 bytes of memory"), std::string::npos);
  EXPECT_NE(std::ranges::find_if(lines,
                                 [](const std::string& l) {
                                   return l == "largest variable w: 700000 bytes on the tile";
                                 }),
            lines.end());
  EXPECT_TRUE(out_of_memory(memory_of(chain(), target_of("c600"), {})[0], chain()).empty());
}

// op1 of the second IPU reads a view of b, which op0 of the first IPU computes.
TEST(Memory, AViewOfATensorOfAnotherIpuNeedsItsBytes) {
  ChipProgram p = chain();
  ChipTensor view = tensor("view", TensorKind::activation, 300, 1472, 0, 1);
  view.alias_of = 2;
  p.tensors.push_back(view);
  p.ops[1].ipu = p.ops[2].ipu = 1;
  ChipOptions options;
  options.num_ipus = 2;
  const TileMemory direct = memory_of(p, target_of("c600"), options)[1];
  p.ops[1].inputs[0] = 5;
  const TileMemory m = memory_of(p, target_of("c600"), options)[1];
  EXPECT_EQ(m.by_category[at(Category::activations)], 500);  // b and c
  EXPECT_EQ(m.by_tile, direct.by_tile);
  EXPECT_EQ(m.largest[1].name, "b");
}

TEST(Memory, EachIpuHasTheTensorsOfItsOperations) {
  ChipProgram p = chain();
  p.ops[2].ipu = 1;
  ChipOptions o;
  o.num_ipus = 2;
  const auto all = memory_of(p, target_of("c600"), o);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].by_category[at(Category::activations)], 300);  // c and d
}

}  // namespace
}  // namespace poprt::ipu

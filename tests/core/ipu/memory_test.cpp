#include "ipu/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "ipu/first_fit.h"

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

TEST(Memory, ATensorOfOneByteTakesAByte) {
  ChipProgram p = chain();
  const int64_t before = memory_of(p, target_of("c600"), {})[0].total;
  p.tensors.push_back(tensor("flag", TensorKind::activation, 1, 1, 0, 2));
  for (ChipOp& op : p.ops) op.inputs.push_back(5);
  EXPECT_GT(memory_of(p, target_of("c600"), {})[0].total, before);
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

// -- Random programs against direct loops over operations, tiles and tensors ---------------------

struct RandomProgram {
  ChipProgram program;
  Target target;
  ChipOptions options;
};

RandomProgram random_program(uint32_t seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
  };
  constexpr std::string_view kVertices[] = {"Add", "Mul", "Cast", "Reduce"};
  RandomProgram r;
  r.target = target_of("mk2");
  r.target.tiles = 5 + up_to(4);
  r.target.bytes_per_tile = 30'000 + up_to(9000);
  r.target.plain_bytes = up_to(3) ? 12'000 : r.target.bytes_per_tile;
  r.options.num_ipus = 1 + up_to(1);
  r.options.num_io_tiles = up_to(1) * 2;
  r.options.overlap = up_to(1);
  r.options.use_128bit_conv_unit_load = up_to(1);
  ChipProgram& p = r.program;
  p.input_bytes = up_to(3000);
  p.output_bytes = up_to(2000);
  const auto ops = static_cast<size_t>(4 + up_to(5)), tensors = static_cast<size_t>(6 + up_to(14));
  for (size_t i = 0; i < tensors; i++) {
    const auto first = static_cast<size_t>(up_to(static_cast<int64_t>(ops) - 1));
    p.tensors.push_back(tensor("", static_cast<TensorKind>(up_to(3)), up_to(9) ? 1 + up_to(700) : 0,
                               1 + up_to(r.target.tiles + 1), first,
                               first + static_cast<size_t>(up_to(3))));
    p.tensors.back().name = "t" + std::to_string(seed) + "_" + std::to_string(i);
    if (i > 2 && up_to(4) == 0) p.tensors.back().alias_of = up_to(2);
  }
  for (size_t i = 0; i < ops; i++) {
    ChipOp op;
    op.ipu = up_to(r.options.num_ipus - 1);
    for (int64_t k = up_to(2); k >= 0; k--)
      op.inputs.push_back(static_cast<size_t>(up_to(static_cast<int64_t>(tensors) - 1)));
    op.outputs.push_back(static_cast<size_t>(up_to(static_cast<int64_t>(tensors) - 1)));
    op.cost.temporary_bytes = up_to(1) * up_to(3000);
    for (int64_t k = up_to(3); k > 0; k--) {
      Superstep s;
      s.exchange_bytes = up_to(2) * 2048 + up_to(1);
      op.cost.steps.push_back(s);
      op.cost.vertices.push_back(kVertices[up_to(3)]);
    }
    if (i > 0 && up_to(3) == 0) op.same_as = 0;
    if (up_to(2) == 0) {
      op.cost.plan.emplace().cost.partial_bytes = up_to(1) * up_to(2000);
      op.cost.plan->cost.weight_bytes = up_to(1000);
      op.cost.plan->cost.weight_exchange = up_to(1);
    }
    p.ops.push_back(op);
  }
  return r;
}

bool occupies(const ChipTensor& t, int64_t tile, int64_t tiles) {
  for (int64_t i = 0; i < t.tiles && i < tiles; i++)
    if ((first_tile(t, tiles) + i) % tiles == tile) return true;
  return false;
}

// The constants are those of docs/chip.md: bytes of the types of vertices, of supersteps, of
// exchanges, of states of vertices, of stacks and of the run time system.
TileMemory reference_memory(const RandomProgram& r, int64_t ipu) {
  const ChipProgram& p = r.program;
  const int64_t io_tiles = r.options.num_io_tiles, tiles = r.target.tiles - io_tiles;
  const int64_t plain =
      r.target.plain_bytes < r.target.bytes_per_tile ? 12'000 : r.target.bytes_per_tile / 3;
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  TileMemory m;
  m.ipu = ipu;
  m.available = r.target.bytes_per_tile;

  std::vector<const ChipTensor*> weights, others;
  for (size_t t = 0; t < p.tensors.size(); t++) {
    bool used = false;
    for (const ChipOp& op : p.ops)
      for (const auto* list : {&op.inputs, &op.outputs})
        for (const size_t i : *list)
          used = used || (op.ipu == ipu && (p.tensors[i].alias_of >= 0 ? p.tensors[i].alias_of
                                                                       : static_cast<int64_t>(i)) ==
                                               static_cast<int64_t>(t));
    if (used && p.tensors[t].bytes > 0)
      (p.tensors[t].kind == TensorKind::weight ? weights : others).push_back(&p.tensors[t]);
  }

  std::set<std::string_view> types;
  int64_t code = 6144, exchange = 0, state = 0;
  for (const ChipOp& op : p.ops) {
    if (op.ipu != ipu) continue;
    for (const std::string_view v : op.cost.vertices) types.insert(v);
    if (op.same_as != SIZE_MAX) {
      code += 16;
      continue;
    }
    for (const Superstep& s : op.cost.steps) {
      code += 48;
      state += 48;
      if (s.exchange_bytes) exchange += 64 + 4 * up(s.exchange_bytes, 2048);
    }
  }
  code += 700 * static_cast<int64_t>(types.size());
  const int64_t io =
      (r.options.overlap ? 2 : 1) * up(p.input_bytes + p.output_bytes, io_tiles ? io_tiles : tiles);
  const int64_t stack = 4096, own_io = io_tiles ? 0 : io;
  const int64_t fixed = code + exchange + state + stack + own_io;

  std::vector<int64_t> weight_bytes;
  for (int64_t tile = 0; tile < tiles; tile++) {
    weight_bytes.push_back(0);
    for (const ChipTensor* w : weights)
      if (occupies(*w, tile, tiles)) weight_bytes.back() += w->share;
  }
  m.by_tile.assign(static_cast<size_t>(tiles), 0);
  int64_t temporary_at_peak = 0, interleaved_end = 0;
  for (size_t i = 0; i < p.ops.size(); i++) {
    const ChipOp& op = p.ops[i];
    const int64_t temporary = op.ipu == ipu ? op.cost.temporary_bytes : 0;
    int64_t interleaved = 0;
    if (op.ipu == ipu && op.cost.plan) {
      interleaved = op.cost.plan->cost.partial_bytes;
      if (r.options.use_128bit_conv_unit_load && op.cost.plan->cost.weight_exchange)
        interleaved += op.cost.plan->cost.weight_bytes;
    }
    int64_t live = temporary * tiles;
    for (const ChipTensor* t : others)
      if (t->first <= i && i <= t->last) live += t->share * t->tiles;
    m.liveness.push_back(live);
    for (int64_t tile = 0; tile < tiles; tile++) {
      const auto at_tile = static_cast<size_t>(tile);
      int64_t need = fixed + weight_bytes[at_tile] + temporary;
      for (const ChipTensor* t : others)
        if (t->first <= i && i <= t->last && occupies(*t, tile, tiles)) need += t->share;
      m.by_tile[at_tile] = std::max(m.by_tile[at_tile], need);
      if (interleaved)
        interleaved_end =
            std::max(interleaved_end, interleaved + std::max(plain, need - interleaved));
      if (need <= m.bytes) continue;
      m.bytes = need;
      m.tile = tile;
      m.peak_op = i;
      m.always = fixed + weight_bytes[at_tile];
      temporary_at_peak = temporary;
    }
  }
  m.total = std::accumulate(m.by_tile.begin(), m.by_tile.end(), int64_t{0});

  // The largest blocks of the busiest tile are placed first.
  std::vector<std::tuple<int64_t, size_t, size_t>> blocks;
  for (const ChipTensor* t : others)
    if (occupies(*t, m.tile, tiles))
      blocks.emplace_back(-t->share, std::min(t->first, p.ops.size()),
                          std::min(t->last, p.ops.size()));
  for (size_t i = 0; i < p.ops.size(); i++)
    if (p.ops[i].ipu == ipu && p.ops[i].cost.temporary_bytes)
      blocks.emplace_back(-p.ops[i].cost.temporary_bytes, i, i);
  std::ranges::sort(blocks);
  FirstFit places(p.ops.size() + 1);
  int64_t highest = 0;
  for (const auto& [bytes, first, last] : blocks)
    highest = std::max(highest, places.place(first, last, -bytes) + up(-bytes, 8) * 8);
  m.bytes_with_gaps = std::max({m.always + highest, m.bytes, interleaved_end});

  const auto set = [&](Category c, int64_t of_tile, int64_t of_all) {
    m.by_category[at(c)] = of_tile;
    m.total_by_category[at(c)] = of_all;
  };
  set(Category::weights, weight_bytes[static_cast<size_t>(m.tile)],
      std::accumulate(weight_bytes.begin(), weight_bytes.end(), int64_t{0}));
  set(Category::code, code, code * tiles);
  set(Category::exchange_code, exchange, exchange * tiles);
  set(Category::vertex_state, state, state * tiles);
  set(Category::stack, stack, stack * tiles);
  set(Category::io_buffers, own_io, io * (io_tiles ? io_tiles : tiles));
  set(Category::temporaries, temporary_at_peak, temporary_at_peak * tiles);
  set(Category::activations, m.bytes - m.always - temporary_at_peak,
      std::max<int64_t>(0, std::ranges::max(m.liveness) - temporary_at_peak * tiles));
  m.io_tile = io_tiles ? io + 6144 + stack : 0;
  m.code = code + exchange;
  m.code_available = plain;
  std::vector<std::pair<int64_t, std::string>> largest;
  for (const auto* list : {&weights, &others})
    for (const ChipTensor* t : *list)
      if (occupies(*t, m.tile, tiles) &&
          (list == &weights || (t->first <= m.peak_op && m.peak_op <= t->last)))
        largest.emplace_back(-t->share, t->name);
  std::ranges::sort(largest);
  if (largest.size() > 10) largest.resize(10);
  for (const auto& [bytes, name] : largest) m.largest.push_back({name, -bytes});
  return m;
}

TEST(Memory, OfRandomProgramsIsThatOfAReference) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    const RandomProgram r = random_program(seed);
    const auto all = memory_of(r.program, r.target, r.options);
    ASSERT_EQ(all.size(), static_cast<size_t>(r.options.num_ipus));
    for (size_t i = 0; i < all.size(); i++) {
      const TileMemory &m = all[i], wanted = reference_memory(r, static_cast<int64_t>(i));
      EXPECT_EQ(m.ipu, wanted.ipu);
      EXPECT_EQ(m.tile, wanted.tile);
      EXPECT_EQ(m.bytes, wanted.bytes);
      EXPECT_EQ(m.bytes_with_gaps, wanted.bytes_with_gaps);
      EXPECT_EQ(m.available, wanted.available);
      EXPECT_EQ(m.always, wanted.always);
      EXPECT_EQ(m.total, wanted.total);
      EXPECT_EQ(m.io_tile, wanted.io_tile);
      EXPECT_EQ(m.by_category, wanted.by_category);
      EXPECT_EQ(m.total_by_category, wanted.total_by_category);
      EXPECT_EQ(m.peak_op, wanted.peak_op);
      EXPECT_EQ(m.by_tile, wanted.by_tile);
      EXPECT_EQ(m.liveness, wanted.liveness);
      EXPECT_EQ(m.code, wanted.code);
      EXPECT_EQ(m.code_available, wanted.code_available);
      ASSERT_EQ(m.largest.size(), wanted.largest.size());
      for (size_t k = 0; k < m.largest.size(); k++) {
        EXPECT_EQ(m.largest[k].name, wanted.largest[k].name);
        EXPECT_EQ(m.largest[k].bytes, wanted.largest[k].bytes);
      }
      const int64_t io = r.options.num_io_tiles, tiles = r.target.tiles - io;
      std::vector<int64_t> most(static_cast<size_t>(tiles), 0);
      for (size_t op = 0; op < r.program.ops.size(); op++) {
        const auto now = bytes_at(r.program, r.target, r.options, m.ipu, op);
        ASSERT_EQ(now.size(), most.size());
        for (size_t k = 0; k < most.size(); k++) most[k] = std::max(most[k], now[k]);
      }
      EXPECT_EQ(most, wanted.by_tile);
    }
  }
}

TEST(Memory, AProgramWithoutOperationsHasCodeAndStacks) {
  ChipOptions options;
  options.num_io_tiles = 4;
  ChipProgram p;
  p.input_bytes = 41;
  const TileMemory m = memory_of(p, target_of("mk2"), options)[0];
  EXPECT_EQ(m.bytes, 6144 + 4096);
  EXPECT_EQ(m.always, 6144 + 4096);
  EXPECT_EQ(m.bytes_with_gaps, 6144 + 4096);
  EXPECT_EQ(m.io_tile, 11 + 6144 + 4096);
  EXPECT_EQ(m.total_by_category[at(Category::activations)], 0);
  EXPECT_TRUE(m.liveness.empty());
}

// Each line depends on one condition.
TEST(Memory, TheMessagesExplainWhatIsTooSmall) {
  ChipProgram p = chain();
  p.tensors[1].share = 40;
  p.tensors[2].share = 30;
  p.tensors[0].share = 20;
  p.ops[0].cost.temporary_bytes = 9;
  TileMemory m;
  m.ipu = 3;
  m.tile = 5;
  m.available = 100;
  m.bytes = 90;
  m.always = 60;
  m.by_category[at(Category::stack)] = 33;
  m.by_category[at(Category::code)] = 32;
  m.largest = {{"a", 40}, {"b", 30}, {"w", 20}, {"d", 10}};
  m.code = m.code_available = 50;
  m.io_tile = 100;
  m.bytes_with_gaps = 100;
  using Lines = std::vector<std::string>;
  EXPECT_EQ(out_of_memory(m, p), Lines());
  const std::string io =
      "Memory allocation error : Out of memory on the I/O tiles: 101 bytes used but tiles only "
      "have 100 bytes of memory; more I/O tiles have smaller parts of the inputs and outputs";
  const std::string code =
      "Memory allocation error : Out of memory for code: 51 bytes of code, but tiles only have "
      "50 bytes that can hold it (_poplar_start must be 0); outlining shares the code of equal "
      "operations";
  Lines full = {
      "Memory allocation error : Out of memory on tile 5: 101 bytes used but tiles only have 100 "
      "bytes of memory",
      "IPU 3: the largest category is stack with 33 bytes",
      "largest variable a: 40 bytes on the tile",
      "largest variable b: 30 bytes on the tile",
      "largest variable w: 20 bytes on the tile",
      "most memory is needed at Relu 'op0'"};
  m.io_tile = 101;
  EXPECT_EQ(out_of_memory(m, p), Lines{io});
  m.code = 51;
  EXPECT_EQ(out_of_memory(m, p), (Lines{io, code}));
  m.io_tile = 100;
  EXPECT_EQ(out_of_memory(m, p), Lines{code});
  m.code = 50;
  m.bytes_with_gaps = 101;
  EXPECT_EQ(out_of_memory(m, p), full);
  p.ops[0].cost.temporary_bytes = 10;  // with its operands it needs just the memory of the tile
  EXPECT_EQ(out_of_memory(m, p), full);
  p.ops[0].cost.temporary_bytes = 11;
  full.emplace_back(
      "this operation needs 101 bytes of a tile for its own operands, results and temporary data; "
      "an operation is on one IPU, so more IPUs do not help it: make it smaller");
  EXPECT_EQ(out_of_memory(m, p), full);
  ChipTensor view;  // of the weight, whose bytes count once
  view.alias_of = 0;
  view.share = 1000;
  p.tensors.push_back(view);
  p.ops[0].inputs.push_back(p.tensors.size() - 1);
  EXPECT_EQ(out_of_memory(m, p), full);
  m.always = 100;
  m.bytes = 101;
  EXPECT_EQ(out_of_memory(m, p), full);
  m.always = 101;
  EXPECT_EQ(out_of_memory(m, p), full);  // no data is variable
  m.bytes = 102;
  Lines all = full;
  all.insert(all.begin() + 1, "Out of memory: Cannot fit all variable data onto one or more tiles");
  EXPECT_EQ(out_of_memory(m, p), all);
  m.peak_op = 3;  // no operation of the program
  all.resize(all.size() - 2);
  EXPECT_EQ(out_of_memory(m, p), all);
  m.largest.resize(1);
  all.resize(all.size() - 2);
  EXPECT_EQ(out_of_memory(m, p), all);
}

TEST(Memory, TheTenLargestTensorsOfTheBusiestTileAreListed) {
  ChipProgram p;
  ChipOp op;
  for (size_t i = 0; i < 12; i++) {
    p.tensors.push_back(tensor("w", TensorKind::weight, 100 + static_cast<int64_t>(i), 1472, 0, 0));
    op.inputs.push_back(i);
  }
  p.ops.push_back(op);
  const TileMemory m = memory_of(p, target_of("c600"), {})[0];
  ASSERT_EQ(m.largest.size(), 10u);
  EXPECT_EQ(m.largest[0].bytes, 111);
  EXPECT_EQ(m.largest[9].bytes, 102);
}

TEST(Memory, ATensorOnAllTilesBeginsAtTheFirstOne) {
  size_t elsewhere = 0;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    EXPECT_EQ(first_tile(tensor(name, TensorKind::weight, 1, 100, 0, 0), 100), 0);
    EXPECT_EQ(first_tile(tensor(name, TensorKind::weight, 1, 101, 0, 0), 100), 0);
    elsewhere += first_tile(tensor(name, TensorKind::weight, 1, 99, 0, 0), 100) != 0;
  }
  EXPECT_GT(elsewhere, 2u);
}

TEST(Memory, AtLeastOneTileComputes) {
  ChipOptions options;
  options.num_io_tiles = 1472;
  EXPECT_EQ(memory_of(chain(), target_of("c600"), options)[0].by_tile.size(), 1u);
  options.num_io_tiles = 1471;
  EXPECT_EQ(memory_of(chain(), target_of("c600"), options)[0].by_tile.size(), 1u);
  options.num_io_tiles = 1470;
  EXPECT_EQ(memory_of(chain(), target_of("c600"), options)[0].by_tile.size(), 2u);
}

}  // namespace
}  // namespace poprt::ipu

#include "program/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "base/error.h"
#include "program/control.h"
#include "program/serialize.h"
#include "program/shards.h"

namespace poprt::program {
namespace {

// y is a copy of x that is made in the arena. The weights are 128 bytes of `mark` and 64 bytes of
// 99, which all models share. A table may follow them.
struct Model {
  explicit Model(int64_t n, int mark, uint64_t state = 0, uint64_t table = 0) {
    Builder b;
    const auto bytes = static_cast<uint64_t>(n) * 4;
    const auto x = b.add_input({"x", DType::f32, {n}});
    const auto y = b.add_output({"y", DType::f32, {n}});
    const auto fill = [](int value) {
      return [value](std::span<std::byte> to) {
        for (std::byte& v : to) v = std::byte(value);
      };
    };
    b.weights(128, DType::u8, {128}, fill(mark));
    b.weights(64, DType::u8, {64}, fill(99));
    if (table)
      b.weights(table, DType::u8, {static_cast<int64_t>(table)}, [](std::span<std::byte> to) {
        for (size_t i = 0; i < to.size(); i++) to[i] = of_table(i);
      });
    const BufferId from = b.input(x, 0, bytes, DType::f32, {n});
    const BufferId middle = b.arena(state, bytes, DType::f32, {n});
    const BufferId to = b.output(y, 0, bytes, DType::f32, {n});
    if (state) b.arena(0, state, DType::u8, {static_cast<int64_t>(state)});
    const BufferId first[] = {from, middle}, second[] = {middle, to};
    b.emit("copy", first, {}, {}, "in");
    b.emit("copy", second, {}, {}, "out");
    b.program().state_bytes = state;
    loaded = load_in_memory(b.program(), b.weight_records());
  }
  static std::byte of_table(size_t i) { return std::byte(i * 7 % 251); }
  Variant variant(std::string prefix = "") const {
    return {&loaded.program, loaded.weights, prefix};
  }
  LoadedProgram loaded;
};

std::string error_text(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Link, GraphsHaveSeparateAnchorsAndTheIndexIsLast) {
  const Model a(2, 1), b(300, 2);
  const Linked linked = link_graphs(std::vector{a.variant("graph0/"), b.variant("graph1/")});
  const Program& p = linked.program;
  ASSERT_EQ(p.inputs.size(), 3u);
  EXPECT_EQ(p.inputs[0].name, "graph0/x");
  EXPECT_EQ(p.inputs[1].name, "graph1/x");
  EXPECT_EQ(p.inputs[2].name, "index");
  EXPECT_EQ(p.inputs[2].dtype, DType::u32);
  EXPECT_EQ(p.outputs[1].shape, (Shape{300}));
  ASSERT_EQ(p.main.size(), 8u);
  EXPECT_EQ(p.kernels[p.main[0].kernel], kControlCase);
  EXPECT_EQ(decode_case(p.main[4]).number, 1);
}

TEST(Link, EqualWeightsLieInOnePlaceAndTheArenaIsTheLargest) {
  const Model a(2, 1), b(300, 2), again(2, 1);
  const Linked linked =
      link_graphs(std::vector{a.variant("a/"), b.variant("b/"), again.variant("c/")});
  EXPECT_EQ(linked.program.weights_bytes, 128u + 64 + 128);
  EXPECT_EQ(linked.program.arena_bytes, b.loaded.program.arena_bytes);
  std::vector<std::byte> bytes(linked.program.weights_bytes);
  for (const Weight& w : linked.weights) w.fill(std::span(bytes).subspan(w.offset, w.bytes));
  // Every buffer has the same bytes as before.
  size_t at = 1;
  for (const Model* m : {&a, &b, &again})
    for (const Buffer& old : m->loaded.program.buffers) {
      const Buffer& now = linked.program.buffers[at++];
      if (old.space == Space::weights) {
        EXPECT_EQ(std::memcmp(bytes.data() + now.offset, m->loaded.weights.data() + old.offset,
                              old.bytes),
                  0);
      }
    }
}

// Three variants whose weights have equal blocks. Buffers overlap, and some data of inputs is not
// in a buffer. The weights of a variant that is loaded are overwritten when it is released.
TEST(Link, EveryByteOfTheWeightsIsThatOfItsVariant) {
  constexpr uint64_t kBlock = 64, kBlocks = 40;
  std::mt19937 random(5);
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  for (int trial = 0; trial < 60; trial++) {
    struct Source {
      Program program;
      std::vector<std::byte> weights, memory;
    };
    std::vector<Source> sources(3);
    std::vector<Variant> variants;
    for (Source& s : sources) {
      Builder b;
      const auto x = b.add_input({"x", DType::u8, {64}});
      const BufferId operands[] = {
          b.input(x, 0, 64, DType::u8, {64}),
          b.output(b.add_output({"y", DType::u8, {64}}), 0, 64, DType::u8, {64})};
      b.emit("copy", operands, {}, {}, "copy");
      for (uint64_t i = 0; i < kBlocks; i++)
        s.weights.insert(s.weights.end(), kBlock, static_cast<std::byte>(up_to(2)));
      s.memory = s.weights;
      s.program = b.program();
      s.program.weights_bytes = s.weights.size();
      const auto part = [&] {
        const uint64_t begin = up_to(kBlocks - 1) * kBlock;
        return std::pair(begin, 1 + up_to(std::min<uint64_t>(s.weights.size() - begin, 500) - 1));
      };
      for (int i = 0; i < 5; i++) {
        const auto [begin, bytes] = part();
        s.program.buffers.push_back(
            {Space::weights, 0, begin, bytes, DType::u8, {static_cast<int64_t>(bytes)}});
      }
      for (const char* name : {"state", "table"}) {
        const auto [begin, bytes] = part();
        s.program.inputs.push_back({name, DType::u8, {static_cast<int64_t>(bytes)}});
        s.program.inputs.back().data = begin;
      }
      Variant& v = variants.emplace_back();
      v.program = &s.program;
      v.prefix = fmt::format("v{}/", variants.size());
      if (trial % 2) {
        v.load = [&s] {
          const auto scribble = [&s](const void*) { std::ranges::fill(s.memory, std::byte{0xEE}); };
          return LoadedProgram{.program = s.program,
                               .weights = s.memory,
                               .owner = std::shared_ptr<const void>(s.memory.data(), scribble)};
        };
      } else {
        v.weights = s.memory;
      }
    }
    const Linked linked = link_graphs(variants);
    std::vector<std::byte> bytes(linked.program.weights_bytes);
    for (const Weight& w : linked.weights) w.fill(std::span(bytes).subspan(w.offset, w.bytes));
    const auto expect_same = [&](const Source& s, uint64_t old, uint64_t now, uint64_t count) {
      ASSERT_LE(now + count, bytes.size());
      EXPECT_EQ(std::memcmp(bytes.data() + now, s.weights.data() + old, count), 0)
          << "trial " << trial << ": " << count << " bytes from " << old << " on are at " << now;
    };
    size_t buffer = 1, input = 0;  // buffer 0 is the index
    for (const Source& s : sources) {
      for (const Buffer& old : s.program.buffers) {
        const Buffer& now = linked.program.buffers.at(buffer++);
        if (old.space == Space::weights) expect_same(s, old.offset, now.offset, old.bytes);
      }
      for (const Anchor& old : s.program.inputs) {
        const Anchor& now = linked.program.inputs.at(input++);
        ASSERT_EQ(old.data == kNoData, now.data == kNoData);
        if (old.data != kNoData) expect_same(s, old.data, now.data, old.bytes());
      }
    }
    EXPECT_LT(bytes.size(), 3 * kBlock * kBlocks) << "some are shared";
  }
}

TEST(Link, AnInputMayNotHaveTheNameOfTheIndex) {
  Model model(2, 1);
  model.loaded.program.inputs[0].name = std::string(kBucketIndex);
  EXPECT_NE(error_text([&] {
              link_buckets(std::vector{model.variant()});
            }).find(fmt::format("two inputs would be called '{}'", kBucketIndex)),
            std::string::npos);
}

TEST(Link, StatesOfGraphsDoNotOverlapOtherMemory) {
  const Model a(100, 1, 128), b(200, 1, 64), c(50, 1);
  const Linked linked = link_graphs(std::vector{a.variant("a/"), b.variant("b/"), c.variant("c/")});
  const Program& p = linked.program;
  EXPECT_EQ(p.state_bytes, 192u);
  EXPECT_EQ(p.arena_bytes, 192u + 832);
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> states, shared;
  for (const Buffer& buffer : p.buffers)
    if (buffer.space == Space::arena)
      (buffer.offset < p.state_bytes ? states : shared)
          .push_back({buffer.offset, buffer.offset + buffer.bytes});
  ASSERT_EQ(states.size(), 2u);
  EXPECT_LE(states[0].end, states[1].begin);
  for (const Range& r : shared) EXPECT_GE(r.begin, p.state_bytes);
}

TEST(Link, BucketsShareAnchorsOfTheLargestSize) {
  const Model a(2, 1), b(300, 1);
  const Linked linked = link_buckets(std::vector{a.variant(), b.variant()});
  const Program& p = linked.program;
  ASSERT_EQ(p.inputs.size(), 2u);
  EXPECT_EQ(p.inputs[0].shape, (Shape{300}));
  EXPECT_EQ(p.inputs[1].name, kBucketIndex);
  ASSERT_EQ(p.outputs.size(), 1u);
  EXPECT_EQ(p.weights_bytes, 192u);
}

// A longer sequence reads more of a table, whose beginning is stored once.
TEST(Link, BucketsShareAPrefixOfALongerTable) {
  const Model a(2, 1, 0, 192), b(300, 1, 0, 512);
  const Linked linked = link_buckets(std::vector{a.variant(), b.variant()});
  EXPECT_EQ(linked.program.weights_bytes, 192u + 512u);
  std::vector<std::byte> bytes(linked.program.weights_bytes);
  for (const Weight& w : linked.weights) w.fill(std::span(bytes).subspan(w.offset, w.bytes));
  size_t tables = 0;
  for (const Buffer& buffer : linked.program.buffers) {
    if (buffer.space != Space::weights || (buffer.bytes != 192 && buffer.bytes != 512)) continue;
    tables++;
    for (size_t i = 0; i < buffer.bytes; i++)
      ASSERT_EQ(bytes[buffer.offset + i], Model::of_table(i)) << i;
  }
  EXPECT_EQ(tables, 2u);
  EXPECT_EQ(link_graphs(std::vector{a.variant("a/"), b.variant("b/")}).program.weights_bytes,
            192u + 192u + 512u)
      << "models are independent: whatever one begins with is a coincidence";
}

// Equal beginnings are shared if they have 64 bytes or more.
TEST(Link, ShortBeginningsAreStoredAgain) {
  const Model longer(300, 1, 0, 512);
  for (const auto& [bytes, all] :
       {std::pair(uint64_t{64}, 192u + 512u), std::pair(uint64_t{63}, 192u + 512u + 64u)}) {
    const Model a(2, 1, 0, bytes);
    EXPECT_EQ(link_buckets(std::vector{a.variant(), longer.variant()}).program.weights_bytes, all);
  }
}

TEST(Link, RefusesInvalidVariants) {
  const Model a(2, 1), stateful(2, 1, 64);
  EXPECT_NE(error_text([&] { link_graphs({}); }).find("nothing to link"), std::string::npos);
  EXPECT_NE(error_text([&] {
              link_graphs(std::vector{a.variant("g/"), a.variant("g/")});
            }).find("two inputs would be called 'g/x'"),
            std::string::npos);
  const Linked once = link_graphs(std::vector{a.variant("g/")});
  const std::vector<std::byte> weights(once.program.weights_bytes);
  EXPECT_NE(error_text([&] {
              link_graphs(std::vector{Variant{&once.program, weights, "h/"}});
            }).find("several variants already"),
            std::string::npos);
  EXPECT_NE(error_text([&] { link_buckets(std::vector{stateful.variant()}); }).find("state"),
            std::string::npos);
}

// Narrow weights stay narrow, and equal ones are stored once.
TEST(Link, NarrowWeightsOfVariantsStayNarrow) {
  const Model a(2, 1), b(300, 2);
  const NarrowWeights first[] = {{0, 128, DType::f16, 0}, {128, 64, DType::f16, 0}},
                      second[] = {{128, 64, DType::f16, 0}, {0, 100, DType::f16, 0}};
  Variant variants[] = {a.variant("a/"), b.variant("b/")};
  variants[0].narrow = first;
  variants[1].narrow = second;
  const Linked linked = link_graphs(variants);
  ASSERT_EQ(linked.narrow.size(), 2u) << "the third is there already, the last is a part";
  EXPECT_EQ(linked.narrow[0].offset, 0u);
  EXPECT_EQ(linked.narrow[1].offset, 128u);
}

// Only whole pieces are shared: neither the beginning nor another part of a piece is.
TEST(Link, NarrowWeightsOfAPartAreNotKept) {
  const Model a(2, 1, 0, 192), b(300, 1, 0, 512);
  const NarrowWeights tables[] = {{192, 192, DType::f16, 0}};
  Variant variants[] = {a.variant(), b.variant()};
  variants[0].narrow = tables;
  EXPECT_TRUE(link_buckets(variants).narrow.empty());
  variants[0].prefix = "a/", variants[1].prefix = "b/";
  const Linked graphs = link_graphs(variants);
  ASSERT_EQ(graphs.narrow.size(), 1u) << "a graph shares no beginnings";
  EXPECT_EQ(graphs.narrow[0].offset, 192u);
  EXPECT_EQ(graphs.narrow[0].bytes, 192u);
  const NarrowWeights parts[] = {
      {64, 64, DType::f16, 0}, {0, 64, DType::f16, 0}, {4096, 64, DType::f16, 0}};
  variants[0].narrow = parts;
  EXPECT_TRUE(link_graphs(variants).narrow.empty());
}

// Each dimension has its greatest size of all variants.
TEST(Link, BucketsHaveTheGreatestOfEachDimension) {
  Model a(12, 1), b(12, 1), c(12, 1);
  a.loaded.program.inputs[0].shape = {12, 1, 1};
  b.loaded.program.inputs[0].shape = {2, 3, 2};
  c.loaded.program.inputs[0].shape = {1, 2, 6};
  const Linked linked = link_buckets(std::vector{a.variant(), b.variant(), c.variant()});
  EXPECT_EQ(linked.program.inputs[0].shape, (Shape{12, 3, 6}));
  c.loaded.program.inputs[0].shape = {2, 6};
  EXPECT_NE(error_text([&] { link_buckets(std::vector{a.variant(), c.variant()}); })
                .find("input 'x' is f32 [2,6] at one of the shapes and f32 [12,1,1] at another: a "
                      "bucket differs in sizes only"),
            std::string::npos);
}

TEST(Link, BucketsDifferInSizesOnly) {
  Model a(2, 1), b(3, 1);
  b.loaded.program.outputs[0].name = "z";
  EXPECT_NE(error_text([&] {
              link_buckets(std::vector{a.variant(), b.variant()});
            }).find("output 'z' is f32 [3] at one of the shapes and missing at another"),
            std::string::npos);
}

// Inputs whose data is in the model: x has the first weights as its value.
TEST(Link, DataOfInputsIsThatOfTheirVariant) {
  Model a(2, 1), b(2, 2), same(2, 1);
  for (Model* m : {&a, &b, &same}) m->loaded.program.inputs[0].data = 0;
  const Linked graphs = link_graphs(std::vector{a.variant("a/"), b.variant("b/")});
  ASSERT_EQ(graphs.program.inputs.size(), 3u);
  const uint64_t first = graphs.program.inputs[0].data, second = graphs.program.inputs[1].data;
  EXPECT_NE(first, second);
  std::vector<std::byte> bytes(graphs.program.weights_bytes);
  for (const Weight& w : graphs.weights) w.fill(std::span(bytes).subspan(w.offset, w.bytes));
  EXPECT_EQ(bytes.at(first), std::byte(1));
  EXPECT_EQ(bytes.at(second), std::byte(2));
  EXPECT_NE(error_text([&] {
              link_buckets(std::vector{a.variant(), b.variant()});
            }).find("weights 'x' differ from shape to shape"),
            std::string::npos);
  EXPECT_EQ(error_text([&] { link_buckets(std::vector{a.variant(), same.variant()}); }), "");
  const Model none(2, 1);
  for (const auto& variants :
       {std::vector{a.variant(), none.variant()}, std::vector{none.variant(), a.variant()}})
    EXPECT_NE(
        error_text([&] { link_buckets(variants); }).find("weights 'x' differ from shape to shape"),
        std::string::npos);
}

// A decoder may have an input with a value that its encoder does not have.
TEST(Link, UnitedVariantsNeedNotHaveAllInputsWithData) {
  const Model encoder(2, 1);
  Model decoder(2, 1), without(2, 1);
  decoder.loaded.program.inputs.push_back({"table", DType::u8, {64}, 128});
  without.loaded.program.inputs.push_back({"table", DType::u8, {64}});
  for (const bool first : {false, true}) {
    std::vector<Variant> variants = {encoder.variant(), decoder.variant()};
    if (first) std::swap(variants[0], variants[1]);
    const Linked linked = link_parts(variants);
    const auto table = std::ranges::find(linked.program.inputs, "table", &Anchor::name);
    ASSERT_NE(table, linked.program.inputs.end());
    ASSERT_NE(table->data, kNoData);
    std::vector<std::byte> bytes(linked.program.weights_bytes);
    for (const Weight& w : linked.weights) w.fill(std::span(bytes).subspan(w.offset, w.bytes));
    EXPECT_EQ(bytes.at(table->data), std::byte(99));
  }
  for (const auto& variants : {std::vector{without.variant(), decoder.variant()},
                               std::vector{decoder.variant(), without.variant()}})
    EXPECT_NE(error_text([&] {
                link_parts(variants);
              }).find("weights 'table' differ from shape to shape"),
              std::string::npos);
}

// A file may have changed since its program was read.
TEST(Link, WeightsOfALoadedVariantMustSuffice) {
  const Model model(2, 1);
  for (const size_t missing : {0, 1}) {
    Variant variant{&model.loaded.program};
    variant.load = [&] {
      LoadedProgram loaded = model.loaded;
      loaded.weights = loaded.weights.first(loaded.weights.size() - missing);
      return loaded;
    };
    const auto link = [&] { link_graphs(std::vector{variant}); };
    EXPECT_EQ(error_text(link),
              missing ? "a variant needs 192 bytes of weights, 191 are there" : "");
  }
}

// A transfer may be larger than its shape needs.
TEST(Link, ASharedTransferHasTheGreatestSize) {
  const auto with_transfer_of = [](int64_t bytes) {
    Builder b;
    const auto size = static_cast<uint64_t>(bytes);
    const BufferId x = b.input(b.add_input({"x", DType::u8, {bytes}}), 0, size, DType::u8, {4});
    const BufferId y = b.output(b.add_output({"y", DType::u8, {bytes}}), 0, size, DType::u8, {4});
    const BufferId place = b.arena(0, size, DType::u8, {4});
    const auto emit = [&](std::string_view kernel, std::vector<BufferId> operands,
                          std::vector<int64_t> ints) { b.emit(kernel, operands, ints, {}, "n"); };
    emit("control.transfer", {place}, {0});
    const auto begin = static_cast<int64_t>(b.program().arena_bytes);
    emit("control.shard", {}, {0, -1, begin, 64, 0});
    emit("copy", {x, place}, {});
    emit("control.end", {}, {});
    emit("control.shard", {}, {1, -1, begin + 64, 64, 0});
    emit("copy", {place, y}, {});
    emit("control.end", {}, {});
    b.program().arena_bytes += 128;
    return load_in_memory(b.program(), b.weight_records());
  };
  const LoadedProgram small = with_transfer_of(64), large = with_transfer_of(256);
  const Linked linked = link_graphs(std::vector{Variant{&small.program, small.weights, "a/"},
                                                Variant{&large.program, large.weights, "b/"}});
  const Shards shards = shards_of(linked.program);
  ASSERT_EQ(shards.transfers.size(), 1u);
  EXPECT_EQ(shards.transfers[0].bytes, 256u);
}

}  // namespace
}  // namespace poprt::program

#include "program/shards.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/builder.h"
#include "program/control.h"

namespace poprt::program {
namespace {

std::string message_of_shards(const Program& p) {
  try {
    shards_of(p);
  } catch (const Error& e) {
    return fmt::format("{}: {}", error_code_name(e.code()), e.message());
  }
  return "taken";
}

// `count` empty shards of 64 bytes each, after `transfers` areas of 64 bytes.
Program empty_shards(size_t count, size_t transfers = 0) {
  Program p;
  p.kernels = {std::string(kControlTransfer), std::string(kControlShard), std::string(kControlEnd)};
  for (size_t t = 0; t < transfers; t++) {
    p.buffers.push_back({Space::arena, 0, t * 64, 64, DType::f32, {16}});
    p.main.push_back({0, {static_cast<uint32_t>(t)}, {0}, {}, fmt::format("t{}", t)});
  }
  for (size_t s = 0; s < count; s++) {
    const auto begin = static_cast<int64_t>((transfers + s) * 64);
    p.main.push_back({1, {}, {static_cast<int64_t>(s), -1, begin, 64, 0}, {}, ""});
    p.main.push_back({2, {}, {}, {}, ""});
  }
  p.arena_bytes = (transfers + count) * 64;
  return p;
}

// The separate program of each shard would contain all of them.
TEST(Shards, AnchorsPlacesAndKernelsOfAllTogetherAreLimited) {
  const auto with = [](size_t inputs, size_t outputs, size_t transfers, size_t kernels) {
    Program p = empty_shards(kMostShards, transfers);
    for (size_t i = 0; i < inputs; i++) p.inputs.push_back({"x", DType::f32, {}});
    for (size_t i = 0; i < outputs; i++) p.outputs.push_back({"y", DType::f32, {}});
    p.kernels.resize(kernels, "copy");
    return message_of_shards(p);
  };
  // The limit allows 1024 shards with 1024 anchors, places and kernels each; a transfer has two
  // places.
  EXPECT_EQ(with(100, 200, 50, 624), "taken");
  const std::string refused =
      "data_loss: 1024 shards with 1025 anchors and kernels each are more than 1048576";
  EXPECT_EQ(with(101, 200, 50, 624), refused);
  EXPECT_EQ(with(100, 201, 50, 624), refused);
  EXPECT_EQ(with(100, 200, 50, 625), refused);
  EXPECT_EQ(with(99, 200, 51, 624), refused);
}

TEST(Shards, AreAsManyAsTheyMayBe) {
  EXPECT_EQ(message_of_shards(empty_shards(kMostShards)), "taken");
  Program more = empty_shards(kMostShards + 1);
  more.main[2 * kMostShards].ints[0] = 0;
  EXPECT_EQ(message_of_shards(more), "data_loss: more than 1024 shards");
  EXPECT_EQ(ipus_of(empty_shards(7)), 7);
  EXPECT_EQ(message_of_shards(empty_shards(1)), "taken");
  Program far = empty_shards(1);
  far.main[0].ints[0] = 1023;
  EXPECT_EQ(ipus_of(far), 1024);
  far.main[0].ints[0] = 1024;
  EXPECT_EQ(message_of_shards(far), "data_loss: control.shard: a number is out of range");
}

TEST(Shards, AProgramForOneIpuHasNone) {
  EXPECT_FALSE(has_shards(Program()));
  EXPECT_TRUE(shards_of(Program()).shards.empty());
  EXPECT_TRUE(has_shards(empty_shards(1)));
}

// Two shards on IPUs 0 and 1, x -> place -> y, and weights that both read.
Program handed_on() {
  Program p = empty_shards(2, 1);
  p.kernels.emplace_back("copy");
  p.weights_bytes = 512;
  p.inputs = {{"x", DType::f32, {16}}};
  p.outputs = {{"y", DType::f32, {16}}};
  const auto add = [&](Buffer b) {
    p.buffers.push_back(std::move(b));
    return static_cast<uint32_t>(p.buffers.size() - 1);
  };
  const auto x = add({Space::input, 0, 0, 64, DType::f32, {16}});
  const auto y = add({Space::output, 0, 0, 64, DType::f32, {16}});
  const auto half =
      add({Space::arena, 0, 32, 32, DType::f32, {8}});  // the second half of the place
  const auto own = add({Space::arena, 0, 64, 64, DType::f32, {16}});
  const auto other = add({Space::arena, 0, 144, 16, DType::f32, {4}});
  const auto none = add({Space::arena, 0, 8, 0, DType::f32, {0}});
  const auto w = add({Space::weights, 0, 0, 100, DType::u8, {100}});
  const auto part = add({Space::weights, 0, 0, 40, DType::u8, {40}});
  const auto last = add({Space::weights, 0, 256, 8, DType::u8, {8}});
  std::vector<Instruction> main = {p.main[0], p.main[1]};
  main.push_back({3, {x, own, w, kNoBuffer}, {}, {}, "a"});
  main.push_back({3, {own, 0, part, last}, {}, {}, "b"});
  main.push_back(p.main[2]);
  main.push_back(p.main[3]);
  main.push_back({3, {0, other, w, none}, {}, {}, "c"});
  main.push_back({3, {half, y}, {}, {}, "d"});
  main.push_back(p.main[4]);
  p.main = main;
  return p;
}

TEST(Shards, ListTransfersWithSourceAndTargets) {
  const Program p = handed_on();
  ASSERT_EQ(message_of_shards(p), "taken");
  const Shards s = shards_of(p);
  EXPECT_EQ(s.ipus, 2);
  EXPECT_FALSE(s.pipelined);
  EXPECT_EQ(s.transfers_end, 64u);
  ASSERT_EQ(s.transfers.size(), 1u);
  EXPECT_EQ(s.transfers[0].from, 0u);
  EXPECT_EQ(s.transfers[0].to, std::vector<uint32_t>{1}) << "once, however often it is read";
  ASSERT_EQ(s.shards.size(), 2u);
  EXPECT_EQ(s.shards[1].begin, 6u);
  EXPECT_EQ(s.shards[1].end, 8u);
  EXPECT_EQ(
      note_of_shards(p),
      R"({"ipus":2,"pipelined":false,"shards":[{"ipu":0,"instructions":2,"weights_bytes":108,"arena_bytes":64},{"ipu":1,"instructions":2,"weights_bytes":100,"arena_bytes":64}],"transfers":[{"name":"t0","dtype":"f32","shape":[16],"bytes":64,"from":0,"to":[1]}]})");
}

TEST(Shards, WeightsOfOnePlaceCountOnceAsTheLongest) {
  const Program p = handed_on();
  const Shards s = shards_of(p);
  EXPECT_EQ(weight_bytes_read_by(p, s.shards[0]), 108u);
  EXPECT_EQ(weight_bytes_read_by(p, s.shards[1]), 100u);
}

TEST(Shards, EachHasAProgramWhosePlacesAreAnchors) {
  const Program p = handed_on();
  const Shards s = shards_of(p);
  const Program first = program_of(p, s, 0), second = program_of(p, s, 1);
  for (const Program* own : {&first, &second}) {
    ASSERT_EQ(own->inputs.size(), 2u);
    ASSERT_EQ(own->outputs.size(), 2u);
    EXPECT_EQ(own->inputs[1].name, "t0");
    EXPECT_EQ(own->outputs[1].shape, (Shape{16}));
    EXPECT_EQ(own->arena_bytes, 64u);
    EXPECT_EQ(own->weights_bytes, 512u);
    EXPECT_EQ(own->main.size(), 2u);
  }
  const auto operand = [](const Program& own, size_t instruction, size_t i) {
    return own.buffers.at(own.main.at(instruction).operands.at(i));
  };
  EXPECT_EQ(operand(first, 0, 1).offset, 0u) << "its memory begins at 0";
  EXPECT_EQ(first.main[0].operands[3], kNoBuffer);
  EXPECT_EQ(operand(first, 1, 1).space, Space::output) << "it writes the place";
  EXPECT_EQ(operand(first, 1, 1).index, 1u);
  EXPECT_EQ(operand(second, 0, 0).space, Space::input) << "it reads the place";
  EXPECT_EQ(operand(second, 0, 0).index, 1u);
  EXPECT_EQ(operand(second, 0, 1).offset, 16u);
  EXPECT_EQ(operand(second, 0, 3).offset, 0u) << "an empty buffer has no place";
  EXPECT_EQ(operand(second, 1, 0).offset, 32u) << "within the place";
  EXPECT_EQ(operand(second, 1, 1).index, 0u);
}

TEST(Shards, MemoryOfAnotherIsRefused) {
  Program p = handed_on();
  p.buffers[4].bytes = 65;  // own: one byte too long
  EXPECT_EQ(message_of_shards(p), "data_loss: shard 0 reaches memory of another");
  p = handed_on();
  p.buffers[4].offset = 128;
  EXPECT_EQ(message_of_shards(p), "data_loss: shard 0 reaches memory of another");
  p = handed_on();
  p.main[0].ints[0] = 1;  // the first shard reads a transfer from the second one
  EXPECT_EQ(message_of_shards(p), "data_loss: shard 0 reaches memory of another");
  p = handed_on();
  p.buffers[3].bytes = 40;  // half: its last 8 bytes are after the place
  EXPECT_EQ(message_of_shards(p), "data_loss: shard 1 reaches memory of another");
  p = handed_on();
  p.main[0].ints[0] = 2;
  p.main[3].operands[1] = p.main[2].operands[1];
  EXPECT_TRUE(message_of_shards(p).starts_with("data_loss: ")) << message_of_shards(p);
}

}  // namespace
}  // namespace poprt::program

// Programs made by hand: lifetimes of buffers, buffers that share bytes, and parts.
#include "model/program_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "program/control.h"

namespace poprt::inspector {
namespace {

constexpr uint32_t kNone32 = program::kNoBuffer;

// A program whose kernels are named where they are used.
struct Made {
  program::Program p;

  uint32_t buffer(uint64_t offset, uint64_t bytes, program::Space space = program::Space::arena) {
    p.buffers.push_back({space, 0, offset, bytes, DType::u8, {static_cast<int64_t>(bytes)}});
    return static_cast<uint32_t>(p.buffers.size() - 1);
  }
  program::Instruction instruction(const std::string& kernel, std::vector<uint32_t> operands,
                                   const std::string& name = "", std::vector<int64_t> ints = {}) {
    const auto found = std::find(p.kernels.begin(), p.kernels.end(), kernel);
    const auto at = static_cast<uint32_t>(found - p.kernels.begin());
    if (found == p.kernels.end()) p.kernels.push_back(kernel);
    return {at, std::move(operands), std::move(ints), {}, name};
  }
  void add(const std::string& kernel, std::vector<uint32_t> operands, const std::string& name = "",
           std::vector<int64_t> ints = {}) {
    p.main.push_back(instruction(kernel, std::move(operands), name, std::move(ints)));
  }
};

std::string intervals(const ProgramModel& m) {
  std::string text;
  for (const ArenaInterval& i : m.intervals())
    text += fmt::format("{}+{} {}-{} {}x{}; ", i.offset, i.bytes, i.first, i.last, i.buffers.size(),
                        i.name);
  return text;
}

using Bytes = std::vector<uint64_t>;
using Places = std::vector<size_t>;

TEST(ProgramModels, BytesAreAliveFromTheFirstUseToTheLast) {
  Made m;
  const uint32_t a = m.buffer(0, 64), b = m.buffer(64, 32), c = m.buffer(0, 16),
                 view = m.buffer(80, 48);
  m.p.arena_bytes = 128;
  m.add("k", {a, kNone32}, "one");
  m.add("k", {b}, "two");
  m.add("k", {a, b, view}, "three");
  m.add("k", {view}, "four");
  m.add("k", {c}, "five");
  const ProgramModel p(m.p);
  EXPECT_EQ(intervals(p), "0+64 0-2 1xone; 64+64 1-3 2xtwo; 0+16 4-4 1xfive; ");
  EXPECT_EQ(p.live_bytes(), (Bytes{64, 128, 128, 64, 16}));
  EXPECT_EQ(p.own_bytes(), p.live_bytes());
  EXPECT_EQ(p.peak(), 1u) << "the first of equal ones";
  EXPECT_EQ(p.alive_at(0), Places{0});
  EXPECT_EQ(p.alive_at(2), (Places{0, 1}));
  EXPECT_EQ(p.alive_at(3), Places{1});
  EXPECT_EQ(p.alive_at(4), Places{2});
  EXPECT_EQ(p.alive_at(5), Places{});
  EXPECT_EQ(p.sharing_with(0), Places{2});
  EXPECT_EQ(p.sharing_with(1), Places{}) << "beside each other";
  EXPECT_EQ(p.sharing_with(2), Places{0});
  EXPECT_EQ(ProgramModel(program::Program()).peak(), 0u);
}

// A reader may see the bytes of a result with another shape, which is another buffer.
TEST(ProgramModels, BytesAreOfTheInstructionThatWritesThem) {
  Made m;
  const uint32_t x = m.buffer(0, 64, program::Space::input), a = m.buffer(0, 64),
                 view = m.buffer(0, 64), half = m.buffer(64, 32), rest = m.buffer(96, 32),
                 both = m.buffer(64, 64), part = m.buffer(96, 32), y = m.buffer(128, 64);
  m.p.arena_bytes = 256;
  m.p.inputs.push_back({"x", DType::u8, {64}});
  m.p.outputs.push_back({"y", DType::u8, {64}});
  m.add("copy", {x, a}, "writes");
  m.add("copy", {m.buffer(0, 32, program::Space::input), half}, "half");
  m.add("copy", {m.buffer(32, 32, program::Space::input), rest}, "rest");
  m.add("copy", {view, y}, "reads");
  m.add("copy", {both, view}, "overwrites");
  m.add("copy", {part, m.buffer(192, 32)}, "last");
  m.add("copy", {view, m.buffer(0, 64, program::Space::output)}, "out");
  const ProgramModel p(m.p);
  EXPECT_EQ(intervals(p),
            "0+64 0-6 2xwrites; 64+64 1-5 4xhalf; 128+64 3-3 1xreads; 192+32 5-5 1xlast; ");
  EXPECT_EQ(p.live_bytes(), (Bytes{64, 128, 128, 192, 128, 160, 64}));
}

TEST(ProgramModels, TheLargestIsFirstAmongTheLiving) {
  Made m;
  const uint32_t a = m.buffer(0, 16), b = m.buffer(16, 64), c = m.buffer(80, 64);
  m.p.arena_bytes = 144;
  m.add("k", {a, b, c});
  EXPECT_EQ(ProgramModel(m.p).alive_at(0), (Places{1, 2, 0}));
}

TEST(ProgramModels, SeparatesBuffersWithDisjointLifetimes) {
  Made m;
  const uint32_t a = m.buffer(0, 64), b = m.buffer(0, 64), c = m.buffer(32, 64);
  m.p.arena_bytes = 128;
  m.add("k", {a}, "one");
  m.add("k", {a}, "two");
  m.add("k", {b}, "three");
  m.add("k", {b, c}, "four");
  EXPECT_EQ(intervals(ProgramModel(m.p)), "0+64 0-1 1xone; 0+96 2-3 2xthree; ");
  Made touching;
  const uint32_t x = touching.buffer(0, 64), y = touching.buffer(0, 64);
  touching.p.arena_bytes = 64;
  touching.add("k", {x}, "one");
  touching.add("k", {x, y}, "two");
  touching.add("k", {y}, "three");
  EXPECT_EQ(intervals(ProgramModel(touching.p)), "0+64 0-2 2xone; ") << "written over its input";
}

TEST(ProgramModels, StateLastsFromRunToRun) {
  Made m;
  const uint32_t a = m.buffer(0, 8), b = m.buffer(8, 8);
  m.p.arena_bytes = 16;
  m.p.state_bytes = 8;
  m.add("k", {b}, "one");
  m.add("k", {a}, "two");
  m.add("k", {b}, "three");
  m.add("k", {}, "four");
  EXPECT_EQ(intervals(ProgramModel(m.p)), "0+8 0-3 1xone; 8+8 0-2 1xone; ");
}

TEST(ProgramModels, WeightsCountOnceInAnInstruction) {
  Made m;
  const auto weights = program::Space::weights;
  const uint32_t w = m.buffer(0, 64, weights), again = m.buffer(0, 64, weights),
                 v = m.buffer(64, 16, weights), a = m.buffer(0, 8);
  m.p.inputs.push_back({});
  m.p.inputs[0].name = "in\n";
  m.p.outputs.push_back({});
  m.p.outputs[0].name = "out";
  const uint32_t in = m.buffer(0, 4, program::Space::input),
                 out = m.buffer(0, 4, program::Space::output);
  m.p.weights_bytes = 80;
  m.p.arena_bytes = 8;
  m.add("k", {w, again, v, a, kNone32, in, out}, "n");
  m.p.load.push_back(m.instruction("l", {w}, "first"));
  m.p.save.push_back(m.instruction("s", {a}, "last"));
  const program::NarrowWeights narrow[] = {{64, 16, DType::f16}};
  const ProgramModel p(m.p, {}, narrow);
  ASSERT_EQ(p.instructions().size(), 3u);
  EXPECT_EQ(p.instructions()[0].weight_bytes, 80u);
  std::string spaces;
  for (const OperandRow& o : p.instructions()[0].operands)
    spaces += fmt::format("{} {}+{}{}; ", o.space, o.offset, o.bytes,
                          o.stored.empty() ? "" : " " + o.stored);
  EXPECT_EQ(spaces,
            "weights 0+64; weights 0+64; weights 64+16 f16; arena 0+8; input in\\x0a 0+4; output "
            "out 0+4; ");
  EXPECT_EQ(p.instructions()[0].operands[0].type, "u8 64");
  EXPECT_EQ(p.instructions()[1].flow, "load");
  EXPECT_EQ(p.instructions()[2].flow, "save");
  EXPECT_EQ(p.instructions()[2].index, 0u);
  EXPECT_EQ(p.weights_bytes(), 80u);
  EXPECT_EQ(p.stored_weights_bytes(), 72u);
  EXPECT_EQ(p.rows("FIRST"), Places{1});
  EXPECT_EQ(p.rows("s"), (Places{1, 2})) << "by kernel or name";
}

// Two variants, the second with a condition and a loop in it.
Made with_variants() {
  Made m;
  const uint32_t index = m.buffer(0, 4, program::Space::input), a = m.buffer(0, 64),
                 b = m.buffer(64, 32), flag = m.buffer(96, 1),
                 w = m.buffer(0, 16, program::Space::weights),
                 v = m.buffer(0, 24, program::Space::weights),
                 u = m.buffer(24, 8, program::Space::weights);
  m.p.inputs.push_back({});
  m.p.arena_bytes = 128;
  m.p.weights_bytes = 32;
  m.add("control.case", {index}, "first//", {0});
  m.add("k", {a, w, v}, "x");
  m.add("control.end", {});
  m.add("control.case", {index}, "", {1});
  m.add("control.if", {flag}, "if", {1});
  m.add("l", {b, u}, "y");
  m.add("control.end", {});
  m.add("l", {b, a}, "z");
  m.add("control.end", {});
  m.add("k", {a}, "after");
  return m;
}

std::string parts(const ProgramModel& m) {
  std::string text;
  for (const ProgramPart& p : m.parts())
    text += fmt::format("{} ipu {} {}-{} arena {}+{} weights {} most {}; ", p.name, p.ipu, p.first,
                        p.last, p.arena_begin, p.arena_bytes, p.weights_bytes, p.most_bytes);
  return text;
}

TEST(ProgramModels, VariantsAreParts) {
  const Made m = with_variants();
  const ProgramModel p(m.p);
  EXPECT_EQ(parts(p),
            "first ipu -1 0-2 arena 0+64 weights 24 most 64; variant 1 ipu -1 3-8 arena 0+97 "
            "weights 8 most 96; ");
  const std::vector<std::string> names = {"one\n", "two", "three"};
  EXPECT_EQ(ProgramModel(m.p, names).parts()[0].name, "one\\x0a");
  EXPECT_EQ(ProgramModel(m.p, names).parts()[1].name, "two");
  EXPECT_TRUE(p.parts()[0].is_variant());
  std::string of, depths;
  for (size_t i = 0; i < m.p.main.size(); i++) {
    of += fmt::format("{} ", p.part_of(i));
    depths += fmt::format("{} ", p.instructions()[i].depth);
  }
  EXPECT_EQ(of, "0 0 0 1 1 1 1 1 1 -1 ");
  EXPECT_EQ(depths, "0 1 0 0 1 2 1 1 0 0 ");
  EXPECT_EQ(p.rows("k", 0), Places{1});
  EXPECT_EQ(p.rows("", 1), (Places{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(p.rows("k"), (Places{1, 9}));
  EXPECT_EQ(p.rows("k", 7), (Places{1, 9})) << "there is no such part";
  using Counts = std::vector<std::pair<std::string, size_t>>;
  EXPECT_EQ(p.kernel_counts(0), (Counts{{"control.case", 1}, {"control.end", 1}, {"k", 1}}));
  EXPECT_EQ(
      p.kernel_counts(),
      (Counts{{"control.end", 3}, {"control.case", 2}, {"k", 2}, {"l", 2}, {"control.if", 1}}));
  EXPECT_EQ(p.peak(0), 1u);
  EXPECT_EQ(p.peak(1), 5u);
}

TEST(ProgramModels, IpusArePartsWithSeparateMemory) {
  Made m;
  const uint32_t a = m.buffer(0, 64), b = m.buffer(96, 32), both = m.buffer(48, 32);
  m.p.arena_bytes = 128;
  m.add("control.shard", {}, "", {0, -1, 0, 64, 0});
  m.add("k", {a});
  m.add("k", {both});
  m.add("control.end", {});
  m.add("control.transfer", {both}, "", {0});
  m.add("control.shard", {}, "", {1, 2, 64, 64, 0});
  m.add("k", {both, b});
  m.add("control.end", {});
  m.add("control.shard", {}, "", {0, -1, 0, 64, 0});
  m.add("k", {a});
  m.add("control.end", {});
  const ProgramModel p(m.p);
  EXPECT_EQ(parts(p).substr(0, parts(p).find("most 64; IPU 1")),
            "IPU 0 ipu 0 0-3 arena 0+64 weights 0 ");
  ASSERT_EQ(p.parts().size(), 3u);
  EXPECT_EQ(p.parts()[1].name, "IPU 1, stage 2");
  EXPECT_EQ(p.parts()[2].name, "IPU 0, turn 2");
  EXPECT_FALSE(p.parts()[1].is_variant());
  EXPECT_EQ(p.parts()[1].arena_begin, 64u);
  EXPECT_EQ(p.parts()[1].most_bytes, 48u) << "16 of what crosses, and its own 32";
  EXPECT_EQ(p.own_bytes()[6], 48u);
  EXPECT_EQ(p.part_of(4), -1);
  EXPECT_EQ(p.peak(1), 6u);
}

TEST(ProgramModels, PartsThatMakeNoSenseAreLeftOut) {
  Made open;
  open.add("k", {});
  open.add("control.case", {open.buffer(0, 4, program::Space::input)}, "c", {0});
  open.add("k", {});
  open.p.inputs.push_back({});
  EXPECT_TRUE(ProgramModel(open.p).parts().empty()) << "no end";
  Made wrong;
  wrong.p.inputs.push_back({});
  wrong.add("control.case", {wrong.buffer(0, 4, program::Space::input)}, "c", {0, 1});
  wrong.add("control.end", {});
  wrong.add("control.shard", {}, "", {0, 0, 0, 0});
  wrong.add("control.end", {});
  wrong.add("control.end", {});
  wrong.add("control.shard", {}, "", {-5, -1, -1, -1, 0});
  wrong.add("control.end", {});
  EXPECT_EQ(parts(ProgramModel(wrong.p)), "IPU 0 ipu 0 5-6 arena 0+0 weights 0 most 0; ");
}

// `early` is read in the outer loop before the inner loop begins, and again in the next iteration
// of the outer loop, so it is alive until the outer loop ends.
TEST(ProgramModels, LoopsInLoopsEndEachForItself) {
  Made m;
  const uint32_t early = m.buffer(0, 8), inside = m.buffer(8, 8), index = m.buffer(16, 8),
                 flag = m.buffer(24, 1), turn = m.buffer(32, 8);
  m.p.arena_bytes = 40;
  m.add("k", {early}, "before");  // 0
  m.add("control.loop", {kNone32, kNone32, index}, "outer", {9});
  m.add("k", {early}, "early");  // 2
  m.add("control.loop", {kNone32, kNone32, turn}, "inner", {9});
  m.add("k", {inside}, "made");  // 4
  m.add("k", {inside}, "used");
  m.add("control.end", {});  // 6
  m.add("control.end", {});
  m.add("k", {flag}, "after");  // 8
  const ProgramModel p(m.p);
  EXPECT_EQ(
      intervals(p),
      "0+8 0-7 1xbefore; 16+8 1-1 1xouter; 32+8 3-3 1xinner; 8+8 4-5 1xmade; 24+1 8-8 1xafter; ");
  // A condition in the loop ends before the loop does.
  Made c;
  const uint32_t again = c.buffer(0, 8), at = c.buffer(8, 8), test = c.buffer(16, 1);
  c.p.arena_bytes = 24;
  c.add("k", {again, test}, "before");
  c.add("control.loop", {kNone32, kNone32, at}, "loop", {9});
  c.add("control.if", {test}, "if", {1});
  c.add("control.end", {});
  c.add("k", {again}, "again");
  c.add("control.end", {});
  c.add("k", {at}, "after");
  EXPECT_EQ(intervals(ProgramModel(c.p)), "0+8 0-5 1xbefore; 16+1 0-5 1xbefore; 8+8 1-6 1xloop; ");
}

TEST(ProgramModels, BytesThatTwoIntervalsHoldCountOnce) {
  Made m;
  const uint32_t a = m.buffer(64, 64), b = m.buffer(128, 64), c = m.buffer(32, 112);
  m.p.arena_bytes = 256;
  m.add("k", {a, b}, "one");
  m.add("k", {c}, "two");
  m.add("k", {a, b}, "three");
  const ProgramModel p(m.p);
  EXPECT_EQ(intervals(p), "32+112 0-2 2xone; 128+64 0-2 1xone; ");
  EXPECT_EQ(p.live_bytes(), (Bytes{160, 160, 160}));
}

// Data in transit to an IPU is alive, but does not count as memory of that IPU.
TEST(ProgramModels, ThePeakOfAnIpuCountsOnlyItsMemory) {
  Made m;
  const uint32_t a = m.buffer(0, 64), b = m.buffer(64, 16), c = m.buffer(80, 32);
  m.p.arena_bytes = 128;
  m.add("control.shard", {}, "", {0, -1, 0, 64, 0});
  m.add("k", {a}, "one");
  m.add("control.end", {});
  m.add("control.shard", {}, "", {1, -1, 64, 64, 0});
  m.add("k", {a, b}, "two");
  m.add("k", {b, c}, "three");
  m.add("control.end", {});
  const ProgramModel p(m.p);
  ASSERT_EQ(p.parts().size(), 2u);
  EXPECT_EQ(p.live_bytes(), (Bytes{0, 64, 64, 64, 80, 48, 0}));
  EXPECT_EQ(p.own_bytes(), (Bytes{0, 64, 64, 0, 16, 48, 0}));
  EXPECT_EQ(p.peak(), 4u);
  EXPECT_EQ(p.peak(1), 5u);
  EXPECT_EQ(p.parts()[1].most_bytes, 48u);
  EXPECT_EQ(p.kernel_counts(0), (std::vector<std::pair<std::string, size_t>>{
                                    {"control.end", 1}, {"control.shard", 1}, {"k", 1}}));
  EXPECT_EQ(p.kernel_counts().at(0), (std::pair<std::string, size_t>{"k", 3}));
}

}  // namespace
}  // namespace poprt::inspector

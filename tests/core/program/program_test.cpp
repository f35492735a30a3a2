#include "program/program.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace poprt::program {
namespace {

// Arena of 128 bytes, weights of 64, an input of 12 bytes and an output of 8, and a buffer that
// fills each.
Program small() {
  Program p;
  p.kernels = {"copy", "scale"};
  p.arena_bytes = 128;
  p.weights_bytes = 64;
  p.inputs = {{"x", DType::f32, {3}, kNoData}};
  p.outputs = {{"y", DType::f64, {}, kNoData}};
  p.buffers = {{Space::arena, 0, 64, 64, DType::f32, {4, 4}},
               {Space::weights, 0, 0, 64, DType::s64, {2}},
               {Space::input, 0, 4, 8, DType::f32, {2}},
               {Space::output, 0, 0, 8, DType::f64, {}}};
  p.load = {{0, {1, 0}, {}, {}, "first"}};
  p.main = {{1, {2, kNoBuffer, 3}, {4, -5}, {0.5f, 2}, "second"}};
  p.save = {{0, {0, 0}, {}, {}, "third"}};
  return p;
}

TEST(Program, BuffersThatFillTheirSpaceAreAccepted) { EXPECT_NO_THROW(verify(small())); }

TEST(Program, TheListingShowsFlowsOperandsAndNumbers) {
  EXPECT_EQ(
      to_string(small()),
      "program: arena 128 bytes, weights 64 bytes\n"
      "load:\n"
      "  copy (weights+0:s64[2], arena+64:f32[4,4])  # first\n"
      "main:\n"
      "  scale (input'x'+4:f32[2], -, output'y'+0:f64[]) ints [4,-5] floats [0.5,2]  # second\n"
      "save:\n"
      "  copy (arena+64:f32[4,4], arena+64:f32[4,4])  # third\n");
  EXPECT_EQ(to_string(Program()), "program: arena 0 bytes, weights 0 bytes\n");
}

TEST(Program, TheListingPrintsNumbersAsTheCallerDescribesThem) {
  const auto describe = [](std::string_view kernel, std::span<const int64_t> ints,
                           std::span<const float> floats) {
    return fmt::format(" {}:{}:{}", kernel, ints.size(), floats.size());
  };
  const std::string text = to_string(small(), describe);
  EXPECT_NE(text.find("output'y'+0:f64[]) scale:2:2  # second\n"), text.npos) << text;
  EXPECT_NE(text.find("arena+64:f32[4,4]) copy:0:0  # first\n"), text.npos) << text;
}

TEST(Program, TheListingNamesTheNumbersOfControlInstructions) {
  const auto printed = [](std::string_view kernel, std::vector<int64_t> ints) {
    Program p = small();
    p.kernels[1] = kernel;
    p.main[0] = {1, {}, std::move(ints), {}, "n"};
    const std::string text = to_string(p);
    const size_t begin = text.find(std::string(kernel) + " (");
    return text.substr(begin, text.find("  # n") - begin);
  };
  EXPECT_EQ(printed("control.if", {1}), "control.if () when=1");
  EXPECT_EQ(printed("control.loop", {7}), "control.loop () most=7");
  EXPECT_EQ(printed("control.case", {2}), "control.case () number=2");
  EXPECT_EQ(printed("control.transfer", {3}), "control.transfer () from=3");
  EXPECT_EQ(printed("control.end", {}), "control.end ()");
  EXPECT_EQ(printed("control.shard", {1, 2, 64, 128, 0}),
            "control.shard () ipu=1 stage=2 arena_begin=64 arena_bytes=128 state_bytes=0");
  // A file of a newer version may have more integers.
  EXPECT_EQ(printed("control.if", {1, 5}), "control.if () ints [1,5]");
}

struct Broken {
  const char* what;
  std::function<void(Program&)> breaks;
  const char* error_part;
};

TEST(Program, OneByteOrIndexTooFarIsRefused) {
  const Broken all[] = {
      {"an arena buffer ends after it", [](Program& p) { p.arena_bytes = 127; }, "buffer 0"},
      {"a weight ends after them", [](Program& p) { p.weights_bytes = 63; }, "buffer 1"},
      {"an input buffer ends after it", [](Program& p) { p.buffers[2].offset = 8; }, "buffer 2"},
      {"an output buffer ends after it", [](Program& p) { p.buffers[3].bytes = 9; }, "buffer 3"},
      {"a shape needs more than the room", [](Program& p) { p.buffers[0].bytes = 63; }, "needs 64"},
      {"an offset splits an element", [](Program& p) { p.buffers[2].offset = 2; }, "multiple"},
      {"an offset overflows", [](Program& p) { p.buffers[0].offset = ~uint64_t{63}; }, "overflow"},
      {"a type has no storage", [](Program& p) { p.buffers[0].dtype = DType::string; }, "storage"},
      {"there is no second input", [](Program& p) { p.buffers[2].index = 1; }, "anchor 1 of 1"},
      {"there is no second output", [](Program& p) { p.buffers[3].index = 1; }, "anchor 1 of 1"},
      {"there is no such space", [](Program& p) { p.buffers[0].space = Space(4); }, "space 4"},
      {"there is no third kernel", [](Program& p) { p.save[0].kernel = 2; },
       "save instruction 0: kernel 2 of 2"},
      {"there is no fifth buffer", [](Program& p) { p.load[0].operands[1] = 4; }, "buffer 4 of 4"},
      {"main has no fifth buffer", [](Program& p) { p.main[0].operands[0] = 4; }, "main"},
      {"an anchor's type has no storage", [](Program& p) { p.inputs[0].dtype = DType::string; },
       "'x'"},
      {"an output has data", [](Program& p) { p.outputs[0].data = 0; }, "'y' has data"},
      {"an input's data ends after the weights", [](Program& p) { p.inputs[0].data = 53; }, "'x'"},
      {"an input's data overflows", [](Program& p) { p.inputs[0].data = kNoData - 1; }, "overflow"},
  };
  for (const Broken& broken : all) {
    Program p = small();
    broken.breaks(p);
    try {
      verify(p);
      ADD_FAILURE() << broken.what << ", and that is accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data_loss) << broken.what;
      EXPECT_NE(e.message().find(broken.error_part), std::string::npos)
          << broken.what << ": " << e.message();
    }
  }
}

TEST(Program, AnInputsDataMayEndWhereTheWeightsDo) {
  Program p = small();
  p.inputs[0].data = 52;
  EXPECT_NO_THROW(verify(p));
}

}  // namespace
}  // namespace poprt::program

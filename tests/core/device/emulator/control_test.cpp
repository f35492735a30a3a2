// Conditional and repeated regions on the emulated device.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "device/emulator/control.h"
#include "device/emulator/emulator.h"
#include "program/builder.h"
#include "program/control.h"

namespace poprt::device {
namespace {

using program::BufferId;
using program::kNoBuffer;

// out[i] = in[0] for every round i of a loop over at most 8.
struct LoopModel {
  LoopModel(bool counted, bool conditional) {
    const auto value = b.add_input({"value", DType::s64, {}});
    const auto count = b.add_input({"count", DType::s64, {}});
    const auto flag = b.add_input({"flag", DType::boolean, {}});
    const auto out = b.add_output({"out", DType::s64, {8}});
    const auto rounds = b.add_output({"rounds", DType::s64, {}});
    const BufferId v = b.input(value, 0, 8, DType::s64, {});
    const BufferId c = b.input(count, 0, 8, DType::s64, {});
    const BufferId f = b.input(flag, 0, 1, DType::boolean, {});
    const BufferId o = b.output(out, 0, 64, DType::s64, {8});
    const BufferId r = b.output(rounds, 0, 8, DType::s64, {});
    const BufferId index = b.arena(0, 8, DType::s64, {});
    emit("fill", {kNoBuffer, o});
    emit("control.loop", {counted ? c : kNoBuffer, conditional ? f : kNoBuffer, index}, {8});
    emit("store_slice", {v, index, o});
    emit("control.end", {});
    emit("copy", {index, r});
  }
  void emit(std::string_view kernel, std::vector<BufferId> operands,
            std::vector<int64_t> ints = {}) {
    b.emit(kernel, operands, ints, {}, std::string(kernel));
  }
  std::unique_ptr<Engine> load() {
    return EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}},
                                 {1, false});
  }
  program::Builder b;
};

struct Result {
  std::vector<int64_t> out = std::vector<int64_t>(8, -1);
  int64_t rounds = -1;
};

Result run(Engine& engine, int64_t count, bool flag) {
  Result r;
  const int64_t value = 5;
  const void* inputs[] = {&value, &count, &flag};
  void* outputs[] = {r.out.data(), &r.rounds};
  engine.run(Flow::main, inputs, outputs);
  return r;
}

std::vector<int64_t> fives(size_t n) {
  std::vector<int64_t> v(8, 0);
  std::fill_n(v.begin(), n, 5);
  return v;
}

TEST(EmulatorControl, LoopRunsItsTripCount) {
  LoopModel model(true, false);
  const auto engine = model.load();
  for (const int64_t n : {0, 1, 7, 8, 3}) {
    const Result r = run(*engine, n, true);
    EXPECT_EQ(r.rounds, n);
    EXPECT_EQ(r.out, fives(static_cast<size_t>(n)));
  }
  EXPECT_EQ(run(*engine, -5, true).rounds, 0);
}

TEST(EmulatorControl, AFalseConditionEndsTheLoopBeforeItBegins) {
  LoopModel model(false, true);
  const auto engine = model.load();
  EXPECT_EQ(run(*engine, 0, false).rounds, 0);
  EXPECT_EQ(run(*engine, 0, true).rounds, 8);
}

TEST(EmulatorControl, ABodyThatWritesTheIndexCannotKeepTheLoopGoing) {
  program::Builder b;
  const auto in = b.add_input({"zero", DType::s64, {}});
  const auto out = b.add_output({"rounds", DType::s64, {}});
  const BufferId zero = b.input(in, 0, 8, DType::s64, {});
  const BufferId index = b.output(out, 0, 8, DType::s64, {});
  const BufferId loop[] = {kNoBuffer, kNoBuffer, index}, copy[] = {zero, index};
  const int64_t most[] = {10};
  b.emit("control.loop", loop, most, {}, "loop");
  b.emit("copy", copy, {}, {}, "reset");
  b.emit("control.end", {}, {}, {}, "end");
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, {1, false});
  const int64_t zero_value = 0;
  int64_t rounds = -1;
  const void* inputs[] = {&zero_value};
  void* outputs[] = {&rounds};
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(rounds, 10);
}

// A case copies if the index is its number; otherwise its output does not change.
TEST(EmulatorControl, ACaseRunsWhenTheIndexIsItsNumber) {
  program::Builder b;
  const auto index = b.add_input({"index", DType::u32, {1}});
  const BufferId i = b.input(index, 0, 4, DType::u32, {1});
  for (const std::string name : {"a", "b"}) {
    const auto in = b.add_input({name, DType::s64, {}});
    const auto out = b.add_output({name, DType::s64, {}});
    const BufferId copy[] = {b.input(in, 0, 8, DType::s64, {}),
                             b.output(out, 0, 8, DType::s64, {})};
    const int64_t number[] = {name == "a" ? 0 : 7};
    b.emit("control.case", std::span(&i, 1), number, {}, name);
    b.emit("copy", copy, {}, {}, name);
    b.emit("control.end", {}, {}, {}, name);
  }
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, {1, false});
  const auto run = [&](uint32_t which, bool only_its_own) {
    const int64_t a = 3, c = 5;
    std::array<int64_t, 2> got{-1, -1};
    const void* inputs[] = {&which, only_its_own && which != 0 ? nullptr : &a,
                            only_its_own && which == 0 ? nullptr : &c};
    void* outputs[] = {only_its_own && which != 0 ? nullptr : got.data(),
                       only_its_own && which == 0 ? nullptr : got.data() + 1};
    engine->run(Flow::main, inputs, outputs);
    return got;
  };
  EXPECT_EQ(run(0, false), (std::array<int64_t, 2>{3, -1}));
  EXPECT_EQ(run(7, false), (std::array<int64_t, 2>{-1, 5}));
  EXPECT_EQ(run(1, false), (std::array<int64_t, 2>{-1, -1}));
  EXPECT_EQ(run(0, true), (std::array<int64_t, 2>{3, -1})) << "null for the other branch";
  EXPECT_EQ(run(7, true), (std::array<int64_t, 2>{-1, 5}));
}

std::string failure_of(Engine& engine) {
  const auto failure = engine.take_failure();
  return failure ? fmt::format("{}: {}", error_code_name(failure->code()), failure->what())
                 : "none";
}

// A loop with a limit of 8 rounds, once with a count and once with a condition.
TEST(EmulatorControl, ALoopThatExceedsItsLimitIsAFailureOfThisRunOnly) {
  const std::string exceeded =
      "resource_exhausted: loop 'control.loop' runs more rounds than 8, the bound that it is "
      "compiled for";
  LoopModel counted(true, true);
  const auto engine = counted.load();
  for (const int64_t n : {0, 7, 8}) {
    EXPECT_EQ(run(*engine, n, true).rounds, n);
    EXPECT_EQ(failure_of(*engine), "none") << n;
    EXPECT_EQ(run(*engine, 9, true).rounds, -1) << "later instructions do not run";
    EXPECT_EQ(failure_of(*engine), exceeded);
    EXPECT_EQ(failure_of(*engine), "none") << "the failure was taken";
  }
  run(*engine, 9, false);
  EXPECT_EQ(failure_of(*engine), "none") << "the condition ended the loop";

  LoopModel conditional(false, true);
  conditional.b.program().main[1].ints = {8, 1};
  const auto other = conditional.load();
  run(*other, 0, true);
  EXPECT_EQ(failure_of(*other), exceeded);
  conditional.b.program().main[1].ints = {8};
  const auto trip_count = conditional.load();
  EXPECT_EQ(run(*trip_count, 0, true).rounds, 8);
  EXPECT_EQ(failure_of(*trip_count), "none") << "the trip count of the model";
}

TEST(EmulatorControl, OneOfTwoBranchesRuns) {
  program::Builder b;
  const auto in = b.add_input({"flag", DType::boolean, {}});
  const auto out = b.add_output({"y", DType::boolean, {2}});
  const BufferId flag = b.input(in, 0, 1, DType::boolean, {});
  const BufferId first = b.output(out, 0, 1, DType::boolean, {});
  const BufferId second = b.output(out, 1, 1, DType::boolean, {});
  const BufferId yes = b.weights(1, DType::boolean, {}, {});
  const auto branch = [&](int64_t when, BufferId to) {
    const BufferId condition[] = {flag}, copy[] = {yes, to};
    const int64_t ints[] = {when};
    b.emit("control.if", condition, ints, {}, "if");
    b.emit("copy", copy, {}, {}, "copy");
    b.emit("control.end", {}, {}, {}, "end");
  };
  branch(1, first);
  branch(0, second);
  const std::vector<std::byte> weights(64, std::byte{1});
  const auto engine = EmulatedDevice().load(
      {std::make_shared<program::Program>(b.program()), weights, {}}, {1, false});
  for (const bool flag_value : {true, false, true}) {
    bool y[2] = {false, false};
    const void* inputs[] = {&flag_value};
    void* outputs[] = {y};
    engine->run(Flow::main, inputs, outputs);
    EXPECT_EQ(y[0], flag_value);
    EXPECT_EQ(y[1], !flag_value);
  }
}

}  // namespace
}  // namespace poprt::device

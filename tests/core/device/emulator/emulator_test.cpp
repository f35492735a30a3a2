#include "device/emulator/emulator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "base/error.h"
#include "kernels/calls/gather.h"
#include "kernels/calls/random.h"
#include "program/builder.h"
#include "support/allocation_counter.h"
#include "support/long_matmul.h"
#include "support/uniform.h"

namespace poprt::device {
namespace {

using program::BufferId;
using program::Builder;

std::vector<float> random_floats(size_t n) {
  std::mt19937 rng(7);
  const test::Uniform dist{-1, 1};
  std::vector<float> v(n);
  for (float& x : v) x = dist(rng);
  return v;
}

// in -> arena -> out, and constant -> second output.
struct CopyModel {
  explicit CopyModel(int64_t n) : shape{n}, constants(random_floats(static_cast<size_t>(n))) {
    const auto bytes = static_cast<uint64_t>(n) * 4;
    const auto in = b.add_input({"x", DType::f32, shape});
    const auto out = b.add_output({"y", DType::f32, shape});
    const auto out2 = b.add_output({"c", DType::f32, shape});
    const BufferId from = b.input(in, 0, bytes, DType::f32, shape);
    const BufferId middle = b.arena(0, bytes, DType::f32, shape);
    const BufferId to = b.output(out, 0, bytes, DType::f32, shape);
    const BufferId w = b.weights(bytes, DType::f32, shape, {});
    const BufferId to2 = b.output(out2, 0, bytes, DType::f32, shape);
    emit(from, middle, "first");
    emit(middle, to, "second");
    emit(w, to2, "third");
    weights.resize(b.program().weights_bytes);
    std::memcpy(weights.data(), constants.data(), bytes);
  }
  void emit(BufferId from, BufferId to, std::string name) {
    const BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, std::move(name));
  }
  Image image() const {
    return {std::make_shared<program::Program>(const_cast<Builder&>(b).program()), weights, {}};
  }

  Builder b;
  Shape shape;
  std::vector<float> constants;
  std::vector<std::byte> weights;
};

LoadOptions threads(int n) { return {n, false}; }

TEST(Emulator, CopiesInputsAndWeightsToOutputs) {
  const CopyModel model(1000);
  const auto engine = EmulatedDevice().load(model.image(), threads(1));
  const std::vector<float> x = random_floats(1000);
  std::vector<float> y(1000), c(1000);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(x, y);
  EXPECT_EQ(model.constants, c);
}

TEST(Emulator, EveryRunUsesThePointersItIsGiven) {
  const CopyModel model(16);
  const auto engine = EmulatedDevice().load(model.image(), threads(1));
  std::vector<float> c(16);
  for (float value : {1.f, 2.f, 3.f}) {
    const std::vector<float> x(16, value);
    std::vector<float> y(16);
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data(), c.data()};
    engine->run(Flow::main, inputs, outputs);
    EXPECT_EQ(x, y);
  }
}

TEST(Emulator, AnyNumberOfThreadsGivesTheSameBits) {
  constexpr size_t kCount = 3 << 20;
  const CopyModel model(kCount);
  const std::vector<float> x = random_floats(kCount);
  for (int n : {1, 2, 3, 4, 7}) {
    const auto engine = EmulatedDevice().load(model.image(), threads(n));
    EXPECT_EQ(engine->threads(), n);
    std::vector<float> y(kCount), c(kCount);
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data(), c.data()};
    engine->run(Flow::main, inputs, outputs);
    EXPECT_EQ(std::memcmp(x.data(), y.data(), kCount * 4), 0);
    EXPECT_EQ(std::memcmp(model.constants.data(), c.data(), kCount * 4), 0);
  }
}

// Eight models that run at the same time, each with a caller, and the workers of one.
TEST(Emulator, ModelsShareTheWorkersOfTheProcess) {
  constexpr size_t kCount = 1 << 20;
  const auto workers = [] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(entry.path() / "comm");
      std::string name;
      std::getline(file, name);
      count += name == "poprt-worker";
    }
    return count;
  };
  const int before = workers();
  setenv("POPRT_THREADS", "4", 1);
  const CopyModel model(kCount);
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 8; i++) engines.push_back(EmulatedDevice().load(model.image(), threads(0)));
  unsetenv("POPRT_THREADS");
  EXPECT_EQ(workers(), before + 3);
  const std::vector<float> x = random_floats(kCount);
  std::atomic<int> equal{0};
  std::vector<std::thread> callers;
  for (const auto& engine : engines)
    callers.emplace_back([&, own = engine.get()] {
      EXPECT_EQ(own->threads(), 4);
      std::vector<float> y(kCount), c(kCount);
      const void* inputs[] = {x.data()};
      void* outputs[] = {y.data(), c.data()};
      for (int run = 0; run < 10; run++) {
        std::fill(y.begin(), y.end(), 0.0f);
        own->run(Flow::main, inputs, outputs);
        equal += x == y && model.constants == c;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(equal, 80);
  engines.clear();
  EXPECT_EQ(workers(), before);
}

TEST(Emulator, LittleWorkMakesNoThreads) {
  const CopyModel model(16);
  EXPECT_EQ(EmulatedDevice().load(model.image(), threads(4))->threads(), 1);
}

// Copies this number of bytes, outside of all cases or in the case of the given number. A case may
// be nested in the one before.
struct CopyStep {
  int64_t bytes;
  int64_t number = -1;
  bool inside = false;
};

// Returns the number of threads of a program of such copies, and which copies they share, as
// digits.
std::string threads_of(const std::vector<CopyStep>& steps, int count = 4) {
  Builder b;
  const BufferId index = b.input(b.add_input({"index", DType::u32, {1}}), 0, 4, DType::u32, {1});
  b.add_output({"y", DType::u8, {1}});
  const auto begin = [&](int64_t number) {
    const int64_t ints[] = {number};
    b.emit("control.case", std::span(&index, 1), ints, {}, "case");
  };
  const auto end = [&] { b.emit("control.end", {}, {}, {}, "end"); };
  uint64_t at = 0;
  int open = 0;
  for (const CopyStep& s : steps) {
    while (open > 0 && !s.inside) end(), open--;
    if (s.number >= 0) begin(s.number), open++;
    const auto bytes = static_cast<uint64_t>(s.bytes);
    const BufferId operands[] = {b.arena(at, bytes, DType::u8, {s.bytes}),
                                 b.arena(at + (1 << 20), bytes, DType::u8, {s.bytes})};
    b.emit("copy", operands, {}, {}, "copy");
    at += 2 << 20;
  }
  while (open-- > 0) end();
  const auto engine = EmulatedDevice().load(
      {std::make_shared<program::Program>(b.program()), {}, {}}, {count, true});
  std::string text = fmt::format("{}:", engine->threads());
  for (const auto& row : engine->profile())
    if (row.kernel == "copy")
      text += row.parallel ? " 1" : " 0";
    else
      EXPECT_FALSE(row.parallel) << row.kernel << " computes nothing";
  for (const uint32_t i : {0u, 1u, 9u}) {
    const void* inputs[] = {&i};
    uint8_t y = 0;
    void* outputs[] = {&y};
    engine->run(Flow::main, inputs, outputs);
  }
  return text;
}

// A byte takes 0.1 ns. Instructions of more than 20 us and several tasks (of 256 KiB) are divided
// if a run has more than 50 us of them.
TEST(Emulator, OtherThreadsComputeWhereThereIsEnoughForThem) {
  EXPECT_EQ(threads_of({{300'000}}), "1: 0");
  EXPECT_EQ(threads_of({{300'000}, {300'000}}), "4: 1 1");
  EXPECT_EQ(threads_of({{300'000}, {300'000}}, 1), "1: 0 0");
  EXPECT_EQ(threads_of({{500'000}}), "1: 0");
  EXPECT_EQ(threads_of({{500'010}}), "4: 1");
  EXPECT_EQ(threads_of({{262'144}, {262'144}, {262'144}}), "1: 0 0 0") << "one task each";
  EXPECT_EQ(threads_of({{600'000}, {16}}), "4: 1 0");
}

TEST(Emulator, EachCaseHasItsThreads) {
  EXPECT_EQ(threads_of({{600'000, 0}, {300'000, 1}}), "4: 1 0");
  EXPECT_EQ(threads_of({{300'000, 0}, {600'000, 1}}), "4: 0 1");
  EXPECT_EQ(threads_of({{300'000, 0}, {300'000, 1}}), "1: 0 0");
  EXPECT_EQ(threads_of({{300'000, 0}, {300'000, -1, true}, {300'000, 1}}), "4: 1 1 0");
  EXPECT_EQ(threads_of({{600'000}, {300'000, 0}}), "4: 1 0");
  EXPECT_EQ(threads_of({{300'000, 0}, {600'000}}), "4: 0 1");
  EXPECT_EQ(threads_of({{300'000}, {600'000, 0}}), "4: 1 1");
  EXPECT_EQ(threads_of({{300'000, 0}, {300'000, 1, true}}), "4: 1 1") << "a case of the first";
  EXPECT_EQ(threads_of({{500'000, 0}}), "1: 0");
  EXPECT_EQ(threads_of({{500'010, 0}}), "4: 1");
}

TEST(Emulator, AnInterruptedEngineIsIdleUntilResumed) {
  const CopyModel model(16);
  const auto engine = EmulatedDevice().load(model.image(), threads(1));
  const std::vector<float> x = random_floats(16), zeros(16);
  std::vector<float> y(16), c(16);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  engine->interrupt();
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(y, zeros);
  EXPECT_EQ(c, zeros);
  engine->resume();
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(y, x);
  EXPECT_EQ(c, model.constants);
}

// Buffers at several places of inputs and outputs, some of them unused.
TEST(Emulator, PartsOfAnchorsLieWhereTheCallersMemoryIs) {
  Builder b;
  std::vector<uint32_t> in, out;
  for (int i = 0; i < 3; i++) in.push_back(b.add_input({fmt::format("x{}", i), DType::f32, {8}}));
  for (int i = 0; i < 3; i++) out.push_back(b.add_output({fmt::format("y{}", i), DType::f32, {8}}));
  const auto copy = [&](uint32_t from, uint64_t from_at, uint32_t to, uint64_t to_at) {
    const BufferId operands[] = {b.input(in[from], from_at * 4, 8, DType::f32, {2}),
                                 b.output(out[to], to_at * 4, 8, DType::f32, {2})};
    b.emit("copy", operands, {}, {}, "copy");
  };
  copy(2, 6, 0, 2);
  copy(0, 0, 2, 6);
  copy(2, 2, 2, 0);
  copy(0, 4, 0, 0);
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, threads(1));
  for (const float base : {0.f, 100.f}) {
    std::vector<std::vector<float>> x, y;
    for (int i = 0; i < 3; i++) {
      x.emplace_back(8);
      std::iota(x.back().begin(), x.back().end(), base + 10.f * static_cast<float>(i));
      y.emplace_back(8, -1.f);
    }
    const void* inputs[] = {x[0].data(), x[1].data(), x[2].data()};
    void* outputs[] = {y[0].data(), y[1].data(), y[2].data()};
    engine->run(Flow::main, inputs, outputs);
    EXPECT_EQ(y[0], (std::vector<float>{base + 4, base + 5, base + 26, base + 27, -1, -1, -1, -1}));
    EXPECT_EQ(y[1], std::vector<float>(8, -1.f));
    EXPECT_EQ(y[2], (std::vector<float>{base + 22, base + 23, -1, -1, -1, -1, base, base + 1}));
  }
}

TEST(Emulator, RunAllocatesNothing) {
  for (const int64_t n : {16, 3 << 20}) {
    const CopyModel model(n);
    const auto engine = EmulatedDevice().load(model.image(), threads(2));
    const std::vector<float> x = random_floats(static_cast<size_t>(n));
    std::vector<float> y(x.size()), c(x.size());
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data(), c.data()};
    const test::AllocationCounter counter;
    for (int i = 0; i < 10; i++) engine->run(Flow::main, inputs, outputs);
    EXPECT_EQ(counter.count(), 0);
  }
}

TEST(Emulator, ALoopAllocatesNothing) {
  Builder b;
  const auto in = b.add_input({"x", DType::f32, {4}});
  const auto out = b.add_output({"rounds", DType::s64, {}});
  const BufferId x = b.input(in, 0, 16, DType::f32, {4});
  const BufferId index = b.output(out, 0, 8, DType::s64, {});
  const BufferId all = b.arena(0, 1600, DType::f32, {100, 4});
  const BufferId loop[] = {program::kNoBuffer, program::kNoBuffer, index},
                 store[] = {x, index, all};
  const int64_t most[] = {100};
  b.emit("control.loop", loop, most, {}, "loop");
  b.emit("store_slice", store, {}, {}, "store");
  b.emit("control.end", {}, {}, {}, "end");
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, threads(1));
  const float values[4] = {};
  int64_t rounds = 0;
  const void* inputs[] = {values};
  void* outputs[] = {&rounds};
  const test::AllocationCounter counter;
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(counter.count(), 0);
  EXPECT_EQ(rounds, 100);
}

TEST(Emulator, LoadAndSaveFlowsRunOnTheirOwn) {
  CopyModel model(8);
  program::Program& p = model.b.program();
  // load: weights -> arena; main: arena -> y; save: arena -> c
  p.load = {p.main[2]};
  p.load[0].operands[1] = p.main[0].operands[1];
  p.save = {p.main[1]};
  p.save[0].operands[1] = p.main[2].operands[1];
  p.main = {p.main[1]};
  const auto engine = EmulatedDevice().load(model.image(), threads(1));
  std::vector<float> x(8), y(8, 5.f), c(8, 6.f);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  engine->run(Flow::load, nullptr, nullptr);
  EXPECT_EQ(y, std::vector<float>(8, 5.f));
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(y, model.constants);
  EXPECT_EQ(c, std::vector<float>(8, 6.f));
  engine->run(Flow::save, inputs, outputs);
  EXPECT_EQ(c, model.constants);
}

// With POPRT_POISON_MEMORY, an instruction that reads memory before this run has written it gets
// NaN.
TEST(Emulator, PoisonOverwritesMemoryOfEarlierRuns) {
  CopyModel model(8);
  program::Program& p = model.b.program();
  p.load = {p.main[2]};  // weights -> arena
  p.load[0].operands[1] = p.main[0].operands[1];
  p.main = {p.main[1]};  // arena -> y
  for (const bool poisons : {false, true}) {
    setenv("POPRT_POISON_MEMORY", poisons ? "1" : "0", 1);
    const auto engine = EmulatedDevice().load(model.image(), threads(1));
    unsetenv("POPRT_POISON_MEMORY");
    std::vector<float> x(8), y(8, 5.f), c(8);
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data(), c.data()};
    engine->run(Flow::load, nullptr, nullptr);
    engine->run(Flow::main, inputs, outputs);
    for (size_t i = 0; i < y.size(); i++) EXPECT_EQ(std::isnan(y[i]), poisons) << i;
  }
}

TEST(Emulator, ProfileHasARowPerInstruction) {
  const CopyModel model(64);
  const auto engine = EmulatedDevice().load(model.image(), {1, true});
  const std::vector<float> x(64);
  std::vector<float> y(64), c(64);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  for (const auto& row : engine->profile()) {
    EXPECT_EQ(row.runs, 0);
    EXPECT_EQ(row.total_ns, 0);
    EXPECT_EQ(row.min_ns, 0) << "of no run";
  }
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; i++) engine->run(Flow::main, inputs, outputs);
  const auto passed = std::chrono::steady_clock::now() - begun;
  const auto rows = engine->profile();
  int64_t total = 0;
  for (const auto& row : rows) total += row.total_ns;
  EXPECT_LE(total, std::chrono::nanoseconds(passed).count()) << "a part of the runs";
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "second");
  EXPECT_EQ(rows[1].kernel, "copy");
  EXPECT_EQ(rows[1].runs, 3);
  EXPECT_GE(rows[1].total_ns, 3 * rows[1].min_ns);
  EXPECT_TRUE(EmulatedDevice().load(model.image(), {1, false})->profile().empty());
}

template <class F>
void expect_error(F&& change, ErrorCode code, std::string_view part) {
  CopyModel model(16);
  change(model.b.program(), model.weights);
  try {
    EmulatedDevice().load(model.image(), threads(1));
    FAIL() << "loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
  }
}

using Weights = std::vector<std::byte>;

TEST(Emulator, RefusesBadPrograms) {
  expect_error([](program::Program& p, Weights&) { p.kernels[0] = "warp"; },
               ErrorCode::failed_precondition, "needs kernel 'warp', made by a newer poprt?");
  expect_error([](program::Program& p, Weights&) { p.main[0].kernel = 9; }, ErrorCode::data_loss,
               "main instruction 0");
  expect_error([](program::Program& p, Weights&) { p.main[1].operands[0] = 77; },
               ErrorCode::data_loss, "main instruction 1");
  expect_error([](program::Program& p, Weights&) { p.buffers[1].offset = 1 << 20; },
               ErrorCode::data_loss, "buffer 1");
  expect_error([](program::Program& p, Weights&) { p.buffers[0].index = 3; }, ErrorCode::data_loss,
               "anchor 3");
  expect_error([](program::Program&, Weights& w) { w.resize(8); }, ErrorCode::data_loss,
               "needs 64 bytes of weights, 8 are there");
  expect_error([](program::Program& p, Weights&) { p.main[1].operands.pop_back(); },
               ErrorCode::invalid_argument, "main instruction 1 'second': kernel copy");
  expect_error([](program::Program& p, Weights&) { p.arena_bytes = uint64_t{1} << 50; },
               ErrorCode::resource_exhausted, "device arena");
}

// Weights are mapped read-only and inputs are the caller's: a file must not make a kernel write
// there.
TEST(Emulator, RefusesKernelsThatWouldWriteConstantsOrInputs) {
  expect_error([](program::Program& p, Weights&) { p.main[1].operands[1] = p.main[2].operands[0]; },
               ErrorCode::data_loss,
               "main instruction 1 'second': kernel 'copy' would write its operand 1, which is a "
               "constant");
  expect_error([](program::Program& p, Weights&) { p.main[1].operands[1] = p.main[0].operands[0]; },
               ErrorCode::data_loss, "would write its operand 1, which is an input");
  const auto in_flow = [](auto flow) {
    expect_error(
        [&](program::Program& p, Weights&) {
          p.*flow = {p.main[1]};
          (p.*flow)[0].operands[1] = p.main[2].operands[0];
        },
        ErrorCode::data_loss, "which is a constant");
  };
  in_flow(&program::Program::load);
  in_flow(&program::Program::save);
}

// Checks each result of a kernel with several results.
TEST(Emulator, RefusesEveryWrittenOperandOfAKernel) {
  for (size_t bad = 1; bad <= 4; bad++) {
    Builder b;
    const Shape shape{1, 8, 1};
    const auto in = b.add_input({"x", DType::f32, shape});
    const BufferId x = b.input(in, 0, 32, DType::f32, shape);
    std::vector<BufferId> operands = {x, b.arena(0, 32, DType::f32, shape)};
    for (int i = 0; i < 3; i++)
      operands.push_back(b.arena(64 * (static_cast<uint64_t>(i) + 1), 64, DType::s64, {8}));
    const BufferId weights = b.weights(64, bad == 1 ? DType::f32 : DType::s64,
                                       bad == 1 ? shape : Shape{8}, [](std::span<std::byte>) {});
    const int64_t ints[] = {1, 8, 1, 1, 8};
    b.emit("unique", operands, ints, {}, "fine");
    std::vector<std::byte> bytes(b.program().weights_bytes);
    const auto load = [&] {
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), bytes, {}},
                            threads(1));
    };
    EXPECT_NO_THROW(load());
    operands[bad] = weights;
    b.emit("unique", operands, ints, {}, "hostile");
    try {
      load();
      FAIL() << bad;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data_loss);
      EXPECT_NE(std::string(e.what()).find(fmt::format("would write its operand {}", bad)),
                std::string::npos)
          << e.what();
    }
  }
}

// Kernel `unique` with its inverse as the only result.
TEST(Emulator, AbsentResultsAreNotChecked) {
  Builder b;
  const BufferId x =
      b.input(b.add_input({"x", DType::f32, {1, 6, 1}}), 0, 24, DType::f32, {1, 6, 1});
  const BufferId inverse =
      b.output(b.add_output({"inverse", DType::s64, {6}}), 0, 48, DType::s64, {6});
  const BufferId operands[] = {x, program::kNoBuffer, program::kNoBuffer, inverse,
                               program::kNoBuffer};
  const int64_t ints[] = {1, 6, 1, 1, 6};
  b.emit("unique", operands, ints, {}, "unique");
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, threads(1));
  const float values[] = {5, 3, 5, 9, 3, 3};
  std::vector<int64_t> y(6, -1);
  const void* inputs[] = {values};
  void* outputs[] = {y.data()};
  engine->run(Flow::main, inputs, outputs);
  EXPECT_EQ(y, (std::vector<int64_t>{1, 0, 1, 2, 0, 0}));
}

// Two nodes read indices of their inputs. The failure of a run is that of the first node in program
// order, and the next run has no failure of an earlier one.
TEST(Emulator, AnIndexOutsideOfItsTensorIsAFailureOfTheRun) {
  Builder b;
  kernels::calls::Gather call;
  call.outer = call.inner = 1;
  call.axis = 4;
  call.checked = true;
  const auto numbers = kernels::calls::encode(call);
  const BufferId from =
      b.input(b.add_input({"from", DType::f32, {1, 4, 1}}), 0, 16, DType::f32, {1, 4, 1});
  for (const char* name : {"first", "second"}) {
    const auto in = b.add_input({fmt::format("{} index", name), DType::s32, {2}});
    const auto out = b.add_output({fmt::format("{} y", name), DType::f32, {1, 2, 1}});
    const BufferId operands[] = {from, b.input(in, 0, 8, DType::s32, {2}),
                                 b.output(out, 0, 8, DType::f32, {1, 2, 1})};
    b.emit(call.kKernel, operands, numbers.ints, numbers.floats, name);
  }
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, threads(1));
  const auto failure_of = [&](std::array<int32_t, 2> first, std::array<int32_t, 2> second) {
    const float values[] = {1, 2, 3, 4};
    float y[2][2];
    const void* inputs[] = {values, first.data(), second.data()};
    void* outputs[] = {y[0], y[1]};
    engine->run(Flow::main, inputs, outputs);
    const auto failure = engine->take_failure();
    return failure ? std::string(failure->what()) : "";
  };
  EXPECT_EQ(failure_of({0, 3}, {-4, 1}), "");
  const std::string first = failure_of({0, 4}, {9, 1}), second = failure_of({0, 1}, {9, 1});
  EXPECT_NE(first.find("node 'first'"), std::string::npos) << first;
  EXPECT_NE(first.find("index 4 at place 1 is outside [-4, 3]"), std::string::npos) << first;
  EXPECT_NE(second.find("node 'second'"), std::string::npos) << second;
  EXPECT_NE(second.find("index 9 at place 0 is outside [-4, 3]"), std::string::npos) << second;
  EXPECT_EQ(failure_of({0, 3}, {-4, 1}), "");
}

TEST(Emulator, RefusesBadThreadCounts) {
  const CopyModel model(16);
  for (const int n : {-1, 1025})
    EXPECT_THROW(EmulatedDevice().load(model.image(), threads(n)), Error);
}

// Counts the workers by name, because a sanitizer has its own threads.
int64_t workers_of_this_process() {
  int64_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "poprt-worker";
  }
  return count;
}

TEST(Emulator, ThreadsEndWithTheEngine) {
  const CopyModel model(3 << 20);
  auto engine = EmulatedDevice().load(model.image(), threads(3));
  EXPECT_EQ(workers_of_this_process(), 2);  // the third is the calling thread
  engine.reset();
  // They are listed for a moment after join().
  for (int i = 0; i < 100 && workers_of_this_process() > 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(workers_of_this_process(), 0);
}

// The test measures processor time, not wall-clock time. Two cases that use threads run one after
// the other.
TEST(Emulator, ThreadsWokenByACaseSleepAfterTheRun) {
  Builder b;
  const BufferId index = b.input(b.add_input({"index", DType::u32, {1}}), 0, 4, DType::u32, {1});
  const int64_t bytes = 600'000, zero[] = {0};
  uint64_t at = 0;
  for (int i = 0; i < 2; i++) {
    b.emit("control.case", std::span(&index, 1), zero, {}, "case");
    const BufferId operands[] = {b.arena(at, bytes, DType::u8, {bytes}),
                                 b.arena(at + (1 << 20), bytes, DType::u8, {bytes})};
    b.emit("copy", operands, {}, {}, "copy");
    b.emit("control.end", {}, {}, {}, "end");
    at += 2 << 20;
  }
  const auto engine =
      EmulatedDevice().load({std::make_shared<program::Program>(b.program()), {}, {}}, threads(4));
  ASSERT_EQ(engine->threads(), 4);
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const uint32_t number = 0;
  const void* inputs[] = {&number};
  for (int i = 0; i < 3; i++) engine->run(Flow::main, inputs, nullptr);
  const double before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_LT(used() - before, 0.05) << "seconds of three workers in 0.15 s";
}

TEST(Emulator, AnInterruptEndsALongInstruction) {
  using poprt::test::LongMatmul;
  for (const int n : {1, 2}) {
    LongMatmul m;
    const auto engine = EmulatedDevice().load(LongMatmul::image(), threads(n));
    EXPECT_TRUE(poprt::test::caught_in_the_middle([&](auto delay) {
      std::fill(m.y.begin(), m.y.end(), 0);
      std::thread stopper([&] {
        std::this_thread::sleep_for(delay);
        engine->interrupt();
      });
      engine->run(Flow::main, m.inputs, m.outputs);
      stopper.join();
      engine->resume();
      return m.begun() && !m.finished();
    })) << n;
    engine->run(Flow::main, m.inputs, m.outputs);
    EXPECT_TRUE(m.finished());
    EXPECT_EQ(std::count(m.y.begin(), m.y.end(), LongMatmul::kSize),
              LongMatmul::kSize * LongMatmul::kSize);
  }
}

// Kernel `random` selects the seed of a call in its first round and draws in the second one. With
// 1.2 million numbers it is also long enough to be divided into pieces.
TEST(Emulator, EveryRoundOfAnInstructionRunsOnce) {
  for (const int64_t count : {200'000, 1'200'000}) {
    const auto bytes = static_cast<uint64_t>(count) * 4;
    Builder b;
    const auto out = b.add_output({"y", DType::f32, {count, 1}});
    const BufferId operands[] = {program::kNoBuffer,
                                 b.output(out, 0, bytes, DType::f32, {count, 1})};
    kernels::calls::Random call;
    call.seed = 5;
    call.count = count;
    call.a = 1;
    call.b = 2;
    call.varies = true;
    const auto numbers = kernels::calls::encode(call);
    b.emit(call.kKernel, operands, numbers.ints, numbers.floats, "draw");
    const Image image{std::make_shared<program::Program>(b.program()), {}, {}};
    std::vector<std::vector<float>> expected;
    for (const int n : {1, 3}) {
      const auto engine = EmulatedDevice().load(image, threads(n));
      ASSERT_EQ(engine->threads(), n);
      for (size_t run = 0; run < 2; run++) {
        std::vector<float> y(static_cast<size_t>(count), -1.f);
        void* outputs[] = {y.data()};
        engine->run(Flow::main, nullptr, outputs);
        if (n == 1 && run == 0)
          EXPECT_EQ(std::ranges::count_if(y, [](float v) { return v >= 1 && v < 2; }), count);
        if (n == 1)
          expected.push_back(std::move(y));
        else
          EXPECT_TRUE(y == expected[run]) << n << " threads, run " << run;
      }
    }
    EXPECT_FALSE(expected[0] == expected[1]);
  }
}

// A draw from many classes needs scratch memory for their sums. The longer one is divided into
// pieces.
TEST(Emulator, EveryThreadHasItsScratchMemory) {
  constexpr int64_t kClasses = 20'000;
  const std::vector<float> x = random_floats(32 * kClasses);
  for (const int64_t count : {16, 32}) {
    Builder b;
    const auto in = b.add_input({"x", DType::f32, {count, kClasses}});
    const auto out = b.add_output({"y", DType::s32, {count, 3}});
    const BufferId operands[] = {
        b.input(in, 0, static_cast<uint64_t>(count * kClasses * 4), DType::f32, {count, kClasses}),
        b.output(out, 0, static_cast<uint64_t>(count * 3 * 4), DType::s32, {count, 3})};
    kernels::calls::Random call;
    call.kind = kernels::calls::RandomKind::multinomial;
    call.count = count;
    call.classes = kClasses;
    call.samples = 3;
    const auto numbers = kernels::calls::encode(call);
    b.emit(call.kKernel, operands, numbers.ints, numbers.floats, "draw");
    const Image image{std::make_shared<program::Program>(b.program()), {}, {}};
    std::vector<int32_t> expected;
    for (const int n : {1, 4}) {
      const auto engine = EmulatedDevice().load(image, threads(n));
      ASSERT_EQ(engine->threads(), n);
      std::vector<int32_t> y(static_cast<size_t>(count * 3), -1);
      const void* inputs[] = {x.data()};
      void* outputs[] = {y.data()};
      engine->run(Flow::main, inputs, outputs);
      if (n == 1) {
        EXPECT_TRUE(std::ranges::all_of(y, [](int32_t c) { return c >= 0 && c < kClasses; }));
        expected = y;
      }
      EXPECT_EQ(y, expected) << count;
    }
  }
}

TEST(Emulator, RefusesANumberOfThreadsThatThereCannotBe) {
  const CopyModel model(1);
  for (const int count : {-1, 1 << 20}) try {
      EmulatedDevice().load(model.image(), threads(count));
      FAIL() << count;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(e.message().find("or 0 for the default; given " + std::to_string(count)),
                std::string::npos)
          << e.message();
    }
}

}  // namespace
}  // namespace poprt::device

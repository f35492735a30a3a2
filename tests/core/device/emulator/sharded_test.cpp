// The caller of a run receives the error of any of several IPUs.
#include "device/emulator/sharded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/emulator/emulator.h"
#include "support/shard_program.h"

namespace poprt::device {
namespace {

// An engine that fails in each run.
class Failing final : public Engine {
 public:
  explicit Failing(std::string name) : name_(std::move(name)) {}
  void run(Flow, const void* const*, void* const*) noexcept override { ran_ = true; }
  std::optional<Error> take_failure() override {
    if (!std::exchange(ran_, false)) return std::nullopt;
    return Error(ErrorCode::internal, name_);
  }

 private:
  std::string name_;
  bool ran_ = false;
};

std::unique_ptr<Engine> failing_shards(const Image& image) {
  int count = 0;
  return load_shards(image, {}, [&](const Image&, const LoadOptions&) {
    return std::make_unique<Failing>("ipu" + std::to_string(count++));
  });
}

struct Memory {
  float x[16] = {}, y[16] = {}, z[16] = {};
  const void* in[1] = {x};
  void* out[2] = {y, z};
};

TEST(ShardedFailures, AreReportedAfterARun) {
  const auto engine = failing_shards(test::shard_program(3, false, {16}));
  Memory m;
  EXPECT_FALSE(engine->take_failure());
  engine->run(Flow::main, m.in, m.out);
  const auto failure = engine->take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message(), "ipu0") << "the first of them";
  EXPECT_FALSE(engine->take_failure()) << "all were taken";
}

TEST(ShardedFailures, OfAStageAreReportedForThatStage) {
  const auto engine = failing_shards(test::shard_program(2, true, {16}));
  Memory m;
  std::vector<std::byte> frame(engine->frame_bytes());
  for (size_t stage : {0, 1}) engine->run_stage(stage, m.in, m.out, frame.data());
  EXPECT_EQ(engine->take_stage_failure(1).value().message(), "ipu1");
  EXPECT_FALSE(engine->take_stage_failure(1));
  EXPECT_EQ(engine->take_stage_failure(0).value().message(), "ipu0") << "the other's was left";
}

// The numbers of threads that the engines of each IPU receive, and the number that all report.
std::string threads_of(size_t ipus, bool pipelined, int threads) {
  struct Fixed final : Engine {
    explicit Fixed(int n) : count(n) {}
    void run(Flow, const void* const*, void* const*) noexcept override {}
    int threads() const noexcept override { return count; }
    std::vector<InstructionProfile> profile() const override {
      return {{"row" + std::to_string(count), "copy"}};
    }
    int count;
  };
  std::string text;
  int next = 0;
  const auto engine =
      load_shards(test::shard_program(ipus, pipelined, {16}), {threads, true},
                  [&](const Image&, const LoadOptions& options) {
                    text += std::to_string(options.threads) + (options.profile ? " " : "! ");
                    return std::make_unique<Fixed>(5 - next++);
                  });
  text += "= " + std::to_string(engine->threads()) + ", " + std::to_string(engine->stages());
  for (const InstructionProfile& row : engine->profile()) text += " " + row.name;
  return text;
}

TEST(Sharded, StagesShareTheThreads) {
  EXPECT_EQ(threads_of(3, true, 8), "2 2 2 = 12, 3 row5 row4 row3");
  EXPECT_EQ(threads_of(2, true, 8), "4 4 = 9, 2 row5 row4");
  EXPECT_EQ(threads_of(3, true, 2), "1 1 1 = 12, 3 row5 row4 row3");
  setenv("POPRT_THREADS", "7", 1);
  EXPECT_EQ(threads_of(2, true, 0), "0 0 = 5, 2 row5 row4") << "all workers are shared";
  EXPECT_EQ(threads_of(2, false, 0), "0 0 = 5, 1 row5 row4") << "one works at a time";
  unsetenv("POPRT_THREADS");
  EXPECT_EQ(threads_of(2, false, 8), "8 8 = 5, 1 row5 row4");
}

TEST(Sharded, AnInterruptedEngineIsIdleUntilResumed) {
  for (const bool pipelined : {false, true}) {
    const auto engine = EmulatedDevice().load(test::shard_program(3, pipelined, {16}), {1, false});
    EXPECT_EQ(engine->stages(), pipelined ? 3u : 1u);
    Memory m;
    for (int i = 0; i < 16; i++) m.x[i] = static_cast<float>(i + 1);
    std::vector<std::byte> frame(engine->frame_bytes());
    const auto run = [&](bool by_stages) {
      if (!by_stages) return engine->run(Flow::main, m.in, m.out);
      for (size_t s = 0; s < engine->stages(); s++) engine->run_stage(s, m.in, m.out, frame.data());
    };
    for (const bool by_stages : {false, true}) {
      std::fill_n(m.y, 16, 0.f);
      std::fill_n(m.z, 16, 0.f);
      engine->interrupt();
      run(by_stages);
      EXPECT_EQ(m.y[3] + m.z[3], 0);
      engine->resume();
      engine->run(Flow::save, m.in, m.out);
      EXPECT_EQ(m.y[3] + m.z[3], 0) << "there is no such program";
      run(by_stages);
      for (int i = 0; i < 16; i++) {
        EXPECT_EQ(m.y[i], m.x[i]);
        EXPECT_EQ(m.z[i], m.x[i]);
      }
    }
  }
}

}  // namespace
}  // namespace poprt::device

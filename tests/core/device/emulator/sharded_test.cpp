// What goes wrong on one of several IPUs is told to whoever runs it.
#include "device/emulator/sharded.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/shard_program.h"

namespace poprt::device {
namespace {

// Fails in each run.
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

TEST(ShardedFailures, AreToldAfterARun) {
  const auto engine = failing_shards(testing::shard_program(3, false, {16}));
  Memory m;
  EXPECT_FALSE(engine->take_failure());
  engine->run(Flow::main, m.in, m.out);
  const auto failure = engine->take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message(), "ipu0") << "the first of them";
  EXPECT_FALSE(engine->take_failure()) << "all were taken";
}

TEST(ShardedFailures, OfAStageAreToldToWhoeverRunsIt) {
  const auto engine = failing_shards(testing::shard_program(2, true, {16}));
  Memory m;
  std::vector<std::byte> frame(engine->frame_bytes());
  for (size_t stage : {0, 1}) engine->run_stage(stage, m.in, m.out, frame.data());
  EXPECT_EQ(engine->take_stage_failure(1).value().message(), "ipu1");
  EXPECT_FALSE(engine->take_stage_failure(1));
  EXPECT_EQ(engine->take_stage_failure(0).value().message(), "ipu0") << "the other's was left";
}

}  // namespace
}  // namespace poprt::device

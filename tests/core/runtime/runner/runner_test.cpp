// A short soak test of runners (the long one is tests/bench/runner_soak_bench).
#include "runtime/runner/runner.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "support/runner_soak.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;

class RunnerSoak : public ::testing::TestWithParam<test::SoakKind> {};

TEST_P(RunnerSoak, EveryRequestIsAnsweredExactlyOnce) {
  test::SoakOptions options;
  options.kind = GetParam();
  options.requests = 40'000;
  options.requests_per_runner = 4'000;
  test::RunnerSoak soak(options);
  soak.run();
  const auto& r = soak.result();
  EXPECT_EQ(r.answered(), options.requests);
  EXPECT_EQ(r.wrong, 0u);
  EXPECT_GT(r.ok, options.requests / 4);
  EXPECT_GT(r.cancelled, 0u);
  EXPECT_GT(r.timed_out, 0u);
  EXPECT_GT(r.failed, 0u);
  EXPECT_EQ(r.runners, 11u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RunnerSoak,
                         ::testing::Values(test::SoakKind::batched, test::SoakKind::fused,
                                           test::SoakKind::packed, test::SoakKind::pipelined,
                                           test::SoakKind::fused_pipelined),
                         [](const auto& kind) -> std::string {
                           switch (kind.param) {
                             case test::SoakKind::batched: return "Batched";
                             case test::SoakKind::fused: return "Fused";
                             case test::SoakKind::packed: return "Packed";
                             case test::SoakKind::fused_pipelined: return "FusedPipelined";
                             default: return "Pipelined";
                           }
                         });

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

TEST(Idle, ARunnerThatWaitsUsesNoCpu) {
  for (const bool overlap : {false, true}) {
    RunnerConfig config;
    config.overlap_io = overlap;
    config.batching_dim = 0;
    config.timeout = 0ns;
    config.session.device = std::make_shared<test::FunctionDevice>(test::add_one(4));
    ModelRunner runner(test::add_one_model({4}), config);
    float x[5] = {}, y[5] = {};
    const InputBinding whole[] = {{"x", 0, x, 16}}, part[] = {{"x", 0, x, 4}};
    const OutputBinding whole_out[] = {{"y", 0, y, 16}}, part_out[] = {{"y", 0, y + 4, 4}};
    runner.execute_async(whole, whole_out)->wait();
    const RequestPtr open = runner.execute_async(part, part_out);  // waits for rows for ever
    const double before = cpu_seconds();
    std::this_thread::sleep_for(400ms);
    EXPECT_LT(cpu_seconds() - before, 0.1);
    EXPECT_FALSE(open->done());
    runner.stop();
  }
}

}  // namespace
}  // namespace poprt::runtime

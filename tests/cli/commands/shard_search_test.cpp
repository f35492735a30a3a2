#include "exec/support/shard_search.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "base/error.h"

namespace poprt::cli {
namespace {

// Compiles a model whose sub-graphs need these fractions of the memory of a chip.
CompilePlan compile_parts(const std::vector<double>& parts) {
  return [=](const Plan& plan) {
    Candidate c;
    c.plan = plan;
    for (size_t begin = 0; const size_t end : plan) {
      double sum = 0;
      for (size_t i = begin; i < end; i++) sum += parts[i];
      c.bytes.push_back(static_cast<uint64_t>(sum * kChipBytes));
      begin = end;
    }
    return c;
  };
}

Candidate candidate(Plan plan, std::vector<uint64_t> bytes, double per_second = 0) {
  Candidate c;
  c.plan = std::move(plan);
  c.bytes = std::move(bytes);
  c.per_second = per_second;
  return c;
}

TEST(ShardSearch, ChipHas1472TilesOf624KiB) {
  EXPECT_EQ(kChipBytes, 1472.0 * 624 * 1024);
  EXPECT_EQ(candidate({1, 2, 3}, {0, 1472 * 624 * 512, 7}).fullest(), 0.5);
}

TEST(ShardSearch, AmountsAreBytesOrTimes) {
  std::vector<SubGraph> parts(3);
  parts[0].bytes = 7;
  parts[1].nanoseconds = 250;
  parts[2].flops = 3e6;
  EXPECT_EQ(amounts_by_bytes(parts), (std::vector<double>{8, 1, 1}));
  const std::vector<double> times = amounts_by_time(parts);
  EXPECT_GT(times[0], 0);
  EXPECT_LT(times[0], 1e-6);
  EXPECT_NEAR(times[1], 250, 1e-6);
  EXPECT_NEAR(times[2], 3, 1e-6);
}

TEST(ShardSearch, FullestGivesToTheNeighbourWithMoreRoom) {
  EXPECT_EQ(relieved_plan(candidate({2, 4, 6}, {5, 9, 4})), (Plan{2, 3, 6}));
  EXPECT_EQ(relieved_plan(candidate({2, 4, 6}, {4, 9, 5})), (Plan{3, 4, 6}));
  EXPECT_EQ(relieved_plan(candidate({2, 4, 6}, {5, 9, 5})),
            (Plan{2, 3, 6}));  // the right neighbour
  EXPECT_EQ(relieved_plan(candidate({2, 4, 6}, {9, 1, 1})),
            (Plan{1, 4, 6}));  // the first has no left neighbour
  EXPECT_EQ(relieved_plan(candidate({2, 4, 6}, {1, 1, 9})),
            (Plan{2, 5, 6}));  // the last has no right neighbour
  EXPECT_EQ(relieved_plan(candidate({2, 4, 6}, {9, 9, 1})),
            (Plan{1, 4, 6}));  // the first of the two fullest
}

TEST(ShardSearch, OnlySubGraphStays) {
  EXPECT_EQ(relieved_plan(candidate({1, 4, 6}, {9, 1, 1})), std::nullopt);
  EXPECT_EQ(relieved_plan(candidate({2, 3, 6}, {1, 9, 1})), std::nullopt);
  EXPECT_EQ(relieved_plan(candidate({2, 5, 6}, {1, 1, 9})), std::nullopt);
  EXPECT_EQ(relieved_plan(candidate({2, 4, 5}, {1, 9, 2})), (Plan{3, 4, 5}));
}

TEST(ShardSearch, PlanThatFitsIsNotMoved) {
  int compiled = 0;
  const auto compile = [&](const Plan& plan) {
    compiled++;
    return compile_parts({0.5, 0.1, 0.1, 0.1})(plan);
  };
  EXPECT_EQ(compile_fitting({3, 4}, 0.71, compile).plan, (Plan{3, 4}));
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(compile_fitting({3, 4}, 0.65, compile).plan, (Plan{2, 4}));
  EXPECT_EQ(compiled, 3);
  compiled = 0;
  const auto exact = [&](const Plan& plan) {
    compiled++;
    return compile_parts({0.25, 0.25, 0.125})(plan);
  };
  EXPECT_EQ(compile_fitting({2, 3}, 0.5, exact).plan, (Plan{2, 3}));
  EXPECT_EQ(compiled, 1);
}

// A move may make the plan worse, and two IPUs may pass one part back and forth.
TEST(ShardSearch, LeastFullOfAtMostSixteenMovesIsTaken) {
  int compiled = 0;
  const auto compile = [&](const Plan& plan) {
    compiled++;
    return compile_parts({0.1, 0.1, 0.5, 0.1})(plan);
  };
  testing::internal::CaptureStderr();
  const Candidate found = compile_fitting({3, 4}, 0.3, compile);
  EXPECT_EQ(found.plan, (Plan{2, 4}));
  EXPECT_NEAR(found.fullest(), 0.6, 1e-6);
  EXPECT_EQ(compiled, 17);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "poprt_exec: an IPU is 60 % full, --memory_proportion allows 30 %\n");
}

TEST(ShardSearch, PrintsNothingIfThePlanFits) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(compile_fitting({1, 2}, 0.5, compile_parts({0.5, 0.25})).plan, (Plan{1, 2}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ShardSearch, MoreThanAnIpuHasIsRefused) {
  try {
    compile_fitting({1, 2}, 0.6, compile_parts({1.5, 0.25}));
    FAIL() << "taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::resource_exhausted);
    EXPECT_EQ(std::string(e.what()),
              "an IPU would need 1411 MB, more than its 941 MB; give a larger --num_ipus");
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(compile_fitting({1, 2}, 0.6, compile_parts({1, 0.25})).plan, (Plan{1, 2}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("100 % full"), std::string::npos);
}

TEST(ShardSearch, NeighboursMoveOneBorderByOne) {
  EXPECT_EQ(neighbours({2, 4, 7}), (std::vector<Plan>{{1, 4, 7}, {3, 4, 7}, {2, 3, 7}, {2, 5, 7}}));
  EXPECT_EQ(neighbours({1, 2, 3}), std::vector<Plan>());
  EXPECT_EQ(neighbours({1, 3, 4}), (std::vector<Plan>{{2, 3, 4}, {1, 2, 4}}));
  EXPECT_EQ(neighbours({2, 3, 5}), (std::vector<Plan>{{1, 3, 5}, {2, 4, 5}}));
}

// Replaces compilation and measurement: the speed of a plan depends on its first border only.
// Records the plans that were compiled and measured.
struct Speeds {
  std::vector<double> by_border;
  std::vector<Plan> compiled, measured;
  std::mutex mutex;

  Improvement how(double proportion = 1, size_t at_once = 1, std::vector<double> parts = {}) {
    if (parts.empty()) parts.assign(by_border.size(), 0.001);
    return {proportion, at_once,
            [this, parts](const Plan& plan) {
              const std::lock_guard lock(mutex);
              compiled.push_back(plan);
              return compile_parts(parts)(plan);
            },
            [this](Candidate& c) {
              measured.push_back(c.plan);
              c.per_second = by_border[c.plan[0]];
            }};
  }
  Candidate at(size_t border) const {
    Candidate c =
        compile_parts(std::vector<double>(by_border.size(), 0.001))({border, by_border.size()});
    c.per_second = by_border[border];
    return c;
  }
};

TEST(ShardSearch, ImprovesAsLongAsItGetsFaster) {
  Speeds speeds{{0, 1, 2, 3, 4, 5, 4, 3}};
  Candidate best = speeds.at(2);
  improve(best, {3, 8}, speeds.how());
  EXPECT_EQ(best.plan, (Plan{5, 8}));
  EXPECT_EQ(best.per_second, 5);
  // The first plan, then neighbours that were not seen.
  EXPECT_EQ(speeds.measured, (std::vector<Plan>{{3, 8}, {4, 8}, {5, 8}, {6, 8}}));
  EXPECT_EQ(speeds.compiled, speeds.measured);
}

TEST(ShardSearch, FourRoundsAreTheMost) {
  Speeds speeds{{0, 1, 2, 3, 4, 5, 6, 7, 8}};
  Candidate best = speeds.at(1);
  improve(best, {2, 9}, speeds.how());
  EXPECT_EQ(best.plan, (Plan{5, 9}));
  EXPECT_EQ(speeds.measured, (std::vector<Plan>{{2, 9}, {3, 9}, {4, 9}, {5, 9}}));
}

// If the first plan is not faster, the neighbours of the previous best plan are tried.
TEST(ShardSearch, FirstPlanMayBeSlower) {
  Speeds speeds{{0, 1, 2, 9, 4, 5, 6, 1, 8}};
  Candidate best = speeds.at(4);
  improve(best, {7, 9}, speeds.how());
  EXPECT_EQ(best.plan, (Plan{3, 9}));
  EXPECT_EQ(speeds.measured, (std::vector<Plan>{{7, 9}, {3, 9}, {5, 9}, {2, 9}}));
  Speeds flat{{0, 5, 5, 5, 5, 5, 5, 5, 5}};
  best = flat.at(4);
  improve(best, {7, 9}, flat.how());
  EXPECT_EQ(best.plan, (Plan{4, 9}));  // an equally fast plan is not faster
  EXPECT_EQ(flat.measured, (std::vector<Plan>{{7, 9}, {3, 9}, {5, 9}}));
}

TEST(ShardSearch, PlansThatWereSeenAreNotCompiledAgain) {
  Speeds speeds{{0, 1, 2, 3}};
  Candidate best = speeds.at(2);
  improve(best, {2, 4}, speeds.how());
  EXPECT_EQ(speeds.compiled, (std::vector<Plan>{{1, 4}, {3, 4}}));
  EXPECT_EQ(best.plan, (Plan{3, 4}));
}

TEST(ShardSearch, NeighboursBothMayBeFaster) {
  Speeds speeds{{0, 1, 2, 9, 1, 7, 1}};
  Candidate best = speeds.at(4);
  improve(best, {4, 7}, speeds.how());
  EXPECT_EQ(best.plan, (Plan{3, 7}));
  EXPECT_EQ(best.per_second, 9);
}

TEST(ShardSearch, FullerThanAllowedIsNotMeasured) {
  Speeds speeds{{0, 9, 3, 8, 0}};
  const std::vector<double> parts = {0.2, 0.3, 0.3, 0.1, 0.1};
  Candidate best = compile_parts(parts)({2, 5});  // 0.5 and 0.5
  best.per_second = 3;
  improve(best, {2, 5}, speeds.how(0.6, 1, parts));
  EXPECT_EQ(speeds.measured, std::vector<Plan>());  // 0.8 of {1, 5}, 0.8 of {3, 5}
  Speeds more{{0, 9, 3, 8, 0}};
  improve(best, {2, 5}, more.how(0.81, 1, parts));
  EXPECT_EQ(best.plan, (Plan{1, 5}));
}

// The memory that the best plan needs is allowed, even if it exceeds the proportion.
TEST(ShardSearch, NoFullerThanTheBestIsAllowed) {
  Speeds speeds{{0, 1, 3, 8, 9}};
  const std::vector<double> parts = {0.1, 0.1, 0.1, 0.3, 0.1};
  Candidate best = compile_parts(parts)({2, 5});  // 0.2 and 0.5
  best.per_second = 3;
  improve(best, {2, 5}, speeds.how(0.01, 1, parts));
  EXPECT_EQ(best.plan, (Plan{3, 5}));                       // 0.3 and 0.4
  EXPECT_EQ(speeds.measured, (std::vector<Plan>{{3, 5}}));  // 0.6 of {1, 5} and of {4, 5}
}

TEST(ShardSearch, SoManyPlansAreCompiledAtOnce) {
  for (const size_t at_once : {1, 2, 3}) {
    std::mutex mutex;
    std::condition_variable changed;
    size_t running = 0, most = 0;
    Candidate best = candidate({2, 4, 7}, {1, 1, 1}, 1);
    Improvement how;
    how.at_once = at_once;
    how.compile = [&](const Plan& plan) {
      std::unique_lock lock(mutex);
      most = std::max(most, ++running);
      changed.notify_all();
      // As many as may run meet here, and wait a little for one that may not.
      changed.wait_for(lock, std::chrono::seconds(20), [&] { return most >= at_once; });
      changed.wait_for(lock, std::chrono::milliseconds(10), [&] { return most > at_once; });
      running--;
      return candidate(plan, {1, 1, 1});
    };
    how.measure = [](Candidate& c) { c.per_second = 0; };
    improve(best, {2, 4, 7}, how);
    EXPECT_EQ(most, at_once);
    EXPECT_EQ(best.plan, (Plan{2, 4, 7}));
  }
}

TEST(ShardSearch, TimesRequestsAfterAWarmUp) {
  std::vector<std::string> calls;
  double now = 100;
  const Times times = time_requests(
      500,
      [&](int64_t count) {
        calls.push_back(std::to_string(count));
        now += count == 500 ? 2 : 7;
      },
      [&] {
        calls.push_back("alone");
        now += 0.003;
      },
      [&] { return now; });
  EXPECT_EQ(times.per_second, 250);
  EXPECT_NEAR(times.latency_ms, 3, 1e-6);
  std::vector<std::string> wanted(12, "alone");
  wanted[0] = "20";
  wanted[1] = "500";
  EXPECT_EQ(calls, wanted);
}

}  // namespace
}  // namespace poprt::cli

#include "runtime/session/io_overlap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

using poprt::test::Gate;

// Items pass through slots as values. Each step first calls a hook of the test.
struct Recorded : IoOverlap::Work {
  using Hook = std::function<void(uint64_t)>;
  void load(uint64_t item) override {
    if (on_load) on_load(item);
    slots[item % IoOverlap::kSlots] = item * 10;
  }
  void compute(uint64_t item) override {
    if (on_compute) on_compute(item);
    slots[item % IoOverlap::kSlots] += 1;
  }
  void store(uint64_t item) override {
    if (on_store) on_store(item);
    stored.push_back(slots[item % IoOverlap::kSlots]);
  }
  void interrupt() noexcept override { interrupted.open(); }

  Hook on_load, on_compute, on_store;
  uint64_t slots[IoOverlap::kSlots] = {};
  std::vector<uint64_t> stored;
  Gate interrupted;
};

std::vector<uint64_t> answers(uint64_t count) {
  std::vector<uint64_t> list;
  for (uint64_t i = 0; i < count; i++) list.push_back(10 * i + 1);
  return list;
}

std::string failure_of(IoOverlap& overlap, uint64_t count, IoOverlap::Work& work) {
  try {
    overlap.run(count, work);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(IoOverlap, EveryItemIsLoadedComputedAndStoredInOrder) {
  IoOverlap overlap;
  for (const uint64_t count : {0u, 1u, 2u, 3u, 4u, 100u, 3u}) {
    Recorded work;
    overlap.run(count, work);
    EXPECT_EQ(work.stored, answers(count));
  }
}

TEST(IoOverlap, LoadsTheNextAndStoresTheLastWhileOneComputes) {
  // Item 1 is computed when 2 was loaded and 0 stored, and not before: else this would time out.
  Gate loaded, stored, begun;
  Recorded work;
  bool in_time = false;
  work.on_compute = [&](uint64_t item) {
    if (item != 1) return;
    begun.open();
    in_time = loaded.wait() && stored.wait();
  };
  work.on_load = [&](uint64_t item) {
    if (item != 2) return;
    begun.wait();
    loaded.open();
  };
  work.on_store = [&](uint64_t item) {
    if (item != 0) return;
    begun.wait();
    stored.open();
  };
  IoOverlap overlap;
  overlap.run(4, work);
  EXPECT_TRUE(in_time);
  EXPECT_EQ(work.stored, answers(4));
}

TEST(IoOverlap, FailureEndsTheRunAfterEarlierItems) {
  IoOverlap overlap;
  for (const std::string stage : {"load", "compute", "store"})
    for (const uint64_t at : {0u, 1u, 2u, 7u, 9u}) {
      Recorded work;
      const auto failing = [&](uint64_t item) {
        if (item == at) fail(ErrorCode::aborted, "{} {}", stage, item);
      };
      (stage == "load"      ? work.on_load
       : stage == "compute" ? work.on_compute
                            : work.on_store) = failing;
      EXPECT_EQ(failure_of(overlap, 10, work), stage + " " + std::to_string(at));
      EXPECT_EQ(work.stored, answers(at));
      Recorded next;
      overlap.run(5, next);
      EXPECT_EQ(next.stored, answers(5)) << "a run that failed leaves no results";
    }
}

TEST(IoOverlap, ALoadThatWaitsIsInterruptedWhenTheComputationFails) {
  Recorded work;
  work.on_compute = [](uint64_t item) {
    if (item == 1) fail(ErrorCode::aborted, "the device");
  };
  work.on_load = [&](uint64_t item) {
    if (item < 2) return;
    EXPECT_TRUE(work.interrupted.wait());
    fail(ErrorCode::cancelled, "no data");
  };
  IoOverlap overlap;
  EXPECT_EQ(failure_of(overlap, 10, work), "the device");
  EXPECT_EQ(work.stored, answers(1));
}

TEST(IoOverlap, ARandomMixOfFailuresAndRuns) {
  IoOverlap overlap;
  std::mt19937 rng(1);
  for (int round = 0; round < 300; round++) {
    const uint64_t count = rng() % 9;
    uint64_t first = count;
    Recorded work;
    for (auto* hook : {&work.on_load, &work.on_compute, &work.on_store}) {
      if (rng() % 2) continue;
      const uint64_t at = rng() % 12;
      first = std::min(first, at);
      *hook = [at](uint64_t item) {
        if (item == at) fail(ErrorCode::aborted, "{}", item);
      };
    }
    const std::string message = failure_of(overlap, count, work);
    EXPECT_EQ(message, first < count ? std::to_string(first) : "");
    EXPECT_EQ(work.stored, answers(first));
  }
}

TEST(IoOverlap, AForkedProcessHasNoThreads) {
  IoOverlap overlap;
  EXPECT_TRUE(overlap.usable());
  const pid_t child = fork();
  if (child == 0) _exit(overlap.usable() ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace poprt::runtime

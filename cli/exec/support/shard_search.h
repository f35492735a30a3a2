// What poprt_exec auto_shard tries: which cuts are compiled and measured, and which one it takes.
// Knows neither models nor clocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/support/shard_plans.h"

namespace poprt::runtime {
struct Model;
}

namespace poprt::cli {

inline constexpr double kChipBytes = 1472.0 * 638976;  // 1 472 tiles (Mk2, C600) of 624 KiB each

// A cut model.
struct Candidate {
  Plan plan;
  std::vector<std::vector<std::string>> cuts;  // by IPU
  std::vector<uint64_t> bytes;                 // by IPU: weights and memory
  std::shared_ptr<const runtime::Model> model;
  double latency_ms = 0, per_second = 0;

  // The part of its memory that the fullest IPU needs.
  double fullest() const;
};

// What plans share out evenly: the bytes of the sub-graphs, or what they cost: nanoseconds, and
// where those are alike floating-point operations.
std::vector<double> amounts_by_bytes(const std::vector<SubGraph>& parts);
std::vector<double> amounts_by_time(const std::vector<SubGraph>& parts);

using CompilePlan = std::function<Candidate(const Plan&)>;  // called by several threads at a time

// The plan in which the fullest IPU has given a sub-graph to the neighbour that has more room.
// Nothing when it has only one.
std::optional<Plan> relieved(const Candidate& candidate);

// The candidate of `plan`, or, as long as an IPU of it needs more than `proportion` of its memory,
// of one that relieves it. Throws when an IPU would need more than it has, and says so when it
// needs more than `proportion`.
Candidate fill(const Plan& plan, double proportion, const CompilePlan& compile);

// The plans that differ in one border, by one sub-graph.
std::vector<Plan> neighbours(const Plan& plan);

struct Improvement {
  double proportion = 1;  // as of fill(); what `best` needs is allowed, too
  size_t at_once = 1;     // plans that are compiled at the same time
  CompilePlan compile;
  std::function<void(Candidate&)> measure;  // sets the times
};
// Tries `first` and then neighbours of the best, as long as that makes it faster: four rounds at
// the most. `best` was measured.
void improve(Candidate& best, const Plan& first, const Improvement& how);

struct Times {
  double per_second = 0, latency_ms = 0;
};
// Behind 20 requests that are not timed: `runs` that follow each other closely, and 10 of which
// each waits for the one before. `seconds` is a clock.
Times time_requests(int64_t runs, const std::function<void(int64_t count)>& several,
                    const std::function<void()>& alone, const std::function<double()>& seconds);

}  // namespace poprt::cli

// The search of poprt_exec auto_shard: selects the plans to compile and measure, and the best one.
// It is independent of models and clocks.
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

// A plan that was compiled or estimated.
struct Candidate {
  Plan plan;
  std::vector<std::vector<std::string>> cuts;  // by IPU
  std::vector<uint64_t> bytes;                 // weights and memory, by IPU
  std::shared_ptr<const runtime::Model> model;
  double latency_ms = 0, per_second = 0;
  double chip_bytes = kChipBytes;  // of one IPU

  // The fraction of its memory that the fullest IPU uses.
  double fullest() const;
};

// Amounts that plans balance: the bytes of the sub-graphs, or their nanoseconds plus a millionth of
// their floating-point operations, which decide if there are no times.
std::vector<double> amounts_by_bytes(const std::vector<SubGraph>& parts);
std::vector<double> amounts_by_time(const std::vector<SubGraph>& parts);

// Compiles or estimates a plan. Several threads may call it at the same time.
using CompilePlan = std::function<Candidate(const Plan&)>;

// Returns the plan in which the fullest IPU gives a sub-graph to the neighbour with more free
// memory, or nothing if the fullest IPU has only one sub-graph.
std::optional<Plan> relieved_plan(const Candidate& candidate);

// Returns the candidate of `plan`. As long as an IPU needs more than `proportion` of its memory, a
// plan that relieves the fullest IPU is tried, at most 16 times; the candidate whose fullest IPU
// needs least is the result. Throws resource_exhausted if an IPU of it needs more than its memory,
// and prints a warning if it needs more than `proportion`.
Candidate compile_fitting(const Plan& plan, double proportion, const CompilePlan& compile);

// Returns the plans that differ by moving one sub-graph across one border.
std::vector<Plan> neighbours(const Plan& plan);

struct Improvement {
  double proportion =
      1;  // as for compile_fitting(); the memory that `best` needs is allowed in any case
  size_t at_once = 1;  // plans that are compiled at the same time
  CompilePlan compile;
  std::function<void(Candidate&)> measure;  // sets the times of a candidate
};
// Measures `first` and then neighbours of the best plan as long as they are faster, in at most four
// rounds. `best` must have been measured.
void improve(Candidate& best, const Plan& first, const Improvement& how);

struct Times {
  double per_second = 0, latency_ms = 0;
};
// After 20 requests that are not timed, measures `runs` overlapping requests and 10 that each wait
// for the previous one. `seconds` is a clock.
Times time_requests(int64_t runs, const std::function<void(int64_t count)>& several,
                    const std::function<void()>& alone, const std::function<double()>& seconds);

}  // namespace poprt::cli

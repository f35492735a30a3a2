#include "exec/support/shard_search.h"

#include <algorithm>
#include <deque>
#include <future>

#include "base/error.h"
#include "common/standard_streams.h"

namespace poprt::cli {
namespace {

// Compiles those plans that were not seen before, up to `how.at_once` at a time.
std::vector<Candidate> compile_unseen(const std::vector<Plan>& plans, const Improvement& how,
                                      std::vector<Plan>& seen) {
  std::vector<Candidate> made;
  std::deque<std::future<Candidate>> open;
  const auto collect = [&](size_t most) {
    for (; open.size() > most; open.pop_front()) made.push_back(open.front().get());
  };
  for (const Plan& plan : plans) {
    if (std::ranges::count(seen, plan)) continue;
    seen.push_back(plan);
    collect(how.at_once - 1);
    open.push_back(std::async(std::launch::async, [&how, plan] { return how.compile(plan); }));
  }
  collect(0);
  return made;
}

}  // namespace

double Candidate::fullest() const {
  return static_cast<double>(std::ranges::max(bytes)) / chip_bytes;
}

std::vector<double> amounts_by_bytes(const std::vector<SubGraph>& parts) {
  std::vector<double> amounts;
  for (const SubGraph& p : parts) amounts.push_back(static_cast<double>(p.bytes) + 1);
  return amounts;
}

std::vector<double> amounts_by_time(const std::vector<SubGraph>& parts) {
  std::vector<double> amounts;
  for (const SubGraph& p : parts) amounts.push_back(p.nanoseconds + 1e-6 * p.flops + 1e-9);
  return amounts;
}

std::optional<Plan> relieved_plan(const Candidate& c) {
  const auto full = static_cast<size_t>(std::ranges::max_element(c.bytes) - c.bytes.begin());
  const bool has_left = full > 0, has_right = full + 1 < c.bytes.size();
  const bool left = has_left && (!has_right || c.bytes[full - 1] < c.bytes[full + 1]);
  const size_t begin = has_left ? c.plan[full - 1] : 0;
  if (c.plan[full] - begin < 2) return std::nullopt;
  Plan plan = c.plan;
  left ? plan[full - 1]++ : plan[full]--;
  return plan;
}

Candidate compile_fitting(const Plan& plan, double proportion, const CompilePlan& compile) {
  Candidate least = compile(plan);
  Candidate now = least;
  for (int step = 0; step < 16 && least.fullest() > proportion; step++) {
    const std::optional<Plan> next = relieved_plan(now);
    if (!next) break;
    now = compile(*next);
    if (now.fullest() < least.fullest()) least = now;
  }
  if (least.fullest() > 1)
    fail(ErrorCode::resource_exhausted,
         "an IPU would need {:.0f} MB, more than its {:.0f} MB; give a larger --num_ipus",
         least.fullest() * least.chip_bytes / 1e6, least.chip_bytes / 1e6);
  if (least.fullest() > proportion)
    print_error("poprt_exec: an IPU is {:.0f} % full, --memory_proportion allows {:.0f} %\n",
                least.fullest() * 100, proportion * 100);
  return least;
}

std::vector<Plan> neighbours(const Plan& plan) {
  std::vector<Plan> found;
  for (size_t border = 0; border + 1 < plan.size(); border++) {
    const size_t begin = border ? plan[border - 1] : 0;
    for (const size_t moved : {plan[border] - 1, plan[border] + 1}) {
      if (moved <= begin || moved >= plan[border + 1]) continue;
      found.push_back(plan);
      found.back()[border] = moved;
    }
  }
  return found;
}

void improve(Candidate& best, const Plan& first, const Improvement& how) {
  std::vector<Plan> next{first}, seen{best.plan};
  for (int round = 0; round < 4 && !next.empty(); round++) {
    for (Candidate& c : compile_unseen(next, how, seen)) {
      if (c.fullest() > std::max(how.proportion, best.fullest())) continue;
      how.measure(c);
      if (c.per_second > best.per_second) best = std::move(c);
    }
    next = neighbours(best.plan);  // if no neighbour was faster, all of them were seen
  }
}

Times time_requests(int64_t runs, const std::function<void(int64_t)>& several,
                    const std::function<void()>& alone, const std::function<double()>& seconds) {
  constexpr int kAlone = 10;
  several(20);
  const double begin = seconds();
  several(runs);
  const double first = seconds();
  for (int i = 0; i < kAlone; i++) alone();
  const double end = seconds();
  return {static_cast<double>(runs) / (first - begin), 1e3 * (end - first) / kAlone};
}

}  // namespace poprt::cli

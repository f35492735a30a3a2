// Forms the steps of a replica from its requests: batching, padding, failures.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/runner/replica.h"

namespace poprt::runtime {
namespace {

std::optional<Clock::TimePoint> after(Clock::TimePoint start, std::chrono::nanoseconds wait) {
  if (wait >= Clock::TimePoint::max() - start) return std::nullopt;
  return start + wait;
}

}  // namespace

void Replica::Step::clear() {
  segments.clear();
  rows = 0;
  failure = nullptr;
  failed.store(false, std::memory_order_relaxed);
}

// The next request that is not done; null if none waits.
Request* Replica::next() noexcept {
  for (;;) {
    Request* r = std::exchange(carry_, nullptr);
    if (!r && !queue_.try_pop(r)) return nullptr;
    if (r->has_deadline() && r->taken == 0) r->expire(plan_->config.clock.now());
    if (!r->done()) return r;
    queue_.drop(r);
  }
}

// The failure with which the rows of a request that do not run yet must fail, or null.
Failure Replica::failure_for(const Request& request) noexcept {
  if (ended_.load(std::memory_order_acquire)) return stopped_failure();
  if (!is_broken() && request.sequence > fail_until_.load(std::memory_order_acquire))
    return nullptr;
  return last_failure();
}

// Marks the rows of the segment as taken. `taken` never decreases, because later rows of the
// request may be running already.
void Replica::mark_taken(const Segment& s) noexcept {
  s.request->taken = std::max(s.request->taken, s.first + s.count);
}

// Appends the next `count` rows of the request, and takes over one reference to it. If these rows
// continue the last segment, that segment grows and the reference is released.
void Replica::add(std::vector<Segment>& to, Request* request, uint64_t count) noexcept {
  if (!to.empty() && to.back().request == request &&
      to.back().first + to.back().count == request->taken) {
    to.back().count += count;
    request->release();
    return;
  }
  to.push_back({request, request->taken, count});
}

// Adds the rest of `request` to a step that fails. Returns false if the request was answered in the
// meantime; it is then dropped.
bool Replica::fail_step(Step& step, Request* request, Failure failure) noexcept {
  if (request->taken == 0 && !request->claim()) {
    queue_.drop(request);
    return false;
  }
  step.failure = std::move(failure);
  add(step.segments, request, request->rows - request->taken);
  request->taken = request->rows;
  return true;
}

bool Replica::may_run_incomplete() const noexcept {
  if (!plan_->config.flush_on_waiting_outputs) return true;
  return std::any_of(open_.begin(), open_.end(),
                     [](const Segment& s) { return s.request->watched(); });
}

// handed_over_ counts the steps that the helper threads have not finished. Without helper threads
// it is always 0, and the device is idle here because the forming thread also computes.
bool Replica::dispatches_now() const noexcept {
  const RunnerConfig& c = plan_->config;
  return c.dispatch_when_idle && !c.flush_on_waiting_outputs && !c.is_batch_size_timeout_enabled &&
         handed_over_.load(std::memory_order_seq_cst) == 0;
}

// The time at which the open step runs although it is incomplete.
std::optional<Clock::TimePoint> Replica::flush_time() const noexcept {
  const RunnerConfig& c = plan_->config;
  std::optional<Clock::TimePoint> time;
  const auto earliest = [&](std::optional<Clock::TimePoint> t) {
    if (t && (!time || *t < *time)) time = t;
  };
  // The times are those of requests that are still open: the requests that began the batch may have
  // been dropped.
  if (c.timeout.count() > 0) earliest(after(open_.back().request->submitted, c.timeout));
  if (c.is_batch_size_timeout_enabled) {
    earliest(after(open_.front().request->submitted, c.batch_size_timeout));
    uint64_t rows = 0;
    for (const Segment& s : open_)
      if ((rows += s.count) >= plan_->chunk_rows) {
        earliest(after(s.request->submitted, c.data_parallel_timeout));
        break;
      }
  } else if (c.flush_on_waiting_outputs && c.timeout.count() == 0) {
    // Without a limit, a caller that waits would wait for rows that it cannot submit.
    time = open_.back().request->submitted;
  }
  return time;
}

// Claims the open requests, drops those that were answered in the meantime, and moves the open rows
// to `step`. Returns false if no rows are left, or if `complete` requires a full step and the rows
// do not fill one.
bool Replica::flush(Step& step, bool complete) noexcept {
  for (size_t i = 0; i < open_.size();) {
    Request* r = open_[i].request;
    if (r->taken > 0 || r->claim()) {
      i++;
      continue;
    }
    // The request was cancelled or became late in the meantime.
    open_sum_ -= open_[i].count;
    if (carry_ == r) {
      carry_ = nullptr;
      r->release();
    }
    queue_.drop(r);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const Segment& s : open_)
    if (Failure f = failure_for(*s.request)) step.failure = std::move(f);
  if (open_.empty() || (complete && open_sum_ < plan_->step_rows && !step.failure)) {
    // The segments stay open. mark_taken() records that their requests are claimed.
    for (const Segment& s : open_) mark_taken(s);
    open_rows_.store(open_sum_, std::memory_order_relaxed);
    return false;
  }
  for (const Segment& s : open_) {
    mark_taken(s);
    step.segments.push_back(s);
  }
  step.rows = open_sum_;
  open_.clear();
  open_sum_ = 0;
  open_rows_.store(0, std::memory_order_relaxed);
  return true;
}

// Takes the next rows of the request. A whole step (or all rows of a request with at_once) runs
// immediately; fewer rows are added to the open batch. If rows are left, the request becomes
// carry_.
Replica::Taken Replica::take_rows(Step& step, Request* r) noexcept {
  const RunnerPlan& p = *plan_;
  const uint64_t left = r->rows - r->taken;
  if (left >= p.step_rows || r->at_once) {
    // Whole steps do not wait for a batch that is still open.
    const uint64_t count = std::min(left, p.step_rows);
    if (r->taken == 0 && !r->claim()) {
      queue_.drop(r);
      return Taken::nothing;
    }
    step.rows = count;
    if (left > count) r->retain();
    add(step.segments, r, count);
    r->taken += count;
    if (left > count) carry_ = r;
    return Taken::step;
  }
  const uint64_t count = std::min(left, p.step_rows - open_sum_);
  add(open_, r, count);
  open_sum_ += count;
  if (count < left) {
    r->retain();
    carry_ = r;  // its `taken` is updated by flush()
  }
  return open_sum_ == p.step_rows ? Taken::batch : Taken::nothing;
}

// Removes requests that are late or cancelled from the open batch.
void Replica::drop_answered() noexcept {
  const auto now = plan_->config.clock.now();
  for (size_t i = 0; i < open_.size();) {
    Request* r = open_[i].request;
    if (r->taken == 0 && r->has_deadline()) r->expire(now);
    if (!r->done()) {
      i++;
      continue;
    }
    open_sum_ -= open_[i].count;
    queue_.drop(r);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  open_rows_.store(open_sum_, std::memory_order_relaxed);
}

// Fills `step` with the next rows to run, or with requests that fail. `stopped` is the last result.
Replica::Formed Replica::form_batch(Step& step) noexcept {
  step.clear();
  const RunnerPlan& p = *plan_;
  RequestPool& pool = queue_.pool();
  for (;;) {
    const uint64_t wakeups = pool.wakeups();
    const bool stopping = ended_.load(std::memory_order_acquire);
    const auto finish = [&] {
      step.begun = stamp();
      return stopping ? Formed::stopped : Formed::step;
    };
    if (stopping) {
      flush(step, false);
      for (Request* r; (r = next());) {
        fail_step(step, r, stopped_failure());
        if (step.segments.size() + 1 >= step.segments.capacity()) {
          // `segments` must not grow beyond its capacity. The next call handles the rest.
          step.begun = stamp();
          return Formed::step;
        }
      }
      return finish();
    }
    // Open rows that the failure of a device concerns fail before later requests join them.
    if (!open_.empty() && failure_for(*open_.front().request) && flush(step, false))
      return finish();
    while (Request* r = next()) {
      if (Failure f = failure_for(*r)) {
        // Requests that fail share a step until `segments` has no capacity left.
        if (fail_step(step, r, std::move(f)) &&
            step.segments.size() + 1 >= step.segments.capacity())
          return finish();
        continue;
      }
      if (!step.segments.empty()) {  // the step has requests that fail, so it ends here
        carry_ = r;
        return finish();
      }
      const Taken taken = take_rows(step, r);
      if (taken == Taken::step || (taken == Taken::batch && flush(step, true))) return finish();
    }
    if (!step.segments.empty()) return finish();
    if (queue_.empty() && !stopping) with_telemetry([](Telemetry& t) { t.stalled(); });
    if (open_.empty()) {
      pool.arrived.wait([&] {
        return !queue_.empty() || pool.wakeups() != wakeups ||
               ended_.load(std::memory_order_acquire);
      });
      continue;
    }
    open_rows_.store(open_sum_, std::memory_order_seq_cst);
    if (drains_.load(std::memory_order_acquire) || dispatches_now()) {
      if (flush(step, false)) return finish();
      continue;
    }
    auto deadline = flush_time();
    if (deadline && !may_run_incomplete()) deadline.reset();
    if (deadline && p.config.clock.now() >= *deadline) {
      if (flush(step, false)) return finish();
      continue;
    }
    auto wake = deadline;
    for (const Segment& s : open_)
      if (s.request->has_deadline() && s.request->taken == 0)
        wake = wake ? std::min(*wake, s.request->deadline()) : s.request->deadline();
    const bool notified = p.config.clock.wait(
        pool.arrived,
        [&] {
          return !queue_.empty() || pool.wakeups() != wakeups ||
                 ended_.load(std::memory_order_acquire);
        },
        wake);
    if (!notified || pool.wakeups() != wakeups) drop_answered();
  }
}
}  // namespace poprt::runtime

// Runs a step of a replica: copies inputs, computes, copies outputs and completes requests.
#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/first_use.h"
#include "runtime/runner/replica.h"

namespace poprt::runtime {

// Copies of inputs.

// Calls body(segment, first row in the request, first row in the chunk, number of rows) for each
// part of a chunk that one segment has.
template <class Segments, class F>
void for_parts(const Segments& segments, uint64_t chunk, uint64_t chunk_rows, F&& body) {
  const uint64_t begin = chunk * chunk_rows, end = begin + chunk_rows;
  uint64_t at = 0;
  for (const auto& s : segments) {
    const uint64_t from = std::max(at, begin), to = std::min(at + s.count, end);
    if (from < to) body(s, s.first + (from - at), from - begin, to - from);
    at += s.count;
    if (at >= end) break;
  }
}

void Replica::gather(Step& step, uint64_t chunk, const Segment* only) noexcept {
  const RunnerPlan& p = *plan_;
  uint64_t used = std::min(p.chunk_rows, step.rows - chunk * p.chunk_rows);
  for (size_t i = 0; i < p.inputs.size(); i++) {
    if (p.fixed[i]) continue;
    const AnchorRows& a = p.inputs[i];
    auto* to = static_cast<std::byte*>(step.input_memory[chunk * p.inputs.size() + i].data());
    step.inputs[chunk * p.inputs.size() + i] = to;
    if (a.bytes == 0) continue;
    const uint64_t rb = a.row_bytes;
    for_parts(step.segments, chunk, p.chunk_rows,
              [&](const Segment& s, uint64_t first, uint64_t row, uint64_t count) {
                if (only && &s != only) return;
                if (only) {
                  row = 0;
                  used = count;
                }
                const auto* from = static_cast<const std::byte*>(s.request->inputs[i]);
                for (uint64_t o = 0; o < a.outer; o++) {
                  std::byte* at = to + (o * p.chunk_rows + row) * rb;
                  if (from)
                    std::memcpy(at, from + (o * s.request->rows + first) * rb, count * rb);
                  else
                    std::memset(at, 0, count * rb);
                }
              });
    for (uint64_t o = 0; o < a.outer && used < p.chunk_rows; o++) {
      const uint64_t at = (o * p.chunk_rows + used) * rb, n = (p.chunk_rows - used) * rb;
      if (p.padding[i])
        std::memcpy(to + at, p.padding[i] + at, n);
      else
        std::memset(to + at, 0, n);
    }
  }
  for (size_t i = 0; i < p.outputs.size(); i++)
    step.outputs[chunk * p.outputs.size() + i] =
        step.output_memory[chunk * p.outputs.size() + i].data();
}

void Replica::load(Step& step) noexcept {
  const RunnerPlan& p = *plan_;
  if (!step.failure) {
    const uint64_t chunks = (step.rows + p.chunk_rows - 1) / p.chunk_rows;
    for (uint64_t c = 0; c < chunks; c++) {
      // The memory of a request is used in place if the request covers all of the chunk with
      // contiguous rows.
      bool in_place = false;
      if (!p.config.overlap_io)
        for_parts(step.segments, c, p.chunk_rows,
                  [&](const Segment& s, uint64_t first, uint64_t, uint64_t count) {
                    if (count != p.chunk_rows || !p.contiguous(s.request->rows)) return;
                    in_place = true;
                    const uint64_t nth = first / p.chunk_rows, rest = first % p.chunk_rows;
                    for (size_t i = 0; i < p.inputs.size(); i++) {
                      const auto* base = static_cast<const std::byte*>(s.request->inputs[i]);
                      step.inputs[c * p.inputs.size() + i] =
                          base ? base + nth * p.inputs[i].bytes + rest * p.inputs[i].row_bytes
                               : nullptr;
                    }
                    for (size_t i = 0; i < p.outputs.size(); i++) {
                      auto* base = static_cast<std::byte*>(s.request->outputs[i]);
                      step.outputs[c * p.outputs.size() + i] =
                          base ? base + nth * p.outputs[i].bytes + rest * p.outputs[i].row_bytes
                               : nullptr;
                    }
                  });
      step.staged[c] = !in_place;
      if (!in_place) gather(step, c);
    }
  }
  step.loaded = stamp();
  Counters::add(counters_.steps_loaded);
}

// Computation.

Failure Replica::device_failed(const DeviceError& error) noexcept {
  Counters::add(counters_.device_errors);
  Failure failure = keep_failure(
      std::make_shared<const Error>(error.code(), error.message(index_, plan_->config.auto_reset)));
  if (plan_->config.auto_reset && error.resettable())
    needs_reset_ = true;
  else
    broken_.store(true, std::memory_order_release);
  fail_until_.store(queue_.submitted(), std::memory_order_release);
  queue_.pool().wake();  // requests that wait for a batch fail now
  return failure;
}

Failure Replica::last_failure() const noexcept {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Failure Replica::keep_failure(Failure failure) noexcept {
  const std::lock_guard lock(failure_mutex_);
  return failure_ = std::move(failure);
}

Failure Replica::ensure_usable() noexcept {
  if (is_broken()) return last_failure();
  if (!needs_reset_) return nullptr;
  Failure failure;
  try {
    make_sessions();
    needs_reset_ = false;
    Counters::add(counters_.resets);
    return nullptr;
  } catch (const Error& e) {
    failure = keep_failure(std::make_shared<const Error>(e));
  } catch (const std::exception& e) {
    failure = keep_failure(std::make_shared<const Error>(ErrorCode::resource_exhausted, e.what()));
  }
  drop_sessions();
  broken_.store(true, std::memory_order_release);
  return failure;
}

void Replica::connect(const void** inputs, void** outputs) const noexcept {
  const RunnerPlan& p = *plan_;
  for (size_t i = 0; i < p.inputs.size(); i++) {
    if (p.fixed[i])
      inputs[i] = fixed_[i].data();
    else if (!inputs[i])
      inputs[i] = zeros_.data();
  }
  for (size_t i = 0; i < p.outputs.size(); i++)
    if (!outputs[i]) outputs[i] = i < dropped_.size() ? dropped_[i] : nullptr;
}

Failure Replica::injected_fault() noexcept {
  if (plan_->config.faults)
    if (const auto error = plan_->config.faults->before_run(index_)) return device_failed(*error);
  return nullptr;
}

// The failure of a step for an error of a session. After stop(), it is always cancelled, because
// the error may be a consequence of stop().
Failure Replica::session_failure(const Error& error) const noexcept {
  if (ended_.load(std::memory_order_acquire)) {
    static constinit FirstUse<const Failure> interrupted;
    return interrupted.get([] {
      return std::make_shared<const Error>(ErrorCode::cancelled,
                                           "the run was interrupted: the runner was stopped");
    });
  }
  return std::make_shared<const Error>(error);
}

Failure Replica::run_chunk(uint64_t chunk, const void** inputs, void** outputs) noexcept {
  connect(inputs, outputs);
  if (Failure failure = injected_fault()) return failure;
  try {
    sessions_[chunk % sessions_.size()]->run_main_programs(inputs, outputs);
  } catch (const Error& e) {
    return session_failure(e);
  } catch (const std::exception& e) {
    return session_failure(Error(ErrorCode::resource_exhausted, e.what()));
  }
  Counters::add(counters_.batches);
  return nullptr;
}

Failure Replica::run_apart(Step& step, uint64_t chunk, Failure failure) noexcept {
  const RunnerPlan& p = *plan_;
  size_t parts = 0;
  for_parts(step.segments, chunk, p.chunk_rows,
            [&](const Segment&, uint64_t, uint64_t, uint64_t) { parts++; });
  if (parts < 2 || is_broken() || needs_reset_ || ended_.load(std::memory_order_acquire))
    return failure;
  step.staged[chunk] = false;  // its results are copied here
  for (Segment& s : step.segments) {
    bool here = false;
    for_parts(step.segments, chunk, p.chunk_rows,
              [&](const Segment& part, uint64_t, uint64_t, uint64_t) { here |= &part == &s; });
    if (!here || s.failure) continue;
    gather(step, chunk, &s);
    s.failure = run_chunk(chunk, step.inputs.data() + chunk * p.inputs.size(),
                          step.outputs.data() + chunk * p.outputs.size());
    if (!s.failure) scatter(step, chunk, &s);
  }
  return nullptr;
}

Failure Replica::failure_before_start(const Step& step) noexcept {
  if (step.failure) return step.failure;
  if (!step.segments.empty() &&
      step.segments.front().request->sequence <= fail_until_.load(std::memory_order_acquire))
    return last_failure();  // the request waited when the device failed
  return ensure_usable();
}

void Replica::count_step(const Step& step) noexcept {
  const uint64_t rows = plan_->chunk_rows, chunks = (step.rows + rows - 1) / rows;
  Counters::add(counters_.steps);
  Counters::add(counters_.rows, step.rows);
  if (chunks * rows != step.rows) Counters::add(counters_.padded_rows, chunks * rows - step.rows);
}

void Replica::compute(Step& step) noexcept {
  const RunnerPlan& p = *plan_;
  // The mutex prefers a thread that locks it again at once, so synchronous calls would wait for a
  // millisecond each if the queue is full.
  if (waiting_sync_.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
  {
    const std::lock_guard lock(device_mutex_);
    step.compute_begin = stamp();
    step.failure = failure_before_start(step);
    const uint64_t chunks = (step.rows + p.chunk_rows - 1) / p.chunk_rows;
    for (uint64_t c = 0; c < chunks && !step.failure; c++) {
      step.failure = run_chunk(c, step.inputs.data() + c * p.inputs.size(),
                               step.outputs.data() + c * p.outputs.size());
      if (step.failure) step.failure = run_apart(step, c, std::move(step.failure));
    }
    if (!step.failure) count_step(step);
  }
  step.compute_end = stamp();
}

// Copies of outputs, and completion.

void Replica::scatter(Step& step, uint64_t chunk, const Segment* only) noexcept {
  const RunnerPlan& p = *plan_;
  const uint64_t used = std::min(p.chunk_rows, step.rows - chunk * p.chunk_rows);
  for (size_t i = 0; i < p.outputs.size(); i++) {
    const AnchorRows& a = p.outputs[i];
    if (a.bytes == 0) continue;
    const uint64_t rb = a.row_bytes;
    const auto* from =
        static_cast<const std::byte*>(step.output_memory[chunk * p.outputs.size() + i].data());
    for_parts(step.segments, chunk, p.chunk_rows,
              [&](const Segment& s, uint64_t first, uint64_t row, uint64_t count) {
                if (only && &s != only) return;
                if (only) row = 0;
                auto* to = static_cast<std::byte*>(s.request->outputs[i]);
                for (uint64_t o = 0; o < a.outer && to; o++)
                  std::memcpy(to + (o * s.request->rows + first) * rb,
                              from + (o * p.chunk_rows + row) * rb, count * rb);
              });
    for (uint64_t o = 0; !only && o < a.outer && used < p.chunk_rows && p.padding_results[i]; o++) {
      const uint64_t at = (o * p.chunk_rows + used) * rb;
      std::memcpy(p.padding_results[i] + at, from + at, (p.chunk_rows - used) * rb);
    }
  }
}

void Replica::store(Step& step) noexcept {
  const RunnerPlan& p = *plan_;
  if (!step.failure) {
    const uint64_t chunks = (step.rows + p.chunk_rows - 1) / p.chunk_rows;
    for (uint64_t c = 0; c < chunks; c++)
      if (step.staged[c]) scatter(step, c);
  }
  const auto now = p.config.clock.now();
  // Frees the places of finished requests before their callbacks are called, so that these may
  // submit.
  size_t finished = 0;
  for (const Segment& s : step.segments) {
    Request& r = *s.request;
    if (p.tracing) {
      if (r.stored == 0) {
        r.trace = Tracepoint{};
        r.trace.request = r.sequence;
        r.trace.rows = r.rows;
        r.trace.replica = index_;
        r.trace.ns[Tracepoint::submitted] = nanoseconds(r.submitted);
        r.trace.ns[Tracepoint::begun] = step.begun;
      }
      r.trace.ns[Tracepoint::loaded] = step.loaded;
      r.trace.ns[Tracepoint::compute_begin] = step.compute_begin;
      r.trace.ns[Tracepoint::compute_end] = step.compute_end;
      r.trace.ns[Tracepoint::stored] = nanoseconds(now);
      if (step.failure) r.trace.code = step.failure->code();
      if (s.failure) r.trace.code = s.failure->code();
    }
    if (step.failure) r.failed = step.failure;
    if (s.failure) r.failed = s.failure;
    r.stored += s.count;
    if (r.stored == r.rows) finished++;
  }
  queue_.leave(finished);
  with_telemetry([finished](Telemetry& t) { t.finished(finished); });
  for (const Segment& s : step.segments) {
    Request& r = *s.request;
    // A request that fails is also done only after its last step: until then later steps may use
    // its memory.
    if (r.stored == r.rows && !r.done()) {
      const Failure failure = std::move(r.failed);
      if (p.tracing) traces_->record(r.trace);
      with_telemetry([&](Telemetry& t) { failure ? t.failed() : t.completed(now - r.submitted); });
      if (!failure) {
        Counters::add(counters_.completed);
        counters_.latency(now - r.submitted);
      } else {
        Counters::add(failure->code() == ErrorCode::cancelled ? counters_.cancelled
                                                              : counters_.failed);
      }
      r.complete(failure ? failure->code() : ErrorCode::ok, failure);
    }
    r.release();
  }
  Counters::add(counters_.steps_stored);
}
}  // namespace poprt::runtime

#include "runtime/replica.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace poprt::runtime {
namespace {

thread_local const Replica* current_replica = nullptr;

[[noreturn]] void fail_stopped() { fail(ErrorCode::cancelled, "the runner was stopped"); }

Failure stopped_failure() {
  static const auto failure = std::make_shared<const Error>(
      ErrorCode::cancelled, "the request was not run: the runner was stopped");
  return failure;
}

int64_t nanoseconds(Clock::TimePoint t) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

std::optional<Clock::TimePoint> after(Clock::TimePoint start, std::chrono::nanoseconds wait) {
  if (wait >= Clock::TimePoint::max() - start) return std::nullopt;
  return start + wait;
}

}  // namespace

void Replica::Step::clear() {
  segments.clear();
  rows = 0;
  failure = nullptr;
}

Replica::Replica(std::shared_ptr<const RunnerPlan> plan, int index,
                 std::vector<std::shared_ptr<device::Device>> devices,
                 std::shared_ptr<TraceBuffer> traces)
    : plan_(std::move(plan)),
      index_(index),
      traces_(std::move(traces)),
      devices_(std::move(devices)),
      fixed_(plan_->fixed_data),
      pool_(RequestPool::make(plan_->inputs.size(), plan_->outputs.size(), plan_->config.clock)),
      ring_(plan_->depth),
      free_(plan_->config.ring_buffer_size_multiplier + 1),
      loaded_(plan_->config.ring_buffer_size_multiplier + 2),
      computed_(plan_->config.ring_buffer_size_multiplier + 2) {
  const RunnerPlan& p = *plan_;
  pool_->poke_on_watch = p.config.flush_on_waiting_outputs;
  for (auto* list : {&direct_inputs_, &request_inputs_}) list->resize(p.inputs.size());
  for (auto* list : {&direct_outputs_, &request_outputs_}) list->resize(p.outputs.size());
  if (!p.config.validate_io_params) {
    zeros_ = TensorMemory(p.largest_input);
    if (p.largest_input) std::memset(zeros_.data(), 0, p.largest_input);
    for (const AnchorRows& o : p.outputs) dropped_.emplace_back(o.bytes);
  }
  make_sessions();
}

void Replica::make_sessions() {
  drop_sessions();
  for (const auto& device : devices_) {
    SessionConfig config = plan_->config.session;
    config.device = device;
    config.replica = static_cast<uint32_t>(index_);
    sessions_.push_back(std::make_unique<Session>(plan_->model, std::move(config)));
    for (const auto& [i, memory] : new_weights_)
      sessions_.back()->update_weights(plan_->model->inputs()[i].name, memory.const_view());
    sessions_.back()->run_load_programs();
  }
  threads_ = sessions_[0]->threads();
  telemetry_.store(sessions_[0]->telemetry(), std::memory_order_release);
}

void Replica::drop_sessions() noexcept {
  {
    const std::lock_guard lock(telemetry_mutex_);
    telemetry_.store(nullptr, std::memory_order_relaxed);
  }
  sessions_.clear();
}

void Replica::set_fixed(const std::vector<std::pair<size_t, TensorMemory>>& changes) {
  bool reload = false;
  for (const auto& [i, memory] : changes) {
    if (fixed_[i].data()) {
      fixed_[i] = memory;
      continue;
    }
    std::erase_if(new_weights_, [&, at = i](const auto& w) { return w.first == at; });
    new_weights_.emplace_back(i, memory);
    reload = true;
    for (const auto& s : sessions_)
      s->update_weights(plan_->model->inputs()[i].name, memory.const_view());
  }
  // Load programs may have read them.
  for (const auto& s : sessions_)
    if (reload) s->run_load_programs();
}

void Replica::release_devices() noexcept {
  const std::lock_guard lock(device_mutex_);
  drop_sessions();
  devices_.clear();
}

int64_t Replica::stamp() const noexcept {
  return plan_->tracing ? nanoseconds(plan_->config.clock.now()) : 0;
}

// Synchronous.

void Replica::execute(const void* const* inputs, void* const* outputs, uint64_t rows) {
  const RunnerPlan& p = *plan_;
  const auto start = p.config.clock.now();
  Tracepoint trace;
  {
    waiting_sync_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(device_mutex_);
    waiting_sync_.fetch_sub(1, std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed)) fail_stopped();
    trace.ns[Tracepoint::begun] = trace.ns[Tracepoint::loaded] = stamp();
    Failure failure = ensure_usable();
    trace.ns[Tracepoint::compute_begin] = stamp();
    const uint64_t chunks = rows / p.chunk_rows;
    for (uint64_t c = 0; c < chunks && !failure; c++) {
      for (size_t i = 0; i < p.inputs.size(); i++)
        direct_inputs_[i] = inputs[i] && !p.fixed[i]
                                ? static_cast<const std::byte*>(inputs[i]) + c * p.inputs[i].bytes
                                : nullptr;
      for (size_t i = 0; i < p.outputs.size(); i++)
        direct_outputs_[i] =
            outputs[i] ? static_cast<std::byte*>(outputs[i]) + c * p.outputs[i].bytes : nullptr;
      failure = run_chunk(c, direct_inputs_.data(), direct_outputs_.data());
    }
    if (failure) {
      Counters::add(counters_.submitted);
      Counters::add(counters_.failed);
      throw Error(*failure);
    }
    Counters::add(counters_.steps, std::max<uint64_t>(chunks / p.step_chunks, 1));
  }
  const auto end = p.config.clock.now();
  Counters::add(counters_.submitted);
  Counters::add(counters_.completed);
  Counters::add(counters_.rows, rows);
  counters_.latency(end - start);
  tell([&](Telemetry& t) {
    t.submitted();
    t.completed(end - start);
  });
  if (p.tracing) {
    trace.replica = index_;
    trace.rows = rows;
    trace.ns[Tracepoint::submitted] = nanoseconds(start);
    trace.ns[Tracepoint::compute_end] = trace.ns[Tracepoint::stored] = nanoseconds(end);
    traces_->record(trace);
  }
}

bool Replica::execute_checked(std::span<const InputBinding> inputs,
                              std::span<const OutputBinding> outputs) {
  const RunnerPlan& p = *plan_;
  // Few anchors: on the stack, so that callers need no lock to resolve.
  constexpr size_t kFew = 16;
  const void* few_inputs[kFew];
  void* few_outputs[kFew];
  std::vector<const void*> many_inputs;
  std::vector<void*> many_outputs;
  const void** in = few_inputs;
  void** out = few_outputs;
  if (p.inputs.size() > kFew) {
    many_inputs.resize(p.inputs.size());
    in = many_inputs.data();
  }
  if (p.outputs.size() > kFew) {
    many_outputs.resize(p.outputs.size());
    out = many_outputs.data();
  }
  const uint64_t rows = p.resolve(inputs, outputs, in, out);
  if (rows % p.step_rows != 0 || !p.contiguous(rows)) return false;
  execute(in, out, rows);
  return true;
}

// Submission.

bool Replica::on_thread() const noexcept { return current_replica == this; }

void Replica::admit() {
  const auto try_admit = [this] {
    size_t n = in_flight_.load(std::memory_order_relaxed);
    while (n < plan_->depth)
      if (in_flight_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  };
  if (try_admit()) return;
  if (on_thread())
    fail(ErrorCode::resource_exhausted, "{} requests are in flight already", plan_->depth);
  bool admitted = false;
  room_.wait([&] {
    admitted = try_admit();
    return admitted || stopped_.load(std::memory_order_acquire);
  });
  if (!admitted) fail_stopped();
}

void Replica::leave(size_t n) noexcept {
  if (n == 0) return;
  in_flight_.fetch_sub(n, std::memory_order_acq_rel);
  room_.notify();
}

RequestPtr Replica::submit(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback,
                           const RequestOptions& options) {
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  admit();
  RequestPtr request;
  try {
    std::unique_lock lock(submit_mutex_, std::defer_lock);
    if (plan_->config.thread_safe) lock.lock();
    if (stopped_.load(std::memory_order_acquire)) fail_stopped();
    request = RequestPtr(pool_->take(1, callback, options));
    request->rows = plan_->resolve(inputs, outputs, request->inputs.get(), request->outputs.get());
    start_threads();
    request->sequence = submitted_.load(std::memory_order_relaxed) + 1;
    submitted_.store(request->sequence, std::memory_order_release);
    request->retain();  // the queue's
    // Admission keeps room in the ring.
    ring_.begin()[0] = request.get();
    ring_.commit();
  } catch (...) {
    leave(1);
    throw;
  }
  tell([](Telemetry& t) { t.submitted(); });
  pool_->arrived.notify();
  return request;
}

void Replica::start_threads() {
  if (process_) {
    if (process_ != getpid())
      fail(ErrorCode::failed_precondition,
           "process {} was forked from {}, which has the runner's thread: make a new runner",
           getpid(), process_);
    return;
  }
  const RunnerPlan& p = *plan_;
  const bool overlap = p.config.overlap_io;
  steps_.resize(overlap ? p.config.ring_buffer_size_multiplier + 1 : 1);
  const size_t most = std::min<size_t>(p.depth, p.step_rows) + 1;
  open_.reserve(most);
  for (Step& s : steps_) {
    s.segments.reserve(most);
    s.inputs.resize(p.step_chunks * p.inputs.size());
    s.outputs.resize(p.step_chunks * p.outputs.size());
    s.staged.resize(p.step_chunks);
    if (!overlap && p.chunk_rows == 1) continue;  // all chunks are used in place
    for (uint64_t c = 0; c < p.step_chunks; c++) {
      for (size_t i = 0; i < p.inputs.size(); i++)
        s.input_memory.emplace_back(p.fixed[i] ? 0 : p.inputs[i].bytes);
      for (const AnchorRows& o : p.outputs) s.output_memory.emplace_back(o.bytes);
    }
    // Touched now rather than by the first requests.
    for (TensorMemory& m : s.input_memory)
      if (m.bytes()) std::memset(m.data(), 0, m.bytes());
    for (TensorMemory& m : s.output_memory)
      if (m.bytes()) std::memset(m.data(), 0, m.bytes());
  }
  // Signals are the application's: the threads block all of them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  finished_.store(false);
  try {
    std::thread([self = shared_from_this()] { self->serve(); }).detach();
  } catch (const std::system_error& e) {
    finished_.store(true);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    fail(ErrorCode::resource_exhausted, "cannot start the runner's thread: {}", e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  process_ = getpid();
}

// Serving.

void Replica::serve() noexcept {
  current_replica = this;
  if (!plan_->config.overlap_io) {
    Step& step = steps_[0];
    for (bool more = true; more;) {
      more = form(step) == Formed::step;
      if (step.segments.empty()) continue;
      load(step);
      compute(step);
      store(step);
    }
  } else {
    for (Step& s : steps_) free_.try_push(&s);
    std::thread computing([this] { compute_loop(); }), storing([this] { store_loop(); });
    for (bool more = true; more;) {
      Step* step = nullptr;
      handed_.wait([&] { return free_.try_pop(step); });
      more = form(*step) == Formed::step;
      if (step->segments.empty()) continue;
      load(*step);
      loaded_.try_push(step);
      handed_.notify();
    }
    loaded_.try_push(nullptr);
    handed_.notify();
    computing.join();
    storing.join();
  }
  finished_.store(true);
  finish_.notify();
  if (closed_.load()) release_devices();
}

void Replica::compute_loop() noexcept {
  current_replica = this;
  for (Step* step = nullptr;;) {
    handed_.wait([&] { return loaded_.try_pop(step); });
    if (step) compute(*step);
    computed_.try_push(step);
    handed_.notify();
    if (!step) return;
  }
}

void Replica::store_loop() noexcept {
  current_replica = this;
  for (Step* step = nullptr;;) {
    handed_.wait([&] { return computed_.try_pop(step); });
    if (!step) return;
    store(*step);
    free_.try_push(step);
    handed_.notify();
  }
}

// Takes a request that is done already out of the queue.
void Replica::drop(Request* request) noexcept {
  // A request that this side has claimed was counted when it was completed.
  if (request->taken == 0) {
    Counters::add(request->code() == ErrorCode::cancelled ? counters_.cancelled
                                                          : counters_.timed_out);
    tell([](Telemetry& t) { t.failed(); });
    leave(1);
  }
  request->release();
}

// The next request that is not done; null when none waits.
Request* Replica::next() noexcept {
  for (;;) {
    Request* r = std::exchange(carry_, nullptr);
    if (!r && !ring_.try_pop(r)) return nullptr;
    if (r->has_deadline() && r->taken == 0) r->expire(plan_->config.clock.now());
    if (!r->done() || r->taken > 0) return r;
    drop(r);
  }
}

Failure Replica::failure_of(const Request& request) noexcept {
  if (ended_.load(std::memory_order_acquire)) return stopped_failure();
  if (!broken() && request.sequence > fail_until_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(device_mutex_);
  return failure_;
}

// Gives the queue's reference to the segment when it is the request's last.
void Replica::add(std::vector<Segment>& to, Request* request, uint64_t count) noexcept {
  if (!to.empty() && to.back().request == request &&
      to.back().first + to.back().count == request->taken) {
    to.back().count += count;
    request->release();
    return;
  }
  to.push_back({request, request->taken, count});
}

// Puts what is left of `request` into a step that fails. False: it is done already, and dropped.
bool Replica::fail_step(Step& step, Request* request, Failure failure) noexcept {
  if (request->taken == 0 && !request->claim()) {
    drop(request);
    return false;
  }
  step.failure = std::move(failure);
  add(step.segments, request, request->rows - request->taken);
  request->taken = request->rows;
  return true;
}

bool Replica::may_flush() const noexcept {
  if (!plan_->config.flush_on_waiting_outputs) return true;
  return std::any_of(open_.begin(), open_.end(),
                     [](const Segment& s) { return s.request->watched(); });
}

// When the open step is to go although it is not complete.
std::optional<Clock::TimePoint> Replica::flush_time() const noexcept {
  const RunnerConfig& c = plan_->config;
  std::optional<Clock::TimePoint> time;
  const auto earliest = [&](std::optional<Clock::TimePoint> t) {
    if (t && (!time || *t < *time)) time = t;
  };
  if (c.timeout.count() > 0) earliest(after(open_last_, c.timeout));
  if (c.is_batch_size_timeout_enabled) {
    earliest(after(open_first_, c.batch_size_timeout));
    if (open_sum_ >= plan_->chunk_rows) earliest(after(open_chunk_, c.data_parallel_timeout));
  }
  return time;
}

// Moves the open rows into `step`, if they still make one.
bool Replica::flush(Step& step, bool complete) noexcept {
  for (size_t i = 0; i < open_.size();) {
    Request* r = open_[i].request;
    if (r->taken > 0 || r->claim()) {
      i++;
      continue;
    }
    // Cancelled or late meanwhile.
    open_sum_ -= open_[i].count;
    if (carry_ == r) {
      carry_ = nullptr;
      r->release();
    }
    drop(r);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const Segment& s : open_)
    if (Failure f = failure_of(*s.request)) step.failure = std::move(f);
  if (open_.empty() || (complete && open_sum_ < plan_->step_rows && !step.failure)) {
    // Those that were claimed stay, and keep their place.
    for (const Segment& s : open_)
      if (s.request->taken == 0) s.request->taken = s.first + s.count;
    open_rows_.store(open_sum_, std::memory_order_relaxed);
    return false;
  }
  for (const Segment& s : open_) {
    s.request->taken = s.first + s.count;
    step.segments.push_back(s);
  }
  step.rows = open_sum_;
  open_.clear();
  open_sum_ = 0;
  open_rows_.store(0, std::memory_order_relaxed);
  return true;
}

// Fills `step` with the next rows to run, or with requests that fail. `stopped`: the last one.
Replica::Formed Replica::form(Step& step) noexcept {
  step.clear();
  const RunnerPlan& p = *plan_;
  for (;;) {
    const uint64_t pokes = pool_->pokes();
    const bool stopping = ended_.load(std::memory_order_acquire);
    const bool draining = draining_.load(std::memory_order_acquire);  // before the ring
    const auto finish = [&] {
      step.begun = stamp();
      return stopping ? Formed::stopped : Formed::step;
    };
    if (stopping) {
      flush(step, false);
      for (Request* r; (r = next());) {
        fail_step(step, r, stopped_failure());
        if (step.segments.size() + 1 >= step.segments.capacity()) {
          step.begun = stamp();
          return Formed::step;  // and again
        }
      }
      return finish();
    }
    // What was open when the device failed fails alone.
    if (!open_.empty() && failure_of(*open_.front().request) && flush(step, false)) return finish();
    while (Request* r = next()) {
      if (Failure f = failure_of(*r)) {
        if (fail_step(step, r, std::move(f)) &&
            step.segments.size() + 1 >= step.segments.capacity())
          return finish();
        continue;
      }
      if (!step.segments.empty()) {  // failing ones go first
        carry_ = r;
        return finish();
      }
      const uint64_t left = r->rows - r->taken;
      if (left >= p.step_rows) {
        // Whole steps do not wait behind a batch that is still open.
        if (r->taken == 0 && !r->claim()) {
          drop(r);
          continue;
        }
        step.rows = p.step_rows;
        if (left > p.step_rows) r->retain();
        add(step.segments, r, p.step_rows);
        r->taken += p.step_rows;
        if (left > p.step_rows) carry_ = r;
        return finish();
      }
      const uint64_t count = std::min(left, p.step_rows - open_sum_);
      if (open_.empty()) open_first_ = r->submitted;
      open_last_ = r->submitted;
      if (open_sum_ < p.chunk_rows && open_sum_ + count >= p.chunk_rows) open_chunk_ = r->submitted;
      add(open_, r, count);
      open_sum_ += count;
      if (count < left) {
        r->retain();
        carry_ = r;  // its `taken` moves on at the flush
      }
      if (open_sum_ == p.step_rows && flush(step, true)) return finish();
    }
    if (!step.segments.empty()) return finish();
    if (draining) {
      if (open_.empty()) return Formed::stopped;
      if (flush(step, false)) return finish();
      continue;
    }
    if (open_.empty()) {
      pool_->arrived.wait([&] {
        return !ring_.empty() || pool_->pokes() != pokes || ended_.load(std::memory_order_acquire);
      });
      continue;
    }
    open_rows_.store(open_sum_, std::memory_order_relaxed);
    auto deadline = flush_time();
    if (deadline && !may_flush()) deadline.reset();
    if (deadline && p.config.clock.now() >= *deadline) {
      if (flush(step, false)) return finish();
      continue;
    }
    auto wake = deadline;
    for (const Segment& s : open_)
      if (s.request->has_deadline() && s.request->taken == 0)
        wake = wake ? std::min(*wake, s.request->deadline()) : s.request->deadline();
    const bool told = p.config.clock.wait(
        pool_->arrived,
        [&] {
          return !ring_.empty() || pool_->pokes() != pokes ||
                 ended_.load(std::memory_order_acquire);
        },
        wake);
    if (!told || pool_->pokes() != pokes) {
      // Late and cancelled ones leave now rather than with the batch.
      const auto now = p.config.clock.now();
      for (size_t i = 0; i < open_.size();) {
        Request* r = open_[i].request;
        if (r->taken == 0 && r->has_deadline()) r->expire(now);
        if (r->taken > 0 || !r->done()) {
          i++;
          continue;
        }
        open_sum_ -= open_[i].count;
        drop(r);
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

// Copies in.

// Calls body(segment, row of the segment, row of the chunk, rows) for the parts of a chunk.
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

void Replica::gather(Step& step, uint64_t chunk) noexcept {
  const RunnerPlan& p = *plan_;
  const uint64_t used = std::min(p.chunk_rows, step.rows - chunk * p.chunk_rows);
  for (size_t i = 0; i < p.inputs.size(); i++) {
    if (p.fixed[i]) continue;
    const AnchorRows& a = p.inputs[i];
    auto* to = static_cast<std::byte*>(step.input_memory[chunk * p.inputs.size() + i].data());
    step.inputs[chunk * p.inputs.size() + i] = to;
    if (a.bytes == 0) continue;
    const uint64_t rb = a.row_bytes;
    for_parts(step.segments, chunk, p.chunk_rows,
              [&](const Segment& s, uint64_t first, uint64_t row, uint64_t count) {
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
      // In place when one request covers all of it.
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

// Computes.

Failure Replica::device_failed(const DeviceError& error) noexcept {
  Counters::add(counters_.device_errors);
  failure_ =
      std::make_shared<const Error>(error.code(), error.message(index_, plan_->config.auto_reset));
  if (plan_->config.auto_reset && error.resettable())
    needs_reset_ = true;
  else
    broken_.store(true, std::memory_order_release);
  fail_until_.store(submitted_.load(std::memory_order_acquire), std::memory_order_release);
  return failure_;
}

Failure Replica::ensure_usable() noexcept {
  if (broken()) return failure_;
  if (!needs_reset_) return nullptr;
  try {
    make_sessions();
    needs_reset_ = false;
    Counters::add(counters_.resets);
    return nullptr;
  } catch (const Error& e) {
    failure_ = std::make_shared<const Error>(e);
  } catch (const std::exception& e) {
    failure_ = std::make_shared<const Error>(ErrorCode::resource_exhausted, e.what());
  }
  drop_sessions();
  broken_.store(true, std::memory_order_release);
  return failure_;
}

Failure Replica::run_chunk(uint64_t chunk, const void** inputs, void** outputs) noexcept {
  const RunnerPlan& p = *plan_;
  for (size_t i = 0; i < p.inputs.size(); i++) {
    if (p.fixed[i])
      inputs[i] = fixed_[i].data();
    else if (!inputs[i])
      inputs[i] = zeros_.data();
  }
  for (size_t i = 0; i < p.outputs.size(); i++)
    if (!outputs[i]) outputs[i] = i < dropped_.size() ? dropped_[i].data() : nullptr;
  if (p.config.faults)
    if (const auto error = p.config.faults->before_run(index_)) return device_failed(*error);
  try {
    sessions_[chunk % sessions_.size()]->run_main_programs(inputs, outputs);
  } catch (const Error& e) {  // somebody else has interrupted or unloaded the session
    return std::make_shared<const Error>(e);
  }
  Counters::add(counters_.batches);
  return nullptr;
}

void Replica::compute(Step& step) noexcept {
  const RunnerPlan& p = *plan_;
  // A mutex is not fair: synchronous calls would starve behind a full queue.
  if (waiting_sync_.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
  {
    const std::lock_guard lock(device_mutex_);
    step.compute_begin = stamp();
    if (!step.failure && !step.segments.empty() &&
        step.segments.front().request->sequence <= fail_until_.load(std::memory_order_acquire))
      step.failure = failure_;  // it waited when the device failed
    if (!step.failure) step.failure = ensure_usable();
    const uint64_t chunks = (step.rows + p.chunk_rows - 1) / p.chunk_rows;
    for (uint64_t c = 0; c < chunks && !step.failure; c++)
      step.failure = run_chunk(c, step.inputs.data() + c * p.inputs.size(),
                               step.outputs.data() + c * p.outputs.size());
    if (!step.failure) {
      Counters::add(counters_.steps);
      Counters::add(counters_.rows, step.rows);
      if (chunks * p.chunk_rows != step.rows)
        Counters::add(counters_.padded_rows, chunks * p.chunk_rows - step.rows);
    }
  }
  step.compute_end = stamp();
}

// Copies out and completes.

void Replica::scatter(Step& step, uint64_t chunk) noexcept {
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
                auto* to = static_cast<std::byte*>(s.request->outputs[i]);
                for (uint64_t o = 0; o < a.outer && to; o++)
                  std::memcpy(to + (o * s.request->rows + first) * rb,
                              from + (o * p.chunk_rows + row) * rb, count * rb);
              });
    for (uint64_t o = 0; o < a.outer && used < p.chunk_rows && p.padding_results[i]; o++) {
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
  // First those places, so that callbacks may submit.
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
    }
    r.stored += s.count;
    if (!r.done() && (step.failure || r.stored == r.rows)) finished++;
  }
  leave(finished);
  for (const Segment& s : step.segments) {
    Request& r = *s.request;
    if (!r.done() && (step.failure || r.stored == r.rows)) {
      if (p.tracing) traces_->record(r.trace);
      tell([&](Telemetry& t) { step.failure ? t.failed() : t.completed(now - r.submitted); });
      if (!step.failure) {
        Counters::add(counters_.completed);
        counters_.latency(now - r.submitted);
      } else {
        Counters::add(step.failure->code() == ErrorCode::cancelled ? counters_.cancelled
                                                                   : counters_.failed);
      }
      r.complete(step.failure ? step.failure->code() : ErrorCode::ok, step.failure);
    }
    r.release();
  }
  Counters::add(counters_.steps_stored);
}

// The end.

void Replica::stop() noexcept {
  stopped_.store(true, std::memory_order_release);
  room_.notify();
  bool served = false;
  {
    // No submission is under way after this, and none follows.
    const std::lock_guard lock(submit_mutex_);
    served = process_ == getpid();  // a forked child has no threads
  }
  ended_.store(true, std::memory_order_release);
  pool_->poke();
  if (on_thread()) return;
  if (served) finish_.wait([&] { return finished_.load(std::memory_order_acquire); });
  const std::lock_guard lock(device_mutex_);  // a synchronous run is over
}

void Replica::close(bool finish) noexcept {
  closed_.store(true);
  stopped_.store(true, std::memory_order_release);
  bool served = false;
  {
    const std::lock_guard lock(submit_mutex_);
    served = process_ == getpid();
  }
  (finish ? draining_ : ended_).store(true, std::memory_order_release);
  pool_->poke();
  if (served && !finished_.load()) {
    // The forming thread releases the device; an idle one at once.
    if (in_flight() == 0 && !on_thread())
      finish_.wait([&] { return finished_.load(std::memory_order_acquire); });
  }
  if (!served || finished_.load()) release_devices();  // or the thread sees closed_
}

RunnerStatistics Replica::statistics() const {
  RunnerStatistics s = counters_.snapshot();
  s.submitted += submitted_.load(std::memory_order_relaxed);
  s.in_flight = in_flight();
  s.queue_capacity = plan_->depth;
  return s;
}

std::vector<device::InstructionProfile> Replica::profile() {
  const std::lock_guard lock(device_mutex_);
  return sessions_.empty() ? std::vector<device::InstructionProfile>() : sessions_[0]->profile();
}

}  // namespace poprt::runtime

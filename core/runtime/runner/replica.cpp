#include "runtime/runner/replica.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/checked.h"
#include "base/error.h"
#include "base/threads.h"
#include "runtime/runner/pointer_array.h"
#include "runtime/session/variants.h"

namespace poprt::runtime {
namespace {

thread_local const Replica* current_replica = nullptr;

}  // namespace

Replica::Replica(std::shared_ptr<const RunnerPlan> plan, int index,
                 std::vector<std::shared_ptr<device::Device>> devices,
                 std::shared_ptr<TraceBuffer> traces)
    : plan_(std::move(plan)),
      index_(index),
      traces_(std::move(traces)),
      devices_(std::move(devices)),
      fixed_(plan_->fixed_data),
      queue_(plan_->inputs.size(), plan_->outputs.size(), plan_->depth, plan_->config.clock,
             plan_->config.thread_safe, [this](ErrorCode code) { count_answered(code); }),
      free_(plan_->config.ring_buffer_size_multiplier + 1 + plan_->model->stages),
      loaded_(plan_->config.ring_buffer_size_multiplier + 2 + plan_->model->stages),
      computed_(plan_->config.ring_buffer_size_multiplier + 2 + plan_->model->stages) {
  const RunnerPlan& p = *plan_;
  queue_.pool().wake_on_watch = p.config.flush_on_waiting_outputs;
  for (auto* list : {&direct_inputs_, &request_inputs_}) list->resize(p.inputs.size());
  for (auto* list : {&direct_outputs_, &request_outputs_}) list->resize(p.outputs.size());
  if (!p.config.validate_io_params) make_unconnected();
  make_sessions();
}

// Allocates memory for anchors that a request does not name. Only one graph of a fused model runs
// at a time, so the outputs of the graphs share memory. In a pipeline the stages may run different
// graphs, so they do not.
void Replica::make_unconnected() {
  const RunnerPlan& p = *plan_;
  zeros_ = TensorMemory(p.largest_input);
  if (p.largest_input) std::memset(zeros_.data(), 0, p.largest_input);
  const bool fused = p.model->variants && p.model->variants->kind == Variants::Kind::graphs &&
                     p.model->stages == 1;
  std::map<std::string_view, uint64_t> used;
  std::vector<uint64_t> places;
  uint64_t most = 0;
  for (size_t i = 0; i < p.outputs.size(); i++) {
    const std::string_view name = p.model->outputs()[i].name;
    uint64_t& end = used[fused ? name.substr(0, name.find('/')) : std::string_view()];
    places.push_back(end);
    end = align_up(checked_add(end, p.outputs[i].bytes), 64);
    most = std::max(most, end);
  }
  dropped_memory_ = TensorMemory(most);
  for (const uint64_t at : places)
    dropped_.push_back(static_cast<std::byte*>(dropped_memory_.data()) + at);
}

void Replica::make_sessions() {
  drop_sessions();
  for (const auto& device : devices_) {
    SessionConfig config = plan_->config.session;
    config.copy = static_cast<uint32_t>(sessions_.size());
    config.copies = static_cast<uint32_t>(devices_.size());
    config.device = device;
    config.exclusive = true;
    config.replica = static_cast<uint32_t>(index_);
    auto made = std::make_unique<Session>(plan_->model, std::move(config));
    {
      const std::lock_guard lock(sessions_mutex_);
      sessions_.push_back(std::move(made));
      if (interrupted_) sessions_.back()->stop();
    }
    for (const auto& [i, memory] : new_weights_)
      sessions_.back()->update_weights(plan_->model->inputs()[i].name, memory.const_view());
    sessions_.back()->run_load_programs();
  }
  threads_ = sessions_[0]->threads();
  stages_.store(sessions_[0]->stages(), std::memory_order_relaxed);
  if (Telemetry* const t = sessions_[0]->telemetry()) {
    std::vector<std::pair<std::string_view, bool>> anchors;
    for (size_t i = 0; i < plan_->inputs.size(); i++)
      if (!plan_->fixed[i]) anchors.emplace_back(plan_->model->inputs()[i].name, false);
    for (const program::Anchor& a : plan_->model->outputs()) anchors.emplace_back(a.name, true);
    t->add_ring(anchors, plan_->depth);
  }
  telemetry_.store(sessions_[0]->telemetry(), std::memory_order_release);
}

void Replica::drop_sessions() noexcept {
  std::vector<std::unique_ptr<Session>> gone;
  {
    const std::lock_guard lock(sessions_mutex_);
    telemetry_.store(nullptr, std::memory_order_relaxed);
    gone.swap(sessions_);
  }
}

void Replica::set_fixed(const std::vector<std::pair<size_t, TensorMemory>>& changes) {
  drain();
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
  // As in make_sessions(), the load programs run after the weights are set.
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

// Synchronous calls.

// Requires device_mutex_.
void Replica::check_not_abandoned() const {
  if (device_mutex_.abandoned())
    fail(ErrorCode::failed_precondition,
         "process {} was forked while another thread of its parent ran this runner: make a new "
         "runner",
         this_process());
}

void Replica::execute(const void* const* inputs, void* const* outputs, uint64_t rows) {
  const RunnerPlan& p = *plan_;
  const auto start = p.config.clock.now();
  Tracepoint trace;
  {
    waiting_sync_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(device_mutex_);
    waiting_sync_.fetch_sub(1, std::memory_order_relaxed);
    check_not_abandoned();
    if (queue_.stopped()) fail_stopped_runner();
    trace.ns[Tracepoint::begun] = trace.ns[Tracepoint::loaded] = stamp();
    Failure failure = ensure_usable();
    trace.ns[Tracepoint::compute_begin] = stamp();
    const uint64_t chunks = rows / p.chunk_rows;
    for (uint64_t c = 0; c < chunks && !failure; c++) {
      for (size_t i = 0; i < p.inputs.size(); i++)
        direct_inputs_[i] = inputs && inputs[i] && !p.fixed[i]
                                ? static_cast<const std::byte*>(inputs[i]) + c * p.inputs[i].bytes
                                : nullptr;
      for (size_t i = 0; i < p.outputs.size(); i++)
        direct_outputs_[i] = outputs && outputs[i]
                                 ? static_cast<std::byte*>(outputs[i]) + c * p.outputs[i].bytes
                                 : nullptr;
      failure = run_chunk(c, direct_inputs_.data(), direct_outputs_.data());
    }
    if (failure) {
      Counters::add(counters_.submitted);
      Counters::add(failure->code() == ErrorCode::cancelled ? counters_.cancelled
                                                            : counters_.failed);
      with_telemetry([](Telemetry& t) {
        t.submitted();
        t.failed();
      });
      throw Error(*failure);
    }
    Counters::add(counters_.steps, (chunks + p.step_chunks - 1) / p.step_chunks);
  }
  const auto end = p.config.clock.now();
  Counters::add(counters_.submitted);
  Counters::add(counters_.completed);
  Counters::add(counters_.rows, rows);
  counters_.latency(end - start);
  with_telemetry([&](Telemetry& t) {
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
  // The pointers do not belong to the replica, so that several callers can check their requests
  // without a lock.
  if (pipelined()) return false;
  PointerArray<const void*> in(p.inputs.size());
  PointerArray<void*> out(p.outputs.size());
  std::vector<TensorMemory> copies;
  const uint64_t rows = p.resolve(inputs, outputs, in.data(), out.data(), copies);
  if (!p.are_whole_batches(rows) || !p.contiguous(rows)) return false;
  execute(in.data(), out.data(), rows);
  return true;
}

// Submission.

bool Replica::on_thread() const noexcept { return current_replica == this; }
bool Replica::on_any_thread() noexcept { return current_replica != nullptr; }

RequestPtr Replica::submit(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback,
                           const RequestOptions& options) {
  return queue_.submit(
      callback, options, on_thread(),
      [&](Request& r) {
        r.rows = plan_->resolve(inputs, outputs, r.inputs.get(), r.outputs.get(), r.copies);
        r.at_once = options.at_once && plan_->are_whole_batches(r.rows);
        start_threads();
      },
      [this]() noexcept {
        with_telemetry([this](Telemetry& t) {
          t.submitted();
          t.enqueued(in_flight());
        });
      });
}

// Counts a request that was cancelled, late or stopped while it waited.
void Replica::count_answered(ErrorCode code) noexcept {
  Counters::add(code == ErrorCode::cancelled ? counters_.cancelled : counters_.timed_out);
  with_telemetry([](Telemetry& t) {
    t.failed();
    t.finished(1);
  });
}

void Replica::start_threads() {
  if (process_) return;  // RequestQueue refuses requests in a forked child
  const BlockedSignals blocked;
  finished_.store(false);
  // Owned by the serving thread, because a forked child must not use them.
  const auto helpers = std::make_shared<Helpers>();
  try {
    make_steps();
    start(*helpers);
    std::thread([self = shared_from_this(), helpers] { self->serve(*helpers); }).detach();
  } catch (const std::exception& e) {
    give_up(*helpers);
    finished_.store(true);
    fail(ErrorCode::resource_exhausted, "cannot start the runner's threads: {}", e.what());
  }
  process_ = this_process();
}

void Replica::make_steps() {
  const RunnerPlan& p = *plan_;
  const bool overlap = p.config.overlap_io;
  // One step is being formed, one is being stored, and each stage has one.
  const size_t staged_steps = pipelined() ? stages_ + 2 : 1;
  const size_t count =
      overlap ? std::max(p.config.ring_buffer_size_multiplier + 1, staged_steps) : staged_steps;
  while (steps_.size() < count) steps_.emplace_back();
  make_pipeline();
  const size_t most = std::min<size_t>(p.depth, p.step_rows) + 1;
  open_.reserve(most);
  for (Step& s : steps_) {
    s.segments.reserve(most);
    s.inputs.resize(p.step_chunks * p.inputs.size());
    s.outputs.resize(p.step_chunks * p.outputs.size());
    s.staged.resize(p.step_chunks);
    if (!overlap && p.chunk_rows == 1 && p.flat) continue;  // all chunks are used in place
    for (uint64_t c = 0; c < p.step_chunks; c++) {
      for (size_t i = 0; i < p.inputs.size(); i++)
        s.input_memory.emplace_back(p.fixed[i] ? 0 : p.inputs[i].bytes);
      for (const AnchorRows& o : p.outputs) s.output_memory.emplace_back(o.bytes);
    }
    // Accesses the pages now, so that the first requests do not have to.
    for (TensorMemory& m : s.input_memory)
      if (m.bytes()) std::memset(m.data(), 0, m.bytes());
    for (TensorMemory& m : s.output_memory)
      if (m.bytes()) std::memset(m.data(), 0, m.bytes());
  }
}

void Replica::start(Helpers& helpers) {
  if (!plan_->config.overlap_io && !pipelined()) return;
  const auto add = [&](auto loop) {
    helpers.emplace_back([this, loop] {
      const auto go = [this] { return go_.load(std::memory_order_acquire); };
      handed_.wait([&] { return go() != Go::wait; });
      if (go() == Go::yes) loop();
    });
  };
  if (!pipelined()) add([this] { compute_loop(); });
  for (size_t s = 0; s < pipeline_.size(); s++) add([this, s] { stage_loop(s); });
  add([this] { store_loop(); });
}

// Ends the threads of a runner that cannot start.
void Replica::give_up(Helpers& helpers) noexcept {
  go_.store(Go::no, std::memory_order_release);
  handed_.notify();
  for (std::thread& t : helpers) t.join();
  go_.store(Go::wait, std::memory_order_relaxed);
  steps_.clear();
  pipeline_.clear();
  frames_.clear();
}

// Serving.

// The threads have names, for tools that list threads.
void Replica::serve(Helpers& helpers) noexcept {
  pthread_setname_np(pthread_self(), "poprt-runner");
  take_thread();
  if (!plan_->config.overlap_io && !pipelined()) {
    Step& step = steps_[0];
    for (bool more = true; more;) {
      more = form_batch(step) == Formed::step;
      if (step.segments.empty()) continue;
      load(step);
      compute(step);
      store(step);
    }
  } else {
    for (Step& s : steps_) free_.try_push(&s);
    go_.store(Go::yes, std::memory_order_release);
    handed_.notify();
    for (bool more = true; more;) {
      Step* step = nullptr;
      handed_.wait([&] { return free_.try_pop(step); });
      more = form_batch(*step) == Formed::step;
      if (step->segments.empty()) continue;
      load(*step);
      handed_over_.fetch_add(1, std::memory_order_relaxed);
      loaded_.try_push(step);
      handed_.notify();
    }
    loaded_.try_push(nullptr);
    handed_.notify();
    for (std::thread& t : helpers) t.join();
  }
  finished_.store(true);
  finish_.notify();
  if (closed_.load()) release_devices();
}

void Replica::take_thread() const noexcept { current_replica = this; }

void Replica::compute_loop() noexcept {
  pthread_setname_np(pthread_self(), "poprt-compute");
  take_thread();
  for (Step* step = nullptr;;) {
    handed_.wait([&] { return loaded_.try_pop(step); });
    if (step) compute(*step);
    computed_.try_push(step);
    handed_.notify();
    if (!step) return;
  }
}

void Replica::store_loop() noexcept {
  pthread_setname_np(pthread_self(), "poprt-store");
  take_thread();
  for (Step* step = nullptr;;) {
    handed_.wait([&] { return computed_.try_pop(step); });
    if (!step) return;
    store(*step);
    free_.try_push(step);
    handed_.notify();
    // The forming thread may wait for an idle device. All of these accesses are sequentially
    // consistent, so either that thread reads the new number in dispatches_now(), or this thread
    // reads its open rows.
    if (handed_over_.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        open_rows_.load(std::memory_order_seq_cst) != 0)
      queue_.pool().wake();
  }
}

// Shutdown.

void Replica::refuse_requests() noexcept {
  queue_.stop(stopped_failure());
  ended_.store(true, std::memory_order_release);
  queue_.pool().wake();
}

void Replica::stop(bool waits) noexcept {
  refuse_requests();
  {
    const std::lock_guard lock(sessions_mutex_);
    interrupted_ = true;
    for (const auto& s : sessions_) s->stop();
  }
  if (waits) wait_for_end();
}

void Replica::drain_batches() noexcept {
  drains_.store(true, std::memory_order_release);
  queue_.pool().wake();
}

void Replica::wait_for_end() noexcept {
  if (on_thread()) return;
  // A forked child has no threads.
  if (process_ == this_process())
    finish_.wait([&] { return finished_.load(std::memory_order_acquire); });
  const std::lock_guard lock(device_mutex_);  // waits for a synchronous run
}

void Replica::close() noexcept {
  closed_.store(true);
  refuse_requests();
  wait_for_end();
  if (!on_thread()) release_devices();  // otherwise the forming thread does it at its end
}

RunnerStatistics Replica::statistics() const {
  RunnerStatistics s = counters_.snapshot();
  s.submitted += queue_.submitted();
  s.in_flight = in_flight();
  s.queue_capacity = plan_->depth;
  return s;
}

std::vector<device::InstructionProfile> Replica::profile() {
  const std::lock_guard lock(device_mutex_);
  drain();
  return sessions_.empty() ? std::vector<device::InstructionProfile>() : sessions_[0]->profile();
}

}  // namespace poprt::runtime

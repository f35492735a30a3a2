#include "runtime/model_runner.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "runtime/anchor_lookup.h"
#include "runtime/queue_manager.h"

namespace poprt::runtime {
namespace {

using program::Anchor;

// Stands for the memory of an anchor without bytes, for which null is fine.
char no_bytes;

[[noreturn]] void fail_stopped() { fail(ErrorCode::cancelled, "the runner was stopped"); }

// Writes one pointer per anchor into `pointers`.
template <class Binding, class Pointer>
void resolve(std::span<const Binding> bindings, std::span<const Anchor> anchors,
             std::span<const uint64_t> sizes, std::string_view direction, Pointer* pointers) {
  std::fill_n(pointers, anchors.size(), nullptr);
  for (size_t i = 0; i < bindings.size(); i++) {
    const Binding& b = bindings[i];
    size_t at = b.index;
    if (b.name.data()) {
      at = find_anchor(anchors, b.name, i, direction);
    } else if (at >= anchors.size()) {
      fail(ErrorCode::not_found, "there is no {} {}; the model has {}", direction, at,
           anchors.size());
    }
    if (pointers[at])
      fail(ErrorCode::invalid_argument, "{} '{}' is given twice", direction, anchors[at].name);
    if (b.bytes != sizes[at]) fail_wrong_size(anchors[at], b.bytes, direction);
    if (!b.data && b.bytes)
      fail(ErrorCode::invalid_argument, "{} '{}': the pointer is null", direction,
           anchors[at].name);
    pointers[at] = b.data ? b.data : &no_bytes;
  }
  if (bindings.size() != anchors.size())  // none is there twice, so one is missing
    for (size_t i = 0; i < anchors.size(); i++)
      if (!pointers[i])
        fail(ErrorCode::invalid_argument, "{} '{}' is missing", direction, anchors[i].name);
}

std::vector<uint64_t> anchor_sizes(const std::vector<Anchor>& anchors) {
  std::vector<uint64_t> sizes;
  for (const Anchor& a : anchors) sizes.push_back(a.bytes());
  return sizes;
}

// One request's or one call's resolved memory.
struct Pointers {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

}  // namespace

// Shared by the runner and its thread, so that neither waits for the other to go away.
struct ModelRunner::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<const Model> m, RunnerConfig config)
      : model(std::move(m)),
        input_sizes(anchor_sizes(model->inputs())),
        output_sizes(anchor_sizes(model->outputs())),
        depth(config.queue_depth),
        profiling(config.session.load.profile),
        session(std::make_unique<Session>(model, std::move(config.session))) {
    for (Pointers* p : {&sync, &submission}) {
      p->inputs.resize(model->inputs().size());
      p->outputs.resize(model->outputs().size());
    }
    threads = session->threads();
    session->run_load_programs();
  }

  void resolve_all(std::span<const InputBinding> in, std::span<const OutputBinding> out,
                   Pointers& to) const {
    resolve(in, std::span(model->inputs()), std::span(input_sizes), "input", to.inputs.data());
    resolve(out, std::span(model->outputs()), std::span(output_sizes), "output", to.outputs.data());
  }

  bool on_thread() const noexcept {
    return thread_id.load(std::memory_order_acquire) == std::this_thread::get_id();
  }
  void start_thread();
  void serve() noexcept;
  void admit();
  void leave() noexcept;
  void release_when_idle() noexcept;

  const std::shared_ptr<const Model> model;
  const std::vector<uint64_t> input_sizes, output_sizes;
  const size_t depth;
  const bool profiling;
  int threads = 1;

  std::mutex device_mutex;           // session and sync
  std::unique_ptr<Session> session;  // gone once the runner is gone and idle
  Pointers sync;
  std::atomic<bool> stopped{false};

  std::mutex submit_mutex;  // submission, queues' producer side, thread
  Pointers submission;
  std::unique_ptr<QueueManager> queues;  // made with the thread
  std::atomic<std::thread::id> thread_id{};
  pid_t process = 0;

  std::atomic<size_t> in_flight{0};  // admitted and not yet run
  std::atomic<bool> closed{false};   // the runner is gone; sequentially consistent with in_flight
  Waiter room;                       // for in_flight < depth
  std::atomic<bool> finished{true};  // the thread does not run
  Waiter finish;
};

void ModelRunner::State::start_thread() {
  if (queues) {
    if (process != getpid())
      fail(ErrorCode::failed_precondition,
           "process {} was forked from {}, which has the runner's thread: make a new runner",
           getpid(), process);
    return;
  }
  auto made = std::make_unique<QueueManager>(model->program(), depth);
  // Signals are the application's: the thread blocks all of them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  queues = std::move(made);
  finished.store(false);
  try {
    std::thread([self = shared_from_this()] { self->serve(); }).detach();
  } catch (const std::system_error& e) {
    queues.reset();
    finished.store(true);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    fail(ErrorCode::resource_exhausted, "cannot start the runner's thread: {}", e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  process = getpid();
}

void ModelRunner::State::serve() noexcept {
  thread_id.store(std::this_thread::get_id(), std::memory_order_release);
  while (queues->wait_ready()) {
    ErrorCode code = ErrorCode::cancelled;
    {
      const std::lock_guard lock(device_mutex);
      if (!stopped.load(std::memory_order_acquire)) {
        session->run_main_programs(queues->front_inputs(), queues->front_outputs());
        code = ErrorCode::ok;
      }
    }
    queues->complete(code);
  }
  queues->cancel_waiting();
  finished.store(true, std::memory_order_release);
  finish.notify();
}

// Waits for a place among the requests in flight.
void ModelRunner::State::admit() {
  const auto try_admit = [this] {
    size_t n = in_flight.load(std::memory_order_relaxed);
    while (n < depth)
      if (in_flight.compare_exchange_weak(n, n + 1)) return true;
    return false;
  };
  if (try_admit()) return;
  if (on_thread()) fail(ErrorCode::resource_exhausted, "{} requests are in flight already", depth);
  bool admitted = false;
  room.wait([&] {
    admitted = try_admit();
    return admitted || stopped.load(std::memory_order_acquire);
  });
  if (!admitted) fail_stopped();
}

void ModelRunner::State::leave() noexcept {
  if (in_flight.fetch_sub(1) == 1) release_when_idle();
  room.notify();
}

// Whoever comes second of the last leave() and the runner's end sees the other's store.
void ModelRunner::State::release_when_idle() noexcept {
  if (!closed.load() || in_flight.load() != 0) return;
  const std::lock_guard lock(device_mutex);
  session.reset();
}

ModelRunner::ModelRunner(std::shared_ptr<const Model> model, RunnerConfig config) {
  if (config.queue_depth < 1 || config.queue_depth > kMaxQueueDepth)
    fail(ErrorCode::invalid_argument, "queue depth must be 1 to {}, given {}", kMaxQueueDepth,
         config.queue_depth);
  state_ = std::make_shared<State>(std::move(model), std::move(config));
}

ModelRunner::~ModelRunner() {
  State& s = *state_;
  {
    const std::lock_guard lock(s.submit_mutex);
    if (s.queues) s.queues->finish();
  }
  s.closed.store(true);
  s.release_when_idle();
}

const Model& ModelRunner::model() const { return *state_->model; }

void ModelRunner::execute(std::span<const InputBinding> inputs,
                          std::span<const OutputBinding> outputs) {
  State& s = *state_;
  const std::lock_guard lock(s.device_mutex);
  if (s.stopped.load(std::memory_order_relaxed)) fail_stopped();
  s.resolve_all(inputs, outputs, s.sync);
  s.session->run_main_programs(s.sync.inputs.data(), s.sync.outputs.data());
}

void ModelRunner::execute(const void* const* inputs, void* const* outputs) {
  State& s = *state_;
  const auto check = [](const auto* pointers, const auto& sizes, const auto& anchors,
                        std::string_view direction) {
    for (size_t i = 0; i < sizes.size(); i++)
      if (sizes[i] && (!pointers || !pointers[i]))
        fail(ErrorCode::invalid_argument, "{} '{}': the pointer is null", direction,
             anchors[i].name);
  };
  check(inputs, s.input_sizes, s.model->inputs(), "input");
  check(outputs, s.output_sizes, s.model->outputs(), "output");
  const std::lock_guard lock(s.device_mutex);
  if (s.stopped.load(std::memory_order_relaxed)) fail_stopped();
  s.session->run_main_programs(inputs, outputs);
}

namespace {

template <class Binding, class Views>
std::vector<Binding> bindings(const Views& views) {
  std::vector<Binding> list;
  list.reserve(views.size());
  for (const auto& [name, view] : views) list.push_back({name, 0, view.data, view.bytes});
  return list;
}

}  // namespace

void ModelRunner::execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) {
  execute(bindings<InputBinding>(inputs), bindings<OutputBinding>(outputs));
}

OutputMemory ModelRunner::execute(const InputMemoryView& inputs) {
  OutputMemory memory;
  std::vector<OutputBinding> outputs;
  for (const Anchor& a : model().outputs()) {
    const TensorMemory& m = memory.emplace(a.name, TensorMemory(a.bytes())).first->second;
    outputs.push_back({a.name, 0, m.data(), m.bytes()});
  }
  execute(bindings<InputBinding>(inputs), outputs);
  return memory;
}

std::shared_ptr<Request> ModelRunner::execute_async(std::span<const InputBinding> inputs,
                                                    std::span<const OutputBinding> outputs,
                                                    RequestCallback callback) {
  State& s = *state_;
  // Lives until it is complete, whatever the submitter does with the pointer.
  struct Submitted {
    std::shared_ptr<State> state;
    std::shared_ptr<Request> request;
  };
  auto request = std::make_shared<Request>(callback);
  auto submitted = std::make_unique<Submitted>(Submitted{state_, request});
  s.admit();
  try {
    const std::lock_guard lock(s.submit_mutex);
    if (s.stopped.load(std::memory_order_acquire)) fail_stopped();
    s.resolve_all(inputs, outputs, s.submission);
    s.start_thread();
    // Admission keeps room in every queue, so nothing below blocks or fails; only the last element
    // makes the run ready and carries the callback.
    for (size_t i = 0; i < s.input_sizes.size(); i++)
      s.queues->input(i).enqueue(s.submission.inputs[i], s.input_sizes[i]);
    const size_t last = s.output_sizes.size() - 1;
    for (size_t i = 0; i < last; i++)
      s.queues->output(i).enqueue(s.submission.outputs[i], s.output_sizes[i]);
    const QueueCallback done{
        [](void* context, ErrorCode code) noexcept {
          const std::unique_ptr<Submitted> mine(static_cast<Submitted*>(context));
          mine->state->leave();
          mine->request->complete(code);
        },
        submitted.get()};
    if (!s.queues->output(last).enqueue(s.submission.outputs[last], s.output_sizes[last], done))
      fail_stopped();
    submitted.release();  // the callback's
  } catch (...) {
    s.leave();
    throw;
  }
  return request;
}

std::shared_ptr<Request> ModelRunner::execute_async(const InputMemoryView& inputs,
                                                    const OutputMemoryView& outputs) {
  return execute_async(bindings<InputBinding>(inputs), bindings<OutputBinding>(outputs));
}

void ModelRunner::stop() noexcept {
  State& s = *state_;
  s.stopped.store(true, std::memory_order_release);
  s.room.notify();
  QueueManager* queues = nullptr;
  {
    // No submission is under way after this, and none follows.
    const std::lock_guard lock(s.submit_mutex);
    if (s.process == getpid()) queues = s.queues.get();  // a forked child has no thread
  }
  if (queues) queues->disconnect_all();
  if (s.on_thread()) return;
  if (queues) s.finish.wait([&] { return s.finished.load(std::memory_order_acquire); });
  const std::lock_guard lock(s.device_mutex);  // a synchronous run is over
}

std::vector<device::InstructionProfile> ModelRunner::profile() {
  State& s = *state_;
  if (!s.profiling) fail(ErrorCode::failed_precondition, "the runner was made without profiling");
  const std::lock_guard lock(s.device_mutex);
  return s.session->profile();
}

int ModelRunner::threads() const { return state_->threads; }

}  // namespace poprt::runtime

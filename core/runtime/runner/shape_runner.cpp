#include "runtime/runner/shape_runner.h"

#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/fork_condition.h"
#include "base/fork_mutex.h"
#include "base/log.h"
#include "device/device_manager.h"
#include "program/shards.h"
#include "program/shared_weights.h"
#include "runtime/queue/deadline_watch.h"
#include "runtime/runner/open_sizes.h"
#include "runtime/runner/padded_rows.h"
#include "runtime/runner/replica.h"
#include "runtime/runner/runner_thread.h"
#include "runtime/session/tensor_check.h"

namespace poprt::runtime {
namespace {

using Sizes = OpenSizes::Sizes;

// How often the thread checks whether the requests of a removed shape are done.
constexpr auto kRemovalPause = std::chrono::milliseconds(1);

// A request of execute_async() that waits for its shape. Bindings are by index.
struct Waiting {
  RequestPtr request;
  std::vector<InputBinding> inputs;
  std::vector<OutputBinding> outputs;
  std::vector<int64_t> sizes;  // of the shapes in `outputs`, which point to them
  RequestOptions options;
};

// Copies the bindings of the outputs of a call, with their shapes, into a request that waits.
void keep_outputs(const OpenSizes& open, std::span<const OutputBinding> outputs, Waiting& waiting) {
  size_t count = 1;  // a shape without sizes needs an address, too
  for (const OutputBinding& b : outputs) count += b.shape ? b.rank : 0;
  waiting.sizes.reserve(count);
  for (size_t i = 0; i < outputs.size(); i++) {
    OutputBinding b = outputs[i];
    b.index = open.output_at(b, i);
    b.name = {};
    if (b.shape) {
      const int64_t* const shape = waiting.sizes.data() + waiting.sizes.size();
      waiting.sizes.insert(waiting.sizes.end(), b.shape, b.shape + b.rank);
      b.shape = shape;
    }
    waiting.outputs.push_back(b);
  }
}

// A shape that is being compiled or is ready. It has the state `failed` if its compilation or its
// runner failed.
struct KeptShape {
  enum State : int { compiling, ready, failed };

  explicit KeptShape(Sizes s) : sizes(std::move(s)) {}

  bool is_ready() const noexcept { return state.load(std::memory_order_acquire) == ready; }

  const Sizes sizes;
  const pid_t process = this_process();
  std::atomic<int> state{compiling};  // written with the mutex of the runner; pairs with is_ready()
  // Constant once it is ready.
  std::unique_ptr<ModelRunner> runner;
  std::optional<PaddableRows> rows;
  bool ahead = false, from_cache = false;
  uint64_t compile_ns = 0;
  uint64_t memory = 0;  // for one run, in bytes
  Failure failure;

  std::atomic<uint64_t> used{0}, requests{0}, padded{0};
  std::vector<std::unique_ptr<Waiting>> waiting;  // guarded by the mutex of the runner
};
using ShapePtr = std::shared_ptr<KeptShape>;

// A request that a larger shape computes.
struct PaddedRequest {
  PaddedRows rows;
  RequestCallback callback;
  ShapePtr shape;
};

void count_padded(KeptShape& shape) {
  Counters::add(shape.requests);
  Counters::add(shape.padded);
}

void check_output_shapes(const Model& model, const OpenSizes& open, const PaddableRows* padded,
                         int64_t wanted, std::span<const OutputBinding> outputs) {
  for (size_t i = 0; i < outputs.size(); i++) {
    const OutputBinding& b = outputs[i];
    if (!b.shape) continue;
    const program::Anchor& compiled = model.outputs()[open.output_at(b, i)];
    const std::span given(b.shape, b.rank);
    if (!padded && std::ranges::equal(given, compiled.shape)) continue;
    program::Anchor a = compiled;
    if (padded) a.shape[0] = wanted;
    if (!std::ranges::equal(given, a.shape))
      fail(ErrorCode::invalid_argument, "output '{}': expected {}{}, given {}", a.name,
           dtype_name(a.dtype), shape_string(a.shape),
           shape_string(Shape(given.begin(), given.end())));
  }
}

// Checks that the model has the inputs and outputs of requests. Options of a compilation may change
// them in a way that depends on the shape.
void check_interface(const OpenSizes& open, const Sizes& sizes, const Model& model) {
  const std::vector<Shape> shapes = open.inputs(sizes);
  const auto& in = open.shapes().inputs;
  const auto& out = open.shapes().outputs;
  bool same = model.inputs().size() >= in.size() && model.outputs().size() == out.size();
  for (size_t i = 0; same && i < in.size(); i++)
    same = model.inputs()[i].name == in[i].name && model.inputs()[i].dtype == in[i].dtype &&
           model.inputs()[i].shape == shapes[i];
  for (size_t i = 0; same && i < out.size(); i++)
    same = model.outputs()[i].name == out[i].name && model.outputs()[i].dtype == out[i].dtype;
  if (!same)
    fail(ErrorCode::unimplemented,
         "the compiled model has other inputs or outputs than the ONNX model, so that its shapes "
         "cannot be compiled on demand: give `shapes` fixed and `input_shape`");
}

// The bytes of tensors of these shapes, which have no open dimension.
uint64_t bytes_of(const std::vector<program::OpenAnchor>& anchors,
                  const std::vector<Shape>& shapes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < anchors.size(); i++)
    sum = checked_add(sum, dtype_bytes(anchors[i].dtype, element_count(shapes[i])));
  return sum;
}

bool keeps_state(const Model& model) {
  if (model.program().state_bytes > 0) return true;
  const program::Shards shards = program::shards_of(model.program());
  return std::ranges::any_of(shards.shards,
                             [](const program::Shard& s) { return s.state_bytes > 0; });
}

}  // namespace

struct ShapeRunner::State : std::enable_shared_from_this<State> {
  State(program::OpenShapes accepted, CompileShape c, ShapeRunnerConfig given)
      : open(std::move(accepted)), compile(std::move(c)), config(std::move(given)) {}

  // Locks the mutex. Throws failed_precondition in a forked child if a thread of the parent had it.
  std::unique_lock<ForkMutex> locked();
  bool take_over() noexcept;
  void describe(const std::shared_ptr<const Model>& model);
  ShapePtr find_or_compile(const Sizes& sizes);
  ShapePtr larger(const Sizes& sizes);
  void wait_for(const KeptShape& shape);
  RequestPtr submit_later(const ShapePtr& shape, std::unique_ptr<Waiting> waiting,
                          const RequestCallback& callback);
  std::unique_ptr<PaddedRequest> pad(const ShapePtr& shape, const Sizes& sizes,
                                     std::span<const InputBinding> inputs,
                                     std::span<const OutputBinding> outputs);
  void check_empty(const Sizes& sizes, std::span<const InputBinding> given,
                   std::span<const OutputBinding> wanted) const;
  RequestPtr submit_empty(const RequestCallback& callback, const RequestOptions& options);
  const Sizes* first() const { return ahead ? &ahead->sizes : nullptr; }

  void start_thread();
  void serve() noexcept;
  void compile_next(std::unique_lock<ForkMutex>& lock);
  void make_ready(KeptShape& shape);
  RunnerConfig config_for(const Model& model) const;
  uint64_t memory_of(const Model& model) const;
  void check_memory(uint64_t bytes) const;
  void check_request(const Sizes& sizes) const;
  void keep_within_limits(const KeptShape& added);
  bool drop_removed(std::unique_lock<ForkMutex>& lock);
  void answer(std::unique_ptr<Waiting> waiting, KeptShape& shape) noexcept;
  void fail_waiting(std::unique_ptr<Waiting> waiting, const Failure& failure) noexcept;
  void refuse_requests() noexcept;

  const OpenSizes open;
  const CompileShape compile;
  const ShapeRunnerConfig config;
  std::vector<DataDesc> inputs, outputs;
  ShapePtr ahead;

  ForkMutex mutex;  // guards the rest up to `turn`
  ForkCondition changed;
  std::vector<ShapePtr> shapes;  // compiling and ready, without `ahead`
  std::deque<ShapePtr> to_compile;
  std::vector<ShapePtr> removed;  // with requests that are not done
  // Requests whose shape failed before they could wait for it, and, without a failure, empty
  // requests. Callbacks run on the thread.
  std::vector<std::pair<std::unique_ptr<Waiting>, Failure>> late;
  ShapesStatistics totals;
  RunnerStatistics removed_requests;  // of shapes that were removed
  bool stopped = false, drains = false, ended = false, finished = true;
  bool dropping = false;           // whether the thread destroys runners of removed shapes
  bool making = false;             // whether the thread compiles a shape
  pid_t process = this_process();  // the owner of the thread and of shapes that are not ready
  bool compiles = true;      // false: the process was forked while a thread of the parent compiled
  pid_t thread_process = 0;  // the process of the thread; 0: there is no thread
  std::atomic<std::thread::id> thread_id{};
  std::atomic<uint64_t> turn{0};

  Counters counters;  // of requests that wait for a shape
  RequestPool::Owner pool = RequestPool::make(0, 0);
  DeadlineWatch watch;  // destroyed before the pool
};

std::unique_lock<ForkMutex> ShapeRunner::State::locked() {
  std::unique_lock lock(mutex);
  if (!take_over())
    fail(ErrorCode::failed_precondition,
         "process {} was forked while another thread of its parent used this runner: make a new "
         "runner",
         this_process());
  return lock;
}

// In a forked child, the first call forgets what only threads of the parent would finish: shapes
// that are not ready, and requests that wait for them. Ready shapes stay. Returns false if a thread
// of the parent may have been in the middle of a change. Requires the mutex.
bool ShapeRunner::State::take_over() noexcept {
  if (process == this_process()) return true;
  if (mutex.abandoned()) return false;
  process = this_process();
  compiles = compiles && !making;
  making = dropping = false;
  thread_process = 0;
  thread_id = std::thread::id();
  finished = true;
  to_compile.clear();
  late.clear();
  std::erase_if(shapes, [](const ShapePtr& s) { return !s->is_ready(); });
  return true;
}

void ShapeRunner::State::describe(const std::shared_ptr<const Model>& model) {
  if (model) {
    inputs = ahead->runner->execute_inputs();
    outputs = ahead->runner->execute_outputs();
    return;
  }
  const auto add = [&](const std::vector<program::OpenAnchor>& anchors, std::vector<DataDesc>& to) {
    for (const program::OpenAnchor& a : anchors) {
      DataDesc& d = to.emplace_back();
      d.anchor = {a.name, a.dtype, a.shape};
      d.size_in_bytes = is_static(a.shape) ? d.anchor.bytes() : 0;
    }
  };
  add(open.shapes().inputs, inputs);
  add(open.shapes().outputs, outputs);
  for (const auto& [name, value] : config.runner.frozen_inputs)
    for (DataDesc& d : inputs)
      if (d.anchor.name == name) d.popef_contains_tensor_data = true;
}

// Returns the shape, or adds it to those to compile.
ShapePtr ShapeRunner::State::find_or_compile(const Sizes& sizes) {
  const uint64_t now = turn.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto lock = locked();
  if (stopped) fail_stopped_runner();
  if (ahead && ahead->sizes == sizes) return ahead;
  for (const ShapePtr& s : shapes)
    if (s->sizes == sizes) {
      s->used.store(now, std::memory_order_relaxed);
      return s;
    }
  check_request(sizes);
  if (!compiles)
    fail(ErrorCode::failed_precondition,
         "process {} was forked while a thread of its parent compiled a shape: it computes only "
         "the shapes that were ready, and not {}; fork when no shape is compiled",
         this_process(), open.text(sizes));
  if (to_compile.size() >= kMostWaiting)
    fail(ErrorCode::resource_exhausted, "{} shapes wait for their compilation; try again later",
         to_compile.size());
  start_thread();
  auto made = std::make_shared<KeptShape>(sizes);
  made->used.store(now, std::memory_order_relaxed);
  to_compile.push_back(made);
  shapes.push_back(made);
  changed.notify_all();
  return made;
}

// Returns the smallest shape that may compute a request of these sizes with padding, or null.
ShapePtr ShapeRunner::State::larger(const Sizes& sizes) {
  const auto lock = locked();
  ShapePtr best;
  const auto consider = [&](const ShapePtr& s) {
    if (!s || !s->is_ready() || !s->rows) return;
    const size_t at = s->rows->size;
    if (s->rows->rows <= sizes[at] || (best && best->rows->rows <= s->rows->rows)) return;
    for (size_t i = 0; i < sizes.size(); i++)
      if (i != at && s->sizes[i] != sizes[i]) return;
    best = s;
  };
  consider(ahead);
  for (const ShapePtr& s : shapes) consider(s);
  return best;
}

void ShapeRunner::State::wait_for(const KeptShape& shape) {
  auto lock = locked();
  if (shape.state == KeptShape::compiling && thread_id.load() == std::this_thread::get_id())
    fail(ErrorCode::resource_exhausted,
         "a callback cannot wait until a shape is compiled: submit the request instead");
  changed.wait(lock, [&] { return shape.state != KeptShape::compiling || stopped; });
  if (shape.state == KeptShape::failed) throw Error(*shape.failure);
  if (shape.state == KeptShape::compiling) fail_stopped_runner();
}

std::unique_ptr<PaddedRequest> ShapeRunner::State::pad(const ShapePtr& shape, const Sizes& sizes,
                                                       std::span<const InputBinding> in,
                                                       std::span<const OutputBinding> out) {
  const int64_t wanted = sizes[shape->rows->size];
  const Model& model = shape->runner->model();
  check_output_shapes(model, open, &*shape->rows, wanted, out);
  return std::make_unique<PaddedRequest>(
      PaddedRequest{PaddedRows(open, model, *shape->rows, wanted, in, out), {}, shape});
}

// Returns null if the shape has become ready in the meantime.
RequestPtr ShapeRunner::State::submit_later(const ShapePtr& shape, std::unique_ptr<Waiting> waiting,
                                            const RequestCallback& callback) {
  const auto now = pool->clock.now();
  const auto deadline = deadline_after(now, waiting->options.timeout);
  const auto lock = locked();
  if (stopped) fail_stopped_runner();
  if (shape->state == KeptShape::ready) return {};
  RequestPtr request(pool->take(1, callback, now, deadline));
  request->submitted = now;
  waiting->request = request;
  Counters::add(counters.submitted);
  if (shape->state == KeptShape::failed) {  // as if it had failed after this call
    late.emplace_back(std::move(waiting), shape->failure);
    changed.notify_all();
    return request;
  }
  if (deadline != Clock::TimePoint::max()) watch.add(request);
  shape->waiting.push_back(std::move(waiting));
  return request;
}

// Checks a request for which nothing is computed.
void ShapeRunner::State::check_empty(const Sizes& sizes, std::span<const InputBinding> given,
                                     std::span<const OutputBinding> wanted) const {
  const std::vector<Shape> in = open.inputs(sizes), out = *open.outputs(sizes);
  std::vector<bool> known(in.size());
  for (size_t i = 0; i < given.size(); i++) {
    const size_t at = open.input_at(given[i], i);
    const program::Anchor a{open.shapes().inputs[at].name, open.shapes().inputs[at].dtype, in[at]};
    if (given[i].bytes != a.bytes()) fail_wrong_size(a, given[i].bytes, "input");
    known[at] = true;
  }
  for (size_t at = 0; config.runner.validate_io_params && at < known.size(); at++)
    if (!known[at] && !inputs[at].popef_contains_tensor_data)
      fail(ErrorCode::invalid_argument, "input '{}' is missing", inputs[at].anchor.name);
  for (size_t i = 0; i < wanted.size(); i++) {
    const size_t at = open.output_at(wanted[i], i);
    const program::Anchor a{open.shapes().outputs[at].name, open.shapes().outputs[at].dtype,
                            out[at]};
    if (wanted[i].bytes != 0) fail_wrong_size(a, wanted[i].bytes, "output");
  }
}

// A request that the thread completes.
RequestPtr ShapeRunner::State::submit_empty(const RequestCallback& callback,
                                            const RequestOptions& options) {
  auto waiting = std::make_unique<Waiting>();
  waiting->options = options;
  const auto now = pool->clock.now();
  const auto lock = locked();
  if (stopped) fail_stopped_runner();
  start_thread();
  RequestPtr request(pool->take(1, callback, now, deadline_after(now, options.timeout)));
  request->submitted = now;
  waiting->request = request;
  Counters::add(counters.submitted);
  late.emplace_back(std::move(waiting), nullptr);
  changed.notify_all();
  return request;
}

// Requires the mutex.
void ShapeRunner::State::start_thread() {
  start_runner_thread(thread_process, finished, [self = shared_from_this()] { self->serve(); });
}

// Compiles shapes, and removes those whose requests are done.
void ShapeRunner::State::serve() noexcept {
  pthread_setname_np(pthread_self(), "poprt-shapes");
  thread_id = std::this_thread::get_id();
  std::unique_lock lock(mutex);
  while (!ended) {
    if (!late.empty()) {
      auto failed = std::exchange(late, {});
      lock.unlock();
      for (auto& [waiting, failure] : failed) {
        if (failure) {
          fail_waiting(std::move(waiting), failure);
        } else if (waiting->request->claim()) {
          Counters::add(counters.completed);
          waiting->request->complete(ErrorCode::ok, nullptr);
        }
      }
      lock.lock();
      continue;
    }
    if (!to_compile.empty()) {
      compile_next(lock);
      continue;
    }
    const auto has_work = [&] { return ended || !late.empty() || !to_compile.empty(); };
    if (removed.empty() || drop_removed(lock))
      changed.wait(lock, [&] { return has_work() || !removed.empty(); });
    else
      changed.wait_until(lock, std::chrono::steady_clock::now() + kRemovalPause, has_work);
  }
  finished = true;
  changed.notify_all();
}

// Compiles the next shape. Requires the lock, and releases it during the compilation.
void ShapeRunner::State::compile_next(std::unique_lock<ForkMutex>& lock) {
  const ShapePtr shape = std::move(to_compile.front());
  to_compile.pop_front();
  making = true;
  lock.unlock();
  Failure failure;
  const auto start = std::chrono::steady_clock::now();
  try {
    make_ready(*shape);
  } catch (const Error& e) {
    Error with_shape = e;
    with_shape.add_context(open.text(shape->sizes));
    failure = std::make_shared<const Error>(std::move(with_shape));
  } catch (const std::exception& e) {
    failure = std::make_shared<const Error>(ErrorCode::resource_exhausted, e.what());
  }
  shape->compile_ns = static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  lock.lock();
  making = false;
  shape->failure = failure;
  shape->state.store(failure ? KeptShape::failed : KeptShape::ready, std::memory_order_release);
  if (failure) {
    totals.failed++;
    std::erase(shapes, shape);
  } else {
    if (drains) shape->runner->drain();
    (shape->from_cache ? totals.from_cache : totals.compiled)++;
  }
  auto waiting = std::exchange(shape->waiting, {});
  changed.notify_all();
  lock.unlock();
  for (auto& w : waiting)
    if (failure)
      fail_waiting(std::move(w), failure);
    else
      answer(std::move(w), *shape);
  lock.lock();
}

void ShapeRunner::State::make_ready(KeptShape& shape) {
  CompiledShape compiled = compile(open.inputs(shape.sizes));
  check_interface(open, shape.sizes, *compiled.model);
  if (keeps_state(*compiled.model))
    fail(ErrorCode::unimplemented,
         "the model keeps state from run to run, which several shapes of it would not share: give "
         "`shapes` fixed and `input_shape`");
  shape.memory = memory_of(*compiled.model);
  check_memory(shape.memory);
  {
    std::unique_lock lock(mutex);
    keep_within_limits(shape);
    drop_removed(lock);
  }
  shape.from_cache = compiled.from_cache;
  shape.rows = paddable_rows(open, *compiled.model, shape.sizes);
  RunnerConfig own = config_for(*compiled.model);
  shape.runner = std::make_unique<ModelRunner>(std::move(compiled.model), std::move(own));
}

// Each shape runs on separate devices. They are created here instead of being acquired, so that a
// runner with many shapes leaves the devices of the machine to other runners.
RunnerConfig ShapeRunner::State::config_for(const Model& model) const {
  RunnerConfig own = config.runner;
  const auto copies = static_cast<int64_t>(std::max(model.replication_factor, 1u));
  const int replicas = own.replication_factor;
  own.replica_id_to_device.clear();
  for (int i = 0; i < replicas * static_cast<int>(copies); i++)
    own.replica_id_to_device[i] =
        device::DeviceManager().create_ipu_model_device(model.ipus * (i == 0 ? copies : 1), 21);
  own.session.device = own.replica_id_to_device[0];
  return own;
}

void ShapeRunner::State::check_memory(uint64_t bytes) const {
  if (config.max_memory > 0 && bytes > config.max_memory)
    fail(ErrorCode::invalid_argument,
         "one run needs {} bytes of memory, and `max_shape_memory` allows {}", bytes,
         config.max_memory);
}

// Refuses a shape whose inputs and outputs alone need too much memory, before it is compiled.
void ShapeRunner::State::check_request(const Sizes& sizes) const {
  if (config.max_memory == 0 || (ahead && ahead->sizes == sizes)) return;
  try {
    uint64_t bytes = bytes_of(open.shapes().inputs, open.inputs(sizes));
    if (const auto known = open.outputs(sizes))
      bytes = checked_add(bytes, bytes_of(open.shapes().outputs, *known));
    check_memory(bytes);
  } catch (Error& e) {
    e.add_context(open.text(sizes));
    throw;
  }
}

// The bytes that a shape needs for one run of every replica, and for one request.
uint64_t ShapeRunner::State::memory_of(const Model& model) const {
  const auto replicas = static_cast<uint64_t>(config.runner.replication_factor);
  uint64_t bytes = checked_mul(model.program().arena_bytes, replicas);
  for (const auto* anchors : {&model.inputs(), &model.outputs()})
    for (const program::Anchor& a : *anchors)
      if (a.name != program::kSharedWeights) bytes = checked_add(bytes, a.bytes());
  return bytes;
}

// Removes the least recently used shapes, so that there is room for `added`, which is not ready.
// Requires the mutex.
void ShapeRunner::State::keep_within_limits(const KeptShape& added) {
  for (;;) {
    ShapePtr oldest;
    size_t ready = 1;
    uint64_t memory = added.memory;
    for (const ShapePtr& s : shapes) {
      if (!s->is_ready()) continue;
      ready++;
      memory += s->memory;
      if (!oldest ||
          s->used.load(std::memory_order_relaxed) < oldest->used.load(std::memory_order_relaxed))
        oldest = s;
    }
    const bool fits = config.max_memory == 0 || memory <= config.max_memory;
    if ((fits && ready <= std::max<size_t>(config.max_shapes, 1)) || !oldest) return;
    std::erase(shapes, oldest);
    totals.removed++;
    removed.push_back(std::move(oldest));
  }
}

// Destroys the removed shapes whose requests are done. Requires the lock, and releases it while
// runners are destroyed. Returns whether no removed shape is left.
bool ShapeRunner::State::drop_removed(std::unique_lock<ForkMutex>& lock) {
  std::vector<ShapePtr> done;
  std::erase_if(removed, [&](ShapePtr& s) {
    if (s->process != this_process()) {
      // Threads of the parent may have used it, which would never finish in this child.
      static_cast<void>(new ShapePtr(std::move(s)));  // never destroyed
      return true;
    }
    // No thread can get a new reference from `shapes`. If `removed` has the only one, no call is in
    // progress.
    if (s.use_count() > 1) return false;
    const RunnerStatistics statistics = s->runner->statistics();
    // A request leaves the queue before it is counted as done.
    const uint64_t done_requests =
        statistics.completed + statistics.failed + statistics.cancelled + statistics.timed_out;
    if (statistics.in_flight > 0 || done_requests < statistics.submitted) return false;
    removed_requests += statistics;
    removed_requests.queue_capacity = 0;
    done.push_back(std::move(s));
    return true;
  });
  const bool none = removed.empty();
  if (!done.empty()) {
    // The destructor of a runner waits for its callbacks, one of which may destroy the ShapeRunner.
    // `dropping` is for the destructor of the ShapeRunner, which then does not wait for this
    // thread.
    dropping = true;
    changed.notify_all();
    lock.unlock();
    done.clear();
    lock.lock();
    dropping = false;
  }
  return none && removed.empty();
}

// Submits a request whose shape is ready.
void ShapeRunner::State::answer(std::unique_ptr<Waiting> waiting, KeptShape& shape) noexcept {
  {
    // A callback on this thread may have destroyed the ShapeRunner and the runner of the shape.
    std::unique_lock lock(mutex);
    if (stopped) {
      lock.unlock();
      return fail_waiting(std::move(waiting), stopped_failure());
    }
  }
  Request& request = *waiting->request;
  if (!request.claim()) return;  // it was cancelled, or it is late
  RequestOptions options = waiting->options;
  if (request.has_deadline()) options.timeout = request.deadline() - pool->clock.now();
  options.when_full = WhenFull::line;
  RequestCallback done;
  done.context = waiting.get();
  done.full = [](void* context, const Request& inner) noexcept {
    const std::unique_ptr<Waiting> mine(static_cast<Waiting*>(context));
    mine->request->complete(inner.code(),
                            inner.code() == ErrorCode::ok ? nullptr : inner.failure());
  };
  Failure failure;
  try {
    check_output_shapes(shape.runner->model(), open, nullptr, 0, waiting->outputs);
    const RequestPtr inner =
        shape.runner->execute_async(waiting->inputs, waiting->outputs, done, options);
    static_cast<void>(waiting.release());  // the callback has it
    Counters::add(shape.requests);
    counters.submitted.fetch_sub(1,
                                 std::memory_order_relaxed);  // the runner of the shape counts it
    return;
  } catch (const Error& e) {
    failure = std::make_shared<const Error>(e);
  } catch (const std::exception& e) {
    failure = std::make_shared<const Error>(ErrorCode::resource_exhausted, e.what());
  }
  Counters::add(counters.failed);
  request.complete(failure->code(), failure);
}

void ShapeRunner::State::fail_waiting(std::unique_ptr<Waiting> waiting,
                                      const Failure& failure) noexcept {
  Request& request = *waiting->request;
  if (!request.claim()) return;
  Counters::add(failure->code() == ErrorCode::cancelled ? counters.cancelled : counters.failed);
  request.complete(failure->code(), failure);
}

// Fails the requests that wait for a shape, and makes later requests fail.
void ShapeRunner::State::refuse_requests() noexcept {
  std::vector<std::unique_ptr<Waiting>> waiting;
  {
    const std::lock_guard lock(mutex);
    stopped = true;
    if (!take_over()) return;
    for (const ShapePtr& s : shapes) {
      std::ranges::move(s->waiting, std::back_inserter(waiting));
      s->waiting.clear();
    }
    for (auto& request : late) waiting.push_back(std::move(request.first));
    late.clear();
    changed.notify_all();
  }
  for (auto& w : waiting) fail_waiting(std::move(w), stopped_failure());
}

ShapeRunner::ShapeRunner(program::OpenShapes shapes, CompileShape compile,
                         std::shared_ptr<const Model> ahead, ShapeRunnerConfig config) {
  check_numbers(config.runner);
  if (config.runner.batching_dim != UINT32_MAX)
    fail(ErrorCode::invalid_argument,
         "a model whose shapes are compiled on demand takes any size: leave batching_dim unset, or "
         "give a batch_size to merge requests");
  for (const auto& [name, value] : config.runner.frozen_inputs)
    for (const program::OpenAnchor& a : shapes.inputs)
      if (a.name == name && !is_static(a.shape))
        fail(ErrorCode::invalid_argument, "input '{}' has several shapes and cannot be frozen",
             name);
  if (!config.runner.faults) config.runner.faults = FaultInjector::from_environment();
  state_ = std::make_shared<State>(std::move(shapes), std::move(compile), std::move(config));
  State& s = *state_;
  s.pool->on_answered.context = &s;
  s.pool->on_answered.call = [](void* context, ErrorCode code) noexcept {
    Counters& c = static_cast<State*>(context)->counters;
    Counters::add(code == ErrorCode::cancelled ? c.cancelled : c.timed_out);
  };
  if (ahead) {
    std::map<std::string, Shape> given;
    for (const program::OpenAnchor& a : s.open.shapes().inputs)
      for (const program::Anchor& compiled : ahead->inputs())
        if (compiled.name == a.name) given[a.name] = compiled.shape;
    s.ahead = std::make_shared<KeptShape>(s.open.of_shapes(given));
    check_interface(s.open, s.ahead->sizes, *ahead);
    s.ahead->ahead = true;
    s.ahead->rows = paddable_rows(s.open, *ahead, s.ahead->sizes);
    s.ahead->runner = std::make_unique<ModelRunner>(ahead, s.config.runner);
    s.ahead->state = KeptShape::ready;
  }
  s.describe(ahead);
}

ShapeRunner::~ShapeRunner() {
  State& s = *state_;
  s.refuse_requests();
  std::vector<ShapePtr> shapes;
  {
    std::unique_lock lock(s.mutex);
    s.ended = true;
    if (!s.take_over()) {
      // Another thread of the parent may have been changing the state, so it is never destroyed.
      static_cast<void>(new std::shared_ptr(state_));
      return;
    }
    s.to_compile.clear();
    s.changed.notify_all();
    const bool waits =
        s.thread_process == this_process() && s.thread_id.load() != std::this_thread::get_id();
    const bool in_callback = Replica::on_any_thread();
    if (waits) s.changed.wait(lock, [&] { return s.finished || (s.dropping && in_callback); });
    shapes = std::exchange(s.shapes, {});
    std::ranges::move(s.removed, std::back_inserter(shapes));
    s.removed.clear();
  }
  if (s.ahead) shapes.push_back(s.ahead);
  // A padded request also has a reference to the shape that computes it, so the runner of that
  // shape is destroyed here and not by the last reference.
  for (const ShapePtr& shape : shapes)
    if (shape->is_ready()) shape->runner.reset();
}

const std::vector<DataDesc>& ShapeRunner::execute_inputs() const { return state_->inputs; }
const std::vector<DataDesc>& ShapeRunner::execute_outputs() const { return state_->outputs; }
const std::vector<std::string>& ShapeRunner::sizes() const { return state_->open.names(); }
const program::OpenShapes& ShapeRunner::open_shapes() const { return state_->open.shapes(); }
ModelRunner* ShapeRunner::ahead() const {
  return state_->ahead ? state_->ahead->runner.get() : nullptr;
}

std::vector<Shape> ShapeRunner::output_shapes(std::span<const InputBinding> inputs) const {
  State& s = *state_;
  const Sizes sizes = s.open.of_request(inputs, s.first());
  if (s.open.is_empty(sizes)) return *s.open.outputs(sizes);
  s.check_request(sizes);
  if (const auto known = s.open.outputs(sizes)) return *known;
  const ShapePtr shape = s.find_or_compile(sizes);
  if (!shape->is_ready()) s.wait_for(*shape);
  std::vector<Shape> shapes;
  for (const program::Anchor& a : shape->runner->model().outputs()) shapes.push_back(a.shape);
  return shapes;
}

void ShapeRunner::execute(std::span<const InputBinding> inputs,
                          std::span<const OutputBinding> outputs) {
  State& s = *state_;
  const Sizes sizes = s.open.of_request(inputs, s.first());
  if (s.open.is_empty(sizes)) return s.check_empty(sizes, inputs, outputs);
  const ShapePtr shape = s.find_or_compile(sizes);
  if (!shape->is_ready()) {
    if (const ShapePtr larger = s.larger(sizes)) {
      const auto padded = s.pad(larger, sizes, inputs, outputs);
      larger->runner->execute(padded->rows.inputs(), padded->rows.outputs());
      padded->rows.crop();
      count_padded(*larger);
      return;
    }
    s.wait_for(*shape);
  }
  check_output_shapes(shape->runner->model(), s.open, nullptr, 0, outputs);
  shape->runner->execute(inputs, outputs);
  Counters::add(shape->requests);
}

namespace {

RequestPtr submit_padded(std::unique_ptr<PaddedRequest> padded, const RequestCallback& callback,
                         const RequestOptions& options) {
  padded->callback = callback;
  RequestCallback done;
  done.context = padded.get();
  done.before = [](void* context) noexcept {
    const auto* const padded = static_cast<const PaddedRequest*>(context);
    padded->rows.crop();
    padded->callback.call_before();
  };
  done.full = [](void* context, const Request& request) noexcept {
    const std::unique_ptr<PaddedRequest> mine(static_cast<PaddedRequest*>(context));
    mine->callback(request.code(), request);
  };
  const ShapePtr shape = padded->shape;
  RequestPtr request =
      shape->runner->execute_async(padded->rows.inputs(), padded->rows.outputs(), done, options);
  static_cast<void>(padded.release());  // the callback has it
  count_padded(*shape);
  return request;
}

}  // namespace

RequestPtr ShapeRunner::execute_async(std::span<const InputBinding> inputs,
                                      std::span<const OutputBinding> outputs,
                                      RequestCallback callback, const RequestOptions& options) {
  State& s = *state_;
  const Sizes sizes = s.open.of_request(inputs, s.first());
  if (s.open.is_empty(sizes)) {
    s.check_empty(sizes, inputs, outputs);
    return s.submit_empty(callback, options);
  }
  const ShapePtr shape = s.find_or_compile(sizes);
  if (!shape->is_ready()) {
    if (const ShapePtr larger = s.larger(sizes))
      return submit_padded(s.pad(larger, sizes, inputs, outputs), callback, options);
    auto waiting = std::make_unique<Waiting>();
    waiting->options = options;
    for (size_t i = 0; i < inputs.size(); i++)
      waiting->inputs.push_back(
          {{}, s.open.input_at(inputs[i], i), inputs[i].data, inputs[i].bytes});
    keep_outputs(s.open, outputs, *waiting);
    if (RequestPtr request = s.submit_later(shape, std::move(waiting), callback)) return request;
  }
  check_output_shapes(shape->runner->model(), s.open, nullptr, 0, outputs);
  RequestPtr request = shape->runner->execute_async(inputs, outputs, callback, options);
  Counters::add(shape->requests);
  return request;
}

void ShapeRunner::warm_up(const std::map<std::string, Shape>& inputs) {
  State& s = *state_;
  const ShapePtr shape = s.find_or_compile(s.open.of_shapes(inputs));
  if (!shape->is_ready()) s.wait_for(*shape);
}

void ShapeRunner::stop() noexcept {
  State& s = *state_;
  s.refuse_requests();
  std::vector<ShapePtr> shapes;
  {
    const std::lock_guard lock(s.mutex);
    if (!s.take_over()) return;
    shapes = s.shapes;
    shapes.insert(shapes.end(), s.removed.begin(), s.removed.end());
    if (s.ahead) shapes.push_back(s.ahead);
  }
  for (const ShapePtr& shape : shapes)
    if (shape->is_ready()) shape->runner->stop();
}

void ShapeRunner::drain() noexcept {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (!s.take_over()) return;
  s.drains = true;
  if (s.ahead) s.ahead->runner->drain();
  for (const auto* list : {&s.shapes, &s.removed})
    for (const ShapePtr& shape : *list)
      if (shape->is_ready()) shape->runner->drain();
}

RunnerStatistics ShapeRunner::statistics() const {
  State& s = *state_;
  RunnerStatistics sum = s.counters.snapshot();
  sum.in_flight = sum.submitted - std::min(sum.submitted, sum.completed + sum.failed +
                                                              sum.cancelled + sum.timed_out);
  const auto lock = s.locked();
  sum += s.removed_requests;
  if (s.ahead) sum += s.ahead->runner->statistics();
  for (const auto* list : {&s.shapes, &s.removed})
    for (const ShapePtr& shape : *list)
      if (shape->is_ready()) sum += shape->runner->statistics();
  return sum;
}

RunnerStatistics ShapeRunner::statistics(size_t replica) const {
  if (replica >= replicas())
    fail(ErrorCode::not_found, "there is no replica {}: the runner has {}, counted from 0", replica,
         replicas());
  State& s = *state_;
  RunnerStatistics sum;
  const auto lock = s.locked();
  if (s.ahead) sum += s.ahead->runner->statistics(replica);
  for (const ShapePtr& shape : s.shapes)
    if (shape->is_ready()) sum += shape->runner->statistics(replica);
  return sum;
}

size_t ShapeRunner::replicas() const {
  return static_cast<size_t>(state_->config.runner.replication_factor);
}

std::vector<Tracepoint> ShapeRunner::tracepoints() const {
  State& s = *state_;
  std::vector<Tracepoint> points;
  const auto lock = s.locked();
  const auto add = [&](const ShapePtr& shape) {
    if (!shape || !shape->is_ready()) return;
    const auto own = shape->runner->tracepoints();
    points.insert(points.end(), own.begin(), own.end());
  };
  add(s.ahead);
  for (const ShapePtr& shape : s.shapes) add(shape);
  return points;
}

ShapesStatistics ShapeRunner::shapes() const {
  State& s = *state_;
  const auto lock = s.locked();
  ShapesStatistics all = s.totals;
  std::vector<ShapePtr> list = s.shapes;
  std::ranges::sort(list, std::greater(), [](const ShapePtr& p) { return p->used.load(); });
  if (s.ahead) list.insert(list.begin(), s.ahead);
  for (const ShapePtr& p : list)
    if (p->is_ready())
      all.shapes.push_back(
          {p->sizes, p->ahead, p->from_cache, p->compile_ns, p->requests.load(), p->padded.load()});
  return all;
}

}  // namespace poprt::runtime

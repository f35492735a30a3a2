// One copy of a model: its device(s), its queue, and the threads that serve it.
// dynamic_batching.cpp makes steps of requests, replica_step.cpp runs them, replica_pipeline.cpp
// on several IPUs at the same time, replica.cpp is the rest.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "device/device.h"
#include "runtime/queue/request.h"
#include "runtime/queue/request_queue.h"
#include "runtime/queue/ring_buffer.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/session.h"
#include "runtime/telemetry/statistics.h"

namespace poprt::runtime {

// Threads, made by the first asynchronous request: one forms steps and copies inputs in, one
// computes, one copies outputs out and completes requests. Without overlap_io the first does all.
// A step in flight belongs to one of them; single-producer rings hand it on.
//
// A pipelined model has a thread for each stage instead of the computing one. The first hands a
// step on before it begins, so that stages share it: a chunk is its from when the stage before has
// counted it (finished) until it counts it itself. Chunks have numbers of their own, over all
// steps, and chunk n has the frame n % frames for what crosses between IPUs.
class Replica : public std::enable_shared_from_this<Replica> {
 public:
  // One device for every compiled-in copy. Prepares them and runs load programs.
  Replica(std::shared_ptr<const RunnerPlan> plan, int index,
          std::vector<std::shared_ptr<device::Device>> devices,
          std::shared_ptr<TraceBuffer> traces);

  // Runs on the calling thread: `rows` make whole batches. Throws what the device failed with, or
  // cancelled.
  void execute(const void* const* inputs, void* const* outputs, uint64_t rows);
  // execute() with its own memory for pointers. False: needs the queue (rows do not make whole
  // batches, or need a copy).
  bool execute_checked(std::span<const InputBinding> inputs,
                       std::span<const OutputBinding> outputs);

  RequestPtr submit(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
                    RequestCallback callback, const RequestOptions& options);

  // Nothing new is taken, what waits fails. Does not wait for that.
  void end() noexcept;
  // And ends what computes; returns when no request is left and the devices are idle, on a thread
  // of the replica (a callback) at once.
  void stop() noexcept;
  // The runner is gone: as stop(), but what computes is finished; then the devices are released.
  void close() noexcept;
  bool on_thread() const noexcept;

  // Requests are run by threads of its own, also those of execute_checked().
  bool pipelined() const noexcept { return stages_ > 1; }

  size_t in_flight() const noexcept { return queue_.in_flight(); }
  bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }
  // A started batch that waits for rows.
  bool open() const noexcept { return open_rows_.load(std::memory_order_relaxed) != 0; }

  RunnerStatistics statistics() const;
  std::vector<device::InstructionProfile> profile();
  int threads() const noexcept { return threads_; }

  // For changes of fixed inputs: the devices are idle while it is held.
  std::mutex& device_mutex() noexcept { return device_mutex_; }
  void set_fixed(const std::vector<std::pair<size_t, TensorMemory>>& changes);

 private:
  struct Segment {  // a request's part of a step
    Request* request;
    uint64_t first, count;  // rows of the request
  };
  struct Step {
    std::vector<Segment> segments;
    uint64_t rows = 0;
    Failure failure;
    std::vector<const void*> inputs;  // per chunk and anchor
    std::vector<void*> outputs;
    std::vector<bool> staged;  // per chunk
    std::vector<TensorMemory> input_memory, output_memory;
    int64_t begun = 0, loaded = 0, compute_begin = 0, compute_end = 0;
    // Of a pipeline: the number of its first chunk, and how many there are.
    uint64_t first_chunk = 0, chunks = 0;
    std::atomic<bool> failed{false};  // some stage has set failure
    void clear();
  };
  enum class Formed : uint8_t { step, stopped };

  void start_threads();
  void make_steps();
  // Threads that compute and store beside the forming one. They wait until all are there.
  using Helpers = std::vector<std::thread>;
  void start(Helpers& helpers);
  void give_up(Helpers& helpers) noexcept;
  void serve(Helpers& helpers) noexcept;
  void compute_loop() noexcept;
  void store_loop() noexcept;
  void take_thread() const noexcept;
  void make_pipeline();
  void stage_loop(size_t stage) noexcept;
  void admit(Step& step) noexcept;
  // Chunks `first` and those behind it. When the last is counted, the step is the next stage's, and
  // soon another's.
  void run_stage(size_t stage, Step& step, uint64_t first, uint64_t chunks) noexcept;
  void finish(Step& step) noexcept;
  // With device_mutex_, which keeps others out: nothing is between the first stage and the last.
  void drain() noexcept;

  Formed form_batch(Step& step) noexcept;
  // What became of a request's rows: nothing to run yet, a whole step, or a full batch.
  enum class Taken { nothing, step, batch };
  Taken take_rows(Step& step, Request* r) noexcept;
  void drop_late() noexcept;
  bool flush(Step& step, bool complete) noexcept;
  Request* next() noexcept;
  void count_answered(ErrorCode code) noexcept;
  static void take(const Segment& s) noexcept;
  void add(std::vector<Segment>& to, Request* request, uint64_t count) noexcept;
  Failure failure_of(const Request& request) noexcept;
  bool fail_step(Step& step, Request* request, Failure failure) noexcept;
  std::optional<Clock::TimePoint> flush_time() const noexcept;
  bool may_flush() const noexcept;

  void load(Step& step) noexcept;
  // What fails a step before it begins, or null.
  Failure begin_step(const Step& step) noexcept;
  void count_step(const Step& step) noexcept;
  void compute(Step& step) noexcept;
  void store(Step& step) noexcept;
  void gather(Step& step, uint64_t chunk) noexcept;
  void scatter(Step& step, uint64_t chunk) noexcept;
  // What anchors that no request gives or wants get.
  void connect(const void** inputs, void** outputs) const noexcept;
  // In front of a run: a fault that was asked for, or null.
  Failure inject() noexcept;
  Failure failure_of(const Error& error) const noexcept;  // of a session
  // Under device_mutex_: a failure, or null.
  Failure run_chunk(uint64_t chunk, const void** inputs, void** outputs) noexcept;
  Failure ensure_usable() noexcept;
  Failure device_failed(const DeviceError& error) noexcept;

  void wait_for_end() noexcept;
  void make_sessions();
  void make_unconnected();
  void drop_sessions() noexcept;
  void release_devices() noexcept;
  static int64_t nanoseconds(Clock::TimePoint t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  }
  int64_t stamp() const noexcept;
  // Calls f(telemetry) when the session publishes any.
  template <class F>
  void tell(F&& f) noexcept {
    if (!telemetry_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(sessions_mutex_);
    if (Telemetry* t = telemetry_.load(std::memory_order_relaxed)) f(*t);
  }

  const std::shared_ptr<const RunnerPlan> plan_;
  const int index_;
  const std::shared_ptr<TraceBuffer> traces_;
  Counters counters_;
  std::mutex sessions_mutex_;  // changes of sessions_, for those who do not hold device_mutex_
  bool interrupted_ = false;   // with it: so are sessions to come
  std::atomic<Telemetry*> telemetry_{nullptr};  // of sessions_[0]
  int threads_ = 1;

  std::mutex device_mutex_;  // sessions, direct pointers, fixed inputs, faults
  // None once closed and idle.
  std::vector<std::shared_ptr<device::Device>> devices_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<const void*> direct_inputs_, request_inputs_;
  std::vector<void*> direct_outputs_, request_outputs_;
  std::vector<TensorMemory> fixed_;                           // frozen inputs
  std::vector<std::pair<size_t, TensorMemory>> new_weights_;  // replace what the model has
  TensorMemory zeros_;                                        // for inputs that are not connected
  TensorMemory dropped_memory_;
  std::vector<void*> dropped_;  // for such outputs
  bool needs_reset_ = false;
  Failure failure_;                      // of broken_, and of requests up to fail_until_
  std::atomic<bool> broken_{false};      // for good
  std::atomic<uint64_t> fail_until_{0};  // the last request that waited when a device failed
  std::atomic<bool> ended_{false};       // nothing new is taken, no submission is under way
  std::atomic<bool> closed_{false};

  RequestQueue queue_;
  pid_t process_ = 0;  // whose threads serve; 0: none yet
  enum class Go : uint8_t { wait, yes, no };
  std::atomic<Go> go_{Go::wait};  // told to the helpers
  std::atomic<uint32_t> waiting_sync_{0};

  // Of the forming thread.
  std::deque<Step> steps_;
  std::vector<Segment> open_;
  uint64_t open_sum_ = 0;
  std::atomic<uint64_t> open_rows_{0};
  Clock::TimePoint open_first_, open_last_, open_chunk_;
  Request* carry_ = nullptr;  // a request that has rows left

  RingBuffer<Step*> free_, loaded_, computed_;  // overlap_io, pipelines
  // Of a pipeline.
  std::atomic<size_t> stages_{1};
  struct Stage {
    explicit Stage(size_t steps) : handed(steps) {}
    RingBuffer<Step*> handed;           // from the stage before
    std::atomic<uint64_t> finished{0};  // chunks
  };
  std::deque<Stage> pipeline_;
  std::vector<TensorMemory> frames_;
  std::mutex failure_mutex_;            // of steps that several stages have
  std::atomic<uint64_t> under_way_{0};  // steps between the first stage and the last
  Waiter handed_;
  std::atomic<bool> finished_{true};
  Waiter finish_;
};

}  // namespace poprt::runtime

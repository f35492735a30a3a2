// One copy of a model: its devices, its queue, and the threads that serve it. dynamic_batching.cpp
// forms steps from requests, replica_step.cpp runs them, replica_pipeline.cpp runs them on several
// IPUs at the same time, and replica.cpp contains the rest.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "runtime/queue/request.h"
#include "runtime/queue/request_queue.h"
#include "runtime/queue/ring_buffer.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/session.h"
#include "runtime/telemetry/statistics.h"

namespace poprt::runtime {

// The first request that uses the queue starts the threads: one forms steps and copies inputs, one
// computes, and one copies outputs and completes requests. Without overlap_io the first thread does
// all of it. A step in flight belongs to one thread; single-producer rings pass it on.
//
// A pipelined model has a thread for each stage instead of the computing one. Every stage except
// the last one passes a step on before it begins, so several stages have the step. A stage may
// process a chunk when the previous stage has counted it (finished), until it counts the chunk
// itself. Chunks are numbered over all steps, and chunk n uses frame n % frames for the transfers
// between IPUs.
class Replica : public std::enable_shared_from_this<Replica> {
 public:
  // `devices` has one device for each compiled-in copy, or one with enough IPUs for all copies.
  // Prepares the program on them and runs the load programs.
  Replica(std::shared_ptr<const RunnerPlan> plan, int index,
          std::vector<std::shared_ptr<device::Device>> devices,
          std::shared_ptr<TraceBuffer> traces);

  // Runs on the calling thread; `rows` must be whole batches. Throws errors of the device,
  // cancelled, and failed_precondition in a process that was forked during a call.
  void execute(const void* const* inputs, void* const* outputs, uint64_t rows);
  // Checks the request and calls execute(). Returns false if the request needs the queue, because
  // its rows are not whole batches or need a copy, or because the model is pipelined.
  bool execute_checked(std::span<const InputBinding> inputs,
                       std::span<const OutputBinding> outputs);

  RequestPtr submit(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
                    RequestCallback callback, const RequestOptions& options);

  // Refuses new requests and fails waiting ones, without waiting for that.
  void refuse_requests() noexcept;
  // Like refuse_requests(), and also ends computations. If it waits, it returns when no request is
  // left and the devices are idle. On a thread of the replica (in a callback) it never waits.
  void stop(bool waits) noexcept;
  // From now on, an incomplete batch runs at once.
  void drain_batches() noexcept;
  // Used by the destructor of the runner: like stop(), but finishes computations. Then releases the
  // devices.
  void close() noexcept;
  bool on_thread() const noexcept;
  // Whether the calling thread is one of any replica, which is so in a callback.
  static bool on_any_thread() noexcept;

  // Whether other threads run all requests, including those of execute_checked().
  bool pipelined() const noexcept { return stages_ > 1; }

  size_t in_flight() const noexcept { return queue_.in_flight(); }
  bool is_broken() const noexcept { return broken_.load(std::memory_order_acquire); }
  // Whether a started batch waits for rows.
  bool has_open_batch() const noexcept { return open_rows_.load(std::memory_order_relaxed) != 0; }

  RunnerStatistics statistics() const;
  std::vector<device::InstructionProfile> profile();
  int threads() const noexcept { return threads_; }

  // Runs lock the mutex, and so does the caller of set_fixed(), so that fixed inputs change between
  // two runs. set_fixed() throws failed_precondition in a process that was forked during a call.
  ForkMutex& device_mutex() noexcept { return device_mutex_; }
  void set_fixed(const std::vector<std::pair<size_t, TensorMemory>>& changes);

 private:
  struct Segment {  // the part of a request in a step
    Request* request;
    uint64_t first, count;      // rows of the request
    Failure failure = nullptr;  // of this request alone: run_apart()
  };
  struct Step {
    std::vector<Segment> segments;
    uint64_t rows = 0;
    Failure failure;
    std::vector<const void*> inputs;  // by chunk and anchor
    std::vector<void*> outputs;
    std::vector<bool> staged;  // by chunk: whether gather() copied its inputs
    std::vector<TensorMemory> input_memory, output_memory;
    int64_t begun = 0, loaded = 0, compute_begin = 0, compute_end = 0;
    // For a pipeline: the number of its first chunk, and the number of chunks.
    uint64_t first_chunk = 0, chunks = 0;
    std::atomic<bool> failed{false};  // whether a stage has set failure
    void clear();
  };
  enum class Formed : uint8_t { step, stopped };

  void start_threads();
  void make_steps();
  // Threads that compute and store, in addition to the forming one. They wait until all are
  // started.
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
  // Processes chunk `first` and the following ones. When the last is counted, the step belongs to
  // the next stage, and may soon be reused.
  void run_stage(size_t stage, Step& step, uint64_t first, uint64_t chunks) noexcept;
  void finish(Step& step) noexcept;
  // Waits until no step is between the first and the last stage. Requires device_mutex_. Throws
  // failed_precondition in a forked child if there is such a step, or if a thread of the parent had
  // the mutex.
  void drain();
  void wait_for_stages() noexcept;
  void check_not_abandoned() const;

  Formed form_batch(Step& step) noexcept;
  // The result of take_rows(): nothing to run yet, rows in the step, which runs now, or an open
  // batch that fills a step.
  enum class Taken { nothing, step, batch };
  Taken take_rows(Step& step, Request* r) noexcept;
  void drop_answered() noexcept;
  bool flush(Step& step, bool complete) noexcept;
  Request* next() noexcept;
  void count_answered(ErrorCode code) noexcept;
  static void mark_taken(const Segment& s) noexcept;
  void add(std::vector<Segment>& to, Request* request, uint64_t count) noexcept;
  Failure failure_for(const Request& request) noexcept;
  bool fail_step(Step& step, Request* request, Failure failure) noexcept;
  std::optional<Clock::TimePoint> flush_time() const noexcept;
  // Whether the open batch may run although it is incomplete: always, or with
  // flush_on_waiting_outputs only while a caller waits for one of its requests or has given a
  // callback for it.
  bool may_run_incomplete() const noexcept;
  // Whether the open batch runs now because the device is idle. Called by the forming thread.
  bool dispatches_now() const noexcept;

  void load(Step& step) noexcept;
  // An error that makes a step fail before it begins, or null.
  Failure failure_before_start(const Step& step) noexcept;
  void count_step(const Step& step) noexcept;
  void compute(Step& step) noexcept;
  void store(Step& step) noexcept;
  // Copy the inputs of a chunk to the memory of the step, and its outputs back to the requests.
  // With `only`, they copy the rows of this segment only, as the first of the chunk, so that an
  // error names the place of an element in the request; the other rows are padding.
  void gather(Step& step, uint64_t chunk, const Segment* only = nullptr) noexcept;
  void scatter(Step& step, uint64_t chunk, const Segment* only = nullptr) noexcept;
  // Sets the pointers of fixed inputs and of anchors that the request does not name.
  void connect(const void** inputs, void** outputs) const noexcept;
  // An injected fault before a run, or null.
  Failure injected_fault() noexcept;
  Failure session_failure(const Error& error) const noexcept;
  // Returns a failure, or null. Requires device_mutex_.
  Failure run_chunk(uint64_t chunk, const void** inputs, void** outputs) noexcept;
  // After a run that failed with `failure`: if several requests share the chunk, runs each of them
  // alone, so that a request whose data makes runs fail fails alone. Requires device_mutex_.
  Failure run_apart(Step& step, uint64_t chunk, Failure failure) noexcept;
  Failure ensure_usable() noexcept;
  Failure device_failed(const DeviceError& error) noexcept;
  Failure last_failure() const noexcept;
  Failure keep_failure(Failure failure) noexcept;

  void wait_for_end() noexcept;
  void make_sessions();
  void make_unconnected();
  void drop_sessions() noexcept;
  void release_devices() noexcept;
  static int64_t nanoseconds(Clock::TimePoint t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  }
  int64_t stamp() const noexcept;
  // Calls f(telemetry) if the session publishes telemetry.
  template <class F>
  void with_telemetry(F&& f) noexcept {
    if (!telemetry_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(sessions_mutex_);
    if (Telemetry* t = telemetry_.load(std::memory_order_relaxed)) f(*t);
  }

  const std::shared_ptr<const RunnerPlan> plan_;
  const int index_;
  const std::shared_ptr<TraceBuffer> traces_;
  Counters counters_;
  ForkMutex sessions_mutex_;  // guards changes of sessions_, for threads without device_mutex_
  bool interrupted_ = false;  // requires sessions_mutex_; future sessions are interrupted, too
  std::atomic<Telemetry*> telemetry_{nullptr};  // of sessions_[0]
  int threads_ = 1;

  ForkMutex device_mutex_;  // guards sessions, direct pointers, fixed inputs and faults
  // Empty when the replica is closed and idle.
  std::vector<std::shared_ptr<device::Device>> devices_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<const void*> direct_inputs_, request_inputs_;
  std::vector<void*> direct_outputs_, request_outputs_;
  std::vector<TensorMemory> fixed_;                           // frozen inputs
  std::vector<std::pair<size_t, TensorMemory>> new_weights_;  // replace weights of the model
  TensorMemory zeros_;                                        // for inputs that no request names
  TensorMemory dropped_memory_;
  std::vector<void*> dropped_;  // memory for outputs that no request names
  bool needs_reset_ = false;
  // The error while broken_, and for requests up to fail_until_. Guarded by failure_mutex_, because
  // a stage of a pipeline does not hold device_mutex_.
  Failure failure_;
  std::atomic<bool> broken_{false};      // whether the replica has failed permanently
  std::atomic<uint64_t> fail_until_{0};  // the last request that waited when a device failed
  std::atomic<bool> drains_{false};      // incomplete batches run at once
  std::atomic<bool> ended_{false};  // no new requests are accepted, and no submission is running
  std::atomic<bool> closed_{false};

  RequestQueue queue_;
  std::atomic<pid_t> process_{0};  // the process whose threads serve; 0: none yet
  enum class Go : uint8_t { wait, yes, no };
  std::atomic<Go> go_{Go::wait};  // read by the helper threads
  std::atomic<uint32_t> waiting_sync_{0};

  // Used by the forming thread.
  std::deque<Step> steps_;
  std::vector<Segment> open_;
  uint64_t open_sum_ = 0;
  std::atomic<uint64_t> open_rows_{0};
  Request* carry_ = nullptr;  // a request that has rows left

  RingBuffer<Step*> free_, loaded_, computed_;  // for overlap_io and pipelines
  std::atomic<size_t> handed_over_{0};          // steps that were passed on and are not stored yet
  // For a pipeline.
  std::atomic<size_t> stages_{1};
  struct Stage {
    explicit Stage(size_t steps) : handed(steps) {}
    RingBuffer<Step*> handed;           // steps from the previous stage
    std::atomic<uint64_t> finished{0};  // number of chunks
  };
  std::deque<Stage> pipeline_;
  std::vector<TensorMemory> frames_;
  mutable ForkMutex failure_mutex_;  // guards failure_, and failures of steps with several stages
  std::atomic<uint64_t> under_way_{0};  // steps between the first stage and the last
  Waiter handed_;
  std::atomic<bool> finished_{true};
  Waiter finish_;
};

}  // namespace poprt::runtime

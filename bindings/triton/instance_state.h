// One instance of a model: a runner on its own device.
//
// In synchronous mode, the default, the rows of the requests that the server passes together are
// gathered into batches and computed on the instance's thread:
//
//   requests of 3, 1 and 2 rows, compiled batch 4:   a a a b | c c 0 0
//
// In asynchronous mode, each request is submitted to the runner, which merges requests of several
// calls if rows of several requests may share a batch.
//
// If the shapes of the model are compiled on demand, a thread of the instance waits for the
// compilation and then computes the requests of that shape, so that other requests need not wait.
// In asynchronous mode, this thread is only for requests whose outputs have unknown sizes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "instance.h"
#include "model_state.h"
#include "request.h"
#include "serving/known_shapes.h"
#include "serving/timer.h"
#include "serving/worker.h"

namespace poprt::triton {

// Memory that grows if necessary and never shrinks, aligned to 64 bytes.
class Scratch {
 public:
  // Returns memory of at least that size, with undefined contents. Invalidates earlier results if
  // it has to grow.
  char* reserve(size_t bytes);

 private:
  struct Free {
    void operator()(char* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t bytes_ = 0;
};

class InstanceState : public Instance {
 public:
  // Throws serving::Error: unimplemented for an instance on a GPU; and those of
  // ModelState::take_device(), of poprt_runner_create and of poprt_runner_warm_up.
  InstanceState(ModelState& model, TRITONBACKEND_ModelInstance* instance);
  // Waits until every request has its response. If shapes are compiled on demand, requests in
  // flight are cancelled.
  ~InstanceState() override;
  InstanceState(const InstanceState&) = delete;
  InstanceState& operator=(const InstanceState&) = delete;

  // Answers and releases every request. In asynchronous mode, and for requests that wait for the
  // compilation of their shape, this may happen after the call has returned.
  void execute(std::span<TRITONBACKEND_Request*> requests) override;

 private:
  // Points in time for the server's statistics.
  struct Times {
    uint64_t begin = 0, compute_begin = 0, compute_end = 0;
  };
  using Group = std::span<std::unique_ptr<Request>>;
  using Failures = std::vector<std::optional<serving::Error>>;
  struct Pending;
  struct Waiting;

  std::vector<std::unique_ptr<Request>> accept(std::span<TRITONBACKEND_Request*> requests,
                                               uint64_t begin);
  // Returns whether all requests succeeded.
  bool run_group(Group group, Times times, std::vector<Scratch>& inputs);
  bool may_compile(Group group, serving::KnownShapes::Key& key) const;
  // Answers the requests when their shape is compiled. A request whose time limit ends earlier is
  // answered at that time.
  void run_later(Group group, serving::KnownShapes::Key key, Times times);
  void run_waiting(Waiting& waiting);
  std::string shapes_text(Group group) const;
  void submit_or_wait(std::unique_ptr<Request> request, uint64_t begin);
  void run_fixed(Group group, int64_t rows, Failures& failures, Times& times);
  void run_shaped(Group group, int64_t rows, Failures& failures, Times& times,
                  std::vector<Scratch>& inputs);
  static const void* gather(Group group, size_t input, size_t bytes, Scratch& scratch);
  // Returns whether the runner accepted the request. If not, answers the request with the error.
  bool submit(std::unique_ptr<Request> request, uint64_t begin);
  void submit_fixed(Pending& pending, const poprt_request_options& options);
  void submit_shaped(Pending& pending, const poprt_request_options& options);
  static void done(poprt_error_code code, void* pending);
  static void end_part(Pending* pending);
  void report_batches(const Times& times);
  void finish(Request& request, const serving::Error* error, Times times) noexcept;

  ModelState& model_;
  TRITONBACKEND_ModelInstance* instance_;
  int64_t device_id_ = -1;
  serving::Runner runner_;
  std::vector<Scratch> inputs_, outputs_;  // by anchor, for execute() in synchronous mode
  // For a model whose shapes are compiled on demand; otherwise null.
  std::unique_ptr<serving::KnownShapes> known_;
  std::vector<Scratch> later_inputs_;  // for `later_`
  std::mutex mutex_;
  uint64_t reported_batches_ = 0, reported_rows_ = 0;  // guarded by mutex_
  std::unique_ptr<serving::Timer> timer_;              // null if known_ is null
  std::unique_ptr<serving::Worker> later_;             // null if known_ is null
};

}  // namespace poprt::triton

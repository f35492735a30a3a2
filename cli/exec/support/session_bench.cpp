#include "exec/support/session_bench.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Session = std::unique_ptr<poprt_session, Free<poprt_session_free>>;
using Anchors = std::vector<const poprt_anchor*>;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Memory for one transfer of every anchor.
struct Transfer {
  std::vector<AnchorMemory> in, out;
  Transfer(const Anchors& inputs, const Anchors& outputs, const SessionBench& b) {
    for (const auto* a : inputs) in.emplace_back(a);
    for (const auto* a : outputs) out.emplace_back(a);
    fill_inputs(inputs, in, b.inputs, b.inputs_pb, Missing::random);
  }
};

// Handlers copy to and from the caller's memory, as in a program that does not use queues.
SessionTimes through_callbacks(const SessionBench& b, poprt_session* session, const Anchors& inputs,
                               const Anchors& outputs, const std::function<bool(size_t)>& more) {
  Transfer memory(inputs, outputs, b);
  for (size_t i = 0; i < inputs.size(); i++) {
    poprt_stream_callbacks c{};
    c.struct_size = sizeof c;
    c.user_data = memory.in[i].data();
    c.fetch = [](void* to, size_t bytes, void* from) -> int32_t {
      std::memcpy(to, from, bytes);
      return 0;
    };
    check(poprt_session_set_user_input_handler(session, poprt_anchor_name(inputs[i]), &c));
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    poprt_stream_callbacks c{};
    c.struct_size = sizeof c;
    c.user_data = memory.out[i].data();
    c.fetch = [](void* from, size_t bytes, void* to) -> int32_t {
      std::memcpy(to, from, bytes);
      return 0;
    };
    check(poprt_session_set_user_output_handler(session, poprt_anchor_name(outputs[i]), &c));
  }
  check(poprt_session_run_load_programs(session));
  for (int i = 0; i < b.warmup; i++) check(poprt_session_run_main_programs(session));
  SessionTimes times;
  const auto begin = Clock::now();
  while (more(times.ms.size())) {
    const auto start = Clock::now();
    check(poprt_session_run_main_programs(session));
    times.ms.insert(times.ms.end(), static_cast<size_t>(b.transfers), ms_since(start));
  }
  times.seconds = ms_since(begin) / 1000;
  return times;
}

// A thread of this object runs the main programs while the caller of measure() fills the queues.
class QueueBench {
 public:
  QueueBench(const SessionBench& b, poprt_session* session, const Anchors& inputs,
             const Anchors& outputs)
      : session_(session) {
    poprt_queue_options o{};
    o.struct_size = sizeof o;
    o.buffers = b.in_flight;
    check(poprt_session_create_queue_manager(session, &o, &manager_));
    for (const auto* a : inputs) {
      check(poprt_queue_manager_input_queue(manager_, poprt_anchor_name(a), &queue_));
      in_.push_back(queue_);
    }
    for (const auto* a : outputs) {
      check(poprt_queue_manager_output_queue(manager_, poprt_anchor_name(a), &queue_));
      out_.push_back(queue_);
    }
    for (size_t i = 0; i < b.in_flight; i++)
      slots_.push_back(std::make_unique<Slot>(Slot{this, Transfer(inputs, outputs, b), {}, 0}));
    check(poprt_session_run_load_programs(session));
    runner_ = std::thread([this] { run(); });
  }
  ~QueueBench() {
    poprt_queue_manager_disconnect_all(manager_);
    runner_.join();
    poprt_queue_manager_flush_all(manager_);  // waiting transfers point to our slots
  }
  QueueBench(const QueueBench&) = delete;
  QueueBench& operator=(const QueueBench&) = delete;

  std::vector<double> measure(const std::function<bool(size_t)>& more) {
    ms_.clear();
    size_t begun = 0;
    for (;; begun++) {
      Slot& slot = *slots_[begun % slots_.size()];
      if (!free(slot) || !more(begun)) break;
      slot.left = out_.size();
      slot.start = Clock::now();
      for (size_t i = 0; i < out_.size(); i++)
        check(poprt_queue_enqueue_output(out_[i], slot.memory.out[i].data(),
                                         slot.memory.out[i].bytes(), answered, &slot));
      for (size_t i = 0; i < in_.size(); i++)
        check(poprt_queue_enqueue_input(in_[i], slot.memory.in[i].data(), slot.memory.in[i].bytes(),
                                        nullptr, nullptr));
    }
    for (const auto& slot : slots_) free(*slot);
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw Failure(failure_);
    return ms_;
  }

 private:
  struct Slot {
    QueueBench* bench;
    Transfer memory;
    Clock::time_point start;
    size_t left;  // outputs that are not complete
  };

  static void answered(poprt_error_code code, void* user_data) {
    auto& slot = *static_cast<Slot*>(user_data);
    QueueBench& self = *slot.bench;
    const std::lock_guard lock(self.mutex_);
    if (code == POPRT_OK && slot.left == 1) self.ms_.push_back(ms_since(slot.start));
    slot.left--;
    self.changed_.notify_one();
  }
  // Returns false if the slot will never become free.
  bool free(Slot& slot) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return slot.left == 0 || !failure_.empty(); });
    return failure_.empty();
  }
  void run() {
    for (;;) {
      poprt_error* error = poprt_session_run_main_programs(session_);
      if (!error) continue;
      if (poprt_error_get_code(error) != POPRT_CANCELLED) {
        const std::lock_guard lock(mutex_);
        failure_ = poprt_error_message(error);
        changed_.notify_one();
      }
      poprt_error_free(error);
      // After this, no thread waits for space in a queue that is no longer read.
      poprt_queue_manager_disconnect_all(manager_);
      return;
    }
  }

  poprt_session* session_;
  poprt_queue_manager* manager_ = nullptr;
  poprt_queue* queue_ = nullptr;
  std::vector<poprt_queue*> in_, out_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<double> ms_;
  std::string failure_;
  std::thread runner_;
};

}  // namespace

SessionTimes bench_session(const SessionBench& b, const std::function<bool(size_t)>& more) {
  poprt_session_options o{};
  o.struct_size = sizeof o;
  o.threads = b.threads;
  o.exclusive = 1;
  poprt_session* made = nullptr;
  check(poprt_session_create(b.executable, &o, &made));
  const Session session(made);
  Anchors inputs, outputs;
  for (size_t i = 0; i < poprt_session_user_input_count(made); i++)
    inputs.push_back(poprt_session_user_input(made, i));
  for (size_t i = 0; i < poprt_session_user_output_count(made); i++)
    outputs.push_back(poprt_session_user_output(made, i));
  if (!b.queues) return through_callbacks(b, made, inputs, outputs, more);
  if (outputs.empty())
    throw Usage(
        "--through queues measures until an output is there, and the executable has none; give "
        "--through callbacks");
  QueueBench bench(b, made, inputs, outputs);
  bench.measure([&](size_t done) { return done < static_cast<size_t>(b.warmup); });
  SessionTimes times;
  const auto begin = Clock::now();
  times.ms = bench.measure(more);
  times.seconds = ms_since(begin) / 1000;
  return times;
}

}  // namespace poprt::cli

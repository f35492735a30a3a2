// Sessions and queues for the generated wrappers, with the types of poprt_shim.h.
//
// Callbacks of streams and timeouts run on the thread that runs programs, with two exceptions:
// `interrupt` runs on the thread that stops or unloads the session, and `invalidate_prefetched`
// also on the thread that unloads the session or replaces the callbacks. The completion of a
// queue's element runs on the thread that runs programs; on the thread that flushes, disconnects or
// frees the queues, or enqueues at the same time; or, if transfers of queues overlap with the
// computation (poprt/session.h), on a thread of the library.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "poprt/queue.h"
#include "poprt/session.h"
#include "poprt_shim.h"

// Called when an input queue has waited for its timeout.
using raw_timeout_fn = void (*)(const char* queue, void* user_data);

namespace poprt_shim {

// A predicate of the language, which is called at most once for each name and direction, while a
// session or its queues are created. Other calls of the library get the stored answer, also if they
// pass other programs. After close(), the target in the language may be freed.
class Predicate {
 public:
  void set(poprt_anchor_predicate_fn ask, void* user_data) {
    ask_ = ask;
    user_data_ = user_data;
  }
  poprt_anchor_predicate_fn function() const { return ask_ ? accepts : nullptr; }
  // From now on, a name without a stored answer is rejected, and the language is not called.
  void close() { ask_ = nullptr; }

 private:
  static int32_t accepts(const char* name, int32_t is_output, const uint32_t* programs,
                         size_t program_count, void* self) {
    auto& me = *static_cast<Predicate*>(self);
    const auto key = std::make_pair(is_output != 0, std::string(name));
    const auto known = me.answers_.find(key);
    if (known != me.answers_.end()) return known->second;
    const bool answer =
        me.ask_ && me.ask_(name, is_output, programs, program_count, me.user_data_) != 0;
    return me.answers_[key] = answer;
  }

  poprt_anchor_predicate_fn ask_ = nullptr;
  void* user_data_ = nullptr;
  std::map<std::pair<bool, std::string>, bool> answers_;
};

// The queues of a session, until it creates others or is freed. Remaining handles then refer to
// closed queues.
class Queues {
 public:
  // A running call: get() is null if the queues are closed.
  class Use {
   public:
    explicit Use(Queues& of) : of_(of) {
      const std::lock_guard<std::mutex> lock(of.mutex_);
      if (of.manager_) of.users_++;
      manager_ = of.manager_;
    }
    ~Use() {
      if (!manager_) return;
      const std::lock_guard<std::mutex> lock(of_.mutex_);
      if (--of_.users_ == 0) of_.idle_.notify_all();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    poprt_queue_manager* get() const { return manager_; }

   private:
    Queues& of_;
    poprt_queue_manager* manager_;
  };

  explicit Queues(raw_timeout_fn timeout, void* user_data)
      : timeout_(timeout), user_data_(user_data) {}

  void open(poprt_queue_manager* manager) {
    const std::lock_guard<std::mutex> lock(mutex_);
    manager_ = manager;
  }

  // Ends blocking calls and waits for running calls.
  void close() {
    std::unique_lock<std::mutex> lock(mutex_);
    poprt_queue_manager* manager = std::exchange(manager_, nullptr);
    if (!manager) return;
    lock.unlock();
    poprt_queue_manager_disconnect_all(manager);
    lock.lock();
    idle_.wait(lock, [&] { return users_ == 0; });
  }

  // Returns the mutex that a thread locks while it enqueues, because only one thread at a time may
  // use a queue.
  std::mutex& producer(const poprt_queue* queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return producers_[queue];
  }

  static void on_timeout(poprt_queue* queue, void* self) {
    const auto& me = *static_cast<Queues*>(self);
    me.timeout_(poprt_anchor_name(poprt_queue_anchor(queue)), me.user_data_);
  }

 private:
  const raw_timeout_fn timeout_;
  void* const user_data_;
  std::mutex mutex_;
  std::condition_variable idle_;
  poprt_queue_manager* manager_ = nullptr;
  int users_ = 0;
  std::map<const poprt_queue*, std::mutex> producers_;
};

inline poprt_stream_callbacks callbacks(int64_t prefetch, int64_t fetch, int64_t complete,
                                        int64_t invalidate, int64_t interrupt, int64_t user_data) {
  using Transfer = int32_t (*)(void*, size_t, void*);
  using Event = void (*)(void*);
  poprt_stream_callbacks c{};
  c.struct_size = sizeof c;
  c.prefetch = function<Transfer>(prefetch);
  c.fetch = function<Transfer>(fetch);
  c.complete = function<Event>(complete);
  c.invalidate_prefetched = function<Event>(invalidate);
  c.interrupt = function<Event>(interrupt);
  c.user_data = pointer(user_data);
  return c;
}

}  // namespace poprt_shim

// poprt_session_options with the predicate, which raw_session::make() replaces by a Predicate.
struct raw_session_options {
  poprt_session_options options{};
  poprt_anchor_predicate_fn predicate = nullptr;
  void* predicate_data = nullptr;
};

// poprt_queue_options; `timeout` receives the name of the queue.
struct raw_queue_options {
  poprt_queue_options options{};
  raw_timeout_fn timeout = nullptr;
  void* timeout_data = nullptr;
  poprt_anchor_predicate_fn predicate = nullptr;
  void* predicate_data = nullptr;
};

// The queues of a session. Any thread may use it. It may be freed before or after the session.
struct raw_queue_manager {
  std::shared_ptr<poprt_shim::Queues> queues;
};

// One queue. Any thread may use it: producers wait for each other.
struct raw_queue {
  std::shared_ptr<poprt_shim::Queues> queues;
  poprt_queue* queue;
  std::mutex& producer;

  static raw_queue* make(raw_queue_manager& manager, const char* name, bool output,
                         poprt_error** error) {
    const poprt_shim::Queues::Use use(*manager.queues);
    poprt_queue* found = nullptr;
    *error = output ? poprt_queue_manager_output_queue(use.get(), name, &found)
                    : poprt_queue_manager_input_queue(use.get(), name, &found);
    if (*error) return nullptr;
    return new raw_queue{manager.queues, found, manager.queues->producer(found)};
  }

  // An element in a queue.
  struct Element {
    poprt_run_done_fn done;
    void* user_data;
    static void on_done(poprt_error_code code, void* self) {
      const std::unique_ptr<Element> me(static_cast<Element*>(self));
      me->done(code, code == POPRT_OK ? "" : "the queue gave it back: flushed or disconnected",
               me->user_data);
    }
  };

  poprt_error* enqueue(bool output, int64_t address, int64_t bytes, int64_t done,
                       int64_t user_data) {
    const std::lock_guard<std::mutex> one_producer(producer);
    const poprt_shim::Queues::Use use(*queues);
    poprt_queue* to = use.get() ? queue : nullptr;
    const auto callback = poprt_shim::function<poprt_run_done_fn>(done);
    std::unique_ptr<Element> element;
    if (callback)
      element = std::make_unique<Element>(Element{callback, poprt_shim::pointer(user_data)});
    const poprt_queue_fn on_done = callback ? Element::on_done : nullptr;
    void* const data = poprt_shim::pointer(address);
    const auto size = static_cast<size_t>(bytes);
    Element* const given = element.get();
    poprt_error* error = output ? poprt_queue_enqueue_output(to, data, size, on_done, given)
                                : poprt_queue_enqueue_input(to, data, size, on_done, given);
    if (!error)
      static_cast<void>(element.release());  // the callback owns it and may have run already
    return error;
  }
};

// A session with the objects to which it refers.
struct raw_session {
  // The largest number of buffers that poprt_session_create_queue_manager accepts.
  static constexpr size_t kMostBuffers = size_t{1} << 20;

  poprt_shim::Predicate predicate;
  poprt_session* session = nullptr;
  std::mutex making;
  std::shared_ptr<poprt_shim::Queues> queues;

  raw_session() = default;
  raw_session(const raw_session&) = delete;
  raw_session& operator=(const raw_session&) = delete;
  ~raw_session() {
    if (queues) queues->close();
    poprt_session_free(session);
  }

  static raw_session* make(const poprt_executable* executable, const raw_session_options& o,
                           poprt_error** error) {
    auto made = std::make_unique<raw_session>();
    made->predicate.set(o.predicate, o.predicate_data);
    poprt_session_options options = o.options;
    options.struct_size = sizeof options;
    options.predicate = made->predicate.function();
    options.predicate_data = &made->predicate;
    *error = poprt_session_create(executable, &options, &made->session);
    made->predicate.close();
    return *error ? nullptr : made.release();
  }

  poprt_error* set_handler(bool output, const char* name, const poprt_stream_callbacks& callbacks) {
    const auto* c = callbacks.fetch ? &callbacks : nullptr;
    return output ? poprt_session_set_user_output_handler(session, name, c)
                  : poprt_session_set_user_input_handler(session, name, c);
  }

  raw_queue_manager* create_queue_manager(const raw_queue_options& o, poprt_error** error) {
    const std::lock_guard<std::mutex> lock(making);
    poprt_shim::Predicate asked;
    asked.set(o.predicate, o.predicate_data);
    auto next = std::make_shared<poprt_shim::Queues>(o.timeout, o.timeout_data);
    poprt_queue_options options = o.options;
    options.struct_size = sizeof options;
    options.timeout = o.timeout ? poprt_shim::Queues::on_timeout : nullptr;
    options.timeout_data = next.get();
    options.predicate = asked.function();
    options.predicate_data = &asked;
    // The library refuses such options and changes nothing, so the earlier queues stay open.
    const bool refused = options.buffers > kMostBuffers || options.timeout_ns < 0;
    if (queues && !refused) queues->close();
    poprt_queue_manager* made = nullptr;
    *error = poprt_session_create_queue_manager(session, &options, &made);
    if (*error) return nullptr;
    next->open(made);
    queues = next;
    return new raw_queue_manager{next};
  }

  poprt_error* run_programs(poprt_values values, int64_t count) {
    std::vector<uint32_t> indices;
    for (const int64_t i : poprt_shim::integers(values, count))
      indices.push_back(i >= 0 && i < UINT32_MAX ? static_cast<uint32_t>(i) : UINT32_MAX);
    return poprt_session_run_programs(session, indices.data(), indices.size());
  }
};

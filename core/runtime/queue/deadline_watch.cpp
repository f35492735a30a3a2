#include "runtime/queue/deadline_watch.h"

#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/fork_condition.h"
#include "base/fork_mutex.h"
#include "base/threads.h"
#include "base/time_slice.h"

namespace poprt::runtime {

namespace {

// Requests whose deadlines are close to each other are answered together. Waking this thread and
// those that wait for the answers costs about 10 us of CPU; with thousands of deadlines per second,
// separate wakes would take most of the time, and the last answers would be late. A request is
// answered at its deadline unless another one was answered less than this time before.
constexpr std::chrono::microseconds kTogether{500};

}  // namespace

struct DeadlineWatch::State {
  // The order of a heap whose front is the earliest deadline.
  static bool later(const RequestPtr& a, const RequestPtr& b) {
    return a->deadline() > b->deadline();
  }

  ForkMutex mutex;
  ForkCondition changed;
  std::vector<RequestPtr> heap;
  size_t limit = 64;  // length at which the heap is cleaned
  pid_t process = 0;  // the one that has the thread; 0: none yet
  bool ending = false, idle = true;
  ForkCondition left;
  std::thread::id thread;

  // Whether a parent of this process started the thread. A forked child does not have that thread.
  bool is_of_parent() const noexcept { return process != 0 && process != this_process(); }
  void forget_parent();
  void start(const std::shared_ptr<State>& self);
  void serve();
  void clean();
};

void DeadlineWatch::State::start(const std::shared_ptr<State>& self) {
  const BlockedSignals blocked;
  try {
    std::thread([self] { self->serve(); }).detach();
  } catch (const std::system_error& e) {
    fail(ErrorCode::resource_exhausted, "cannot start the thread that watches deadlines: {}",
         e.what());
  }
  process = this_process();
}

// A thread of the parent may have been in the middle of a change of the heap, so the child never
// releases the requests of the heap.
void DeadlineWatch::State::forget_parent() {
  static_cast<void>(new std::vector<RequestPtr>(std::move(heap)));
  heap = {};
  limit = 64;
  process = 0;
  idle = true;
  thread = {};
}

void DeadlineWatch::State::clean() {
  std::erase_if(heap, [](const RequestPtr& r) { return !r->queued(); });
  std::make_heap(heap.begin(), heap.end(), later);
  limit = std::max<size_t>(64, heap.size() * 2);
}

void DeadlineWatch::State::serve() {
  std::unique_lock lock(mutex);
  thread = std::this_thread::get_id();
  pthread_setname_np(pthread_self(), "poprt-limits");
  request_short_time_slice();
  Clock::TimePoint quiet_until = Clock::TimePoint::min();
  while (!ending) {
    if (heap.empty()) {
      changed.wait(lock);
      continue;
    }
    const Clock::TimePoint next = heap.front()->deadline();
    const Clock::TimePoint now = std::chrono::steady_clock::now();
    if (now < next) {
      changed.wait_until(lock, std::max(next, quiet_until));
      continue;
    }
    quiet_until = now + kTogether;
    std::pop_heap(heap.begin(), heap.end(), later);
    RequestPtr late = std::move(heap.back());
    heap.pop_back();
    idle = false;
    lock.unlock();  // a callback may submit
    late->expire(now);
    late = RequestPtr();
    lock.lock();
    idle = true;
    left.notify_all();
  }
}

DeadlineWatch::DeadlineWatch() : state_(std::make_shared<State>()) {}

DeadlineWatch::~DeadlineWatch() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  if (state_->is_of_parent())
    return;  // the parent's thread, of which only the memory exists, keeps the state
  state_->changed.notify_all();
  if (std::this_thread::get_id() != state_->thread)
    state_->left.wait(lock, [this] { return state_->idle; });
  state_->heap.clear();
}

void DeadlineWatch::add(const RequestPtr& request) {
  const std::lock_guard lock(state_->mutex);
  if (state_->is_of_parent()) state_->forget_parent();
  if (state_->process == 0) state_->start(state_);
  if (state_->heap.size() >= state_->limit) state_->clean();
  state_->heap.push_back(request);
  std::push_heap(state_->heap.begin(), state_->heap.end(), State::later);
  if (state_->heap.front().get() == request.get()) state_->changed.notify_all();
}

}  // namespace poprt::runtime

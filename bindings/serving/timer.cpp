#include "serving/timer.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace poprt::serving {

struct Timer::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Id, std::function<void()>> functions;  // mutex guards it and the next members
  uint64_t next = 0;
  bool end = false;
};

Timer::Timer() : state_(std::make_shared<State>()), thread_([state = state_] { run(*state); }) {}

Timer::~Timer() {
  std::map<Id, std::function<void()>> dropped;  // destroyed after the mutex is unlocked
  {
    const std::lock_guard lock(state_->mutex);
    state_->end = true;
    dropped.swap(state_->functions);
  }
  state_->changed.notify_one();
  // A function may own the last reference to the owner of this object, and then destroys it.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

Timer::Id Timer::add(Clock::time_point time, std::function<void()> function) {
  Id id;
  bool first = false;
  {
    const std::lock_guard lock(state_->mutex);
    id = {time, state_->next++};
    state_->functions.emplace(id, std::move(function));
    first = state_->functions.begin()->first == id;
  }
  if (first) state_->changed.notify_one();
  return id;
}

void Timer::remove(const Id& id) {
  std::function<void()> removed;  // destroyed after the mutex is unlocked
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->functions.find(id);
  if (found == state_->functions.end()) return;
  removed.swap(found->second);
  state_->functions.erase(found);
}

void Timer::run(State& state) {
  std::unique_lock lock(state.mutex);
  while (!state.end) {
    if (state.functions.empty()) {
      state.changed.wait(lock, [&] { return state.end || !state.functions.empty(); });
      continue;
    }
    const auto first = state.functions.begin();
    if (const Clock::time_point time = first->first.first; time > Clock::now()) {
      state.changed.wait_until(lock, time);
      continue;
    }
    std::function<void()> function = std::move(first->second);
    state.functions.erase(first);
    lock.unlock();
    function();
    function = nullptr;  // destroys its captures while the mutex is unlocked
    lock.lock();
  }
}

}  // namespace poprt::serving

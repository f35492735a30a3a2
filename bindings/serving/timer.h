// One thread that calls functions at points in time, such as the time limits of requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace poprt::serving {

class Timer {
 public:
  using Clock = std::chrono::steady_clock;
  using Id = std::pair<Clock::time_point, uint64_t>;

  Timer();
  // Functions that were not called yet are dropped. Waits for a running function, unless that
  // function destroys the object.
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls the function on the thread at that time or shortly after. The function must not throw.
  // Thread-safe.
  Id add(Clock::time_point time, std::function<void()> function);
  // Forgets the function, unless it was called or is being called. Thread-safe.
  void remove(const Id& id);

 private:
  struct State;
  static void run(State& state);

  const std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
};

}  // namespace poprt::serving

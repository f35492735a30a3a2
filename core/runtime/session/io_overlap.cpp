#include "runtime/session/io_overlap.h"

#include <pthread.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/threads.h"

namespace poprt::runtime {

IoOverlap::IoOverlap() : process_(getpid()) {
  const BlockedSignals blocked;
  try {
    loading_ = std::thread([this] { serve(true); });
    storing_ = std::thread([this] { serve(false); });
  } catch (const std::system_error& e) {
    ending_.store(true);
    changed_.notify();
    if (loading_.joinable()) loading_.join();
    fail(ErrorCode::resource_exhausted, "cannot start the session's threads for I/O: {}", e.what());
  }
}

IoOverlap::~IoOverlap() {
  if (!usable()) {
    loading_.detach();
    storing_.detach();
    return;
  }
  ending_.store(true, std::memory_order_release);
  changed_.notify();
  loading_.join();
  storing_.join();
}

bool IoOverlap::usable() const noexcept { return process_ == getpid(); }

void IoOverlap::serve(bool loads) noexcept {
  pthread_setname_np(pthread_self(), loads ? "poprt-load" : "poprt-store");
  for (uint64_t seen = 0;; seen++) {
    changed_.wait([&] {
      return runs_.load(std::memory_order_acquire) != seen ||
             ending_.load(std::memory_order_acquire);
    });
    if (runs_.load(std::memory_order_acquire) == seen) return;
    if (loads)
      work_through(&Work::load, stored_, kSlots, loaded_);
    else
      work_through(&Work::store, computed_, 0, stored_);
    idle_.fetch_add(1, std::memory_order_release);  // pairs with run()
    changed_.notify();
  }
}

// Processes the items up to end_. Each waits until the previous stage has processed it; loading
// waits until the item that used the same slot before is stored.
void IoOverlap::work_through(Stage stage, const std::atomic<uint64_t>& before, uint64_t ahead,
                             std::atomic<uint64_t>& done) noexcept {
  for (uint64_t item = 0;; item++) {
    changed_.wait([&] {
      return item >= end_.load(std::memory_order_acquire) ||
             before.load(std::memory_order_acquire) + ahead > item;
    });
    if (item >= end_.load(std::memory_order_acquire)) return;
    try {
      (work_->*stage)(item);
    } catch (...) {
      return fail_at(item, std::current_exception(), stage == &Work::load);
    }
    done.store(item + 1, std::memory_order_release);
    changed_.notify();
  }
}

void IoOverlap::fail_at(uint64_t item, std::exception_ptr why, bool loading) noexcept {
  {
    const std::lock_guard lock(failure_mutex_);
    if (item >= end_.load(std::memory_order_relaxed))
      return;  // an earlier item has failed in the meantime
    failure_ = std::move(why);
    end_.store(item, std::memory_order_release);
  }
  changed_.notify();
  if (!loading) work_->interrupt();
}

void IoOverlap::run(uint64_t count, Work& work) {
  work_ = &work;
  failure_ = nullptr;
  for (auto* stage : {&loaded_, &computed_, &stored_}) stage->store(0, std::memory_order_relaxed);
  idle_.store(0, std::memory_order_relaxed);
  end_.store(count, std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);  // pairs with serve()
  changed_.notify();
  work_through(&Work::compute, loaded_, 0, computed_);
  changed_.wait([&] { return idle_.load(std::memory_order_acquire) == 2; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace poprt::runtime

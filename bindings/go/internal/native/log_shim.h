// Queues log messages for a thread of the language. The thread that logs only queues them, because
// it may hold a lock that the receiver needs (Python's), and a receiver may call the library.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "poprt/log.h"

// The messages of one receiver until close(). One thread calls take(); any thread may call close().
struct raw_log {
  raw_log() {
    Receivers& all = receivers();
    const std::lock_guard<std::mutex> one(all.setting);
    const bool first = all.change([&] { all.list.push_back(this); }) == 1;
    if (first) poprt_log_set_callback(on_message, nullptr);
  }
  ~raw_log() { close(); }
  raw_log(const raw_log&) = delete;
  raw_log& operator=(const raw_log&) = delete;

  // Stops adding messages. The queued ones can still be taken.
  void close() {
    {
      Receivers& all = receivers();
      const std::lock_guard<std::mutex> one(all.setting);
      bool last = false;
      all.change([&] {
        const auto at = std::find(all.list.begin(), all.list.end(), this);
        if (at == all.list.end()) return;
        all.list.erase(at);
        last = all.list.empty();
      });
      if (last) poprt_log_set_callback(nullptr, nullptr);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // Waits for the next message, which level() and text() then return. Returns false if the receiver
  // is closed and all messages are taken.
  bool take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !messages_.empty(); });
    if (messages_.empty()) return false;
    last_ = std::move(messages_.front());
    messages_.pop_front();
    if (messages_.empty()) full_ = false;
    return true;
  }

  int32_t level() const { return last_.level; }
  const char* text() const { return last_.text.c_str(); }

 private:
  struct Message {
    poprt_log_level level = POPRT_LOG_TRACE;
    std::string text;
  };

  struct Receivers {
    std::mutex setting;  // for adding and removing receivers: held while the C callback is set
    std::mutex listing;  // protects `list`: the C callback locks it, so it is not held while the C
                         // callback is set, which waits for a running callback
    std::vector<raw_log*> list;

    template <class Change>
    size_t change(Change change) {
      const std::lock_guard<std::mutex> lock(listing);
      change();
      return list.size();
    }
  };

  static Receivers& receivers() {
    static auto* const r =
        new Receivers;  // never destroyed: threads may log while the process exits
    return *r;
  }

  static void on_message(poprt_log_level level, const char* message, void*) {
    Receivers& all = receivers();
    const std::lock_guard<std::mutex> lock(all.listing);
    for (raw_log* log : all.list) log->add(level, message);
  }

  // A receiver that is too slow loses messages until it has taken all that are queued. The last
  // queued one then reports the loss.
  void add(poprt_log_level level, const char* text) {
    constexpr size_t room = 10000;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (full_) return;
    full_ = messages_.size() == room;
    if (full_)
      messages_.push_back({POPRT_LOG_WARNING, "messages were lost: the receiver is too slow"});
    else
      messages_.push_back({level, text});
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  Message last_;
  bool full_ = false;  // whether messages are lost; reset when all are taken
  bool closed_ = false;
};

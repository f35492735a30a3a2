// Finds clients that have closed their connections of HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "serve/cancellation.h"

namespace poprt::serve {

// libmicrohttpd waits for events of a connection once per change (EPOLLET), and after a read that
// is shorter than its buffer it waits for the next event. So it does not see the end of a stream
// that arrives together with data, and such a connection would remain until its time limit. A
// thread of this class waits for these ends, and repeats the event until the connection is removed.
// Thread-safe.
class ClosedClients {
 public:
  // Throws Error (unavailable) if the system has no more file descriptors or threads.
  ClosedClients();
  ~ClosedClients();
  ClosedClients(const ClosedClients&) = delete;
  ClosedClients& operator=(const ClosedClients&) = delete;

  // `socket` must stay open until remove() was called.
  void add(int socket);
  void remove(int socket);
  // From now on, a client that closes the connection cancels this request, which has just been
  // received, instead of the previous one. If it closes within 100 ms and the connection has no
  // error, nothing is cancelled: a client may close its sending side right after the request.
  void cancel_if_closed(int socket, std::shared_ptr<Cancellation> request);
  // How many sockets were added and not removed.
  size_t size() const;

 private:
  struct Request {
    std::shared_ptr<Cancellation> cancellation;  // or null
    std::chrono::steady_clock::time_point begin;
  };
  struct Connection {
    uint32_t number;  // another one has another number, even if it has the same descriptor
    Request last;
  };
  void run();
  void close_descriptors() const;

  int epoll_ = -1, stop_ = -1;
  mutable std::mutex mutex_;
  std::map<int, Connection> sockets_;  // guarded by mutex_
  std::set<int> closed_;  // those of sockets_ whose clients have closed them; guarded by mutex_
  uint32_t added_ = 0;    // guarded by mutex_
  std::thread thread_;
};

}  // namespace poprt::serve

#include "serve/closed_clients.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <system_error>
#include <utility>
#include <vector>

#include "serving/handles.h"

namespace poprt::serve {
namespace {

using serving::Error;

// The time between two events of a connection. The event is repeated, because the library may read
// data and miss the end again.
constexpr int kRepeatMilliseconds = 100;

// How long after a request its client may close the sending side.
constexpr std::chrono::milliseconds kHalfClose{100};

// The data of an event: the number of the connection, and its descriptor. An event may be read
// before its connection is removed, and handled after a new one has got the descriptor.
uint64_t event_data(uint32_t number, int descriptor) {
  return uint64_t{number} << 32 | static_cast<uint32_t>(descriptor);
}
int descriptor_of(uint64_t data) { return static_cast<int>(data & UINT32_MAX); }
uint32_t number_of(uint64_t data) { return static_cast<uint32_t>(data >> 32); }

}  // namespace

ClosedClients::ClosedClients() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = event_data(0, stop_);
  try {
    if (epoll_ < 0 || stop_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, stop_, &event) != 0)
      throw std::system_error(errno, std::generic_category());
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    close_descriptors();
    throw Error(POPRT_UNAVAILABLE, "HTTP cannot watch its connections: " + e.code().message());
  }
}

ClosedClients::~ClosedClients() {
  eventfd_write(stop_, 1);
  thread_.join();
  close_descriptors();
}

void ClosedClients::close_descriptors() const {
  for (const int descriptor : {epoll_, stop_})
    if (descriptor >= 0) close(descriptor);
}

void ClosedClients::add(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_[socket] = {++added_, {}};
  epoll_event event = {};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.u64 = event_data(added_, socket);
  // Without memory for it, the connection ends at its time limit.
  static_cast<void>(epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event));
}

void ClosedClients::remove(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_.erase(socket);
  closed_.erase(socket);
  static_cast<void>(epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr));
}

void ClosedClients::cancel_if_closed(int socket, std::shared_ptr<Cancellation> request) {
  Request next = {std::move(request), std::chrono::steady_clock::now()};
  const std::lock_guard lock(mutex_);
  std::swap(sockets_.at(socket).last, next);
}

size_t ClosedClients::size() const {
  const std::lock_guard lock(mutex_);
  return sockets_.size();
}

void ClosedClients::run() {
  for (int timeout = -1;;) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_, events, 64, timeout);
    std::vector<std::shared_ptr<Cancellation>> given_up;
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < count; i++) {
        if (descriptor_of(events[i].data.u64) == stop_) return;
        const auto found = sockets_.find(descriptor_of(events[i].data.u64));
        if (found == sockets_.end() || found->second.number != number_of(events[i].data.u64))
          continue;
        closed_.insert(found->first);
        Request& request = found->second.last;
        const auto age = std::chrono::steady_clock::now() - request.begin;
        const bool failed = (events[i].events & (EPOLLHUP | EPOLLERR)) != 0;
        if (request.cancellation && (failed || age >= kHalfClose))
          given_up.push_back(std::move(request.cancellation));
      }
      // This wakes those who wait for the socket. Data that has arrived before can still be read.
      for (const int socket : closed_) shutdown(socket, SHUT_RD);
      timeout = closed_.empty() ? -1 : kRepeatMilliseconds;
    }
    for (const auto& request : given_up) request->cancel();
  }
}

}  // namespace poprt::serve

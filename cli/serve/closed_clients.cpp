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

}  // namespace

ClosedClients::ClosedClients() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = stop_;
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
  sockets_[socket] = {};
  epoll_event event = {};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.fd = socket;
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
  std::swap(sockets_.at(socket), next);
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
        if (events[i].data.fd == stop_) return;
        const auto found = sockets_.find(events[i].data.fd);
        if (found == sockets_.end()) continue;
        closed_.insert(found->first);
        const auto age = std::chrono::steady_clock::now() - found->second.begin;
        const bool failed = (events[i].events & (EPOLLHUP | EPOLLERR)) != 0;
        if (found->second.cancellation && (failed || age >= kHalfClose))
          given_up.push_back(std::move(found->second.cancellation));
      }
      // This wakes those who wait for the socket. Data that has arrived before can still be read.
      for (const int socket : closed_) shutdown(socket, SHUT_RD);
      timeout = closed_.empty() ? -1 : kRepeatMilliseconds;
    }
    for (const auto& request : given_up) request->cancel();
  }
}

}  // namespace poprt::serve

// One JSON object per line for each request.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace poprt::serve {

// Thread-safe.
class AccessLog {
 public:
  // If `path` is "", nothing is written; "-" is the standard output. `report` (may be null) gets a
  // line when a request cannot be written, unless the one before could not be written either.
  // Throws std::runtime_error if the file cannot be opened.
  explicit AccessLog(std::string path,
                     std::function<void(const std::string& line)> report = nullptr);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  bool is_enabled() const { return !path_.empty(); }
  // `what` is a method and path of HTTP, or the name of a method of gRPC; `status` is that of the
  // protocol.
  void write(const char* protocol, const std::string& what, int status, size_t bytes_in,
             size_t bytes_out, std::chrono::steady_clock::time_point begin);
  // Opens the file again, which another program may have renamed. After an error, which is
  // reported, writes into the old one.
  void reopen();

 private:
  const std::string path_;
  const std::function<void(const std::string& line)> report_;
  std::mutex mutex_;
  int file_ = -1;        // guarded by mutex_
  bool failed_ = false;  // whether the last line could not be written; guarded by mutex_
};

}  // namespace poprt::serve

// One JSON object per line for each request.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

namespace poprt::serve {

// Thread-safe.
class AccessLog {
 public:
  // If `path` is "", nothing is written; "-" is stdout. Throws std::runtime_error if the file
  // cannot be opened.
  explicit AccessLog(const std::string& path);
  bool is_enabled() const { return file_ != nullptr; }
  // `what` is a method and path of HTTP, or the name of a method of gRPC; `status` is that of the
  // protocol.
  void write(const char* protocol, const std::string& what, int status, size_t bytes_in,
             size_t bytes_out, std::chrono::steady_clock::time_point begin);

 private:
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdout) std::fclose(file);
    }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::mutex mutex_;
};

}  // namespace poprt::serve

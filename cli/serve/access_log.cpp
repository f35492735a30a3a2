#include "serve/access_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace poprt::serve {
namespace {

int open_file(const std::string& path) {
  return path == "-" ? STDOUT_FILENO
                     : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

void close_file(int file) {
  if (file > STDERR_FILENO) ::close(file);
}

bool write_all(int file, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) written += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

AccessLog::AccessLog(std::string path, std::function<void(const std::string& line)> report)
    : path_(std::move(path)), report_(std::move(report)) {
  if (path_.empty()) return;
  file_ = open_file(path_);
  if (file_ < 0)
    throw std::runtime_error("--access_log: '" + path_ +
                             "' cannot be written: " + std::strerror(errno));
}

AccessLog::~AccessLog() { close_file(file_); }

void AccessLog::write(const char* protocol, const std::string& what, int status, size_t bytes_in,
                      size_t bytes_out, std::chrono::steady_clock::time_point begin) {
  if (!is_enabled()) return;
  using std::chrono::duration_cast;
  const auto us =
      duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  const auto time =
      duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  const nlohmann::ordered_json line = {{"time_ms", time.count()},  {"protocol", protocol},
                                       {"request", what},          {"status", status},
                                       {"bytes_in", bytes_in},     {"bytes_out", bytes_out},
                                       {"duration_us", us.count()}};
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  const bool failed = !write_all(file_, text);
  if (failed && !failed_ && report_)
    report_("--access_log: requests are missing: " + std::string(std::strerror(errno)));
  failed_ = failed;
}

void AccessLog::reopen() {
  if (!is_enabled()) return;
  const int file = open_file(path_);
  if (file < 0) {
    if (report_)
      report_("--access_log: '" + path_ + "' cannot be opened again: " + std::strerror(errno));
    return;
  }
  const std::lock_guard lock(mutex_);
  close_file(std::exchange(file_, file));
}

}  // namespace poprt::serve

#include "serve/access_log.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace poprt::serve {

AccessLog::AccessLog(const std::string& path) {
  if (path.empty()) return;
  file_.reset(path == "-" ? stdout : std::fopen(path.c_str(), "a"));
  if (!file_) throw std::runtime_error("'" + path + "' cannot be written");
  std::setvbuf(file_.get(), nullptr, _IOLBF, 4096);
}

void AccessLog::write(const char* protocol, const std::string& what, int status, size_t bytes_in,
                      size_t bytes_out, std::chrono::steady_clock::time_point begin) {
  if (!file_) return;
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
  std::fwrite(text.data(), 1, text.size(), file_.get());
}

}  // namespace poprt::serve

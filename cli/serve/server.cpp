#include "serve/server.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace poprt::serve {

void Token::set(std::string token) {
  const std::lock_guard lock(mutex_);
  token_ = std::move(token);
}

bool Token::allows(std::string_view given) const {
  constexpr std::string_view kScheme = "bearer ";  // in any case
  const std::lock_guard lock(mutex_);
  if (token_.empty()) return true;
  if (given.size() < kScheme.size()) return false;
  for (size_t i = 0; i < kScheme.size(); i++)
    if (std::tolower(static_cast<unsigned char>(given[i])) != kScheme[i]) return false;
  given.remove_prefix(kScheme.size());
  while (!given.empty() && given.front() == ' ') given.remove_prefix(1);
  while (!given.empty() && given.back() == ' ') given.remove_suffix(1);
  unsigned difference = given.size() == token_.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); i++)
    difference |= static_cast<unsigned>(given[i] ^ token_[i % token_.size()]);
  return difference == 0;
}

namespace {

// Removes what does not help the user from the reason of a library: the place in gRPC's source, the
// number in the message of libmicrohttpd, which is not that of the port, and the final period.
std::string short_reason(std::string reason) {
  constexpr std::string_view kBind = "Failed to bind to port ";
  if (const size_t at = reason.find(": "); reason.starts_with(kBind) && at != std::string::npos)
    reason.erase(0, at + 2);
  if (reason.starts_with("UNKNOWN:")) reason.erase(0, std::string_view("UNKNOWN:").size());
  reason.erase(std::min(reason.find(" {"), reason.size()));
  if (reason.ends_with('.')) reason.pop_back();
  return reason;
}

}  // namespace

std::string start_failure(const std::string& protocol, const ServerOptions& options,
                          const std::string& given_reason) {
  const std::string reason = short_reason(given_reason);
  constexpr const char* kExpected =
      "; expected a certificate and the private key that belongs to it, both as PEM, in "
      "--tls_certificate and --tls_key";
  if (reason.find("TLS") != std::string::npos || reason.find(" Ssl") != std::string::npos)
    return protocol + " cannot use the certificate with the key: " + reason + kExpected;
  const std::string message = protocol + " cannot listen on " +
                              address_and_port(options.address, options.port) +
                              (reason.empty() ? "" : ": " + reason);
  const bool in_use = reason.find("ddress already in use") != std::string::npos;
  if (options.certificate.empty() || in_use) return message;
  return message + kExpected;
}

std::string address_and_port(const std::string& address, int port) {
  const bool brackets = address.find(':') != std::string::npos;
  return (brackets ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace poprt::serve

#include "serve/server.h"

namespace poprt::serve {

bool is_bearer_token(const std::string& header, const std::string& token) {
  const std::string expected = "Bearer " + token;
  unsigned difference = header.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < header.size(); i++)
    difference |= static_cast<unsigned>(header[i] ^ expected[i % expected.size()]);
  return difference == 0;
}

std::string address_and_port(const std::string& address, int port) {
  const bool brackets = address.find(':') != std::string::npos;
  return (brackets ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace poprt::serve

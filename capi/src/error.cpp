#include "poprt/error.h"

#include <fmt/format.h>

#include <string>

#include "guard.h"

namespace poprt::capi {
namespace {

poprt_error& no_memory() {
  static auto* const error = new poprt_error{ErrorCode::resource_exhausted, "out of memory"};
  return *error;
}
// Made while the library is loaded, when there is memory.
const poprt_error& made_early = no_memory();

// One line that a terminal can take: names in it come from models. The cause is at the end.
std::string printable(std::string_view message) {
  constexpr size_t kHead = 500, kTail = 900;
  if (message.size() > kHead + kTail)
    return printable(message.substr(0, kHead)) + " ... " +
           printable(message.substr(message.size() - kTail));
  std::string line;
  for (const char c : message) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f)
      line += fmt::format("\\x{:02x}", u);
    else
      line += c;
  }
  return line;
}

}  // namespace

poprt_error* make_error(ErrorCode code, std::string_view message) noexcept {
  try {
    return new poprt_error{code, printable(message)};
  } catch (...) {
    return const_cast<poprt_error*>(&made_early);
  }
}

}  // namespace poprt::capi

using namespace poprt;

poprt_error_code poprt_error_get_code(const poprt_error* error) {
  return error ? static_cast<poprt_error_code>(error->code) : POPRT_OK;
}

const char* poprt_error_message(const poprt_error* error) {
  return error ? error->message.c_str() : "";
}

void poprt_error_free(poprt_error* error) {
  if (error != &capi::made_early) delete error;
}

const char* poprt_error_code_name(poprt_error_code code) {
  return error_code_name(static_cast<ErrorCode>(code)).data();  // of string literals
}

#include "poprt/error.h"

#include <fmt/format.h>

#include <string>

#include "guard.h"
#include "popef/error.h"

namespace poprt::capi {
namespace {

poprt_error& no_memory() {
  static auto* const error = new poprt_error{ErrorCode::resource_exhausted, "out of memory"};
  return *error;
}
// Allocated when the library is loaded, while memory is available.
const poprt_error& made_early = no_memory();

template <class E>
bool is(const Error& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

poprt_popef_error_class popef_class(const Error& e) {
  if (is<popef::FileError>(e)) return POPRT_POPEF_FILE_ERROR;
  if (is<popef::FormatError>(e)) return POPRT_POPEF_FORMAT_ERROR;
  if (is<popef::VersionError>(e)) return POPRT_POPEF_VERSION_ERROR;
  if (is<popef::LinkError>(e)) return POPRT_POPEF_LINK_ERROR;
  if (is<popef::InactiveWriterError>(e)) return POPRT_POPEF_INACTIVE_WRITER;
  if (is<popef::SizeError>(e)) return POPRT_POPEF_SIZE_ERROR;
  return POPRT_POPEF_NO_CLASS;
}

// Returns one line without control characters because names in it come from models. The cause is at
// the end.
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
  } catch (const std::exception&) {
    return const_cast<poprt_error*>(&made_early);
  }
}

poprt_error* make_error(const Error& error) noexcept {
  poprt_error* made = make_error(error.code(), error.message());
  if (made != &made_early) made->popef_class = popef_class(error);
  return made;
}

}  // namespace poprt::capi

using namespace poprt;

poprt_error_code poprt_error_get_code(const poprt_error* error) {
  return error ? static_cast<poprt_error_code>(error->code) : POPRT_OK;
}

const char* poprt_error_message(const poprt_error* error) {
  return error ? error->message.c_str() : "";
}

poprt_popef_error_class poprt_popef_error_get_class(const poprt_error* error) {
  return error ? error->popef_class : POPRT_POPEF_NO_CLASS;
}

void poprt_error_free(poprt_error* error) {
  if (error != &capi::made_early) delete error;
}

const char* poprt_error_code_name(poprt_error_code code) {
  return error_code_name(static_cast<ErrorCode>(code)).data();  // a string literal
}

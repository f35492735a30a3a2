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

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns the number of bytes of the first character, or 0 if it is not valid UTF-8 (RFC 3629).
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; i++)
    if (!is_continuation(text[i])) return 0;
  // Overlong forms, surrogates and numbers above 0x10ffff differ in the second byte.
  const unsigned second = byte(1);
  const bool outside = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return outside ? 0 : size;
}

// Returns the position of the first byte of the character that contains the byte at `at`, or `at`
// if that byte is not part of valid UTF-8.
size_t character_start(std::string_view text, size_t at) {
  size_t start = at;
  while (start > 0 && at - start < 3 && is_continuation(text[start])) start--;
  return start + character_size(text.substr(start)) > at ? start : at;
}

// Returns one line of UTF-8 without control characters, because names in it come from models and
// paths. A long message loses its middle, because the cause is at its end.
std::string printable(std::string_view message) {
  constexpr size_t kHead = 500, kTail = 900;
  if (message.size() > kHead + kTail) {
    const size_t head = character_start(message, kHead);
    size_t tail = message.size() - kTail;
    if (const size_t start = character_start(message, tail); start != tail)
      tail = start + character_size(message.substr(start));
    return printable(message.substr(0, head)) + " ... " + printable(message.substr(tail));
  }
  std::string line;
  for (size_t at = 0; at < message.size();) {
    const auto u = static_cast<unsigned char>(message[at]);
    const size_t size = u < 0x20 || u == 0x7f ? 0 : character_size(message.substr(at));
    if (size == 0)
      line += fmt::format("\\x{:02x}", u);
    else
      line += message.substr(at, size);
    at += size ? size : 1;
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

// Decodes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace poprt::cli {

struct Character {
  char32_t code;
  size_t bytes;
};

// Returns the character at the start of the text, or nothing if the text does not start with a
// valid one. Surrogates, codes beyond U+10FFFF and encodings that are longer than necessary are not
// valid.
inline std::optional<Character> first_character(std::string_view text) {
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (text.empty()) return std::nullopt;
  const auto head = static_cast<uint8_t>(text[0]);
  const size_t more = head < 0x80 ? 0 : head >> 5 == 6 ? 1 : head >> 4 == 14 ? 2 : 3;
  if ((more == 3 && head >> 3 != 30) || more >= text.size()) return std::nullopt;
  char32_t code = more == 0 ? head : head & (0x3f >> more);
  for (size_t k = 1; k <= more; k++) {
    const auto byte = static_cast<uint8_t>(text[k]);
    if (byte >> 6 != 2) return std::nullopt;
    code = code << 6 | (byte & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[more] || code > 0x10ffff || surrogate) return std::nullopt;
  return Character{code, more + 1};
}

}  // namespace poprt::cli

#include "model/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace poprt::inspector {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the valid UTF-8 sequence that starts at `at`; 0 if it is not valid (Unicode 15, table
// 3-7). After four of the leading bytes the second byte has a smaller range, without overlong
// sequences, surrogates and numbers above 0x10ffff.
size_t sequence_bytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t bytes = lead < 0x80                   ? 1
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xf0 && lead < 0xf5 ? 4
                                                     : 0;
  if (bytes == 0 || at + bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; i++)
    if (!is_continuation(text[at + i])) return 0;
  if (bytes < 3) return bytes;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool invalid = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                       (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return invalid ? 0 : bytes;
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  static constexpr std::array<const char*, 5> units = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) value /= 1024, unit++;
  return value < 10 ? fmt::format("{:.2f} {}", value, units[unit])
                    : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string duration_text(double ns) {
  if (!(ns >= 0)) return "-";
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} µs", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string rate_text(double per_second) {
  if (per_second < 999.5) return fmt::format("{:.3g}/s", per_second);
  if (per_second < 1e6) return fmt::format("{:.2f} k/s", per_second / 1e3);
  return fmt::format("{:.2f} M/s", per_second / 1e6);
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

std::string counted(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string dimensions_text(std::span<const int64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const int64_t d : shape) {
    if (!text.empty()) text += "×";
    text += d < 0 ? "?" : std::to_string(d);
  }
  return text;
}

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  if (most < 5) return std::string(text.substr(0, most));
  size_t head = (most - 1) / 2, tail = text.size() - (most - 1 - head);
  while (head > 0 && is_continuation(text[head])) head--;
  while (tail < text.size() && is_continuation(text[tail])) tail++;
  return fmt::format("{}…{}", text.substr(0, head), text.substr(tail));
}

std::string printable(std::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t bytes = c < 0x20 || c == 0x7f ? 0 : sequence_bytes(text, i);
    if (bytes == 0) {
      line += fmt::format("\\x{:02x}", c);
      i++;
    } else {
      line += text.substr(i, bytes);
      i += bytes;
    }
  }
  return line;
}

bool contains_text(std::string_view text, std::string_view needle) {
  return std::search(text.begin(), text.end(), needle.begin(), needle.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end() ||
         needle.empty();
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // Returns the digits at `at` without leading zeros, and moves `at` to their end.
  const auto number = [&](std::string_view text, size_t& at) {
    const size_t first = at;
    while (at < text.size() && digit(text[at])) at++;
    const std::string_view digits = text.substr(first, at - first);
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (digit(a[i]) && digit(b[k])) {
      const std::string_view x = number(a, i), y = number(b, k);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[k]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
      i++;
      k++;
    }
  }
  const size_t left = a.size() - i, right = b.size() - k;
  return left != right ? left < right : a < b;
}

}  // namespace poprt::inspector

#include "common/text_wrapping.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace poprt::cli {
namespace {

// Number of columns of a UTF-8 text: bytes that continue a character take none.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

size_t screen_width() {
  constexpr size_t kLeast = 40, kUnknown = 80;
  if (const char* variable = std::getenv("COLUMNS")) {
    const std::string_view word(variable);
    size_t width = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), width);
    if (error == std::errc() && end == word.data() + word.size() && width > 0)
      return std::max(width, kLeast);
  }
  winsize size{};
  if (isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<size_t>(size.ws_col, kLeast);
  return kUnknown;
}

size_t text_width() { return std::min<size_t>(screen_width(), 120); }

std::string wrapped(std::string_view text, size_t width, size_t first, size_t indent) {
  std::string lines;
  size_t column = first;
  bool begins = true;  // no word is on the current line
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const size_t columns = columns_of(word);
    if (!begins && column + 1 + columns > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
      begins = true;
    }
    if (!begins) {
      lines += ' ';
      column++;
    }
    lines += word;
    column += columns;
    begins = false;
  }
  return lines;
}

}  // namespace poprt::cli

// Variants of a text: each with one number increased or decreased by one, or without one line.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poprt::test {

// Pairs of the description of a change and the changed text.
inline std::vector<std::pair<std::string, std::string>> altered_texts(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> all;
  for (size_t i = 0; i < text.size(); i++) {
    const bool begins = std::isdigit(static_cast<unsigned char>(text[i])) != 0 && i > 0 &&
                        std::string_view("[,= -(").find(text[i - 1]) != std::string_view::npos;
    if (!begins) continue;
    size_t end = i;
    while (std::isdigit(static_cast<unsigned char>(text[end])) != 0) end++;
    if (end - i > 9) {  // too large for int, for example the end of a slice to the last element
      i = end;
      continue;
    }
    const int n = std::stoi(text.substr(i, end - i));
    const size_t line = static_cast<size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
    const size_t column =
        i - (text.rfind('\n', i) == std::string::npos ? 0 : text.rfind('\n', i) + 1);
    for (const int other : {n + 1, n - 1}) {
      if (other < 0) continue;
      std::string changed = text;
      changed.replace(i, end - i, std::to_string(other));
      all.emplace_back(fmt::format("{}:{} {} for {}", line + 1, column + 1, other, n), changed);
    }
    i = end;
  }
  size_t number = 1;
  for (size_t at = 0; at < text.size(); number++) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string changed = text;
    changed.erase(at, end - at);
    all.emplace_back(fmt::format("without line {}", number), changed);
    at = end + 1;
  }
  return all;
}

}  // namespace poprt::test

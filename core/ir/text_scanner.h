// The scanner of the text form. It reads words, punctuation and literals of an untrusted text.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ir/text_element.h"

namespace poprt::ir {

inline bool is_identifier_char(char c) {
  return is_name_char(c) && c != '.' && c != '/' && c != '-';
}

// Borrows the text. Every error contains the line and the column where it was found.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  template <class... Args>
  [[noreturn]] void error(fmt::format_string<Args...> format, Args&&... args) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); i++) {
      column++;
      if (text_[i] == '\n') line++, column = 1;
    }
    fail(ErrorCode::invalid_argument, "line {} column {}: {}", line, column,
         fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void expected(std::string_view what) const {
    if (at_ >= text_.size()) error("expected {}, found the end of the text", what);
    // At least one byte is shown. quoted() prints it as \xHH if it begins a longer UTF-8 sequence.
    size_t end = at_;
    while (end < text_.size() && end - at_ < 20 && is_name_char(text_[end])) end++;
    error("expected {}, found {}", what, quoted(text_.substr(at_, std::max<size_t>(end - at_, 1))));
  }

  // Returns the next character that is neither a space nor part of a comment; '\0' at the end.
  char peek() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        at_++;
      } else {
        return c;
      }
    }
    return '\0';
  }
  bool at_end() {
    peek();
    return at_ >= text_.size();
  }

  bool accept(char c) {
    if (at_end() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) expected(fmt::format("'{}'", c));
  }

  bool accept_word(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    const size_t end = at_ + word.size();
    if (end < text_.size() && is_identifier_char(text_[end])) return false;
    at_ = end;
    return true;
  }

  std::string_view identifier(std::string_view what) {
    const std::string_view word = take(is_identifier_char);
    if (word.empty() || (word[0] >= '0' && word[0] <= '9')) {
      at_ -= word.size();
      expected(what);
    }
    return word;
  }

  // Reads an identifier or a quoted string.
  std::string word(std::string_view what) {
    return peek() == '"' ? string() : std::string(identifier(what));
  }

  // Reads a value name after its % and ^.
  std::string name() {
    if (at_ < text_.size() && text_[at_] == '"') {
      std::string s = string();
      if (s.empty()) error("a value name is empty");
      return s;
    }
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) at_++;
    if (at_ == begin) expected("a value name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Reads a number, true, false, inf, nan:0x...
  std::string_view token() {
    const char first = peek();
    const size_t begin = at_;
    if (first == '-' || first == '+') at_++;
    while (at_ < text_.size()) {
      const char c = text_[at_], before = at_ > begin ? text_[at_ - 1] : '\0';
      const bool exponent_sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
      if (!is_identifier_char(c) && c != '.' && c != ':' && !exponent_sign) break;
      at_++;
    }
    return text_.substr(begin, at_ - begin);
  }
  // With back_to(), lets an error that is found after reading refer to the beginning of the text
  // that was read.
  size_t position() {
    peek();
    return at_;
  }
  void back_to(size_t position) { at_ = position; }

  int64_t integer() {
    const size_t begin = position();
    const auto bits = parse_element(DType::s64, token());
    if (!bits) {
      back_to(begin);
      expected("an integer of 64 bits");
    }
    return static_cast<int64_t>(*bits);
  }

  std::string string() {
    peek();
    const size_t begin = at_;
    expect('"');
    std::string out;
    for (;;) {
      if (at_ >= text_.size()) {
        at_ = begin;
        error("this string has no closing quote");
      }
      const char c = text_[at_++];
      if (c == '"') return out;
      out += c == '\\' ? escape() : c;
    }
  }

  // Reads the digits of hex"0123" and returns the bytes.
  std::string hex() {
    expect('"');
    const size_t begin = at_;
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) error("these hex digits have no closing quote");
    if ((end - begin) % 2) error("expected an even number of hex digits, found {}", end - begin);
    std::string out;
    out.reserve((end - begin) / 2);
    for (; at_ < end; at_ += 2) {
      const int high = hex_digit(text_[at_]), low = hex_digit(text_[at_ + 1]);
      if (high < 0 || low < 0) expected("two hex digits");
      out += static_cast<char>(high * 16 + low);
    }
    at_ = end + 1;
    return out;
  }

 private:
  static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }

  char escape() {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    at_++;
    switch (c) {
      case '"':
      case '\\': return c;
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x':
        if (at_ + 1 < text_.size()) {
          const int high = hex_digit(text_[at_]), low = hex_digit(text_[at_ + 1]);
          at_ += 2;
          if (high >= 0 && low >= 0) return static_cast<char>(high * 16 + low);
        }
        [[fallthrough]];
      default: at_--; error("unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH");
    }
  }

  template <class F>
  std::string_view take(F&& allowed) {
    peek();
    const size_t begin = at_;
    while (at_ < text_.size() && allowed(text_[at_])) at_++;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace poprt::ir

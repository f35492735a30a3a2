// Log levels, receivers and messages, at the path of PopRT's header.
//
//   poprt::logging::err("{} inputs, {:.2f} ms", inputs.size(), milliseconds);
#pragma once

#include <cstddef>
#include <iomanip>
#include <ios>
#include <sstream>
#include <stdexcept>
#include <string>

#include "poprt/log.hpp"

namespace poprt {
inline namespace v1 {
namespace logging {
namespace impl {

// Sets the stream to a specification of the form
// [[fill]align][sign][#][0][width][.precision][type]. Returns true for alignment ^, which a stream
// does not have: the caller pads the value. Throws std::invalid_argument for another form.
inline bool specify(std::ostream& stream, const std::string& spec) {
  std::size_t at = 0;
  bool centred = false;
  const auto aligns = [](char c) { return c == '<' || c == '>' || c == '^'; };
  const auto align = [&](char c) {
    centred = c == '^';
    stream.setf(c == '<' ? std::ios::left : std::ios::right, std::ios::adjustfield);
  };
  if (spec.size() > 1 && aligns(spec[1])) {
    stream.fill(spec[0]);
    align(spec[1]);
    at = 2;
  } else if (!spec.empty() && aligns(spec[0])) {
    align(spec[0]);
    at = 1;
  }
  if (at < spec.size() && (spec[at] == '+' || spec[at] == '-')) {
    if (spec[at++] == '+') stream << std::showpos;
  }
  if (at < spec.size() && spec[at] == '#') {
    stream << std::showbase;
    at++;
  }
  if (at < spec.size() && spec[at] == '0') {
    stream << std::setfill('0') << std::internal;
    centred = false;
    at++;
  }
  const auto number = [&] {
    int value = 0;
    while (at < spec.size() && spec[at] >= '0' && spec[at] <= '9' && value < 10000)
      value = value * 10 + (spec[at++] - '0');
    return value;
  };
  if (const int width = number()) stream.width(width);
  if (at < spec.size() && spec[at] == '.') {
    at++;
    stream.precision(number());
  }
  const char type = at < spec.size() ? spec[at++] : 0;
  if (type == 'x' || type == 'X') stream << std::hex;
  if (type == 'o') stream << std::oct;
  if (type == 'e' || type == 'E') stream << std::scientific;
  if (type == 'f' || type == 'F') stream << std::fixed;
  if (type == 'X' || type == 'E') stream << std::uppercase;
  if (at != spec.size() || (type && std::string("xXoeEfFgGds").find(type) == std::string::npos))
    throw std::invalid_argument("'{:" + spec + "}' is not a format of log messages");
  return centred;
}

// An argument of a message: anything that a stream accepts.
class Argument {
 public:
  template <class T>
  Argument(const T& value)
      : value_(&value),
        print_([](std::ostream& stream, const void* v) { stream << *static_cast<const T*>(v); }) {}
  void print(std::ostream& stream) const { print_(stream, value_); }

 private:
  const void* value_;
  void (*print_)(std::ostream&, const void*);
};

inline std::string format(const std::string& text, const Argument* arguments, std::size_t count) {
  std::string result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); i++) {
    if ((text[i] == '{' || text[i] == '}') && i + 1 < text.size() && text[i + 1] == text[i]) {
      result += text[i++];
      continue;
    }
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      result += text[i];
      continue;
    }
    const std::string field = text.substr(i + 1, end - i - 1);
    const std::size_t colon = field.find(':');
    const std::string number = field.substr(0, colon);
    // A number of more digits is larger than the number of arguments that a function can have.
    const bool possible =
        number.size() < 10 && number.find_first_not_of("0123456789") == number.npos;
    if (!possible)
      throw std::invalid_argument("the log message '" + text + "' has the field '" + field + "'");
    const std::size_t index =
        number.empty() ? next++ : static_cast<std::size_t>(std::stoul(number));
    if (index >= count)
      throw std::invalid_argument("the log message '" + text + "' has more fields than arguments");
    std::ostringstream stream;
    stream << std::boolalpha;
    const bool centred = colon != std::string::npos && specify(stream, field.substr(colon + 1));
    const std::size_t width = centred ? static_cast<std::size_t>(stream.width(0)) : 0;
    arguments[index].print(stream);
    const std::string value = stream.str();
    const std::size_t padding = value.size() < width ? width - value.size() : 0;
    result.append(padding / 2, stream.fill());
    result += value;
    result.append(padding - padding / 2, stream.fill());
    i = end;
  }
  return result;
}

template <class... Args>
void write(LogLevel level, const std::string& text, const Args&... args) {
  static constexpr int kNone = 0;
  const Argument arguments[] = {Argument(kNone), Argument(args)...};  // never empty
  poprt_log_write(static_cast<poprt_log_level>(level),
                  format(text, arguments + 1, sizeof...(args)).c_str());
}

}  // namespace impl

// Write a message into the log. Each {} is the next argument, {1} the second one. Arguments are
// what std::ostream accepts; after a colon may be the usual alignment, width, precision and type.
// Throws std::invalid_argument if the text does not fit the arguments. Since 1.0.
template <class... Args>
void trace(const std::string& text, const Args&... args) {
  impl::write(LogLevel::trace, text, args...);
}
template <class... Args>
void debug(const std::string& text, const Args&... args) {
  impl::write(LogLevel::debug, text, args...);
}
template <class... Args>
void info(const std::string& text, const Args&... args) {
  impl::write(LogLevel::info, text, args...);
}
template <class... Args>
void warn(const std::string& text, const Args&... args) {
  impl::write(LogLevel::warning, text, args...);
}
template <class... Args>
void err(const std::string& text, const Args&... args) {
  impl::write(LogLevel::error, text, args...);
}
template <class... Args>
void critical(const std::string& text, const Args&... args) {
  impl::write(LogLevel::critical, text, args...);
}

}  // namespace logging
}  // namespace v1
}  // namespace poprt

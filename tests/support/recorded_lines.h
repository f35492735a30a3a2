// Records of tests/data: lines by heading, either whole or as digests. A line that is missing and a
// line that is new both fail a test. With POPRT_WRITE_RECORDS in the environment the file is
// written instead; review its diff.
//
// Whole lines (expect_recorded) are for text that users see: messages, help, listings. A sweep that
// makes thousands of lines is kept as one digest for each heading (expect_digests), together with
// the messages in it, once each and without names and numbers. To see the lines of a sweep, set
// POPRT_RECORD_LINES to a folder: the test writes them there, so the lines before and after a
// change can be compared:
//
//   POPRT_RECORD_LINES=/tmp/before test_ops --gtest_filter='Refusals.*'
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace poprt::test {

using RecordedLines = std::map<std::string, std::set<std::string>>;

inline RecordedLines read_recorded(const std::string& path) {
  RecordedLines all;
  std::ifstream file(path);
  std::string heading;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("  "))
      all[heading].insert(line.substr(2));
    else
      heading = line;
  }
  return all;
}

inline void write_recorded(const RecordedLines& all, const std::string& path,
                           const std::string& what) {
  std::ofstream file(path);
  file << "# " << what << "\n";
  for (const auto& [heading, lines] : all) {
    if (lines.empty()) continue;
    file << heading << "\n";
    for (const std::string& line : lines) file << "  " << line << "\n";
  }
}

// Writes the lines to a file of the same name in the folder POPRT_RECORD_LINES, if that is set.
inline void write_lines_of(const RecordedLines& all, const std::string& path,
                           const std::string& what) {
  const char* folder = std::getenv("POPRT_RECORD_LINES");
  if (!folder) return;
  std::filesystem::create_directories(folder);
  write_recorded(all, (folder / std::filesystem::path(path).filename()).string(), what);
}

inline void expect_recorded(const RecordedLines& found, const std::string& path,
                            const std::string& what) {
  if (std::getenv("POPRT_WRITE_RECORDS")) return write_recorded(found, path, what);
  const RecordedLines wanted = read_recorded(path);
  ASSERT_FALSE(wanted.empty()) << path;
  const auto missing = [](const RecordedLines& from, const RecordedLines& in, const char* problem) {
    for (const auto& [heading, lines] : from) {
      const auto other = in.find(heading);
      for (const std::string& line : lines)
        EXPECT_TRUE(other != in.end() && other->second.contains(line))
            << heading << " " << problem << "\n  " << line;
    }
  };
  missing(found, wanted, "has the new line");
  missing(wanted, found, "no longer has the line");
}

// FNV-1a of 64 bits, http://www.isthe.com/chongo/tech/comp/fnv/
class Digest {
 public:
  Digest& add(std::string_view text) {
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return *this;
  }
  std::string text() const {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(state_));
    return digits.data();
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325u;
};

// The message without quoted names, with '#' for each number and each list of numbers, and at most
// 160 bytes long. An apostrophe after a letter is no quotation mark.
inline std::string message_pattern(std::string_view message) {
  std::string s;
  char quote = 0;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (quote) {
      if (c == quote) quote = 0, s += c;
      continue;
    }
    const bool in_word = !s.empty() && std::isalnum(static_cast<unsigned char>(s.back()));
    if (c == '"' || (c == '\'' && !in_word)) quote = c;
    if (std::isdigit(byte) || c == '#') {
      if (s.ends_with("#,")) s.pop_back();
      if (!s.ends_with('#')) s += '#';
    } else {
      s += byte < 0x20 || byte > 0x7e ? '?' : c;
    }
    if (s.size() >= 160) break;
  }
  return s;
}

// Returns the part of a line that is a message, or an empty text.
using MessageOf = std::function<std::string(const std::string& line)>;

// The message of an error, with its code, up to the list of what an operator supports.
inline std::string error_message_of(const std::string& line) {
  for (const char* code :
       {"invalid_argument: ", "unimplemented: ", "failed_precondition: ", "data_loss: ",
        "resource_exhausted: ", "not_found: ", "out_of_range: ", "unavailable: ", "internal: ",
        "aborted: ", "cancelled: ", "deadline_exceeded: "})
    if (const size_t at = line.find(code); at != line.npos)
      return line.substr(at, std::min(line.find(" (here opset", at), line.find(" | ", at)) - at);
  return {};
}

// Everything after the first ": ".
inline std::string message_after_colon(const std::string& line) {
  const size_t at = line.find(": ");
  return at == line.npos ? "" : line.substr(at + 2);
}

// The heading "digests" has a line for each heading of `all`; "messages" has the patterns.
inline RecordedLines digests_of(const RecordedLines& all,
                                const MessageOf& message_of = error_message_of) {
  RecordedLines digests;
  for (const auto& [heading, lines] : all) {
    Digest digest;
    for (const std::string& line : lines) {
      digest.add(line).add("\n");
      if (const std::string message = message_of(line); !message.empty())
        digests["messages"].insert(message_pattern(message));
    }
    digests["digests"].insert(heading + ": " + std::to_string(lines.size()) + " lines, " +
                              digest.text());
  }
  return digests;
}

inline void expect_digests(const RecordedLines& found, const std::string& path,
                           const std::string& what,
                           const MessageOf& message_of = error_message_of) {
  write_lines_of(found, path, what);
  expect_recorded(digests_of(found, message_of), path,
                  what +
                      " POPRT_RECORD_LINES=FOLDER writes "
                      "the lines.");
}

// Counts messages by their pattern. A line that begins with "taken" is kept unchanged.
class MessageCounts {
 public:
  void add(const std::string& message) {
    counts_[message.starts_with("taken") ? message : plain(message)]++;
  }
  void write(std::set<std::string>& lines) const {
    for (const auto& [message, count] : counts_)
      lines.insert(std::to_string(count) + " x " + message);
  }

 private:
  static std::string plain(const std::string& message) {
    std::string s;
    bool quoted = false;
    for (const char c : message) {
      if (c == '\'') quoted = !quoted;
      if (quoted && c != '\'') continue;
      if (std::isdigit(static_cast<unsigned char>(c))) {
        if (s.empty() || s.back() != '#') s += '#';
      } else {
        s += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
      }
      if (s.size() >= 160) break;
    }
    return s;
  }

  std::map<std::string, int> counts_;
};

// The message of a line "COUNT x MESSAGE" of MessageCounts, or "" if it begins with "taken".
inline std::string counted_message_of(const std::string& line) {
  const size_t at = line.find(" x ");
  return at == line.npos || line.compare(at + 3, 5, "taken") == 0 ? "" : line.substr(at + 3);
}

}  // namespace poprt::test

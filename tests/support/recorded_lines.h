// Lines by heading that a file of tests/data records: a line that is lost and one that is new both
// fail. With POPRT_WRITE_RECORDS in the environment the file is written instead; read the diff.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

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

inline void expect_recorded(const RecordedLines& found, const std::string& path,
                            const std::string& what) {
  if (std::getenv("POPRT_WRITE_RECORDS")) return write_recorded(found, path, what);
  const RecordedLines wanted = read_recorded(path);
  ASSERT_FALSE(wanted.empty()) << path;
  const auto missing = [](const RecordedLines& from, const RecordedLines& in, const char* says) {
    for (const auto& [heading, lines] : from) {
      const auto other = in.find(heading);
      for (const std::string& line : lines)
        EXPECT_TRUE(other != in.end() && other->second.contains(line))
            << heading << " " << says << "\n  " << line;
    }
  };
  missing(found, wanted, "says now");
  missing(wanted, found, "does not say any more");
}

// How often each thing is said, whatever the numbers and names in it; what begins with "taken" is
// as it is.
class SaidCounts {
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

}  // namespace poprt::test

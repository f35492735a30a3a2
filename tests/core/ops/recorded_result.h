// What a node gave, as a record tells it: a head that has to be the same, and sums that may differ
// by what rounding makes of them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/ops/result_sums.h"

namespace poprt::ops::sampled {

struct Result {
  std::string types;
  std::vector<Sums> sums;
};

inline double tolerance_of(std::string_view types) {
  for (const char* narrow : {"f16", "bf16", "f8"})
    if (types.find(narrow) != types.npos) return 2e-2;
  return 2e-4;
}

inline bool near(const Result& a, const Result& b) {
  if (a.types != b.types || a.sums.size() != b.sums.size()) return false;
  const double tolerance = tolerance_of(a.types);
  for (size_t i = 0; i < a.sums.size(); i++)
    if (!near(a.sums[i], b.sums[i], tolerance)) return false;
  return true;
}

inline std::string text_of(const Result& r) {
  std::string text = r.types;
  for (const Sums& s : r.sums) text += " | " + text_of(s);
  return text;
}

// False where what stands behind the head is no sums.
inline bool read_result(const std::string& text, Result& r) {
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 3) {
    end = std::min(text.find(" | ", begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    if (begin == 0) {
      r.types = part;
      continue;
    }
    Sums s;
    if (!read_sums(part, s)) return false;
    r.sums.push_back(s);
  }
  return true;
}

// By operator and what was chosen or changed. In a file: a line for each operator, and below it
// "  choice: result" lines.
using Results = std::map<std::string, std::map<std::string, Result>>;

inline Results read_results(const std::string& path) {
  Results all;
  std::ifstream file(path);
  std::string heading;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (!line.starts_with("  ")) {
      heading = line;
      continue;
    }
    const size_t end = line.find(": ");
    Result r;
    EXPECT_TRUE(end != line.npos && read_result(line.substr(end + 2), r)) << line;
    all[heading].emplace(line.substr(2, end - 2), r);
  }
  return all;
}

inline void write_results(const Results& all, const std::string& path, const std::string& about) {
  std::ofstream file(path);
  file << "# " << about << "\n";
  for (const auto& [op, results] : all) {
    file << op << "\n";
    for (const auto& [what, r] : results) file << "  " << what << ": " << text_of(r) << "\n";
  }
}

}  // namespace poprt::ops::sampled

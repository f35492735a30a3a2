// What a node gave, as a record tells it: a head that has to be the same, and sums that may differ
// by what rounding makes of them.
#pragma once

#include <string>
#include <vector>

#include "core/ops/result_sums.h"

namespace poprt::ops::testing {

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

}  // namespace poprt::ops::testing

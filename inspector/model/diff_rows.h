// Adds difference rows for named items that are described by a text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/diff.h"
#include "model/format.h"

namespace poprt::inspector {

using Texts = std::map<std::string, std::string, NaturalLess>;

// Adds a row for each name that only one side has, and for each different text.
inline void add_texts(const Texts& left, const Texts& right, const char* category,
                      std::vector<DiffRow>& rows) {
  for (const auto& [name, text] : left) {
    const auto found = right.find(name);
    if (found == right.end())
      rows.push_back({category, name, text, "", Change::removed, kNone, kNone});
    else if (found->second != text)
      rows.push_back({category, name, text, found->second, Change::changed, kNone, kNone});
  }
  for (const auto& [name, text] : right)
    if (!left.contains(name))
      rows.push_back({category, name, "", text, Change::added, kNone, kNone});
}

inline void add_number(std::vector<DiffRow>& rows, const char* category, const char* name,
                       const std::string& left, const std::string& right) {
  if (left != right) rows.push_back({category, name, left, right, Change::changed, kNone, kNone});
}

}  // namespace poprt::inspector

// What two documents have different.
#pragma once

#include <string>
#include <vector>

#include "model/document.h"

namespace poprt::inspector {

struct DiffRow {
  std::string category;  // "node", "weight", "anchor", "data", "memory"
  std::string name, left, right;
  Change change = Change::none;
  int left_node = kNone, right_node = kNone;
};

struct DocumentDiff {
  std::vector<DiffRow> rows;
  GraphChanges graph;  // of the right one; empty unless both have graphs
};

const char* change_name(Change change);

// Throws Error(cancelled).
DocumentDiff diff_documents(const Document& left, const Document& right, Progress& progress);

}  // namespace poprt::inspector

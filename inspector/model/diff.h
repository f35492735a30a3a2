// What two documents have different.
#pragma once

#include <string>
#include <vector>

#include "model/document.h"
#include "model/profile.h"

namespace poprt::inspector {

struct DiffRow {
  // "node", "shape" (a node whose types alone differ), "weight", "anchor", "data", "metadata",
  // "opaque", "memory", "program", "instruction", "time"
  std::string category;
  std::string name, left, right;
  Change change = Change::none;
  int left_node = kNone, right_node = kNone;
};

struct DocumentDiff {
  std::vector<DiffRow> rows;
  GraphChanges graph;  // of the right one; empty unless both have graphs
};

const char* change_name(Change change);

// One side's program, as far as it is known.
struct Measured {
  std::shared_ptr<const ProgramModel> program;    // may be null
  std::shared_ptr<const ProgramProfile> profile;  // may be null
};

// Rows of what the programs and their times have different. Times of instructions only where they
// differ by more than a hundredth of the whole run, the largest difference first.
std::vector<DiffRow> diff_programs(const Measured& left, const Measured& right);
// Whether a row is one of those, so that a measurement replaces it.
bool is_of_programs(const DiffRow& row);

// The programs of two documents, which are compiled where they must be, and their times when
// `seconds` is above 0: by turns, so that both sides meet the same machine. Throws what compiling
// throws, and Error(cancelled).
std::pair<Measured, Measured> measure_documents(const Document& left, const Compilation* left_made,
                                                const Document& right,
                                                const Compilation* right_made, double seconds,
                                                Progress& progress);

// Throws Error(cancelled).
DocumentDiff diff_documents(const Document& left, const Document& right, Progress& progress);

}  // namespace poprt::inspector

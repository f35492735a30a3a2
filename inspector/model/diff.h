// Finds the differences between two documents.
#pragma once

#include <string>
#include <vector>

#include "model/document.h"
#include "model/profile.h"

namespace poprt::inspector {

struct DiffRow {
  // "node", "shape" (only the types of a node differ), "weight", "anchor", "data", "metadata",
  // "opaque", "memory", "program", "instruction", "time" or "error" (of a value, from running both)
  std::string category;
  std::string name, left, right;
  Change change = Change::none;
  int left_node = kNone, right_node = kNone;
};

struct DocumentDiff {
  std::vector<DiffRow> rows;
  GraphChanges graph;  // for the right document; empty unless both have graphs
};

const char* change_name(Change change);

// The program of one side and its times, if known.
struct Measured {
  std::shared_ptr<const ProgramModel> program;    // may be null
  std::shared_ptr<const ProgramProfile> profile;  // may be null
};

// Rows for the differences of the programs and their times. The time of the whole run always has a
// row. Times of nodes have one only if they differ by more than a hundredth of the whole run and by
// more than their noise, largest difference first.
std::vector<DiffRow> diff_programs(const Measured& left, const Measured& right);
// Whether diff_programs() makes such rows, so that a new measurement replaces them.
bool is_of_programs(const DiffRow& row);

// Returns the programs of two documents, compiled if necessary. If `seconds` is above 0, also
// measures their times. The programs run alternately, so that changes of the machine's speed affect
// both. Throws invalid_argument for a document without a program, the errors of compiling, and
// Error(cancelled).
std::pair<Measured, Measured> measure_documents(const Document& left, const Compilation* left_made,
                                                const Document& right,
                                                const Compilation* right_made, double seconds,
                                                Progress& progress);

// Throws Error(cancelled).
DocumentDiff diff_documents(const Document& left, const Document& right, Progress& progress);

}  // namespace poprt::inspector

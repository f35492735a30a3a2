// Where two models differ: the error of each value that both compute, in the order of the graph.
//
// Both models get their common values as outputs and run on the same generated inputs. This shows
// where a narrower precision loses accuracy. Values that are outputs are not fused away, so an
// error here may differ slightly from that inside of the fused program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/document.h"
#include "model/task.h"

namespace poprt::inspector {

struct NodeError {
  std::string value;    // its name
  double relative = 0;  // rms of the differences by that of the left values; NaN: not comparable
  double largest = 0;   // absolute difference
  std::string problem;  // why they cannot be compared
};

// Throws invalid_argument if a document is not a graph, the inputs differ, or no value of floating
// point is common; the errors of compiling and running; Error(cancelled).
std::vector<NodeError> node_errors(const Document& left, const Document& right, uint64_t seed,
                                   Progress& progress);

}  // namespace poprt::inspector

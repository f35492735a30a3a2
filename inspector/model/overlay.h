// Values of nodes from a file, such as measurements of another tool, to colour a graph.
//
// JSON: an object {"node": 1.5}, or an array of objects with "node" (or "name") and "value".
// CSV: lines "node,value"; a first line whose value is not a number is a header. A node is given by
// its name, by the name of one of its results, or by that of an instruction. A name that several
// nodes have gives no value. A name of an input or output of a graph that no node computes is that
// input or output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/graph_model.h"

namespace poprt::inspector {

struct Overlay {
  std::string name;                  // of the file
  std::vector<double> values;        // of each node; NaN: none
  std::vector<std::string> unknown;  // names that the graph does not have
  std::vector<std::string> shared;   // names that several nodes have
  double least = 0, most = 0;        // of finite values
  size_t nans = 0;                   // values that are no numbers, which are the same as none

  size_t count() const;  // of nodes with a value
};

// Whether the name of the file ends in ".json" or ".csv".
bool is_overlay_file(const std::filesystem::path& path);

// Throws not_found, resource_exhausted for more than 256 MiB, and data_loss with the place of an
// invalid value or if no node is known.
Overlay read_overlay(const std::filesystem::path& path, const GraphModel& graph);
// Makes an overlay of values by name. NaN is the same as no value. Throws nothing: names without a
// node are in `unknown` and `shared`.
Overlay overlay_of(std::string name, const std::vector<std::pair<std::string, double>>& values,
                   const GraphModel& graph);

}  // namespace poprt::inspector

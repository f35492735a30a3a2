// Graphs that differ from a given one in one fact that a pass may wrongly assume: an intermediate
// value has another reader, a constant is an input, an attribute has another value, or two equal
// operands are different values. A pass may change them in any way that keeps their results.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/pass.h"

namespace poprt::test {

struct Altered {
  std::string what;
  std::unique_ptr<ir::Graph> graph;
  std::map<std::string, Tensor> feeds;         // of inputs that were constants
  std::map<std::string, ir::ValueType> types;  // of inputs whose dimensions are unknown to the pass
};

// `thorough` also changes ranks and sizes, and adds absent attributes. The cases of passes use it.
enum class Alterations { usual, thorough };

// Returns the altered graphs whose types can be inferred.
std::vector<Altered> alterations_of(const ir::Graph& graph,
                                    Alterations alterations = Alterations::thorough);

// Runs the passes over every altered graph that can be computed and compares its outputs.
void expect_same_when_altered(const ir::Graph& graph, const std::vector<passes::PassCall>& calls,
                              double tolerance, Alterations alterations = Alterations::usual);

}  // namespace poprt::test

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

struct Bent {
  std::string what;
  std::unique_ptr<ir::Graph> graph;
  std::map<std::string, Tensor> feeds;         // of inputs that were constants
  std::map<std::string, ir::ValueType> types;  // of inputs whose dimensions are unknown to the pass
};

// `thorough` also changes ranks and sizes, and adds absent attributes. The cases of passes use it.
enum class Bends { usual, thorough };

// Returns the bent graphs whose types can be inferred.
std::vector<Bent> bends_of(const ir::Graph& graph, Bends bends = Bends::thorough);

// Runs the passes over every bent graph that can be computed and compares its outputs.
void expect_same_when_bent(const ir::Graph& graph, const std::vector<passes::PassCall>& calls,
                           double tolerance, Bends bends = Bends::usual);

}  // namespace poprt::test

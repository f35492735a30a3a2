// The expected results of a graph: each node is evaluated alone, and each element has a tolerance.
//
// The tolerance is measured: the nodes run again on inputs that are moved by a few units in the
// last place, element by element, at every node. Another order of summation, a fused kernel or a
// wider intermediate type may move a result as far as it moves in these runs. So sums that cancel,
// comparisons at a tie and divisions by small numbers need no tolerances of their own, and an
// element that depends only on integers and on comparisons far from a tie must be exact.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace poprt::test {

using Feeds = std::map<std::string, Tensor>;
using Values = std::unordered_map<const ir::Value*, Tensor>;

// Evaluates one node on the given inputs. Inputs are run-time inputs if the operator supports that,
// so that constants are not packed, folded or examined as in the compiler. If, Loop and Scan run
// their bodies node by node; `outer` contains the values of enclosing graphs that the bodies read.
std::vector<Tensor> evaluate_alone(const ir::Node& node, const std::vector<Tensor>& inputs,
                                   const Values& outer = {});

// Whether the size of the node's result depends on data.
bool has_size_of_data(const ir::Node& n);

// Computes all values of the graph, node by node. If `noise` is 0, they are exact; otherwise it is
// the seed of a run with moved inputs.
Values evaluate_nodes(const ir::Graph& graph, const Feeds& feeds, uint64_t noise = 0);

// Compares the results of a compiled graph with those of its nodes, by names of outputs. Returns an
// empty string, or a description of the difference.
class Reference {
 public:
  Reference(const ir::Graph& graph, const Feeds& feeds);
  std::string difference(const std::map<std::string, Tensor>& results);

 private:
  void add_noisy_runs(size_t count);
  std::string difference(const std::string& name, const ir::Value* value, const Tensor& got) const;

  const ir::Graph& graph_;
  const Feeds& feeds_;
  Values exact_;
  bool comparable_ = true;
  std::vector<Values> noisy_;
};

}  // namespace poprt::test

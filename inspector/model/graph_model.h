// The displayed form of a graph: numbered nodes, values and nested groups, made from the IR.
//
// Graph inputs and outputs are nodes. Constants are not nodes but weights of their readers. Each
// subgraph (a branch of If, the body of Loop) is a group, and so are nodes whose names share a
// prefix that ends in '/' or '.'. Without such prefixes, repeated layers (model/repeated_layers.h)
// are groups. Groups nest. The model is immutable, so any thread may read it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "onnx/operator_doc.h"

namespace poprt::inspector {

inline constexpr int kNone = -1;
inline constexpr int kRoot = 0;  // the group that contains all others

enum class NodeKind { input, output, op };

struct GraphValue {
  std::string name;
  std::string type;  // "f32[1,3,224,224]"
  DType dtype = DType::undefined;
  bool has_shape = false;
  Shape shape;
  uint64_t bytes = 0;    // 0 if the shape is not static
  int producer = kNone;  // node that computes it
  std::vector<int> consumers;
  Tensor constant;  // defined() for weights
};

struct GraphNode {
  NodeKind kind = NodeKind::op;
  std::string op;      // "Conv", "poprt.Conv"; "input", "output"
  std::string name;    // name of the node, or of its first output
  std::string key;     // of an operator: the name that no other has (model/node_names.h)
  std::string detail;  // weights and other properties on the card, one line
  int group = kRoot;
  std::vector<int> inputs, outputs;  // values; kNone for omitted ones
  std::vector<std::pair<std::string, std::string>> attributes;
  uint64_t weight_bytes = 0;
  uint64_t output_bytes = 0;
};

struct GraphGroup {
  std::string name;  // the part that it adds to its parent's path
  std::string path;
  bool is_subgraph = false;
  int owner = kNone;   // the node that has the subgraph
  std::string scope;   // of the subgraph's name, the part in names of the compiler
  size_t repeats = 0;  // number of equal layers that it contains; 0: it is no repetition
  int parent = kNone;
  int depth = 0;
  std::vector<int> nodes, groups;  // direct members in topological order
  size_t all_nodes = 0;            // including those of inner groups
  uint64_t weight_bytes = 0;       // of all its nodes; each weight counts once
};

class NodeNames;

class GraphModel {
 public:
  explicit GraphModel(const ir::Graph& graph);

  const std::string& name() const { return name_; }
  // Versions by domain ("" is ai.onnx).
  const std::map<std::string, int64_t>& opsets() const { return opsets_; }
  // ONNX's documentation of a node's operator, if ONNX defines it.
  std::optional<onnx::OperatorDoc> documentation(int node) const;
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  const std::vector<GraphValue>& values() const { return values_; }
  const std::vector<GraphGroup>& groups() const { return groups_; }
  const GraphNode& node(int i) const { return nodes_[static_cast<size_t>(i)]; }
  const GraphValue& value(int i) const { return values_[static_cast<size_t>(i)]; }
  const GraphGroup& group(int i) const { return groups_[static_cast<size_t>(i)]; }

  // Returns the first node with that name, else the one with that key, else the node that computes
  // the value with that name. For a value that no node computes, it is the first node that reads
  // it, or kNone.
  int find(std::string_view name) const;
  // Returns the operator that an instruction with this name implements, also in a body of an If or
  // a Loop (model/node_names.h), or kNone.
  int node_of_instruction(std::string_view name) const;
  // Nodes that `node` reads from, and nodes that read from it, without duplicates.
  std::vector<int> predecessors(int node) const;
  std::vector<int> successors(int node) const;
  // Number of nodes per operator, most frequent first.
  std::vector<std::pair<std::string, size_t>> operator_counts() const;
  // Number of operators, including those of subgraphs.
  size_t operator_count() const;
  uint64_t weight_bytes() const { return groups_[kRoot].weight_bytes; }
  size_t edge_count() const;

 private:
  friend class GraphModelMaker;
  std::string name_;
  std::map<std::string, int64_t> opsets_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphValue> values_;
  std::vector<GraphGroup> groups_;
  std::shared_ptr<const NodeNames> instructions_;
};

}  // namespace poprt::inspector

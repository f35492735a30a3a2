// The graph IR: values, nodes and graphs, close enough to ONNX to round-trip it.
//
// A Graph owns its nodes and values. Pointers stay valid until the node or value is erased. One
// thread at a time may touch a graph; distinct graphs are independent. Nodes keep a topological
// order (the verifier checks it).
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"

namespace poprt::ir {

class Graph;
class Node;
class Value;

// What is known about a value. Without a rank `shape` is empty and has_shape is false. A dimension
// is kUnknownDim where unknown; `symbols` (same length, or empty) keeps ONNX's dim_param names.
struct ValueType {
  DType dtype = DType::undefined;
  bool has_shape = false;
  Shape shape;
  std::vector<std::string> symbols;

  bool is_static() const {
    return dtype != DType::undefined && has_shape && poprt::is_static(shape);
  }
  static ValueType of(DType dtype, Shape shape) { return {dtype, true, std::move(shape), {}}; }
};

// "f32[1,3,224,224]", "f32[N,3]", "f32[?,3]", "f32[*]" without a rank, "?" without anything.
std::string type_string(const ValueType& type);

struct Use {
  Node* node;
  size_t input;
};

class Value {
 public:
  const std::string& name() const { return name_; }
  Graph& graph() const { return *graph_; }
  // The node that makes it; null for a graph input or a constant.
  Node* producer() const { return producer_; }
  // Every (node, input index) that reads it, nodes of subgraphs included. Graph outputs are not
  // uses.
  const std::vector<Use>& uses() const { return uses_; }

  // The tensor when this is an initializer (producer() is null then).
  bool is_constant() const { return constant_.has_value(); }
  const Tensor& constant() const { return *constant_; }
  void set_constant(Tensor tensor);  // also sets the type

  ValueType type;

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }

 private:
  friend class Graph;
  friend class Node;
  std::string name_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  std::vector<Use> uses_;
  std::optional<Tensor> constant_;
};

using Attribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<Tensor>,
                               std::shared_ptr<Graph>, std::vector<std::shared_ptr<Graph>>>;

// An operator application. Inputs may be null (an omitted optional input); outputs never are (an
// omitted optional output is a value nobody reads, with a generated name).
class Node {
 public:
  std::string op_type;
  std::string domain;  // "" is ai.onnx; "poprt" is ours
  std::string name;
  std::map<std::string, Attribute, std::less<>> attributes;

  Graph& graph() const { return *graph_; }
  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  Value* input(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  Value* output(size_t i = 0) const { return i < outputs_.size() ? outputs_[i] : nullptr; }

  void set_input(size_t i, Value* value);  // grows the list with nulls when needed
  void set_inputs(std::span<Value* const> values);

  // The opset of this node's domain that the graph imports (0 when it imports none; 1 for ours).
  int64_t opset() const;

  bool is(std::string_view type, std::string_view in_domain = "") const {
    return op_type == type && domain == in_domain;
  }

  // Attribute by name and type; the default when absent. Throws invalid_argument naming node and
  // attribute when it has another type.
  int64_t int_attr(std::string_view key, int64_t fallback) const;
  float float_attr(std::string_view key, float fallback) const;
  std::string string_attr(std::string_view key, std::string_view fallback) const;
  std::vector<int64_t> ints_attr(std::string_view key,
                                 const std::vector<int64_t>& fallback = {}) const;
  std::vector<float> floats_attr(std::string_view key,
                                 const std::vector<float>& fallback = {}) const;
  const Attribute* find_attr(std::string_view key) const;

  // "Conv node 'name'" for messages.
  std::string describe() const;

 private:
  friend class Graph;
  Graph* graph_ = nullptr;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

class Graph {
 public:
  explicit Graph(std::string graph_name = "graph") : name(std::move(graph_name)) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  Graph* parent = nullptr;  // set on subgraphs; nodes inside may read the parent's values
  std::map<std::string, int64_t> opsets;  // domain -> version; empty on a subgraph: asks the parent
  // Free-form model metadata that export writes back ("producer_name", "ir_version", doc strings
  // ...).
  std::map<std::string, std::string> metadata;

  // In topological order. Safe to erase the current node while iterating over a copy of the list.
  std::vector<Node*> nodes() const;
  size_t node_count() const { return nodes_.size(); }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  // All values in creation order, constants and inputs included.
  std::vector<Value*> values() const;
  // A value of this graph (not of a parent) by name, or null.
  Value* find(std::string_view value_name) const;

  // Names that are taken get a numeric suffix; an empty name asks for a generated one.
  Value* add_input(std::string_view value_name, ValueType type);
  Value* add_constant(std::string_view value_name, Tensor tensor);
  // Inserts before `before` (null: at the end) with `output_count` fresh outputs named after
  // `output_names` (missing or empty names are generated).
  Node* add_node(std::string op_type, std::string domain, std::span<Value* const> inputs,
                 size_t output_count = 1, Node* before = nullptr,
                 std::span<const std::string> output_names = {});
  Node* add_node(std::string op_type, std::string domain, std::initializer_list<Value*> inputs,
                 size_t output_count = 1, Node* before = nullptr) {
    return add_node(std::move(op_type), std::move(domain),
                    std::span<Value* const>(inputs.begin(), inputs.size()), output_count, before);
  }
  // A graph output; the same value may be listed more than once.
  void add_output(Value* value) { outputs_.push_back(value); }
  void set_output(size_t i, Value* value) { outputs_[i] = value; }
  void remove_output(size_t i) {
    outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void remove_input(Value* value);
  bool is_output(const Value* value) const;
  bool is_input(const Value* value) const;

  // Every reader and graph output of `from` reads `to` instead. When `from` is a graph output its
  // name moves to `to` if `to` is made by a node and is no output itself (the user's names
  // survive).
  void replace_all_uses(Value* from, Value* to);

  // The node's outputs must have no uses and be no graph outputs. Erases the outputs too.
  void erase_node(Node* node);
  // An input or constant without uses.
  void erase_value(Value* value);
  void rename(Value* value, std::string_view value_name);
  // Moves a node in front of another.
  void move_before(Node* node, Node* before);
  // Restores a topological order (stable). Throws invalid_argument on a cycle, naming a node.
  void sort();

  // A deep copy; constants share their bytes.
  std::unique_ptr<Graph> clone() const;

  // A value name that is not taken, built from `stem`.
  std::string fresh_name(std::string_view stem);

 private:
  Value* new_value(std::string_view value_name);
  void clone_into(Graph& to, std::unordered_map<const Value*, Value*>& map) const;

  std::list<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::unordered_map<const Value*, size_t> value_slot_;
  std::unordered_map<std::string, Value*> by_name_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::unordered_map<std::string, uint64_t> name_counters_;
  friend class Node;
};

// Calls `visit` on each subgraph held by the node's attributes.
template <class F>
void for_each_subgraph(const Node& node, F&& visit) {
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&attribute)) visit(**g);
    if (const auto* gs = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute))
      for (const auto& sub : *gs) visit(*sub);
  }
}

}  // namespace poprt::ir

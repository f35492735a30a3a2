// The graph IR: values, nodes and graphs. It is close enough to ONNX that a model can be imported
// and exported without loss.
//
// A Graph owns its nodes and values. Pointers stay valid until the node or value is erased. Only
// one thread at a time may use a graph; different graphs are independent. Nodes are in topological
// order, which the verifier checks.
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

// The known type of a value. If the rank is unknown, `shape` is empty and has_shape is false. An
// unknown dimension is kUnknownDim; `symbols` (of the same length, or empty) contains ONNX's
// dim_param names.
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

// For example "f32[1,3,224,224]", "f32[N,3]", "f32[?,3]", "f32[*]" (unknown rank) or "?" (nothing
// is known).
std::string type_string(const ValueType& type);

struct Use {
  Node* node;
  size_t input;
};

class Value {
 public:
  const std::string& name() const { return name_; }
  Graph& graph() const { return *graph_; }
  // The node that computes the value; null for a graph input or a constant.
  Node* producer() const { return producer_; }
  // Every pair of a node and an input index that reads the value, including nodes of subgraphs.
  // Graph outputs are not uses.
  const std::vector<Use>& uses() const { return uses_; }

  // The tensor of an initializer, whose producer() is null.
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

// The application of an operator. An omitted optional input is null. Outputs are never null: an
// omitted optional output is a value without uses that has a generated name.
class Node {
 public:
  std::string op_type;
  std::string domain;  // "" is ai.onnx; "poprt" has the operators of this project
  std::string name;
  std::map<std::string, Attribute, std::less<>> attributes;

  Graph& graph() const { return *graph_; }
  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  Value* input(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  Value* output(size_t i = 0) const { return i < outputs_.size() ? outputs_[i] : nullptr; }

  void set_input(size_t i, Value* value);  // appends null inputs if i is beyond the end
  void set_inputs(std::span<Value* const> values);

  // The opset of this node's domain that the graph, or the nearest outer graph that lists the
  // domain, imports; 0 if none does. Always 1 for the domain "poprt", and kNewestOpset for
  // kNewestDomain (ir/newest.h).
  int64_t opset() const;

  bool is(std::string_view type, std::string_view in_domain = "") const {
    return op_type == type && domain == in_domain;
  }

  // An attribute by name and type, or the default if it is absent. Throws invalid_argument with
  // node and attribute in the message if it has another type.
  int64_t int_attr(std::string_view key, int64_t fallback) const;
  float float_attr(std::string_view key, float fallback) const;
  std::string string_attr(std::string_view key, std::string_view fallback) const;
  std::vector<int64_t> ints_attr(std::string_view key,
                                 const std::vector<int64_t>& fallback = {}) const;
  std::vector<float> floats_attr(std::string_view key,
                                 const std::vector<float>& fallback = {}) const;
  const Attribute* find_attr(std::string_view key) const;

  // Returns a text for messages, such as "Conv node 'name'".
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
  Graph* parent = nullptr;  // set for subgraphs, whose nodes may read the parent's values
  // Opsets by domain. For a domain that the map of a subgraph does not contain, the opset of its
  // parent applies; importers leave the map of a subgraph empty.
  std::map<std::string, int64_t> opsets;
  // Free-form metadata of the model, such as "producer_name", "ir_version" and doc strings. Export
  // writes it back.
  std::map<std::string, std::string> metadata;

  // The nodes in topological order. The result is a copy, so the current node may be erased during
  // iteration.
  std::vector<Node*> nodes() const;
  size_t node_count() const { return nodes_.size(); }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  // All values in the order of their creation, including constants and inputs.
  std::vector<Value*> values() const;
  // A value of this graph (not of a parent) by name, or null.
  Value* find(std::string_view value_name) const;

  // A name that is in use gets a numeric suffix; an empty name is replaced by a generated one.
  Value* add_input(std::string_view value_name, ValueType type);
  Value* add_constant(std::string_view value_name, Tensor tensor);
  // Inserts a node before `before` (null: at the end) with `output_count` new outputs. Their names
  // are `output_names`; missing or empty ones are generated, and a name that is in use gets a
  // suffix.
  Node* add_node(std::string op_type, std::string domain, std::span<Value* const> inputs,
                 size_t output_count = 1, Node* before = nullptr,
                 std::span<const std::string> output_names = {});
  Node* add_node(std::string op_type, std::string domain, std::initializer_list<Value*> inputs,
                 size_t output_count = 1, Node* before = nullptr) {
    return add_node(std::move(op_type), std::move(domain),
                    std::span<Value* const>(inputs.begin(), inputs.size()), output_count, before);
  }
  // Adds a graph output. The same value may be listed more than once.
  void add_output(Value* value) { outputs_.push_back(value); }
  void set_output(size_t i, Value* value) { outputs_[i] = value; }
  void remove_output(size_t i) {
    outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // Removes the value from the list of inputs. The value itself stays in the graph.
  void remove_input(Value* value);
  bool is_output(const Value* value) const;
  bool is_input(const Value* value) const;

  // Makes every reader and graph output of `from` read `to`. If `from` is a graph output, `to`
  // takes its name, so that the user's names survive, if a node of this graph computes `to` and
  // `to` is not an output already.
  void replace_all_uses(Value* from, Value* to);

  // Erases a node and its outputs, which must have no uses and must not be graph outputs.
  void erase_node(Node* node);
  // Erases nodes of this graph whose outputs are read only by each other. `nodes` is in topological
  // order. Takes linear time, also if the uses of a value are in another order; erase_node() for
  // each of them does not.
  void erase_nodes(std::span<Node* const> nodes);
  // Erases an input or a constant without uses.
  void erase_value(Value* value);
  void rename(Value* value, std::string_view value_name);
  // Moves a node directly before another.
  void move_before(Node* node, Node* before);
  // Restores a topological order with a stable sort. Throws invalid_argument with a node in the
  // message if there is a cycle.
  void sort();

  // A deep copy; constants share their bytes. The copy of a subgraph has the same parent and reads
  // the same values of outer graphs.
  std::unique_ptr<Graph> clone() const;

  // Returns an unused value name that begins with `stem`.
  std::string fresh_name(std::string_view stem);

 private:
  Value* new_value(std::string_view value_name);
  void clone_into(Graph& to, std::unordered_map<const Value*, Value*>& map) const;
  // Removes those values from the inputs of `nodes` whose uses are for a large part in `nodes`.
  static void drop_shared_inputs(std::span<Node* const> nodes);

  std::list<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::unordered_map<const Value*, size_t> value_slot_;
  std::unordered_map<std::string, Value*> by_name_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::unordered_map<std::string, uint64_t> name_counters_;
  friend class Node;
};

// Calls `visit` for each subgraph among the node's attributes.
template <class F>
void for_each_subgraph(const Node& node, F&& visit) {
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&attribute)) visit(**g);
    if (const auto* gs = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute))
      for (const auto& sub : *gs) visit(*sub);
  }
}

}  // namespace poprt::ir

// Converts a GraphProto to ir::Graph. Uses protobuf: only for files of this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "onnx/external_data.h"
#include "onnx/functions.h"

namespace poprt::onnx {

// A negative dimension becomes unknown. Throws invalid_argument for unknown element types and more
// than kMaxRank dimensions, and out_of_range if the size of the known dimensions overflows.
ir::ValueType value_type(const ::onnx::TypeProto& type);

// The name of the graph, or "graph".
std::string graph_title(const ::onnx::GraphProto& proto);

// Builds the graph of one model. It moves the bytes of tensors out of the proto, so it can run only
// once.
class GraphBuilder {
 public:
  // With `strict`, a domain whose opset is not imported is an error, and so is a function that uses
  // an operator whose definition differs between the opset of the function and that of the model.
  GraphBuilder(::onnx::ModelProto& model, ExternalFiles& files, bool strict)
      : model_(model), files_(files), strict_(strict), functions_(model) {}

  // `graph` must have no values and nodes; its opsets must be those that the model imports.
  void build(ir::Graph& graph);

 private:
  using Attributes = std::map<std::string, ir::Attribute, std::less<>>;

  // The names that nodes may read. The body of a function reads only names of its own scope; null
  // is an optional argument that the caller omitted.
  struct Scope {
    const Scope* outer = nullptr;
    std::unordered_map<std::string_view, ir::Value*> values;
    const ir::Value* const* find(std::string_view name) const;
  };

  // Types declared by value_info and outputs, by name.
  using Types = std::unordered_map<std::string_view, const ::onnx::TypeProto*>;

  // The graph or the function call whose nodes are added.
  struct Context {
    ir::Graph& graph;
    Scope& scope;
    int depth = 0;
    const Types* types = nullptr;
    // Only in the body of a function:
    const Function* function = nullptr;
    const Attributes* call_attributes = nullptr;
    std::string prefix;  // of names that are derived from those in the body
    const std::unordered_map<std::string_view, std::string>* result_names = nullptr;
  };

  // The next two functions count the additions to the graph, because a short file can describe a
  // large graph. They throw resource_exhausted beyond the limits of limits.h.
  void count_nodes(int64_t nodes);
  void count_inlined(int64_t nodes, uint64_t bytes);
  void reserve_names(const ::onnx::GraphProto& proto);
  void build_graph(::onnx::GraphProto& proto, Context& context);
  void build_node(::onnx::NodeProto& proto, Context& context);
  void inline_call(Function& function, const ::onnx::NodeProto& proto, const Attributes& attributes,
                   Context& context);
  Attributes read_attributes(::onnx::NodeProto& proto, Context& context);
  ir::Attribute read_attribute(::onnx::AttributeProto& proto, Context& context);
  // Copies an attribute of a call for a node of `owner` in the function's body.
  ir::Attribute copy_argument(const ir::Attribute& argument, ir::Graph& owner);
  std::shared_ptr<ir::Graph> read_subgraph(::onnx::GraphProto& proto, Context& context);
  Tensor read_tensor(::onnx::TensorProto& proto);
  Tensor read_sparse(::onnx::SparseTensorProto& proto);

  // The value for a name in `context`; null for "" and for an argument that the call omits. Throws
  // invalid_argument if the name does not exist.
  ir::Value* read(std::string_view name, const Context& context) const;
  ir::Value* add_container_input(const ::onnx::ValueInfoProto& input, Context& context);
  // Adds an Identity node that the model does not have, and returns its output.
  ir::Value* add_identity(ir::Value* value, const std::string& name, ir::Graph& graph);
  void define(std::string_view name, ir::Value* value, Context& context);
  // The name in the graph of a value called `name` in the proto.
  std::string new_graph_name(std::string_view name, const Context& context);
  std::string unused_name(std::string stem);
  void check_opset(const std::string& domain, const std::string& op, const Context& context);
  // Returns the opset for a domain that the current function or, outside of functions, the model
  // does not import: that of the model if it imports or already assumes one, else an assumed one.
  // Throws invalid_argument if there is none, if an assumed one is an error (`strict`), if the
  // import has a version below 1, or if a function does not import ai.onnx.
  int64_t assume_opset(const std::string& domain, const Context& context);
  // Throws invalid_argument if a type is invalid or contradicts an earlier declaration.
  static void add_type(const ::onnx::ValueInfoProto& info, Types& types);
  // Adds the type that is declared for `name` to that of a node's output. Throws invalid_argument
  // if the declared type contradicts the type of `value`.
  void apply_type(std::string_view name, ir::Value* value, const Context& context) const;

  ::onnx::ModelProto& model_;
  ExternalFiles& files_;
  bool strict_;
  bool warned_of_opset_ = false;
  bool adds_identity_ = false;
  Functions functions_;
  ir::Graph* root_ = nullptr;
  // The names of all values of all graphs of the model, and generated names.
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, uint64_t> counters_;
  // The body of a function is read once for each call, but payloads can be moved only once.
  std::unordered_map<const void*, Tensor> tensors_;
  int64_t nodes_ = 0, inlined_nodes_ = 0;
  uint64_t inlined_bytes_ = 0;
};

}  // namespace poprt::onnx

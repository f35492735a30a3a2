// GraphProto into ir::Graph. Sees protobuf: for the inside of this folder only.
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

// A negative dimension is an unknown one. Throws invalid_argument for unknown element types.
ir::ValueType value_type(const ::onnx::TypeProto& type);

// Its name, or "graph".
std::string graph_title(const ::onnx::GraphProto& proto);

// Builds the graph of one model. Takes tensor payloads out of the proto, so it runs once.
class GraphBuilder {
 public:
  // With `strict`, a domain whose opset is not imported is an error.
  GraphBuilder(::onnx::ModelProto& model, ExternalFiles& files, bool strict)
      : model_(model), files_(files), strict_(strict), functions_(model) {}

  // `graph` is empty but for its opsets.
  void build(ir::Graph& graph);

 private:
  using Attributes = std::map<std::string, ir::Attribute, std::less<>>;

  // Names that nodes may read. A function body sees nothing outside of it; null stands for an
  // optional argument that the caller left out.
  struct Scope {
    const Scope* outer = nullptr;
    std::unordered_map<std::string_view, ir::Value*> values;
    const ir::Value* const* find(std::string_view name) const;
  };

  // What value_info and outputs say, by name.
  using Types = std::unordered_map<std::string_view, const ::onnx::TypeProto*>;

  // Where nodes go: a graph, or a function call being inlined into one.
  struct Context {
    ir::Graph& graph;
    Scope& scope;
    int depth = 0;
    const Types* types = nullptr;
    // Inside a function body only:
    const Function* function = nullptr;
    const Attributes* call_attributes = nullptr;
    std::string prefix;  // of names made from the body's
    const std::unordered_map<std::string_view, std::string>* result_names = nullptr;
  };

  void reserve_names(const ::onnx::GraphProto& proto);
  void build_graph(::onnx::GraphProto& proto, Context& context);
  void build_node(::onnx::NodeProto& proto, Context& context);
  void inline_call(Function& function, const ::onnx::NodeProto& proto, const Attributes& attributes,
                   Context& context);
  Attributes read_attributes(::onnx::NodeProto& proto, Context& context);
  ir::Attribute read_attribute(::onnx::AttributeProto& proto, Context& context);
  std::shared_ptr<ir::Graph> read_subgraph(::onnx::GraphProto& proto, Context& context);
  Tensor read_tensor(::onnx::TensorProto& proto);
  Tensor read_sparse(::onnx::SparseTensorProto& proto);

  // The value for a name in `context`; null for "". Throws when there is none.
  ir::Value* read(std::string_view name, const Context& context) const;
  ir::Value* add_container_input(const ::onnx::ValueInfoProto& input, Context& context);
  void define(std::string_view name, ir::Value* value, Context& context);
  // The name that a value called `name` in the proto gets in the graph.
  std::string graph_name(std::string_view name, const Context& context);
  std::string unused_name(std::string stem);
  void check_opset(const std::string& domain, const std::string& op, const Context& context);
  // Of a domain that neither the model nor the function at hand imports.
  int64_t assume_opset(const std::string& domain, const Context& context);
  // Throws invalid_argument when a type is none, or contradicts what was declared before.
  static void add_type(const ::onnx::ValueInfoProto& info, Types& types);
  // What is declared of `name` becomes the type of a node's output; anything else must be of it.
  void apply_type(std::string_view name, ir::Value* value, const Context& context) const;

  ::onnx::ModelProto& model_;
  ExternalFiles& files_;
  bool strict_;
  Functions functions_;
  ir::Graph* root_ = nullptr;
  // Every name of every graph, and those made here.
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, uint64_t> counters_;
  // A function body is read once per call, its payloads can be taken once.
  std::unordered_map<const void*, Tensor> tensors_;
  int64_t nodes_ = 0, inlined_nodes_ = 0;
  uint64_t inlined_bytes_ = 0;
};

}  // namespace poprt::onnx

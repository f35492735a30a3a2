#include "onnx/graph_builder.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/log.h"
#include "ir/schemas.h"
#include "ir/types_agree.h"
#include "ir/verifier.h"
#include "onnx/assumed_opset.h"
#include "onnx/elem_type.h"
#include "onnx/import.h"
#include "onnx/limits.h"
#include "onnx/node_order.h"
#include "onnx/tensor_proto.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

std::string describe(const pb::NodeProto& node) {
  std::string type = node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
  if (type.size() > 120) type.resize(120);
  for (char& c : type)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  if (!node.name().empty()) return fmt::format("{} node {}", type, quote_name(node.name()));
  if (node.output_size())
    return fmt::format("{} node that makes {}", type, quote_name(node.output(0)));
  return type + " node";
}

// Adds `what` as context to errors of `action`.
template <class What, class Action>
auto with_context(What&& what, Action&& action) {
  try {
    return action();
  } catch (Error& e) {
    e.add_context(what());
    throw;
  }
}

std::string cut(std::string_view name) { return std::string(name.substr(0, kMaxGeneratedName)); }

// Checks the declared type of a value against its tensor.
void check_declared(const ir::ValueType& declared, const Tensor& tensor) {
  const auto found = ir::ValueType::of(tensor.dtype(), tensor.shape());
  if (!ir::types_agree(declared, found))
    fail(ErrorCode::invalid_argument, "it is declared as {}, its initializer is {}",
         ir::type_string(declared), ir::type_string(found));
}

// Checks two declarations of one value.
void check_agreement(const ir::ValueType& a, const ir::ValueType& b) {
  if (!ir::types_agree(a, b))
    fail(ErrorCode::invalid_argument, "it is declared both {} and {}", ir::type_string(a),
         ir::type_string(b));
}

// Adds the facts of `more` that `type` does not have.
void add_facts(ir::ValueType& type, const ir::ValueType& more) {
  if (type.dtype == DType::undefined) type.dtype = more.dtype;
  if (!more.has_shape) return;
  if (!type.has_shape) {
    const DType dtype = type.dtype;
    type = more;
    type.dtype = dtype;
    return;
  }
  for (size_t d = 0; d < type.shape.size(); d++)
    if (type.shape[d] == kUnknownDim) type.shape[d] = more.shape[d];
  if (type.symbols.empty()) type.symbols = more.symbols;
}

std::string attribute_type_name(int type) {
  return pb::AttributeProto::AttributeType_IsValid(type)
             ? pb::AttributeProto::AttributeType_Name(
                   static_cast<pb::AttributeProto::AttributeType>(type))
             : std::to_string(type);
}

// The type of an attribute, from the fields that are set. Throws if these are of several types or
// not of the declared one.
int attribute_type(const pb::AttributeProto& a) {
  const std::pair<bool, int> fields[] = {
      {a.has_f(), pb::AttributeProto::FLOAT},
      {a.has_i(), pb::AttributeProto::INT},
      {a.has_s(), pb::AttributeProto::STRING},
      {a.has_t(), pb::AttributeProto::TENSOR},
      {a.has_g(), pb::AttributeProto::GRAPH},
      {a.has_sparse_tensor(), pb::AttributeProto::SPARSE_TENSOR},
      {a.has_tp(), pb::AttributeProto::TYPE_PROTO},
      {a.floats_size() > 0, pb::AttributeProto::FLOATS},
      {a.ints_size() > 0, pb::AttributeProto::INTS},
      {a.strings_size() > 0, pb::AttributeProto::STRINGS},
      {a.tensors_size() > 0, pb::AttributeProto::TENSORS},
      {a.graphs_size() > 0, pb::AttributeProto::GRAPHS},
      {a.sparse_tensors_size() > 0, pb::AttributeProto::SPARSE_TENSORS},
      {a.type_protos_size() > 0, pb::AttributeProto::TYPE_PROTOS},
  };
  // UNDEFINED if the model does not set the type, and for enum values that are newer than the proto
  // classes.
  int type = a.type();
  for (const auto& [set, field_type] : fields) {
    if (!set) continue;
    if (type != pb::AttributeProto::UNDEFINED && type != field_type)
      fail(ErrorCode::invalid_argument, "its type is {}, it holds a value of type {}",
           attribute_type_name(type), attribute_type_name(field_type));
    type = field_type;
  }
  return type;
}

// What a copy of an attribute adds to a model. Copies of tensors share their bytes.
class Extent {
 public:
  explicit Extent(const ir::Attribute& attribute) { add(attribute); }
  int64_t nodes() const { return nodes_; }
  uint64_t bytes() const { return bytes_; }
  int levels() const { return levels_; }  // nesting depth of subgraphs

 private:
  void add(const ir::Attribute& attribute) {
    std::visit([&](const auto& value) { add_value(value); }, attribute);
  }
  template <class T>
  void add_value(const T&) {
    bytes_ += sizeof(T);
  }
  template <class T>
  void add_value(const std::vector<T>& values) {
    for (const T& v : values) add_value(v);
  }
  void add_value(const std::string& text) { bytes_ += sizeof text + text.size(); }
  void add_value(const std::shared_ptr<ir::Graph>& graph) {
    levels_ = std::max(levels_, ++level_);
    for (const ir::Value* v : graph->values()) bytes_ += sizeof *v + v->name().size();
    for (const ir::Node* n : graph->nodes()) {
      nodes_++;
      bytes_ += sizeof *n + n->name.size() + n->inputs().size() * sizeof(ir::Value*);
      for (const auto& [key, attribute] : n->attributes) add(attribute);
    }
    level_--;
  }

  int64_t nodes_ = 0;
  uint64_t bytes_ = 0;
  int level_ = 0, levels_ = 0;
};

// The number of graphs that contain a graph.
int levels_above(const ir::Graph& graph) {
  int levels = 0;
  for (const ir::Graph* g = graph.parent; g; g = g->parent) levels++;
  return levels;
}

void check_levels(int levels) {
  if (levels > ir::kMaxSubgraphDepth)
    fail(ErrorCode::resource_exhausted, "subgraphs are nested deeper than {}",
         ir::kMaxSubgraphDepth);
}

// The attribute of a Constant node as a tensor.
Tensor constant_tensor(std::string_view key, const ir::Attribute& value) {
  if (key == "value" || key == "sparse_value") {
    if (const auto* t = std::get_if<Tensor>(&value)) return *t;
  } else if (key == "value_float") {
    if (const auto* f = std::get_if<float>(&value)) return Tensor::scalar(*f);
  } else if (key == "value_int") {
    if (const auto* i = std::get_if<int64_t>(&value)) return Tensor::scalar(*i);
  } else if (key == "value_string") {
    if (const auto* s = std::get_if<std::string>(&value)) return Tensor::strings({}, {*s});
  } else if (key == "value_floats") {
    if (const auto* f = std::get_if<std::vector<float>>(&value))
      return Tensor::of<float>({static_cast<int64_t>(f->size())}, std::span<const float>(*f));
  } else if (key == "value_ints") {
    if (const auto* i = std::get_if<std::vector<int64_t>>(&value))
      return Tensor::of<int64_t>({static_cast<int64_t>(i->size())}, std::span<const int64_t>(*i));
  } else if (key == "value_strings") {
    if (const auto* s = std::get_if<std::vector<std::string>>(&value))
      return Tensor::strings({static_cast<int64_t>(s->size())}, *s);
  } else {
    fail(ErrorCode::invalid_argument, "unknown attribute {}", quote_name(key));
  }
  fail(ErrorCode::invalid_argument, "attribute {} has the wrong type", quote_name(key));
}

}  // namespace

ir::ValueType value_type(const pb::TypeProto& type) {
  ir::ValueType out;
  if (!type.has_tensor_type()) return out;
  const auto& tensor = type.tensor_type();
  if (tensor.elem_type() != pb::TensorProto::UNDEFINED)
    out.dtype = dtype_from_elem_type(tensor.elem_type());
  if (!tensor.has_shape()) return out;
  if (tensor.shape().dim_size() > kMaxRank)
    fail(ErrorCode::invalid_argument, "it has {} dimensions, at most {} are supported",
         tensor.shape().dim_size(), kMaxRank);
  out.has_shape = true;
  bool named = false;
  int64_t known = 1;
  for (const auto& dim : tensor.shape().dim()) {
    // Several exporters write an unknown dimension as a negative number.
    out.shape.push_back(dim.has_dim_value() ? std::max(dim.dim_value(), kUnknownDim) : kUnknownDim);
    // Equal names mark equal dimensions. Some tools write "?", "-1" or "None" for any unknown
    // dimension, so these texts are not names.
    const std::string& name = dim.dim_param();
    out.symbols.push_back(name == "?" || name == "-1" || name == "None" ? std::string() : name);
    named = named || !out.symbols.back().empty();
    if (dim.has_dim_value() && dim.dim_value() > 0)
      known = checked_mul<int64_t>(known, dim.dim_value(), "shape");
  }
  if (!named) out.symbols.clear();
  dtype_bytes(out.dtype, known);
  return out;
}

// "sequence", "optional" or "optional_sequence" for containers of tensors; null for other types.
const char* container_kind(const pb::TypeProto& type) {
  if (type.has_sequence_type())
    return type.sequence_type().elem_type().has_tensor_type() ? "sequence" : nullptr;
  if (!type.has_optional_type()) return nullptr;
  const pb::TypeProto& element = type.optional_type().elem_type();
  if (element.has_tensor_type()) return "optional";
  return element.has_sequence_type() && element.sequence_type().elem_type().has_tensor_type()
             ? "optional_sequence"
             : nullptr;
}

// The type of the elements of a container.
const pb::TypeProto& element_of(const pb::TypeProto& type) {
  if (type.has_optional_type()) return element_of(type.optional_type().elem_type());
  return type.has_sequence_type() ? type.sequence_type().elem_type() : type;
}

// Records in the graph's metadata that a value is a sequence or an optional, because a ValueType
// cannot represent that.
void declare_container(const ir::Value& value, const pb::TypeProto& type) {
  const char* kind = container_kind(type);
  if (!kind) return;
  ir::ValueType element = value_type(element_of(type));
  element.symbols.clear();  // a symbol agrees with every size, so the text has "?" instead
  value.graph().metadata[ir::kDeclaredContainer + value.name()] =
      fmt::format("{} {}", kind, ir::type_string(element));
}

std::string graph_title(const pb::GraphProto& proto) {
  return proto.name().empty() ? "graph" : proto.name();
}

// -- Names --------------------------------------------------------------------------------------

const ir::Value* const* GraphBuilder::Scope::find(std::string_view name) const {
  for (const Scope* s = this; s; s = s->outer)
    if (const auto it = s->values.find(name); it != s->values.end()) return &it->second;
  return nullptr;
}

void GraphBuilder::reserve_names(const pb::GraphProto& proto) {
  for (const auto& v : proto.input()) names_.insert(v.name());
  for (const auto& t : proto.initializer()) names_.insert(t.name());
  for (const auto& t : proto.sparse_initializer()) names_.insert(t.values().name());
  for (const auto& n : proto.node()) {
    for (const auto& o : n.output()) names_.insert(o);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) reserve_names(a.g());
      for (const auto& g : a.graphs()) reserve_names(g);
    }
  }
}

std::string GraphBuilder::unused_name(std::string stem) {
  if (names_.insert(stem).second) return stem;
  uint64_t& counter = counters_[stem];
  std::string candidate;
  do {
    candidate = fmt::format("{}_{}", stem, counter++);
  } while (!names_.insert(candidate).second);
  return candidate;
}

std::string GraphBuilder::new_graph_name(std::string_view name, const Context& context) {
  if (context.result_names)
    if (const auto it = context.result_names->find(name); it != context.result_names->end())
      return it->second;
  if (context.function) return unused_name(context.prefix + cut(name));
  for (const ir::Graph* g = &context.graph; g; g = g->parent)
    if (g->find(name)) return unused_name(cut(name));
  return std::string(name);
}

ir::Value* GraphBuilder::read(std::string_view name, const Context& context) const {
  if (name.empty()) return nullptr;
  const ir::Value* const* found = context.scope.find(name);
  if (!found)
    fail(ErrorCode::invalid_argument, "it reads {}, which nothing defines", quote_name(name));
  return const_cast<ir::Value*>(*found);
}

// Adds a graph input that is not a tensor, as a node: the compiler replaces the node when it knows
// the length.
ir::Value* GraphBuilder::add_container_input(const pb::ValueInfoProto& input, Context& context) {
  const ir::ValueType element = value_type(element_of(input.type()));
  const std::string names[] = {new_graph_name(input.name(), context)};
  ir::Node* node = context.graph.add_node("ContainerInput", "poprt", std::span<ir::Value* const>(),
                                          1, nullptr, names);
  node->name = names[0];
  node->attributes["kind"] = std::string(container_kind(input.type()));
  node->attributes["element"] = static_cast<int64_t>(element.dtype);
  // The position among the graph's inputs. All nodes so far are of this kind, so each is an input.
  node->attributes["position"] =
      static_cast<int64_t>(context.graph.inputs().size() + context.graph.node_count()) - 1;
  if (element.has_shape) node->attributes["shape"] = element.shape;
  return node->output();
}

ir::Value* GraphBuilder::add_identity(ir::Value* value, const std::string& name, ir::Graph& graph) {
  adds_identity_ = true;
  ir::Value* const inputs[] = {value};
  return graph.add_node("Identity", "", inputs, 1, nullptr, std::span(&name, 1))->output();
}

void GraphBuilder::define(std::string_view name, ir::Value* value, Context& context) {
  if (!context.scope.values.emplace(name, value).second)
    fail(ErrorCode::invalid_argument, "value {} is defined twice: a name may be assigned once",
         quote_name(name));
}

void GraphBuilder::apply_type(std::string_view name, ir::Value* value,
                              const Context& context) const {
  if (!context.types || !value) return;
  const auto it = context.types->find(name);
  if (it == context.types->end()) return;
  with_context([&] { return fmt::format("type of value {}", quote_name(name)); },
               [&] {
                 if (value->producer()) declare_container(*value, *it->second);
                 const ir::ValueType declared = value_type(*it->second);
                 if (value->is_constant()) return check_declared(declared, value->constant());
                 check_agreement(value->type, declared);
                 if (value->producer()) add_facts(value->type, declared);
               });
}

void GraphBuilder::add_type(const pb::ValueInfoProto& info, Types& types) {
  if (!info.has_type()) return;
  with_context([&] { return fmt::format("type of value {}", quote_name(info.name())); },
               [&] {
                 const ir::ValueType type = value_type(
                     info.type());  // also checks declarations of values that no node computes
                 const auto [it, fresh] = types.emplace(info.name(), &info.type());
                 if (!fresh) check_agreement(value_type(*it->second), type);
                 it->second = &info.type();
               });
}

// -- Graphs -------------------------------------------------------------------------------------

void GraphBuilder::build(ir::Graph& graph) {
  root_ = &graph;
  reserve_names(model_.graph());
  Scope scope;
  Context context{.graph = graph, .scope = scope};
  build_graph(*model_.mutable_graph(), context);
  // The added Identity nodes need an opset of ai.onnx. After all nodes, emplace() has an effect
  // only if the model imports none and no node led to an assumed one.
  constexpr int64_t kIdentityOpset = 13;  // any opset would do
  if (adds_identity_) graph.opsets.emplace("", kIdentityOpset);
}

void GraphBuilder::build_graph(pb::GraphProto& proto, Context& context) {
  if (context.depth > kMaxDepth)
    fail(ErrorCode::resource_exhausted, "subgraphs and functions are nested deeper than {}",
         kMaxDepth);
  ir::Graph& graph = context.graph;

  std::unordered_map<std::string_view, Tensor> initializers;
  std::vector<std::string_view> initializer_order;
  auto add_initializer = [&](const std::string& name, auto&& load) {
    with_context([&] { return fmt::format("initializer {}", quote_name(name)); },
                 [&] {
                   if (name.empty()) fail(ErrorCode::invalid_argument, "it has no name");
                   if (!initializers.emplace(name, load()).second)
                     fail(ErrorCode::invalid_argument, "it is defined twice");
                   initializer_order.push_back(name);
                 });
  };
  for (pb::TensorProto& t : *proto.mutable_initializer())
    add_initializer(t.name(), [&] { return read_tensor(t); });
  for (pb::SparseTensorProto& t : *proto.mutable_sparse_initializer())
    add_initializer(t.values().name(), [&] { return read_sparse(t); });

  for (const auto& input : proto.input())
    with_context([&] { return fmt::format("graph input {}", quote_name(input.name())); },
                 [&] {
                   if (input.name().empty()) fail(ErrorCode::invalid_argument, "it has no name");
                   ir::ValueType type = value_type(input.type());
                   if (const auto it = initializers.find(input.name()); it != initializers.end()) {
                     check_declared(type, it->second);
                     return;
                   }
                   if (&graph == root_ && container_kind(input.type())) {
                     define(input.name(), add_container_input(input, context), context);
                     return;
                   }
                   define(input.name(),
                          graph.add_input(new_graph_name(input.name(), context), std::move(type)),
                          context);
                 });
  for (const std::string_view name : initializer_order)
    define(name,
           graph.add_constant(new_graph_name(name, context), std::move(initializers.at(name))),
           context);

  Types types;
  for (const auto& v : proto.value_info()) add_type(v, types);
  for (const auto& v : proto.output()) add_type(v, types);
  context.types = &types;
  // Inputs and initializers exist already; the other declarations are for values that nodes
  // compute.
  for (const auto* list : {&proto.value_info(), &proto.output()})
    for (const auto& v : *list)
      if (const auto it = context.scope.values.find(v.name());
          it != context.scope.values.end() && it->second && !it->second->producer())
        apply_type(v.name(), it->second, context);

  for (const int i : node_order(proto.node())) build_node(*proto.mutable_node(i), context);

  for (const auto& output : proto.output())
    with_context([&] { return fmt::format("graph output {}", quote_name(output.name())); },
                 [&] {
                   if (output.name().empty()) fail(ErrorCode::invalid_argument, "it has no name");
                   ir::Value* value = read(output.name(), context);
                   if (!value)
                     fail(ErrorCode::invalid_argument,
                          "it is an argument that the caller left out");
                   // An output of a subgraph must belong to the subgraph.
                   if (&value->graph() != &graph) {
                     const ir::ValueType type = value->type;
                     value = add_identity(value, unused_name(cut(output.name())), graph);
                     value->type = type;
                     apply_type(output.name(), value, context);
                   }
                   graph.add_output(value);
                 });
  context.types = nullptr;
}

std::shared_ptr<ir::Graph> GraphBuilder::read_subgraph(pb::GraphProto& proto, Context& context) {
  auto graph = std::make_shared<ir::Graph>(graph_title(proto));
  graph->parent = &context.graph;
  check_levels(levels_above(*graph));
  Scope scope;
  scope.outer = &context.scope;
  Context inner{.graph = *graph,
                .scope = scope,
                .depth = context.depth + 1,
                .function = context.function,
                .call_attributes = context.call_attributes,
                .prefix = context.prefix};
  with_context([&] { return fmt::format("subgraph {}", quote_name(proto.name())); },
               [&] { build_graph(proto, inner); });
  return graph;
}

// -- Nodes --------------------------------------------------------------------------------------

void GraphBuilder::check_opset(const std::string& domain, const std::string& op,
                               const Context& context) {
  const auto& imports = context.function ? context.function->opsets : root_->opsets;
  const auto it = imports.find(domain);
  const std::string spelt = quote_name(domain.empty() ? "ai.onnx" : domain);
  const int64_t version = it == imports.end() ? assume_opset(domain, context) : it->second;
  const int64_t root = root_->opsets.emplace(domain, version).first->second;
  if (root == version) return;
  // The graph has the opset of the model, so the operator of the node should have the same
  // definition there.
  const int64_t definition = ir::definition_of(domain, op, version);
  if (definition && definition == ir::definition_of(domain, op, root)) return;
  const std::string message =
      fmt::format("the function imports opset {} of domain {}, the model {}, and {} {}", version,
                  spelt, root, quote_name(op),
                  definition ? fmt::format("is defined by opset {} in the one and {} in the other",
                                           definition, ir::definition_of(domain, op, root))
                             : std::string("has no published definition to compare"));
  if (strict_)
    fail(ErrorCode::invalid_argument, "{}; convert the model, or its function, to one opset",
         message);
  if (std::exchange(warned_of_opset_, true)) return;
  log().warn("{}; as in ONNX Runtime, functions have the definitions of the model's opset",
             message);
}

int64_t GraphBuilder::assume_opset(const std::string& domain, const Context& context) {
  if (const auto it = root_->opsets.find(domain); it != root_->opsets.end() && !domain.empty())
    return it->second;
  check_import(context.function ? context.function->proto->opset_import() : model_.opset_import(),
               domain);
  auto version = assumed_opset(model_, domain);
  if (context.function && domain.empty()) version.reset();  // as in ONNX Runtime
  const std::string what =
      fmt::format("the {} imports no opset of domain {}", context.function ? "function" : "model",
                  quote_name(domain.empty() ? "ai.onnx" : domain));
  if (!version || strict_) fail(ErrorCode::invalid_argument, "{}, which it uses", what);
  log().warn("{}; {} is assumed", what, *version);
  return *version;
}

void GraphBuilder::count_nodes(int64_t nodes) {
  nodes_ += nodes;
  if (nodes_ > kMaxNodes)
    fail(ErrorCode::resource_exhausted, "the model has more than {} nodes", kMaxNodes);
}

void GraphBuilder::count_inlined(int64_t nodes, uint64_t bytes) {
  inlined_nodes_ += nodes;
  inlined_bytes_ += bytes;
  if (inlined_nodes_ > kMaxInlinedNodes || inlined_bytes_ > kMaxInlinedBytes)
    fail(ErrorCode::resource_exhausted, "inlining functions adds more than {} nodes or {} bytes",
         kMaxInlinedNodes, kMaxInlinedBytes);
}

void GraphBuilder::build_node(pb::NodeProto& proto, Context& context) {
  with_context([&] { return describe(proto); },
               [&] {
                 count_nodes(1);
                 if (context.function) count_inlined(1, proto.ByteSizeLong());
                 if (proto.op_type().empty())
                   fail(ErrorCode::invalid_argument, "it has no op_type");
                 // An If without outputs has no visible effect.
                 if (proto.op_type() == "If" && normal_domain(proto.domain()).empty() &&
                     proto.output_size() == 0)
                   return;
                 Attributes attributes = read_attributes(proto, context);
                 if (Function* function = functions_.find(proto)) {
                   inline_call(*function, proto, attributes, context);
                   return;
                 }
                 const std::string domain = normal_domain(proto.domain());
                 check_opset(domain, proto.op_type(), context);

                 int outputs = proto.output_size();
                 while (outputs > 1 && proto.output(outputs - 1).empty()) outputs--;
                 if (outputs == 0) fail(ErrorCode::invalid_argument, "it has no output");

                 if (proto.op_type() == "Constant" && domain.empty()) {
                   if (outputs != 1 || proto.input_size() != 0 || attributes.size() != 1)
                     fail(ErrorCode::invalid_argument,
                          "expected no input, one output and one value, found {}, {} and {}",
                          proto.input_size(), outputs, attributes.size());
                   if (proto.output(0).empty()) return;
                   const auto& [key, value] = *attributes.begin();
                   ir::Value* constant = context.graph.add_constant(
                       new_graph_name(proto.output(0), context), constant_tensor(key, value));
                   define(proto.output(0), constant, context);
                   apply_type(proto.output(0), constant, context);
                   return;
                 }

                 std::vector<ir::Value*> inputs;
                 for (const auto& name : proto.input()) inputs.push_back(read(name, context));
                 while (!inputs.empty() && !inputs.back()) inputs.pop_back();
                 std::vector<std::string> names;
                 for (int i = 0; i < outputs; i++)
                   names.push_back(proto.output(i).empty()
                                       ? unused_name(std::string(kOmittedName))
                                       : new_graph_name(proto.output(i), context));
                 ir::Node* node = context.graph.add_node(
                     proto.op_type(), domain, inputs, static_cast<size_t>(outputs), nullptr, names);
                 node->name = context.function ? context.prefix + cut(proto.name()) : proto.name();
                 node->attributes = std::move(attributes);
                 for (int i = 0; i < outputs; i++) {
                   if (proto.output(i).empty()) continue;
                   ir::Value* value = node->output(static_cast<size_t>(i));
                   define(proto.output(i), value, context);
                   apply_type(proto.output(i), value, context);
                 }
               });
}

void GraphBuilder::inline_call(Function& function, const pb::NodeProto& proto,
                               const Attributes& attributes, Context& context) {
  pb::FunctionProto& body = *function.proto;
  if (function.active) fail(ErrorCode::invalid_argument, "{} calls itself", function.name);
  if (context.depth >= kMaxDepth)
    fail(ErrorCode::resource_exhausted, "subgraphs and functions are nested deeper than {}",
         kMaxDepth);
  if (proto.input_size() > body.input_size() || proto.output_size() > body.output_size())
    fail(ErrorCode::invalid_argument, "{} has {} inputs and {} outputs, the call {} and {}",
         function.name, body.input_size(), body.output_size(), proto.input_size(),
         proto.output_size());

  Scope scope;
  std::unordered_map<std::string_view, std::string> result_names;
  const std::string& call_name = proto.name().empty() ? proto.op_type() : proto.name();
  std::string prefix = context.prefix + call_name + "/";
  // A deep chain of calls must not make longer and longer names.
  if (prefix.size() > kMaxGeneratedName) prefix = cut(call_name).substr(0, 32) + "/";
  Context inner{.graph = context.graph,
                .scope = scope,
                .depth = context.depth + 1,
                .function = &function,
                .call_attributes = &attributes,
                .prefix = std::move(prefix),
                .result_names = &result_names};
  Types types;
  for (const auto& v : function.value_info) add_type(v, types);
  inner.types = &types;
  for (int i = 0; i < body.input_size(); i++) {
    ir::Value* value = i < proto.input_size() ? read(proto.input(i), context) : nullptr;
    define(body.input(i), value, inner);
    with_context([&] { return "in " + function.name; },
                 [&] { apply_type(body.input(i), value, inner); });
  }
  // Results have the names that the caller uses.
  for (int i = 0; i < proto.output_size(); i++)
    if (!proto.output(i).empty() && !scope.values.contains(body.output(i)) &&
        !result_names.contains(body.output(i)))
      result_names.emplace(body.output(i), new_graph_name(proto.output(i), context));

  function.active = true;
  with_context([&] { return "in " + function.name; },
               [&] {
                 for (const int i : function.order) build_node(*body.mutable_node(i), inner);
               });
  function.active = false;

  for (int i = 0; i < proto.output_size(); i++) {
    const std::string& name = proto.output(i);
    if (name.empty()) continue;
    ir::Value* value = with_context([&] { return "output of " + function.name; },
                                    [&] { return read(body.output(i), inner); });
    if (!value)
      fail(ErrorCode::invalid_argument, "{} returns argument {}, which the call leaves out",
           function.name, quote_name(body.output(i)));
    const auto wanted = result_names.find(body.output(i));
    if (wanted == result_names.end() || wanted->second != value->name()) {
      // The body returns an argument, or one result under two names.
      value = add_identity(value, new_graph_name(name, context), context.graph);
    } else {
      result_names.erase(wanted);
    }
    define(name, value, context);
    apply_type(name, value, context);
  }
}

// -- Attributes and tensors ---------------------------------------------------------------------

GraphBuilder::Attributes GraphBuilder::read_attributes(pb::NodeProto& proto, Context& context) {
  Attributes out;
  for (pb::AttributeProto& a : *proto.mutable_attribute())
    with_context([&] { return fmt::format("attribute {}", quote_name(a.name())); },
                 [&] {
                   if (a.name().empty()) fail(ErrorCode::invalid_argument, "it has no name");
                   if (out.contains(a.name()))
                     fail(ErrorCode::invalid_argument, "it is given twice");
                   // This is the type of the element of an absent optional. It is dropped, because
                   // an absent optional has no tensor and attributes of the IR cannot be types.
                   if (proto.op_type() == "Optional" && a.name() == "type" && a.has_tp()) return;
                   if (a.ref_attr_name().empty()) {
                     out.emplace(a.name(), read_attribute(a, context));
                     return;
                   }
                   if (!context.function)
                     fail(ErrorCode::invalid_argument,
                          "it refers to function attribute {} outside of a function",
                          quote_name(a.ref_attr_name()));
                   const auto it = context.call_attributes->find(a.ref_attr_name());
                   if (it != context.call_attributes->end())
                     out.emplace(a.name(), copy_argument(it->second, context.graph));
                 });
  if (Function* called = functions_.find(proto))
    for (pb::AttributeProto& a : called->defaults)
      if (!out.contains(a.name()))
        with_context([&] { return fmt::format("default of attribute {}", quote_name(a.name())); },
                     [&] {
                       if (a.has_g() || a.graphs_size())
                         fail(ErrorCode::unimplemented, "a graph is not supported here");
                       count_inlined(0, a.ByteSizeLong());
                       out.emplace(a.name(), read_attribute(a, context));
                     });
  return out;
}

// A body may refer to one attribute many times, also in the attributes of further calls, so the
// size of the copies can double with each call.
ir::Attribute GraphBuilder::copy_argument(const ir::Attribute& argument, ir::Graph& owner) {
  const Extent extent(argument);
  count_nodes(extent.nodes());
  count_inlined(extent.nodes(), extent.bytes());
  if (extent.levels()) check_levels(levels_above(owner) + extent.levels());
  // A subgraph must belong to one node only.
  const auto copy_for_owner = [&](const std::shared_ptr<ir::Graph>& graph) {
    std::shared_ptr<ir::Graph> copy = graph->clone();
    copy->parent = &owner;
    return copy;
  };
  if (const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&argument))
    return copy_for_owner(*graph);
  if (const auto* graphs = std::get_if<std::vector<std::shared_ptr<ir::Graph>>>(&argument)) {
    std::vector<std::shared_ptr<ir::Graph>> copies;
    for (const auto& g : *graphs) copies.push_back(copy_for_owner(g));
    return copies;
  }
  return argument;
}

ir::Attribute GraphBuilder::read_attribute(pb::AttributeProto& a, Context& context) {
  auto required = [](bool there) {
    if (!there) fail(ErrorCode::invalid_argument, "it has no value");
  };
  const int type = attribute_type(a);
  switch (type) {
    case pb::AttributeProto::FLOAT: return a.f();
    case pb::AttributeProto::INT: return a.i();
    case pb::AttributeProto::STRING: return a.s();
    case pb::AttributeProto::TENSOR: required(a.has_t()); return read_tensor(*a.mutable_t());
    case pb::AttributeProto::SPARSE_TENSOR:
      required(a.has_sparse_tensor());
      return read_sparse(*a.mutable_sparse_tensor());
    case pb::AttributeProto::GRAPH:
      required(a.has_g());
      return read_subgraph(*a.mutable_g(), context);
    case pb::AttributeProto::FLOATS:
      return std::vector<float>(a.floats().begin(), a.floats().end());
    case pb::AttributeProto::INTS: return std::vector<int64_t>(a.ints().begin(), a.ints().end());
    case pb::AttributeProto::STRINGS:
      return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case pb::AttributeProto::TENSORS: {
      std::vector<Tensor> tensors;
      for (pb::TensorProto& t : *a.mutable_tensors()) tensors.push_back(read_tensor(t));
      return tensors;
    }
    case pb::AttributeProto::GRAPHS: {
      std::vector<std::shared_ptr<ir::Graph>> graphs;
      for (pb::GraphProto& g : *a.mutable_graphs()) graphs.push_back(read_subgraph(g, context));
      return graphs;
    }
    case pb::AttributeProto::UNDEFINED:
      fail(ErrorCode::invalid_argument, "it has neither a known type nor a value");
    default:
      fail(ErrorCode::unimplemented, "attributes of type {} are not supported",
           attribute_type_name(type));
  }
}

Tensor GraphBuilder::read_tensor(pb::TensorProto& proto) {
  if (const auto it = tensors_.find(&proto); it != tensors_.end()) return it->second;
  return tensors_.emplace(&proto, take_tensor(proto, files_)).first->second;
}

Tensor GraphBuilder::read_sparse(pb::SparseTensorProto& proto) {
  if (const auto it = tensors_.find(&proto); it != tensors_.end()) return it->second;
  return tensors_.emplace(&proto, take_sparse_tensor(proto, files_)).first->second;
}

}  // namespace poprt::onnx

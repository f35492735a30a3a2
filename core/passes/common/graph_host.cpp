#include "passes/common/graph_host.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <utility>

#include "ops/op.h"
#include "passes/common/rewrite.h"
#include "plugins/registration.h"

namespace poprt::passes {
namespace {

using ir::Attribute;
using ir::Graph;
using ir::Node;
using ir::Value;

// The report of the current call of this thread. Calls nest if a pass runs another one.
thread_local plugins::Report* current = nullptr;
thread_local const Arguments* current_arguments = nullptr;

Graph& unwrap(poprt_graph* graph) { return *reinterpret_cast<Graph*>(graph); }
const Graph& unwrap(const poprt_graph* graph) { return *reinterpret_cast<const Graph*>(graph); }
Node& unwrap(poprt_node* node) { return *reinterpret_cast<Node*>(node); }
const Node& unwrap(const poprt_node* node) { return *reinterpret_cast<const Node*>(node); }
Value& unwrap(poprt_value* value) { return *reinterpret_cast<Value*>(value); }
const Value& unwrap(const poprt_value* value) { return *reinterpret_cast<const Value*>(value); }
poprt_value* handle_of(Value* value) { return reinterpret_cast<poprt_value*>(value); }
poprt_node* handle_of(Node* node) { return reinterpret_cast<poprt_node*>(node); }

int32_t report(ErrorCode code, std::string_view message) noexcept {
  return current ? current->set(code, message) : static_cast<int32_t>(code);
}

// Turns exceptions of `body` into the error of the call, because no exception may pass through a
// plug-in.
template <class F>
int32_t reported(F&& body) noexcept {
  try {
    body();
    return POPRT_OK;
  } catch (const Error& e) {
    return report(e.code(), e.message());
  } catch (const std::exception& e) {
    return report(ErrorCode::internal, e.what());
  }
}

template <class T, class Handle>
size_t write_list(const std::vector<T*>& all, Handle** out, size_t capacity) {
  for (size_t i = 0; i < all.size() && i < capacity; i++)
    out[i] = reinterpret_cast<Handle*>(all[i]);
  return all.size();
}

// Fills as much of the struct as the caller knows (`struct_size`).
void write_tensor(poprt_op_tensor* out, DType dtype, bool has_shape, const Shape& shape,
                  const void* data, uint64_t bytes) {
  const poprt_op_tensor all = {std::min(out->struct_size, sizeof(poprt_op_tensor)),
                               static_cast<poprt_dtype>(dtype),
                               has_shape ? static_cast<int32_t>(shape.size()) : -1,
                               shape.data(),
                               const_cast<void*>(data),
                               bytes};
  std::memcpy(out, &all, all.struct_size);
}

// Functions that read the graph.

const char* graph_name(const poprt_graph* graph) { return unwrap(graph).name.c_str(); }
size_t graph_nodes(poprt_graph* graph, poprt_node** out, size_t capacity) {
  return write_list(unwrap(graph).nodes(), out, capacity);
}
size_t graph_inputs(poprt_graph* graph, poprt_value** out, size_t capacity) {
  return write_list(unwrap(graph).inputs(), out, capacity);
}
size_t graph_outputs(poprt_graph* graph, poprt_value** out, size_t capacity) {
  return write_list(unwrap(graph).outputs(), out, capacity);
}
poprt_value* find_value(poprt_graph* graph, const char* name) {
  return handle_of(unwrap(graph).find(name ? name : ""));
}

poprt_graph* node_graph(poprt_node* node) { return handle(unwrap(node).graph()); }
const char* node_type(const poprt_node* node) { return unwrap(node).op_type.c_str(); }
const char* node_domain(const poprt_node* node) { return unwrap(node).domain.c_str(); }
const char* node_name(const poprt_node* node) { return unwrap(node).name.c_str(); }
int64_t node_opset(const poprt_node* node) { return unwrap(node).opset(); }
size_t node_input_count(const poprt_node* node) { return unwrap(node).inputs().size(); }
poprt_value* node_input(poprt_node* node, size_t index) {
  return handle_of(unwrap(node).input(index));
}
size_t node_output_count(const poprt_node* node) { return unwrap(node).outputs().size(); }
poprt_value* node_output(poprt_node* node, size_t index) {
  return handle_of(unwrap(node).output(index));
}

size_t attribute_count(const poprt_node* node) { return unwrap(node).attributes.size(); }
const char* attribute_name(const poprt_node* node, size_t index) {
  const auto& all = unwrap(node).attributes;
  if (index >= all.size()) return nullptr;
  return std::next(all.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str();
}
poprt_attribute_kind attribute_kind(const poprt_node* node, const char* name) {
  const Attribute* a = unwrap(node).find_attr(name ? name : "");
  return a ? static_cast<poprt_attribute_kind>(a->index() + 1) : POPRT_ATTRIBUTE_NONE;
}

template <class T, class Take>
int32_t get(const poprt_node* node, const char* name, Take&& take) noexcept {
  const Attribute* a = unwrap(node).find_attr(name ? name : "");
  if (!a) return POPRT_NOT_FOUND;
  if (const T* value = std::get_if<T>(a)) {
    take(*value);
    return POPRT_OK;
  }
  return reported([&] {
    fail(ErrorCode::invalid_argument, "{}: attribute '{}' is of another kind ({})",
         unwrap(node).describe(), name, a->index() + 1);
  });
}
int32_t get_int(const poprt_node* node, const char* name, int64_t* out) {
  return get<int64_t>(node, name, [&](int64_t v) { *out = v; });
}
int32_t get_float(const poprt_node* node, const char* name, float* out) {
  return get<float>(node, name, [&](float v) { *out = v; });
}
int32_t get_string(const poprt_node* node, const char* name, const char** out, size_t* out_size) {
  return get<std::string>(node, name, [&](const std::string& v) {
    *out = v.c_str();
    if (out_size) *out_size = v.size();
  });
}
int32_t get_ints(const poprt_node* node, const char* name, const int64_t** out, size_t* out_count) {
  return get<std::vector<int64_t>>(node, name, [&](const std::vector<int64_t>& v) {
    *out = v.data();
    *out_count = v.size();
  });
}
int32_t get_floats(const poprt_node* node, const char* name, const float** out, size_t* out_count) {
  return get<std::vector<float>>(node, name, [&](const std::vector<float>& v) {
    *out = v.data();
    *out_count = v.size();
  });
}
int32_t get_tensor(const poprt_node* node, const char* name, poprt_op_tensor* out) {
  return get<Tensor>(node, name, [&](const Tensor& t) {
    write_tensor(out, t.dtype(), true, t.shape(), t.data(), t.bytes());
  });
}
int32_t get_graph(const poprt_node* node, const char* name, poprt_graph** out) {
  return get<std::shared_ptr<Graph>>(
      node, name, [&](const std::shared_ptr<Graph>& sub) { *out = handle(*sub); });
}

const char* value_name(const poprt_value* value) { return unwrap(value).name().c_str(); }
void value_type(const poprt_value* value, poprt_op_tensor* out) {
  const Value& v = unwrap(value);
  const bool known = v.is_constant() && v.dtype() != DType::string;
  write_tensor(out, v.dtype(), v.type.has_shape, v.shape(), known ? v.constant().data() : nullptr,
               known ? v.constant().bytes() : 0);
}
poprt_node* value_producer(poprt_value* value) { return handle_of(unwrap(value).producer()); }
size_t value_readers(poprt_value* value, poprt_node** out, size_t capacity) {
  const auto& uses = unwrap(value).uses();
  for (size_t i = 0; i < uses.size() && i < capacity; i++) out[i] = handle_of(uses[i].node);
  return uses.size();
}
int32_t value_is_constant(const poprt_value* value) { return unwrap(value).is_constant(); }
int32_t value_is_output(const poprt_value* value) {
  const Value& v = unwrap(value);
  return v.graph().is_output(&v);
}

// Functions that change the graph.

// The standard domain has two names. Other passes search for nodes of "" only.
std::string usual_domain(const char* domain) {
  return !domain || domain == std::string_view("ai.onnx") ? "" : domain;
}

void import_domain(Graph& graph, const std::string& domain) {
  Graph* root = &graph;
  while (root->parent) root = root->parent;
  if (!domain.empty() && domain != "poprt") root->opsets.try_emplace(domain, 1);
}

poprt_node* add_node(poprt_graph* graph, const char* domain, const char* type,
                     poprt_value* const* inputs, size_t input_count, size_t output_count,
                     poprt_node* before) {
  Node* made = nullptr;
  reported([&] {
    Graph& g = unwrap(graph);
    if (!type || !*type) fail(ErrorCode::invalid_argument, "add_node: the type is empty");
    if (before && &unwrap(before).graph() != &g)
      fail(ErrorCode::invalid_argument, "add_node: `before` is a node of another graph");
    std::vector<Value*> values;
    for (size_t i = 0; i < input_count; i++) values.push_back(reinterpret_cast<Value*>(inputs[i]));
    const std::string of_domain = usual_domain(domain);
    import_domain(g, of_domain);
    made = g.add_node(type, of_domain, values, output_count, reinterpret_cast<Node*>(before));
  });
  return handle_of(made);
}

poprt_value* add_constant(poprt_graph* graph, const char* name, poprt_dtype dtype, int32_t rank,
                          const int64_t* shape, const void* data, size_t bytes) {
  Value* made = nullptr;
  reported([&] {
    if (dtype <= 0 || dtype >= kDTypeCount || dtype == POPRT_DTYPE_STRING)
      fail(ErrorCode::invalid_argument, "add_constant: element type {}", dtype);
    if (rank < 0 || (rank > 0 && !shape))
      fail(ErrorCode::invalid_argument, "add_constant: rank {}", rank);
    Tensor t = Tensor::zeros(static_cast<DType>(dtype), Shape(shape, shape + rank));
    if (t.bytes() != bytes)
      fail(ErrorCode::invalid_argument, "add_constant: {}{} has {} bytes, given {}",
           dtype_name(t.dtype()), shape_string(t.shape()), t.bytes(), bytes);
    if (bytes) std::memcpy(t.mutable_data(), data, bytes);
    made = unwrap(graph).add_constant(name ? name : "", std::move(t));
  });
  return handle_of(made);
}

int32_t set_name(poprt_node* node, const char* name) {
  return reported([&] { unwrap(node).name = name ? name : ""; });
}
int32_t set_type(poprt_node* node, const char* domain, const char* type) {
  return reported([&] {
    if (!type || !*type) fail(ErrorCode::invalid_argument, "set_type: the type is empty");
    Node& n = unwrap(node);
    n.domain = usual_domain(domain);
    n.op_type = type;
    import_domain(n.graph(), n.domain);
  });
}
int32_t set_input(poprt_node* node, size_t index, poprt_value* value) {
  return reported([&] { unwrap(node).set_input(index, reinterpret_cast<Value*>(value)); });
}
int32_t set_attribute(poprt_node* node, const char* name, Attribute value) {
  return reported([&] {
    if (!name || !*name) fail(ErrorCode::invalid_argument, "the name of an attribute is empty");
    unwrap(node).attributes.insert_or_assign(name, std::move(value));
  });
}
int32_t set_int(poprt_node* node, const char* name, int64_t value) {
  return set_attribute(node, name, value);
}
int32_t set_float(poprt_node* node, const char* name, float value) {
  return set_attribute(node, name, value);
}
int32_t set_string(poprt_node* node, const char* name, const char* value) {
  return set_attribute(node, name, std::string(value ? value : ""));
}
int32_t set_ints(poprt_node* node, const char* name, const int64_t* values, size_t count) {
  return set_attribute(node, name, std::vector<int64_t>(values, values + count));
}
int32_t set_floats(poprt_node* node, const char* name, const float* values, size_t count) {
  return set_attribute(node, name, std::vector<float>(values, values + count));
}
int32_t remove_attribute(poprt_node* node, const char* name) {
  const auto& all = unwrap(node).attributes;
  const auto found = all.find(std::string_view(name ? name : ""));
  if (found == all.end()) return POPRT_NOT_FOUND;
  unwrap(node).attributes.erase(found);
  return POPRT_OK;
}

int32_t replace_value(poprt_value* from, poprt_value* to) {
  return reported([&] {
    if (!to) fail(ErrorCode::invalid_argument, "replace_value: the new value is null");
    Value& old = unwrap(from);
    Value* by = &unwrap(to);
    if (&old == by) return;
    Graph& g = old.graph();
    // A graph output must be the result of a node and keeps its name, so an Identity may be needed.
    if (g.is_output(&old) && !ir::can_replace(&old, by)) {
      Node* after = old.producer();
      Node* identity = g.add_node("Identity", "", {by});
      if (after) g.move_before(identity, after);
      identity->output()->type = old.type;
      by = identity->output();
    }
    g.replace_all_uses(&old, by);
  });
}
int32_t erase_node(poprt_node* node) {
  return reported([&] {
    Node& n = unwrap(node);
    for (const Value* v : n.outputs())
      if (is_used(v))
        fail(ErrorCode::failed_precondition, "erase_node: '{}', a result of {}, has readers",
             v->name(), n.describe());
    n.graph().erase_node(&n);
  });
}
int32_t infer(poprt_node* node) {
  return reported([&] { ops::infer(unwrap(node)); });
}

int32_t fail_call(poprt_graph*, poprt_error_code code, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  if (current) current->set(code, format, arguments);
  va_end(arguments);
  return code;
}

const char* get_parameter(poprt_graph*, const char* name) noexcept {
  const std::string_view wanted = name ? name : "";
  if (current_arguments) {
    const auto found = current_arguments->find(wanted);
    if (found != current_arguments->end()) return found->second.c_str();
  }
  const char* const why =
      current_arguments ? "is not a parameter of the pass" : "is read while no pass runs";
  try {
    report(ErrorCode::not_found, fmt::format("get_parameter: '{}' {}", wanted, why));
  } catch (const std::exception&) {  // there is no memory for the name
    report(ErrorCode::not_found, why);
  }
  return nullptr;
}

constexpr poprt_graph_host kHost = {
    sizeof(poprt_graph_host),
    graph_name,
    graph_nodes,
    graph_inputs,
    graph_outputs,
    find_value,
    node_graph,
    node_type,
    node_domain,
    node_name,
    node_opset,
    node_input_count,
    node_input,
    node_output_count,
    node_output,
    attribute_count,
    attribute_name,
    attribute_kind,
    get_int,
    get_float,
    get_string,
    get_ints,
    get_floats,
    get_tensor,
    get_graph,
    value_name,
    value_type,
    value_producer,
    value_readers,
    value_is_constant,
    value_is_output,
    add_node,
    add_constant,
    set_name,
    set_type,
    set_input,
    set_int,
    set_float,
    set_string,
    set_ints,
    set_floats,
    remove_attribute,
    replace_value,
    erase_node,
    infer,
    fail_call,
    plugins::write_log,
    get_parameter,
};

}  // namespace

const poprt_graph_host& graph_host() { return kHost; }

int32_t call_with_graph(std::string_view what, const std::function<int32_t()>& function,
                        bool result_is_code, const Arguments* arguments) {
  plugins::Report own;
  plugins::Report* const outer = std::exchange(current, &own);
  const Arguments* const outer_arguments = std::exchange(current_arguments, arguments);
  plugins::prepare_to_catch();
  const int32_t result = plugins::caught(own, function);
  current = outer;
  current_arguments = outer_arguments;
  plugins::check(own, result_is_code ? result : 0, what);
  return result;
}

}  // namespace poprt::passes

#include <bit>
#include <cstring>

#include "base/checked.h"
#include "ir/text.h"
#include "ir/text_element.h"
#include "ir/text_scanner.h"
#include "ir/verifier.h"

namespace poprt::ir {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  std::unique_ptr<Graph> run() {
    auto graph = std::make_unique<Graph>();
    parse_graph(*graph, 0);
    if (!in_.at_end()) in_.expected("the end of the text after the graph");
    return graph;
  }

 private:
  void parse_graph(Graph& graph, int depth) {
    if (depth > kMaxSubgraphDepth)
      in_.error("subgraphs are nested deeper than {}", kMaxSubgraphDepth);
    if (!in_.accept_word("graph")) in_.expected("'graph'");
    graph.name = in_.string();
    if (in_.accept_word("opset")) parse_map([&] { return in_.integer(); }, graph.opsets);
    if (in_.accept_word("metadata")) parse_map([&] { return in_.string(); }, graph.metadata);
    in_.expect('{');
    while (!in_.accept('}')) {
      if (in_.accept_word("input"))
        parse_input(graph);
      else if (in_.accept_word("const"))
        parse_const(graph);
      else if (in_.accept_word("output"))
        parse_output(graph);
      else if (in_.peek() == '%' || in_.peek() == '(')
        parse_node(graph, depth);
      else
        in_.expected("'input', 'const', 'output', a node or '}'");
    }
  }

  template <class F, class Map>
  void parse_map(F&& value, Map& map) {
    in_.expect('{');
    parse_list('}', [&] {
      const size_t at = in_.position();
      std::string key = in_.string();
      in_.expect(':');
      auto v = value();
      if (!map.emplace(key, std::move(v)).second) {
        in_.back_to(at);
        in_.error("{} occurs twice", quoted(key));
      }
    });
  }

  // Parses items that are separated by commas, up to `close`.
  template <class F>
  void parse_list(char close, F&& item) {
    if (in_.accept(close)) return;
    do {
      item();
    } while (in_.accept(','));
    in_.expect(close);
  }

  struct Definition {
    std::string name;
    ValueType type;
  };

  Definition parse_definition(const Graph& graph) {
    const size_t at = in_.position();
    in_.expect('%');
    Definition d{in_.name(), {}};
    if (graph.find(d.name)) {
      in_.back_to(at);
      in_.error("the name {} is taken", quoted(d.name));
    }
    if (in_.accept(':')) d.type = parse_type();
    return d;
  }

  void parse_input(Graph& graph) {
    Definition d = parse_definition(graph);
    Value* v = graph.add_input(std::move(d.name), d.type);
    if (!in_.accept('=')) return;
    v->set_constant(parse_constant(d.type));
    v->type = std::move(d.type);
  }

  void parse_const(Graph& graph) {
    Definition d = parse_definition(graph);
    in_.expect('=');
    Value* v = graph.add_constant(std::move(d.name), parse_constant(d.type));
    v->type = std::move(d.type);  // set_constant() would lose the symbols
  }

  Tensor parse_constant(const ValueType& type) {
    if (type.dtype == DType::undefined) in_.error("a constant needs an element type");
    return parse_data(type);
  }

  void parse_output(Graph& graph) {
    const size_t at = in_.position();
    Value* v = parse_reference(graph);
    if (v && &v->graph() == &graph) return graph.add_output(v);
    in_.back_to(at);
    in_.error("expected a value of this graph as an output");
  }

  Value* parse_reference(Graph& graph) {
    if (in_.accept_word("_")) return nullptr;
    const size_t at = in_.position();
    in_.expect('%');
    const Graph* from = &graph;
    while (from && in_.accept('^')) from = from->parent;
    const std::string name = in_.name();
    for (; from; from = from->parent)
      if (Value* v = from->find(name)) return v;
    in_.back_to(at);
    in_.error("no value {} is defined above", quoted(name));
  }

  void parse_node(Graph& graph, int depth) {
    std::vector<std::string> names;
    std::vector<ValueType> types;
    const size_t outputs_at = in_.position();
    if (in_.accept('(')) {
      in_.expect(')');
    } else {
      do {
        Definition d = parse_definition(graph);
        names.push_back(std::move(d.name));
        types.push_back(std::move(d.type));
      } while (in_.accept(','));
    }
    in_.expect('=');
    std::string op_type = in_.word("an operator"), domain;
    while (in_.accept('.')) {
      if (!domain.empty()) domain += '.';
      domain += op_type;
      op_type = in_.word("an operator");
    }
    if (op_type.empty()) in_.error("an operator has no name");
    if (domain == "ai.onnx") domain.clear();  // passes search for the usual name
    std::vector<Value*> inputs;
    in_.expect('(');
    parse_list(')', [&] { inputs.push_back(parse_reference(graph)); });
    std::map<std::string, Attribute, std::less<>> attributes;
    if (in_.accept('{')) {
      parse_list('}', [&] {
        const size_t at = in_.position();
        std::string key = in_.word("an attribute");
        in_.expect('=');
        Attribute value = parse_attribute(graph, depth);
        if (!attributes.emplace(key, std::move(value)).second) {
          in_.back_to(at);
          in_.error("the attribute {} occurs twice", quoted(key));
        }
      });
    }
    Node* node =
        graph.add_node(std::move(op_type), std::move(domain), inputs, names.size(), nullptr, names);
    node->attributes = std::move(attributes);
    if (in_.peek() == '"') node->name = in_.string();
    for (size_t i = 0; i < names.size(); i++) {
      // The graph has changed the name if another output of the node has it.
      if (node->output(i)->name() != names[i]) {
        in_.back_to(outputs_at);
        in_.error("two outputs of this node are named {}", quoted(names[i]));
      }
      node->output(i)->type = std::move(types[i]);
    }
  }

  ValueType parse_type() {
    ValueType type;
    if (in_.accept('?')) return type;
    const size_t at = in_.position();
    const auto dtype = dtype_from_name(in_.identifier("a type"));
    if (!dtype) {
      in_.back_to(at);
      in_.expected("an element type such as f32 or s64");
    }
    type.dtype = *dtype;
    in_.expect('[');
    if (in_.accept('*')) {
      in_.expect(']');
      return type;
    }
    type.has_shape = true;
    bool any_symbol = false;
    parse_list(']', [&] {
      std::string symbol;
      int64_t size = kUnknownDim;
      const char c = in_.peek();
      if (c >= '0' && c <= '9') {
        size = in_.integer();
      } else if (!in_.accept('?')) {
        symbol = in_.word("a dimension");
        if (in_.accept('=')) {
          const size_t size_at = in_.position();
          size = in_.integer();
          if (size < 0) {
            in_.back_to(size_at);
            in_.error("a dimension is negative");
          }
        }
      }
      any_symbol |= !symbol.empty();
      type.shape.push_back(size);
      type.symbols.push_back(std::move(symbol));
    });
    if (!any_symbol) type.symbols.clear();
    return type;
  }

  // Functions of base/ check sizes but do not know the position in the text.
  template <class F>
  auto checked(F&& f) {
    try {
      return f();
    } catch (const Error& e) {
      in_.error("{}", e.message());
    }
  }

  Tensor parse_data(const ValueType& type) {
    if (!type.has_shape || !poprt::is_static(type.shape))
      in_.error("a tensor needs a type with known dimensions, found {}", type_string(type));
    const int64_t count = checked([&] { return element_count(type.shape); });
    const uint64_t bytes = checked([&] { return dtype_bytes(type.dtype, count); });
    if (in_.peek() == '<')
      in_.error("this tensor was printed without its data: it cannot be parsed");
    if (type.dtype == DType::string) return parse_strings(type, count);
    if (in_.accept_word("hex")) {
      const size_t at = in_.position();
      const std::string data = in_.hex();
      if (data.size() != bytes) {
        in_.back_to(at);
        in_.error("{} needs {} bytes, found {}", type_string(type), bytes, data.size());
      }
      if (type.dtype == DType::undefined && type.shape.empty()) return {};
      Tensor t = Tensor::zeros(type.dtype, type.shape);
      if (bytes) std::memcpy(t.mutable_data(), data.data(), bytes);
      return t;
    }
    if (!has_element_text(type.dtype)) in_.expected("hex\"...\"");
    if (in_.accept_word("fill")) return parse_fill(type, count, bytes);
    std::vector<uint64_t> elements;
    if (type.shape.empty()) {
      elements.push_back(parse_element_of(type.dtype));
    } else {
      in_.expect('[');
      parse_list(']', [&] { elements.push_back(parse_element_of(type.dtype)); });
    }
    check_count(type, count, elements.size());
    Tensor t = Tensor::zeros(type.dtype, type.shape);
    for (int64_t i = 0; i < count; i++)
      store_element(type.dtype, t.mutable_data(), i, elements[static_cast<size_t>(i)]);
    return t;
  }

  Tensor parse_strings(const ValueType& type, int64_t count) {
    std::vector<std::string> values;
    if (type.shape.empty()) {
      values.push_back(in_.string());
    } else {
      in_.expect('[');
      parse_list(']', [&] { values.push_back(in_.string()); });
    }
    check_count(type, count, values.size());
    return Tensor::strings(type.shape, std::move(values));
  }

  Tensor parse_fill(const ValueType& type, int64_t count, uint64_t bytes) {
    const size_t at = in_.position();
    const uint64_t element = parse_element_of(type.dtype);
    if (bytes > kMaxFillBytes - fill_bytes_) {
      in_.back_to(at);
      in_.error("fill makes at most {} bytes in one text, this tensor of {} goes past that",
                kMaxFillBytes, bytes);
    }
    fill_bytes_ += bytes;
    Tensor t = Tensor::zeros(type.dtype, type.shape);
    if (element)
      for (int64_t i = 0; i < count; i++) store_element(type.dtype, t.mutable_data(), i, element);
    return t;
  }

  uint64_t parse_element_of(DType dtype) {
    const size_t at = in_.position();
    const auto bits = parse_element(dtype, in_.token());
    if (!bits) {
      in_.back_to(at);
      in_.expected(fmt::format("an element of type {}", dtype_name(dtype)));
    }
    return *bits;
  }

  void check_count(const ValueType& type, int64_t count, size_t found) {
    if (found != static_cast<size_t>(count))
      in_.error("{} needs {} elements, found {}", type_string(type), count, found);
  }

  Attribute parse_attribute(Graph& graph, int depth) {
    const char c = in_.peek();
    if (c == '"') return in_.string();
    if (c == '[') return parse_plain_list();
    if (is_word_start(c)) {
      if (in_.accept_word("ints")) return parse_list_of<int64_t>([&] { return in_.integer(); });
      if (in_.accept_word("floats")) return parse_list_of<float>([&] { return parse_float(); });
      if (in_.accept_word("strings"))
        return parse_list_of<std::string>([&] { return in_.string(); });
      if (in_.accept_word("tensors")) return parse_list_of<Tensor>([&] { return parse_tensor(); });
      if (in_.accept_word("graphs"))
        return parse_list_of<std::shared_ptr<Graph>>([&] { return parse_subgraph(graph, depth); });
      const size_t at = in_.position();
      const std::string_view word = in_.token();
      in_.back_to(at);
      if (word == "graph") return parse_subgraph(graph, depth);
      if (word != "inf" && !word.starts_with("nan")) return parse_tensor();
    }
    return parse_number();
  }

  static bool is_word_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  Tensor parse_tensor() {
    const ValueType type = parse_type();
    return parse_data(type);
  }

  std::shared_ptr<Graph> parse_subgraph(Graph& parent, int depth) {
    auto sub = std::make_shared<Graph>();
    sub->parent = &parent;
    parse_graph(*sub, depth + 1);
    return sub;
  }

  template <class T, class F>
  std::vector<T> parse_list_of(F&& item) {
    std::vector<T> out;
    in_.expect('[');
    parse_list(']', [&] { out.push_back(item()); });
    return out;
  }

  // The list has integers unless an element is a float, and strings if the first element is one.
  Attribute parse_plain_list() {
    const size_t at = in_.position();
    in_.expect('[');
    const char c = in_.peek();
    if (c == ']') {
      in_.back_to(at);
      in_.error("an empty list needs its type: ints [], floats [] or strings []");
    }
    if (c == '"') {
      in_.back_to(at);
      return parse_list_of<std::string>([&] { return in_.string(); });
    }
    std::vector<int64_t> ints;
    bool floats = false;
    parse_list(']', [&] {
      const Attribute a = parse_number();
      if (const auto* i = std::get_if<int64_t>(&a))
        ints.push_back(*i);
      else
        floats = true;
    });
    if (!floats) return ints;
    in_.back_to(at);
    return parse_list_of<float>([&] { return parse_float(); });
  }

  float parse_float() {
    return std::bit_cast<float>(static_cast<uint32_t>(parse_element_of(DType::f32)));
  }

  Attribute parse_number() {
    const size_t at = in_.position();
    const std::string_view token = in_.token();
    if (const auto bits = parse_element(DType::s64, token)) return static_cast<int64_t>(*bits);
    in_.back_to(at);
    if (token.empty() || token.find_first_of(".eEin") == std::string_view::npos)
      in_.expected("an attribute value");
    return parse_float();
  }

  Scanner in_;
  uint64_t fill_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Graph> parse_text(std::string_view text) {
  auto graph = Parser(text).run();
  verify(*graph);
  return graph;
}

}  // namespace poprt::ir

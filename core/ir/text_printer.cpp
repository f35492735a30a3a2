#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "ir/text.h"
#include "ir/text_element.h"

namespace poprt::ir {
namespace {

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  std::string run(const Graph& graph) {
    print_graph(graph, 0);
    out_ += '\n';
    return std::move(out_);
  }

 private:
  void print_graph(const Graph& graph, size_t depth) {
    out_ += "graph " + quoted(graph.name);
    if (!graph.opsets.empty()) {
      out_ += " opset {";
      print_list(graph.opsets, [&](const auto& entry) {
        out_ += quoted(entry.first) + ": " + std::to_string(entry.second);
      });
      out_ += '}';
    }
    if (!graph.metadata.empty()) {
      out_ += " metadata {";
      print_list(graph.metadata, [&](const auto& entry) {
        out_ += quoted(entry.first) + ": " + quoted(entry.second);
      });
      out_ += '}';
    }
    out_ += " {";
    depth++;
    for (const Value* v : graph.inputs()) {
      start_line(depth);
      out_ += "input ";
      print_definition(*v);
      if (v->is_constant()) {
        out_ += " = ";
        print_data(v->constant());
      }
    }
    const std::unordered_set<const Value*> inputs(graph.inputs().begin(), graph.inputs().end());
    for (const Value* v : graph.values()) {
      if (!v->is_constant() || inputs.contains(v)) continue;
      start_line(depth);
      out_ += "const ";
      print_definition(*v);
      out_ += " = ";
      print_data(v->constant());
    }
    for (const Node* node : graph.nodes()) print_node(*node, depth);
    for (const Value* v : graph.outputs()) {
      start_line(depth);
      out_ += "output ";
      print_reference(v, graph);
    }
    start_line(depth - 1);
    out_ += '}';
  }

  void print_node(const Node& node, size_t depth) {
    start_line(depth);
    if (node.outputs().empty()) out_ += "()";
    print_list(node.outputs(), [&](const Value* v) { print_definition(*v); });
    out_ += " = ";
    print_operator(node);
    out_ += '(';
    print_list(node.inputs(), [&](const Value* v) { print_reference(v, node.graph()); });
    out_ += ')';
    if (!node.attributes.empty()) {
      out_ += " {";
      print_list(node.attributes, [&](const auto& entry) {
        out_ += is_identifier(entry.first) ? entry.first : quoted(entry.first);
        out_ += " = ";
        std::visit([&](const auto& value) { print_attribute(value, depth); }, entry.second);
      });
      out_ += '}';
    }
    if (!node.name.empty()) out_ += ' ' + quoted(node.name);
  }

  // A domain is printed as words separated by dots if it has that form, else quoted.
  void print_operator(const Node& node) {
    if (!node.domain.empty()) {
      bool words = true;
      for (size_t at = 0; words && at <= node.domain.size();) {
        const size_t dot = std::min(node.domain.find('.', at), node.domain.size());
        words = is_identifier(std::string_view(node.domain).substr(at, dot - at));
        at = dot + 1;
      }
      out_ += words ? node.domain : quoted(node.domain);
      out_ += '.';
    }
    out_ += is_identifier(node.op_type) ? node.op_type : quoted(node.op_type);
  }

  void print_attribute(int64_t v, size_t) { out_ += std::to_string(v); }
  void print_attribute(float v, size_t) {
    out_ += element_text(DType::f32, std::bit_cast<uint32_t>(v));
  }
  void print_attribute(const std::string& v, size_t) { out_ += quoted(v); }
  void print_attribute(const Tensor& v, size_t) {
    print_type(ValueType::of(v.dtype(), v.shape()));
    out_ += ' ';
    print_data(v);
  }
  void print_attribute(const std::shared_ptr<Graph>& v, size_t depth) { print_graph(*v, depth); }
  template <class T>
  void print_attribute(const std::vector<T>& list, size_t depth) {
    using Item = std::decay_t<decltype(list[0])>;
    if constexpr (std::is_same_v<Item, Tensor>)
      out_ += "tensors ";
    else if constexpr (std::is_same_v<Item, std::shared_ptr<Graph>>)
      out_ += "graphs ";
    else if (list.empty())
      out_ += std::is_same_v<Item, int64_t> ? "ints "
              : std::is_same_v<Item, float> ? "floats "
                                            : "strings ";
    out_ += '[';
    print_list(list, [&](const auto& item) { print_attribute(item, depth); });
    out_ += ']';
  }

  void print_name(const std::string& name) { out_ += is_plain_name(name) ? name : quoted(name); }

  void print_definition(const Value& v) {
    out_ += '%';
    print_name(v.name());
    out_ += " : ";
    print_type(v.type);
  }

  void print_reference(const Value* v, const Graph& from) {
    if (!v) {
      out_ += '_';
      return;
    }
    out_ += '%';
    // If an inner graph has a value of the same name, prints a ^ for each step from `from` out to
    // the graph that owns the value.
    bool hidden = false;
    std::string up;
    for (const Graph* g = &from; g && g != &v->graph(); g = g->parent) {
      hidden |= g->find(v->name()) != nullptr;
      up += '^';
    }
    if (hidden) out_ += up;
    print_name(v->name());
  }

  void print_type(const ValueType& type) {
    if (type.dtype == DType::undefined && !type.has_shape) {
      out_ += '?';
      return;
    }
    out_ += dtype_name(type.dtype);
    if (!type.has_shape) {
      out_ += "[*]";
      return;
    }
    out_ += '[';
    for (size_t i = 0; i < type.shape.size(); i++) {
      if (i) out_ += ',';
      const bool symbol = i < type.symbols.size() && !type.symbols[i].empty();
      if (symbol)
        out_ += is_identifier(type.symbols[i]) ? type.symbols[i] : quoted(type.symbols[i]);
      if (type.shape[i] >= 0) {
        if (symbol) out_ += '=';
        out_ += std::to_string(type.shape[i]);
      } else if (!symbol) {
        out_ += '?';
      }
    }
    out_ += ']';
  }

  void print_data(const Tensor& t) {
    const int64_t count = t.count();
    const bool large = count > options_.list_elements && count > 1;
    if (t.dtype() == DType::string) {
      print_elements(t, count,
                     [&](int64_t i) { return quoted(t.string_values()[static_cast<size_t>(i)]); });
      return;
    }
    if (has_element_text(t.dtype())) {
      if (large && print_fill(t, count)) return;
      if (!large && is_canonical(t, count)) {
        print_elements(t, count, [&](int64_t i) {
          return element_text(t.dtype(), load_element(t.dtype(), t.data(), i));
        });
        return;
      }
    }
    if (large && options_.large == TextOptions::Large::elide) {
      out_ += "<elided>";
      return;
    }
    print_hex(t);
  }

  template <class F>
  void print_elements(const Tensor& t, int64_t count, F&& text) {
    if (t.shape().empty()) {
      out_ += text(0);
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < count; i++) {
      if (i) out_ += ", ";
      out_ += text(i);
    }
    out_ += ']';
  }

  // Prints a fill and returns true if all elements are equal, an element has whole bytes and the
  // parser's limit of fills allows it.
  bool print_fill(const Tensor& t, int64_t count) {
    if (dtype_bits(t.dtype()) < 8 || t.bytes() > kMaxFillBytes - fill_bytes_) return false;
    const auto size = static_cast<size_t>(dtype_bits(t.dtype()) / 8);
    const auto* p = static_cast<const uint8_t*>(t.data());
    if (std::memcmp(p, p + size, static_cast<size_t>(count - 1) * size) != 0) return false;
    const uint64_t bits = load_element(t.dtype(), p, 0);
    if (t.dtype() == DType::boolean && bits > 1) return false;
    fill_bytes_ += t.bytes();
    out_ += "fill " + element_text(t.dtype(), bits);
    return true;
  }

  // Whether the list form preserves all bits. It would lose the padding bits of sub-byte types, and
  // the bits of booleans that are neither 0 nor 1.
  static bool is_canonical(const Tensor& t, int64_t count) {
    if (t.dtype() == DType::boolean) {
      for (int64_t i = 0; i < count; i++)
        if (load_element(t.dtype(), t.data(), i) > 1) return false;
    }
    const auto used = static_cast<uint64_t>(count) * static_cast<uint64_t>(dtype_bits(t.dtype()));
    return used % 8 == 0 || static_cast<const uint8_t*>(t.data())[t.bytes() - 1] >> (used % 8) == 0;
  }

  void print_hex(const Tensor& t) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto* p = static_cast<const uint8_t*>(t.data());
    out_.reserve(out_.size() + 2 * t.bytes() + 8);
    out_ += "hex\"";
    for (uint64_t i = 0; i < t.bytes(); i++) {
      out_ += kDigits[p[i] >> 4];
      out_ += kDigits[p[i] & 15];
    }
    out_ += '"';
  }

  template <class Range, class F>
  void print_list(const Range& range, F&& print) {
    bool first = true;
    for (const auto& item : range) {
      if (!first) out_ += ", ";
      first = false;
      print(item);
    }
  }

  void start_line(size_t depth) {
    out_ += '\n';
    out_.append(2 * depth, ' ');
  }

  TextOptions options_;
  std::string out_;
  uint64_t fill_bytes_ = 0;
};

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  return Printer(options).run(graph);
}

}  // namespace poprt::ir

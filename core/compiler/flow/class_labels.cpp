// Replaces text that is chosen at run time by numbers. For example, a classifier's label
//
//   %i = ArgMax(%scores)
//   %l = ArrayFeatureExtractor(["cat", "dog"], %i)
//   %y = Reshape(%l, [-1])                             an output of the model
//
// is chosen from [0, 1] instead, and a note in the file states that 1 is "dog". If an operator
// returns or compares several texts, one list numbers all of them.
#include "compiler/flow/class_labels.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "compiler/onnx_metadata.h"
#include "ops/common/label_table.h"
#include "ops/facts.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

using ir::Node;
using ir::Value;
using ops::TextForm;

constexpr std::string_view kClasses = "classlabels_strings";

// Returns the texts that a classifier chooses from.
const std::vector<std::string>* classes_of(const Node& n) {
  if (ops::facts_of(n).class_numbers.empty()) return nullptr;
  const ir::Attribute* a = n.find_attr(kClasses);
  const auto* list = a ? std::get_if<std::vector<std::string>>(a) : nullptr;
  return list && !list->empty() ? list : nullptr;
}

TextForm form_of(const Node& n) {
  const ops::Facts& f = ops::facts_of(n);
  if (f.text_form_of) return f.text_form_of(n);
  if (f.text_form == TextForm::none && f.qdq == ops::QdqForm::moves) return TextForm::passes_on;
  return f.text_form;
}

// The table of a node that maps text to numbers or numbers to text. A LabelEncoder of opset 1 maps
// in both directions, and is not changed.
std::optional<ops::LabelTable> table_of(const Node& n) {
  if (form_of(n) != TextForm::translates || n.find_attr("classes_strings")) return std::nullopt;
  return ops::label_table(n);
}

bool makes_text(const Node& n) {
  const auto table = table_of(n);
  return classes_of(n) || (table && table->values.dtype() == DType::string);
}

bool returns_text(const Node& n) {
  return form_of(n) == TextForm::passes_on || form_of(n) == TextForm::to_text;
}

// Returns the text inputs that an operator returns, compares or looks up.
std::vector<size_t> text_inputs(const Node& n) {
  const TextForm form = form_of(n);
  if (form == TextForm::none) return {};
  if (form == TextForm::translates) {
    const auto table = table_of(n);
    if (!table || table->keys.dtype() != DType::string) return {};
  }
  const uint32_t named = ops::facts_of(n).text_inputs;
  const uint32_t mask = named ? named : 0b1;
  std::vector<size_t> places;
  for (size_t i = 0; i < n.inputs().size(); i++)
    if (ops::in_mask(mask, i)) places.push_back(i);
  return places;
}

bool is_text(const Value* v) { return v && v->is_constant() && v->dtype() == DType::string; }

// A list of distinct texts.
class Numbers {
 public:
  int64_t of(const std::string& text) {
    const auto [at, is_new] = numbers_.emplace(text, static_cast<int64_t>(list_.size()));
    if (is_new) list_.push_back(text);
    return at->second;
  }
  Tensor of(const Tensor& texts) {
    Tensor t = Tensor::zeros(DType::s64, texts.shape());
    auto to = t.mutable_values<int64_t>();
    for (size_t i = 0; i < to.size(); i++) to[i] = of(texts.string_values()[i]);
    return t;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<std::string> list_;
};

// Texts that operators return or compare together, so that one list numbers them.
struct Texts {
  std::vector<Node*> makers;    // in graph order; those of merged sets follow each other
  std::vector<Node*> readers;   // nodes that return or compare a text
  std::vector<Value*> values;   // results of nodes
  const Node* other = nullptr;  // a reader that does not accept numbers
  const Value* read = nullptr;  // the value that `other` reads
  Numbers numbers;
};

class Numbering {
 public:
  explicit Numbering(ir::Graph& graph) : graph_(graph) {}

  void run() {
    find_runtime_values();
    for (Node* n : graph_.nodes()) collect(*n);
    for (Texts& t : texts_) {
      if (t.values.empty()) continue;
      if (!t.other)
        number(t);
      else
        refuse(t);
    }
  }

 private:
  // Finds the values that depend on inputs. All others, including texts, are computed at compile
  // time.
  void find_runtime_values() {
    for (const Value* v : graph_.inputs())
      if (!v->is_constant()) runs_.insert(v);
    for (const Node* n : graph_.nodes()) {
      const auto inputs = n->inputs();
      if (ops::facts_of(*n).from_shapes ||
          std::none_of(inputs.begin(), inputs.end(),
                       [&](const Value* v) { return runs_.contains(v); }))
        continue;
      runs_.insert(n->outputs().begin(), n->outputs().end());
    }
  }

  void collect(Node& n) {
    const std::vector<size_t> places = text_inputs(n);
    const bool runs = runs_.contains(n.output());
    const bool reads = std::any_of(places.begin(), places.end(), [&](size_t i) {
      return at_.contains(n.input(i)) || (runs && returns_text(n) && is_text(n.input(i)));
    });
    if (reads) {
      const size_t all = merge_texts(n, places);
      texts_[all].readers.push_back(&n);
      if (returns_text(n)) add(n, all);
    }
    if ((runs || classes_of(n)) && makes_text(n)) {
      texts_.emplace_back().makers.push_back(&n);
      add(n, texts_.size() - 1);
    }
  }

  // Merges the sets of all these inputs and returns the merged set.
  size_t merge_texts(const Node& n, const std::vector<size_t>& places) {
    texts_.emplace_back();
    const size_t to = texts_.size() - 1;
    for (const size_t i : places) {
      const auto it = at_.find(n.input(i));
      if (it == at_.end() || it->second == to) continue;
      Texts& from = texts_[it->second];
      Texts& all = texts_[to];
      all.makers.insert(all.makers.end(), from.makers.begin(), from.makers.end());
      all.readers.insert(all.readers.end(), from.readers.begin(), from.readers.end());
      all.values.insert(all.values.end(), from.values.begin(), from.values.end());
      if (from.other) {
        all.other = from.other;
        all.read = from.read;
      }
      const std::vector<Value*> moved = std::move(from.values);
      from = {};
      for (const Value* v : moved) at_[v] = to;
    }
    return to;
  }

  void add(Node& n, size_t to) {
    Value* v = n.output();
    Texts& t = texts_[to];
    t.values.push_back(v);
    at_[v] = to;
    for (const ir::Use& use : v->uses()) {
      const std::vector<size_t> places = text_inputs(*use.node);
      const bool takes = std::find(places.begin(), places.end(), use.input) != places.end();
      if (takes && &use.node->graph() == &graph_) continue;
      t.other = use.node;
      t.read = v;
    }
  }

  // The message for a classifier suggests a remedy. The reader reports other texts.
  static void refuse(const Texts& t) {
    for (const Node* n : t.makers)
      if (classes_of(*n))
        fail(
            ErrorCode::unimplemented,
            "{}: its class labels are strings and {} reads them, but the device has no strings; "
            "make '{}' an output of the model, where it becomes the index of the label, and do the "
            "rest after it, or number the classes before export",
            n->describe(), t.other->describe(), t.read->name());
  }

  void number(Texts& t) {
    std::sort(t.readers.begin(), t.readers.end());
    t.readers.erase(std::unique(t.readers.begin(), t.readers.end()), t.readers.end());
    for (Node* n : t.makers) number_maker(*n, t.numbers);
    // Nodes that return texts come first, so that texts that are only compared with a label, or
    // looked up, get the numbers after all labels.
    for (const bool tables : {true, false})
      for (Node* n : graph_.nodes())
        if (returns_text(*n) == tables && std::binary_search(t.readers.begin(), t.readers.end(), n))
          number_reader(*n, t.numbers);
    for (Value* v : t.values) {
      v->type.dtype = DType::undefined;
      if (graph_.is_output(v))
        graph_.metadata[fmt::format("{}{}{}", kOwnProperty, kClassLabels, v->name())] =
            json_text(nlohmann::json(t.numbers.list()));
    }
  }

  static void number_maker(Node& n, Numbers& numbers) {
    if (const auto* classes = classes_of(n)) {
      std::vector<int64_t> list;
      for (const std::string& name : *classes) list.push_back(numbers.of(name));
      n.attributes.erase(n.attributes.find(kClasses));
      n.attributes[std::string(ops::facts_of(n).class_numbers)] = list;
      return;
    }
    const ops::LabelTable table = *table_of(n);
    set_table(n, "values", numbers.of(table.values));
    const int64_t fallback = numbers.of(table.fallback.string_values()[0]);
    if (n.attributes.erase("default_tensor") > 0)
      n.attributes["default_tensor"] = Tensor::of<int64_t>({1}, {fallback});
    n.attributes.erase("default_string");
    if (!n.find_attr("default_tensor")) n.attributes["default_int64"] = fallback;
  }

  void number_reader(Node& n, Numbers& numbers) {
    const auto table = table_of(n);
    if (table) return set_table(n, "keys", numbers.of(table->keys));
    for (const size_t i : text_inputs(n))
      if (Value* v = n.input(i); is_text(v))
        n.set_input(i,
                    graph_.add_constant(graph_.fresh_name(v->name()), numbers.of(v->constant())));
    if (form_of(n) != TextForm::to_text) return;
    n.op_type = "Identity";
    n.attributes.clear();
  }

  static void set_table(Node& n, const std::string& stem, const Tensor& list) {
    n.attributes.erase(stem + "_strings");
    if (n.attributes.erase(stem + "_tensor") > 0) {
      n.attributes[stem + "_tensor"] = list;
      return;
    }
    n.attributes[stem + "_int64s"] = list.to_int64s();
  }

  ir::Graph& graph_;
  std::unordered_set<const Value*> runs_;
  std::unordered_map<const Value*, size_t> at_;  // index in texts_
  std::vector<Texts> texts_;
};

}  // namespace

void number_class_labels(ir::Graph& graph) { Numbering(graph).run(); }

std::map<std::string, std::string> class_labels_of(const ir::Graph& graph) {
  std::map<std::string, std::string> blobs;
  const std::string start = fmt::format("{}{}", kOwnProperty, kClassLabels);
  for (const auto& [key, value] : graph.metadata)
    if (key.starts_with(start)) blobs[key.substr(kOwnProperty.size())] = value;
  return blobs;
}

}  // namespace poprt::compiler

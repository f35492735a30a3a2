#include "compiler/flow/specialize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.h"
#include "compiler/flow/item.h"
#include "ops/common/evaluate.h"
#include "ops/common/strings.h"
#include "ops/op.h"
#include "program/control.h"

namespace poprt::compiler {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr int64_t kMaxNodes = 1 << 19;              // that unrolling adds to a model
constexpr int64_t kMaxElements = 1 << 16;           // of a sequence
constexpr int64_t kShortLoop = 512;                 // nodes of an unrolled loop
constexpr uint64_t kLargeConstant = 1 << 20;        // bytes of a folded result
constexpr uint64_t kLargeInBody = 1 << 16;          // the same where a body may run many times
constexpr uint64_t kMaxFolded = uint64_t{1} << 31;  // bytes of all folded results
constexpr int kMaxDepth = 64;

bool is_standard(const Node& n) { return n.domain.empty() || n.domain == "ai.onnx"; }

// Operators that this file resolves; `string_view` keys without domain.
bool is_flow(const Node& n) {
  static const std::unordered_set<std::string_view> kFlow = {"If",
                                                             "Loop",
                                                             "Scan",
                                                             "SequenceMap",
                                                             "SequenceConstruct",
                                                             "SequenceEmpty",
                                                             "SequenceAt",
                                                             "SequenceInsert",
                                                             "SequenceErase",
                                                             "SequenceLength",
                                                             "SplitToSequence",
                                                             "ConcatFromSequence",
                                                             "Optional",
                                                             "OptionalHasElement",
                                                             "OptionalGetElement"};
  return (is_standard(n) && kFlow.contains(n.op_type)) || n.is("FlexAttention", "ai.onnx.preview");
}

bool makes_unknown_sizes(const Node& n) {
  static const std::unordered_set<std::string_view> kDynamic = {"NonZero", "Unique", "Compress",
                                                                "NonMaxSuppression"};
  return is_standard(n) && kDynamic.contains(n.op_type);
}

bool is_text(const Node& n) {
  static const std::unordered_set<std::string_view> kText = {"StringConcat", "StringSplit",
                                                             "StringNormalizer", "RegexFullMatch"};
  return is_standard(n) && (kText.contains(n.op_type) || ops::is_about_strings(n, {}));
}

bool needs_work(const Graph& graph) {
  for (const Value* v : graph.values())
    if (v->dtype() == DType::string) return true;
  for (const Node* n : graph.nodes()) {
    if (is_flow(*n) || makes_unknown_sizes(*n) || is_text(*n)) return true;
  }
  return false;
}

std::shared_ptr<Graph> subgraph(const Node& n, std::string_view key) {
  const ir::Attribute* a = n.find_attr(key);
  const auto* g = a ? std::get_if<std::shared_ptr<Graph>>(a) : nullptr;
  if (!g) fail(ErrorCode::invalid_argument, "{}: attribute {} is missing", n.describe(), key);
  return *g;
}

int64_t node_count(const Graph& graph) {
  int64_t count = 0;
  for (const Node* n : graph.nodes()) {
    count++;
    ir::for_each_subgraph(*n, [&](const Graph& sub) { count += node_count(sub); });
  }
  return count;
}

std::optional<int64_t> constant_integer(const Item& item) {
  if (item.kind != Item::Kind::tensor || !item.value || !item.value->is_constant())
    return std::nullopt;
  const Tensor& t = item.value->constant();
  if (t.dtype() == DType::string || t.count() != 1) return std::nullopt;
  return t.to_int64s()[0];
}

class Specializer {
 public:
  Specializer(Graph& root, const Options& options)
      : root_(root), target_(&root), options_(options), limit_(kMaxNodes + 4 * node_count(root)) {}

  void run();

 private:
  using Items = std::vector<Item>;
  using Attributes = std::initializer_list<std::pair<const std::string, ir::Attribute>>;

  // One round of a loop body: from index, condition and states to condition, states and scan parts.
  using Round = std::function<Items(Value* index, Value* condition, const Items& states)>;
  struct LoopSpec {
    const Node* node;
    Item count, condition;
    Items states;
    size_t scans = 0;
    int64_t body_nodes = 0;
    Round round;
  };

  Item item_of(const Value* v) const {
    if (!v) return {};
    if (v->is_constant() && &v->graph() == &root_) return Item::of(const_cast<Value*>(v));
    const auto it = items_.find(v);
    if (it == items_.end())
      fail(ErrorCode::invalid_argument, "value '{}' is read before it is made", v->name());
    return it->second;
  }
  Items items_of(std::span<Value* const> values) const {
    Items items;
    for (const Value* v : values) items.push_back(item_of(v));
    return items;
  }
  void give(const Node& n, size_t output, Item item) {
    if (output < n.outputs().size()) items_[n.output(output)] = std::move(item);
  }

  void take_constants(const Graph& graph) {
    if (&graph == &root_) return;
    for (const Value* v : graph.values())
      if (v->is_constant() && !items_.contains(v))
        items_[v] = Item::of(root_.add_constant(v->name(), v->constant()));
  }

  void run_node(const Node& n);
  void run_flow(const Node& n);
  void copy_node(const Node& n);
  void bound_sizes(const Node& n, Node* made);
  void carry_size(const Node& n, const Items& inputs);

  Items run_body(const Graph& body, const Items& inputs);
  void run_if(const Node& n);
  void run_loop(const Node& n);
  void run_scan(const Node& n);
  void run_sequence_map(const Node& n);
  void run_split(const Node& n);
  void run_concat(const Node& n);
  void run_flex_attention(const Node& n);

  Items iterate(const LoopSpec& loop);
  std::optional<Items> unroll(const LoopSpec& loop, std::optional<int64_t> count, int64_t limit);
  Items loop_on_device(const LoopSpec& loop);
  Items scan(const Node& n, const Graph& body, const Items& states,
             const std::vector<Value*>& scanned, std::span<const int64_t> axes,
             std::span<const int64_t> reversed, int64_t length, size_t scans);

  // Everything that takes time or memory counts: unrolling is bounded work.
  void step() {
    if (++made_ > limit_)
      fail(ErrorCode::resource_exhausted,
           "unrolled control flow takes more than {} steps; large loops need static shapes",
           limit_);
  }

  // New nodes in the graph at hand, folded when everything is constant.
  std::vector<Value*> make(const std::string& op, const std::string& domain,
                           std::span<Value* const> inputs, Attributes attributes = {},
                           size_t outputs = 1);
  Value* make1(const std::string& op, std::initializer_list<Value*> inputs,
               Attributes attributes = {}, const std::string& domain = "") {
    return make(op, domain, std::span<Value* const>(inputs.begin(), inputs.size()), attributes)[0];
  }
  std::vector<Value*> finish(Node* n, bool pure_only = true);
  Value* constant(const Tensor& t) { return root_.add_constant("", t); }
  Value* integers(std::span<const int64_t> v) {
    return constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
  }
  Value* integer(int64_t v) { return constant(Tensor::scalar(v)); }
  Value* reshape(Value* v, Shape shape) {
    if (v->type.is_static() && v->shape() == shape) return v;
    return make1("Reshape", {v, integers(shape)});
  }
  Value* slice_at(Value* v, Value* index, int64_t axis) {
    return make1("Gather", {v, index}, {{"axis", axis}});
  }
  Value* stack(const std::vector<Value*>& parts, int64_t axis);
  Value* transpose(Value* v, std::vector<int64_t> perm) {
    return make1("Transpose", {v}, {{"perm", std::move(perm)}});
  }
  // A value that the subgraph at hand may hand out.
  Value* own(Value* v);

  Value* tensor(const Node& n, const Item& item, std::string_view what) const;
  const Value* static_tensor(const Node& n, const Item& item, std::string_view what) const;
  // A control value that the device reads.
  void scalar_input(const Node& n, const Value* v, DType dtype, std::string_view what) const {
    if (v && (v->dtype() != dtype || !v->type.is_static() || element_count(v->shape()) != 1))
      fail_at(n, ErrorCode::invalid_argument, "{} is {}, expected one {}", what,
              ir::type_string(v->type), dtype_name(dtype));
  }
  int64_t position(const Node& n, const Item& item, int64_t size, bool insert) const;

  template <class... Args>
  [[noreturn]] void fail_at(const Node& n, ErrorCode code, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(code, "{} (opset {}): {}", n.describe(), n.opset(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  void set_outputs(const std::vector<Value*>& old);

  Graph& root_;
  Graph* target_;
  const Options& options_;
  std::string scope_;
  int64_t scopes_ = 0, made_ = 0;
  int64_t limit_;
  uint64_t folded_ = 0;
  int64_t rounds_ = 1;  // that the loops around run at most
  int depth_ = 0;
  std::unordered_map<const Value*, Item> items_;
  std::vector<std::pair<Value*, std::string>> names_;  // new values and the names they take over
};

// -- Values -------------------------------------------------------------------------------------

Value* Specializer::tensor(const Node& n, const Item& item, std::string_view what) const {
  if (item.kind != Item::Kind::tensor)
    fail_at(n, ErrorCode::invalid_argument, "{} should be a tensor and is {}", what,
            item.kind == Item::Kind::none ? "missing" : "a sequence");
  return item.value;
}

const Value* Specializer::static_tensor(const Node& n, const Item& item,
                                        std::string_view what) const {
  const Value* v = tensor(n, item, what);
  if (!v->type.is_static())
    fail_at(n, ErrorCode::unimplemented, "the shape of {} depends on run-time values: {}", what,
            ir::type_string(v->type));
  return v;
}

int64_t Specializer::position(const Node& n, const Item& item, int64_t size, bool insert) const {
  if (item.kind == Item::Kind::none) return insert ? size : size - 1;
  const auto p = constant_integer(item);
  if (!p) fail_at(n, ErrorCode::unimplemented, "the position in a sequence must be constant");
  const int64_t last = insert ? size : size - 1;
  if (*p < -size || *p > last)
    fail_at(n, ErrorCode::invalid_argument, "position {} of a sequence of {}", *p, size);
  return *p < 0 ? *p + size : *p;
}

std::vector<Value*> Specializer::make(const std::string& op, const std::string& domain,
                                      std::span<Value* const> inputs, Attributes attributes,
                                      size_t outputs) {
  // Names are unique over all graphs, so that the result can be saved.
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; i++)
    names.push_back(fmt::format("{}{}_{}", scope_, op, made_ + 1));
  Node* n = target_->add_node(op, domain, inputs, outputs, nullptr, names);
  n->name = names[0];
  for (const auto& [key, value] : attributes) n->attributes[key] = value;
  return finish(n);
}

// Infers a new node, and folds it when it can. Returns what stands for its outputs.
std::vector<Value*> Specializer::finish(Node* n, bool pure_only) {
  step();
  std::vector<Value*> results(n->outputs().begin(), n->outputs().end());
  bool constants = true, text = false;
  std::vector<Tensor> inputs;
  for (const Value* v : n->inputs()) {
    constants &= !v || v->is_constant();
    text |= v && v->dtype() == DType::string;
    inputs.push_back(v && v->is_constant() ? v->constant() : Tensor());
  }
  std::vector<Tensor> values;
  if (text || is_text(*n)) {
    if (!constants) {
      ops::infer(*n);  // may know better: an operator that takes no strings at all
      fail(ErrorCode::unimplemented,
           "{}: the device holds no strings: text is computed when the model is compiled, so the "
           "node's inputs must be constant",
           n->describe());
    }
    values = ops::evaluate_strings(*n, inputs);
  } else {
    ops::infer(*n);
    const ops::OpDef& op = ops::op_of(*n);
    if (constants && op.lower && (op.pure || !pure_only)) {
      uint64_t read = 0, made = 0;
      bool ready = true;
      for (const Tensor& t : inputs) read += t.bytes();
      for (const Value* v : n->outputs()) {
        ready &= v->type.is_static() && dtype_bits(v->dtype()) > 0;
        if (ready) made += dtype_bytes(v->dtype(), element_count(v->shape()));
      }
      ir::for_each_subgraph(*n, [&](const Graph&) { ready = false; });
      const bool small = depth_ > 0 ? std::max(made, read) <= kLargeInBody
                                    : made <= std::max(kLargeConstant, 2 * read);
      if (ready && small) {
        folded_ += made;
        if (folded_ > kMaxFolded)
          fail(ErrorCode::resource_exhausted, "constants of more than {} bytes come out of folding",
               kMaxFolded);
        values = ops::evaluate(*n, inputs);
      }
    }
    if (values.empty() && (n->is("Shape") || n->is("Size")) && n->input(0)->type.is_static()) {
      // Asks for no value. Its attributes are handled by evaluating it on anything of the shape.
      const Shape& shape = n->input(0)->shape();
      if (n->is("Size")) {
        values = {Tensor::scalar(element_count(shape))};
      } else {
        const auto rank = static_cast<int64_t>(shape.size());
        const auto clamp = [&](int64_t i) {
          return std::clamp<int64_t>(i < 0 ? checked_add(i, rank) : i, 0, rank);
        };
        const int64_t from = clamp(n->int_attr("start", 0)), to = clamp(n->int_attr("end", rank));
        Shape part;
        for (int64_t i = from; i < to; i++) part.push_back(shape[static_cast<size_t>(i)]);
        values = {Tensor::of<int64_t>({static_cast<int64_t>(part.size())}, part)};
      }
    }
  }
  if (values.empty()) return results;
  for (size_t i = 0; i < results.size(); i++)
    if (i < values.size() && values[i].defined()) results[i] = constant(values[i]);
  target_->erase_node(n);
  return results;
}

Value* Specializer::stack(const std::vector<Value*>& parts, int64_t axis) {
  std::vector<Value*> rows;
  for (Value* v : parts) {
    Shape shape = v->shape();
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
    rows.push_back(reshape(v, shape));
  }
  return rows.size() == 1 ? rows[0] : make("Concat", "", rows, {{"axis", axis}})[0];
}

Value* Specializer::own(Value* v) {
  if (&v->graph() == target_ && v->producer()) return v;
  Node* n = target_->add_node("Identity", "", {v});
  n->output()->type = v->type;
  return n->output();
}

// -- Nodes --------------------------------------------------------------------------------------

void Specializer::run_node(const Node& n) {
  step();
  if (is_flow(n)) return run_flow(n);
  if (is_standard(n) && n.op_type == "Identity") return give(n, 0, item_of(n.input(0)));
  copy_node(n);
}

void Specializer::copy_node(const Node& n) {
  const Items inputs = items_of(n.inputs());
  std::vector<Value*> values;
  for (const Item& item : inputs) {
    if (item.kind == Item::Kind::sequence)
      fail_at(n, ErrorCode::invalid_argument, "an input is a sequence, expected a tensor");
    values.push_back(item.value);
  }
  std::vector<std::string> names;
  for (const Value* v : n.outputs()) names.push_back(scope_ + v->name());
  Node* made = target_->add_node(n.op_type, n.domain, values, n.outputs().size(), nullptr, names);
  made->name = n.name.empty() ? n.name : scope_ + n.name;
  ir::for_each_subgraph(n, [&](const Graph&) {
    fail_at(n, ErrorCode::unimplemented, "subgraphs of this operator are not supported");
  });
  made->attributes = n.attributes;
  const std::vector<Value*> results = finish(made);
  for (size_t i = 0; i < results.size(); i++) {
    give(n, i, Item::of(results[i]));
    if (scope_.empty()) names_.emplace_back(results[i], n.output(i)->name());
  }
  if (makes_unknown_sizes(n) && results[0] == made->output() && !options_.keep_onnx)
    return bound_sizes(n, made);
  carry_size(n, inputs);
}

// Gives an operator whose result size depends on data its upper bound.
void Specializer::bound_sizes(const Node& n, Node* made) {
  Value *x = made->input(0), *y = nullptr;
  if (!x->type.is_static()) return;
  Value* size = nullptr;
  size_t axis = 0;
  const auto replace = [&](const std::vector<Value*>& by) {
    for (size_t i = 0; i < by.size(); i++) {
      for (auto& [value, name] : names_)
        if (value == made->output(i)) value = by[i];
      give(n, i, Item::of(by[i]));
    }
    y = by[0];
    target_->erase_node(made);
  };
  if (n.op_type == "NonZero") {
    if (x->shape().empty()) return;
    size = make1("Count", {x}, {}, "poprt");
    replace(make("NonZero", "poprt", std::array{x}));
    axis = 1;
  } else if (n.op_type == "Unique") {
    Node* u = target_->add_node("Unique", "poprt", {x}, std::max<size_t>(4, n.outputs().size()));
    u->attributes = made->attributes;
    ops::infer(*u);
    size = make1("Count", {u->output(3)}, {}, "poprt");
    const std::vector<Value*> outputs(u->outputs().begin(), u->outputs().end());
    replace({outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(n.outputs().size())});
    for (const size_t i : {1u, 3u})
      if (i < n.outputs().size()) items_[n.output(i)].sized(size, 0);
    if (const ir::Attribute* a = n.find_attr("axis"))
      axis = static_cast<size_t>(
          normalize_axis(std::get<int64_t>(*a), static_cast<int64_t>(x->shape().size())));
  } else if (n.op_type == "Compress") {
    Value* condition = made->input(1);
    if (!condition || !condition->type.is_static()) return;
    const bool flat = !n.find_attr("axis");
    const Shape shape = flat ? Shape{element_count(x->shape())} : x->shape();
    axis = flat ? 0
                : static_cast<size_t>(
                      normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(shape.size())));
    const int64_t length = element_count(condition->shape());
    if (length > shape[axis])
      fail_at(n, ErrorCode::unimplemented,
              "{} conditions for {} elements: a longer condition must be constant", length,
              shape[axis]);
    size = make1("Count", {condition}, {}, "poprt");
    Value* at = reshape(make1("NonZero", {reshape(condition, {length})}, {}, "poprt"), {length});
    replace({make1("Gather", {reshape(x, shape), at}, {{"axis", static_cast<int64_t>(axis)}})});
  } else {  // NonMaxSuppression: its bound is in place, rows past the last one are -1
    y = made->output();
    if (!y->type.is_static()) return;
    Value* images = slice_at(y, integer(0), 1);
    size = make1("Count", {make1("Add", {images, integer(1)})}, {}, "poprt");
  }
  items_[n.output()].sized(size, axis);
}

// Elementwise operators, Transpose and Gather keep track of how much of their input is real.
void Specializer::carry_size(const Node& n, const Items& inputs) {
  static const std::unordered_set<std::string_view> kElementwise = {
      "Abs", "Add", "Cast", "Ceil",  "Clip",    "Div",  "Exp", "Floor",      "Mul",
      "Neg", "Not", "Relu", "Round", "Sigmoid", "Sqrt", "Sub", "Reciprocal", "Tanh"};
  if (!is_standard(n)) return;
  Item& out = items_[n.output()];
  if (out.kind != Item::Kind::tensor || !out.value->type.has_shape) return;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Item& in = inputs[i];
    if (!in.size) continue;
    const size_t rank = in.value->shape().size();
    if (kElementwise.contains(n.op_type)) {
      const size_t added = out.value->shape().size() - rank;
      out.sized(in.size, in.axis + added);
    } else if (n.op_type == "Transpose") {
      std::vector<int64_t> perm = n.ints_attr("perm");
      for (size_t d = 0; d < rank; d++)
        if ((perm.empty() ? rank - 1 - d : static_cast<size_t>(perm[d])) == in.axis)
          out.sized(in.size, d);
    } else if (n.op_type == "Gather" && i == 1) {
      const auto axis = static_cast<size_t>(normalize_axis(
          n.int_attr("axis", 0), static_cast<int64_t>(inputs[0].value->shape().size())));
      out.sized(in.size, axis + in.axis);
    }
  }
}

void Specializer::run_flow(const Node& n) {
  const std::string_view op = n.op_type;
  if (op == "If") return run_if(n);
  if (op == "Loop") return run_loop(n);
  if (op == "Scan") return run_scan(n);
  if (op == "SequenceMap") return run_sequence_map(n);
  if (op == "SplitToSequence") return run_split(n);
  if (op == "ConcatFromSequence") return run_concat(n);
  if (op == "FlexAttention") return run_flex_attention(n);
  const Items in = items_of(n.inputs());
  const auto sequence = [&](size_t i) -> const std::vector<Value*>& {
    if (i >= in.size() || in[i].kind != Item::Kind::sequence)
      fail_at(n, ErrorCode::invalid_argument, "input {} should be a sequence", i);
    return in[i].elements;
  };
  const auto item = [&](size_t i) { return i < in.size() ? in[i] : Item{}; };
  if (op == "SequenceEmpty") return give(n, 0, Item::sequence_of({}));
  if (op == "SequenceConstruct") {
    std::vector<Value*> elements;
    for (const Item& i : in) elements.push_back(tensor(n, i, "an element"));
    return give(n, 0, Item::sequence_of(std::move(elements)));
  }
  if (op == "SequenceLength")
    return give(n, 0, Item::of(integer(static_cast<int64_t>(sequence(0).size()))));
  if (op == "SequenceAt") {
    const auto& elements = sequence(0);
    const Item at = item(1);
    if (!constant_integer(at) && !elements.empty() && at.kind == Item::Kind::tensor &&
        std::all_of(elements.begin(), elements.end(), [&](const Value* v) {
          return v->type.is_static() && v->dtype() == elements[0]->dtype() &&
                 v->shape() == elements[0]->shape() && v->dtype() != DType::string;
        }))
      return give(n, 0, Item::of(slice_at(stack(elements, 0), reshape(at.value, {}), 0)));
    return give(n, 0,
                Item::of(elements[static_cast<size_t>(
                    position(n, at, static_cast<int64_t>(elements.size()), false))]));
  }
  if (op == "SequenceInsert") {
    std::vector<Value*> elements = sequence(0);
    const int64_t at = position(n, item(2), static_cast<int64_t>(elements.size()), true);
    if (static_cast<int64_t>(elements.size()) >= kMaxElements)
      fail_at(n, ErrorCode::resource_exhausted, "a sequence of more than {} tensors", kMaxElements);
    elements.insert(elements.begin() + at, tensor(n, item(1), "the element"));
    return give(n, 0, Item::sequence_of(std::move(elements)));
  }
  if (op == "SequenceErase") {
    std::vector<Value*> elements = sequence(0);
    if (elements.empty()) fail_at(n, ErrorCode::invalid_argument, "the sequence is empty");
    elements.erase(elements.begin() +
                   position(n, item(1), static_cast<int64_t>(elements.size()), false));
    return give(n, 0, Item::sequence_of(std::move(elements)));
  }
  if (op == "Optional") return give(n, 0, item(0));
  if (op == "OptionalHasElement")
    return give(n, 0, Item::of(constant(Tensor::scalar(item(0).kind != Item::Kind::none))));
  if (item(0).kind == Item::Kind::none)
    fail_at(n, ErrorCode::invalid_argument, "the optional has no element");
  give(n, 0, item(0));
}

// -- Control flow -------------------------------------------------------------------------------

Specializer::Items Specializer::run_body(const Graph& body, const Items& inputs) {
  if (body.inputs().size() != inputs.size())
    fail(ErrorCode::invalid_argument, "subgraph '{}' has {} inputs, expected {}", body.name,
         body.inputs().size(), inputs.size());
  if (depth_ >= kMaxDepth)
    fail(ErrorCode::resource_exhausted, "subgraphs are nested deeper than {}", kMaxDepth);
  take_constants(body);
  // Also when an error leaves: attempts that fail are followed by others.
  struct Restore {
    Specializer& s;
    std::string scope;
    ~Restore() {
      s.scope_ = std::move(scope);
      s.depth_--;
    }
  } restore{*this, scope_};
  depth_++;
  scope_ = fmt::format("{}{}_{}/", restore.scope, body.name.substr(0, 16), scopes_++);
  for (size_t i = 0; i < inputs.size(); i++) items_[body.inputs()[i]] = inputs[i];
  for (const Node* n : body.nodes()) run_node(*n);
  return items_of(body.outputs());
}

void Specializer::run_if(const Node& n) {
  const Item condition = item_of(n.input(0));
  tensor(n, condition, "the condition");
  const auto branches = std::array{subgraph(n, "else_branch"), subgraph(n, "then_branch")};
  for (const auto& b : branches)
    if (b->outputs().size() != n.outputs().size())
      fail_at(n, ErrorCode::invalid_argument, "a branch makes {} values, the node {}",
              b->outputs().size(), n.outputs().size());
  if (const auto known = constant_integer(condition)) {
    const Items results = run_body(*branches[*known != 0], {});
    for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
    return;
  }
  scalar_input(n, condition.value, DType::boolean, "the condition");
  // Both branches, each in a graph of its own; sequences as their elements.
  Graph* const outer = target_;
  std::shared_ptr<Graph> made[2];
  Items results[2];
  for (size_t b = 0; b < 2; b++) {
    made[b] = std::make_shared<Graph>(branches[b]->name);
    made[b]->parent = outer;
    target_ = made[b].get();
    try {
      results[b] = run_body(*branches[b], {});
      for (const Item& item : results[b])
        for (Value* v : item.parts()) made[b]->add_output(own(v));
    } catch (...) {
      target_ = outer;
      throw;
    }
    target_ = outer;
  }
  bool same = made[0]->outputs().size() == made[1]->outputs().size();
  for (size_t i = 0; same && i < results[0].size(); i++)
    same = results[0][i].kind == results[1][i].kind &&
           results[0][i].elements.size() == results[1][i].elements.size();
  if (!same)
    fail_at(n, ErrorCode::unimplemented,
            "its branches make containers of different lengths; the condition must be constant");
  const size_t outputs = made[0]->outputs().size();
  for (size_t i = 0; i < outputs; i++) {
    const ir::ValueType &a = made[1]->outputs()[i]->type, &b = made[0]->outputs()[i]->type;
    if (!a.is_static() || a.dtype != b.dtype || a.shape != b.shape)
      fail_at(n, ErrorCode::unimplemented,
              "its branches make {} and {}; both must have one static type, or the condition must "
              "be constant",
              ir::type_string(a), ir::type_string(b));
  }
  Node* node = target_->add_node("If", "", {condition.value}, outputs);
  node->name = n.name.empty() ? n.output()->name() : n.name;
  node->attributes["then_branch"] = made[1];
  node->attributes["else_branch"] = made[0];
  ops::infer(*node);
  size_t o = 0;
  for (size_t i = 0; i < results[0].size(); i++) {
    Item item = results[0][i];
    if (item.kind == Item::Kind::tensor) item = Item::of(node->output(o++));
    for (Value*& v : item.elements) v = node->output(o++);
    give(n, i, std::move(item));
  }
}

void Specializer::run_loop(const Node& n) {
  const auto body = subgraph(n, "body");
  const Items in = items_of(n.inputs());
  LoopSpec loop{.node = &n};
  if (!in.empty()) loop.count = in[0];
  if (in.size() > 1) loop.condition = in[1];
  if (in.size() > 2) loop.states.assign(in.begin() + 2, in.end());
  const size_t states = loop.states.size();
  if (body->inputs().size() != states + 2 || body->outputs().size() != n.outputs().size() + 1 ||
      n.outputs().size() < states)
    fail_at(n, ErrorCode::invalid_argument, "its body has {} inputs and {} outputs",
            body->inputs().size(), body->outputs().size());
  loop.scans = n.outputs().size() - states;
  loop.body_nodes = node_count(*body);
  loop.round = [&](Value* index, Value* condition, const Items& carried) {
    Items inputs = {Item::of(index), Item::of(condition)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    return run_body(*body, inputs);
  };
  const Items results = iterate(loop);
  for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
}

Specializer::Items Specializer::iterate(const LoopSpec& loop) {
  const Node& n = *loop.node;
  const auto condition = loop.condition.kind == Item::Kind::none ? std::optional<int64_t>(1)
                                                                 : constant_integer(loop.condition);
  auto count = constant_integer(loop.count);
  if (condition && *condition == 0) count = 0;
  const bool endless = loop.count.kind == Item::Kind::none;
  const auto nodes = [&](int64_t rounds) {
    const int64_t per = std::max<int64_t>(loop.body_nodes, 1);
    return rounds > kMaxNodes / per ? kMaxNodes : rounds * per;
  };
  const bool unrollable = condition && (count || endless);
  if (unrollable && count && *count > 0 && nodes(*count) <= kShortLoop)
    if (auto results = unroll(loop, count, kShortLoop)) return *results;
  std::string why;
  try {
    return loop_on_device(loop);
  } catch (const Error& e) {
    if (!unrollable || e.code() == ErrorCode::resource_exhausted) throw;
    why = e.message();
  }
  if (auto results = unroll(loop, count, kMaxNodes)) return *results;
  fail_at(n, ErrorCode::unimplemented, "it can neither be unrolled nor run as it is: {}", why);
}

// Nothing when the condition turns out to depend on data, or the limit is too small.
std::optional<Specializer::Items> Specializer::unroll(const LoopSpec& loop,
                                                      std::optional<int64_t> count, int64_t limit) {
  Items states = loop.states;
  std::vector<std::vector<Value*>> parts(loop.scans);
  Value* condition = constant(Tensor::scalar(true));
  const int64_t before = made_;
  int64_t round = 0;
  for (; !count || round < *count; round++) {
    // Inner loops made it longer than it looked.
    if (limit < kMaxNodes && made_ - before > limit * 4) return std::nullopt;
    if (round > program::kMaxRounds || (!count && round > kMaxNodes))
      fail_at(*loop.node, ErrorCode::resource_exhausted, "the loop does not end");
    step();
    const Items results = loop.round(integer(round), condition, states);
    for (size_t i = 0; i < states.size(); i++) states[i] = results[1 + i];
    for (size_t i = 0; i < loop.scans; i++)
      parts[i].push_back(const_cast<Value*>(
          static_tensor(*loop.node, results[1 + states.size() + i], "a scan output")));
    const auto more = constant_integer(results[0]);
    if (!more) return std::nullopt;
    if (*more == 0) {
      round++;
      break;
    }
  }
  for (std::vector<Value*>& p : parts) {
    if (p.empty())
      fail_at(*loop.node, ErrorCode::unimplemented, "the shape of a scan output is not known");
    states.push_back(Item::of(stack(p, 0)));
  }
  return states;
}

Specializer::Items Specializer::loop_on_device(const LoopSpec& loop) {
  const Node& n = *loop.node;
  scalar_input(n, loop.count.value, DType::s64, "the trip count");
  scalar_input(n, loop.condition.value, DType::boolean, "the condition");
  const auto most = constant_integer(loop.count);
  // Of this loop and those around it.
  const int64_t here =
      std::clamp<int64_t>(most.value_or(program::kMaxRounds), 1, program::kMaxRounds);
  struct Rounds {
    int64_t& rounds;
    int64_t outer;
    ~Rounds() { rounds = outer; }
  } rounds{rounds_, rounds_};
  if (here > program::kMaxNestedRounds / rounds_)
    fail_at(n, ErrorCode::resource_exhausted, "nested loops of more than {} rounds",
            program::kMaxNestedRounds);
  rounds_ *= here;
  auto sub = std::make_shared<Graph>("body");
  sub->parent = target_;
  const std::string scope = fmt::format("loop_{}/", scopes_++);
  Value* index = sub->add_input(scope + "index", ir::ValueType::of(DType::s64, {}));
  Value* condition = sub->add_input(scope + "condition", ir::ValueType::of(DType::boolean, {}));
  std::vector<Value*> initial;
  Items states;
  for (const Item& item : loop.states) {
    const Value* v = static_tensor(n, item, "a loop state");
    initial.push_back(const_cast<Value*>(v));
    states.push_back(
        Item::of(sub->add_input(scope + "state", ir::ValueType::of(v->dtype(), v->shape()))));
  }
  Graph* const outer = target_;
  target_ = sub.get();
  bool ends_early = false;
  std::vector<Value*> results;
  try {
    const Items made = loop.round(index, condition, states);
    const auto more = constant_integer(made[0]);
    const bool handed_through = made[0].value == condition;
    ends_early = !(more && *more != 0) && !handed_through;
    for (const Item& item : made)
      results.push_back(own(const_cast<Value*>(static_tensor(n, item, "a loop result"))));
    for (size_t i = 0; i < states.size(); i++) {
      const Value *from = results[1 + i], *to = states[i].value;
      if (from->dtype() != to->dtype() || from->shape() != to->shape())
        fail_at(n, ErrorCode::unimplemented, "a state changes from {} to {} in a round",
                ir::type_string(to->type), ir::type_string(from->type));
    }
    if (loop.scans > 0 && ends_early) {
      // How many parts are real: a state of its own.
      Value* count = sub->add_input(scope + "count", ir::ValueType::of(DType::s64, {}));
      results.insert(results.begin() + 1 + static_cast<ptrdiff_t>(states.size()),
                     own(make1("Add", {count, integer(1)})));
    }
  } catch (...) {
    target_ = outer;
    throw;
  }
  target_ = outer;
  for (Value* v : results) sub->add_output(v);
  const bool counts = loop.scans > 0 && ends_early;
  if (counts) initial.push_back(integer(0));
  if (most && *most > program::kMaxRounds && !ends_early)
    fail_at(n, ErrorCode::resource_exhausted, "{} rounds, the device runs at most {}", *most,
            program::kMaxRounds);
  if (loop.scans > 0 && (!most || *most > program::kMaxRounds))
    fail_at(n, ErrorCode::unimplemented,
            "its scan outputs grow with the trip count, which must be a constant of at most {}",
            program::kMaxRounds);
  std::vector<Value*> inputs = {loop.count.value, loop.condition.value};
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  // The rounds that a constant false condition leaves.
  if (const auto c = constant_integer(loop.condition); c && *c == 0) inputs[0] = integer(0);
  Node* node = target_->add_node("Loop", "", inputs, initial.size() + loop.scans);
  node->name = n.name.empty() ? n.output()->name() : n.name;
  node->attributes["body"] = sub;
  ops::infer(*node);
  Items out;
  for (size_t i = 0; i < states.size(); i++) out.push_back(Item::of(node->output(i)));
  for (size_t i = 0; i < loop.scans; i++) {
    out.push_back(Item::of(node->output(initial.size() + i)));
    static_tensor(n, out.back(), "a scan output");
    if (counts) out.back().sized(node->output(initial.size() - 1), 0);
  }
  return out;
}

// States and scan outputs of one Scan without a batch; scan outputs are stacked along axis 0.
Specializer::Items Specializer::scan(const Node& n, const Graph& body, const Items& states,
                                     const std::vector<Value*>& scanned,
                                     std::span<const int64_t> axes,
                                     std::span<const int64_t> reversed, int64_t length,
                                     size_t scans) {
  LoopSpec loop{.node = &n};
  loop.count = Item::of(integer(length));
  loop.states = states;
  loop.scans = scans;
  loop.body_nodes = node_count(body) + static_cast<int64_t>(scanned.size());
  loop.round = [&](Value* index, Value*, const Items& carried) {
    Items inputs = carried;
    for (size_t i = 0; i < scanned.size(); i++) {
      Value* at = reversed[i] ? make1("Sub", {integer(length - 1), index}) : index;
      inputs.push_back(Item::of(slice_at(scanned[i], at, axes[i])));
    }
    Items results = run_body(body, inputs);
    results.insert(results.begin(), Item::of(constant(Tensor::scalar(true))));
    return results;
  };
  return iterate(loop);
}

void Specializer::run_scan(const Node& n) {
  const auto body = subgraph(n, "body");
  Items in = items_of(n.inputs());
  const bool batched = n.opset() < 9;
  Item lengths;
  if (batched && !in.empty()) {
    lengths = in[0];
    in.erase(in.begin());
  }
  const auto m = static_cast<size_t>(n.int_attr("num_scan_inputs", 0));
  if (m == 0 || m > in.size() || body->inputs().size() != in.size() ||
      body->outputs().size() != n.outputs().size() || n.outputs().size() < in.size() - m)
    fail_at(n, ErrorCode::invalid_argument, "{} scan inputs of {}, a body of {} and {}", m,
            in.size(), body->inputs().size(), body->outputs().size());
  const size_t states = in.size() - m, scans = n.outputs().size() - states;
  const auto list = [&](std::string_view key, size_t size) {
    std::vector<int64_t> v = n.ints_attr(key, std::vector<int64_t>(size, 0));
    if (v.size() != size)
      fail_at(n, ErrorCode::invalid_argument, "{} has {} entries, expected {}", key, v.size(),
              size);
    return v;
  };
  const auto reversed = list(batched ? "directions" : "scan_input_directions", m);
  std::vector<int64_t> axes = batched ? std::vector<int64_t>(m, 0) : list("scan_input_axes", m);
  std::vector<Value*> scanned;
  int64_t length = -1, batch = -1;
  for (size_t i = 0; i < m; i++) {
    const Value* v = static_tensor(n, in[states + i], "a scan input");
    const auto rank = static_cast<int64_t>(v->shape().size());
    if (rank < (batched ? 2 : 1))
      fail_at(n, ErrorCode::invalid_argument, "a scan input is a scalar");
    axes[i] = normalize_axis(axes[i], rank);
    const int64_t size = v->shape()[batched ? 1 : static_cast<size_t>(axes[i])];
    if (length >= 0 && size != length)
      fail_at(n, ErrorCode::invalid_argument, "scan inputs of length {} and {}", length, size);
    length = size;
    batch = v->shape()[0];
    scanned.push_back(const_cast<Value*>(v));
  }
  const Items initial(in.begin(), in.begin() + static_cast<ptrdiff_t>(states));
  if (!batched) {
    Items results = scan(n, *body, initial, scanned, axes, reversed, length, scans);
    const auto out_reversed = list("scan_output_directions", scans);
    const auto out_axes = list("scan_output_axes", scans);
    for (size_t i = 0; i < scans; i++) {
      Value* y = results[states + i].value;
      if (out_reversed[i]) {
        std::vector<int64_t> order(static_cast<size_t>(length));
        for (size_t t = 0; t < order.size(); t++) order[t] = length - 1 - static_cast<int64_t>(t);
        y = make1("Gather", {y, integers(order)}, {{"axis", int64_t{0}}});
      }
      const auto rank = static_cast<int64_t>(y->shape().size());
      if (const int64_t axis = normalize_axis(out_axes[i], rank); axis != 0) {
        std::vector<int64_t> perm;
        for (int64_t d = 1; d < rank; d++) perm.push_back(d);
        perm.insert(perm.begin() + axis, 0);
        y = transpose(y, std::move(perm));
      }
      results[states + i] = Item::of(y);
    }
    for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
    return;
  }
  // Opset 8: one scan for each element of the batch; shorter ones are filled up with zeros.
  std::vector<int64_t> sizes(static_cast<size_t>(batch), length);
  if (lengths.kind == Item::Kind::tensor) {
    if (!lengths.value->is_constant() || lengths.value->constant().count() != batch)
      fail_at(n, ErrorCode::unimplemented, "sequence_lens must be constant, one for each batch");
    sizes = lengths.value->constant().to_int64s();
  }
  if (batch == 0) fail_at(n, ErrorCode::unimplemented, "the batch is empty");
  std::vector<std::vector<Value*>> columns(states + scans);
  for (int64_t b = 0; b < batch; b++) {
    const int64_t size = sizes[static_cast<size_t>(b)];
    if (size < 0 || size > length)
      fail_at(n, ErrorCode::invalid_argument, "sequence_lens has {}, the inputs {}", size, length);
    Items begin;
    for (const Item& s : initial)
      begin.push_back(Item::of(slice_at(tensor(n, s, "a state"), integer(b), 0)));
    std::vector<Value*> rows;
    for (Value* v : scanned) rows.push_back(slice_at(v, integer(b), 0));
    const Items results = scan(n, *body, begin, rows, axes, reversed, size, scans);
    for (size_t i = 0; i < results.size(); i++) {
      Value* y = const_cast<Value*>(static_tensor(n, results[i], "a result"));
      if (i >= states && size < length) {
        Shape rest = y->shape();
        rest[0] = length - size;
        Value* zeros = constant(Tensor::zeros(y->dtype(), rest));
        y = make("Concat", "", std::array{y, zeros}, {{"axis", int64_t{0}}})[0];
      }
      columns[i].push_back(y);
    }
  }
  for (size_t i = 0; i < columns.size(); i++) give(n, i, Item::of(stack(columns[i], 0)));
}

void Specializer::run_sequence_map(const Node& n) {
  const auto body = subgraph(n, "body");
  const Items in = items_of(n.inputs());
  if (in.empty() || in[0].kind != Item::Kind::sequence)
    fail_at(n, ErrorCode::invalid_argument, "input 0 should be a sequence");
  const size_t length = in[0].elements.size();
  std::vector<std::vector<Value*>> made(n.outputs().size());
  for (size_t k = 0; k < length; k++) {
    Items inputs;
    for (const Item& item : in) {
      if (item.kind == Item::Kind::sequence && item.elements.size() != length)
        fail_at(n, ErrorCode::invalid_argument, "sequences of {} and {} elements", length,
                item.elements.size());
      inputs.push_back(item.kind == Item::Kind::sequence ? Item::of(item.elements[k]) : item);
    }
    const Items results = run_body(*body, inputs);
    for (size_t i = 0; i < made.size() && i < results.size(); i++)
      made[i].push_back(tensor(n, results[i], "a result"));
  }
  for (size_t i = 0; i < made.size(); i++) give(n, i, Item::sequence_of(std::move(made[i])));
}

void Specializer::run_split(const Node& n) {
  const Items in = items_of(n.inputs());
  Value* x = const_cast<Value*>(static_tensor(n, in.at(0), "the input"));
  const int64_t axis =
      normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(x->shape().size()));
  const int64_t size = x->shape()[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  bool keep = true;
  if (in.size() > 1 && in[1].kind == Item::Kind::tensor) {
    if (!in[1].value->is_constant())
      fail_at(n, ErrorCode::unimplemented, "the sizes to split into must be constant");
    const Tensor& t = in[1].value->constant();
    sizes = t.to_int64s();
    if (t.shape().empty()) {
      const int64_t part = sizes.at(0);
      if (part <= 0) fail_at(n, ErrorCode::invalid_argument, "parts of {} elements", part);
      sizes.clear();
      if (size / part > kMaxElements)
        fail_at(n, ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
      for (int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
    }
  } else {
    if (size > kMaxElements)
      fail_at(n, ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
    sizes.assign(static_cast<size_t>(size), 1);
    keep = n.int_attr("keepdims", 1) != 0;
  }
  int64_t sum = 0;
  for (const int64_t s : sizes) {
    if (s < 0 || s > size) fail_at(n, ErrorCode::invalid_argument, "a part of {} elements", s);
    sum += s;
  }
  if (sum != size)
    fail_at(n, ErrorCode::invalid_argument, "parts of {} elements in all, the axis has {}", sum,
            size);
  std::vector<Value*> parts = {x};
  if (sizes.size() > 1)
    parts = n.opset() < 13
                ? make("Split", "", std::array{x}, {{"axis", axis}, {"split", sizes}}, sizes.size())
                : make("Split", "", std::array{x, integers(sizes)}, {{"axis", axis}}, sizes.size());
  if (sizes.empty()) parts.clear();
  if (!keep)
    for (Value*& v : parts) {
      Shape shape = v->shape();
      shape.erase(shape.begin() + axis);
      v = reshape(v, shape);
    }
  give(n, 0, Item::sequence_of(std::move(parts)));
}

void Specializer::run_concat(const Node& n) {
  const Items in = items_of(n.inputs());
  if (in.empty() || in[0].kind != Item::Kind::sequence || in[0].elements.empty())
    fail_at(n, ErrorCode::invalid_argument, "input 0 should be a sequence with elements");
  for (const Value* v : in[0].elements)
    static_tensor(n, Item::of(const_cast<Value*>(v)), "an element");
  const auto rank = static_cast<int64_t>(in[0].elements[0]->shape().size());
  const bool fresh = n.int_attr("new_axis", 0) != 0;
  const int64_t axis = normalize_axis(n.int_attr("axis", 0), rank + fresh);
  if (fresh) return give(n, 0, Item::of(stack(in[0].elements, axis)));
  give(n, 0, Item::of(make("Concat", "", in[0].elements, {{"axis", axis}})[0]));
}

// Y = prob_mod(Softmax(score_mod(scale Q K^T))) V, the part between the modifiers in
// softmax_precision; K and V heads are shared by groups of Q heads.
void Specializer::run_flex_attention(const Node& n) {
  const Items in = items_of(n.inputs());
  if (in.size() != 3) fail_at(n, ErrorCode::invalid_argument, "{} inputs, expected 3", in.size());
  Value* x[3];
  for (size_t i = 0; i < 3; i++) {
    x[i] = const_cast<Value*>(static_tensor(n, in[i], "an input"));
    if (x[i]->shape().size() != 4 || !is_float(x[i]->dtype()))
      fail_at(n, ErrorCode::invalid_argument, "input {} is {}, expected four dimensions of floats",
              i, ir::type_string(x[i]->type));
  }
  const Shape &q = x[0]->shape(), &k = x[1]->shape();
  if (k[1] <= 0 || q[1] % k[1] != 0 || x[2]->shape()[1] != k[1])
    fail_at(n, ErrorCode::invalid_argument, "{} query heads for {} key and {} value heads", q[1],
            k[1], x[2]->shape()[1]);
  if (q[1] != k[1]) {
    std::vector<int64_t> heads(static_cast<size_t>(q[1]));
    for (size_t h = 0; h < heads.size(); h++) heads[h] = static_cast<int64_t>(h) / (q[1] / k[1]);
    for (size_t i = 1; i < 3; i++)
      x[i] = make1("Gather", {x[i], integers(heads)}, {{"axis", int64_t{1}}});
  }
  const DType own = x[0]->dtype();
  constexpr int64_t kFloat = 1, kDouble = 11;
  const int64_t precision = n.int_attr("softmax_precision", own == DType::f64 ? kDouble : kFloat);
  const auto cast = [&](Value* v, int64_t to) { return make1("Cast", {v}, {{"to", to}}); };
  const double head = static_cast<double>(std::max<int64_t>(q[3], 1));
  const float scale = n.float_attr("scale", static_cast<float>(1 / std::sqrt(head)));
  Value* scores =
      make1("MatMul", {cast(x[0], precision), transpose(cast(x[1], precision), {0, 1, 3, 2})});
  scores = make1("Mul", {scores, cast(constant(Tensor::scalar(scale)), precision)});
  const auto modify = [&](Value* v, std::string_view key) {
    if (!n.find_attr(key)) return v;
    const Items results = run_body(*subgraph(n, key), {Item::of(v)});
    const Value* y = static_tensor(n, results.at(0), key);
    if (y->shape() != v->shape() || y->dtype() != v->dtype())
      fail_at(n, ErrorCode::invalid_argument, "{} makes {} of {}", key, ir::type_string(y->type),
              ir::type_string(v->type));
    return const_cast<Value*>(y);
  };
  scores = modify(scores, "score_mod");
  Value* probabilities = modify(make1("Softmax", {scores}, {{"axis", int64_t{3}}}), "prob_mod");
  Value* y = make1("MatMul", {probabilities, cast(x[2], precision)});
  give(n, 0, Item::of(make1("CastLike", {y, x[0]})));
}

// -- The whole graph ----------------------------------------------------------------------------

void Specializer::set_outputs(const std::vector<Value*>& old) {
  struct Output {
    std::string name;
    Item item;
  };
  std::vector<Output> outputs;
  std::unordered_set<std::string> taken;
  for (const Value* v : old) taken.insert(v->name());
  for (const Value* v : old) {
    const Item item = item_of(v);
    if (item.kind == Item::Kind::tensor) outputs.push_back({v->name(), item});
    for (size_t i = 0; i < item.elements.size(); i++)
      outputs.push_back({fmt::format("{}[{}]", v->name(), i), Item::of(item.elements[i])});
  }
  // How much of an output is real follows the outputs.
  const size_t count = outputs.size();
  for (size_t i = 0; i < count; i++) {
    const Item item = outputs[i].item;
    const std::string name = outputs[i].name + std::string(kShapeSuffix);
    if (!item.size || options_.keep_onnx || taken.contains(name) || !item.value->type.is_static())
      continue;
    const Shape& bound = item.value->shape();
    std::vector<Value*> dims;
    for (size_t d = 0; d < bound.size(); d++)
      dims.push_back(d == item.axis ? reshape(item.size, {1}) : integers(std::array{bound[d]}));
    Value* shape = dims.size() == 1 ? dims[0] : make("Concat", "", dims, {{"axis", int64_t{0}}})[0];
    outputs.push_back({name, Item::of(shape)});
  }
  while (!root_.outputs().empty()) root_.remove_output(root_.outputs().size() - 1);
  std::unordered_map<std::string, Value*> renames;
  std::vector<std::pair<Value*, std::string>> wanted;
  for (const Output& o : outputs) {
    Value* v = o.item.value;
    if (v->dtype() == DType::string) {
      if (!v->is_constant())
        fail(ErrorCode::unimplemented, "output '{}' is text that depends on an input", o.name);
      if (!options_.constant_outputs)
        fail(ErrorCode::unimplemented, "output '{}' is text ({}): the device has no strings",
             o.name, shape_string(v->shape()));
      (*options_.constant_outputs)[o.name] = v->constant();
      continue;
    }
    if (!v->producer() || root_.is_output(v)) {
      Node* n = root_.add_node("Identity", "", {v});
      n->output()->type = v->type;
      v = n->output();
    }
    root_.add_output(v);
    wanted.emplace_back(v, o.name);
  }
  names_.insert(names_.begin(), wanted.begin(), wanted.end());
}

void Specializer::run() {
  const std::vector<Node*> nodes = root_.nodes();
  const std::vector<Value*> outputs = root_.outputs();
  for (Value* v : root_.inputs()) items_[v] = Item::of(v);
  for (const Node* n : nodes) run_node(*n);
  set_outputs(outputs);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) root_.erase_node(*it);
  // New nodes that nobody reads, among them those of attempts that were given up.
  const std::vector<Node*> made = root_.nodes();
  std::unordered_set<const Value*> gone;
  for (auto it = made.rbegin(); it != made.rend(); ++it) {
    const auto out = (*it)->outputs();
    if (std::any_of(out.begin(), out.end(),
                    [&](const Value* v) { return !v->uses().empty() || root_.is_output(v); }))
      continue;
    gone.insert(out.begin(), out.end());
    root_.erase_node(*it);
  }
  for (Value* v : root_.values())
    if (v->is_constant() && v->uses().empty() && !root_.is_output(v)) {
      gone.insert(v);
      root_.erase_value(v);
    }
  for (const auto& [value, name] : names_)
    if (!gone.contains(value) && &value->graph() == &root_ && !root_.is_input(value) &&
        !root_.find(name))
      root_.rename(value, name);
}

}  // namespace

void specialize(Graph& graph, const Options& options) {
  if (needs_work(graph)) Specializer(graph, options).run();
}

}  // namespace poprt::compiler

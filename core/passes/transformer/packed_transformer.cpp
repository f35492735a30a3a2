// Makes a transformer of [rows, length] tokens compute packed sequences: the sequences are
// concatenated and continue across rows. Input unpack_info [max_valid_num, segments] has the length
// of each sequence. Operators that treat each token independently (embeddings, projections,
// normalisation, feed forward) do not change. Before operators that combine tokens of a sequence
// (attention, pooling), Unpack gives every sequence its own row, and Repack reverses it:
//
//   x [2, 256, 768] -> MatMul, Add -> Unpack [40, 128, 768] -> attention -> Repack, Reshape
//     -> MatMul, Add, LayerNormalization ... [2, 256, 768] -> Unpack: output [40, 128, 768]
//
// The pass matches no patterns. passes/common/token_places.h decides which nodes treat tokens
// independently, and shape inference determines the axes of all other values
// (passes/common/sequence_axes.h).
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "ops/axes.h"
#include "ops/op.h"
#include "passes/common/build.h"
#include "passes/common/chains.h"
#include "passes/common/key_masks.h"
#include "passes/common/sequence_axes.h"
#include "passes/common/token_places.h"

namespace poprt::passes::packed_transformer_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;
using Kind = AxisFactor::Kind;

constexpr std::string_view kInfo = "unpack_info", kConfig = "prop.PackRunnerConfig";
constexpr int64_t kMostItems = 1 << 20;

struct Settings {
  int64_t items = 0;              // max_valid_num
  std::vector<int64_t> segments;  // segment_max_size
  std::vector<std::string> inputs;
  int64_t longest() const {
    int64_t sum = 0;
    for (const int64_t s : segments) sum += s;
    return sum;
  }
};

int64_t whole_number(std::string_view what, const std::string& text) {
  const bool digits = !text.empty() && text.size() < 10 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoll(text) < 1 || std::stoll(text) > kMostItems)
    fail(ErrorCode::invalid_argument, "{}: expected a whole number from 1 to {}, found '{}'", what,
         kMostItems, text);
  return std::stoll(text);
}

// Parses [[a,b],[c]], with or without quotes.
std::vector<std::string> group_names(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  int depth = 0;
  const auto refuse = [&] {
    fail(ErrorCode::invalid_argument, "dynamic_groups: expected [[INPUT,...],...], found '{}'",
         text);
  };
  for (const char c : text) {
    if (c == '[') depth++;
    if (c == ']') depth--;
    if (depth < 0 || depth > 2 || (depth == 0 && c != ']' && c != ' ' && c != ',')) refuse();
    if (c == '[' || c == ']' || c == ',') {
      if (!name.empty()) names.push_back(name);
      name.clear();
    } else if (c != ' ' && c != '\'' && c != '"') {
      name += c;
    }
  }
  if (depth != 0 || (!text.empty() && names.empty())) refuse();
  return names;
}

Settings settings_of(const PassContext& context) {
  Settings s;
  s.items = whole_number("max_valid_num", context.text("max_valid_num"));
  const std::string& sizes = context.text("segment_max_size");
  for (const std::string& size : split_text(sizes, '+'))
    s.segments.push_back(whole_number("segment_max_size", size));
  if (s.segments.empty()) whole_number("segment_max_size", sizes);
  s.inputs = group_names(context.text("dynamic_groups"));
  return s;
}

bool is_softmax(const Node& n) { return n.is("Softmax") || n.is("LogSoftmax") || n.is("Hardmax"); }

// Whether the operator multiplies and sums along axes of two inputs.
bool is_product(const Node& n) {
  const ops::AxisMap map = ops::axis_map(n);
  return std::ranges::any_of(map.reduced, [](const auto& group) { return group.size() > 1; });
}

class Packing {
 public:
  Packing(Graph& graph, Settings settings)
      : graph_(graph), settings_(std::move(settings)), now_{settings_.items, settings_.longest()} {}

  void run(const std::unordered_set<const Node*>& together);

 private:
  struct Unpacked {
    Value* value = nullptr;
    Axes axes;
  };

  void select_inputs();
  void rewrite_masks();
  void visit(Node& n);
  bool keep_packed(Node& n);
  void unpack_node(Node& n);
  void unpack_reshape(Node& n);
  void set_unpacked(Node& n, Node& made, std::vector<Axes> axes);
  void unpack_outputs();
  void describe() const;

  bool depends(const Value* v) const { return v && (packed_.contains(v) || unpacked_.contains(v)); }
  Tokens tokens_of(const Value* v) const;
  // Whether an unpacked value has the places of each sequence one after the other: [items, longest,
  // ...] or [items * longest, ...].
  bool has_sequences(const Value* v) const;
  Unpacked& unpacked(Node& at, Value* v);
  Value* repacked(Node& at, Value* v);
  Value* packed_again(Node& at, Value* sequences, const Shape& shape);
  Value* reference(Node& at, size_t rank);
  Value* by_place(Node& at, Value* v, size_t rank);
  Value* ones_where_tokens(Node& at);
  bool is_masked(const Node& softmax) const;
  void mask_scores(Node& softmax);
  [[noreturn]] void refuse(const Node& n, std::string_view why) const {
    fail(ErrorCode::unimplemented, "packed_transformer: {} combines tokens of a sequence and {}",
         n.describe(), why);
  }

  Graph& graph_;
  Settings settings_;
  SequenceSizes old_, now_;
  Value* info_ = nullptr;
  std::vector<Value*> inputs_;
  std::unordered_set<const Node*> together_;
  std::unordered_map<const Value*, Tokens> packed_;
  std::unordered_map<const Value*, Unpacked> unpacked_;
  std::unordered_map<const Value*, Value*> repacked_;
  std::map<std::pair<const Value*, size_t>, Value*> spread_;
  std::map<size_t, Value*> reference_;
  Value* ones_ = nullptr;
  size_t combining_nodes_ = 0;  // number of nodes that combine tokens
};

// The values that are computed from a value.
std::unordered_set<const Value*> computed_from(const Value* from) {
  std::unordered_set<const Value*> seen;
  std::vector<const Value*> work{from};
  while (!work.empty()) {
    const Value* v = work.back();
    work.pop_back();
    if (!seen.insert(v).second) continue;
    for (const ir::Use& use : v->uses())
      for (const Value* made : use.node->outputs()) work.push_back(made);
  }
  return seen;
}

// Selects the named inputs, and the inputs of the same rows and places that the model combines with
// them. Without names, selects all inputs with as many rows and places as the first two-dimensional
// one.
void Packing::select_inputs() {
  const auto named = [&](const std::string& name) {
    Value* v = graph_.find(name);
    if (!v || !graph_.is_input(v))
      fail(ErrorCode::not_found, "dynamic_groups: the model has no input '{}'", name);
    return v;
  };
  if (graph_.find(kInfo))
    fail(ErrorCode::failed_precondition,
         "the model already has a value '{}'; it may be packed already", kInfo);
  Value* first = settings_.inputs.empty() ? nullptr : named(settings_.inputs[0]);
  for (Value* v : graph_.inputs())
    if (!first && !v->is_constant() && v->type.is_static() && v->shape().size() == 2 &&
        v->shape()[1] > 1)
      first = v;
  if (!first || !first->type.is_static() || first->shape().size() < 2)
    fail(ErrorCode::failed_precondition,
         "packing needs inputs of fixed shape [rows, length, ...]; give `input_shape` or name them "
         "in dynamic_groups");
  old_ = {first->shape()[0], first->shape()[1]};
  if (now_.length > old_.length)
    fail(ErrorCode::invalid_argument,
         "segment_max_size has {} places in total, but input '{}' has rows of {}; give the model "
         "an input_shape with rows as long as the longest sequence",
         now_.length, first->name(), old_.length);
  std::unordered_set<const Value*> of_named;
  for (const std::string& name : settings_.inputs)
    if (const Value* v = graph_.find(name)) of_named.merge(computed_from(v));
  const auto is_combined = [&](const Value* v) {
    return std::ranges::any_of(computed_from(v),
                               [&](const Value* made) { return of_named.contains(made); });
  };
  for (Value* v : graph_.inputs()) {
    const bool fits = v->type.is_static() && v->shape().size() >= 2 && !v->is_constant() &&
                      v->shape()[0] == old_.rows && v->shape()[1] == old_.length;
    const bool is_named = std::ranges::count(settings_.inputs, v->name()) > 0;
    if (is_named && !fits)
      fail(ErrorCode::invalid_argument,
           "dynamic_groups: input '{}' is {}, expected [{},{},...] as '{}'", v->name(),
           ir::type_string(v->type), old_.rows, old_.length, first->name());
    if (fits && (is_named || settings_.inputs.empty() || is_combined(v))) inputs_.push_back(v);
  }
  for (Value* v : inputs_) {
    packed_[v] = Tokens::matrix;
    reference_.emplace(v->shape().size(), v);
  }
  const Shape shape{settings_.items, static_cast<int64_t>(settings_.segments.size())};
  info_ = graph_.add_input(kInfo, ir::ValueType::of(DType::s32, shape));
  // Other inputs with as many rows have one row for each sequence.
  for (Value* v : graph_.inputs()) {
    if (v == info_ || packed_.contains(v) || v->is_constant() || !v->type.is_static() ||
        v->shape().empty() || v->shape()[0] != old_.rows)
      continue;
    Axes axes = plain_axes(v->shape());
    axes[0] = {{Kind::row, old_.rows}};
    v->type.shape[0] = settings_.items;
    unpacked_[v] = {v, axes};
  }
}

// Replaces masks by those of plain_key_mask(), because others may depend on the sizes in ways that
// the pass cannot change.
void Packing::rewrite_masks() {
  for (const KeyMask& mask : find_key_masks(graph_)) {
    if (!packed_.contains(mask.input)) continue;
    Node& made = *mask.value->producer();
    Value* by = plain_key_mask(made, mask);
    for (const ir::Use& use : mask.uses) use.node->set_input(use.input, by);
    erase_if_dead(&made);
  }
}

Tokens Packing::tokens_of(const Value* v) const {
  if (!v) return Tokens::none;
  if (const auto found = packed_.find(v); found != packed_.end()) return found->second;
  if (!unpacked_.contains(v)) return Tokens::none;
  if (!has_sequences(v)) return Tokens::elsewhere;
  return is_only(unpacked_.at(v).axes[0], Kind::row) ? Tokens::matrix : Tokens::flat;
}

bool Packing::has_sequences(const Value* v) const {
  const Axes& axes = unpacked_.at(v).axes;
  const auto plain = [](const Axis& a) { return !has(a, Kind::row) && !has(a, Kind::place); };
  const bool matrix =
      axes.size() >= 2 && is_only(axes[0], Kind::row) && is_only(axes[1], Kind::place);
  const bool flat = !axes.empty() && axes[0].size() == 2 && axes[0][0].kind == Kind::row &&
                    axes[0][1].kind == Kind::place;
  return (matrix || flat) && std::all_of(axes.begin() + (matrix ? 2 : 1), axes.end(), plain);
}

Packing::Unpacked& Packing::unpacked(Node& at, Value* v) {
  if (const auto found = unpacked_.find(v); found != unpacked_.end()) return found->second;
  const bool matrix = packed_.at(v) == Tokens::matrix;
  Node* made = v->producer();
  // A Reshape costs nothing, and the pattern of attention needs it.
  if (made && matrix && made->is("Reshape") && packed_.contains(made->input(0)) &&
      packed_.at(made->input(0)) == Tokens::matrix) {
    const Axes axes = *reshaped_axes(unpacked(at, made->input(0)).axes, v->shape());
    Value* from = unpacked_.at(made->input(0)).value;
    return unpacked_[v] = {reshaped(at, from, shape_of(axes, now_)), axes};
  }
  const auto tail = static_cast<int64_t>(v->shape().size()) - (matrix ? 2 : 1);
  const std::vector<Value*> inputs{v, info_};
  Value* sequences = insert_graphcore(at, "Unpack", inputs,
                                      {{"max_valid_num", settings_.items},
                                       {"segment_max_size", settings_.segments},
                                       {"tail", tail}})
                         ->output();
  Axes axes = plain_axes(v->shape());
  const AxisFactor row{Kind::row, old_.rows}, place{Kind::place, old_.length};
  if (matrix) {
    axes[0] = {row};
    axes[1] = {place};
  } else {
    axes[0] = {row, place};
    sequences = reshaped(at, sequences, shape_of(axes, now_));
  }
  return unpacked_[v] = {sequences, axes};
}

// Returns a packed value of that many dimensions; its shape gives the number of tokens.
Value* Packing::reference(Node& at, size_t rank) {
  Value*& v = reference_[rank];
  if (!v) {
    Shape shape{old_.rows, old_.length};
    shape.resize(rank, 1);
    Value* from = inputs_[0];
    for (const auto& [r, other] : reference_)
      if (r == 2 && other) from = other;
    if (from->shape().size() != 2)
      fail(ErrorCode::unimplemented,
           "packed_transformer: a value of {} dimensions is repacked, but no input has the shape "
           "[{},{}]",
           rank, old_.rows, old_.length);
    v = reshaped(at, from, shape);
  }
  return v;
}

// Packs [items, longest, ...] as tokens of `shape`.
Value* Packing::packed_again(Node& at, Value* sequences, const Shape& shape) {
  const std::vector<Value*> inputs{sequences, info_, reference(at, sequences->shape().size())};
  Value* rows = insert_graphcore(
                    at, "Repack", inputs,
                    {{"max_valid_num", settings_.items}, {"segment_max_size", settings_.segments}})
                    ->output();
  return reshaped(at, rows, shape);
}

Value* Packing::repacked(Node& at, Value* v) {
  if (packed_.contains(v)) return v;
  Value*& made = repacked_[v];
  if (made) return made;
  const Unpacked& u = unpacked_.at(v);
  Value* sequences = u.value;
  if (!is_only(u.axes[0], Kind::row)) {
    Shape shape = sequences->shape();
    shape[0] = now_.length;
    shape.insert(shape.begin(), now_.rows);
    sequences = reshaped(at, sequences, shape);
  }
  return made = packed_again(at, sequences, v->shape());
}

// Returns, for every token, the value for its place.
Value* Packing::by_place(Node& at, Value* v, size_t rank) {
  Value*& made = spread_[{v, rank}];
  if (made) return made;
  Shape shape = v->shape();
  while (shape.size() < rank) shape.insert(shape.begin(), 1);
  Value* front = reshaped(at, v, shape);
  if (now_.length < old_.length)
    front =
        v->is_constant() && front == v
            ? graph_.add_constant(v->name() + "_front", slice_of(v->constant(), 1, 0, now_.length))
            : sliced(at, front, 1, 0, now_.length);
  Shape all = front->shape();
  all[0] = now_.rows;
  Value* size = add_ints(graph_, v->name() + "_all", all);
  Value* sequences = insert_node(at, "Expand", "", {front, size})->output();
  Shape tokens = shape;
  tokens[0] = old_.rows;
  return made = packed_again(at, sequences, tokens);
}

bool Packing::keep_packed(Node& n) {
  if (together_.contains(&n)) return false;
  std::vector<Tokens> inputs;
  bool any_packed = false, all_packed = true;
  for (const Value* v : n.inputs()) {
    inputs.push_back(tokens_of(v));
    if (!depends(v)) continue;
    any_packed |= packed_.contains(v);
    all_packed &= packed_.contains(v);
  }
  const auto by_token = computed_by_token(n, inputs, {old_.rows, old_.length});
  if (!by_token) return false;
  // Small operators on values that are already unpacked stay unpacked.
  if (!all_packed && !by_token->heavy && !any_packed) return false;
  for (size_t i = 0; i < n.inputs().size(); i++)
    if (depends(n.input(i))) n.set_input(i, repacked(n, n.input(i)));
  for (const size_t i : by_token->by_place)
    n.set_input(i, by_place(n, n.input(i), n.output()->shape().size()));
  for (Value* v : n.outputs()) {
    packed_[v] = by_token->result;
    if (by_token->result == Tokens::matrix) reference_.emplace(v->shape().size(), v);
  }
  return true;
}

void Packing::set_unpacked(Node& n, Node& made, std::vector<Axes> axes) {
  for (size_t i = 0; i < n.outputs().size(); i++) {
    if (!made.output(i)->type.is_static() || made.output(i)->shape() != shape_of(axes[i], now_))
      refuse(n, fmt::format("returns {} for {} sequences of {}",
                            ir::type_string(made.output(i)->type), now_.rows, now_.length));
    unpacked_[n.output(i)] = {made.output(i), std::move(axes[i])};
  }
}

void Packing::unpack_reshape(Node& n) {
  const Unpacked from = unpacked(n, n.input(0));
  const auto axes = reshaped_axes(from.axes, n.output()->shape());
  if (!axes)
    refuse(n, fmt::format("reshapes {} to {}, which cuts rows or sequences",
                          shape_string(n.input(0)->shape()), shape_string(n.output()->shape())));
  Value* shape = add_ints(graph_, n.output()->name() + "_shape", shape_of(*axes, now_));
  const std::vector<Value*> inputs{from.value, shape};
  Node* made = insert_node(n, "Reshape", "", inputs);
  set_unpacked(n, *made, {*axes});
}

void Packing::unpack_node(Node& n) {
  if (is_softmax(n) && !is_masked(n)) mask_scores(n);
  if (n.is("Reshape") && depends(n.input(0))) return unpack_reshape(n);
  std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
  std::vector<std::optional<Axes>> axes(inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!depends(inputs[i])) continue;
    const Unpacked& u = unpacked(n, inputs[i]);
    axes[i] = u.axes;
    inputs[i] = u.value;
  }
  if (n.is("Expand") && axes[0]) {
    const Axes made = expanded_axes(*axes[0], n.output()->shape(), old_);
    inputs[1] = add_ints(graph_, n.output()->name() + "_shape", shape_of(made, now_));
    return set_unpacked(n, *insert_like(n, n, inputs), {made});
  }
  const std::vector<std::optional<Axes>> of_tokens = axes;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!inputs[i] || of_tokens[i]) continue;
    const auto plan = adapted_operand(n, i, of_tokens, old_);
    if (!plan)
      refuse(n, fmt::format("reads '{}' {}, which does not have the axes of the tokens",
                            inputs[i]->name(), ir::type_string(inputs[i]->type)));
    if (!plan->changes()) continue;
    axes[i] = plan->axes;
    inputs[i] = adapted_value(n, inputs[i], *plan, old_, now_);
  }
  const auto results = inferred_axes(n, axes);
  if (!results)
    refuse(n, fmt::format("cannot be computed for {} sequences of {}", now_.rows, now_.length));
  set_unpacked(n, *insert_like(n, n, inputs), *results);
}

// Whether the scores depend on tokens in addition to the product of queries and keys, as with a
// mask.
bool Packing::is_masked(const Node& softmax) const {
  std::vector<const Value*> work{softmax.input(0)};
  std::unordered_set<const Value*> seen;
  while (!work.empty()) {
    const Value* v = work.back();
    work.pop_back();
    if (!depends(v) || !seen.insert(v).second) continue;
    if (packed_.contains(v) || !v->producer()) return true;
    if (is_product(*v->producer())) continue;
    for (const Value* from : v->producer()->inputs()) work.push_back(from);
  }
  return false;
}

// f32 [items, longest]: 1 where an item has a token, else 0.
Value* Packing::ones_where_tokens(Node& at) {
  if (!ones_) {
    const std::vector<double> ones(static_cast<size_t>(old_.rows * old_.length), 1);
    Value* all =
        graph_.add_constant("tokens", tensor_of(DType::f32, {old_.rows, old_.length}, ones));
    const std::vector<Value*> inputs{all, info_};
    ones_ = insert_graphcore(at, "Unpack", inputs,
                             {{"max_valid_num", settings_.items},
                              {"segment_max_size", settings_.segments},
                              {"tail", int64_t{0}}})
                ->output();
  }
  return ones_;
}

// Adds a mask to the scores. Without it, attention would include the places after a sequence in its
// row.
void Packing::mask_scores(Node& softmax) {
  Value* scores = softmax.input(0);
  const Unpacked from = unpacked(softmax, scores);
  const std::vector<size_t> summed = ops::mixed_axes(ops::axis_map(softmax), 0);
  if (std::ranges::none_of(summed, [&](size_t a) { return has(from.axes[a], Kind::place); }))
    return;
  if (summed.size() != 1 || !is_only(from.axes[summed[0]], Kind::place) ||
      summed[0] + 1 != from.axes.size() || from.axes[0].empty() ||
      from.axes[0][0].kind != Kind::row || has(from.axes[0], Kind::place))
    refuse(softmax, "has no mask and no axes to add one");
  Value* token = cast_to(softmax, ones_where_tokens(softmax), DType::boolean);
  Value* zero = add_scalar(graph_, scores->name() + "_kept", from.value->dtype(), 0);
  Value* none = add_scalar(graph_, scores->name() + "_dropped", from.value->dtype(), -1e4);
  Value* mask = computed(softmax, "Where", {token, zero, none});
  Shape shape(from.axes.size(), 1);
  shape[0] = now_.rows;
  shape.back() = now_.length;
  if (const int64_t inside = size_of(from.axes[0], {1, 1}); inside > 1) {
    mask = reshaped(softmax, mask, {now_.rows, 1, now_.length});
    Value* all = add_ints(graph_, scores->name() + "_heads", Shape{now_.rows, inside, now_.length});
    mask = insert_node(softmax, "Expand", "", {mask, all})->output();
    shape[0] = now_.rows * inside;
  }
  mask = reshaped(softmax, mask, shape);
  unpacked_[scores].value = computed(softmax, "Add", {from.value, mask});
}

void Packing::visit(Node& n) {
  bool any = false;
  for (const Value* v : n.inputs()) any |= depends(v);
  ir::for_each_subgraph(n, [&](Graph& sub) {
    for_each_node(sub, [&](Node& inner) {
      for (const Value* v : inner.inputs()) any |= depends(v);
      if (any) refuse(n, "is control flow");
    });
  });
  if (!any || keep_packed(n)) return;
  combining_nodes_++;
  unpack_node(n);
}

// Gives each output one row per item.
void Packing::unpack_outputs() {
  std::vector<Node*> nodes = graph_.nodes();
  Node* end = graph_.add_node("Identity", "", {info_}, 1);
  ops::infer(*end);
  for (size_t i = 0; i < graph_.outputs().size(); i++) {
    Value* v = graph_.outputs()[i];
    if (!depends(v)) continue;
    Value* by = unpacked(*end, v).value;
    if (graph_.is_input(by) || graph_.is_output(by))
      by = insert_node(*end, "Identity", "", {by})->output();
    const std::string name = v->name();
    graph_.set_output(i, by);
    if (v->producer()) {
      graph_.rename(v, graph_.fresh_name(name + "_packed"));
      graph_.rename(by, name);
    }
  }
  graph_.erase_node(end);
  std::ranges::reverse(nodes);
  for (Node* n : nodes) {
    const bool used = std::ranges::any_of(n->outputs(), [](const Value* v) { return is_used(v); });
    if (!used) graph_.erase_node(n);
  }
  std::vector<Value*> unused;
  for (Value* v : graph_.values())
    if (v->is_constant() && !is_used(v)) unused.push_back(v);
  for (Value* v : unused) graph_.erase_value(v);
}

// Writes the metadata that PackRunner reads.
void Packing::describe() const {
  nlohmann::json config = {{"unpack_info", kInfo},
                           {"max_valid_num", settings_.items},
                           {"segment_max_size", settings_.segments},
                           {"dynamic", nlohmann::json::array()}};
  for (const Value* v : inputs_) config["dynamic"].push_back(v->name());
  graph_.metadata[std::string(kConfig)] = json_text(config);
}

void Packing::run(const std::unordered_set<const Node*>& together) {
  together_ = together;
  select_inputs();
  rewrite_masks();
  for (Node* n : graph_.nodes()) visit(*n);
  if (combining_nodes_ == 0)
    fail(ErrorCode::failed_precondition,
         "packed_transformer: no node of the model combines tokens of [{},{}], so there is no "
         "attention to pack sequences for",
         old_.rows, old_.length);
  unpack_outputs();
  describe();
}

void run(Graph& graph, PassContext& context) {
  const Settings settings = settings_of(context);
  const auto together = nodes_of_chains(graph, "head_pattern", context.text("head_pattern"));
  if (context.allow()) Packing(graph, settings).run(together);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "packed_transformer",
    .summary =
        "makes a transformer accept packed sequences: input unpack_info has their lengths, "
        "attention and pooling read each in its own row (ai.graphcore Unpack and Repack), other "
        "operators compute all tokens together; outputs have one row per sequence",
    .condition =
        "static shapes; inputs of [rows, length, ...] whose rows the model does not combine; a "
        "model without a mask gets one",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"fused_attention"},
    .parameters = {
        {"max_valid_num", ParameterKind::text, "the largest number of sequences", "", true},
        {"segment_max_size", ParameterKind::text,
         "the length of the longest sequence; the sizes of its parts joined by + if it has several",
         "", true},
        {"dynamic_groups", ParameterKind::text,
         "[[INPUT,...],...]: inputs that are packed, and with them those of the same rows and "
         "places that are combined with them; empty: all with the sizes of the first "
         "two-dimensional input",
         ""},
        {"head_pattern", ParameterKind::text,
         "'s:0->OP:KEY->...->e:1','...': chains of additional nodes that read each sequence in its "
         "own row",
         ""},
        {"enable_double_batch_unpack", ParameterKind::flag,
         "is recorded; memory of the chip for Unpack", "False"},
        {"efficiency_priority", ParameterKind::flag, "is recorded; memory of the chip for Unpack",
         "False"}}};

}  // namespace poprt::passes::packed_transformer_pass

// Supports rows with several sequences of tokens. The mask contains the number of the sequence of
// each token, for example 1 1 1 2 2 0, and a token attends only to tokens with its number. Other
// readers of the mask receive 1 where there is a token. Constants with a value for each place of a
// row (position embeddings) and running sums restart with every sequence.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "ops/op.h"
#include "passes/common/build.h"
#include "passes/common/constant_cone.h"
#include "passes/common/key_masks.h"
#include "passes/common/token_places.h"

namespace poprt::passes::insert_attention_mask_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Between the values of AttentionMask, 0 and -10000.
constexpr double kBetween = -5000;

class Numbered {
 public:
  Numbered(Graph& graph, Value* mask)
      : graph_(graph), mask_(mask), rows_(mask->shape()[0]), length_(mask->shape()[1]) {}

  void replace(const KeyMask& mask);
  // Rewrites all other readers of the mask and the nodes that depend on places.
  void finish();

 private:
  Value* attention_mask(Node& at, DType dtype, size_t rank);
  Value* same(Node& at);
  Value* positions(Node& at);
  void follow_tokens();
  bool has_rows(const Node& n, size_t input) const;
  void one_row(Node& n, size_t input);
  void restart_sums(Node& n);

  Graph& graph_;
  Value* mask_;
  int64_t rows_, length_;
  std::unordered_map<DType, Value*> masks_;
  std::vector<const Node*> own_;  // nodes of the pass that read the sequence numbers
  Value* same_ = nullptr;
  Value* positions_ = nullptr;
};

Value* Numbered::attention_mask(Node& at, DType dtype, size_t rank) {
  const bool half = dtype == DType::f16;
  Value*& made = masks_[half ? DType::f16 : DType::f32];
  if (!made) {
    Value* numbers = cast_to(at, mask_, half ? DType::f16 : DType::f32);
    if (numbers->producer()) own_.push_back(numbers->producer());
    const std::vector<Value*> inputs{numbers};
    Node* n = insert_graphcore(at, "AttentionMask", inputs,
                               {{"dataType", std::string(half ? "FLOAT16" : "FLOAT")}});
    own_.push_back(n);
    made = n->output();
  }
  if (rank == 4) return made;
  Shape shape(rank, 1);
  shape[0] = rows_;
  shape[rank - 2] = shape[rank - 1] = length_;
  return reshaped(at, made, shape);
}

void Numbered::replace(const KeyMask& mask) {
  Node& made = *mask.value->producer();
  const DType dtype = mask.value->dtype();
  const bool is_plain = dtype != DType::boolean && mask.kept == 0 && mask.dropped <= kBetween;
  Value* by = attention_mask(made, is_plain ? dtype : DType::f32, mask.value->shape().size());
  const auto number = [&](const char* what, DType type, double value) {
    return add_scalar(graph_, mask.value->name() + what, type, value);
  };
  if (is_plain) {
    by = cast_to(made, by, dtype);
  } else {
    by = computed(made, "Less", {by, number("_between", DType::f32, kBetween)});
    if (dtype != DType::boolean)
      by = computed(
          made, "Where",
          {by, number("_dropped", dtype, mask.dropped), number("_kept", dtype, mask.kept)});
    else if (mask.kept != 0)
      by = computed(made, "Not", {by});
  }
  for (const ir::Use& use : mask.uses) use.node->set_input(use.input, by);
  erase_if_dead(&made);
}

// bool [rows, length, length]: whether query and key are in one sequence.
Value* Numbered::same(Node& at) {
  if (!same_) {
    Value* numbers = cast_to(at, mask_, DType::s32);
    if (numbers->producer()) own_.push_back(numbers->producer());
    Value* query = reshaped(at, numbers, {rows_, length_, 1});
    Value* key = reshaped(at, numbers, {rows_, 1, length_});
    same_ = computed(at, "Equal", {query, key});
    for (const Value* v : {query, key, same_}) own_.push_back(v->producer());
  }
  return same_;
}

// bool [length, length]: whether the key is before the query, or the same place if `inclusive`.
Value* earlier(Graph& graph, int64_t length, bool inclusive) {
  std::vector<double> values;
  for (int64_t q = 0; q < length; q++)
    for (int64_t k = 0; k < length; k++) values.push_back(k < q || (inclusive && k == q));
  return graph.add_constant(inclusive ? "up_to_place" : "before_place",
                            tensor_of(DType::boolean, {length, length}, values));
}

Value* summed(Node& at, Value* v) {
  const int64_t axis = 2;
  return summed_over(at, v, std::span(&axis, 1));
}

// s64 [rows, length]: the number of tokens of the same sequence before each token.
Value* Numbered::positions(Node& at) {
  if (!positions_) {
    Value* before = computed(at, "And", {same(at), earlier(graph_, length_, false)});
    positions_ = summed(at, cast_to(at, before, DType::s64));
  }
  return positions_;
}

// Limits the running sum y[q] = sum of x[k] up to q to tokens of the same sequence.
void Numbered::restart_sums(Node& n) {
  Value* x = reshaped(n, n.input(0), {rows_, 1, length_});
  Value* keep = computed(n, "And", {same(n), earlier(graph_, length_, true)});
  Value* part = computed(n, "Mul", {cast_to(n, keep, x->dtype()), x});
  Value* sum = summed(n, part);
  graph_.replace_all_uses(n.output(), sum);
  erase_if_dead(&n);
}

// Whether the input, which does not depend on tokens, has a separate element for every token.
bool Numbered::has_rows(const Node& n, size_t input) const {
  const Value* v = n.input(input);
  if (!v || !v->type.is_static() || !n.output()->type.is_static()) return false;
  const Shape &s = v->shape(), &out = n.output()->shape();
  return rows_ > 1 && s.size() >= 2 && s.size() == out.size() && s[0] == rows_ && s[1] == length_;
}

// Keeps one row of the input if all rows are equal, for example embeddings of default token types.
// Otherwise fails.
void Numbered::one_row(Node& n, size_t input) {
  constexpr uint64_t kLargest = uint64_t{1} << 30;
  const Value* v = n.input(input);
  const Tensor known = known_value(v, kLargest);
  const Tensor first = known.defined() ? slice_of(known, 0, 0, 1) : Tensor();
  for (int64_t r = 0; r < rows_; r++)
    if (!known.defined() ||
        std::memcmp(slice_of(known, 0, r, r + 1).data(), first.data(), first.bytes()) != 0)
      fail(ErrorCode::unimplemented,
           "insert_attention_mask: {} adds '{}' {}, which rows have of their own: sequences in a "
           "row cannot share it; give it as an input",
           n.describe(), v->name(), ir::type_string(v->type));
  n.set_input(input, graph_.add_constant(v->name() + "_row", first));
}

// Follows values from the tokens through nodes that treat each token independently, up to the first
// attention, and makes positions and running sums on the way restart with every sequence.
void Numbered::follow_tokens() {
  std::unordered_map<const Value*, Tokens> tokens;
  for (const Value* v : graph_.inputs())
    if (!v->is_constant() && v->type.is_static() && v->shape().size() >= 2 &&
        v->shape()[0] == rows_ && v->shape()[1] == length_)
      tokens[v] = Tokens::matrix;
  for (Node* n : graph_.nodes()) {
    if (std::ranges::count(own_, n)) {
      // The masks that the pass adds have an element for each pair of tokens, so their readers
      // combine tokens.
      for (const Value* v : n->outputs()) tokens[v] = Tokens::elsewhere;
      continue;
    }
    std::vector<Tokens> inputs;
    for (const Value* v : n->inputs()) {
      const auto found = tokens.find(v);
      inputs.push_back(found == tokens.end() ? Tokens::none : found->second);
    }
    if (std::ranges::all_of(inputs, [](Tokens t) { return t == Tokens::none; })) continue;
    for (const Value* v : n->outputs()) tokens[v] = Tokens::elsewhere;
    const bool sums = n->is("CumSum");
    if (sums && inputs[0] == Tokens::matrix && n->input(0)->shape().size() == 2 &&
        n->int_attr("exclusive", 0) == 0 && n->int_attr("reverse", 0) == 0 &&
        const_scalar(n->input(1)) &&
        normalize_axis(static_cast<int64_t>(*const_scalar(n->input(1))), 2) == 1) {
      Value* old = n->output();
      const std::vector<ir::Use> uses = old->uses();
      tokens.erase(old);
      restart_sums(*n);
      if (!uses.empty()) tokens[uses[0].node->input(uses[0].input)] = Tokens::matrix;
      continue;
    }
    const bool per_element = ops::facts_of(*n).per_element;
    for (size_t i = 0; per_element && i < inputs.size(); i++)
      if (inputs[i] == Tokens::none && has_rows(*n, i)) one_row(*n, i);
    const auto by_token = computed_by_token(*n, inputs, {rows_, length_});
    if (!by_token) continue;
    for (const size_t i : by_token->by_place) {
      Value* v = n->input(i);
      Shape table = v->shape();
      if (table.size() == n->output()->shape().size()) table.erase(table.begin());
      const std::vector<Value*> look_up{reshaped(*n, v, table), positions(*n)};
      n->set_input(i, insert_node(*n, "Gather", "", look_up, {{"axis", int64_t{0}}})->output());
    }
    for (const Value* v : n->outputs()) tokens[v] = by_token->result;
  }
}

void Numbered::finish() {
  follow_tokens();
  std::vector<ir::Use> others;
  for (const ir::Use& use : mask_->uses())
    if (!std::ranges::count(own_, use.node)) others.push_back(use);
  if (others.empty() || mask_->dtype() == DType::boolean) return;
  Node& first = *graph_.nodes().front();
  Value* tokens = cast_to(first, cast_to(first, mask_, DType::boolean), mask_->dtype());
  for (const ir::Use& use : others) use.node->set_input(use.input, tokens);
}

void run(Graph& graph, PassContext& context) {
  std::vector<std::pair<Value*, Numbered>> found;
  for (const KeyMask& mask : find_key_masks(graph)) {
    if (mask.input->dtype() == DType::boolean) {
      log().warn(
          "insert_attention_mask: mask input '{}' is bool and cannot carry numbers of sequences",
          mask.input->name());
      continue;
    }
    if (!context.allow()) return;
    auto at = std::ranges::find(found, mask.input, [](const auto& f) { return f.first; });
    if (at == found.end()) {
      found.emplace_back(mask.input, Numbered(graph, mask.input));
      at = found.end() - 1;
    }
    at->second.replace(mask);
  }
  for (auto& [input, numbered] : found) numbered.finish();
  if (found.empty())
    log().warn(
        "insert_attention_mask: the model is unchanged: no attention has a mask that is computed "
        "from an input [rows, length] alone; rows cannot contain several sequences");
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "insert_attention_mask",
    .summary =
        "lets a row of tokens contain several sequences: the mask carries their numbers, 1, 2, 3 "
        "..., ai.graphcore.AttentionMask keeps each to itself; positions that are constants begin "
        "anew with each",
    .condition =
        "a mask that is computed from an input [rows, length] alone drops keys of an attention "
        "where the input is 0; outputs that mix tokens of a row are of the row, not of a sequence",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"fused_attention"},
    .against = {"packed_transformer"}};

}  // namespace poprt::passes::insert_attention_mask_pass

#include "passes/common/decoder_attention.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "ir/newest.h"

namespace poprt::passes {
namespace {

// Inputs and outputs of MultiHeadAttention.
enum : size_t { kQuery, kKey, kValue, kBias, kMask, kScoreBias, kPastKey, kPastValue, kPastLength };
enum : size_t { kResult, kPresentKey, kPresentValue, kScoresOut };

class DecomposeAttention {
 public:
  DecomposeAttention(ir::Graph& graph, ir::Node& node) : graph_(graph), node_(node) {}

  void run() {
    check();
    const int64_t heads = node_.int_attr("num_heads", 0);
    const int64_t size = node_.input(kPastKey)->shape().back();
    checked_mul<int64_t>(checked_mul(heads, size, "num_heads"), 3, "num_heads");  // size of bias
    const float given = node_.float_attr("scale", 0);
    const float scale = given != 0 ? given : 1 / std::sqrt(static_cast<float>(size));
    ir::Value* q = by_head(with_bias(kQuery, heads * size), heads, size);
    ir::Value* keys = appended(kPastKey, by_head(with_bias(kKey, heads * size), heads, size));
    ir::Value* values = appended(kPastValue, by_head(with_bias(kValue, heads * size), heads, size));
    ir::Node* factor = add("Cast", {graph_.add_constant("", Tensor::of<float>({}, {scale}))});
    constexpr int64_t kFloat = 1, kFloat16 = 10;  // numbers of the types in ONNX
    factor->attributes["to"] = node_.input(kPastKey)->dtype() == DType::f16 ? kFloat16 : kFloat;
    ir::Node* turned = add("Transpose", {keys});
    turned->attributes["perm"] = std::vector<int64_t>{0, 1, 3, 2};
    ir::Value* scores =
        add("MatMul", {add("Mul", {q, factor->output()})->output(), turned->output()})->output();
    if (ir::Value* bias = node_.input(kScoreBias)) scores = add("Add", {scores, bias})->output();
    ir::Node* weights = add("Softmax", {scores});
    weights->attributes["axis"] = int64_t{-1};
    ir::Node* y = add("Transpose", {add("MatMul", {weights->output(), values})->output()});
    y->attributes["perm"] = std::vector<int64_t>{0, 2, 1, 3};
    ir::Value* merged = add("Reshape", {y->output(), ints({0, 0, heads * size})})->output();
    graph_.replace_all_uses(node_.output(kResult), merged);
    graph_.replace_all_uses(node_.output(kPresentKey), keys);
    graph_.replace_all_uses(node_.output(kPresentValue), values);
    graph_.erase_node(&node_);
  }

 private:
  void check() const {
    const auto refuse = [&](std::string_view why) {
      fail(ErrorCode::unimplemented, "generation: {} {}", node_.describe(), why);
    };
    for (const size_t i : {kQuery, kKey, kValue, kPastValue})
      if (!node_.input(i)) refuse("has packed queries, keys and values");
    if (node_.input(kMask)) refuse("has a mask of keys");
    if (node_.inputs().size() > kPastLength) {
      for (size_t i = kPastLength; i < node_.inputs().size(); i++)
        if (node_.input(i)) refuse("shares the memory of past and present keys");
    }
    for (const size_t i : {kPastKey, kPastValue}) {
      const ir::ValueType& type = node_.input(i)->type;
      if (!type.has_shape || type.shape.size() != 4 || type.shape.back() < 1)
        refuse("has a past of unknown head size");
    }
    if (node_.int_attr("num_heads", 0) < 1) refuse("has no num_heads");
    if (node_.outputs().size() <= kPresentValue) refuse("has no present keys and values");
    if (const ir::Value* v = node_.output(kScoresOut);
        v && (!v->uses().empty() || graph_.is_output(v)))
      refuse("returns its scores");
  }

  // Adds an operator of the model's opset, as other exporters do.
  ir::Node* add(std::string type, std::initializer_list<ir::Value*> inputs) {
    return graph_.add_node(std::move(type), "", inputs, 1, &node_);
  }
  ir::Value* ints(std::initializer_list<int64_t> values) {
    return graph_.add_constant(
        "", Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, std::vector(values)));
  }

  // Input `part` with its third of the bias.
  ir::Value* with_bias(size_t part, int64_t width) {
    ir::Value* bias = node_.input(kBias);
    if (!bias) return node_.input(part);
    const auto at = static_cast<int64_t>(part) * width;
    ir::Node* own = add("Slice", {bias, ints({at}), ints({at + width})});
    return add("Add", {node_.input(part), own->output()})->output();
  }

  // [B,S,heads*D] as [B,heads,S,D].
  ir::Value* by_head(ir::Value* v, int64_t heads, int64_t size) {
    ir::Node* n = add("Transpose", {add("Reshape", {v, ints({0, 0, heads, size})})->output()});
    n->attributes["perm"] = std::vector<int64_t>{0, 2, 1, 3};
    return n->output();
  }

  ir::Value* appended(size_t past, ir::Value* added) {
    ir::Node* n = add("Concat", {node_.input(past), added});
    n->attributes["axis"] = int64_t{2};
    return n->output();
  }

  ir::Graph& graph_;
  ir::Node& node_;
};

// Replaces one Attention of com.microsoft, whose past keys and values are one tensor, by a product,
// slices of it, and a MultiHeadAttention whose past keys and values are separate.
class SeparatePasts {
 public:
  SeparatePasts(ir::Graph& graph, ir::Node& node) : graph_(graph), node_(node) {}

  void run() {
    check();
    const std::vector<int64_t> columns = columns_of();
    ir::Value* qkv = add("MatMul", {node_.input(0), node_.input(1)})->output();
    if (ir::Value* bias = node_.input(2)) qkv = add("Add", {qkv, bias})->output();
    std::vector<ir::Value*> inputs;
    int64_t at = 0;
    for (const int64_t count : columns) {
      inputs.push_back(
          add("Slice", {qkv, ints(at), ints(at + count), ints(2)}, std::string(ir::kNewestDomain))
              ->output());
      at += count;
    }
    inputs.insert(inputs.end(), {nullptr, node_.input(kMaskIndex), node_.input(kBiasOfScores)});
    ir::Value* past = node_.input(kPast);
    for (const char* part : {".key", ".value"}) inputs.push_back(past_input(*past, part));
    ir::Node* made = graph_.add_node("MultiHeadAttention", "com.microsoft", inputs, 3, &node_);
    made->name = node_.name;
    for (const auto& [key, value] : node_.attributes)
      if (key != "qkv_hidden_sizes" && key != "do_rotary" && key != "past_present_share_buffer")
        made->attributes[key] = value;
    made->output(0)->type = node_.output(0)->type;
    graph_.replace_all_uses(node_.output(0), made->output(0));
    replace_present(*made);
    graph_.erase_node(&node_);
    keep_readers(past, inputs[inputs.size() - 2], inputs.back());
    graph_.erase_value(past);
  }

 private:
  enum : size_t { kMaskIndex = 3, kPast, kBiasOfScores, kSharedLength };

  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::unimplemented, "generation: {} {}", node_.describe(), why);
  }

  void check() const {
    const ir::Value *past = node_.input(kPast), *weights = node_.input(1);
    if (!past->type.has_shape || past->shape().size() != 5)
      refuse("has a past that is not [2, batch, heads, length, size]");
    if (!node_.input(0) || !weights) refuse("has no input or no weights");
    if (!weights->type.has_shape || weights->shape().size() != 2 || weights->shape()[1] < 3)
      refuse("has weights of unknown size");
    if (node_.int_attr("do_rotary", 0)) refuse("has do_rotary");
    if (node_.int_attr("past_present_share_buffer", 0) || node_.input(kSharedLength))
      refuse("shares the memory of past and present; export with separate past and present");
    if (!node_.output(1) || !graph_.is_output(node_.output(1)))
      refuse("has a past, and its present is not an output of the model");
  }

  std::vector<int64_t> columns_of() const {
    const int64_t all = node_.input(1)->shape()[1];
    std::vector<int64_t> columns = node_.ints_attr("qkv_hidden_sizes", {all / 3, all / 3, all / 3});
    int64_t rest = all;
    bool fits = columns.size() == 3;
    for (const int64_t count : columns) {
      fits = fits && count >= 1 && count <= rest;
      if (fits) rest -= count;
    }
    if (!fits || rest != 0)
      refuse("has qkv_hidden_sizes that do not add up to the columns of its weights");
    return columns;
  }

  ir::Value* ints(int64_t value) {
    return graph_.add_constant("", Tensor::of<int64_t>({1}, {value}));
  }
  ir::Node* add(std::string type, std::initializer_list<ir::Value*> inputs,
                std::string domain = "") {
    return graph_.add_node(std::move(type), std::move(domain), inputs, 1, &node_);
  }

  ir::Value* past_input(const ir::Value& past, const char* part) {
    ir::ValueType type = past.type;
    type.shape.erase(type.shape.begin());
    if (!type.symbols.empty()) type.symbols.erase(type.symbols.begin());
    return graph_.add_input(past.name() + part, std::move(type));
  }

  // The output becomes two outputs.
  void replace_present(const ir::Node& made) {
    ir::Value* present = node_.output(1);
    const auto outputs = graph_.outputs();
    const auto at = static_cast<size_t>(std::ranges::find(outputs, present) - outputs.begin());
    const std::string name = present->name();
    graph_.set_output(at, made.output(1));
    graph_.add_output(made.output(2));
    graph_.rename(made.output(1), name + ".key");
    graph_.rename(made.output(2), name + ".value");
    if (!present->uses().empty()) refuse("has a present that another node reads");
  }

  // Nodes that read the past, for example its shape, read the joined keys and values instead.
  void keep_readers(ir::Value* past, ir::Value* keys, ir::Value* values) {
    if (past->uses().empty()) return;
    ir::Node* first = graph_.nodes().front();
    const std::string domain(ir::kNewestDomain);
    ir::Value* axis = ints(0);
    const auto widened = [&](ir::Value* v) {
      return graph_
          .add_node("Unsqueeze", domain, std::initializer_list<ir::Value*>{v, axis}, 1, first)
          ->output();
    };
    const std::initializer_list<ir::Value*> parts = {widened(keys), widened(values)};
    ir::Node* all = graph_.add_node("Concat", domain, parts, 1, first);
    all->attributes["axis"] = int64_t{0};
    all->output()->type = past->type;
    graph_.replace_all_uses(past, all->output());
  }

  ir::Graph& graph_;
  ir::Node& node_;
};

}  // namespace

void separate_pasts(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes())
    if (n->is("Attention", "com.microsoft") && n->input(4) && graph.is_input(n->input(4)))
      SeparatePasts(graph, *n).run();
}

void decompose_attention(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes())
    if (n->is("MultiHeadAttention", "com.microsoft") && n->input(kPastKey) &&
        graph.is_input(n->input(kPastKey)))
      DecomposeAttention(graph, *n).run();
}

}  // namespace poprt::passes

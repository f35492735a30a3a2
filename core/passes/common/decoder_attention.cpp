#include "passes/common/decoder_attention.h"

#include <cmath>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace poprt::passes {
namespace {

// Inputs and outputs of MultiHeadAttention.
enum : size_t { kQuery, kKey, kValue, kBias, kMask, kScoreBias, kPastKey, kPastValue, kPastLength };
enum : size_t { kResult, kPresentKey, kPresentValue, kScoresOut };

class SeparateAttention {
 public:
  SeparateAttention(ir::Graph& graph, ir::Node& node) : graph_(graph), node_(node) {}

  void run() {
    check();
    const int64_t heads = node_.int_attr("num_heads", 0);
    const int64_t size = node_.input(kPastKey)->shape().back();
    const float given = node_.float_attr("scale", 0);
    const float scale = given != 0 ? given : 1 / std::sqrt(static_cast<float>(size));
    ir::Value* q = by_head(with_bias(kQuery, heads * size), heads, size);
    ir::Value* keys = appended(kPastKey, by_head(with_bias(kKey, heads * size), heads, size));
    ir::Value* values = appended(kPastValue, by_head(with_bias(kValue, heads * size), heads, size));
    ir::Node* factor = add("Cast", {graph_.add_constant("", Tensor::of<float>({}, {scale}))});
    constexpr int64_t kFloat = 1, kFloat16 = 10;  // of ONNX
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

  // Operators of the model's opset, as those of other exporters.
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

}  // namespace

void separate_attention(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes())
    if (n->is("MultiHeadAttention", "com.microsoft") && n->input(kPastKey) &&
        graph.is_input(n->input(kPastKey)))
      SeparateAttention(graph, *n).run();
}

}  // namespace poprt::passes

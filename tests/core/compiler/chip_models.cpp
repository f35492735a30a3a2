#include "core/compiler/chip_models.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>

#include "ops/op.h"

namespace poprt::chip_models {
namespace {

using ir::Node;
using ir::Value;

class Net {
 public:
  Net() {
    model.graph = std::make_unique<ir::Graph>("net");
    model.graph->opsets[""] = 20;
  }

  Model model;

  ir::Graph& graph() { return *model.graph; }
  Value* input(const std::string& name, DType type, Shape shape) {
    return graph().add_input(name, ir::ValueType::of(type, std::move(shape)));
  }
  Value* weight(Shape shape) {
    const std::string name = "w" + std::to_string(model.weights.size());
    model.weights.push_back(name);
    return input(name, DType::f32, std::move(shape));
  }
  Value* ints(std::vector<int64_t> values) {
    const auto size = static_cast<int64_t>(values.size());
    return graph().add_constant("c", Tensor::of<int64_t>({size}, std::span<const int64_t>(values)));
  }
  Value* number(const float& value) {
    return graph().add_constant("c", Tensor::of<float>({}, std::span(&value, 1)));
  }
  Node* node(const char* type, std::initializer_list<Value*> inputs) {
    Node* n = graph().add_node(type, "", inputs);
    n->name = std::string(type) + "_" + std::to_string(count_++);
    return n;
  }
  Value* op(const char* type, std::initializer_list<Value*> inputs) {
    Node* n = node(type, inputs);
    return finish(n);
  }
  Value* finish(Node* n) {
    ops::infer(*n);
    return n->output();
  }
  Value* reshape(Value* x, std::vector<int64_t> shape) {
    return op("Reshape", {x, ints(std::move(shape))});
  }
  Value* transpose(Value* x, std::vector<int64_t> perm) {
    Node* n = node("Transpose", {x});
    n->attributes["perm"] = std::move(perm);
    return finish(n);
  }
  Value* slice(Value* x, int64_t axis, int64_t begin, int64_t end) {
    return op("Slice", {x, ints({begin}), ints({end}), ints({axis})});
  }
  Value* linear(Value* x, int64_t out, bool bias) {
    Value* y = op("MatMul", {x, weight({x->shape().back(), out})});
    return bias ? op("Add", {y, weight({out})}) : y;
  }
  Value* layer_norm(Value* x) {
    const int64_t n = x->shape().back();
    Node* norm = node("LayerNormalization", {x, weight({n}), weight({n})});
    norm->attributes["axis"] = int64_t{-1};
    return finish(norm);
  }
  Value* conv(Value* x, int64_t out, int64_t kernel, int64_t stride, bool relu,
              int64_t groups = 1) {
    Node* n =
        node("Conv", {x, weight({out, x->shape()[1] / groups, kernel, kernel}), weight({out})});
    n->attributes["group"] = groups;
    const int64_t pad = kernel / 2;
    n->attributes["kernel_shape"] = std::vector<int64_t>{kernel, kernel};
    n->attributes["strides"] = std::vector<int64_t>{stride, stride};
    n->attributes["pads"] = std::vector<int64_t>{pad, pad, pad, pad};
    Value* y = finish(n);
    return relu ? op("Relu", {y}) : y;
  }

 private:
  int64_t count_ = 0;
};

Value* bottleneck(Net& net, Value* x, int64_t width, int64_t out, int64_t stride, bool projects,
                  int64_t groups) {
  Value* y = net.conv(x, width, 1, 1, true);
  y = net.conv(y, width, 3, stride, true, groups);
  y = net.conv(y, out, 1, 1, false);
  if (projects) x = net.conv(x, out, 1, stride, false);
  return net.op("Relu", {net.op("Add", {y, x})});
}

// Exchanges the two elements of each pair of x, as exporters write it.
Value* rotated(Net& net, Value* x, Value* sine, Value* cosine) {
  const int64_t size = x->shape().back();
  Value* a = net.op("Slice", {x, net.ints({0}), net.ints({size}), net.ints({3}), net.ints({2})});
  Value* b = net.op("Slice", {x, net.ints({1}), net.ints({size}), net.ints({3}), net.ints({2})});
  const Shape& s = a->shape();
  b = net.op("Unsqueeze", {net.op("Neg", {b}), net.ints({4})});
  a = net.op("Unsqueeze", {a, net.ints({4})});
  Node* joined = net.node("Concat", {b, a});
  joined->attributes["axis"] = int64_t{-1};
  Value* turned = net.reshape(net.finish(joined), {s[0], s[1], s[2], size});
  return net.op("Add", {net.op("Mul", {x, cosine}), net.op("Mul", {turned, sine})});
}

Value* attention(Net& net, Value* x, Value* mask, const Transformer& t) {
  const int64_t size = t.hidden / t.heads, s = x->shape()[1];
  const auto heads = [&](std::vector<int64_t> perm) {
    Value* y = net.reshape(net.linear(x, t.hidden, t.biases), {t.batch, s, t.heads, size});
    return net.transpose(y, std::move(perm));
  };
  Value* q = heads({0, 2, 1, 3});
  Value* k = heads({0, 2, 1, 3});
  Value* v = heads({0, 2, 1, 3});
  if (t.rotary) {
    Value* sine = net.weight({1, 1, s, size});
    Value* cosine = net.weight({1, 1, s, size});
    q = rotated(net, q, sine, cosine);
    k = rotated(net, k, sine, cosine);
  }
  Value* scores = net.op("MatMul", {q, net.transpose(k, {0, 1, 3, 2})});
  scores = net.op("Div", {scores, net.number(8)});
  if (mask) scores = net.op("Add", {scores, mask});
  Node* softmax = net.node("Softmax", {scores});
  softmax->attributes["axis"] = int64_t{-1};
  Value* y = net.op("MatMul", {net.finish(softmax), v});
  y = net.reshape(net.transpose(y, {0, 2, 1, 3}), {t.batch, s, t.hidden});
  return net.linear(y, t.hidden, t.biases);
}

Value* feed_forward(Net& net, Value* x, const Transformer& t) {
  Value* y = net.linear(x, t.inner, t.biases);
  if (t.relu) {
    y = net.op("Relu", {y});
  } else if (t.quick_gelu) {
    y = net.op("Mul", {y, net.op("Sigmoid", {net.op("Mul", {y, net.number(1.702f)})})});
  } else {
    Node* gelu = net.node("Gelu", {y});
    gelu->attributes["approximate"] = std::string(t.tanh_gelu ? "tanh" : "none");
    y = net.finish(gelu);
  }
  return net.linear(y, t.hidden, t.biases);
}

Value* encoder(Net& net, Value* x, Value* mask, const Transformer& t) {
  for (int64_t i = 0; i < t.layers; i++) {
    if (t.pre_norm) {
      x = net.op("Add", {x, attention(net, net.layer_norm(x), mask, t)});
      x = net.op("Add", {x, feed_forward(net, net.layer_norm(x), t)});
    } else {
      x = net.layer_norm(net.op("Add", {x, attention(net, x, mask, t)}));
      x = net.layer_norm(net.op("Add", {x, feed_forward(net, x, t)}));
    }
  }
  return t.pre_norm ? net.layer_norm(x) : x;
}

Model residual_network(int64_t batch, bool bytes, std::span<const int64_t> blocks, int64_t width,
                       int64_t groups) {
  Net net;
  Value* x = net.input("images", bytes ? DType::u8 : DType::f32, {batch, 3, 224, 224});
  if (bytes) {
    Node* cast = net.node("Cast", {x});
    cast->attributes["to"] = int64_t{1};
    x = net.finish(cast);
  }
  x = net.conv(x, 64, 7, 2, true);
  Node* pool = net.node("MaxPool", {x});
  pool->attributes["kernel_shape"] = std::vector<int64_t>{3, 3};
  pool->attributes["strides"] = std::vector<int64_t>{2, 2};
  pool->attributes["pads"] = std::vector<int64_t>{1, 1, 1, 1};
  x = net.finish(pool);
  for (size_t stage = 0; stage < blocks.size(); stage++)
    for (int64_t block = 0; block < blocks[stage]; block++)
      x = bottleneck(net, x, width << stage, int64_t{256} << stage, block == 0 && stage > 0 ? 2 : 1,
                     block == 0, groups);
  x = net.reshape(net.op("GlobalAveragePool", {x}), {batch, 2048});
  net.graph().add_output(net.linear(x, 1000, true));
  return std::move(net.model);
}

Value* swish(Net& net, Value* x) { return net.op("Mul", {x, net.op("Sigmoid", {x})}); }

struct Stage {
  int64_t expansion, kernel, stride, channels, repeats;
};

Value* inverted_bottleneck(Net& net, Value* x, const Stage& s, int64_t stride, int64_t out) {
  const int64_t in = x->shape()[1], inner = in * s.expansion;
  Value* y = s.expansion == 1 ? x : swish(net, net.conv(x, inner, 1, 1, false));
  y = swish(net, net.conv(y, inner, s.kernel, stride, false, inner));
  Value* scale = net.op("GlobalAveragePool", {y});
  scale = swish(net, net.conv(scale, std::max<int64_t>(1, in / 4), 1, 1, false));
  y = net.op("Mul", {y, net.op("Sigmoid", {net.conv(scale, inner, 1, 1, false)})});
  y = net.conv(y, out, 1, 1, false);
  return stride == 1 && in == out ? net.op("Add", {y, x}) : y;
}

}  // namespace

Model resnet50(int64_t batch, bool bytes) {
  constexpr int64_t kBlocks[] = {3, 4, 6, 3};
  return residual_network(batch, bytes, kBlocks, 64, 1);
}

Model resnext101(int64_t batch) {
  constexpr int64_t kBlocks[] = {3, 4, 23, 3};
  return residual_network(batch, false, kBlocks, 128, 32);
}

Model efficientnet(int64_t batch, double width, double depth, int64_t size) {
  constexpr Stage kStages[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                               {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                               {6, 3, 1, 320, 1}};
  const auto channels = [&](int64_t c) {
    const double wide = static_cast<double>(c) * width;
    int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(wide + 4) / 8 * 8);
    if (static_cast<double>(rounded) < 0.9 * wide) rounded += 8;
    return rounded;
  };
  Net net;
  Value* x = net.input("images", DType::f32, {batch, 3, size, size});
  x = swish(net, net.conv(x, channels(32), 3, 2, false));
  for (const Stage& s : kStages) {
    const auto repeats = static_cast<int64_t>(std::ceil(static_cast<double>(s.repeats) * depth));
    for (int64_t i = 0; i < repeats; i++)
      x = inverted_bottleneck(net, x, s, i == 0 ? s.stride : 1, channels(s.channels));
  }
  x = swish(net, net.conv(x, channels(1280), 1, 1, false));
  x = net.reshape(net.op("GlobalAveragePool", {x}), {batch, channels(1280)});
  net.graph().add_output(net.linear(x, 1000, true));
  return std::move(net.model);
}

Model transformer(const Transformer& t) {
  Net net;
  Value* x;
  Value* mask = nullptr;
  if (t.vocabulary) {
    Value* ids = net.input("input_ids", DType::s32, {t.batch, t.sequence});
    x = net.op("Gather", {net.weight({t.vocabulary, t.hidden}), ids});
    x = net.op("Add", {x, net.weight({t.sequence, t.hidden})});
    if (!t.pre_norm) x = net.layer_norm(x);
  } else {
    x = net.input("embedded", DType::f32, {t.batch, t.sequence, t.hidden});
  }
  if (t.causal)
    mask = net.weight({1, 1, t.sequence, t.sequence});
  else if (t.vocabulary && !t.rotary)
    mask = net.input("mask", DType::f32, {t.batch, 1, 1, t.sequence});
  x = encoder(net, x, mask, t);
  if (t.classes) {
    if (!t.all_tokens) x = net.reshape(net.slice(x, 1, 0, 1), {t.batch, t.hidden});
    x = net.linear(x, t.classes, true);
  }
  net.graph().add_output(x);
  return std::move(net.model);
}

Model vision_transformer(const Transformer& t, int64_t patch) {
  Net net;
  Value* x = net.input("images", DType::f32, {t.batch, 3, 224, 224});
  Node* n = net.node("Conv", {x, net.weight({t.hidden, 3, patch, patch}), net.weight({t.hidden})});
  n->attributes["kernel_shape"] = std::vector<int64_t>{patch, patch};
  n->attributes["strides"] = std::vector<int64_t>{patch, patch};
  const int64_t patches = (224 / patch) * (224 / patch);
  x = net.transpose(net.reshape(net.finish(n), {t.batch, t.hidden, patches}), {0, 2, 1});
  Node* joined = net.node("Concat", {net.weight({t.batch, 1, t.hidden}), x});
  joined->attributes["axis"] = int64_t{1};
  x = net.op("Add", {net.finish(joined), net.weight({patches + 1, t.hidden})});
  x = encoder(net, x, nullptr, t);
  x = net.reshape(net.slice(x, 1, 0, 1), {t.batch, t.hidden});
  net.graph().add_output(net.linear(x, t.classes, true));
  return std::move(net.model);
}

}  // namespace poprt::chip_models

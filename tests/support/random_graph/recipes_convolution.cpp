#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

const Types kMostlySingle = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32,
                             DType::f32, DType::f32, DType::f16, DType::f64};

// Returns an image of `spatial` dimensions: an existing value, or one whose number of channels may
// be no multiple of a vector.
Value* image(Maker& m, size_t spatial, const Types& types = kMostlySingle) {
  if (m.c.chance(85))
    if (Value* v = m.find([&](const Value* x) {
          return x->shape().size() == spatial + 2 &&
                 std::find(types.begin(), types.end(), x->dtype()) != types.end() &&
                 element_count(x->shape()) > 0;
        }))
      return v;
  Shape shape{m.c.pick<int64_t>({1, 1, 1, 2}),
              m.c.pick<int64_t>({1, 3, 4, 8, 15, 16, 17, 24, 32, 33})};
  const int64_t most = spatial == 1 ? 20 : spatial == 2 ? 8 : 4;
  for (size_t i = 0; i < spatial; i++) shape.push_back(m.c.between(1, most));
  return m.of(m.type_of(types), shape);
}

size_t some_spatial(Maker& m) { return m.c.pick<size_t>({2, 2, 2, 2, 2, 2, 2, 1, 1, 3}); }

std::vector<int64_t> all(size_t n, int64_t value) { return std::vector<int64_t>(n, value); }

// Kernel, strides, dilations and pads that leave at least one result.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

Window window(Maker& m, const Value* x, bool dilate) {
  const size_t n = x->shape().size() - 2;
  Window w;
  w.pads = all(2 * n, 0);
  const bool square = m.c.chance(60);
  for (size_t i = 0; i < n; i++) {
    if (square && i > 0) {
      w.kernel.push_back(w.kernel[0]);
      w.strides.push_back(w.strides[0]);
      w.dilations.push_back(w.dilations[0]);
    } else {
      w.kernel.push_back(m.c.pick<int64_t>({1, 1, 2, 3, 3, 3, 5}));
      w.strides.push_back(m.c.pick<int64_t>({1, 1, 1, 2, 3}));
      w.dilations.push_back(dilate ? m.c.pick<int64_t>({1, 1, 1, 1, 2, 3}) : 1);
    }
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (m.c.chance(60)) {
      w.pads[i] = m.c.between(0, w.kernel[i] - 1);
      w.pads[n + i] = m.c.chance(70) ? w.pads[i] : m.c.between(0, w.kernel[i] - 1);
    }
    while (x->shape()[2 + i] + w.pads[i] + w.pads[n + i] < reach) {
      if (w.dilations[i] > 1 || w.kernel[i] == 1) {
        w.dilations[i] = 1;
        w.pads[i]++;
        if (w.kernel[i] == 1) break;
      } else {
        w.kernel[i]--;
        w.pads[i] = w.pads[n + i] = 0;
      }
      if ((w.kernel[i] - 1) * w.dilations[i] + 1 <= x->shape()[2 + i]) break;
    }
  }
  return w;
}

Attributes attributes_of(Maker& m, const Window& w) {
  Attributes a{{"kernel_shape", w.kernel}};
  if (m.c.chance(80)) a["strides"] = w.strides;
  if (m.c.chance(12))
    a["auto_pad"] =
        std::string(m.c.pick<std::string_view>({"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}));
  else
    a["pads"] = w.pads;
  return a;
}

int64_t some_channels(Maker& m) { return m.c.pick<int64_t>({1, 2, 4, 8, 15, 16, 17, 32, 48}); }

Value* convolve(Maker& m, Value* x) {
  const size_t n = x->shape().size() - 2;
  const Window w = window(m, x, true);
  const int64_t c = x->shape()[1];
  int64_t group = 1, out = some_channels(m);
  if (m.c.chance(20)) {
    group = c;
    out = c * m.c.pick<int64_t>({1, 1, 1, 2});
  } else if (m.c.chance(15)) {
    for (const int64_t g : {2, 4, 3})
      if (c % g == 0) group = g;
    out = group * m.c.pick<int64_t>({1, 2, 4, 8, 16});
  }
  Shape shape{out, c / group};
  shape.insert(shape.end(), w.kernel.begin(), w.kernel.end());
  Value* weight = m.c.chance(90) ? m.random_constant(x->dtype(), shape) : m.of(x->dtype(), shape);
  std::vector<Value*> inputs{x, weight};
  if (m.c.chance(50))
    inputs.push_back(m.c.chance(85) ? m.random_constant(x->dtype(), {out})
                                    : m.of(x->dtype(), {out}));
  Attributes a = attributes_of(m, w);
  a["group"] = group;
  if (n > 0 && m.c.chance(60)) a["dilations"] = w.dilations;
  if (m.c.chance(20)) a.erase("kernel_shape");
  return m.add("Conv", inputs, a);
}

void conv(Maker& m) { convolve(m, image(m, some_spatial(m))); }

// A block of a typical network: convolution, normalization, activation, sum.
void conv_block(Maker& m) {
  Value* x = image(m, 2, {DType::f32});
  Value* y = convolve(m, x);
  if (!y) return;
  const int64_t c = y->shape()[1];
  if (m.c.chance(50)) {
    const Tensor variance = [&] {
      Tensor t = random_tensor(DType::f32, {c}, m.c);
      for (float& v : t.mutable_values<float>()) v = std::abs(v) + 0.1f;
      return t;
    }();
    y = m.add("BatchNormalization",
              {y, m.random_constant(DType::f32, {c}), m.random_constant(DType::f32, {c}),
               m.random_constant(DType::f32, {c}), m.constant(variance)});
  }
  if (y && m.c.chance(40)) {
    Value* other = m.operand_for(y);
    y = m.add("Add", m.c.chance(50) ? std::vector{y, other} : std::vector{other, y});
  }
  if (y && m.c.chance(60))
    m.add(m.c.pick<std::string_view>({"Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh"}), {y});
}
void conv_transpose(Maker& m) {
  Value* x = image(m, some_spatial(m));
  const size_t n = x->shape().size() - 2;
  const int64_t c = x->shape()[1], group = m.c.chance(20) ? c : 1,
                out = m.c.pick<int64_t>({1, 2, 8, 16, 17});
  Shape shape{c, group == 1 ? out : 1};
  std::vector<int64_t> strides, pads(2 * n, 0);
  for (size_t i = 0; i < n; i++) {
    shape.push_back(m.c.between(1, 4));
    strides.push_back(m.c.between(1, 3));
    if (m.c.chance(30) && shape.back() > 2) pads[i] = pads[n + i] = 1;
  }
  std::vector<Value*> inputs{
      x, m.c.chance(85) ? m.random_constant(x->dtype(), shape) : m.of(x->dtype(), shape)};
  if (m.c.chance(50)) inputs.push_back(m.of(x->dtype(), {shape[1] * group}));
  Attributes a{{"strides", strides}, {"pads", pads}, {"group", group}};
  if (m.c.chance(20)) {
    std::vector<int64_t> more;
    for (const int64_t s : strides) more.push_back(s - 1);
    a["output_padding"] = more;
  }
  m.add("ConvTranspose", inputs, a);
}
void pool(Maker& m) {
  const auto op =
      m.c.pick<std::string_view>({"MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"});
  Value* x = image(m, some_spatial(m));
  const Window w = window(m, x, false);
  Attributes a = attributes_of(m, w);
  for (size_t i = 0; i < w.kernel.size(); i++)
    if (w.pads[i] >= w.kernel[i] || w.pads[w.kernel.size() + i] >= w.kernel[i]) return;
  if (op == "AveragePool") a["count_include_pad"] = m.c.between(0, 1);
  if (op != "LpPool" && m.c.chance(25)) a["ceil_mode"] = int64_t{1};
  if (op == "MaxPool" && m.c.chance(15)) a["dilations"] = all(w.kernel.size(), 1);
  m.add(op, {x}, a, op == "MaxPool" && m.c.chance(15) ? 2 : 1);
}
void global_pool(Maker& m) {
  m.add(m.c.pick<std::string_view>(
            {"GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}),
        {image(m, some_spatial(m))});
}
void squeeze_excite(Maker& m) {
  Value* x = image(m, 2, {DType::f32});
  Value* s = m.add("GlobalAveragePool", {x});
  if (!s) return;
  const int64_t c = x->shape()[1], few = m.c.pick<int64_t>({1, 4, 16});
  s = m.add("Conv", {s, m.random_constant(DType::f32, {few, c, 1, 1})});
  if (s) s = m.add("Relu", {s});
  if (s) s = m.add("Conv", {s, m.random_constant(DType::f32, {c, few, 1, 1})});
  if (s) s = m.add(m.c.chance(50) ? "Sigmoid" : "HardSigmoid", {s});
  if (s) m.add("Mul", m.c.chance(50) ? std::vector{s, x} : std::vector{x, s});
}
void resize(Maker& m) {
  Value* x = image(m, 2);
  Attributes a{{"mode", std::string(m.c.pick<std::string_view>({"nearest", "linear", "cubic"}))}};
  a["coordinate_transformation_mode"] = std::string(m.c.pick<std::string_view>(
      {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}));
  if (m.c.chance(50))
    a["nearest_mode"] = std::string(
        m.c.pick<std::string_view>({"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}));
  if (m.c.chance(50)) {
    m.add("Resize",
          {x, nullptr, nullptr,
           m.ints({x->shape()[0], x->shape()[1], m.c.between(1, 9), m.c.between(1, 9)})},
          a);
  } else {
    const float s = m.c.pick({2.0f, 1.0f, 0.5f, 1.5f});
    m.add("Resize",
          {x, nullptr,
           m.constant(Tensor::of<float>({4}, {1.0f, 1.0f, s, m.c.chance(50) ? s : 2.0f}))},
          a);
  }
}
void batch_normalization(Maker& m) {
  Value* x = image(m, m.c.below(3));
  const int64_t c = x->shape()[1];
  const Tensor variance = Tensor::of<float>({1}, {1.5f});
  Tensor all_same = Tensor::zeros(x->dtype(), {c});
  for (int64_t i = 0; i < c; i++) {
    const Value* one = m.scalar(x->dtype(), 1.5 + 0.25 * static_cast<double>(i % 3));
    std::memcpy(static_cast<std::byte*>(all_same.mutable_data()) +
                    one->constant().bytes() * static_cast<size_t>(i),
                one->constant().data(), one->constant().bytes());
  }
  m.add("BatchNormalization", {x, m.of(x->dtype(), {c}), m.of(x->dtype(), {c}),
                               m.of(x->dtype(), {c}), m.constant(all_same)});
}
void lrn(Maker& m) {
  m.add("LRN", {image(m, 2)}, {{"size", m.c.pick<int64_t>({1, 3, 5})}, {"alpha", 0.1f}});
}
void pad_conv(Maker& m) {
  Value* x = image(m, 2);
  Value* p =
      m.add("Pad", {x, m.ints({0, 0, m.c.between(0, 2), m.c.between(0, 2), m.c.chance(10) ? 1 : 0,
                               0, m.c.between(0, 2), m.c.between(0, 2)})});
  if (p && m.c.chance(70))
    convolve(m, p);
  else if (p)
    m.add(m.c.chance(50) ? "MaxPool" : "AveragePool", {p},
          {{"kernel_shape", std::vector<int64_t>{1, 1}}});
}
void deform_conv(Maker& m) {
  Value* x = m.of(DType::f32, {1, 2, 4, 4});
  m.add("DeformConv",
        {x, m.random_constant(DType::f32, {3, 2, 2, 2}), m.of(DType::f32, {1, 8, 3, 3})});
}
// Concatenation of channels, as in dense blocks and U-Nets.
void concat_channels(Maker& m) {
  Value* x = image(m, 2, {DType::f32});
  std::vector<Value*> inputs{x};
  for (uint64_t n = 1 + m.c.below(2); n > 0; n--) {
    Value* other = m.find([&](const Value* v) {
      return v->dtype() == DType::f32 && v->shape().size() == 4 && v->shape()[0] == x->shape()[0] &&
             v->shape()[2] == x->shape()[2] && v->shape()[3] == x->shape()[3];
    });
    inputs.push_back(other && m.c.chance(70)
                         ? other
                         : m.of(DType::f32, {x->shape()[0], m.c.pick<int64_t>({1, 3, 16, 32}),
                                             x->shape()[2], x->shape()[3]}));
  }
  if (m.c.chance(40)) std::swap(inputs.front(), inputs.back());
  m.add("Concat", inputs, {{"axis", m.c.pick<int64_t>({1, 1, -3})}});
}

constexpr Recipe kConvolutionRecipes[] = {
    {"Conv", conv, 10},
    {"ConvBlock", conv_block, 6},
    {"ConvTranspose", conv_transpose, 3},
    {"MaxPool", pool, 5},
    {"GlobalAveragePool", global_pool, 2},
    {"SqueezeExcite", squeeze_excite, 2},
    {"Resize", resize, 3},
    {"BatchNormalization", batch_normalization, 3},
    {"LRN", lrn, 1},
    {"PadConv", pad_conv, 2},
    {"DeformConv", deform_conv, 1},
    {"ConcatChannels", concat_channels, 4},
};

}  // namespace

std::span<const Recipe> convolution_recipes() { return kConvolutionRecipes; }

}  // namespace poprt::test

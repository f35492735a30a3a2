// Compares random graphs with their definition in double: widen, multiply, add, and round once.
#include <fmt/ranges.h>

#include <cmath>
#include <random>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

using Doubles = std::vector<double>;

// A constant or input of bytes with its scale and zero point, of one or of `scales` channels.
struct Bytes {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<int64_t> values;
  Doubles scale;
  std::vector<int64_t> zero;

  Bytes(std::mt19937& rng, std::string t, std::vector<int64_t> s, size_t scales = 1,
        bool symmetric = false)
      : type(std::move(t)), shape(std::move(s)) {
    const int low = type == "u8" ? 0 : -128;
    for (int64_t i = 0; i < element_count(shape); i++)
      values.push_back(low + static_cast<int>(rng() % 256));
    for (size_t i = 0; i < scales; i++) {
      scale.push_back(static_cast<double>(0.004f + 0.0001f * static_cast<float>(rng() % 200)));
      zero.push_back(symmetric ? 0 : low + 100 + static_cast<int>(rng() % 56));
    }
  }
  // The real value of an element whose channel is `c`.
  double real(int64_t i, int64_t c) const {
    const size_t s = scale.size() == 1 ? 0 : static_cast<size_t>(c);
    return (static_cast<double>(values[static_cast<size_t>(i)]) - static_cast<double>(zero[s])) *
           scale[s];
  }
  std::string constant(const std::string& name) const {
    return fmt::format("const %{} : {}[{}] = [{}]\n", name, type, fmt::join(shape, ","),
                       fmt::join(values, ", "));
  }
  // Constants NAMEs and NAMEz.
  std::string grid(const std::string& name) const {
    const std::string n = scale.size() == 1 ? "" : std::to_string(scale.size());
    const std::string open = n.empty() ? "" : "[", close = n.empty() ? "" : "]";
    return fmt::format("const %{0}s : f32[{1}] = {2}{3}{4}\nconst %{0}z : {5}[{1}] = {2}{6}{4}\n",
                       name, n, open, fmt::join(scale, ", "), close, type, fmt::join(zero, ", "));
  }
  Tensor tensor() const {
    Tensor t = Tensor::zeros(type == "u8" ? DType::u8 : DType::s8, shape);
    for (size_t i = 0; i < values.size(); i++)
      static_cast<uint8_t*>(t.mutable_data())[i] = static_cast<uint8_t>(values[i]);
    return t;
  }
};

// How the result is quantised: it covers most of `real`.
struct Result {
  std::string type;
  double scale;
  int64_t low, zero;

  Result(std::string t, const Doubles& real) : type(std::move(t)) {
    double from = 0, to = 0;
    for (const double v : real) {
      from = std::min(from, v);
      to = std::max(to, v);
    }
    scale = static_cast<double>(static_cast<float>(std::max((to - from) / 250, 1e-3)));
    low = type == "u8" ? 0 : -128;
    zero = std::clamp<int64_t>(low + std::llround(-from / scale), low, low + 255);
  }
  int64_t of(double v) const {
    return std::clamp<int64_t>(std::llrint(v / scale) + zero, low, low + 255);
  }
  std::string constants() const {
    return fmt::format("const %ys : f32[] = {}\nconst %yz : {}[] = {}\n", scale, type, zero);
  }
};

// Expects `operators` after the pass and the result `real`. Where a sum is close to the middle
// between two steps, the result may differ by one step.
void expect_result(const std::string& text, const std::string& operators,
                   const std::map<std::string, Tensor>& feeds, const Doubles& real,
                   const Result& y) {
  const auto graph = parsed(text);
  run(*graph, {"qdq_products"});
  ASSERT_EQ(ops_of(*graph), operators) << ir::to_text(*graph);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  const Doubles found = evaluate_graph(*graph, feeds).at("y").to_doubles();
  ASSERT_EQ(found.size(), real.size());
  size_t different = 0;
  for (size_t i = 0; i < real.size(); i++) {
    const double wanted = static_cast<double>(y.of(real[i]));
    ASSERT_LE(std::fabs(found[i] - wanted), 1) << "element " << i;
    different += found[i] != wanted;
  }
  EXPECT_LE(static_cast<double>(different), 0.02 * static_cast<double>(real.size()) + 1);
}

struct ConvCase {
  std::string x = "u8", w = "s8", y = "u8", activation;
  int64_t channels = 8, results = 12, group = 1, size = 9, kernel = 3, stride = 1, pad = 1,
          dilation = 1;
  bool per_channel = true, symmetric = true;
  std::string bias = "s32";  // or "f32" or ""
  bool wide = false;         // the result also covers the sums before the activation
  bool norm = false;         // a BatchNormalization follows the convolution
};

void check_conv(const ConvCase& c, uint32_t seed) {
  SCOPED_TRACE(
      fmt::format("{} {} {} {} bias {}, seed {}", c.x, c.w, c.y, c.activation, c.bias, seed));
  std::mt19937 rng(seed);
  const int64_t m = c.results, per_group = c.channels / c.group;
  const Bytes x(rng, c.x, {2, c.channels, c.size, c.size});
  const Bytes w(rng, c.w, {m, per_group, c.kernel, c.kernel},
                c.per_channel ? static_cast<size_t>(m) : 1, c.symmetric);
  Doubles bias(static_cast<size_t>(m), 0.0), bias_scale;
  std::vector<int64_t> bias_sums;
  for (size_t i = 0; i < bias.size(); i++) {
    bias_scale.push_back(
        static_cast<double>(static_cast<float>(x.scale[0] * w.scale[c.per_channel ? i : 0])));
    bias_sums.push_back(static_cast<int64_t>(rng() % 20000) - 10000);
    if (c.bias == "s32") bias[i] = static_cast<double>(bias_sums[i]) * bias_scale[i];
    if (c.bias == "f32") bias[i] = static_cast<double>(static_cast<float>(rng() % 1000) / 997);
  }
  const int64_t out = (c.size + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  Doubles real, sums, factor, shift, mean, variance;
  for (int64_t i = 0; i < m; i++) {
    const auto number = [&] { return static_cast<double>(static_cast<float>(rng() % 1000) / 997); };
    factor.push_back(number() + 0.5), shift.push_back(number() - 0.5);
    mean.push_back(number()), variance.push_back(number() + 0.5);
  }
  for (int64_t n = 0; n < 2; n++)
    for (int64_t o = 0; o < m; o++)
      for (int64_t oy = 0; oy < out; oy++)
        for (int64_t ox = 0; ox < out; ox++) {
          double sum = bias[static_cast<size_t>(o)];
          for (int64_t i = 0; i < per_group; i++)
            for (int64_t ky = 0; ky < c.kernel; ky++)
              for (int64_t kx = 0; kx < c.kernel; kx++) {
                const int64_t iy = oy * c.stride - c.pad + ky * c.dilation;
                const int64_t ix = ox * c.stride - c.pad + kx * c.dilation;
                if (iy < 0 || ix < 0 || iy >= c.size || ix >= c.size) continue;
                const int64_t channel = o / (m / c.group) * per_group + i;
                sum += x.real(((n * c.channels + channel) * c.size + iy) * c.size + ix, 0) *
                       w.real(((o * per_group + i) * c.kernel + ky) * c.kernel + kx, o);
              }
          if (c.norm) {
            const auto k = static_cast<size_t>(o);
            sum = (sum - mean[k]) / std::sqrt(variance[k] + 1e-5) * factor[k] + shift[k];
          }
          sums.push_back(sum);
          if (c.activation == "Relu") sum = std::max(sum, 0.0);
          real.push_back(sum);
        }
  const Result y(c.y, c.wide ? sums : real);
  const std::string n = std::to_string(m);
  std::string text = fmt::format("input %x : {}[2,{},{},{}]\n", c.x, c.channels, c.size, c.size) +
                     w.constant("w") + x.grid("x") + w.grid("w") + y.constants();
  std::string inputs = "%xd, %wd";
  text += "%xd = DequantizeLinear(%x, %xs, %xz)\n%wd = DequantizeLinear(%w, %ws, %wz) {axis = 0}\n";
  if (c.bias == "s32") {
    text += fmt::format("const %b : s32[{0}] = [{1}]\nconst %bs : f32[{0}] = [{2}]\n", n,
                        fmt::join(bias_sums, ", "), fmt::join(bias_scale, ", "));
    text += "%bd = DequantizeLinear(%b, %bs) {axis = 0}\n";
    inputs += ", %bd";
  } else if (c.bias == "f32") {
    text += fmt::format("const %bd : f32[{}] = [{}]\n", n, fmt::join(bias, ", "));
    inputs += ", %bd";
  }
  text += fmt::format(
      "%c = Conv({}) {{dilations = [{}, {}], group = {}, pads = [{}, {}, {}, {}], strides = [{}, "
      "{}]}}\n",
      inputs, c.dilation, c.dilation, c.group, c.pad, c.pad, c.pad, c.pad, c.stride, c.stride);
  std::string last = "%c";
  if (c.norm) {
    for (const auto& [name, values] : {std::pair{"nf", factor}, std::pair{"ns", shift},
                                       std::pair{"nm", mean}, std::pair{"nv", variance}})
      text += fmt::format("const %{} : f32[{}] = [{}]\n", name, n, fmt::join(values, ", "));
    text += "%n = BatchNormalization(%c, %nf, %ns, %nm, %nv)\n";
    last = "%n";
  }
  if (!c.activation.empty()) {
    text += fmt::format("%r = {}({})\n", c.activation, last);
    last = "%r";
  }
  text += fmt::format("%y = QuantizeLinear({}, %ys, %yz)\noutput %y", last);
  expect_result(text, c.wide ? "QLinearConv Max" : "QLinearConv", {{"x", x.tensor()}}, real, y);
}

TEST(QdqProducts, ConvOfRandomWindows) {
  for (uint32_t seed = 1; seed <= 40; seed++) {
    std::mt19937 rng(seed + 1000);
    const auto pick = [&](auto... options) {
      const std::common_type_t<decltype(options)...> list[] = {options...};
      return list[rng() % sizeof...(options)];
    };
    ConvCase c;
    c.x = pick("u8", "s8");
    c.w = pick("u8", "s8");
    c.y = pick("u8", "s8");
    c.group = pick(1, 1, 2);
    c.channels = c.group * pick(3, 4, 7, 16);
    c.results = c.group * pick(1, 4, 9);
    c.kernel = pick(1, 2, 3);
    c.stride = pick(1, 2);
    c.pad = pick(0, 1);
    c.dilation = pick(1, 2);
    c.per_channel = pick(0, 1);
    c.symmetric = pick(0, 1);
    c.bias = pick("", "s32", "f32");
    c.activation = pick("", "Relu");
    check_conv(c, seed);
  }
}

TEST(QdqProducts, BatchNormalizationAfterConv) {
  for (uint32_t seed = 1; seed <= 16; seed++) {
    ConvCase c;
    c.norm = true;
    c.per_channel = seed % 2;
    c.symmetric = seed % 3;
    c.w = seed % 2 ? "s8" : "u8";
    c.bias = seed % 4 == 0 ? "" : seed % 4 == 1 ? "s32" : "f32";
    c.activation = seed % 5 ? "Relu" : "";
    check_conv(c, seed);
  }
}

// A negative factor negates the weights of its channel, which must be bytes.
TEST(QdqProducts, BatchNormalizationWithNegativeFactors) {
  const auto graph_of = [](int least) {
    return fmt::format(R"(input %x : u8[1,4,2,2]
      const %xs : f32[] = 0.5
      const %xz : u8[] = 128
      const %w : s8[2,4,1,1] = [{}, 2, 3, 4, 5, -6, 7, 8]
      const %ws : f32[] = 0.25
      const %wz : s8[] = 0
      const %f : f32[2] = [-1.0, 2.0]
      const %s : f32[2] = [1.0, -1.0]
      const %m : f32[2] = [0.5, 0.25]
      const %v : f32[2] = [1.0, 1.0]
      const %ys : f32[] = 4.0
      const %yz : u8[] = 100
      %xd = DequantizeLinear(%x, %xs, %xz)
      %wd = DequantizeLinear(%w, %ws, %wz)
      %c = Conv(%xd, %wd)
      %n = BatchNormalization(%c, %f, %s, %m, %v)
      %y = QuantizeLinear(%n, %ys, %yz)
      output %y)",
                       least);
  };
  // The bias is rounded, so a byte may differ by one.
  EXPECT_EQ(ops_after(*parsed(graph_of(-127)), {"qdq_products"}, 1), "QLinearConv");
  EXPECT_EQ(ops_after(*parsed(graph_of(-128)), {"qdq_products"}),
            "DequantizeLinear DequantizeLinear Conv BatchNormalization QuantizeLinear");
}

// Relu is a Max with the zero point, which need not be the lowest byte.
TEST(QdqProducts, ReluBeforeAnyZeroPoint) {
  for (uint32_t seed = 1; seed <= 8; seed++) {
    ConvCase c;
    c.y = seed % 2 ? "u8" : "s8";
    c.activation = "Relu";
    c.wide = true;
    check_conv(c, seed);
  }
}

TEST(QdqProducts, MatMulOfWeightsAndOfTwoVariables) {
  for (uint32_t seed = 1; seed <= 20; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(seed);
    const bool constant = seed % 2, columns = constant && seed % 4 == 1;
    const int64_t m = 5, k = 1 + static_cast<int64_t>(rng() % 70), n = 9;
    const Bytes a(rng, seed % 3 ? "u8" : "s8", {3, m, k});
    const Bytes b(rng, seed % 5 ? "s8" : "u8",
                  constant ? std::vector<int64_t>{k, n} : std::vector<int64_t>{3, k, n},
                  columns ? static_cast<size_t>(n) : 1);
    Doubles real;
    for (int64_t batch = 0; batch < 3; batch++)
      for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
          double sum = 0;
          for (int64_t l = 0; l < k; l++)
            sum += a.real((batch * m + i) * k + l, 0) *
                   b.real(((constant ? 0 : batch) * k + l) * n + j, j);
          real.push_back(sum);
        }
    const Result y(seed % 7 ? "u8" : "s8", real);
    const std::string text =
        fmt::format("input %a : {}[3,{},{}]\n", a.type, m, k) +
        (constant ? b.constant("b") : fmt::format("input %b : {}[3,{},{}]\n", b.type, k, n)) +
        a.grid("a") + b.grid("b") + y.constants() +
        "%ad = DequantizeLinear(%a, %as, %az)\n%bd = DequantizeLinear(%b, %bs, %bz) {axis = -1}\n"
        "%p = MatMul(%ad, %bd)\n%y = QuantizeLinear(%p, %ys, %yz)\noutput %y";
    expect_result(text, "QLinearMatMul", {{"a", a.tensor()}, {"b", b.tensor()}}, real, y);
  }
}

TEST(QdqProducts, GemmWithBias) {
  for (uint32_t seed = 1; seed <= 12; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(seed);
    const bool transposed = seed % 2, channels = seed % 3;
    const int64_t m = 3, k = 40, n = 10;
    const Bytes a(rng, seed % 4 ? "u8" : "s8", {m, k});
    const Bytes b(rng, "s8", transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n},
                  channels ? static_cast<size_t>(n) : 1, true);
    Doubles bias, real;
    for (int64_t j = 0; j < n; j++)
      bias.push_back(static_cast<double>(static_cast<float>(rng() % 100) / 64));
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = bias[static_cast<size_t>(j)];
        for (int64_t l = 0; l < k; l++)
          sum += a.real(i * k + l, 0) * b.real(transposed ? j * k + l : l * n + j, j);
        real.push_back(sum);
      }
    const Result y("u8", real);
    const std::string text =
        fmt::format("input %a : {}[{},{}]\n", a.type, m, k) + b.constant("b") + a.grid("a") +
        b.grid("b") + y.constants() +
        fmt::format("const %c : f32[{}] = [{}]\n", n, fmt::join(bias, ", ")) +
        fmt::format(
            "%ad = DequantizeLinear(%a, %as, %az)\n%bd = DequantizeLinear(%b, %bs, %bz) {{axis = "
            "{}}}\n"
            "%p = Gemm(%ad, %bd, %c) {{transB = {}}}\n%y = QuantizeLinear(%p, %ys, %yz)\noutput %y",
            transposed ? 0 : 1, transposed ? 1 : 0);
    expect_result(text, "com.microsoft.QGemm", {{"a", a.tensor()}}, real, y);
  }
}

constexpr std::string_view kProduct = R"(
    input %a : u8[4,8]
    const %b : s8[8,3] = fill 2
    const %as : f32[] = 0.5
    const %az : u8[] = 3
    const %bs : f32[] = 0.25
    const %bz : s8[] = 0
    const %ys : f32[] = 0.25
    const %yz : u8[] = {zero}
    const %zero : f32[] = 0.0
    const %six : f32[] = {six}
    %ad = DequantizeLinear(%a, %as, %az)
    %bd = DequantizeLinear(%b, %bs, %bz)
    %p = MatMul(%ad, %bd)
    {rest}
    output %y
  )";

std::string product(std::string_view rest, int zero = 0, double six = 63.8) {
  return fmt::format(fmt::runtime(std::string(kProduct)), fmt::arg("zero", zero),
                     fmt::arg("six", six), fmt::arg("rest", rest));
}

std::string operators_of(const std::string& text) {
  const auto graph = parsed(text);
  run(*graph, {"qdq_products"});
  return ops_of(*graph);
}

TEST(QdqProducts, ActivationsThatSaturationDoes) {
  const std::string relu = "%r = Relu(%p)\n %y = QuantizeLinear(%r, %ys, %yz)";
  const std::string clip = "%r = Clip(%p, %zero, %six)\n %y = QuantizeLinear(%r, %ys, %yz)";
  EXPECT_EQ(operators_of(product(relu)), "QLinearMatMul");
  EXPECT_EQ(operators_of(product(clip)), "QLinearMatMul");
  // Zero is not the lowest byte, or six not the highest.
  EXPECT_EQ(operators_of(product(relu, 10)), "QLinearMatMul Max");
  EXPECT_EQ(operators_of(product(clip, 0, 40)), "QLinearMatMul Min");
  EXPECT_EQ(operators_of(product(clip, 10, 40)), "QLinearMatMul Max Min");
  const std::string both =
      "%s = Clip(%p, %zero, %six)\n %r = Relu(%s)\n "
      "%y = QuantizeLinear(%r, %ys, %yz)";
  EXPECT_EQ(operators_of(product(both, 10, 40)), "QLinearMatMul Max Min");
}

TEST(QdqProducts, ResultsWithOtherReadersStayInFloats) {
  const std::string kept = "MatMulInteger Cast Mul ";
  EXPECT_EQ(operators_of(product("%y = QuantizeLinear(%p, %ys, %yz)\n %z = Abs(%p)\n output %z")),
            kept + "QuantizeLinear Abs");
  EXPECT_EQ(operators_of(product("%y = QuantizeLinear(%p, %ys, %yz)\n output %p")),
            kept + "QuantizeLinear");
  // The bytes before and after are still there for others.
  EXPECT_EQ(operators_of(product("%y = QuantizeLinear(%p, %ys, %yz)\n %z = Abs(%ad)\n output %z")),
            "DequantizeLinear QLinearMatMul Abs");
}

TEST(QdqProducts, FewChannelsOfAGroupStayFloats) {
  EXPECT_EQ(operators_of(R"(
    input %x : u8[1,4,5,5]
    const %w : s8[4,1,3,3] = fill 1
    const %s : f32[] = 0.5
    const %z : u8[] = 3
    const %wz : s8[] = 0
    %xd = DequantizeLinear(%x, %s, %z)
    %wd = DequantizeLinear(%w, %s, %wz)
    %c = Conv(%xd, %wd) {group = 4}
    %y = QuantizeLinear(%c, %s, %z)
    output %y
  )"),
            "DequantizeLinear DequantizeLinear Conv QuantizeLinear");
}

TEST(QdqProducts, MovesOfBytes) {
  const auto text = [](std::string_view scale) {
    return fmt::format(R"(
    input %x : u8[2,6]
    const %s : f32[] = 0.5
    const %t : f32[] = {}
    const %z : u8[] = 3
    const %shape : s64[2] = [3, 4]
    %d = DequantizeLinear(%x, %s, %z)
    %m = Reshape(%d, %shape)
    %y = QuantizeLinear(%m, %t, %z)
    output %y
  )",
                       scale);
  };
  expect_ops({"qdq_products"}, text("0.5"), "Reshape");
  EXPECT_EQ(operators_of(text("0.25")), "DequantizeLinear Reshape QuantizeLinear");
}

// 40000 products of the largest bytes do not fit in 32 bits, but those of these weights do.
TEST(QdqProducts, LongSumsOfSmallWeights) {
  const auto text = [](int64_t places) {
    std::vector<int64_t> w(80000, 1);
    for (int64_t i = 0; i < places; i++) w[static_cast<size_t>(i)] = -128;
    return fmt::format(R"(
    input %x : u8[1,40000]
    const %w : s8[2,40000] = [{}]
    const %s : f32[] = 0.5
    const %y_s : f32[] = 4000
    const %z : u8[] = 3
    %d = DequantizeLinear(%x, %s, %z)
    %e = DequantizeLinear(%w, %s)
    %p = Gemm(%d, %e) {{transB = 1}}
    %y = QuantizeLinear(%p, %y_s, %z)
    output %y
  )",
                       fmt::join(w, ", "));
  };
  EXPECT_EQ(operators_of(text(40000)), "DequantizeLinear DequantizeLinear Gemm QuantizeLinear");
  expect_ops({"qdq_products"}, text(10000), "com.microsoft.QGemm");
}

TEST(QdqProducts, ConcatOfBytes) {
  expect_ops({"qdq_products"}, R"(
    input %a : u8[2,3,7]
    input %b : s8[2,5,7]
    input %c : u8[2,1,7]
    const %s : f32[] = 0.5
    const %t : f32[] = 0.3
    const %z : u8[] = 3
    const %n : s8[] = -3
    %da = DequantizeLinear(%a, %s, %z)
    %db = DequantizeLinear(%b, %s, %n)
    %dc = DequantizeLinear(%c, %t, %z)
    %m = Concat(%da, %db, %dc) {axis = 1}
    %y = QuantizeLinear(%m, %t, %z)
    output %y
  )",
             "DequantizeLinear DequantizeLinear QuantizeLinear QuantizeLinear Concat", 17, 0);
}

TEST(QdqProducts, TheLargestOfBytes) {
  expect_ops({"qdq_products"}, R"(
    input %x : s8[1,2,5,5]
    const %s : f32[] = 0.5
    const %z : s8[] = -3
    %d = DequantizeLinear(%x, %s, %z)
    %m = MaxPool(%d) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
    %y = QuantizeLinear(%m, %s, %z)
    output %y
  )",
             "MaxPool");
}

// Products whose results stay floats, against their definition: the exact sum of the bytes, scaled.
TEST(QdqProducts, ResultsInFloatsAreScaledSums) {
  std::mt19937 rng(77);
  constexpr int64_t kM = 3, kK = 9, kN = 5;
  for (const bool gemm : {false, true})
    for (const bool transposed : {false, true})
      for (const char* type : {"s8", "u8"})
        for (const size_t scales : {size_t{1}, size_t{kN}}) {
          if (transposed && !gemm) continue;
          const std::vector<int64_t> shape = transposed ? std::vector{kN, kK} : std::vector{kK, kN};
          const Bytes a(rng, "u8", {kM, kK});
          Bytes b(rng, type, shape, scales, true);
          if (b.type == "u8") b.zero.assign(b.zero.size(), 128);
          std::string text = "input %a : u8[3,9]\n" + a.grid("a") + b.constant("b") + b.grid("b") +
                             "const %c : f32[5] = [0.5, -1.0, 0.25, 2.0, 0.0]\n"
                             "%x = DequantizeLinear(%a, %as, %az)\n" +
                             fmt::format("%w = DequantizeLinear(%b, %bs, %bz) {{axis = {}}}\n",
                                         transposed ? 0 : 1);
          text += gemm ? fmt::format("%y = Gemm(%x, %w, %c) {{transB = {}}}\n", int{transposed})
                       : "%y = MatMul(%x, %w)\n";
          const auto graph = parsed(text + "output %y");
          run(*graph, {"qdq_products"});
          EXPECT_EQ(ops_of(*graph), gemm ? "MatMulInteger Cast Mul Add" : "MatMulInteger Cast Mul");
          const auto scaled = parsed(text + "output %y");
          run(*scaled, {"qdq_products", "scaled_products"});
          EXPECT_EQ(ops_of(*scaled), "poprt.ScaledMatMulInteger");
          for (const ir::Graph* g : {graph.get(), scaled.get()}) {
            const Tensor y = evaluate_graph(*g, {{"a", a.tensor()}}).at("y");
            for (int64_t m = 0; m < kM; m++)
              for (int64_t n = 0; n < kN; n++) {
                const double bias[] = {0.5, -1.0, 0.25, 2.0, 0.0};
                double sum = gemm ? bias[n] : 0;
                for (int64_t k = 0; k < kK; k++)
                  sum += a.real(m * kK + k, 0) * b.real(transposed ? n * kK + k : k * kN + n, n);
                EXPECT_NEAR(static_cast<double>(y.values<float>()[static_cast<size_t>(m * kN + n)]),
                            sum, 1e-5 * (1 + std::fabs(sum)));
              }
          }
        }
}

TEST(QdqProducts, ResultsInFloatsNeedSymmetricConstantWeights) {
  const std::string text = R"(
    input %a : u8[2,3]
    const %b : s8[3,2] = [1, 2, 3, 4, 5, 6]
    const %s : f32[] = 0.5
    const %z : u8[] = 3
    const %bz : s8[] = ZERO
    %x = DequantizeLinear(%a, %s, %z)
    %w = DequantizeLinear(%b, %s, %bz)
    %y = MatMul(%x, %w)
    output %y
  )";
  std::string other = text;
  other.replace(other.find("ZERO"), 4, "1");
  expect_ops({"qdq_products"}, other, "DequantizeLinear DequantizeLinear MatMul");
  std::string zero = text;
  zero.replace(zero.find("ZERO"), 4, "0");
  expect_ops({"qdq_products"}, zero, "MatMulInteger Cast Mul");
}

}  // namespace
}  // namespace poprt::test

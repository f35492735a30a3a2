// Quantised convolutions with channels last give the bytes that they give with channels first.
#include <fmt/ranges.h>

#include <random>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

using Names = std::vector<std::string>;

const Names kPasses = {"channels_last", "fuse_consecutive_transpose", "eliminate_nop_transpose",
                       "transpose_to_reshape", "eliminate_deadend"};

std::string list_of(size_t count, const auto& element) {
  std::vector<std::string> values;
  for (size_t i = 0; i < count; i++) values.push_back(fmt::format("{}", element(i)));
  return fmt::format("[{}]", fmt::join(values, ", "));
}

// Writes the node `y` = QLinearConv(`x`) and its constants, whose names begin with that of y.
struct Conv {
  std::string y = "a", x = "x", x_type = "u8", w_type = "s8", y_type = "u8", attributes;
  Shape w = {8, 4, 3, 3};
  bool per_channel = true, bias = true;

  std::string text(std::mt19937& rng) const {
    const auto m = static_cast<size_t>(w[0]);
    const int64_t low = w_type == "s8" ? -128 : 0;
    const std::string scales = per_channel ? std::to_string(m) : "";
    const auto grid = [&](const std::string& of, const std::string& type, double scale, int zero) {
      return fmt::format("const %{0}s : f32[] = {2}\nconst %{0}z : {1}[] = {3}\n", of, type, scale,
                         zero);
    };
    std::string s = fmt::format("const %{}w : {}[{}] = {}\n", y, w_type, fmt::join(w, ","),
                                list_of(static_cast<size_t>(element_count(w)), [&](size_t) {
                                  return low + static_cast<int64_t>(rng() % 256);
                                }));
    s += per_channel
             ? fmt::format("const %{0}ws : f32[{1}] = {2}\nconst %{0}wz : {3}[{1}] = {4}\n", y, m,
                           list_of(m, [&](size_t) { return 0.001 * (1 + rng() % 9); }), w_type,
                           list_of(m, [&](size_t) { return low + 128; }))
             : grid(y + "w", w_type, 0.004, static_cast<int>(low + 128));
    if (bias)
      s += fmt::format("const %{}b : s32[{}] = {}\n", y, m, list_of(m, [&](size_t) {
                         return static_cast<int64_t>(rng() % 2000) - 1000;
                       }));
    s += grid(y + "x", x_type, 0.03, x_type == "u8" ? 120 : -9);
    s += grid(y + "y", y_type, 0.5, y_type == "u8" ? 110 : 4);
    return s + fmt::format(
                   "%{0} = QLinearConv(%{1}, %{0}xs, %{0}xz, %{0}w, %{0}ws, %{0}wz, "
                   "%{0}ys, %{0}yz{2}){3}\n",
                   y, x, bias ? ", %" + y + "b" : "", attributes);
  }
};

Tensor random_bytes(const std::string& type, const Shape& shape, std::mt19937& rng) {
  Tensor t = Tensor::zeros(type == "u8" ? DType::u8 : DType::s8, shape);
  auto* bytes = static_cast<uint8_t*>(t.mutable_data());
  for (size_t i = 0; i < t.bytes(); i++) bytes[i] = static_cast<uint8_t>(rng());
  return t;
}

// Expects `operators` after the passes, and equal bytes.
void expect_same_bytes(const std::string& text, const std::string& operators, const Names& passes,
                       const std::map<std::string, Tensor>& feeds) {
  const auto before = parsed(text), after = parsed(text);
  run(*after, passes);
  EXPECT_EQ(ops_of(*after), operators) << ir::to_text(*after);
  const auto wanted = evaluate_graph(*before, feeds), found = evaluate_graph(*after, feeds);
  for (const auto& [name, tensor] : wanted) {
    ASSERT_EQ(found.at(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(found.at(name).to_doubles(), tensor.to_doubles()) << name;
  }
}

void expect_same_convolution(const Conv& c, const Shape& x, uint32_t seed) {
  SCOPED_TRACE(fmt::format("x {} {} w {} {} y {} {}", c.x_type, shape_string(x), c.w_type,
                           shape_string(c.w), c.y_type, c.attributes));
  std::mt19937 rng(seed);
  const std::string text =
      fmt::format("input %x : {}[{}]\n{}output %a\n", c.x_type, fmt::join(x, ","), c.text(rng));
  expect_same_bytes(text, "Transpose poprt.QLinearConv Transpose", kPasses,
                    {{"x", random_bytes(c.x_type, x, rng)}});
}

TEST(ChannelsLast, TypesOfBytes) {
  uint32_t seed = 0;
  for (const char* x : {"u8", "s8"})
    for (const char* w : {"u8", "s8"})
      for (const char* y : {"u8", "s8"})
        for (const bool per_channel : {false, true})
          expect_same_convolution({.x_type = x,
                                   .w_type = w,
                                   .y_type = y,
                                   .attributes = " {pads=[1,1,1,1]}",
                                   .per_channel = per_channel,
                                   .bias = per_channel},
                                  {2, 4, 7, 9}, seed++);
}

TEST(ChannelsLast, WindowsAndSizes) {
  struct Case {
    Shape x, w;
    std::string attributes;
  };
  const Case cases[] = {
      {{1, 64, 8, 8}, {64, 64, 1, 1}, ""},
      {{1, 64, 9, 8}, {80, 64, 1, 1}, " {strides=[2,2]}"},
      {{1, 8, 23, 17}, {130, 8, 3, 3}, " {pads=[1,1,1,1], strides=[2,2]}"},
      {{1, 3, 21, 22}, {64, 3, 7, 7}, " {pads=[3,3,3,3], strides=[2,2]}"},
      {{1, 5, 9, 9}, {17, 5, 3, 2}, " {pads=[0,2,1,0], dilations=[2,3]}"},
      {{2, 12, 6, 40}, {33, 12, 5, 1}, " {auto_pad=\"SAME_UPPER\", strides=[1,3]}"},
      {{1, 16, 30}, {48, 16, 5}, " {pads=[2,2]}"},
      {{1, 4, 5, 6, 7}, {20, 4, 3, 3, 3}, " {pads=[1,1,1,1,1,1], strides=[1,2,1]}"},
      {{1, 8, 2, 2}, {4, 8, 1, 1}, " {pads=[2,2,2,2]}"},  // whole windows of padding
  };
  uint32_t seed = 100;
  for (const Case& c : cases)
    expect_same_convolution({.attributes = c.attributes, .w = c.w}, c.x, seed++);
}

TEST(ChannelsLast, GroupsOfOneChannel) {
  uint32_t seed = 200;
  for (const char* type : {"u8", "s8"})
    for (const int64_t channels : {16, 64, 112})
      for (const char* window : {"strides=[2,2]", "dilations=[2,1]"})
        expect_same_convolution(
            {.x_type = type,
             .w_type = type,
             .attributes = fmt::format(" {{group={}, pads=[1,1,1,1], {}}}", channels, window),
             .w = {channels, 1, 3, 3}},
            {1, channels, 9, 10}, seed++);
}

TEST(ChannelsLast, OperatorsBetweenConvolutionsAreChannelsLast) {
  std::mt19937 rng(7);
  const Conv first{.attributes = " {pads=[1,1,1,1]}", .w = {16, 4, 3, 3}};
  const Conv left{.y = "l", .x = "p", .w = {8, 16, 1, 1}};
  const Conv right{.y = "r", .x = "p", .attributes = " {pads=[1,1,1,1]}", .w = {12, 16, 3, 3}};
  const Conv last{.y = "z", .x = "c", .w = {6, 20, 1, 1}};
  const std::string text = "input %x : u8[1,4,9,11]\n" + first.text(rng) +
                           "%p = MaxPool(%a) {kernel_shape=[3,3], strides=[2,2], "
                           "pads=[1,1,1,1]}\n" +
                           left.text(rng) + right.text(rng) + "%c = Concat(%l, %r) {axis=1}\n" +
                           last.text(rng) + "output %z\n";
  expect_same_bytes(text,
                    "Transpose poprt.QLinearConv com.microsoft.NhwcMaxPool poprt.QLinearConv "
                    "poprt.QLinearConv Concat poprt.QLinearConv Transpose",
                    kPasses, {{"x", random_bytes("u8", {1, 4, 9, 11}, rng)}});
}

TEST(ChannelsLast, BoundsOfBytesAreMergedIntoTheConvolution) {
  std::mt19937 rng(8);
  Names passes = kPasses;
  passes.insert(passes.begin() + 1, "quantized_residual");
  for (const char* bounds :
       {"%r = Max(%a, %low)", "%r = Min(%a, %high)", "%m = Max(%a, %low)\n%r = Min(%m, %high)"}) {
    const Conv first{.attributes = " {pads=[1,1,1,1]}", .w = {16, 4, 3, 3}};
    const Conv last{.y = "z", .x = "r", .w = {6, 16, 1, 1}};
    expect_same_bytes(
        "input %x : u8[1,4,9,11]\nconst %low : u8[] = 110\nconst %high : u8[] = 130\n" +
            first.text(rng) + bounds + "\n" + last.text(rng) + "output %z\n",
        "Transpose poprt.QLinearConv poprt.QLinearConv Transpose", passes,
        {{"x", random_bytes("u8", {1, 4, 9, 11}, rng)}});
  }
}

TEST(ChannelsLast, ConvertsAPoolOfManyChannelsWithoutNeighbours) {
  std::mt19937 rng(9);
  const std::string pool =
      "\n%y = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}\n"
      "output %y\n";
  expect_same_bytes("input %x : s8[2,20,9,11]" + pool,
                    "Transpose com.microsoft.NhwcMaxPool Transpose", kPasses,
                    {{"x", random_bytes("s8", {2, 20, 9, 11}, rng)}});
  expect_same_bytes("input %x : s8[2,3,9,11]" + pool, "MaxPool", kPasses,
                    {{"x", random_bytes("s8", {2, 3, 9, 11}, rng)}});
}

// Squeeze and excitation: one number for each channel times an image.
TEST(ChannelsLast, ImagesTimesChannels) {
  std::mt19937 rng(12);
  const Conv image{.w = {8, 4, 3, 3}}, weights{.y = "s", .x = "c", .w = {8, 4, 1, 1}};
  const std::string text = "input %x : u8[1,4,6,7]\ninput %c : u8[1,4,1,1]\n" + image.text(rng) +
                           weights.text(rng) +
                           "%da = DequantizeLinear(%a, %ays, %ayz)\n"
                           "%ds = DequantizeLinear(%s, %sys, %syz)\n%g = Sigmoid(%ds)\n"
                           "%m = Mul(%da, %g)\n%q = QuantizeLinear(%m, %ays, %ayz)\noutput %q\n";
  Names passes = kPasses;
  passes.push_back("transpose_to_reshape");
  expect_same_bytes(
      text,
      "Transpose poprt.QLinearConv Reshape poprt.QLinearConv DequantizeLinear "
      "DequantizeLinear Sigmoid Mul QuantizeLinear Transpose",
      passes,
      {{"x", random_bytes("u8", {1, 4, 6, 7}, rng)}, {"c", random_bytes("u8", {1, 4, 1, 1}, rng)}});
}

TEST(ChannelsLast, ValuesThatOthersReadComeBack) {
  std::mt19937 rng(8);
  const Conv conv{.w = {8, 4, 1, 1}}, next{.y = "z", .x = "a", .w = {8, 8, 1, 1}};
  const std::string text = "input %x : u8[1,4,5,6]\n" + conv.text(rng) + next.text(rng) +
                           "%d = DequantizeLinear(%a, %ays, %ayz)\n%s = Softmax(%d) {axis=1}\n"
                           "output %z\noutput %s\noutput %a\n";
  expect_same_bytes(text,
                    "Transpose poprt.QLinearConv Transpose poprt.QLinearConv Transpose "
                    "DequantizeLinear Softmax",
                    kPasses, {{"x", random_bytes("u8", {1, 4, 5, 6}, rng)}});
}

TEST(ChannelsLast, AveragesOfBytesAreExact) {
  std::mt19937 rng(9);
  const Conv conv{.w = {8, 4, 1, 1}};
  const std::string text = "input %x : u8[2,4,7,7]\n" + conv.text(rng) +
                           "%d = DequantizeLinear(%a, %ays, %ayz)\n"
                           "%g = GlobalAveragePool(%d)\noutput %g\n";
  const auto before = parsed(text), after = parsed(text);
  run(*after, kPasses);
  EXPECT_EQ(ops_of(*after),
            "Transpose poprt.QLinearConv Reshape poprt.SumBytes Cast Sub Mul Reshape")
      << ir::to_text(*after);
  const std::map<std::string, Tensor> feeds = {{"x", random_bytes("u8", {2, 4, 7, 7}, rng)}};
  const auto wanted = evaluate_graph(*before, feeds).at("g").to_doubles();
  const auto found = evaluate_graph(*after, feeds).at("g").to_doubles();
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); i++) EXPECT_NEAR(found[i], wanted[i], 1e-4);
}

TEST(ChannelsLast, LeavesValuesOtherThanImages) {
  expect_unchanged({"channels_last"}, R"(
    input %x : f32[4]
    input %s : f32[]
    const %c : f32[4] = [1, 2, 3, 4]
    %y = Mul(%x, %c)
    %z = Mul(%s, %s)
    output %y
    output %z
  )");
}

TEST(ChannelsLast, LeavesConvolutionsWithoutAKernel) {
  std::mt19937 rng(10);
  Conv groups{.attributes = " {group=2}", .w = {8, 2, 1, 1}};
  std::string text = "input %x : u8[1,4,5,6]\n" + groups.text(rng) + "output %a\n";
  expect_unchanged({"channels_last"}, text);
  const Conv plain{.w = {2, 4, 1, 1}, .per_channel = false};
  text = "input %x : u8[1,4,5,6]\n" + plain.text(rng) + "output %a\n";
  const std::string zero = "%awz : s8[] = 0";
  text.replace(text.find(zero), zero.size(), "%awz : s8[] = 3");  // asymmetric weights
  expect_unchanged({"channels_last"}, text);
}

// y = [relu] (conv + other), where `other` is bytes that were made or given.
void expect_residual(bool relu, const std::string& x_type, bool conv_is_second) {
  SCOPED_TRACE(fmt::format("relu {} {} second {}", relu, x_type, conv_is_second));
  std::mt19937 rng(11);
  const Conv conv{.x_type = x_type, .y_type = x_type, .w = {8, 4, 3, 3}},
      other{.y = "o", .x_type = x_type, .y_type = x_type, .w = {8, 4, 3, 3}};
  const std::string text =
      fmt::format("input %x : {}[1,4,9,11]\n", x_type) + conv.text(rng) + other.text(rng) +
      fmt::format(
          "%r = Identity(%o)\n"  // the other bytes are read elsewhere, too
          "%da = DequantizeLinear(%a, %ays, %ayz)\n%do = DequantizeLinear(%o, %oys, %oyz)\n"
          "const %qs : f32[] = 0.75\nconst %qz : {}[] = 3\n"
          "%s = Add({})\n{}%q = QuantizeLinear(%{}, %qs, %qz)\noutput %q\noutput %r\n",
          x_type, conv_is_second ? "%do, %da" : "%da, %do", relu ? "%t = Relu(%s)\n" : "",
          relu ? "t" : "s");
  Names passes = kPasses;
  passes.insert(passes.begin(), "eliminate_identity");
  passes.push_back("quantized_residual");
  expect_same_bytes(text, "Transpose poprt.QLinearConv Transpose poprt.QLinearConv Transpose",
                    passes, {{"x", random_bytes(x_type, {1, 4, 9, 11}, rng)}});
}

TEST(ChannelsLast, ConvolutionsAddResiduals) {
  for (const bool relu : {false, true})
    for (const char* type : {"u8", "s8"})
      for (const bool second : {false, true}) expect_residual(relu, type, second);
}

}  // namespace
}  // namespace poprt::test

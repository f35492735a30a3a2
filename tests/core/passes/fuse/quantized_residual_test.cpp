#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// A convolution of bytes, %c, and what follows it.
std::string bounded(std::string_view rest) {
  return fmt::format(R"(
    input %x : u8[1,4,4,16]
    input %given : u8[]
    const %xs : f32[] = 0.5
    const %xz : u8[] = 3
    const %w : s8[16,16,1,1] = fill 1
    const %ws : f32[] = 0.25
    const %wz : s8[] = 0
    const %ys : f32[] = 2.0
    const %yz : u8[] = 7
    const %five : u8[] = 5
    const %ten : u8[] = 10
    const %twenty : u8[] = 20
    %c = poprt.QLinearConv(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz) {{kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1}}
    {}
    output %y
  )",
                     rest);
}

// Attributes `least` and `most` of the convolution, -1 without.
std::pair<int64_t, int64_t> bounds_after(std::string_view rest, std::string_view operators) {
  const auto graph = expect_ops({"quantized_residual"}, bounded(rest), operators);
  const ir::Node* conv = graph->nodes().front();
  return {conv->int_attr("least", -1), conv->int_attr("most", -1)};
}

using Bounds = std::pair<int64_t, int64_t>;
constexpr const char* kFused = "poprt.QLinearConv";

TEST(QuantizedResidual, MergesConstantBounds) {
  EXPECT_EQ(bounds_after("%y = Max(%c, %ten)", kFused), (Bounds{10, -1}));
  EXPECT_EQ(bounds_after("%y = Min(%c, %five)", kFused), (Bounds{-1, 5}));
  EXPECT_EQ(bounds_after("%m = Max(%c, %ten)\n%y = Min(%m, %twenty)", kFused), (Bounds{10, 20}));
  EXPECT_EQ(bounds_after("%m = Max(%c, %ten)\n%y = Min(%m, %ten)", kFused), (Bounds{10, 10}));
}

TEST(QuantizedResidual, KeepsBoundsThatAreNotConstant) {
  EXPECT_EQ(bounds_after("%y = Max(%c, %given)", "poprt.QLinearConv Max"), (Bounds{-1, -1}));
  EXPECT_EQ(bounds_after("%y = Min(%c, %given)", "poprt.QLinearConv Min"), (Bounds{-1, -1}));
}

// The convolution applies the lower bound first.
TEST(QuantizedResidual, KeepsBoundsInAnotherOrder) {
  EXPECT_EQ(bounds_after("%m = Min(%c, %twenty)\n%y = Max(%m, %ten)", "poprt.QLinearConv Max"),
            (Bounds{-1, 20}));
  EXPECT_EQ(bounds_after("%m = Max(%c, %ten)\n%y = Max(%m, %twenty)", "poprt.QLinearConv Max"),
            (Bounds{10, -1}));
  EXPECT_EQ(bounds_after("%m = Min(%c, %ten)\n%y = Min(%m, %five)", "poprt.QLinearConv Min"),
            (Bounds{-1, 10}));
  EXPECT_EQ(bounds_after("%m = Max(%c, %ten)\n%y = Min(%m, %five)", "poprt.QLinearConv Min"),
            (Bounds{10, -1}));
}

}  // namespace
}  // namespace poprt::test

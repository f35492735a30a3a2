// QuantizeLinear and DequantizeLinear in older opsets: the operators that they become compute the
// same, and wrong nodes are refused. Scales are small enough that some numbers saturate.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

std::string of(std::string_view x, std::string_view constants, std::string_view call) {
  return fmt::format("input %x : {}\n{}\n%y = {}\noutput %y", x, constants, call);
}

constexpr std::string_view kScale = "const %s : f32[] = 0.004\n";
constexpr std::string_view kScales = "const %s : f32[3] = [0.004, 0.01, 0.02]\n";
constexpr std::string_view kZeros = "const %z : u8[3] = [3, 100, 255]\n";
constexpr std::string_view kBlocks =
    "const %s : f32[2,3] = [0.004, 0.01, 0.02, 0.03, 0.008, 0.016]\n";
const std::string kParts = "Div Round Cast Add Clip Cast", kBack = "Cast Cast Sub Cast Mul";

TEST(ConvertQuantization, OneScaleLosesItsAxis) {
  const std::string z = "const %z : u8[1] = [7]\nconst %s : f32[1] = [0.004]";
  for (const int64_t target : {12, 11}) {
    convert_from(of("f32[2,3]", z, "QuantizeLinear(%x, %s, %z) {axis = 0}"), 13, target,
                 "QuantizeLinear");
    const auto graph = convert_from(of("u8[2,3]", z, "DequantizeLinear(%x, %s, %z) {axis = -1}"),
                                    13, target, "DequantizeLinear");
    const ir::Node& node = *graph->nodes()[0];
    EXPECT_EQ(node.input(1)->shape(), Shape{});
    EXPECT_EQ(node.input(2)->shape(), Shape{});
  }
  // A scale that is an input is reshaped.
  convert_from("input %x : u8[2,3]\ninput %s : f32[1]\n%y = DequantizeLinear(%x, %s)\noutput %y",
               13, 12, "Reshape DequantizeLinear");
}

TEST(ConvertQuantization, AScaleForEachChannelIsArithmetic) {
  const std::string scales(kScales), zeros = scales + std::string(kZeros);
  for (const std::string_view x : {"f32[3,4]", "f32[3,4,1,2]"})
    convert_from(of(x, zeros, "QuantizeLinear(%x, %s, %z) {axis = 0}"), 13, 12, kParts);
  convert_from(of("f32[2,3]", zeros, "QuantizeLinear(%x, %s, %z)"), 13, 12, kParts);
  convert_from(of("f32[2,3]", scales, "QuantizeLinear(%x, %s) {axis = -1}"), 13, 12,
               "Div Round Clip Cast");
  convert_from(
      of("f32[2,3]", scales + "const %z : s8[3] = [-128, 0, 127]", "QuantizeLinear(%x, %s, %z)"),
      13, 12, kParts);
  convert_from(of("u8[2,3]", zeros, "DequantizeLinear(%x, %s, %z)"), 13, 12, kBack);
  convert_from(of("s8[3,2]", scales, "DequantizeLinear(%x, %s) {axis = -2}"), 13, 12, "Cast Mul");
  convert_from(of("s32[3,2]", scales, "DequantizeLinear(%x, %s) {axis = 0}"), 13, 12, "Cast Mul");
}

TEST(ConvertQuantization, BlocksAreRowsOfAGrid) {
  const std::string blocks(kBlocks);
  convert_from(of("f32[4,3]", blocks + "const %z : u8[2,3] = [1, 2, 3, 4, 5, 255]",
                  "QuantizeLinear(%x, %s, %z) {axis = 0, block_size = 2}"),
               21, 20, "Reshape " + kParts + " Reshape");
  convert_from(of("f32[2,9]", blocks, "QuantizeLinear(%x, %s) {axis = -1, block_size = 3}"), 21, 20,
               "Reshape Div Round Clip Cast Reshape");
  convert_from(of("s8[6,3]", blocks, "DequantizeLinear(%x, %s) {axis = 0, block_size = 3}"), 21, 20,
               "Reshape Cast Mul Reshape");
  convert_from(of("u8[2,6]", blocks + "const %z : u8[2,3] = [1, 2, 3, 4, 5, 255]",
                  "DequantizeLinear(%x, %s, %z) {block_size = 2}"),
               21, 20, "Reshape " + kBack + " Reshape");
}

TEST(ConvertQuantization, SixteenBitsAreArithmetic) {
  const std::string scale(kScale);
  for (const std::string_view type : {"s16", "u16"})
    convert_from(
        fmt::format("input %x : f32[2,3]\nconst %s : f32[] = 0.00001\nconst %z : {}[] = 9\n"
                    "%q = QuantizeLinear(%x, %s, %z)\n%y = DequantizeLinear(%q, %s, %z)\n"
                    "output %q\noutput %y",
                    type),
        21, 20, kParts + " " + kBack);
  convert_from(of("f32[2,3]", scale, "QuantizeLinear(%x, %s) {output_dtype = 3}"), 21, 20,
               "QuantizeLinear");
  convert_from(of("f32[2,3]", scale, "QuantizeLinear(%x, %s)"), 21, 20, "QuantizeLinear");
  convert_from(of("s32[2,3]", scale, "DequantizeLinear(%x, %s)"), 21, 20, "DequantizeLinear");
  convert_from(of("u8[2,3]", scale, "DequantizeLinear(%x, %s) {block_size = 0}"), 21, 20,
               "DequantizeLinear");
  convert_from(of("f32[2,3]", scale, "QuantizeLinear(%x, %s) {block_size = 0}"), 21, 20,
               "QuantizeLinear");
}

TEST(ConvertQuantization, HalvesAreWidened) {
  const std::string half = "const %s : f16[] = 0.004\n";
  convert_from(of("f16[2,3]", half, "QuantizeLinear(%x, %s)"), 19, 18, "Cast Cast QuantizeLinear");
  convert_from(of("s32[2,3]", std::string(kScale), "QuantizeLinear(%x, %s)"), 19, 18,
               "QuantizeLinear");
  convert_from(of("u8[2,3]", half, "DequantizeLinear(%x, %s)"), 19, 18,
               "Cast DequantizeLinear Cast");
  convert_from(of("u8[2,3]", std::string(kScale), "DequantizeLinear(%x, %s)"), 19, 18,
               "DequantizeLinear");
  convert_from(of("u8[2,3]", std::string(kScale), "DequantizeLinear(%x, %s) {output_dtype = 10}"),
               23, 22, "DequantizeLinear Cast");
  convert_from(of("u8[2,3]", std::string(kScale), "DequantizeLinear(%x, %s) {output_dtype = 1}"),
               23, 22, "DequantizeLinear");
  convert_from(of("f32[2,3]", std::string(kScale), "QuantizeLinear(%x, %s) {precision = 1}"), 23,
               22, "QuantizeLinear");
}

// Inference refuses such nodes, so that their types are declared.
TEST(ConvertQuantization, ScalesFitTheDataAndItsAxis) {
  const auto node = [](const char* x, const char* s, const char* call, int opset) {
    return declared(
        fmt::format("input %x : {}\ninput %s : {}\n%y : u8[2,3] = {}\noutput %y", x, s, call),
        opset);
  };
  const auto halves = node("f32[2,3]", "f16[]", "QuantizeLinear(%x, %s)", 19);
  convert(*halves, 18);
  EXPECT_EQ(ops_of(*halves), "Cast QuantizeLinear");
  for (const auto& [call, why] :
       {std::pair("QuantizeLinear(%x, %s)", "scales do not fit the axis"),
        {"QuantizeLinear(%x, %s) {axis = 2}", "axis 2 is not one of 2"},
        {"QuantizeLinear(%x, %s) {axis = -3}", "axis -1 is not one of 2"}}) {
    const std::string message = refusal_of(*node("f32[2,3]", "f32[4]", call, 13), 12);
    EXPECT_TRUE(message.ends_with(std::string(": ") + why)) << message;
  }
  for (const char* scales : {"f32[2]", "f32[2,2]"}) {
    const std::string message =
        refusal_of(*node("f32[2,3]", scales, "QuantizeLinear(%x, %s) {block_size = 2}", 21), 20);
    EXPECT_TRUE(message.ends_with(": blocks of 2 do not divide the axis")) << message;
  }
}

TEST(ConvertQuantization, WhatAnOlderOpsetLacksIsRefused) {
  const std::string scales(kScales);
  expect_refusal(
      of("f32[2,3]", std::string(kScale), "QuantizeLinear(%x, %s) {precision = 10} \"q\""), 23, 22,
      {"QuantizeLinear node 'q'", "it divides in f32 there, not in f16"});
  expect_refusal(
      "input %x : f32[2,3]\nconst %s : f32[] = 0.5\nconst %z : u4[] = 3\n"
      "%y = QuantizeLinear(%x, %s, %z) \"q\"\noutput %y",
      21, 20, {"it has no u4 there"});
  expect_refusal(
      "input %x : u4[2,3]\nconst %s : f32[] = 0.5\n"
      "%y = DequantizeLinear(%x, %s) \"d\"\noutput %y",
      21, 20, {"it has no u4 there"});
}

}  // namespace
}  // namespace poprt::opsets

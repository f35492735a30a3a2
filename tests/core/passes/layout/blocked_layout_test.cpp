#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// A convolution, then `rest`, which reads %y : f32[1,20,4,5].
std::string after_conv(const std::string& rest) {
  return R"(input %x : f32[1,20,4,5]
    const %w : f32[20,20,1,1] = fill 0.125
    %y : ? = Conv(%x, %w)
    )" + rest;
}

const struct {
  const char *type, *elements;
} kOneElement[] = {{"f32[]", "1.5"},
                   {"f32[1]", "[1.5]"},
                   {"f32[1,1]", "[1.5]"},
                   {"f32[1,1,1]", "[1.5]"},
                   {"f32[1,1,1,1]", "[1.5]"}};

}  // namespace

TEST(BlockedLayout, AConstantOfOneElementStandsOnEitherSide) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"})
    for (const auto& one : kOneElement)
      for (const char* operands : {"%c, %y", "%y, %c"})
        expect_ops({"blocked_layout"},
                   after_conv(fmt::format("const %c : {} = {}\n%z : ? = {}({})\noutput %z",
                                          one.type, one.elements, op, operands)),
                   fmt::format("poprt.Block poprt.Conv {} poprt.Unblock", op));
}

TEST(BlockedLayout, AConstantForEachChannelStandsOnEitherSide) {
  for (const char* type : {"f32[20,1,1]", "f32[1,20,1,1]"})
    for (const char* operands : {"%c, %y", "%y, %c"})
      expect_ops({"blocked_layout"},
                 after_conv(fmt::format("const %c : {} = fill 0.75\n%z : ? = Sub({})\noutput %z",
                                        type, operands)),
                 "poprt.Block poprt.Conv Sub poprt.Unblock");
}

TEST(BlockedLayout, OtherBroadcastsStayPlain) {
  for (const char* type : {"f32[5]", "f32[4,5]", "f32[4,1]", "f32[20,4,5]", "f32[1,20,1,5]",
                           "f32[2,20,4,5]", "f32[2,1,1,1]"})
    for (const char* operands : {"%c, %y", "%y, %c"})
      expect_ops({"blocked_layout"},
                 after_conv(fmt::format("const %c : {} = fill 0.75\n%z : ? = Sub({})\noutput %z",
                                        type, operands)),
                 "poprt.Block poprt.Conv poprt.Unblock Sub");
}

TEST(BlockedLayout, PositionsOfMaxPoolThatAreAnOutputStayPlain) {
  expect_ops({"blocked_layout"}, after_conv(R"(
    %z : ?, %i : ? = MaxPool(%y) {kernel_shape = [2, 2]}
    output %z
    output %i)"),
             "poprt.Block poprt.Conv poprt.Unblock MaxPool");
}

}  // namespace poprt::test

// Axes and other numbers that are attributes in some opsets and inputs in others: the converted
// node computes the same, and has its numbers in one place only.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

struct AxesRow {
  std::string_view x, call;
  int opset;
  int64_t target;
  std::string_view operators;
  size_t inputs;  // of the only node
};

// Each node has the input %x and may use these constants.
constexpr std::string_view kConstants =
    "const %none : s64[0] = []\nconst %first : s64[1] = [0]\nconst %last : s64[1] = [-1]\n"
    "const %two : s64[2] = [0, 2]\nconst %parts : s64[3] = [1, 4, 2]\n"
    "const %scalar : s64[] = 1\nconst %zero : s64[] = 0\n";

void expect_converts(const AxesRow& c) {
  const auto graph =
      convert_node(fmt::format("input %x : {}\n{}", c.x, kConstants), c.call, c.opset, c.target,
                   c.operators, c.call.starts_with("Split") ? 3 : 1);
  if (c.inputs) EXPECT_EQ(graph->nodes().front()->inputs().size(), c.inputs) << c.call;
}

TEST(ConvertAxes, AxesAreAnAttributeOrAnInput) {
  const AxesRow cases[] = {
      {"f32[1,3,1]", "Squeeze(%x) {axes = [0, 2]}", 11, 13, "Squeeze", 2},
      {"f32[1,3,1]", "Squeeze(%x) {axes = [-1]}", 11, 20, "Squeeze", 2},
      {"f32[1,3,1]", "Squeeze(%x)", 11, 13, "Squeeze", 1},
      {"f32[1,3,1]", "Squeeze(%x, %two)", 13, 11, "Squeeze", 1},
      {"f32[1,3,1]", "Squeeze(%x, %last)", 13, 12, "Squeeze", 1},
      {"f32[1,3,1]", "Squeeze(%x)", 13, 11, "Squeeze", 1},
      {"f32[2,3]", "Unsqueeze(%x) {axes = [0, 2]}", 11, 13, "Unsqueeze", 2},
      {"f32[2,3]", "Unsqueeze(%x, %two)", 13, 11, "Unsqueeze", 1},
      {"f32[2,3]", "Unsqueeze(%x, %none)", 13, 11, "Identity", 1},
      {"f32[2,3,2]", "ReduceSum(%x) {axes = [0, 2]}", 11, 13, "ReduceSum", 2},
      {"f32[2,3,2]", "ReduceSum(%x, %two) {keepdims = 0}", 13, 11, "ReduceSum", 1},
      {"f32[2,3,2]", "ReduceSum(%x, %none)", 13, 11, "ReduceSum", 1},
      {"f32[2,3,2]", "ReduceSum(%x)", 11, 13, "ReduceSum", 1},
      {"f32[2,3,2]", "ReduceMean(%x) {axes = [1]}", 17, 18, "ReduceMean", 2},
      {"f32[2,3,2]", "ReduceMean(%x, %first)", 18, 17, "ReduceMean", 1},
      {"f32[2,3,2]", "ReduceMean(%x, %first) {noop_with_empty_axes = 1}", 18, 17, "ReduceMean", 1},
      {"f32[2,3,2]", "ReduceL2(%x, %none) {noop_with_empty_axes = 1}", 18, 17, "Unsqueeze ReduceL2",
       0},
      {"f32[2,3,2]", "ReduceL1(%x) {noop_with_empty_axes = 0}", 18, 17, "ReduceL1", 1},
  };
  for (const AxesRow& c : cases) expect_converts(c);
}

TEST(ConvertAxes, PartsOfASplit) {
  const AxesRow cases[] = {
      {"f32[2,7]", "Split(%x) {axis = 1, split = [1, 4, 2]}", 11, 13, "Split", 2},
      {"f32[7,2]", "Split(%x) {split = [3, 3, 1]}", 11, 18, "Split", 2},
      {"f32[2,7]", "Split(%x, %parts) {axis = -1}", 13, 11, "Split", 1},
      {"f32[6,2]", "Split(%x)", 13, 11, "Split", 1},
      {"f32[7,2]", "Split(%x, %parts)", 18, 17, "Split", 2},
      {"f32[7,2]", "Split(%x) {num_outputs = 3}", 18, 17, "Split", 2},
      {"f32[7,2]", "Split(%x) {num_outputs = 3}", 18, 11, "Split", 1},
      {"f32[6,2]", "Split(%x) {num_outputs = 3}", 18, 17, "Split", 1},
      {"f32[2,8]", "Split(%x) {axis = 1, num_outputs = 3}", 18, 17, "Split", 2},
      {"f32[2,9]", "Split(%x) {axis = -1, num_outputs = 3}", 18, 17, "Split", 1},
  };
  for (const AxesRow& c : cases) expect_converts(c);
}

// Before opset 13, Softmax treats all dimensions from the axis on as one dimension.
TEST(ConvertAxes, AxesOfSoftmax) {
  for (const std::string op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    const std::string flat = "Flatten " + op + " Reshape", moved = "Transpose " + op + " Transpose",
                      none = op + "(%x)", zero = op + "(%x) {axis = 0}",
                      one = op + "(%x) {axis = 1}", minus = op + "(%x) {axis = -1}",
                      second = op + "(%x) {axis = -2}";
    const AxesRow cases[] = {
        {"f32[2,3,4]", none, 11, 13, flat, 0},    {"f32[2,3,4]", zero, 11, 13, flat, 0},
        {"f32[2,3]", none, 11, 13, op, 1},        {"f32[2,3,4]", minus, 11, 13, op, 1},
        {"f32[2,3,4]", second, 11, 13, flat, 0},  {"f32[3,1,1]", zero, 11, 13, op, 1},
        {"f32[2,3,4]", none, 13, 11, op, 1},      {"f32[2,3,4]", zero, 13, 11, moved, 0},
        {"f32[2,3,4]", second, 13, 11, moved, 0}, {"f32[2,3,4]", minus, 13, 12, op, 1},
        {"f32[2,3,1]", one, 13, 11, op, 1},       {"f32[2,3,2]", one, 13, 11, moved, 0},
    };
    for (const AxesRow& c : cases) expect_converts(c);
    expect_converts({"f32[2,3]", second, 11, 13, flat, 0});
  }
}

TEST(ConvertAxes, AttributesOfOldOpsetsBecomeInputs) {
  const AxesRow cases[] = {
      {"f32[4,5]", "Slice(%x) {axes = [1], ends = [4], starts = [1]}", 9, 11, "Slice", 4},
      {"f32[4,5]", "Slice(%x) {axes = [1, 0], ends = [4, -1], starts = [-3, 0]}", 9, 13, "Slice",
       4},
      {"f32[4,5]", "Slice(%x) {ends = [3, 9], starts = [1, 2]}", 9, 11, "Slice", 3},
      {"f32[2,3]", "Pad(%x) {pads = [1, 0, 2, 3], value = 1.5}", 10, 11, "Pad", 3},
      {"f32[2,3]", "Pad(%x) {pads = [1, 0, 2, 3]}", 10, 11, "Pad", 2},
      {"f32[3,4]", "Pad(%x) {mode = \"reflect\", pads = [1, 2, 0, 3]}", 10, 13, "Pad", 2},
      {"f32[5]", "Clip(%x) {min = -0.5}", 10, 11, "Clip", 2},
      {"f32[5]", "Clip(%x) {max = 0.5}", 10, 12, "Clip", 3},
      {"f32[5]", "Clip(%x)", 10, 11, "Clip", 1},
      {"f16[5]", "Clip(%x) {max = 0.5, min = -0.25}", 10, 13, "Clip", 3},
  };
  for (const AxesRow& c : cases) expect_converts(c);
}

TEST(ConvertAxes, TheAxisOfAFourierTransform) {
  const AxesRow cases[] = {
      {"f32[2,6,1]", "DFT(%x)", 17, 20, "DFT", 3},
      {"f32[4,3,2]", "DFT(%x) {axis = 0}", 19, 20, "DFT", 3},
      {"f32[4,3,2]", "DFT(%x) {axis = 0, inverse = 1}", 17, 20, "DFT", 3},
      {"f32[4,3,2]", "DFT(%x)", 20, 19, "DFT", 1},
      {"f32[4,3,2]", "DFT(%x, _, %scalar)", 20, 19, "DFT", 0},
      {"f32[4,3,2]", "DFT(%x, _, %zero)", 20, 19, "DFT", 0},
      {"f32[4,3,5,2]", "DFT(%x)", 20, 17, "DFT", 1},
      {"f32[4,3,5,2]", "DFT(%x, _, %scalar)", 20, 17, "DFT", 0},
  };
  for (const AxesRow& c : cases) expect_converts(c);
}

TEST(ConvertAxes, TheLastOfEqualElements) {
  const AxesRow cases[] = {
      {"s32[4,5]", "ArgMax(%x) {select_last_index = 1}", 12, 11, "Slice ArgMax Sub", 0},
      {"s32[4,5]", "ArgMin(%x) {axis = 1, keepdims = 0, select_last_index = 1}", 12, 11,
       "Slice ArgMin Sub", 0},
      {"s32[3,9]", "ArgMin(%x) {axis = -1, select_last_index = 1}", 13, 11, "Slice ArgMin Sub", 0},
      {"s32[3,9]", "ArgMax(%x) {axis = -1, select_last_index = 1}", 13, 12, "ArgMax", 1},
  };
  for (const AxesRow& c : cases) expect_converts(c);
}

TEST(ConvertAxes, PadsKeepTheirValue) {
  convert_from(
      "input %x : f32[2,3]\nconst %p : s64[2] = [2, 1]\nconst %v : f32[] = 1.5\n"
      "const %a : s64[1] = [-2]\n%y : ? = Pad(%x, %p, %v, %a)\noutput %y",
      18, 11, "Pad");
  convert_from(
      "input %x : f32[2,3]\nconst %p : s64[4] = [2, 1, 0, 1]\nconst %v : f32[] = 1.5\n"
      "%y : ? = Pad(%x, %p, %v)\noutput %y",
      18, 11, "Pad");
}

TEST(ConvertAxes, NumbersOfAnUnknownTypeAreRefused) {
  for (const char* call :
       {"Clip(%x) {max = 0.5}", "Clip(%x) {min = 0.5}", "Pad(%x) {pads = [1, 0], value = 1.5}"}) {
    const auto graph = declared(fmt::format("input %x : ?\n%y : ? = {}\noutput %y", call), 10);
    const std::string message = refusal_of(*graph, 11);
    EXPECT_TRUE(message.ends_with(": the type of 'x' must be known")) << message;
  }
}

// Inference has not checked these nodes, because a shape is unknown.
TEST(ConvertAxes, AxesThatDoNotExistAreNamed) {
  const auto refused = [](std::string_view constants, std::string_view call, int opset,
                          int64_t target, const std::string& why) {
    const auto graph =
        declared(fmt::format("input %x : f32[4,3]\n{}\n%y : f32[?,?] = {} \"n\"\noutput %y",
                             constants, call),
                 opset);
    const std::string message = refusal_of(*graph, target);
    EXPECT_TRUE(message.ends_with(" node 'n': " + why)) << message;
  };
  for (const auto& [axis, target] : {std::pair(2, 13), {5, 13}, {-3, 13}})
    refused("", fmt::format("Softmax(%x) {{axis = {}}}", axis), 11, target,
            fmt::format("axis {} is not one of 2", axis));
  refused("", "ArgMax(%x) {axis = 2, select_last_index = 1}", 12, 11, "axis 2 is not one of 2");
  const auto pad = [](const char* pads, const char* axes) {
    return fmt::format("const %p : s64{}\nconst %a : s64{}", pads, axes);
  };
  const char* const call = "Pad(%x, %p, _, %a)";
  refused(pad("[3] = [1, 2, 3]", "[1] = [0]"), call, 18, 17, "3 pads for 1 axes");
  refused(pad("[2] = [1, 2]", "[2] = [0, 1]"), call, 18, 17, "2 pads for 2 axes");
  for (const int axis : {2, -3})
    refused(pad("[2] = [1, 2]", fmt::format("[1] = [{}]", axis).c_str()), call, 18, 17,
            fmt::format("axis {} is not one of 2", axis));
  refused("const %a : s64[2] = [0, 1]", "DFT(%x, _, %a)", 20, 19,
          "axis has 2 elements, expected one");
  refused("const %t : bool[2] = [false, false]", "Dropout(%x, _, %t)", 13, 11,
          "training_mode has 2 elements, expected one");
}

}  // namespace
}  // namespace poprt::opsets

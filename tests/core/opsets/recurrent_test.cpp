// In layout 1 the batch is the first dimension. Sizes of batch, sequence and states are different.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

// A batch of 2, 3 steps, 4 elements of the input, and 5 of the state.
std::string recurrent_inputs(int gates, int directions) {
  return fmt::format(
      "input %x : f32[2,3,4]\ninput %w : f32[{1},{0},4]\ninput %r : f32[{1},{0},5]\n"
      "input %b : f32[{1},{2}]\nconst %n : s32[2] = [3, 2]\ninput %h : f32[2,{1},5]\n"
      "input %c : f32[2,{1},5]",
      gates * 5, directions, gates * 10);
}

constexpr std::string_view kForward = "{hidden_size = 5, layout = 1}",
                           kBoth = "{direction = \"bidirectional\", hidden_size = 5, layout = 1}";

TEST(ConvertRecurrent, LayoutsAreTransposed) {
  for (const auto& [op, gates] : {std::pair("RNN", 1), {"GRU", 3}})
    for (const auto& [attributes, directions] : {std::pair(kForward, 1), {kBoth, 2}}) {
      const std::string values = recurrent_inputs(gates, directions);
      const auto call = [&](const char* inputs) {
        return fmt::format("{}({}) {}", op, inputs, attributes);
      };
      const std::string none = fmt::format("Transpose {} Transpose", op),
                        one = fmt::format("Transpose Transpose {} Transpose", op);
      convert_node(values, call("%x, %w, %r"), 14, 13, none);
      convert_node(values, call("%x, %w, %r, %b, %n"), 14, 11, none + " Transpose", 2);
      convert_node(values, call("%x, %w, %r, _, _, %h"), 14, 13, one + " Transpose", 2);
      convert_node(values, call("%x, %w, %r, %b, %n, %h"), 22, 13, one + " Transpose", 2);
    }
}

TEST(ConvertRecurrent, LongMemoryHasTwoStates) {
  for (const auto& [attributes, directions] : {std::pair(kForward, 1), {kBoth, 2}}) {
    const std::string values = recurrent_inputs(4, directions);
    const auto call = [&](const char* inputs) {
      return fmt::format("LSTM({}) {}", inputs, attributes);
    };
    convert_node(values, call("%x, %w, %r"), 14, 13, "Transpose LSTM Transpose");
    convert_node(values, call("%x, %w, %r, %b, _, %h, %c"), 14, 13,
                 "Transpose Transpose Transpose LSTM Transpose Transpose Transpose", 3);
    convert_node(values, call("%x, %w, %r, _, %n, _, %c"), 14, 13,
                 "Transpose Transpose LSTM Transpose Transpose Transpose", 3);
  }
}

TEST(ConvertRecurrent, Layout0NeedsNoTransposes) {
  const std::string values = "input %x : f32[3,2,4]\ninput %w : f32[1,5,4]\ninput %r : f32[1,5,5]";
  for (const char* layout : {"", ", layout = 0"}) {
    const auto graph = convert_node(
        values, fmt::format("RNN(%x, %w, %r) {{hidden_size = 5{}}}", layout), 14, 13, "RNN", 2);
    EXPECT_FALSE(graph->nodes()[0]->find_attr("layout"));
  }
}

}  // namespace
}  // namespace poprt::opsets

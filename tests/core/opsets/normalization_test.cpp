// Normalisations become arithmetic of older opsets. Epsilons are large, so that they matter.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

TEST(ConvertNormalization, EachPositionOfABatchNormalizationMayHaveItsOwnNumbers) {
  const std::string values =
      "input %x : f32[2,3,4]\ninput %s : f32[3,4]\ninput %b : f32[3,4]\ninput %m : f32[3,4]\n"
      "const %v : f32[3,4] = fill 2.0";
  // The reference is arithmetic, because opset 7 has no shape inference for it.
  const auto graph = declared(
      values +
          "\n%y : f32[2,3,4] = BatchNormalization(%x, %s, %b, %m, %v) {epsilon = 0.5, spatial = "
          "0}\noutput %y",
      7);
  const auto wanted = parsed(values +
                                 "\nconst %e : f32[] = 0.5\n%d : ? = Sub(%x, %m)\n"
                                 "%w : ? = Add(%v, %e)\n%r : ? = Sqrt(%w)\n%n : ? = Div(%d, %r)\n"
                                 "%p : ? = Mul(%n, %s)\n%y : ? = Add(%p, %b)\noutput %y",
                             11);
  convert(*graph, 11);
  EXPECT_EQ(ops_of(*graph), "Add Sqrt Sub Div Mul Add");
  test::expect_same_results(*wanted, *graph);
}

TEST(ConvertNormalization, ABatchNormalizationOfChannelsLosesItsOldAttribute) {
  const auto graph = declared(
      "input %x : f32[2,3,4]\ninput %s : f32[3]\n"
      "%y : f32[2,3,4] = BatchNormalization(%x, %s, %s, %s, %s) {epsilon = 0.5, spatial = 1}\n"
      "output %y",
      7);
  convert(*graph, 11);
  ASSERT_EQ(ops_of(*graph), "BatchNormalization");
  EXPECT_FALSE(graph->nodes()[0]->find_attr("spatial"));
  EXPECT_EQ(graph->nodes()[0]->float_attr("epsilon", 0), 0.5f);
}

constexpr std::string_view kStatistics =
    "input %s : f32[3]\ninput %b : f32[3]\ninput %m : f32[3]\nconst %v : f32[3] = [2.0, 0.5, 1.0]";

TEST(ConvertNormalization, TrainingUpdatesTheStatistics) {
  for (const char* x : {"[2,3,4,2]", "[4,3]"})
    convert_node(fmt::format("input %x : f32{}\n{}", x, kStatistics),
                 "BatchNormalization(%x, %s, %b, %m, %v) {epsilon = 0.5, momentum = 0.75, "
                 "training_mode = 1}",
                 15, 13,
                 "ReduceMean Sub Mul ReduceMean Add Sqrt Div " +
                     std::string(x[5] == ']' ? "" : "Reshape ") + "Mul " +
                     (x[5] == ']' ? "" : "Reshape ") +
                     "Add Reshape Mul Mul Add Reshape Mul Mul Add",
                 3);
  convert_node(fmt::format("input %x : f32[2,3,4]\n{}", kStatistics),
               "BatchNormalization(%x, %s, %b, %m, %v) {epsilon = 0.5, training_mode = 0}", 15, 13,
               "BatchNormalization");
}

TEST(ConvertNormalization, ResultsForTrainingGo) {
  const std::string values = fmt::format("input %x : f32[2,3,4]\n{}\n", kStatistics);
  const auto with = [&](const char* outputs) {
    return declared(values +
                        "%y : f32[2,3,4], %a : f32[3], %c : f32[3] = BatchNormalization(%x, %s, "
                        "%b, %m, %v) {epsilon = 0.5} \"n\"\noutput %y\n" +
                        outputs,
                    9);
  };
  const auto graph = with("");
  convert(*graph, 15);
  ASSERT_EQ(ops_of(*graph), "BatchNormalization");
  EXPECT_EQ(graph->nodes()[0]->outputs().size(), 1u);
  EXPECT_EQ(graph->nodes()[0]->float_attr("epsilon", 0), 0.5f);
  for (const int i : {1, 2}) {
    EXPECT_EQ(refusal_of(*with(i == 1 ? "output %a\n" : "output %c\n"), 15),
              fmt::format("convert_version: no conversion from opset 9 to 15: BatchNormalization "
                          "node 'n': output {} exists while a model is trained only",
                          i));
  }
}

TEST(ConvertNormalization, LayersHaveMeansAndVariances) {
  const auto values = [](const char* scale) {
    return fmt::format("input %x : f32[2,3,4]\ninput %s : f32{0}\ninput %b : f32{0}", scale);
  };
  const std::string parts = "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul";
  convert_node(values("[4]"), "LayerNormalization(%x, %s, %b) {epsilon = 0.5}", 17, 16,
               parts + " Add");
  convert_node(values("[4]"), "LayerNormalization(%x, %s) {axis = 2}", 17, 16, parts);
  convert_node(values("[3,4]"), "LayerNormalization(%x, %s, %b) {axis = 1, epsilon = 0.5}", 17, 16,
               parts + " Add");
  convert_node(values("[3,4]"), "LayerNormalization(%x, %s) {axis = -2, epsilon = 0.5}", 17, 16,
               parts);
  convert_node(values("[3,4]"), "LayerNormalization(%x, %s) {axis = -2, epsilon = 0.5}", 17, 16,
               parts + " Reciprocal", 3);
  convert_node(values("[4]"), "LayerNormalization(%x, %s) {epsilon = 0.5, stash_type = 11}", 17, 16,
               "Cast ReduceMean Sub Mul ReduceMean Add Sqrt Div Cast Mul");
}

TEST(ConvertNormalization, RootMeanSquaresAreArithmetic) {
  const auto values = [](const char* scale) {
    return fmt::format("input %x : f32[2,3,4]\ninput %s : f32{}", scale);
  };
  const std::string parts = "Mul ReduceMean Add Sqrt Div Mul";
  convert_node(values("[4]"), "RMSNormalization(%x, %s)", 23, 22, parts);
  convert_node(values("[4]"), "RMSNormalization(%x, %s) {epsilon = 0.5}", 23, 22, parts);
  convert_node(values("[3,4]"), "RMSNormalization(%x, %s) {axis = 1, epsilon = 0.5}", 23, 22,
               parts);
  convert_node(values("[3,4]"), "RMSNormalization(%x, %s) {axis = -2, epsilon = 0.5}", 23, 22,
               parts);
}

// Opset 18 has a scale and a bias for each group, opset 21 for each channel.
TEST(ConvertNormalization, GroupsAndChannels) {
  const auto values = [](const char* x, int count) {
    return fmt::format("input %x : f32{0}\ninput %s : f32[{1}]\ninput %b : f32[{1}]", x, count);
  };
  const auto call = [](int groups) {
    return fmt::format("GroupNormalization(%x, %s, %b) {{epsilon = 0.5, num_groups = {}}}", groups);
  };
  const std::string instances = "Reshape InstanceNormalization Reshape ",
                    repeated = "Reshape Expand Reshape ";
  convert_node(values("[2,6,5]", 2), call(2), 18, 17,
               instances + repeated + "Reshape Mul " + repeated + "Reshape Add");
  convert_node(values("[2,6,5,2]", 6), call(6), 18, 17, instances + "Reshape Mul Reshape Add");
  convert_node(values("[2,6,5]", 6), call(2), 21, 20, instances + "Reshape Mul Reshape Add");
  convert_node(values("[2,6,5]", 6), call(3), 21, 17, instances + "Reshape Mul Reshape Add");
  convert_node(values("[2,6,5]", 6), call(6), 21, 18, "GroupNormalization");
  convert_node(values("[2,6,5]", 6), call(6), 21, 17, instances + "Reshape Mul Reshape Add");
  convert_node(values("[2,6,5]", 2), call(2), 18, 21, repeated + repeated + "GroupNormalization");
  convert_node(values("[2,6,5]", 6), call(6), 18, 21, "GroupNormalization");
  convert_node(values("[2,6,5]", 6),
               "GroupNormalization(%x, %s, %b) {num_groups = 3, stash_type = 11}", 21, 20,
               "Cast Reshape Cast Cast InstanceNormalization Reshape Cast Reshape Mul Reshape Add");
}

// Statistics of halves are in f32 since opset 21, those of f64 are in f64.
TEST(ConvertNormalization, StatisticsHaveTheWiderType) {
  const auto converted = [](const char* type, const char* call, int opset, int64_t target) {
    const auto graph =
        declared(fmt::format("input %x : {0}[2,6,5]\ninput %s : {0}[6]\ninput %l : {0}[5]\n"
                             "%y : {0}[2,6,5] = {1}\noutput %y",
                             type, call),
                 opset);
    convert(*graph, target);
    return ops_of(*graph);
  };
  const char* const groups = "GroupNormalization(%x, %s, %s) {num_groups = 6}";
  EXPECT_EQ(converted("f16", groups, 21, 17),
            "Cast Reshape InstanceNormalization Reshape Cast Reshape Mul Reshape Add");
  EXPECT_EQ(converted("f16", groups, 18, 17),
            "Reshape Cast Cast InstanceNormalization Reshape Reshape Mul Reshape Add");
  const char* const layers = "LayerNormalization(%x, %l)";
  const std::string parts = "ReduceMean Sub Mul ReduceMean Add Sqrt Div";
  EXPECT_EQ(converted("f16", layers, 17, 16), "Cast " + parts + " Cast Mul");
  EXPECT_EQ(converted("f64", layers, 17, 16), parts + " Mul");
  EXPECT_EQ(converted("f32", layers, 17, 16), parts + " Mul");
  EXPECT_EQ(
      converted("f32", "GroupNormalization(%x, %s, %s) {num_groups = 6, stash_type = 1}", 21, 18),
      "GroupNormalization");
}

TEST(ConvertNormalization, GroupsDivideTheChannels) {
  const auto refused = [](const char* x, int groups) {
    const auto graph = declared(
        fmt::format("input %x : f32{0}\ninput %s : f32[4]\n"
                    "%y : f32{0} = GroupNormalization(%x, %s, %s) {{num_groups = {1}}} \"n\"\n"
                    "output %y",
                    x, groups),
        21);
    const std::string message = refusal_of(*graph, 20);
    EXPECT_TRUE(
        message.ends_with(fmt::format("{} groups do not divide the channels of {}", groups, x)))
        << message;
  };
  refused("[2,4,5]", 3);
  refused("[2,4,5]", 0);
  refused("[2,4,5]", -2);
  refused("[2,4]", 2);
}

}  // namespace
}  // namespace poprt::opsets

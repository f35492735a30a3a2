// Operators of single elements become arithmetic of older opsets with the same results.
#include <gtest/gtest.h>

#include <tuple>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

struct ElementRow {
  std::string_view x, z, call;  // types of the inputs %x and %z
  int opset;
  int64_t target;
  std::string_view operators;
};

void expect_converts(const ElementRow& c) {
  SCOPED_TRACE(c.x);
  convert_node(fmt::format("input %x : {}\ninput %z : {}", c.x, c.z), c.call, c.opset, c.target,
               c.operators);
}

TEST(ConvertElementwise, FunctionsAreArithmetic) {
  const ElementRow cases[] = {
      {"f32[50]", "f32[]", "Celu(%x) {alpha = 1.5}", 12, 11, "Div Elu Mul"},
      {"f32[50]", "f32[]", "Celu(%x)", 12, 11, "Div Elu Mul"},
      {"f32[50]", "f32[]", "Celu(%x) {alpha = 0.5}", 28, 13, "Celu"},
      {"f32[50]", "f32[]", "Gelu(%x)", 20, 19, "Div Erf Add Mul Mul"},
      {"f32[50]", "f32[]", "Gelu(%x) {approximate = \"tanh\"}", 20, 19,
       "Mul Mul Mul Add Mul Tanh Add Mul Mul"},
      {"f32[50]", "f32[]", "Mish(%x)", 18, 17, "Softplus Tanh Mul"},
      {"f32[50]", "f32[]", "HardSwish(%x)", 14, 13, "HardSigmoid Mul"},
      {"f32[50]", "f32[]", "Swish(%x) {alpha = 1.5}", 24, 23, "Mul Sigmoid Mul"},
      {"f32[50]", "f32[]", "Swish(%x)", 24, 23, "Sigmoid Mul"},
      {"f32[50]", "f32[50]", "SwiGLU(%x, %z)", 28, 27, "Sigmoid Mul Mul"},
      {"f32[50]", "f32[50]", "SwiGLU(%x, %z) {alpha = 0.5}", 28, 27, "Mul Sigmoid Mul Mul"},
  };
  for (const ElementRow& c : cases) expect_converts(c);
  // 1/6 as an f32 attribute would not be precise enough for f64.
  const auto graph = convert_from(
      "input %x : f32[50]\n%d : ? = Cast(%x) {to = 11}\n%y : ? = HardSwish(%d)\noutput %y", 14, 13,
      "Cast Add Clip Div Mul");
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f64);
  convert_from(
      "input %x : f32[50]\n%d : ? = Cast(%x) {to = 11}\n%y : ? = Celu(%d) {alpha = 1.5}\noutput %y",
      28, 13, "Cast Div Elu Mul");
}

TEST(ConvertElementwise, NumbersNeedAKnownType) {
  for (const auto& [call, opset, target] : {std::tuple("Celu(%x)", 12, 11),
                                            {"Gelu(%x)", 20, 19},
                                            {"Relu(%x)", 14, 13},
                                            {"Clip(%x)", 12, 11},
                                            {"Pow(%x, %x)", 12, 11},
                                            {"Swish(%x)", 24, 23}}) {
    const auto graph = declared(fmt::format("input %x : ?\n%y : ? = {}\noutput %y", call), opset);
    EXPECT_TRUE(refusal_of(*graph, target).ends_with(": the type of 'x' must be known")) << call;
  }
}

TEST(ConvertElementwise, ComparisonsIncludeEquality) {
  for (const char* z : {"%x", "%z"}) {
    const std::string greater = fmt::format("GreaterOrEqual(%x, {})", z),
                      less = fmt::format("LessOrEqual(%x, {})", z);
    for (const char* type : {"f32[20]", "s32[20]"}) {
      expect_converts({type, type, greater, 12, 11, "Greater Equal Or"});
      expect_converts({type, type, less, 12, 11, "Less Equal Or"});
      expect_converts({type, type, less, 16, 11, "Less Equal Or"});
    }
  }
}

TEST(ConvertElementwise, IntegersAreComparedOrWidened) {
  const ElementRow cases[] = {
      {"s32[9]", "s32[]", "Clip(%x, %z)", 13, 11, "Greater Where"},
      {"s32[9]", "s32[]", "Clip(%x, _, %z)", 13, 11, "Less Where"},
      {"s32[9]", "s32[]", "Clip(%x, %z, %z)", 13, 11, "Greater Where Less Where"},
      {"s32[9]", "s32[]", "Clip(%x)", 13, 11, "Identity"},
      {"f32[9]", "f32[]", "Clip(%x, _, %z)", 13, 11, "Clip"},
      {"s32[9]", "s32[9]", "Max(%x, %z, %x)", 12, 11, "Greater Where Greater Where"},
      {"s32[9]", "s32[9]", "Min(%x)", 12, 11, "Identity"},
      {"f32[9]", "f32[9]", "Max(%x, %z)", 12, 11, "Max"},
      {"s32[9]", "s32[]", "Relu(%x)", 14, 13, "Max"},
      {"s8[9]", "s32[]", "Relu(%x)", 14, 11, "Greater Where"},
      {"f32[9]", "s32[]", "Relu(%x)", 14, 11, "Relu"},
      {"u8[9]", "u8[9]", "Mul(%x, %z)", 14, 13, "Cast Cast Mul Cast"},
      {"s8[9]", "s8[9]", "Sub(%x, %z)", 14, 13, "Cast Cast Sub Cast"},
      {"s32[9]", "s32[9]", "Sub(%x, %z)", 14, 13, "Sub"},
      {"f16[9]", "f16[9]", "Add(%x, %x)", 14, 13, "Add"},
      {"f16[9]", "s32[]", "IsInf(%x)", 20, 19, "Cast IsInf"},
      {"f32[9]", "s32[]", "IsInf(%x)", 20, 19, "IsInf"},
      {"s8[1,1,5,5]", "s32[]", "MaxPool(%x) {kernel_shape = [2, 2]}", 12, 11, "Cast MaxPool Cast"},
      {"f32[1,1,5,5]", "s32[]", "MaxPool(%x) {kernel_shape = [2, 2]}", 12, 11, "MaxPool"},
  };
  for (const ElementRow& c : cases) expect_converts(c);
}

// A Cast to integers would change numbers.
TEST(ConvertElementwise, ShortFloatsAreNotTakenForIntegers) {
  const auto graph = declared(
      "input %x : bf16[2,3]\nconst %a : s64[] = 1\n%y : bf16[2,3] = CumSum(%x, %a)\noutput %y", 14);
  const std::string message = refusal_of(*graph, 13);
  EXPECT_NE(message.find("is bf16, which CumSum does not take in opset 13"), std::string::npos)
      << message;
}

TEST(ConvertElementwise, RangesLoseTheTypeOfTheirSums) {
  convert_node("const %a : f32[] = 0.5\nconst %b : f32[] = 3.25\nconst %d : f32[] = 0.75",
               "Range(%a, %b, %d) {stash_type = 1}", 27, 26, "Range");
}

// The axis is no data.
TEST(ConvertElementwise, SumsOfHalvesAreWidened) {
  const std::string axis = "const %a : s64[] = 1\ninput %x : ";
  convert_node(axis + "f16[1,1]", "CumSum(%x, %a)", 14, 13, "Cast CumSum Cast");
  convert_node(axis + "f32[2,3]", "CumSum(%x, %a)", 14, 13, "CumSum");
}

// The second result has another type, which is not changed.
TEST(ConvertElementwise, OnlyResultsOfTheTypeOfTheDataAreConvertedBack) {
  const auto graph = convert_from(
      "input %x : u8[1,1,5,5]\n%y : ?, %i : ? = MaxPool(%x) {kernel_shape = [3, 3]}\n"
      "output %y\noutput %i",
      12, 11, "Cast MaxPool Cast");
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::u8);
  EXPECT_EQ(graph->outputs()[1]->dtype(), DType::s64);
}

TEST(ConvertElementwise, PowersOfTwoTypesAreOfOne) {
  const ElementRow cases[] = {
      {"f32[9]", "f32[9]", "Pow(%x, %x)", 12, 11, "Pow"},
      {"f32[9]", "s32[9]", "Pow(%x, %z)", 12, 11, "Cast Pow"},
      {"s32[9]", "s32[9]", "Pow(%x, %z)", 12, 11, "Cast Cast Pow Cast"},
      {"s64[9]", "s32[9]", "Pow(%x, %z)", 13, 11, "Cast Cast Pow Cast"},
  };
  for (const ElementRow& c : cases) expect_converts(c);
}

TEST(ConvertElementwise, CastsLoseWhatOnlySmallFloatsNeed) {
  const ElementRow cases[] = {
      {"f32[9]", "s32[9]", "Cast(%x) {saturate = 0, to = 6}", 19, 18, "Cast"},
      {"f32[9]", "s32[9]", "Cast(%x) {round_mode = \"down\", to = 6}", 24, 23, "Cast"},
      {"f32[9]", "s32[9]", "CastLike(%x, %z)", 15, 14, "Cast"},
      {"f32[9]", "bool[9]", "CastLike(%x, %z)", 19, 11, "Cast"},
      {"f32[9]", "bool[9]", "CastLike(%x, %z) {saturate = 0}", 19, 18, "CastLike"},
  };
  for (const ElementRow& c : cases) expect_converts(c);
}

TEST(ConvertElementwise, RandomBitsComeFromNumbersWithTheSameSeed) {
  const auto graph =
      parsed("input %x : f32[5]\n%y : ? = Bernoulli(%x) {dtype = 6, seed = 3.5}\noutput %y", 15);
  convert(*graph, 14);
  EXPECT_EQ(ops_of(*graph), "RandomUniformLike Less Cast");
  EXPECT_EQ(graph->nodes()[0]->float_attr("seed", 0), 3.5f);
  EXPECT_EQ(graph->nodes()[1]->input(1)->name(), "x") << "a number below x";
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::s32);
}

}  // namespace
}  // namespace poprt::opsets

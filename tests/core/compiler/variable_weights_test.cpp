#include "compiler/variable_weights.h"

#include <algorithm>

#include "base/error.h"
#include "ops/op.h"
#include "support.h"

namespace poprt::compiler {
namespace {

constexpr const char* kModel = R"(graph "g" opset {"": 17} {
    input %x : f32[1,3,6,6]
    const %w : f32[4,3,3,3] = fill 0.125
    const %b : f32[4] = [0.1, -0.2, 0.3, 0.4]
    const %scale : f32[4] = [1.0, 2.0, 3.0, 4.0]
    const %shift : f32[4] = [0.5, 0.5, -0.5, 0.0]
    const %mean : f32[4] = [0.1, 0.2, 0.3, 0.4]
    const %var : f32[4] = [1.0, 1.5, 2.0, 2.5]
    const %shape : s64[2] = [1, 64]
    const %m : f32[64,5] = fill 0.0625
    const %half : f32[] = 0.5
    %c : ? = Conv(%x, %w, %b)
    %n : ? = BatchNormalization(%c, %scale, %shift, %mean, %var)
    %r : ? = Reshape(%n, %shape)
    %d : ? = MatMul(%r, %m)
    %y : ? = Mul(%d, %half)
    output %y
  })";

struct Compiled {
  std::vector<VariableWeight> weights;
  Executable executable;
};

Compiled compile_variable(const Options& options = {}) {
  const auto graph = ir::parse_text(kModel);
  auto weights = make_weights_variable(*graph);
  convert(*graph, options);
  Executable executable = compile(*graph, options);
  attach_values(executable, weights);
  return {std::move(weights), std::move(executable)};
}

TEST(VariableWeights, AreTheNamedTensorsThatOperatorsTakeAsWeights) {
  const Compiled c = compile_variable();
  std::vector<std::string> names;
  for (const auto& w : c.weights) names.push_back(w.name);
  EXPECT_EQ(names, (std::vector<std::string>{"w", "b", "scale", "shift", "mean", "var", "m"}));
  for (const program::Anchor& a : c.executable.program.inputs)
    EXPECT_EQ(a.data == program::kNoData, a.name == "x") << a.name;
  EXPECT_NO_THROW(program::verify(c.executable.program));
}

TEST(VariableWeights, ResultsFollowTheValues) {
  const auto reference = ir::parse_text(kModel);
  ops::infer(*reference);
  auto feeds = test::random_feeds(*reference);
  const auto wanted = test::evaluate_graph(*reference, feeds);
  const Compiled c = compile_variable();
  // The file's values are those of the constants.
  for (const program::Anchor& a : c.executable.program.inputs) {
    if (a.data == program::kNoData) continue;
    for (const program::Weight& w : c.executable.weights)
      if (w.offset == a.data) {
        Tensor t = Tensor::zeros(a.dtype, a.shape);
        ASSERT_EQ(w.bytes, t.bytes());
        w.fill({static_cast<std::byte*>(t.mutable_data()), t.bytes()});
        feeds[a.name] = t;
      }
  }
  ASSERT_EQ(feeds.size(), 8u);
  test::expect_close(wanted.at("y"), test::run_executable(c.executable, feeds).at("y"), 1e-5, "y");
  // Twice the last matrix gives twice the result.
  for (float& v : feeds.at("m").mutable_values<float>()) v *= 2;
  Tensor twice = wanted.at("y");
  for (float& v : twice.mutable_values<float>()) v *= 2;
  test::expect_close(twice, test::run_executable(c.executable, feeds).at("y"), 1e-5, "y");
}

TEST(VariableWeights, CannotChangeTheirType) {
  Options options;
  options.precision = Precision::fp16;
  EXPECT_THROW(compile_variable(options), Error);
}

TEST(VariableWeights, AChangeOfTypeIsNamed) {
  const auto graph = ir::parse_text(kModel);
  const auto weights = make_weights_variable(*graph);
  convert(*graph, {});
  Executable executable = compile(*graph, {});
  std::vector<VariableWeight> other = weights;
  other[0].value = Tensor::zeros(DType::f16, {4, 3, 3, 3});
  const auto message_for = [&]() -> std::string {
    try {
      attach_values(executable, other);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  EXPECT_EQ(message_for(),
            "weights 'w' were f16 [4,3,3,3] and became f32 [4,3,3,3]: weights that stay variable "
            "cannot change their type (precision)");
  other[0].value = Tensor::zeros(DType::f32, {4, 3, 9});
  EXPECT_NE(message_for().find("were f32 [4,3,9] and became f32 [4,3,3,3]"), std::string::npos);
}

// One after the other, each at a multiple of 64, after the weights of the program.
TEST(VariableWeights, ValuesDoNotOverlap) {
  const Compiled c = compile_variable();
  uint64_t end = 0;
  for (const VariableWeight& w : c.weights) {
    const auto a = std::ranges::find(c.executable.program.inputs, w.name, &program::Anchor::name);
    ASSERT_NE(a, c.executable.program.inputs.end());
    EXPECT_EQ(a->data % 64, 0u) << w.name;
    EXPECT_GE(a->data, end) << w.name;
    end = a->data + w.value.bytes();
  }
  EXPECT_EQ(c.executable.program.weights_bytes, (end + 63) / 64 * 64);
}

TEST(VariableWeights, AreFloatsThatOnlyWeightsUse) {
  const auto variable = [](const std::string& body) {
    const auto graph = ir::parse_text(
        "graph \"g\" opset {\"\": 17, \"ai.graphcore\": 1} {\ninput %x : f32[2,3]\ninput %c : "
        "bool[]\n" +
        body + "output %y\n}");
    std::string names;
    for (const VariableWeight& w : make_weights_variable(*graph)) {
      names += w.name + " ";
      const ir::Value* input = graph->find(w.name);
      EXPECT_TRUE(graph->is_input(input)) << w.name;
      EXPECT_EQ(input->shape(), w.value.shape());
      EXPECT_EQ(input->dtype(), w.value.dtype());
    }
    return names;
  };
  EXPECT_EQ(variable("const %w : f32[3,4] = fill 0.5\n%y : ? = MatMul(%x, %w)\n"), "w ");
  EXPECT_EQ(variable("const %w : f32[3,3] = fill 0.5\n%a : ? = MatMul(%x, %w)\n"
                     "%y : ? = MatMul(%a, %w)\n"),
            "w ")
      << "of two";
  EXPECT_EQ(variable("const %w : f32[3,3] = fill 0.5\n%a : ? = MatMul(%x, %w)\n"
                     "%b : ? = Neg(%w)\n%y : ? = MatMul(%a, %b)\n"),
            "")
      << "Neg's has no weights";
  EXPECT_EQ(variable("const %w : f32[3,0] = []\n%y : ? = MatMul(%x, %w)\n"), "") << "empty";
  EXPECT_EQ(variable("const %w : f32[3,4] = fill 0.5\n%y : ? = Neg(%x)\n"), "") << "unread";
  EXPECT_EQ(variable("const %w : f32[3,3] = fill 0.5\n%y : ? = If(%c) {then_branch = graph \"t\" { "
                     "%m : ? = MatMul(%x, %w) output %m }, else_branch = graph \"e\" { %n : ? = "
                     "Neg(%x) output %n }}\n"),
            "")
      << "in a branch";
  EXPECT_EQ(variable("const %w : s64[3,4] = fill 2\n%i : ? = Cast(%x) {to = 7}\n"
                     "%y : ? = MatMul(%i, %w)\n"),
            "")
      << "whole numbers";
  EXPECT_EQ(variable("const %w : u8[3,4] = fill 2\nconst %s : s32[] = 0\n"
                     "%i : ? = ai.graphcore.CastToFP8(%x, %s)\n"
                     "%y : ? = ai.graphcore.FP8MatMul(%i, %w, %s, %s)\n"),
            "w ")
      << "bytes that are 8-bit floats";
  EXPECT_EQ(variable("const %w : f32[3,4] = fill 0.5\n%z : ? = MatMul(%x, %w)\n%y : ? = Neg(%z)\n"
                     "output %w\n"),
            "")
      << "a result";
}

TEST(VariableWeights, ValuesOfSubgraphsAndOutputsStayConstants) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    const %w : f32[2] = [1.0, 2.0]
    const %v : f32[2] = [3.0, 4.0]
    %y : ? = Add(%x, %w)
    %z : ? = Max(%y, %v)
    output %w
    output %z
  })");
  EXPECT_TRUE(make_weights_variable(*graph).empty());
}

}  // namespace
}  // namespace poprt::compiler

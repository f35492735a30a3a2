#include "compiler/variable_weights.h"

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

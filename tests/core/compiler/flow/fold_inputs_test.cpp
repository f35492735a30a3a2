#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(FoldInputs, LevelsGoFromNothingToEverything) {
  const std::string text = graph_text(R"(
    input %x : f32[6]
    input %shape : s64[2]
    input %scale : f32[]
    %r : ? = Reshape(%x, %shape)
    %y : ? = Mul(%r, %scale)
    output %y
  )");
  const Values all = {{"x", floats({6})},
                      {"shape", Tensor::of<int64_t>({2}, {2, 3})},
                      {"scale", Tensor::scalar(2.0f)}};
  using Names = std::vector<std::string>;
  const auto folded = [&](int level) {
    const auto graph = ir::parse_text(text);
    return fold_inputs(*graph, all, level);
  };
  EXPECT_EQ(folded(0), Names{});
  EXPECT_EQ(folded(1), Names{"shape"});
  EXPECT_EQ(folded(2), (Names{"shape", "scale"}));
  EXPECT_EQ(folded(3), (Names{"x", "shape", "scale"}));
}

}  // namespace
}  // namespace poprt::compiler

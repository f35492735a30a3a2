#include "core/passes/pass_case.h"
#include "passes/common/rewrite.h"

namespace poprt::test {
namespace {

TEST(ReplaceNonzero, FindsTheOnlyOneThatTheModelDeclares) {
  for (const char* type : {"f32", "s32", "bool"}) {
    auto graph = ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
      input %x : {}[5]
      %y : s64[1,1] = NonZero(%x)
      output %y
    }})",
                                            type));
    run(*graph, {"replace_nonzero"});
    EXPECT_EQ(ops_of(*graph).find("NonZero"), std::string::npos) << ops_of(*graph);
    for (int64_t at = 0; at < 5; at++) {
      std::vector<double> values(5);
      values[static_cast<size_t>(at)] = -1;
      if (std::string_view(type) == "bool") values[static_cast<size_t>(at)] = 1;
      const Tensor x = passes::tensor_of(graph->find("x")->dtype(), {5}, values);
      const Tensor y = evaluate_graph(*graph, {{"x", x}}).at("y");
      expect_close(y, Tensor::of<int64_t>({1, 1}, {at}), 0);
    }
  }
}

// A matrix has two rows of indices, more than one element may be nonzero, and an unknown shape is
// left alone.
TEST(ReplaceNonzero, LeavesOtherThanOneElementOfAVector) {
  for (const char* graph :
       {"input %x : f32[5]\n%y : s64[1,2]", "input %x : f32[5]\n%y : s64[1,?]",
        "input %x : f32[?]\n%y : s64[1,1]", "input %x : f32[5,1]\n%y : s64[2,1]",
        "input %x : f32[1,1,1]\n%y : s64[3,1]"}) {
    const auto parsed = ir::parse_text(
        fmt::format("graph \"g\" opset {{\"\": 17}} {{\n{} = NonZero(%x)\noutput %y}}", graph));
    run(*parsed, {"replace_nonzero"});
    EXPECT_EQ(ops_of(*parsed), "NonZero") << graph;
  }
}

}  // namespace
}  // namespace poprt::test

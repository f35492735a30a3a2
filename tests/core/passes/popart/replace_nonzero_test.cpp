#include "core/passes/pass_case.h"
#include "passes/rewrite.h"

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

}  // namespace
}  // namespace poprt::test

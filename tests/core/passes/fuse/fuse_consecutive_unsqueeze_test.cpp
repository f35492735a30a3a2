#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FuseConsecutiveUnsqueeze, AxesAreCountedInTheLastOutput) {
  const auto graph = expect_ops({"fuse_consecutive_unsqueeze"}, R"(
    input %x : f32[2,3]
    const %first : s64[1] = [1]
    const %second : s64[1] = [0]
    %a = Unsqueeze(%x, %first)
    %y = Unsqueeze(%a, %second)
    output %y
  )",
                                "Unsqueeze");
  EXPECT_EQ(graph->nodes()[0]->input(1)->constant().to_int64s(), (std::vector<int64_t>{0, 2}));
}

}  // namespace
}  // namespace poprt::test

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FuseConsecutiveSqueeze, AxesAreCountedInTheFirstInput) {
  const auto graph = expect_ops({"fuse_consecutive_squeeze"}, R"(
    input %x : f32[1,2,1,3,1]
    const %first : s64[1] = [2]
    const %second : s64[2] = [0, -1]
    %a = Squeeze(%x, %first)
    %y = Squeeze(%a, %second)
    output %y
  )",
                                "Squeeze");
  EXPECT_EQ(graph->nodes()[0]->input(1)->constant().to_int64s(), (std::vector<int64_t>{0, 2, 4}));
}

}  // namespace
}  // namespace poprt::test

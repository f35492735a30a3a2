#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FuseConsecutiveReshape, OneViewIsEnough) {
  const auto graph = expect_ops({"fuse_consecutive_reshape", "eliminate_unused_initializer"}, R"(
    input %x : f32[2,3,4]
    const %s : s64[2] = [4, -1]
    const %axis : s64[1] = [0]
    %a = Flatten(%x)
    %b = Reshape(%a, %s)
    %y = Unsqueeze(%b, %axis)
    output %y
  )",
                                "Reshape");
  EXPECT_EQ(graph->nodes()[0]->input(1)->constant().to_int64s(), (std::vector<int64_t>{1, 4, 6}));
}

}  // namespace
}  // namespace poprt::test

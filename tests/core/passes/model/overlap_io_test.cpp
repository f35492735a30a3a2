#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(OverlapIo, TheModelNamesInputsAndOutputsInTheirOrder) {
  const auto graph = parsed(R"(
    input %x : f32[2]
    input %w : f32[2]
    %y = Add(%x, %w)
    %z = Neg(%y)
    output %z
    output %y
  )");
  const auto rewrites = [&] { return run(*graph, {"overlap_io"}).at(0).rewrites; };
  EXPECT_EQ(rewrites(), 1);
  EXPECT_EQ(graph->metadata.at("prop.overlap_io"), "x,w,z,y");
  EXPECT_EQ(rewrites(), 0) << "the attribute is already set";
  graph->remove_output(1);
  EXPECT_EQ(rewrites(), 1) << "the attribute has another value";
  EXPECT_EQ(graph->metadata.at("prop.overlap_io"), "x,w,z");
}

}  // namespace
}  // namespace poprt::test

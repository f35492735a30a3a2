#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(DataSizes, NonZeroHasABoundAndASize) {
  const Executable e = compile_body(R"(
    input %x : f32[2,3]
    %at : ? = NonZero(%x)
    %rows : ? = Transpose(%at) {perm = [1, 0]}
    output %rows
  )");
  const Values got = run(e, {{"x", Tensor::of<float>({2, 3}, {0, 1, 0, 2, 0, 3})}});
  EXPECT_EQ(got.at("rows").shape(), (Shape{6, 2}));
  EXPECT_EQ(got.at("rows:shape").to_int64s(), (std::vector<int64_t>{3, 2}));
  const auto rows = got.at("rows").to_int64s();
  EXPECT_EQ((std::vector<int64_t>(rows.begin(), rows.begin() + 6)),
            (std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
}

TEST(DataSizes, CompressKeepsWhatARunTimeConditionSays) {
  const Executable e = compile_body(R"(
    input %x : f32[2,4]
    input %c : bool[4]
    %y : ? = Compress(%x, %c) {axis = 1}
    output %y
  )");
  const Tensor c = Tensor::of<bool>({4}, {true, false, false, true});
  const Values got = run(e, {{"x", Tensor::of<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}, {"c", c}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{2, 2}));
  const auto y = got.at("y").values<float>();
  EXPECT_EQ((std::vector<float>{y[0], y[1], y[4], y[5]}), (std::vector<float>{0, 3, 4, 7}));
}

TEST(DataSizes, UniqueKeepsItsSizesApart) {
  const Executable e = compile_body(R"(
    input %x : s64[5]
    %y : ?, %first : ?, %inverse : ?, %counts : ? = Unique(%x)
    output %y
    output %inverse
    output %counts
  )");
  const Values got = run(e, {{"x", Tensor::of<int64_t>({5}, {7, 3, 7, 7, 1})}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_EQ(got.at("counts:shape").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_FALSE(got.contains("inverse:shape"));
  EXPECT_EQ(got.at("y").to_int64s(), (std::vector<int64_t>{1, 3, 7, 0, 0}));
  EXPECT_EQ(got.at("counts").to_int64s(), (std::vector<int64_t>{1, 1, 3, 0, 0}));
}

TEST(DataSizes, AConvertedModelKeepsSizesThatDependOnData) {
  const auto graph = ir::parse_text(graph_text(R"(
    input %x : f32[2,3]
    %at : ? = NonZero(%x)
    output %at
  )"));
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_TRUE(graph->nodes()[0]->is("NonZero"));
  EXPECT_EQ(graph->outputs().size(), 1u);
}

}  // namespace
}  // namespace poprt::compiler

#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

constexpr const char* kSequences = R"(
    input %a : f32[2]
    input %b : f32[2]
    const %zero : s64[] = 0
    %s : ? = SequenceConstruct(%a, %b)
    %t : ? = SequenceInsert(%s, %b, %zero)
    %n : ? = SequenceLength(%t)
    %y : ? = ConcatFromSequence(%t) {axis = 0, new_axis = 1}
    %o : ? = Optional(%t)
    %has : ? = OptionalHasElement(%o)
    output %y
    output %n
    output %t
    output %has
)";

TEST(Sequences, SequencesBecomeTheirTensors) {
  const Executable e = compile_body(kSequences);
  const Tensor a = floats({2}, 1), b = floats({2}, 2);
  const Values got = run(e, {{"a", a}, {"b", b}});
  EXPECT_EQ(got.at("n").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_EQ(got.at("has").to_int64s(), (std::vector<int64_t>{1}));
  EXPECT_EQ(got.at("y").shape(), (Shape{3, 2}));
  EXPECT_TRUE(got.at("t[0]").same_as(b));
  EXPECT_TRUE(got.at("t[1]").same_as(a));
  EXPECT_TRUE(got.at("t[2]").same_as(b));
}

TEST(Sequences, APositionAtRunTimePicksFromEqualTensors) {
  const Executable e = compile_body(R"(
    input %a : f32[2]
    input %b : f32[2]
    input %i : s64[]
    %s : ? = SequenceConstruct(%a, %b)
    %y : ? = SequenceAt(%s, %i)
    output %y
  )");
  const Tensor a = floats({2}, 1), b = floats({2}, 2);
  for (const int64_t i : {0, 1, -1})
    EXPECT_TRUE(run(e, {{"a", a}, {"b", b}, {"i", Tensor::scalar(i)}}).at("y").same_as(i ? b : a));
}

TEST(Sequences, ASequenceInputHasItsLengthFromTheOptions) {
  const std::string body = R"(
    %in : ? = poprt.ContainerInput() {kind = "sequence", dtype = 1, shape = [2], position = 0} "in"
    %y : ? = ConcatFromSequence(%in) {axis = 0}
    output %y
  )";
  EXPECT_EQ(code_of(body), ErrorCode::invalid_argument);
  Options options;
  options.input_length["in"] = 3;
  const Executable e = compile_body(body, options);
  ASSERT_EQ(e.program.inputs.size(), 3u);
  EXPECT_EQ(e.program.inputs[2].name, "in[2]");
  EXPECT_EQ(e.program.outputs[0].shape, (Shape{6}));
}

}  // namespace
}  // namespace poprt::compiler

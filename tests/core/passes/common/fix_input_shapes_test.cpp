#include "passes/common/fix_input_shapes.h"

#include "base/log.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::vector<std::string> warnings;

// The types of the inputs afterwards, after "=" if nothing changed, or the message.
std::string fixed(const std::string& inputs, const passes::InputShapes& wanted) {
  const auto graph = ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + inputs + "\n}");
  warnings.clear();
  set_log_receiver([](int32_t, const char* message) { warnings.emplace_back(message); });
  std::string text;
  try {
    if (!passes::fix_input_shapes(*graph, wanted)) text = "= ";
    for (const ir::Value* v : graph->inputs()) text += ir::type_string(v->type) + " ";
  } catch (const Error& e) {
    text = e.message();
  }
  set_log_receiver(nullptr);
  return text;
}

TEST(InputShapes, VariableDimensionsGetTheirSizes) {
  EXPECT_EQ(fixed("input %x : f32[?,3]", {{{"x", {2, 3}}}}), "f32[2,3] ");
  EXPECT_EQ(fixed("input %x : f32[?,3]", {{{"x", {0, 3}}}}), "f32[0,3] ");
  EXPECT_EQ(fixed("input %x : f32[2,3]", {{{"x", {2, 3}}}}), "= f32[2,3] ");
  EXPECT_EQ(fixed("input %x : f32[*]", {{{"x", {4, 5}}}}), "f32[4,5] ");
  EXPECT_EQ(fixed("input %x : f32[?]", {}), "= f32[?] ");
  EXPECT_EQ(fixed("input %x : f32[?,?]\ninput %y : s64[?]", {.batch_size = 4, .batch_axis = 0}),
            "f32[4,?] s64[4] ");
  EXPECT_EQ(fixed("input %x : f32[?,?]\ninput %y : s64[3,?]", {.batch_size = 1, .batch_axis = 1}),
            "f32[?,1] s64[3,1] ");
  EXPECT_EQ(fixed("input %x : f32[?,7]", {{{"x", {2, 7}}}, 2, 0}), "f32[2,7] ");
}

// A name of a dimension means one size in all inputs.
TEST(InputShapes, DimensionsOfOneNameAreAlike) {
  EXPECT_EQ(fixed("input %x : f32[N,M]\ninput %y : f32[2,N]", {{{"x", {5, 3}}}}),
            "f32[5,3] f32[2,5] ");
  EXPECT_EQ(fixed("input %x : f32[N]\ninput %y : f32[N]", {{{"x", {5}}, {"y", {5}}}}),
            "f32[5] f32[5] ");
  EXPECT_EQ(fixed("input %x : f32[N]\ninput %y : f32[N]", {{{"x", {5}}, {"y", {6}}}}),
            "input_shape: dimension 'N' of input 'y' becomes 6 here and 5 elsewhere");
  EXPECT_EQ(fixed("input %x : f32[N,M]\ninput %y : f32[M]", {.batch_size = 4, .batch_axis = 0}),
            "f32[4,4] f32[4] ");
  EXPECT_EQ(fixed("input %x : f32[N,M]\ninput %y : f32[M]", {{{"y", {3}}}}), "f32[N,3] f32[3] ");
}

// Recurrent states have layers first.
TEST(InputShapes, TheBatchIsWhereItsNameIs) {
  const passes::InputShapes batch{.batch_size = 8, .batch_axis = 0};
  EXPECT_EQ(fixed("input %x : f32[N,T,3]\ninput %h : f32[2,N,5]", batch), "f32[8,T,3] f32[2,8,5] ");
  EXPECT_EQ(fixed("input %h : f32[2,N,5]\ninput %x : f32[N,T,3]", batch), "f32[2,8,5] f32[8,T,3] ");
  EXPECT_EQ(fixed("input %x : f32[N,T]\ninput %h : f32[L,N]", batch), "f32[8,T] f32[L,8] ");
  EXPECT_EQ(fixed("input %x : f32[N,N]", batch), "f32[8,8] ");
  EXPECT_EQ(fixed("input %x : f32[T,N]\ninput %m : f32[N,T]", {.batch_size = 8, .batch_axis = 1}),
            "f32[T,8] f32[8,T] ");
  EXPECT_EQ(fixed("input %x : f32[N,T]\ninput %t : f32[2,3]", batch),
            "batch_size: input 't' is f32[2,3], axis 0 is fixed and cannot become 8");
  // Also if its size is given twice.
  EXPECT_EQ(fixed("input %x : f32[N,T]\ninput %h : f32[2,N]",
                  {.shapes = {{"x", {8, 3}}}, .batch_size = 8, .batch_axis = 0}),
            "f32[8,3] f32[2,8] ");
  EXPECT_EQ(fixed("input %x : f32[N,T]\ninput %h : f32[2,N]",
                  {.shapes = {{"x", {8, 3}}, {"h", {2, 8}}}, .batch_size = 8, .batch_axis = 0}),
            "f32[8,3] f32[2,8] ");
  EXPECT_EQ(fixed("input %x : f32[N,T]\ninput %h : f32[2,N]",
                  {.shapes = {{"h", {2, 7}}}, .batch_size = 8, .batch_axis = 0}),
            "batch_size: dimension 'N' of input 'x' becomes 8 here and 7 elsewhere");
  EXPECT_EQ(fixed("input %x : f32[?,3]\ninput %h : f32[2,?]", batch),
            "batch_size: input 'h' is f32[2,?], axis 0 is fixed and cannot become 8");
}

TEST(InputShapes, AScalarHasNoBatch) {
  const passes::InputShapes batch = {.batch_size = 8, .batch_axis = 0};
  EXPECT_EQ(fixed("input %x : f32[N,T]\ninput %limit : f32[]", batch), "f32[8,T] f32[] ");
  EXPECT_EQ(fixed("input %limit : f32[]", batch),
            "batch_axis: input 'limit' is f32[], it has no axis 0");
}

TEST(InputShapes, RefusesMismatchedShapes) {
  EXPECT_EQ(fixed("input %x : f32[2,3]", {{{"x", {2, 4}}}}),
            "input_shape: input 'x' is f32[2,3], axis 1 is fixed and cannot become 4");
  EXPECT_EQ(fixed("input %x : f32[?,3]", {{{"x", {-1, 3}}}}),
            "input_shape: input 'x' axis 0: -1 is not a valid size");
  EXPECT_EQ(fixed("input %x : f32[?,3]", {{{"x", {2}}}}),
            "input_shape: input 'x' is f32[?,3], but [2] has another rank");
  EXPECT_EQ(fixed("input %x : f32[2,3]", {.batch_size = 4, .batch_axis = 0}),
            "batch_size: input 'x' is f32[2,3], axis 0 is fixed and cannot become 4");
  EXPECT_EQ(fixed("input %x : f32[2]", {.batch_size = 4, .batch_axis = 1}),
            "batch_axis: input 'x' is f32[2], it has no axis 1");
  EXPECT_EQ(fixed("input %x : f32[*]", {.batch_size = 4, .batch_axis = 0}),
            "batch_axis: input 'x' is f32[*], it has no axis 0");
  const std::string both = "batch_size and batch_axis are given together or not at all";
  EXPECT_EQ(fixed("input %x : f32[?]", {.batch_size = 4}), both);
  EXPECT_EQ(fixed("input %x : f32[?]", {.batch_axis = 0}), both);
}

TEST(InputShapes, ANameThatNoInputHasIsAWarning) {
  EXPECT_EQ(fixed("input %x : f32[?]\ninput %y : f32[?]\nconst %c : f32[] = 1.0",
                  {{{"c", {1}}, {"y", {2}}, {"z", {2}}}}),
            "f32[?] f32[2] ");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(
      warnings[0].find("a shape is given, but the model has no input 'c'; its inputs are: x, y"),
      std::string::npos)
      << warnings[0];
  EXPECT_NE(warnings[1].find("no input 'z'"), std::string::npos) << warnings[1];
}

}  // namespace
}  // namespace poprt::test

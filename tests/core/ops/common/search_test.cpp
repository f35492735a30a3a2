#include "ops/common/search.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace poprt::ops {
namespace {

std::string types_of(const std::string& inputs, const std::string& node) {
  const auto graph = ir::parse_text(
      "graph \"g\" opset {\"\": 17, \"com.microsoft\": 1} {\n input %ids : s32[2,5]\n" + inputs +
      "\n" + node + "\n output %y }\n");
  infer(*graph);
  std::string types;
  for (const ir::Value* v : graph->nodes().back()->outputs())
    types += ir::type_string(v->type) + " ";
  return types;
}

const std::string kSearchTypes =
    "const %max : s32[1] = [9]\n const %k : s32[1] = [4]\n const %n : s32[1] = [3]\n";

TEST(Search, ResultsHaveRoomForTheLongestText) {
  EXPECT_EQ(types_of(kSearchTypes, "%y : ? = com.microsoft.GreedySearch(%ids, %max)"), "s32[2,9] ");
  EXPECT_EQ(types_of(kSearchTypes, "%y : ? = com.microsoft.Sampling(%ids, %max)"), "s32[2,9] ");
  EXPECT_EQ(types_of(kSearchTypes,
                     "%y : ?, %s : ?, %a : ? = com.microsoft.BeamSearch(%ids, %max, _, %k, %n)"),
            "s32[2,3,9] f32[2,3] f32[?,2,4,?] ");
}

TEST(Search, SizesThatAreNotKnownStayOpen) {
  EXPECT_EQ(types_of("input %max : s32[1]", "%y : ? = com.microsoft.GreedySearch(%ids, %max)"),
            "s32[2,?] ");
}

}  // namespace
}  // namespace poprt::ops

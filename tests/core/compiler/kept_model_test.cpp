#include "compiler/kept_model.h"

#include <gtest/gtest.h>

#include <span>

#include "ir/text.h"
#include "onnx/import.h"
#include "ops/op.h"
#include "opsets/convert.h"

namespace poprt::compiler {
namespace {

TEST(KeptModel, IsTheGraphAsOnnxAndDoesNotChangeTheGraph) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 13} {
  input %x : f16[2,3]
  %y : f16[2,3] = Relu(%x) "only"
  output %y
}
)");
  ops::infer(*graph);
  const std::string before = ir::to_text(*graph);
  const std::string bytes = kept_model(*graph);
  EXPECT_EQ(ir::to_text(*graph), before);
  const auto read = onnx::import_bytes(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(opsets::opset_of(*read), 13);
  ASSERT_EQ(read->node_count(), 1u);
  EXPECT_EQ(read->nodes()[0]->op_type, "Relu");
  EXPECT_EQ(ir::type_string(read->inputs()[0]->type), "f16[2,3]");
}

}  // namespace
}  // namespace poprt::compiler

// The checks of every node before and after the inference and lowering of its operator.
#include "ops/op.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/newest.h"
#include "ops/common/evaluate.h"
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

struct OneNode {
  OneNode(const std::string& op, const std::string& domain, int64_t opset,
          std::vector<ir::ValueType> types, size_t outputs = 1) {
    graph.opsets[domain] = opset;
    graph.opsets.emplace("", 17);
    std::vector<ir::Value*> inputs;
    for (ir::ValueType& t : types) inputs.push_back(graph.add_input("x", std::move(t)));
    node = graph.add_node(op, domain, inputs, outputs);
  }
  std::string refusal(ErrorCode code = ErrorCode::unimplemented) {
    try {
      infer(*node);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.message();
      return e.message();
    }
    return "";
  }
  ir::Graph graph;
  ir::Node* node = nullptr;
};

ir::ValueType f32(Shape shape) { return ir::ValueType::of(DType::f32, std::move(shape)); }

void expect_contains(const std::string& error_text, const std::string& words) {
  EXPECT_NE(error_text.find(words), std::string::npos)
      << "'" << error_text << "' should say " << words;
}

TEST(Operator, IsFoundByItsDomainNameAndOpset) {
  EXPECT_NE(find_op("", "Relu", 1), nullptr);
  EXPECT_EQ(find_op("ai.onnx", "Relu", 1), find_op("", "Relu", 1));
  EXPECT_EQ(find_op(ir::kNewestDomain, "Relu", 1), find_op("", "Relu", 1));
  EXPECT_EQ(find_op("com.microsoft", "Relu", 1), nullptr);
  EXPECT_EQ(find_op("", "Rel", 1), nullptr);
  // The operator exists from its first to its last opset.
  EXPECT_EQ(find_op("", "Range", 10), nullptr);
  EXPECT_NE(find_op("", "Range", 11), nullptr);
  EXPECT_NE(find_op("", "Upsample", 9), nullptr);
  EXPECT_EQ(find_op("", "Upsample", 10), nullptr);
}

TEST(Operator, ErrorOfAMissingOperatorSuggestsARemedy) {
  const auto message_for = [](const std::string& op, const std::string& domain, int64_t opset) {
    return OneNode(op, domain, opset, {f32({2})}).refusal();
  };
  expect_contains(
      message_for("Range", "", 10),
      "the operator is supported from opset 11 on, the model imports opset 10; convert the "
      "model to a supported opset");
  expect_contains(message_for("Upsample", "", 10),
                  "the operator is supported from opset 1 to 9, the model imports opset 10");
  const std::string optimized =
      "the model was saved by ONNX Runtime with all optimizations (ORT_ENABLE_ALL), whose results "
      "suit one kind of processor only";
  expect_contains(message_for("Conv", "com.microsoft.nchwc", 1), "(opset 1): " + optimized);
  expect_contains(message_for("Conv", "com.ms.internal.nhwc", 1), optimized);
  expect_contains(message_for("NhwcOther", "com.microsoft", 1), optimized);
  expect_contains(message_for("NhwcOther", "com.microsoft", 1),
                  "to request NhwcOther, open an issue");
  const std::string own =
      "a custom operator is defined by a plug-in: `custom_library_so_paths`, or POPRT_PLUGINS";
  expect_contains(message_for("Other", "ai.graphcore", 1), own);
  expect_contains(message_for("Other", "com.example", 1),
                  "operator Other of domain 'com.example' is not supported; " + own);
  const std::string list =
      "is not supported; `poprt_exec ops` lists the supported ones; the model imports opset ";
  expect_contains(message_for("Other", "com.microsoft", 1),
                  "operator Other of domain 'com.microsoft' " + list + "1");
  expect_contains(message_for("Other", "", 15),
                  "operator Other of domain 'ai.onnx' " + list + "15");
}

TEST(Operator, ResultsHaveAtMost64DimensionsAnd256TiB) {
  const auto message_for = [](Shape shape, DType type = DType::f32,
                              ErrorCode code = ErrorCode::resource_exhausted) {
    return OneNode("Identity", "", 17, {ir::ValueType::of(type, std::move(shape))}).refusal(code);
  };
  EXPECT_EQ(message_for(Shape(64, 1)), "");
  expect_contains(message_for(Shape(65, 1), DType::f32, ErrorCode::invalid_argument),
                  "has 65 dimensions, at most 64 are supported");
  constexpr int64_t kMost = int64_t{1} << 46;  // of four bytes
  EXPECT_EQ(message_for({kMost}), "");
  expect_contains(message_for({kMost + 1}), "needs more than 281474976710656 bytes");
  EXPECT_EQ(message_for({2, kMost / 2}), "");
  expect_contains(message_for({3, kMost / 2}),
                  "f32[3,35184372088832] needs more than 281474976710656 bytes");
  // An unknown dimension counts as one, and so does an empty one.
  EXPECT_EQ(message_for({kUnknownDim, 0, kMost}), "");
  expect_contains(message_for({kUnknownDim, kMost + 1}), "needs more than");
  expect_contains(message_for({0, kMost + 1}), "needs more than");
  EXPECT_EQ(message_for({4 * kMost}, DType::u8), "");
  expect_contains(message_for({4 * kMost + 1}, DType::u8), "needs more than");
}

// The refusal of a model that contradicts itself states the supported types in parentheses only.
TEST(Operator, ErrorsOfWrongModelsDoNotOfferMoreSupport) {
  OneNode shapes("Add", "", 17, {f32({2, 3}), f32({2, 4})});
  const std::string wrong = shapes.refusal(ErrorCode::invalid_argument);
  expect_contains(wrong, "do not broadcast");
  expect_contains(wrong, "; Add (here opset 17, supported from opset 1 on for f32");
  expect_contains(wrong, "): if ONNX allows this, open an issue with this line");
  EXPECT_EQ(wrong.find("to request more"), std::string::npos) << wrong;
  OneNode mask("Attention", "", 23,
               {f32({1, 2, 4, 8}), f32({1, 2, 4, 8}), f32({1, 2, 4, 8}), f32({3, 5})});
  const std::string message = mask.refusal(ErrorCode::invalid_argument);
  expect_contains(message,
                  "mask [3,5] must broadcast to the scores [1,2,4,4]; its last dimension may be "
                  "shorter; Attention (here opset 23, supported");
  EXPECT_EQ(message.find("to request more"), std::string::npos) << message;
  OneNode type("Add", "", 17,
               {ir::ValueType::of(DType::string, {2}), ir::ValueType::of(DType::string, {2})});
  expect_contains(type.refusal(ErrorCode::invalid_argument),
                  "Add (here opset 17) is supported from opset 1 on for f32");
}

TEST(Operator, RefusesDeclaredTypesThatContradictInference) {
  const auto message_for = [](ir::ValueType declared) {
    OneNode n("Relu", "", 17, {f32({2, kUnknownDim})});
    n.node->output()->type = std::move(declared);
    return n.refusal(ErrorCode::invalid_argument);
  };
  EXPECT_EQ(message_for(f32({2, 3})), "");
  EXPECT_EQ(message_for(f32({kUnknownDim, 3})), "");
  expect_contains(message_for(f32({3, 3})), "is declared [3,3] but comes out as [2,");
  expect_contains(message_for(f32({2, 3, 1})), "is declared [2,3,1] but comes out as [2,?]");
  expect_contains(message_for(ir::ValueType::of(DType::f64, {2, 3})),
                  "is declared f64 but comes out as f32");
  OneNode n("Relu", "", 17, {f32({2, kUnknownDim})});
  n.node->output()->type = f32({kUnknownDim, 3});
  infer(*n.node);
  EXPECT_EQ(n.node->output()->shape(), (Shape{2, 3})) << "each type completes the other";
  n.node->output()->type = {DType::f32, true, {kUnknownDim, kUnknownDim}, {"N", "M"}};
  infer(*n.node);
  EXPECT_EQ(n.node->output()->shape(), (Shape{2, kUnknownDim}));
  EXPECT_EQ(n.node->output()->type.symbols, (std::vector<std::string>{"N", "M"}));
}

TEST(Operator, ThatExpandsIsNotLoweredDirectly) {
  OneNode n("BiasGelu", "com.microsoft", 1, {f32({2}), f32({2})});
  infer(*n.node);
  class Context final : public LowerContext {
   public:
    using LowerContext::LowerContext;
    BufferId in(size_t) override { return kNone; }
    BufferId out(size_t) override { return kNone; }
    BufferId temporary(DType, Shape) override { return kNone; }
    BufferId state(int64_t, DType, Shape) override { return kNone; }
    BufferId view(BufferId, uint64_t, DType, Shape) override { return kNone; }
  };
  program::Builder builder;
  Context context(*n.node, builder);
  try {
    lower(op_of(*n.node), context);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    expect_contains(e.message(), "pass expand_operators must run before lowering");
  }
  EXPECT_TRUE(expands(op_of(*n.node)));
  OneNode relu("Relu", "", 17, {f32({2})});
  EXPECT_FALSE(expands(op_of(*relu.node)));
  EXPECT_FALSE(expand_node(*relu.node));
}

// The work of a node with an expansion is the sum of the work of its parts.
TEST(Operator, WorkGrowsWithTheElements) {
  const auto work = [](const char* op, const char* domain, int64_t size) {
    OneNode n(op, domain, domain[0] ? 1 : 17, {f32({size, size}), f32({size, size})});
    infer(*n.node);
    n.graph.add_output(n.node->output());
    return work_of(*n.node);
  };
  EXPECT_GT(work("MatMul", "", 8), 0);
  EXPECT_GT(work("MatMul", "", 64), 4 * work("MatMul", "", 8));
  OneNode scaled("FusedMatMul", "com.microsoft", 1, {f32({64, 64}), f32({64, 64})});
  scaled.node->attributes["alpha"] = 0.5f;
  infer(*scaled.node);
  scaled.graph.add_output(scaled.node->output());
  EXPECT_GT(work_of(*scaled.node), work("MatMul", "", 64));
  EXPECT_EQ(work("FusedMatMul", "com.microsoft", 64), work("MatMul", "", 64));
}

}  // namespace
}  // namespace poprt::ops

#include "ops/common/op_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/ops/run_node.h"
#include "ir/newest.h"
#include "ir/schemas.h"

namespace poprt::ops {
namespace {

// The published schemas are the reference. A definition that the schemas do not know is an
// extension.
TEST(OpDefs, BeginWithTheFirstPublishedSchema) {
  std::map<std::pair<std::string_view, std::string_view>, int64_t> begins;
  for (const OpDef* op : all_ops()) {
    const auto [known, added] = begins.emplace(std::pair(op->domain, op->name), op->since);
    if (!added) known->second = std::min<int64_t>(known->second, op->since);
  }
  size_t compared = 0;
  for (const auto& [name, since] : begins) {
    int64_t first = 0;
    for (int64_t opset = 1; opset <= ir::kNewestOpset && first == 0; opset++)
      first = ir::definition_of(name.first, name.second, opset);
    if (first == 0) continue;
    compared++;
    // Exporters wrote these two before they had a schema.
    if (name.second == "MeanVarianceNormalization" || name.second == "ThresholdedRelu") first = 1;
    EXPECT_EQ(since, first) << name.first << "." << name.second;
  }
  EXPECT_GT(compared, 300u);
}

OpSupport support(std::string_view domain, std::string_view name, int64_t opset) {
  const OpDef* op = find_op(domain, name, opset);
  EXPECT_NE(op, nullptr) << name;
  return support_of(*op);
}

bool takes(const OpSupport& s, DType type) {
  return std::find(s.types.begin(), s.types.end(), type) != s.types.end();
}

TEST(OpSupport, TypesMatchTrials) {
  const OpSupport add = support("", "Add", 14);
  for (const DType t : {DType::f32, DType::f16, DType::f64, DType::s64, DType::u8})
    EXPECT_TRUE(takes(add, t)) << dtype_name(t);
  EXPECT_FALSE(takes(add, DType::boolean));
  EXPECT_EQ(type_list(support("", "And", 7).types), "bool");
  EXPECT_FALSE(takes(support("", "Sqrt", 13), DType::s32));
}

// The kernels accept more types, but the results would be meaningless integers.
TEST(OpSupport, TypesAreNoneThatTheDefinitionForbids) {
  for (const char* name : {"InstanceNormalization", "LRN", "Det"})
    EXPECT_EQ(type_list(support("", name, 22).types), "f32 f16 bf16 f64") << name;
  EXPECT_FALSE(takes(support("", "Softmax", 13), DType::f8e5m2));
}

TEST(OpSupport, TypesHaveSeparateTrialsIfANodeFitsFewTypes) {
  const OpSupport bits = support("", "BitCast", 26);
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::s8, DType::u4, DType::s2})
    EXPECT_TRUE(takes(bits, t)) << dtype_name(t);
  EXPECT_TRUE(takes(support("", "ReverseSequence", 10), DType::f32));
  EXPECT_EQ(type_list(support("", "NegativeLogLikelihoodLoss", 22).types), "f32 f16 bf16 f64");
}

TEST(OpSupport, ReportsTheImplementationOfAnOperator) {
  EXPECT_EQ(support("", "MatMul", 13).implementation, Implementation::fast);
  EXPECT_EQ(support("", "Det", 11).implementation, Implementation::reference);
  EXPECT_EQ(support("", "Reshape", 13).implementation, Implementation::view);
  // The kernels of the trials are references, and passes replace the operators by internal ones.
  for (const char* name : {"Attention", "ConvTranspose", "NonMaxSuppression", "NonZero", "Unique"})
    EXPECT_EQ(support("", name, 23).implementation, Implementation::fast) << name;
  EXPECT_EQ(support("com.microsoft", "FastGelu", 1).implementation, Implementation::decomposition);
}

TEST(OpSupport, ReportsOperatorsThatTheCompilerResolves) {
  for (const auto* name : {"If", "Loop", "SequenceAt", "OptionalHasElement"}) {
    const OpSupport s = support("", name, 18);
    EXPECT_EQ(s.implementation, Implementation::compiler) << name;
    EXPECT_EQ(type_list(s.types), "inner") << name;
  }
  EXPECT_EQ(support("poprt", "LoopBegin", 1).implementation, Implementation::control);
  const OpSupport text = support("", "StringSplit", 20);
  EXPECT_EQ(text.implementation, Implementation::compiler);
  EXPECT_EQ(type_list(text.types), "string");
}

TEST(OpSupport, TypesDescribeTheDataIfItIsNotInput0) {
  for (const auto& [domain, name] : {std::pair("", "Where"), std::pair("poprt", "Select")})
    EXPECT_TRUE(takes(support(domain, name, 16), DType::f32)) << name;
  EXPECT_TRUE(takes(support("com.microsoft", "QLinearConcat", 1), DType::s8));
}

TEST(OpSupport, EveryOperatorHasATrialThatFits) {
  for (const OpDef* op : all_ops())
    EXPECT_NE(support_of(*op).implementation, Implementation::unknown)
        << "neither the common trials nor Facts::trial fit " << op->domain << " " << op->name;
}

TEST(OpSupport, EachOfTheAttributesOfATrialIsTried) {
  static OpDef words = *find_op("", "BitCast", 26), words_and_bytes = words;
  words.facts.trial = {"T[4,4]", "to = 1"};
  words_and_bytes.facts.trial = {"T[4,4]", "to = 1 | to = 2"};
  EXPECT_EQ(type_list(support_of(words).types), "f32 s32 u32");
  for (const DType t : {DType::f32, DType::u32, DType::s8, DType::f8e5m2})
    EXPECT_TRUE(takes(support_of(words_and_bytes), t)) << dtype_name(t);
  EXPECT_FALSE(takes(support_of(words_and_bytes), DType::f16));
}

TEST(OpSupport, TrialsWithAndWithoutAttributesCombine) {
  static OpDef either = *find_op("", "Mod", 13), floats = either;
  either.facts.trial = {"T[4,4]; T[4,4]", "| fmod = 1"};
  floats.facts.trial = {"T[4,4]; T[4,4]"};
  EXPECT_TRUE(takes(support_of(either), DType::f32) && takes(support_of(either), DType::s32));
  EXPECT_TRUE(!takes(support_of(floats), DType::f32) && takes(support_of(floats), DType::s32));
}

TEST(OpSupport, ThreadsGetTheSameAnswer) {
  static std::vector<OpDef> fresh(16, *find_op("", "Not", 1));
  std::vector<std::vector<const OpSupport*>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& answers : found)
      threads.emplace_back([&answers] {
        for (const OpDef& op : fresh) answers.push_back(&support_of(op));
      });
  }
  for (const auto& answers : found) EXPECT_EQ(answers, found[0]);
  for (const OpSupport* s : found[0]) EXPECT_EQ(type_list(s->types), "bool");
}

TEST(OpSupport, OpsetRanges) {
  EXPECT_EQ(opset_range(*find_op("", "Mish", 18)), "opset 18 on");
  EXPECT_EQ(opset_range(OpDef{.name = "X", .since = 1, .until = 6}), "opsets 1 to 6");
}

std::string error_of(const test::NodeCase& c) {
  try {
    test::run_node(c);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Expects the parts of an error that a user needs.
void expect_words(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view w : words)
    EXPECT_NE(text.find(w), std::string::npos) << w << " is not in: " << text;
}

TEST(UnsupportedOperator, NamesNodeOperatorDomainAndOpset) {
  const std::string text = error_of({.op = "Fancy", .opset = 17, .inputs = {Tensor::scalar(1.0f)}});
  expect_words(text, {"Fancy node", "ai.onnx", "opset 17", "poprt_exec ops", "open an issue"});
}

TEST(UnsupportedOperator, OfACustomDomainSuggestsAPlugIn) {
  const std::string text =
      error_of({.op = "Fancy", .inputs = {Tensor::scalar(1.0f)}, .domain = "com.example"});
  expect_words(text, {"Fancy node", "com.example", "plug-in", "`custom_library_so_paths`"});
}

TEST(UnsupportedOperator, ErrorNamesTheFirstSupportedOpset) {
  const std::string text = error_of({.op = "Mish", .opset = 17, .inputs = {Tensor::scalar(1.0f)}});
  expect_words(text, {"Mish node", "opset 18 on", "imports opset 17"});
}

TEST(UnsupportedOperator, ModelsOptimizedForOneCpuAreRefusedWithCauseAndCure) {
  const std::string text = error_of(
      {.op = "ReorderInput", .inputs = {Tensor::scalar(1.0f)}, .domain = "com.microsoft.nchwc"});
  expect_words(text, {"ReorderInput node", "ORT_ENABLE_ALL", "ORT_ENABLE_EXTENDED"});
}

TEST(UnsupportedType, ErrorNamesSupportedTypesAndWhereToReport) {
  const std::string text =
      error_of({.op = "Sqrt", .opset = 13, .inputs = {Tensor::scalar<int64_t>(4)}});
  expect_words(text, {"Sqrt node", "s64", "opset 13", "f32", "open an issue"});
}

TEST(UnsupportedAttribute, NamesNodeOperatorOpsetAndWhereToAsk) {
  Tensor x = Tensor::zeros(DType::f32, {2, 3});
  const std::string text = error_of({.op = "CDist",
                                     .attributes = {{"metric", std::string("hamming")}},
                                     .inputs = {x, x},
                                     .runtime = {0, 1},
                                     .domain = "com.microsoft"});
  expect_words(text, {"CDist node", "hamming", "euclidean", "opset", "open an issue"});
}

}  // namespace
}  // namespace poprt::ops

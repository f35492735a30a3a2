// Checks the contract of every operator. New operators are included automatically.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/ops/sample.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt::ops::sampled {
namespace {

std::string key(std::string_view domain, std::string_view op) {
  return std::string(domain) + "." + std::string(op);
}

TEST(OperatorContract, EveryDefinitionIsComplete) {
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(key(op->domain, op->name));
    EXPECT_FALSE(op->name.empty());
    EXPECT_TRUE(op->domain != "ai.onnx") << "the default domain is spelled \"\"";
    EXPECT_NE(op->infer, nullptr);
    EXPECT_NE(op->lower, nullptr);
    EXPECT_GE(op->since, 1);
    EXPECT_LE(op->since, op->until);
  }
}

TEST(OperatorContract, DefinitionsOfOneOperatorDoNotOverlap) {
  for (const OpDef* a : all_ops())
    for (const OpDef* b : all_ops())
      if (a != b && a->name == b->name && a->domain == b->domain) {
        EXPECT_TRUE(a->until < b->since || b->until < a->since) << key(a->domain, a->name);
      }
}

// These operators have other tests, because a sample compares one node with loops over flat lists,
// which does not suit them.
const std::set<std::string>& without_sample() {
  static const std::set<std::string> names = {
      // Values without inputs.
      ".Constant", ".Identity",
      // Subgraphs, containers, text and images: compiler/flow/specialize_test, common/strings_test,
      // common/images_test and the conformance vectors.
      ".If", ".Loop", ".Scan", "ai.onnx.preview.FlexAttention", "poprt.Loop", "poprt.GuardBegin",
      "poprt.GuardEnd", "poprt.LoopBegin", "poprt.LoopEnd", "poprt.Unspecified", ".SequenceAt",
      ".SequenceConstruct", ".SequenceEmpty", ".SequenceErase", ".SequenceInsert",
      ".SequenceLength", ".SequenceMap", ".SplitToSequence", ".ConcatFromSequence", ".Optional",
      ".OptionalGetElement", ".OptionalHasElement", ".StringConcat", ".StringNormalizer",
      ".StringSplit", ".RegexFullMatch", ".ImageDecoder",
      // conv_test, pool_test, matmul_test, poprt/conv_test, poprt/resize_test: many geometries
      // against one naive reference.
      ".Conv", ".ConvTranspose", ".BatchNormalization", ".MatMul", ".Gemm", ".MaxPool",
      ".AveragePool", ".LpPool", ".GlobalAveragePool", ".GlobalMaxPool", ".GlobalLpPool",
      "poprt.Block", "poprt.Unblock", "poprt.Conv", "poprt.ConvTranspose", "poprt.MaxPool",
      "poprt.AveragePool", "poprt.GlobalAveragePool", "poprt.Resize", "poprt.Linear",
      // early_onnx_test: plain loops in the opsets that had them.
      ".ConstantFill", ".Crop", ".DynamicSlice", ".GivenTensorFill", ".ImageScaler",
      ".ParametricSoftplus", ".Scale", ".ScaledTanh",
      // passes/layout/channels_last_test, passes/fuse/scaled_products_test: against the operators
      // that they are made of.
      "poprt.QLinearConv", "poprt.ScaledMatMulInteger",
      // The last step of an SVMClassifier with vectors.
      "poprt.SvmVotes"};
  return names;
}

TEST(OperatorContract, EveryOperatorHasASample) {
  std::set<std::string> sampled;
  for (const Sample& s : all_samples()) sampled.insert(key(s.domain, s.op));
  for (const OpDef* op : all_ops()) {
    // Other domains have vectors: tests/conformance/contrib_vectors_test.cpp.
    if (!op->domain.empty() && op->domain != "poprt") continue;
    if (without_sample().contains(key(op->domain, op->name))) continue;
    EXPECT_TRUE(sampled.contains(key(op->domain, op->name)))
        << key(op->domain, op->name) << " has no OPS_SAMPLE in tests/core/ops";
  }
}

class OperatorSample : public ::testing::TestWithParam<size_t> {};

TEST_P(OperatorSample, MatchesItsReference) {
  const Sample& s = all_samples()[GetParam()];
  SCOPED_TRACE(key(s.domain, s.op) + " opset " + std::to_string(s.opset));
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  const size_t outputs = g.node->outputs().size();
  for (size_t i = 0; i < outputs; i++) {
    ASSERT_TRUE(g.node->output(i)->type.is_static()) << "output " << i;
    if (i < s.shapes.size()) {
      EXPECT_EQ(g.node->output(i)->shape(), s.shapes[i]) << "output " << i;
    }
    const DType wanted = i < s.dtypes.size() ? s.dtypes[i] : s.inputs.at(0).dtype();
    EXPECT_EQ(dtype_name(g.node->output(i)->dtype()), dtype_name(wanted)) << "output " << i;
  }
  ASSERT_TRUE(s.compute) << "the sample has no reference";
  SampleValues in;
  for (const Tensor& t : s.inputs)
    in.push_back(t.defined() ? t.to_doubles() : std::vector<double>());
  const SampleValues expected = s.compute(in);
  const std::vector<Tensor> results = evaluate(*g.node, s.inputs);
  ASSERT_EQ(results.size(), outputs);
  ASSERT_EQ(expected.size(), outputs);
  for (size_t i = 0; i < outputs; i++) {
    EXPECT_EQ(results[i].shape(), g.node->output(i)->shape());
    const std::vector<double> found = results[i].to_doubles();
    ASSERT_EQ(found.size(), expected[i].size()) << "output " << i;
    for (size_t k = 0; k < found.size(); k++) {
      const double e = expected[i][k], f = found[k];
      if (std::isnan(e) && std::isnan(f)) continue;
      if (std::isinf(e) && e == f) continue;
      ASSERT_LE(std::fabs(f - e), s.atol + s.rtol * std::fabs(e))
          << "output " << i << " element " << k << ": expected " << e << ", found " << f;
    }
  }
}

// Operators that compute f64 in f64, on values of their samples that f32 cannot represent.
TEST(OperatorContract, DoublesAreNotRoundedOnTheWay) {
  const std::set<std::string> names = {"Softmax",
                                       "LogSoftmax",
                                       "Hardmax",
                                       "LpNormalization",
                                       "InstanceNormalization",
                                       "GroupNormalization",
                                       "LayerNormalization",
                                       "RMSNormalization",
                                       "LRN",
                                       "Det",
                                       "DeformConv",
                                       "GridSample",
                                       "Attention",
                                       "SoftmaxCrossEntropyLoss",
                                       "NegativeLogLikelihoodLoss",
                                       "AffineGrid",
                                       "Col2Im",
                                       "LinearAttention",
                                       "MaxRoiPool",
                                       "MeanVarianceNormalization",
                                       "RoiAlign",
                                       "RotaryEmbedding",
                                       "Shrink"};
  std::set<std::string> seen;
  for (const Sample& sample : all_samples()) {
    if (!sample.domain.empty() || !names.contains(sample.op)) continue;
    Sample s = sample;
    bool floats = true;
    SampleValues in;
    for (Tensor& t : s.inputs) {
      in.push_back(t.defined() ? t.to_doubles() : std::vector<double>());
      if (!t.defined() || t.dtype() == DType::boolean || is_integer(t.dtype())) continue;
      floats &= t.dtype() == DType::f32;
      for (size_t i = 0; i < in.back().size(); i++)
        in.back()[i] *= 1 + 1e-9 * static_cast<double>(1 + i % 7);
      t = Tensor::of<double>(t.shape(), std::span<const double>(in.back()));
    }
    if (!floats) continue;
    SCOPED_TRACE(s.op + " opset " + std::to_string(s.opset));
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    const auto found = evaluate(*g.node, s.inputs);
    ASSERT_EQ(found[0].dtype(), DType::f64);
    const SampleValues wanted = s.compute(in);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t o = 0; o < found.size(); o++) {
      if (found[o].dtype() != DType::f64) continue;
      const std::vector<double>&expected = wanted[o], values = found[o].to_doubles();
      ASSERT_EQ(values.size(), expected.size());
      double worst = 0;
      for (size_t i = 0; i < values.size(); i++)
        if (std::isfinite(expected[i]))
          worst = std::fmax(
              worst, std::fabs(values[i] - expected[i]) / std::fmax(1.0, std::fabs(expected[i])));
      EXPECT_LE(worst, 1e-12) << "output " << o;
    }
    seen.insert(s.op);
  }
  EXPECT_EQ(seen, names);
}

std::string sample_name(const ::testing::TestParamInfo<size_t>& info) {
  const Sample& s = all_samples()[info.param];
  std::string name = (s.domain.empty() ? "" : s.domain + "_") + s.op;
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + std::to_string(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, OperatorSample, ::testing::Range(size_t{0}, all_samples().size()),
                         sample_name);

}  // namespace
}  // namespace poprt::ops::sampled

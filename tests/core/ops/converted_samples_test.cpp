// The samples of all operators, converted to every opset: the converted nodes are valid in the
// opset and compute the same, or the refusal names the reason.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "core/ops/sample.h"
#include "ir/schemas.h"
#include "ir/verifier.h"
#include "ops/common/required_inputs.h"
#include "opsets/convert.h"
#include "support/graph_eval.h"

namespace poprt::ops::sampled {
namespace {

std::deque<Sample> samples_to_convert() {
  std::deque<Sample> chosen;
  for (const Sample& s : all_samples())
    if (s.domain.empty() && s.opset >= opsets::kOldestSource && s.compute) chosen.push_back(s);
  return chosen;
}

// Operators with a use that has no counterpart in an older opset: docs/opsets.md has the reasons.
const std::set<std::string>& refusing() {
  static const std::set<std::string> names = {"BitCast",
                                              "BitwiseAnd",
                                              "BitwiseNot",
                                              "BitwiseOr",
                                              "BitwiseXor",
                                              "Cast",
                                              "CausalConvWithState",
                                              "Col2Im",
                                              "CumProd",
                                              "DFT",
                                              "DeformConv",
                                              "Einsum",
                                              "GridSample",
                                              "IsInf",
                                              "IsNaN",
                                              "LinearAttention",
                                              "NegativeLogLikelihoodLoss",
                                              "QuantizeLinear",
                                              "RoiAlign",
                                              "STFT",
                                              "ScatterElements",
                                              "ScatterND",
                                              "SoftmaxCrossEntropyLoss",
                                              "TensorScatter"};
  return names;
}

std::vector<Tensor> results_of(const Sample& s, const ir::Graph& graph) {
  std::map<std::string, Tensor> feeds;
  for (size_t i = 0; i < s.inputs.size(); i++)
    if (s.inputs[i].defined() && !s.constant[i]) feeds["in" + std::to_string(i)] = s.inputs[i];
  const auto by_name = test::evaluate_graph(graph, feeds);
  std::vector<Tensor> results;
  for (const ir::Value* v : graph.outputs()) results.push_back(by_name.at(v->name()));
  return results;
}

void expect_close(const Sample& s, const std::vector<Tensor>& results) {
  SampleValues in;
  for (const Tensor& t : s.inputs)
    in.push_back(t.defined() ? t.to_doubles() : std::vector<double>());
  const SampleValues expected = s.compute(in);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t o = 0; o < expected.size(); o++) {
    if (expected[o].empty()) continue;
    const std::vector<double> found = results[o].to_doubles();
    ASSERT_EQ(found.size(), expected[o].size()) << "output " << o;
    EXPECT_EQ(results[o].shape(), s.shapes[o]);
    double largest = 0;
    for (const double x : expected[o])
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < found.size(); i++) {
      if (found[i] == expected[o][i] || (std::isnan(found[i]) && std::isnan(expected[o][i])))
        continue;
      // The parts round more often than the operator that they replace.
      ASSERT_LE(std::abs(found[i] - expected[o][i]),
                4 * s.atol + 4 * s.rtol * std::max(std::abs(expected[o][i]), 0.1 * largest))
          << "output " << o << " element " << i << ": " << found[i] << ", expected "
          << expected[o][i];
    }
  }
}

// Valid in its opset, by every rule of the importer.
void expect_valid(ir::Graph& graph, int64_t opset) {
  EXPECT_EQ(graph.opsets.at(""), opset);
  for (const ir::Node* n : graph.nodes()) {
    EXPECT_EQ(n->domain, "") << n->describe();
    EXPECT_NO_THROW({
      ir::check_attributes(*n);
      check_required_inputs(*n);
      check_surplus_inputs(*n);
    });
  }
  EXPECT_NO_THROW(infer(graph));
  EXPECT_NO_THROW(ir::verify(graph));
}

// Converts the graph to the opset `target`. Returns whether that is possible.
bool converted(ir::Graph& graph, const Sample& s, int64_t target) {
  try {
    opsets::convert(graph, target);
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented) << e.message();
    EXPECT_TRUE(refusing().contains(s.op)) << e.message();
    for (const std::string& part :
         {std::string("convert_version"), "to " + std::to_string(target), s.op})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
    return false;
  }
}

TEST(ConvertedSamples, ComputeTheSameInEveryOpsetThatHasThem) {
  std::map<std::string, std::string> refused;
  size_t done = 0;
  for (const Sample& s : samples_to_convert())
    for (int64_t target = opsets::kOldestTarget; target <= opsets::kNewest; target++) {
      SCOPED_TRACE(s.op + " of opset " + std::to_string(s.opset) + " to " + std::to_string(target));
      const SampleGraph g = make_graph(s);
      infer(*g.graph);
      try {
        if (!converted(*g.graph, s, target)) {
          refused[s.op] += " " + std::to_string(s.opset) + ">" + std::to_string(target);
          continue;
        }
        done++;
        expect_valid(*g.graph, target);
        expect_close(s, results_of(s, *g.graph));
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  EXPECT_GT(done, 1000u);
  for (const auto& [name, what] : refused)
    EXPECT_TRUE(refusing().contains(name)) << name << " is refused:" << what;
  for (const std::string& name : refusing())
    EXPECT_TRUE(refused.contains(name)) << name << " is not refused any more";
}

TEST(ConvertedSamples, ComputeTheSameWhenTheyComeBack) {
  for (const Sample& s : samples_to_convert()) {
    if (s.opset < opsets::kOldestTarget) continue;
    for (const int64_t by : {int64_t{11}, int64_t{17}, opsets::kNewest}) {
      SCOPED_TRACE(s.op + " of opset " + std::to_string(s.opset) + " by " + std::to_string(by));
      const SampleGraph g = make_graph(s);
      infer(*g.graph);
      try {
        if (!converted(*g.graph, s, by)) continue;
        infer(*g.graph);
        opsets::convert(*g.graph, s.opset);
        expect_valid(*g.graph, s.opset);
        expect_close(s, results_of(s, *g.graph));
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace poprt::ops::sampled

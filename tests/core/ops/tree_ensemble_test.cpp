// Hostile trees; tests/data/ml has the honest ones.
#include "ops/common/tree_ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;

// One tree of one split over two leaves.
test::NodeCase stump() {
  test::NodeCase c{.op = "TreeEnsembleRegressor",
                   .inputs = {Tensor::of<float>({2, 1}, {0.0f, 2.0f})},
                   .runtime = {0},
                   .domain = "ai.onnx.ml"};
  c.attributes = {{"nodes_nodeids", Ints{0, 1, 2}},
                  {"nodes_treeids", Ints{0, 0, 0}},
                  {"nodes_featureids", Ints{0, 0, 0}},
                  {"nodes_values", std::vector<float>{1, 0, 0}},
                  {"nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "LEAF", "LEAF"}},
                  {"nodes_truenodeids", Ints{1, 0, 0}},
                  {"nodes_falsenodeids", Ints{2, 0, 0}},
                  {"target_ids", Ints{0, 0}},
                  {"target_nodeids", Ints{1, 2}},
                  {"target_treeids", Ints{0, 0}},
                  {"target_weights", std::vector<float>{10, 20}},
                  {"n_targets", int64_t{1}}};
  return c;
}

void expect_refused(const test::NodeCase& c, std::string_view word) {
  try {
    test::run_node(c);
    FAIL() << "expected an error about " << word;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.what();
    EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(TreeEnsemble, AStumpChoosesALeaf) {
  EXPECT_EQ(test::run_node(stump())[0].to_doubles(), (std::vector<double>{10, 20}));
}

// Of two classes that both have weights the greater score wins; ONNX Runtime looks at the second
// score alone.
TEST(TreeEnsembleClassifier, TheLabelOfTwoClassesIsThatOfTheGreaterScore) {
  test::NodeCase c = stump();
  c.op = "TreeEnsembleClassifier";
  c.outputs = 2;
  for (const char* key : {"ids", "nodeids", "treeids", "weights"})
    c.attributes.erase(std::string("target_") + key);
  c.attributes.erase("n_targets");
  c.attributes["class_ids"] = Ints{0, 1, 0, 1};
  c.attributes["class_nodeids"] = Ints{1, 1, 2, 2};
  c.attributes["class_treeids"] = Ints{0, 0, 0, 0};
  c.attributes["classlabels_int64s"] = Ints{7, 9};
  const auto check = [&](const std::vector<float>& weights, const std::vector<int64_t>& labels,
                         const std::vector<double>& scores) {
    c.attributes["class_weights"] = weights;
    const auto y = test::run_node(c);
    EXPECT_EQ(y[0].to_int64s(), labels);
    EXPECT_EQ(y[1].to_doubles(), scores);
  };
  check({0.75f, 0.25f, 0.25f, 0.75f}, {7, 9}, {0.75, 0.25, 0.25, 0.75});
  check({2, 1, -0.75f, -0.5f}, {7, 9}, {2, 1, -0.75, -0.5});
  c.attributes["base_values"] = std::vector<float>{0, 2};
  check({2, 1, -0.75f, -0.5f}, {9, 9}, {2, 3, -0.75, 1.5});
  // A leaf may have a weight for one of them only.
  c.attributes.erase("base_values");
  c.attributes["class_ids"] = Ints{0, 1, 0, 0};
  check({0.25f, 0.5f, 0.5f, 0.25f}, {9, 7}, {0.25, 0.5, 0.75, 0});
}

// Random forests against a plain walk; rows are no multiple of those that go side by side.
TEST(TreeEnsemble, EveryRowFindsItsLeaves) {
  const int64_t rows = 19, features = 5, trees = 7;
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> real(-1, 1);
  const std::vector<std::string> modes = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",
                                          "BRANCH_GT",  "BRANCH_NEQ", "BRANCH_EQ"};
  for (size_t allowed : {size_t{1}, size_t{2}, modes.size()}) {
    Ints ids, tree_ids, feature_ids, yes, no, missing, targets, target_nodes, target_trees;
    std::vector<float> values, weights;
    std::vector<std::string> kinds;
    for (int64_t t = 0; t < trees; t++) {
      const int64_t inner = 3 + t * 4;  // a complete tree of any size
      for (int64_t n = 0; n < 2 * inner + 1; n++) {
        ids.push_back(n);
        tree_ids.push_back(t);
        feature_ids.push_back(static_cast<int64_t>(rng() % features));
        values.push_back(rng() % 3 ? real(rng) : 0.5f);
        missing.push_back(static_cast<int64_t>(rng() & 1));
        const bool leaf = n >= inner;
        kinds.push_back(leaf ? "LEAF" : modes[rng() % allowed]);
        yes.push_back(leaf ? 0 : 2 * n + 1);
        no.push_back(leaf ? 0 : 2 * n + 2);
        if (!leaf) continue;
        targets.push_back(static_cast<int64_t>(rng() % 2));
        target_nodes.push_back(n);
        target_trees.push_back(t);
        weights.push_back(real(rng));
      }
    }
    Tensor x = test::random_floats({rows, features}, 5);
    for (size_t i = 0; i < 95; i += 4)
      x.mutable_values<float>()[i] = i % 3 ? 0.5f : std::numeric_limits<float>::quiet_NaN();

    const auto compare = [&](const std::string& mode, float v, float threshold) {
      return mode == "BRANCH_LEQ"   ? v <= threshold
             : mode == "BRANCH_LT"  ? v < threshold
             : mode == "BRANCH_GTE" ? v >= threshold
             : mode == "BRANCH_GT"  ? v > threshold
             : mode == "BRANCH_NEQ" ? v != threshold
                                    : v == threshold;
    };
    std::vector<double> want(static_cast<size_t>(rows * 2));
    for (int64_t r = 0; r < rows; r++)
      for (size_t start = 0; start < ids.size(); start++) {
        if (ids[start] != 0) continue;
        size_t at = start;
        while (kinds[at] != "LEAF") {
          const float v = x.values<float>()[static_cast<size_t>(r * features + feature_ids[at])];
          const bool side =
              compare(kinds[at], v, values[at]) || (std::isnan(v) && missing[at] != 0);
          at = start + static_cast<size_t>(side ? yes[at] : no[at]);
        }
        for (size_t w = 0; w < weights.size(); w++)
          if (target_nodes[w] == ids[at] && target_trees[w] == tree_ids[at])
            want[static_cast<size_t>(r * 2 + targets[w])] += static_cast<double>(weights[w]);
      }
    test::NodeCase c{
        .op = "TreeEnsembleRegressor", .inputs = {x}, .runtime = {0}, .domain = "ai.onnx.ml"};
    c.attributes = {{"nodes_nodeids", ids},
                    {"nodes_treeids", tree_ids},
                    {"nodes_featureids", feature_ids},
                    {"nodes_values", values},
                    {"nodes_modes", kinds},
                    {"nodes_truenodeids", yes},
                    {"nodes_falsenodeids", no},
                    {"nodes_missing_value_tracks_true", missing},
                    {"target_ids", targets},
                    {"target_nodeids", target_nodes},
                    {"target_treeids", target_trees},
                    {"target_weights", weights},
                    {"n_targets", int64_t{2}}};
    const auto got = test::run_node(c)[0].to_doubles();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
  }
}

TEST(TreeEnsemble, RefusesACycle) {
  test::NodeCase c = stump();
  c.attributes["nodes_modes"] = std::vector<std::string>{"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"};
  c.attributes["nodes_truenodeids"] = Ints{1, 1, 0};
  c.attributes["nodes_falsenodeids"] = Ints{2, 2, 0};
  expect_refused(c, "cycle");
  c.attributes["nodes_truenodeids"] = Ints{0, 0, 0};
  expect_refused(c, "cycle");
}

TEST(TreeEnsemble, RefusesAChildThatDoesNotExist) {
  test::NodeCase c = stump();
  c.attributes["nodes_falsenodeids"] = Ints{7, 0, 0};
  expect_refused(c, "does not exist");
}

TEST(TreeEnsemble, RefusesListsOfDifferentLengths) {
  test::NodeCase c = stump();
  c.attributes["nodes_values"] = std::vector<float>{1};
  expect_refused(c, "different lengths");
  c = stump();
  c.attributes["target_ids"] = Ints{0};
  expect_refused(c, "different lengths");
}

TEST(TreeEnsemble, AFeatureThatXDoesNotHaveAddsNothing) {
  test::NodeCase c = stump();
  c.attributes["nodes_featureids"] = Ints{5, 0, 0};
  EXPECT_EQ(test::run_node(c)[0].to_doubles(), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace poprt::ops

// Hostile trees and labels. common/tree_words_test.cpp has random trees, and tests/data/ml trees of
// other programs.
#include "ops/common/tree_ensemble.h"

#include <gtest/gtest.h>

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

// If both classes have weights, the greater score decides; ONNX Runtime reads the second score
// only.
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

// As in ONNX Runtime. A leaf without a parent is not the root of a further tree.
TEST(TreeEnsemble, ANodeThatNoRootReachesAddsNothing) {
  test::NodeCase c = stump();
  for (const char* key :
       {"nodes_treeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"})
    std::get<Ints>(c.attributes[key]).push_back(0);
  std::get<Ints>(c.attributes["nodes_nodeids"]).push_back(3);
  std::get<std::vector<float>>(c.attributes["nodes_values"]).push_back(0);
  std::get<std::vector<std::string>>(c.attributes["nodes_modes"]).push_back("LEAF");
  c.attributes["target_ids"] = Ints{0, 0, 0};
  c.attributes["target_nodeids"] = Ints{1, 2, 3};
  c.attributes["target_treeids"] = Ints{0, 0, 0};
  c.attributes["target_weights"] = std::vector<float>{10, 20, 100};
  EXPECT_TRUE(test::run_node(c)[0].same_as(Tensor::of<float>({2, 1}, {10, 20})));
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

TEST(TreeEnsemble, RefusesACycleThatNoRootReaches) {
  test::NodeCase c = stump();
  // Node 0 is its own child, and node 2 is the only one without a parent.
  c.attributes["nodes_truenodeids"] = Ints{1, 0, 0};
  c.attributes["nodes_falsenodeids"] = Ints{0, 0, 0};
  expect_refused(c, "tree 0 has a cycle: node 0 is below itself");
}

TEST(TreeEnsemble, RefusesFeaturesAndTargetsThatDoNotExist) {
  test::NodeCase c = stump();
  c.attributes["nodes_featureids"] = Ints{5, 0, 0};
  expect_refused(c, "a tree node tests feature 5, but X has ");
  c = stump();
  c.attributes["nodes_featureids"] = Ints{-1, 0, 0};
  expect_refused(c, "feature -1 is out of range");
  c = stump();
  c.attributes["target_ids"] = Ints{0, 7};
  expect_refused(c, "a weight is for class or target 7, but there are 1");
  c.attributes["target_ids"] = Ints{0, -1};
  expect_refused(c, "target_ids has -1, which is out of range");
}

}  // namespace
}  // namespace poprt::ops

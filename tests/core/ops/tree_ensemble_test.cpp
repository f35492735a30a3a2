// Hostile trees; tests/data/ml has the honest ones.
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

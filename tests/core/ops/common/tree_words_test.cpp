// Compares random forests of TreeEnsembleRegressor and TreeEnsemble with a plain walk: all modes,
// missing values, numbers of rows and trees that fill no vector.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/ops/run_node.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;

const std::vector<std::string> kModes = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
constexpr size_t kLeaf = 6, kMember = 6;

struct Split {
  size_t mode = kLeaf;
  int64_t feature = 0;
  double threshold = 0;
  std::vector<double> members;
  bool missing_true = false;
  size_t yes = 0, no = 0;
  std::vector<std::pair<int64_t, double>> weights;  // column, weight
};
using Tree = std::vector<Split>;

struct Options {
  std::vector<size_t> modes;
  int64_t features = 5, columns = 2;
  bool full = false;  // leaves have one weight for each column in order
  bool wide = false;  // some thresholds are no f32 numbers
};

// Values at which comparisons change, and NaN.
double special(std::mt19937& rng, bool nan) {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kValues[] = {0.0, -0.0, 0.5, 1e-40, -1e-40, kInfinity, -kInfinity};
  const size_t i = rng() % (std::size(kValues) + (nan ? 2 : 0));
  return i < std::size(kValues) ? kValues[i] : std::nan("");
}

Tree random_tree(std::mt19937& rng, const Options& o, size_t inner) {
  std::uniform_real_distribution<double> real(-1, 1);
  const auto number = [&] {
    const double v = rng() % 3 ? real(rng) : special(rng, false);
    return o.wide ? v : static_cast<double>(static_cast<float>(v));
  };
  Tree tree(1);
  for (size_t i = 0; i < inner; i++) {
    size_t at = 0;  // any leaf becomes a split
    while (tree[at].mode != kLeaf || tree[at].yes) at = rng() & 1 ? tree[at].yes : tree[at].no;
    Split& n = tree[at];
    n.mode = o.modes[rng() % o.modes.size()];
    n.feature = static_cast<int64_t>(rng() % static_cast<size_t>(o.features));
    n.threshold = number();
    for (size_t m = 1 + rng() % 3; m > 0; m--) n.members.push_back(number());
    n.missing_true = rng() & 1;
    n.yes = tree.size();
    n.no = n.yes + 1;
    tree.resize(tree.size() + 2);
  }
  for (Split& n : tree) {
    if (n.yes) continue;
    for (int64_t c = 0; c < o.columns; c++)
      if (o.full || rng() % 2) n.weights.emplace_back(c, static_cast<float>(real(rng)));
  }
  return tree;
}

bool goes_true(const Split& n, double x, bool opset5) {
  if (std::isnan(x) && n.missing_true) return true;
  switch (n.mode) {
    case 0: return x <= n.threshold;
    case 1: return x < n.threshold;
    case 2: return x >= n.threshold;
    case 3: return x > n.threshold;
    case 4: return x == n.threshold;
    case 5: return x != n.threshold;
    default:
      return opset5 &&
             std::any_of(n.members.begin(), n.members.end(), [&](double m) { return m == x; });
  }
}

std::vector<double> walk(const std::vector<Tree>& trees, const std::vector<double>& x,
                         const Options& o) {
  std::vector<double> y;
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(o.features)) {
    std::vector<double> sums(static_cast<size_t>(o.columns));
    for (const Tree& tree : trees) {
      size_t at = 0;
      while (tree[at].yes)
        at = goes_true(tree[at], x[row + static_cast<size_t>(tree[at].feature)], true)
                 ? tree[at].yes
                 : tree[at].no;
      for (const auto& [column, weight] : tree[at].weights)
        sums[static_cast<size_t>(column)] += weight;
    }
    y.insert(y.end(), sums.begin(), sums.end());
  }
  return y;
}

// The attributes of opset 1 to 4.
test::NodeCase regressor(const std::vector<Tree>& trees, const Options& o) {
  Ints ids, tree_ids, features, yes, no, missing, targets, target_nodes, target_trees;
  std::vector<float> values, weights;
  std::vector<std::string> modes;
  for (size_t t = 0; t < trees.size(); t++)
    for (size_t n = 0; n < trees[t].size(); n++) {
      const Split& s = trees[t][n];
      ids.push_back(static_cast<int64_t>(n));
      tree_ids.push_back(static_cast<int64_t>(t));
      features.push_back(s.feature);
      values.push_back(static_cast<float>(s.threshold));
      modes.push_back(kModes[s.yes ? s.mode : kLeaf]);
      yes.push_back(static_cast<int64_t>(s.yes));
      no.push_back(static_cast<int64_t>(s.no));
      missing.push_back(s.missing_true);
      for (const auto& [column, weight] : s.weights) {
        targets.push_back(column);
        target_nodes.push_back(static_cast<int64_t>(n));
        target_trees.push_back(static_cast<int64_t>(t));
        weights.push_back(static_cast<float>(weight));
      }
    }
  return {.op = "TreeEnsembleRegressor",
          .attributes = {{"nodes_nodeids", ids},
                         {"nodes_treeids", tree_ids},
                         {"nodes_featureids", features},
                         {"nodes_values", values},
                         {"nodes_modes", modes},
                         {"nodes_truenodeids", yes},
                         {"nodes_falsenodeids", no},
                         {"nodes_missing_value_tracks_true", missing},
                         {"target_ids", targets},
                         {"target_nodeids", target_nodes},
                         {"target_treeids", target_trees},
                         {"target_weights", weights},
                         {"n_targets", o.columns}},
          .runtime = {0},
          .domain = "ai.onnx.ml"};
}

Tensor doubles(const std::vector<double>& v, DType dtype = DType::f64) {
  const Shape shape = {static_cast<int64_t>(v.size())};
  if (dtype == DType::f64) return Tensor::of<double>(shape, std::span<const double>(v));
  const std::vector<float> narrow(v.begin(), v.end());
  return Tensor::of<float>(shape, std::span<const float>(narrow));
}

// The attributes of opset 5, whose leaves have one weight each.
test::NodeCase ensemble(const std::vector<Tree>& trees, const Options& o, DType dtype) {
  Ints roots, features, yes, no, yes_leafs, no_leafs, missing, targets;
  std::vector<double> splits, weights, members;
  std::vector<uint8_t> modes;
  for (const Tree& tree : trees) {
    std::vector<int64_t> place(tree.size());  // among the inner nodes or the leaves
    auto inner = static_cast<int64_t>(modes.size()), leaves = static_cast<int64_t>(targets.size());
    for (size_t n = 0; n < tree.size(); n++) place[n] = tree[n].yes ? inner++ : leaves++;
    roots.push_back(place[0]);
    for (const Split& s : tree) {
      if (!s.yes) {
        targets.push_back(s.weights.empty() ? 0 : s.weights[0].first);
        weights.push_back(s.weights.empty() ? 0 : s.weights[0].second);
        continue;
      }
      modes.push_back(static_cast<uint8_t>(s.mode));
      features.push_back(s.feature);
      splits.push_back(s.threshold);
      missing.push_back(s.missing_true);
      yes.push_back(place[s.yes]);
      no.push_back(place[s.no]);
      yes_leafs.push_back(!tree[s.yes].yes);
      no_leafs.push_back(!tree[s.no].yes);
      if (s.mode != kMember) continue;
      members.insert(members.end(), s.members.begin(), s.members.end());
      members.push_back(std::nan(""));
    }
  }
  return {.op = "TreeEnsemble",
          .opset = 21,
          .attributes = {{"tree_roots", roots},
                         {"nodes_featureids", features},
                         {"nodes_modes", Tensor::of<uint8_t>({static_cast<int64_t>(modes.size())},
                                                             std::span<const uint8_t>(modes))},
                         {"nodes_splits", doubles(splits, dtype)},
                         {"nodes_truenodeids", yes},
                         {"nodes_falsenodeids", no},
                         {"nodes_trueleafs", yes_leafs},
                         {"nodes_falseleafs", no_leafs},
                         {"nodes_missing_value_tracks_true", missing},
                         {"leaf_targetids", targets},
                         {"leaf_weights", doubles(weights, dtype)},
                         {"membership_values", doubles(members, dtype)},
                         {"n_targets", o.columns}},
          .runtime = {0},
          .domain = "ai.onnx.ml"};
}

std::vector<double> random_rows(std::mt19937& rng, int64_t rows, const Options& o, bool narrow) {
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<double> x(static_cast<size_t>(rows * o.features));
  for (double& v : x) {
    v = rng() % 4 ? real(rng) : special(rng, true);
    if (narrow) v = static_cast<double>(static_cast<float>(v));
  }
  return x;
}

// The opset of ai.onnx.ml is that of the operator.
std::vector<double> run(const test::NodeCase& c) {
  const auto g = test::build_node(c);
  g->graph.opsets[c.domain] = c.op == "TreeEnsemble" ? 5 : 3;
  infer(*g->node);
  return evaluate(*g->node, c.inputs)[0].to_doubles();
}

// Sums are in double in both; results are f32 unless x is f64 and the operator keeps it.
void expect_walked(test::NodeCase c, const std::vector<Tree>& trees, const Options& o, DType dtype,
                   int64_t rows, std::mt19937& rng) {
  const std::vector<double> x = random_rows(rng, rows, o, dtype == DType::f32);
  c.inputs = {doubles(x, dtype).reshaped({rows, o.features})};
  const std::vector<double> got = run(c), want = walk(trees, x, o);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++)
    ASSERT_NEAR(got[i], want[i], 2e-6) << c.op << " " << rows << " rows, " << trees.size()
                                       << " trees, element " << i << " of " << dtype_name(dtype);
}

std::vector<Tree> random_forest(std::mt19937& rng, const Options& o, size_t count) {
  std::vector<Tree> trees;
  for (size_t t = 0; t < count; t++) trees.push_back(random_tree(rng, o, rng() % 40));
  return trees;
}

TEST(RandomForest, RegressorsOfEveryMode) {
  std::mt19937 rng(3);
  for (const auto& modes :
       std::vector<std::vector<size_t>>{{0}, {1}, {2}, {3}, {4}, {5}, {0, 3}, {0, 1, 2, 3, 4, 5}})
    for (const size_t count : {size_t{1}, size_t{4}, size_t{13}, size_t{37}})
      for (const bool full : {false, true}) {
        const Options o{.modes = modes, .full = full};
        const std::vector<Tree> trees = random_forest(rng, o, count);
        for (const int64_t rows : {1, 2, 7, 8, 19})
          for (const DType dtype : {DType::f32, DType::f64})
            expect_walked(regressor(trees, o), trees, o, dtype, rows, rng);
      }
}

// Trees of up to 32 leaves are masks for several rows; larger ones are walked.
TEST(RandomForest, TreesOfManySizesAndRows) {
  std::mt19937 rng(9);
  for (const size_t inner : {0, 1, 30, 31, 32, 33, 63, 64, 130, 255, 256, 300})
    for (const int64_t columns : {1, 3})
      for (const bool full : {false, true}) {
        const Options o{.modes = {0, 3, 4}, .features = 9, .columns = columns, .full = full};
        std::vector<Tree> trees;
        for (size_t t = 0; t < 5; t++) trees.push_back(random_tree(rng, o, t ? inner : inner / 2));
        for (const int64_t rows : {3, 15, 16, 17, 33})
          for (const DType dtype : {DType::f32, DType::f64})
            expect_walked(regressor(trees, o), trees, o, dtype, rows, rng);
      }
}

// The words of a forest for 16 rows: the form of trees depends on the number of rows and leaves.
TEST(TreeWords, MasksAreUsedForManyRowsAndFewLeaves) {
  const auto chain = [](size_t inner) {
    Trees trees;
    trees.roots = {0};
    trees.nodes.resize(2 * inner + 1);
    for (size_t i = 0; i < inner; i++)
      trees.nodes[2 * i].kind = TreeNode::leq,
                      trees.nodes[2 * i].yes = static_cast<int32_t>(2 * i + 1);
    trees.weights = {1};
    trees.targets = {0};
    for (TreeNode& n : trees.nodes) n.last = n.kind == TreeNode::leaf ? 1 : 0;
    return trees;
  };
  const auto masks = [&](size_t inner, int64_t rows) {
    return tree_words(chain(inner), DType::f32, rows, 1, kernels::calls::TreeAggregate::sum).masks;
  };
  EXPECT_TRUE(masks(31, 16));
  EXPECT_FALSE(masks(32, 64)) << "more than 32 leaves";
  EXPECT_FALSE(masks(3, 2)) << "a walk of few rows is shorter";
  EXPECT_FALSE(masks(0, 16)) << "a leaf needs no test";
}

TEST(RandomForest, ManyRows) {
  std::mt19937 rng(4);
  const Options o{.modes = {0}, .columns = 1, .full = true};
  const std::vector<Tree> trees = random_forest(rng, o, 11);
  for (const int64_t rows : {64, 511, 512, 1003})
    expect_walked(regressor(trees, o), trees, o, DType::f32, rows, rng);
}

// Thresholds are f64 for rows of f64, and f32 for rows of f32.
TEST(RandomForest, EnsemblesOfOpset5WithSetsOfMembers) {
  std::mt19937 rng(5);
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t rows : {1, 2, 7, 64}) {
      const Options o{.modes = {0, 1, 2, 3, 4, 5, 6}, .wide = dtype == DType::f64};
      std::vector<Tree> trees;
      for (size_t t = 0; t < 12; t++) {
        trees.push_back(random_tree(rng, o, 1 + rng() % 20));
        for (Split& n : trees.back()) n.weights.resize(std::min<size_t>(n.weights.size(), 1));
      }
      test::NodeCase c = ensemble(trees, o, dtype);
      expect_walked(c, trees, o, dtype, rows, rng);
    }
}

// Thresholds of nodes_values_as_tensor may be between two numbers of f32.
TEST(RandomForest, ComparesRowsOfF32WithThresholdsOfF64) {
  std::mt19937 rng(6);
  const Options o{.features = 1, .columns = 1, .full = true};
  for (size_t mode = 0; mode < 6; mode++)
    for (int step = -3; step <= 3; step++) {
      const float x = std::nextafter(0.1f, step < 0 ? -1.0f : 1.0f);
      for (const double threshold :
           {static_cast<double>(x), 0.1, static_cast<double>(x) * (1 + 1e-12 * step), 1e300, -1e300,
            1e-50, -1e-50, std::nan("")}) {
        Tree tree(3);
        tree[0] = {.mode = mode, .threshold = threshold, .yes = 1, .no = 2};
        tree[1].weights = {{0, 1.0}};
        tree[2].weights = {{0, 2.0}};
        test::NodeCase c = regressor({tree}, o);
        c.attributes.erase("nodes_values");
        c.attributes["nodes_values_as_tensor"] = doubles({threshold, 0, 0});
        for (const float v : {x, 0.0f, -0.0f, 1e-45f, -1e-45f, INFINITY, -INFINITY, NAN}) {
          c.inputs = {Tensor::of<float>({1, 1}, {v})};
          EXPECT_EQ(test::run_node(c)[0].to_doubles(), walk({tree}, {static_cast<double>(v)}, o))
              << kModes[mode] << " " << v << " beside " << threshold;
        }
      }
    }
}

TEST(RandomForest, LeastGreatestAndMeanWeight) {
  std::mt19937 rng(7);
  const Options o{.modes = {0, 2}, .columns = 1, .full = true};
  const std::vector<Tree> trees = random_forest(rng, o, 21);
  for (const int64_t rows : {1, 9}) {
    const std::vector<double> x = random_rows(rng, rows, o, true);
    test::NodeCase c = regressor(trees, o);
    c.inputs = {doubles(x, DType::f32).reshaped({rows, o.features})};
    std::vector<double> least(static_cast<size_t>(rows), INFINITY),
        greatest(least.size(), -INFINITY), mean(least.size());
    for (const Tree& tree : trees) {
      const std::vector<double> y = walk({tree}, x, o);
      for (size_t i = 0; i < y.size(); i++) {
        least[i] = std::min(least[i], y[i]);
        greatest[i] = std::max(greatest[i], y[i]);
        mean[i] += y[i] / static_cast<double>(trees.size());
      }
    }
    c.attributes["aggregate_function"] = std::string("MIN");
    EXPECT_EQ(test::run_node(c)[0].to_doubles(), least);
    c.attributes["aggregate_function"] = std::string("MAX");
    EXPECT_EQ(test::run_node(c)[0].to_doubles(), greatest);
    c.attributes["aggregate_function"] = std::string("AVERAGE");
    const auto got = test::run_node(c)[0].to_doubles();
    for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], mean[i], 1e-6);
  }
}

// Scores of three classes are the sums of a regressor, the label that of the greatest.
TEST(RandomForest, ClassifiersOfThreeClasses) {
  std::mt19937 rng(8);
  for (const bool full : {false, true}) {
    const Options o{.modes = {0, 3}, .columns = 3, .full = full};
    const std::vector<Tree> trees = random_forest(rng, o, 15);
    test::NodeCase c = regressor(trees, o);
    c.op = "TreeEnsembleClassifier";
    c.outputs = 2;
    for (const std::string key : {"ids", "nodeids", "treeids", "weights"}) {
      c.attributes["class_" + key] = c.attributes["target_" + key];
      c.attributes.erase("target_" + key);
    }
    c.attributes.erase("n_targets");
    c.attributes["classlabels_int64s"] = Ints{10, 20, 30};
    for (const int64_t rows : {1, 2, 7, 65})
      for (const std::string transform : {"NONE", "SOFTMAX", "LOGISTIC"}) {
        const std::vector<double> x = random_rows(rng, rows, o, true);
        c.attributes["post_transform"] = transform;
        c.inputs = {doubles(x, DType::f32).reshaped({rows, o.features})};
        const auto y = test::run_node(c);
        const std::vector<double> sums = walk(trees, x, o), scores = y[1].to_doubles();
        for (size_t r = 0; r < static_cast<size_t>(rows); r++) {
          const double* row = sums.data() + 3 * r;
          double total = 0;
          for (size_t k = 0; k < 3; k++) total += std::exp(row[k]);
          const auto best = std::max_element(row, row + 3) - row;
          EXPECT_EQ(y[0].to_int64s()[r], 10 * (best + 1));
          for (size_t k = 0; k < 3; k++) {
            const double want = transform == "NONE"      ? row[k]
                                : transform == "SOFTMAX" ? std::exp(row[k]) / total
                                                         : 1 / (1 + std::exp(-row[k]));
            EXPECT_NEAR(scores[3 * r + k], want, 2e-6) << transform;
          }
        }
      }
  }
}

}  // namespace
}  // namespace poprt::ops

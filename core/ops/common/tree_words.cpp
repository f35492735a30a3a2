#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/common/tree_walk.h"
#include "kernels/isa/tree_masks.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops {
namespace {

// The greatest key of a number x <= t, or x < t if `strictly`. If t is NaN, returns kNoKey, which
// is below the key of every number.
template <class X>
kernels::OrderKey<X> key_below(double t, bool strictly) {
  using K = kernels::OrderKey<X>;
  if (std::isnan(t)) return kernels::kNoKey<K>;
  const X nearest = static_cast<X>(t);
  const auto v = static_cast<double>(nearest);
  const K key = kernels::order_key(nearest, kernels::kNoKey<K>);
  return v > t || (strictly && v == t) ? key - 1 : key;
}

template <class X>
kernels::OrderKey<X> key_equal(double t) {
  constexpr auto kNoOrder = kernels::kNoKey<kernels::OrderKey<X>>;
  const X nearest = static_cast<X>(t);
  return static_cast<double>(nearest) == t ? kernels::order_key(nearest, kNoOrder) : kNoOrder;
}

template <class X>
kernels::OrderKey<X> threshold_key(const TreeNode& n) {
  switch (n.kind) {
    case TreeNode::leq: return key_below<X>(n.threshold, false);
    case TreeNode::lt: return key_below<X>(n.threshold, true);
    default: return key_equal<X>(n.threshold);
  }
}

bool is_full(const Trees& trees, const TreeNode& leaf, int64_t columns) {
  if (leaf.last - leaf.first != columns) return false;
  for (int64_t c = 0; c < columns; c++)
    if (trees.targets[static_cast<size_t>(leaf.first + c)] != c) return false;
  return true;
}

// The numbers of the leaves: distinct numbers, or the index of the first weight.
std::vector<int32_t> leaf_numbers(const std::vector<TreeNode>& nodes, const Trees& trees,
                                  int64_t columns, calls::TreeAggregate aggregate,
                                  TreeWords& words) {
  // Other aggregates need to know which columns have a weight.
  words.leaves_are_weights = aggregate <= calls::TreeAggregate::average;
  std::vector<int32_t> numbers(nodes.size());
  std::map<std::pair<int32_t, int32_t>, int32_t> places;
  for (size_t i = 0; i < nodes.size(); i++) {
    const TreeNode& n = nodes[i];
    if (n.kind != TreeNode::leaf) continue;
    words.leaves_are_weights = words.leaves_are_weights && is_full(trees, n, columns);
    const auto [place, is_new] =
        places.emplace(std::pair(n.first, n.last), static_cast<int32_t>(places.size()));
    if (is_new) words.leaves.insert(words.leaves.end(), {n.first, n.last});
    numbers[i] = place->second;
  }
  if (!words.leaves_are_weights) return numbers;
  words.leaves.clear();
  for (size_t i = 0; i < nodes.size(); i++) numbers[i] = nodes[i].first;
  return numbers;
}

// The places of the keys that nodes test: each feature at most once for each side of NaN.
class Keys {
 public:
  explicit Keys(TreeWords& words) : words_(words) {}
  // The index of the key, with kEqualsBit for `==`.
  uint32_t of(const TreeNode& n) {
    const int64_t wanted = 2 * n.feature + (n.missing_true ? 1 : 0);
    const auto [place, is_new] = places_.emplace(wanted, static_cast<int32_t>(places_.size()));
    if (is_new) words_.keys.push_back(static_cast<int32_t>(wanted));
    words_.equals = words_.equals || n.kind == TreeNode::eq;
    return static_cast<uint32_t>(place->second) |
           (n.kind == TreeNode::eq ? kernels::kEqualsBit : 0);
  }

 private:
  TreeWords& words_;
  std::map<int64_t, int32_t> places_;
};

template <class K>
void put_key(K key, std::vector<int32_t>& words) {
  for (size_t bit = 0; bit < 8 * sizeof(K); bit += 32)
    words.push_back(static_cast<int32_t>(key >> bit));
}

template <class X>
void put_nodes(const std::vector<TreeNode>& nodes, const std::vector<int32_t>& leaf_numbers,
               TreeWords& words) {
  using K = kernels::OrderKey<X>;
  constexpr auto kWords = static_cast<int64_t>(kernels::kNodeWords<K>);
  Keys keys(words);
  std::vector<size_t> leaves;  // places of the keys of leaves
  for (size_t i = 0; i < nodes.size(); i++) {
    const TreeNode& n = nodes[i];
    const bool leaf = n.kind == TreeNode::leaf;
    put_key<K>(leaf ? static_cast<K>(leaf_numbers[i]) : threshold_key<X>(n), words.nodes);
    words.nodes.push_back(static_cast<int32_t>((leaf ? static_cast<int64_t>(i) : n.yes) * kWords));
    if (leaf) leaves.push_back(words.nodes.size());
    words.nodes.push_back(leaf ? 0 : static_cast<int32_t>(keys.of(n)));
  }
  const int64_t key = kernels::leaf_key(static_cast<int64_t>(words.keys.size()));
  for (const size_t i : leaves) words.nodes[i] = static_cast<int32_t>(key);
}

constexpr int64_t kGroupLeaves = 32;
// Trees with more groups of leaves are walked. In a loop of runs, 64 rows through trees of 100
// leaves take half of the time as masks, but up to ten times as long if runs alternate with those
// of another engine (docs/decisions/tree-ensembles.md).
constexpr int64_t kMostGroups = 1;
// A node is written for each of its groups. The limit is below that of the kernel.
constexpr int64_t kMostTests = int64_t{1} << 26;

// The leaves of the trees, numbered in order within their tree.
struct LeafOrder {
  std::vector<int32_t> count;  // of the leaves below each node
  std::vector<int32_t> first;  // the first leaf below each node
  std::vector<int32_t> depth;  // inner nodes on the longest path below each node

  explicit LeafOrder(const Trees& trees)
      : count(trees.nodes.size(), 1), first(trees.nodes.size(), 0), depth(trees.nodes.size(), 0) {
    const std::vector<TreeNode>& nodes = trees.nodes;
    for (size_t i = nodes.size(); i-- > 0;) {  // children are after their parent
      if (nodes[i].kind == TreeNode::leaf) continue;
      const auto yes = static_cast<size_t>(nodes[i].yes);
      count[i] = count[yes] + count[yes + 1];
      depth[i] = 1 + std::max(depth[yes], depth[yes + 1]);
    }
    for (size_t i = 0; i < nodes.size(); i++) {
      if (nodes[i].kind == TreeNode::leaf) continue;
      const auto yes = static_cast<size_t>(nodes[i].yes);
      first[yes] = first[i];
      first[yes + 1] = first[i] + count[yes];
    }
  }
};

// Whether masks take less time than walks, in units of a node's test of sixteen rows. A walk takes
// the time of one and a half tests for each level of each row, and the result of a group that of
// ten tests (measured with LightGBM's trees of 31 leaves on a Zen 5: 0.6 ns for a test, 1 ns for a
// level).
bool are_masks_faster(const Trees& trees, const LeafOrder& order, int64_t rows) {
  if (trees.roots.empty()) return false;
  int64_t tests = 0, levels = 0, most = 0;
  for (size_t t = 0; t < trees.roots.size(); t++) {
    const auto root = static_cast<size_t>(trees.roots[t]);
    const int64_t leaves = order.count[root], groups = (leaves + kGroupLeaves - 1) / kGroupLeaves;
    if (groups > kMostGroups || most > kMostTests) return false;
    most += leaves * groups;
    tests += leaves + 10 * groups;
    levels += 3 * order.depth[root];
  }
  const int64_t vectors = (rows + kernels::isa::kMaskRows - 1) / kernels::isa::kMaskRows;
  return 2 * tests * vectors < levels * rows;
}

// Writes the nodes that clear leaves [begin, begin + 32) of a tree, whose nodes are [first, last).
// Those that compare with `==` are last.
template <class X>
void put_group(const Trees& trees, const LeafOrder& order, size_t first, size_t last, int64_t begin,
               Keys& keys, TreeWords& words) {
  using K = kernels::OrderKey<X>;
  constexpr K kSign = K{1} << (8 * sizeof(K) - 1);
  for (const bool equals : {false, true})
    for (size_t i = first; i < last; i++) {
      const TreeNode& n = trees.nodes[i];
      if (n.kind == TreeNode::leaf || (n.kind == TreeNode::eq) != equals) continue;
      const auto yes = static_cast<size_t>(n.yes);
      uint32_t cleared = 0;
      for (int64_t leaf = std::max<int64_t>(order.first[yes] - begin, 0);
           leaf < std::min<int64_t>(order.first[yes] + order.count[yes] - begin, kGroupLeaves);
           leaf++)
        cleared |= uint32_t{1} << leaf;
      if (!cleared) continue;
      put_key<K>(threshold_key<X>(n) ^ kSign, words.nodes);
      words.nodes.push_back(static_cast<int32_t>(keys.of(n)));
      words.nodes.push_back(static_cast<int32_t>(~cleared));
    }
}

// The format of kernels/isa/tree_masks.h. `leaves_are_weights` is set.
template <class X>
void put_masks(const Trees& trees, const LeafOrder& order, TreeWords& words) {
  constexpr size_t kWords = kernels::kNodeWords<kernels::OrderKey<X>>;
  Keys keys(words);
  int64_t leaf = 0;
  for (size_t t = 0; t < trees.roots.size(); t++) {
    const auto root = static_cast<size_t>(trees.roots[t]);
    const size_t last =
        t + 1 < trees.roots.size() ? static_cast<size_t>(trees.roots[t + 1]) : trees.nodes.size();
    for (int64_t g = (order.count[root] - 1) / kGroupLeaves; g >= 0; g--) {
      words.roots.push_back(static_cast<int32_t>(words.nodes.size() / kWords));
      words.roots.push_back(static_cast<int32_t>(static_cast<uint32_t>(leaf + g * kGroupLeaves) |
                                                 (g == 0 ? kernels::isa::kLastGroup : 0)));
      put_group<X>(trees, order, root, last, g * kGroupLeaves, keys, words);
    }
    leaf += order.count[root];
  }
}

// The ranges of weights of the leaves in their order, or the weights themselves if all are full.
void put_leaves(const Trees& trees, const LeafOrder& order, TreeWords& words) {
  std::vector<const TreeNode*> leaves;
  for (size_t t = 0; t < trees.roots.size(); t++) {
    const auto root = static_cast<size_t>(trees.roots[t]);
    const size_t last =
        t + 1 < trees.roots.size() ? static_cast<size_t>(trees.roots[t + 1]) : trees.nodes.size();
    const size_t begin = leaves.size();
    leaves.resize(begin + static_cast<size_t>(order.count[root]));
    for (size_t i = root; i < last; i++)
      if (trees.nodes[i].kind == TreeNode::leaf)
        leaves[begin + static_cast<size_t>(order.first[i])] = &trees.nodes[i];
  }
  for (const TreeNode* n : leaves) {
    if (!words.leaves_are_weights) {
      words.leaves.insert(words.leaves.end(), {n->first, n->last});
      continue;
    }
    words.targets.insert(words.targets.end(), trees.targets.begin() + n->first,
                         trees.targets.begin() + n->last);
    words.weights.insert(words.weights.end(), trees.weights.begin() + n->first,
                         trees.weights.begin() + n->last);
  }
}

}  // namespace

TreeWords tree_words(const Trees& trees, DType x, int64_t rows, int64_t columns,
                     calls::TreeAggregate aggregate) {
  TreeWords words;
  const std::vector<TreeNode>& nodes = trees.nodes;
  const std::vector<int32_t> numbers = leaf_numbers(nodes, trees, columns, aggregate, words);
  if (const LeafOrder order(trees); are_masks_faster(trees, order, rows)) {
    words.masks = true;
    words.leaves.clear();
    if (x == DType::f64)
      put_masks<double>(trees, order, words);
    else
      put_masks<float>(trees, order, words);
    put_leaves(trees, order, words);
  } else {
    words.roots = trees.roots;
    if (x == DType::f64)
      put_nodes<double>(nodes, numbers, words);
    else
      put_nodes<float>(nodes, numbers, words);
  }
  if (words.weights.empty()) {
    words.weights = trees.weights;
    words.targets = trees.targets;
  }
  return words;
}

}  // namespace poprt::ops

#include <cmath>
#include <map>

#include "kernels/common/tree_walk.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops {
namespace {

// The greatest key of a number x <= t, or x < t if `strictly`. Every number is above NaN.
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

template <class X>
void put_nodes(const std::vector<TreeNode>& nodes, const std::vector<int32_t>& leaf_numbers,
               TreeWords& words) {
  using K = kernels::OrderKey<X>;
  constexpr auto kWords = static_cast<int64_t>(kernels::kNodeWords<K>);
  std::map<int64_t, int32_t> places;  // of keys
  std::vector<size_t> leaves;         // places of the keys of leaves
  for (size_t i = 0; i < nodes.size(); i++) {
    const TreeNode& n = nodes[i];
    const bool leaf = n.kind == TreeNode::leaf;
    const K threshold = leaf ? static_cast<K>(leaf_numbers[i]) : threshold_key<X>(n);
    for (size_t bit = 0; bit < 8 * sizeof(K); bit += 32)
      words.nodes.push_back(static_cast<int32_t>(threshold >> bit));
    words.nodes.push_back(static_cast<int32_t>((leaf ? static_cast<int64_t>(i) : n.yes) * kWords));
    uint32_t key = 0;
    if (leaf) {
      leaves.push_back(words.nodes.size());
    } else {
      const int64_t wanted = 2 * n.feature + (n.missing_true ? 1 : 0);
      const auto [place, is_new] = places.emplace(wanted, static_cast<int32_t>(places.size()));
      if (is_new) words.keys.push_back(static_cast<int32_t>(wanted));
      key = static_cast<uint32_t>(place->second);
      if (n.kind == TreeNode::eq) key |= kernels::kEqualsBit;
      words.equals = words.equals || n.kind == TreeNode::eq;
    }
    words.nodes.push_back(static_cast<int32_t>(key));
  }
  const int64_t key = kernels::leaf_key(static_cast<int64_t>(words.keys.size()));
  for (const size_t i : leaves) words.nodes[i] = static_cast<int32_t>(key);
}

}  // namespace

TreeWords tree_words(const Trees& trees, DType x, int64_t columns, calls::TreeAggregate aggregate) {
  TreeWords words;
  const std::vector<TreeNode>& nodes = trees.nodes;
  const std::vector<int32_t> numbers = leaf_numbers(nodes, trees, columns, aggregate, words);
  if (x == DType::f64)
    put_nodes<double>(nodes, numbers, words);
  else
    put_nodes<float>(nodes, numbers, words);
  return words;
}

}  // namespace poprt::ops

// The traversal of trees in kernel tree_ensemble: eight walks at the same time, without
// unpredictable branches. Every walk waits for its node and then for its feature, so a single walk
// leaves the processor idle. The eight walks are eight rows in one tree or, for a single row, eight
// trees.
//
// Reals are compared as integers with the same order (`order_key`), so `x < t` is `x <=` the
// integer just below that of t. All comparisons become `<=`, with the children exchanged for > and
// >=. A NaN is the least key if missing values go to the true side, and the greatest key otherwise;
// the row of keys contains a feature twice if nodes need both. A leaf is its own true child and
// compares a key that is always 0, so a walk that arrives early stays at its leaf.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace poprt::kernels {

template <std::floating_point X>
using OrderKey = std::conditional_t<sizeof(X) == 4, uint32_t, uint64_t>;

template <class K>
inline constexpr K kMissingTrue = 0;
template <class K>
inline constexpr K kMissingFalse = std::numeric_limits<K>::max();
// The key of a threshold that is below every number.
template <class K>
inline constexpr K kNoKey = 1;

// An integer in the order of the reals, equal for both zeros; `missing` for NaN.
template <std::floating_point X>
OrderKey<X> order_key(X x, OrderKey<X> missing) noexcept {
  using K = OrderKey<X>;
  constexpr K kSign = K{1} << (8 * sizeof(K) - 1);
  const K infinity = std::bit_cast<K>(std::numeric_limits<X>::infinity());
  const K bits = std::bit_cast<K>(x), magnitude = bits & ~kSign;
  const K key = bits & kSign ? kSign - magnitude : kSign + magnitude;
  return magnitude > infinity ? missing : key;
}

// The size of a node in words of the program: a threshold (64 bits in two words) or the number of a
// leaf; the first word of the true child, which the false child follows; and the index of the
// feature in the row of keys, with kEqualsBit if the comparison is `==`.
template <class K>
inline constexpr uint32_t kNodeWords = sizeof(K) / 4 + 2;
inline constexpr uint32_t kEqualsBit = uint32_t{1} << 31;

// The key of leaves follows the others at a power of two, a bit that only leaves have.
inline int64_t leaf_key(int64_t keys) noexcept {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(keys)));
}

struct Forest {
  const int32_t* words;
  uint32_t last;      // first word of the last node
  uint32_t leaf_key;  // index of the last key of a row
  int64_t depth;      // inner nodes on the longest path
};

// Moves at[0 .. kWalks), the first words of nodes, to the leaves below them. Walk l reads key i at
// keys[i * kStep + (kStep > 1 ? l : 0)]. Without kEquals, no node compares with `==`. Returns false
// if a node refers to something that does not exist, which only happens in an invalid program;
// nothing outside is read.
template <class K, int kWalks, int kStep, bool kEquals>
bool walk(const Forest& forest, const K* keys, size_t* at) noexcept {
  constexpr size_t kWords = kNodeWords<K>;
  const size_t last = forest.last, leaf = forest.leaf_key;
  size_t here[kWalks];
  for (int l = 0; l < kWalks; l++) {
    here[l] = at[l];
    if (here[l] > last) return false;
  }
  // One step more than the number of inner nodes detects that all walks have arrived.
  for (int64_t level = 0; level <= forest.depth; level++) {
    size_t arrived = leaf;
#pragma GCC unroll 8
    for (int l = 0; l < kWalks; l++) {
      const int32_t* node = forest.words + here[l];
      K threshold;
      std::memcpy(&threshold, node, sizeof(K));
      const size_t key_word = static_cast<uint32_t>(node[kWords - 1]);
      const size_t key = kEquals ? key_word & ~size_t{kEqualsBit} : key_word;
      if (key > leaf) [[unlikely]]
        return false;
      arrived &= key;
      const K x = keys[key * kStep + (kStep > 1 ? static_cast<size_t>(l) : 0)];
      bool no = threshold < x;
      if (kEquals) no |= key != key_word && x != threshold && x != kMissingTrue<K>;
      here[l] = static_cast<uint32_t>(node[kWords - 2]) + (no ? kWords : 0);
      if (here[l] > last) [[unlikely]]
        return false;
    }
    if (arrived) break;
  }
  for (int l = 0; l < kWalks; l++) at[l] = here[l];
  return true;
}

}  // namespace poprt::kernels

// The leaves that sixteen rows reach in trees, for tree_ensemble, without a walk.
//
// The leaves of a tree are numbered from left (true) to right, and each row has a bit for each leaf
// that it can still reach. A row that fails the test of a node reaches no leaf below the true
// child, so each failed test clears their bits. The tests are independent, in any order. After all
// tests of the tree the lowest bit that is set is the leaf that the row reaches. For example, in
//
//          x0 <= 3
//         |       |
//      x1 <= 5    leaf 2      a row (7, 9) fails both tests: 111 -> 100 (leaves 0 and 1 cleared)
//      |     |                -> 100 (leaf 0 cleared): leaf 2.
//   leaf 0  leaf 1
//
// A group is 32 consecutive leaves of a tree. Its nodes are those with leaves of the group below
// their true child. A row that reaches no leaf of the group has no bit left, so the groups of a
// tree are computed from the last to the first, and the last result with a bit is the leaf.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kMaskRows = 16;
// The mark of the last group of a tree, in the second word of the group.
inline constexpr uint32_t kLastGroup = uint32_t{1} << 31;

struct MaskedTrees {
  // Words of each node: a threshold (a signed order key of one or two words), the index of the key
  // that it tests, with kEqualsBit of common/tree_walk.h for `==`, and the bits that remain if the
  // test fails.
  const int32_t* nodes;
  int64_t node_count;
  // Two words of each group: its first node (the next group's first node is the end), and the
  // number of its first leaf, with kLastGroup.
  const int32_t* groups;
  int64_t group_count;
  int64_t keys;
};

struct TreeMasksTable {
  // Writes the numbers of the leaves that the rows reach in up to `trees` trees from `group` on, to
  // leaves[tree * kMaskRows + row]. Row r has key k at keys[k * kMaskRows + r], with 32 bits or, in
  // entry [1][], 64 bits. Entry [][0] requires that no node tests `==`. Returns the next group, and
  // in `found` the number of trees. Invalid groups give any number of a leaf; nothing outside is
  // read.
  int64_t (*find[2][2])(const MaskedTrees& forest, const void* keys, int64_t group, int64_t trees,
                        int32_t* leaves, int64_t* found) noexcept;
};
POPRT_DECLARE_ISA(TreeMasksTable, tree_masks)

}  // namespace poprt::kernels::isa

#include "kernels/isa/tree_masks.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

using i64x16 = int64_t __attribute__((vector_size(128)));
typedef i64x16 i64x16u __attribute__((aligned(8), may_alias));

constexpr uint32_t kEqualsMark = uint32_t{1} << 31;

// The type of a key: how its sixteen values are loaded, and how the result of a test becomes lanes
// of 32 bits.
struct MaskKeys32 {
  using Key = int32_t;
  static constexpr Key kMissing = INT32_MIN;
  static POPRT_INLINE i32x16 load(const Key* p) { return *reinterpret_cast<const i32x16u*>(p); }
  static POPRT_INLINE i32x16 lanes(i32x16 failed) { return failed; }
};
struct MaskKeys64 {
  using Key = int64_t;
  static constexpr Key kMissing = INT64_MIN;
  static POPRT_INLINE i64x16 load(const Key* p) { return *reinterpret_cast<const i64x16u*>(p); }
  static POPRT_INLINE i32x16 lanes(i64x16 failed) {
    return __builtin_convertvector(failed, i32x16);
  }
};

// The bits that remain after the tests of nodes [begin, end).
template <class Keys, bool kHasEquals>
POPRT_INLINE u32x16 remaining_bits(const MaskedTrees& forest, uint32_t begin, uint32_t end,
                                   const typename Keys::Key* keys) {
  using Key = typename Keys::Key;
  constexpr int64_t kWords = sizeof(Key) / 4 + 2;
  const auto count = static_cast<uint64_t>(forest.keys);
  u32x16 bits = ~u32x16{};
  const int32_t* node = forest.nodes + begin * kWords;
  for (const int32_t* last = forest.nodes + end * kWords; node < last; node += kWords) {
    Key threshold;
    __builtin_memcpy(&threshold, node, sizeof(Key));
    const auto word = static_cast<uint32_t>(node[kWords - 2]);
    const uint64_t key = kHasEquals ? word & ~kEqualsMark : word;
    if (key >= count) [[unlikely]]
      break;
    const auto x = Keys::load(keys + key * kMaskRows);
    auto failed = x > threshold;
    if (kHasEquals && key != word) failed = (x != threshold) & (x != Keys::kMissing);
    bits = Keys::lanes(failed) ? bits & static_cast<uint32_t>(node[kWords - 1]) : bits;
  }
  return bits;
}

// The number of the lowest bit that is set: the exponent of its value as a float.
POPRT_INLINE i32x16 lowest_bit(u32x16 bits) {
  const auto lowest = reinterpret_cast<i32x16>(bits & -bits);
  const auto exponent =
      reinterpret_cast<u32x16>(__builtin_convertvector(lowest, f32x16)) << 1 >> 24;
  return reinterpret_cast<i32x16>(exponent) - 127;
}

template <class Keys, bool kHasEquals>
int64_t find_leaves(const MaskedTrees& forest, const void* keys, int64_t group, int64_t trees,
                    int32_t* leaves, int64_t* found) noexcept {
  const auto* k = static_cast<const typename Keys::Key*>(keys);
  const auto nodes = static_cast<uint32_t>(forest.node_count);
  int64_t tree = 0;
  i32x16 leaf{};
  for (; group < forest.group_count && tree < trees; group++) {
    const int32_t* g = forest.groups + 2 * group;
    const auto begin = static_cast<uint32_t>(g[0]), second = static_cast<uint32_t>(g[1]);
    uint32_t end = group + 1 < forest.group_count ? static_cast<uint32_t>(g[2]) : nodes;
    if (end > nodes) end = nodes;
    const u32x16 bits =
        begin < end ? remaining_bits<Keys, kHasEquals>(forest, begin, end, k) : ~u32x16{};
    const i32x16 here = lowest_bit(bits) + static_cast<int32_t>(second & ~kLastGroup);
    leaf = bits != 0 ? here : leaf;
    if (!(second & kLastGroup)) continue;
    *reinterpret_cast<i32x16u*>(leaves + tree++ * kMaskRows) = leaf;
    leaf = i32x16{};
  }
  *found = tree;
  return group;
}

}  // namespace

extern const TreeMasksTable POPRT_ISA_NAME(tree_masks);
const TreeMasksTable POPRT_ISA_NAME(tree_masks) = {
    {{find_leaves<MaskKeys32, false>, find_leaves<MaskKeys32, true>},
     {find_leaves<MaskKeys64, false>, find_leaves<MaskKeys64, true>}}};

}  // namespace poprt::kernels::isa

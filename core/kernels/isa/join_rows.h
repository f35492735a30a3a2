// Reduces each of sixteen vectors to one number, for rows that are too short for separate
// reductions.
#pragma once

#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

inline constexpr int64_t kJoinedRows = 16;

// lanes[r] = make(r) for `count` rows, at least one; missing rows are copies of the last one.
template <class F>
POPRT_INLINE void each_joined(f32x16 (&lanes)[kJoinedRows], int64_t count, F make) {
  if (count == kJoinedRows) {
    for (int64_t r = 0; r < kJoinedRows; r++) lanes[r] = make(r);
    return;
  }
  for (int64_t r = 0; r < count; r++) lanes[r] = make(r);
  for (int64_t r = count; r < kJoinedRows; r++) lanes[r] = lanes[count - 1];
}

// Combines two vectors of `kRows` rows each to one of twice as many rows, by halving parts of 16 /
// kRows lanes. Example for one row and addition: a0 .. a15 and b0 .. b15 become a0 + a8, ..., a7 +
// a15, b0 + b8, ..., b7 + b15.
template <int kRows, class V, class Join>
POPRT_INLINE V join_halves(V a, V b, Join join) {
  if constexpr (kRows == 1)
    return join(
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
        __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                31));
  else if constexpr (kRows == 2)
    return join(
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
  else if constexpr (kRows == 4)
    return join(
        __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29),
        __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31));
  else
    return join(
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
        __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31));
}

// Lane r of the result combines the lanes of row r; each vector contains kRows rows. Lanes at
// distance eight are combined first, then four, two, one, in the order of sum() in isa/vec.h.
template <int kRows = 1, class V, class Join>
POPRT_INLINE V join_rows(const V (&v)[kJoinedRows / kRows], Join join) {
  if constexpr (kRows == 8) {
    return join_halves<8>(v[0], v[1], join);
  } else {
    V half[kJoinedRows / kRows / 2];
    for (int i = 0; i < kJoinedRows / kRows / 2; i++)
      half[i] = join_halves<kRows>(v[2 * i], v[2 * i + 1], join);
    return join_rows<2 * kRows>(half, join);
  }
}

}  // namespace
}  // namespace poprt::kernels::isa

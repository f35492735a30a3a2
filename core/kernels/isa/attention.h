// One head's attention over a block of queries; see core/kernels/attention.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/dispatch.h"

namespace poprt::kernels::isa {

// Queries, keys and values of one head. Strides are floats between rows.
struct AttentionHead {
  const float *q, *k, *v;
  int64_t q_stride, k_stride, v_stride;
  float* out;
  int64_t out_stride;
  int64_t queries, keys, size;  // size: columns of a head
  float scale;
  // Additive floats or booleans (false: the score becomes mask_value); null without a mask. Element
  // strides, 0 where it broadcasts.
  const float* mask;
  const uint8_t* mask_bool;
  int64_t mask_query_stride, mask_key_stride;
  float mask_value;
  // Query i sees keys [0, visible + i] when causal.
  bool causal;
  int64_t visible;
};

struct AttentionTable {
  // scratch: attention_scratch_floats(keys, size) floats, 64-byte aligned.
  void (*head)(const AttentionHead& head, float* scratch) noexcept;
  // scores[j] = scale * q . row j of k, whose rows are `stride` floats apart.
  void (*scores)(const float* q, const float* k, int64_t stride, int64_t keys, int64_t size,
                 float scale, float* scores) noexcept;
  // y[0..size) = scale * the sum of weights[j] times row j of v.
  void (*mix)(const float* weights, const float* v, int64_t stride, int64_t keys, int64_t size,
              float scale, float* y) noexcept;
};

inline constexpr int64_t kAttentionPanel = 64;
inline constexpr int64_t kAttentionRows = 24;
// Up to so many queries are not worth a copy of keys and values in panels.
inline constexpr int64_t kFewQueries = 2;

constexpr int64_t attention_scratch_floats(int64_t keys, int64_t size) {
  const auto up = [](int64_t n) {
    return (n + kAttentionPanel - 1) / kAttentionPanel * kAttentionPanel;
  };
  // Keys transposed, values, scores, one mask row, one reciprocal a row.
  return up(keys) * size + keys * up(size) + kAttentionRows * up(keys) + up(keys) + 64;
}

POPRT_DECLARE_ISA(AttentionTable, attention)

}  // namespace poprt::kernels::isa

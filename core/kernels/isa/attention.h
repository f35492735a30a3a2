// The attention of one head over a block of queries; see core/kernels/attention.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// Queries, keys and values of one head. Strides are in floats between rows.
struct AttentionHead {
  const float *q, *k, *v;
  int64_t q_stride, k_stride, v_stride;
  float* out;
  int64_t out_stride;
  int64_t queries, keys, size;  // size: columns of a head
  float scale;
  // Additive floats or booleans (false: the score becomes mask_value); null without a mask. Strides
  // are in elements, 0 if it broadcasts.
  const float* mask;
  const uint8_t* mask_bool;
  int64_t mask_query_stride, mask_key_stride;
  float mask_value;
  // Query i sees keys [0, first_position + i].
  bool causal;
  int64_t first_position;
};

// Rows that other heads read later, with the stride of the rows that are read now. They are
// prefetched meanwhile.
struct RowsAhead {
  const float* first = nullptr;
  int64_t count = 0;
};

// The values that the heads of a group read: `count` rows of `size` floats.
struct SharedRows {
  const float* first;
  int64_t stride, count, size;  // stride: floats between rows
  RowsAhead ahead;
};

struct AttentionTable {
  // scratch: attention_scratch_floats(keys, size) floats, 64-byte aligned.
  void (*head)(const AttentionHead& head, float* scratch) noexcept;
  // scores[j] = scale * q . row j of k, whose rows are `stride` floats apart.
  void (*scores)(const float* q, const float* k, int64_t stride, int64_t keys, int64_t size,
                 float scale, float* scores, const RowsAhead& ahead) noexcept;
  // For each of `heads` heads, at most kHeadsTogether, whose weights and results are a stride
  // apart: y[0..size) = scale * the sum of weights[j] times row j of v. The bits of a head do not
  // depend on the other heads.
  void (*mix)(const SharedRows& v, int64_t heads, const float* weights, int64_t weights_stride,
              float scale, float* y, int64_t y_stride) noexcept;
  // The same for one head and rows of bytes: `size` numbers s8, followed by the f32 that multiplies
  // them. Strides are in bytes.
  void (*byte_scores)(const float* q, const int8_t* k, int64_t stride, int64_t keys, int64_t size,
                      float scale, float* scores) noexcept;
  void (*byte_mix)(const float* weights, const int8_t* v, int64_t stride, int64_t keys,
                   int64_t size, float scale, float* y) noexcept;
  // Converts between such rows and dense rows of floats. The scale of a row is its largest
  // magnitude divided by 127, 0 if that magnitude is below 1e-30, or NaN if an element is not
  // finite.
  void (*quantize_rows)(const float* rows, int64_t count, int64_t size, int8_t* to,
                        int64_t stride) noexcept;
  void (*dequantize_rows)(const int8_t* rows, int64_t stride, int64_t count, int64_t size,
                          float* to) noexcept;
};

// Bytes of the scale of a row.
inline constexpr int64_t kRowScaleBytes = 4;

inline constexpr int64_t kAttentionPanel = 64;
inline constexpr int64_t kAttentionRows = 24;
// For at most this many queries, copying keys and values into panels costs more time than it saves.
inline constexpr int64_t kFewQueries = 2;
// `mix` computes at most this many heads together; AVX-512 reads the rows once for them.
inline constexpr int64_t kHeadsTogether = 3;

constexpr int64_t attention_scratch_floats(int64_t keys, int64_t size) {
  const auto round_up = [](int64_t n) {
    return (n + kAttentionPanel - 1) / kAttentionPanel * kAttentionPanel;
  };
  // Packed keys, packed values, the scores of a block of queries, one row of the mask, and 64 spare
  // floats.
  return round_up(keys) * size + keys * round_up(size) + kAttentionRows * round_up(keys) +
         round_up(keys) + 64;
}

POPRT_DECLARE_ISA(AttentionTable, attention)

}  // namespace poprt::kernels::isa

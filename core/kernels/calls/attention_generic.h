// attention_generic: operands [q, k, v, mask?, lengths?, y, scores?], all f32 or all f64, except a
// bool mask (true: the key is visible) and s64 lengths [batch] (the number of valid keys). Rows of
// q and y are at (b, head, i) times their strides; k and v are [batch, kv_heads, keys, head or
// v_size], or have strides, too.
//
// With q of f32, k and v may be s8. Their rows are then those of quantize_rows: numbers of 8 bits
// and the scale of the row. The kernel widens them in registers, or 48 rows at a time into panels
// if there are many queries.
//
// score = q . k * scale, then softcap * tanh(score / softcap) if softcap > 0. The mask is added,
// and keys that causal, windows, lengths or a false mask exclude are dropped. The softmax of the
// scores is multiplied by v. A row without keys becomes zeros.
#pragma once

#include <array>

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// Value of a window size: the window is unlimited.
inline constexpr int64_t kNoWindow = -1;

struct AttentionGeneric {
  static constexpr std::string_view kKernel = "attention_generic";

  int64_t batch = 0;
  int64_t q_heads = 0;  // a multiple of kv_heads
  int64_t kv_heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t head = 0;    // elements of a head of q and k
  int64_t v_size = 0;  // elements of a head of v
  bool causal = false;
  int64_t left = kNoWindow;  // number of visible keys before the query
  int64_t right = kNoWindow;
  // Position of query 0 among the keys, without lengths; with lengths it is the number of valid
  // keys minus `queries`.
  int64_t offset = 0;
  int64_t stage = 0;                // of `scores`: 0 scaled, 1 capped, 2 masked, 3 softmax
  std::array<int64_t, 3> q{}, y{};  // strides of batch, head and row, in elements
  std::array<int64_t, 4> mask{};    // strides of batch, head, row and key; all 0 without a mask
  int64_t mask_keys = 0;  // number of keys in the mask; later keys are excluded. 0 without a mask
  float scale = 0;        // NaN, for f64: 1 / sqrt(head)
  float softcap = 0;
  // Strides of batch, head and key of k and v, in elements; all 0: contiguous.
  std::array<int64_t, 3> k{}, v{};

  void fields(Fields& f) {
    f.size("batch", batch);
    f.size("q_heads", q_heads);
    f.size("kv_heads", kv_heads);
    f.size("queries", queries);
    f.size("keys", keys);
    f.size("head", head);
    f.size("v_size", v_size);
    f.flag("causal", causal);
    f.integer("left", left, kNoWindow, kMostSize);
    f.integer("right", right, kNoWindow, kMostSize);
    f.size("offset", offset);
    f.size("stage", stage, 0, 3);
    for (int64_t& stride : q) f.size("stride of q", stride);
    for (int64_t& stride : y) f.size("stride of y", stride);
    for (int64_t& stride : mask) f.size("stride of the mask", stride);
    f.size("mask_keys", mask_keys);
    f.real("scale", scale);
    f.real("softcap", softcap);
    if (!f.has_optional(k != std::array<int64_t, 3>{})) return;
    for (int64_t& stride : k) f.size("stride of k", stride);
    for (int64_t& stride : v) f.size("stride of v", stride);
  }
};

}  // namespace poprt::kernels::calls

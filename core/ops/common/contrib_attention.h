// Helpers shared by the attention operators of com.microsoft.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// The operands of one attention: queries [B,S,heads*D], keys [B,L,kv_heads*D] and values
// [B,L,kv_heads*Dv], or keys [B,kv_heads,L,D] and values [B,kv_heads,L,Dv].
struct AttentionCall {
  ir::Value *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t heads = 1, kv_heads = 1;
  // [B,kv_heads,P,D] and [B,kv_heads,P,Dv]: keys and values that precede k and v.
  ir::Value *past_k = nullptr, *past_v = nullptr;
  // Is added to the scores; has the type of q and broadcasts to [B,heads,S,P+L].
  ir::Value* mask = nullptr;
  // s64 [B]: the number of valid keys; the last query is at the last valid key.
  ir::Value* lengths = nullptr;
  // Query i sees the keys up to P + i; a single query without a window sees all keys. With lengths,
  // the last query sees all valid keys and each earlier query one fewer.
  bool causal = false;
  double scale = 0;  // 0: 1 / sqrt(D)
  double softcap = 0;
  int64_t left_window = -1;  // the number of keys before the query that it sees; -1: all
  bool wants_scores = false;
  int64_t scores_stage = 0;  // as qk_matmul_output_mode of ONNX Attention
};

struct AttentionResult {
  ir::Value* y = nullptr;                                // [B,S,heads*Dv]
  ir::Value *present_k = nullptr, *present_v = nullptr;  // [B,kv_heads,P+L,.]
  ir::Value* scores = nullptr;                           // [B,heads,S,P+L] if requested
};

AttentionResult attend(Expansion& e, const AttentionCall& call, bool wants_present);

// Adds poprt.Attention on one projection, whose columns are q, k and v one after the other, with
// heads of equal sizes.
ir::Value* attend_packed(Expansion& e, ir::Value* qkv, int64_t heads, ir::Value* mask, bool causal,
                         double scale);

// Converts any form of `mask_index` of Attention and MultiHeadAttention to a tensor [B,1,S or 1,T]
// that is added to the scores. The forms are [B] lengths, [2B] ends and starts, [3B+2] with the
// lengths first, and [B,T], [B,S,T] or [B,1,M,M] with zeros where a key is hidden. A hidden key has
// the value `filter`. Returns null if `mask` is null.
ir::Value* additive_mask(Expansion& e, ir::Value* mask, int64_t batch, int64_t queries,
                         int64_t keys, int64_t past, double filter, DType dtype);

// Extends a bias for the valid keys with zeros to `keys` keys. Returns null if `bias` is null.
ir::Value* zero_extended_bias(Expansion& e, ir::Value* bias, int64_t keys);

// a + b, where each may be null.
ir::Value* sum_of_masks(Expansion& e, ir::Value* a, ir::Value* b);

// Converts [B,L,heads*size] to [B,heads,L,size].
ir::Value* split_heads(Expansion& e, ir::Value* v, int64_t heads);

// The part of Attention and QAttention after the projection. Inputs: [B,S,q+k+v columns];
// mask_index, past [2,B,heads,P,D] and attention_bias may be null. Sets results 0 and 1 of the
// node.
void attend_projected(Expansion& e, ir::Value* qkv, std::array<int64_t, 3> columns, ir::Value* mask,
                      ir::Value* past, ir::Value* bias);

// The input numbers of MultiHeadAttention or DecoderMaskedMultiHeadAttention.
struct MultiHeadInputs {
  size_t query = 0, key = 1, value = 2, bias, mask, attention_bias, past_key, past_value,
         past_length, cache_indirection;
};
void expand_multi_head_attention(Expansion& e, const MultiHeadInputs& inputs);

// Overwrites rows of cache [B,heads,M,D] by `update` [B,heads,S,D] from row start[b] (s64 [B]) on.
ir::Value* write_cache(Expansion& e, ir::Value* cache, ir::Value* update, ir::Value* start);

}  // namespace poprt::ops

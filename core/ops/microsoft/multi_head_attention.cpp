// Inputs: query, key?, value?, bias?, key_padding_mask?, attention_bias?, past_key?, past_value?,
// past_sequence_length?, cache_indirection?. Outputs: output, present_key?, present_value?, qk?.
#include "ops/common/contrib_attention.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_multi_head_attention_op, "com.microsoft", "MultiHeadAttention",
    [](Expansion& e) {
      expand_multi_head_attention(e, {.bias = 3,
                                      .mask = 4,
                                      .attention_bias = 5,
                                      .past_key = 6,
                                      .past_value = 7,
                                      .past_length = 8,
                                      .cache_indirection = 9});
    },
    .trial = {"T[1,2,4]; T[1,2,4]; T[1,2,4]", "num_heads = 2"})

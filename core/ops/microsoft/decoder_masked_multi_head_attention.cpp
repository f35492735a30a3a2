// Inputs: query, key?, value?, mask_index?, attention_bias?, past_key?, past_value?,
// past_sequence_length?, beam_width?, cache_indirection?, bias?. Outputs: output, present_key?,
// present_value?, qk?.
#include "ops/common/contrib_attention.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_decoder_masked_multi_head_attention_op, "com.microsoft",
    "DecoderMaskedMultiHeadAttention",
    [](Expansion& e) {
      expand_multi_head_attention(e, {.bias = 10,
                                      .mask = 3,
                                      .attention_bias = 4,
                                      .past_key = 5,
                                      .past_value = 6,
                                      .past_length = 7,
                                      .cache_indirection = 9});
    },
    .trial = {"T[1,1,4]; T[1,1,4]; T[1,1,4]", "num_heads = 2"})

// Operators of com.microsoft and ai.graphcore with impossible geometry.
#include "case.h"

namespace poprt::hostile {
namespace {

Op microsoft(const std::string& type, std::vector<Operand> operands,
             std::vector<Attribute> attributes = {}, int outputs = 1) {
  return {type, std::move(operands), std::move(attributes), 17, outputs, "com.microsoft"};
}

}  // namespace

Cases contrib_cases() {
  return {
      reject("microsoft_unknown_operator", "com.microsoft.NoSuchOperator node",
             microsoft("NoSuchOperator", {in({2})})),
      reject("microsoft_attention_heads_0", "com.microsoft.Attention node",
             microsoft("Attention", {in({1, 4, 8}), in({8, 24}), in({24})},
                       {{"num_heads", int64_t{0}}})),
      reject("microsoft_attention_heads_negative", "com.microsoft.Attention node",
             microsoft("Attention", {in({1, 4, 8}), in({8, 24}), in({24})},
                       {{"num_heads", int64_t{-2}}})),
      reject("microsoft_attention_heads_do_not_divide", "com.microsoft.Attention node",
             microsoft("Attention", {in({1, 4, 8}), in({8, 24}), in({24})},
                       {{"num_heads", int64_t{3}}})),
      reject("microsoft_attention_weights", "com.microsoft.Attention node",
             microsoft("Attention", {in({1, 4, 8}), in({8, 25}), in({25})},
                       {{"num_heads", int64_t{2}}})),
      reject("microsoft_multi_head_attention_sizes", "com.microsoft.MultiHeadAttention node",
             microsoft("MultiHeadAttention", {in({1, 4, 8}), in({1, 5, 9}), in({1, 6, 8})},
                       {{"num_heads", int64_t{2}}})),
      reject("microsoft_multi_head_attention_heads_missing",
             "com.microsoft.MultiHeadAttention node",
             microsoft("MultiHeadAttention", {in({1, 4, 8}), in({1, 4, 8}), in({1, 4, 8})})),
      reject("microsoft_skip_layer_normalization_sizes",
             "com.microsoft.SkipLayerNormalization node",
             microsoft("SkipLayerNormalization", {in({1, 4, 8}), in({1, 4, 9}), in({8})})),
      reject("microsoft_embed_layer_normalization_sizes",
             "com.microsoft.EmbedLayerNormalization node",
             microsoft("EmbedLayerNormalization",
                       {in({1, 4}, kS32), in({1, 4}, kS32), in({10, 8}), in({2, 8}), in({2, 9}),
                        in({8}), in({8})},
                       {}, 2)),
      reject("microsoft_bias_gelu_sizes", "com.microsoft.BiasGelu node",
             microsoft("BiasGelu", {in({2, 8}), in({7})})),
      reject("microsoft_fused_matmul_sizes", "com.microsoft.FusedMatMul node",
             microsoft("FusedMatMul", {in({2, 3}), in({4, 5})})),
      reject("microsoft_matmul_n_bits_block_0", "com.microsoft.MatMulNBits node",
             microsoft("MatMulNBits", {in({1, 32}), in({4, 1, 16}, kU8), in({4})},
                       {{"K", int64_t{32}},
                        {"N", int64_t{4}},
                        {"bits", int64_t{4}},
                        {"block_size", int64_t{0}}})),
      reject("microsoft_matmul_n_bits_sizes", "com.microsoft.MatMulNBits node",
             microsoft("MatMulNBits", {in({1, 32}), in({4, 1, 16}, kU8), in({4})},
                       {{"K", int64_t{64}},
                        {"N", int64_t{4}},
                        {"bits", int64_t{4}},
                        {"block_size", int64_t{32}}})),
      reject("microsoft_matmul_n_bits_of_99", "com.microsoft.MatMulNBits node",
             microsoft("MatMulNBits", {in({1, 32}), in({4, 1, 16}, kU8), in({4})},
                       {{"K", int64_t{32}},
                        {"N", int64_t{4}},
                        {"bits", int64_t{99}},
                        {"block_size", int64_t{32}}})),
      reject("microsoft_qlinear_add_scales", "com.microsoft.QLinearAdd node",
             microsoft("QLinearAdd", {in({2, 3}, kU8), in({5}), in({1}, kU8), in({2, 3}, kU8),
                                      in({1}), in({1}, kU8), in({1}), in({1}, kU8)})),
      reject("microsoft_rotary_embedding_sizes", "com.microsoft.RotaryEmbedding node",
             microsoft("RotaryEmbedding",
                       {in({1, 4, 7}), in({1, 4}, kS64), in({16, 3}), in({16, 9})})),
      reject("microsoft_group_query_attention_heads", "com.microsoft.GroupQueryAttention node",
             microsoft("GroupQueryAttention",
                       {in({1, 1, 8}), in({1, 1, 8}), in({1, 1, 8}), in({1, 1, 4, 4}),
                        in({1, 1, 4, 4}), in({1}, kS32), in({1}, kS32)},
                       {{"num_heads", int64_t{3}}, {"kv_num_heads", int64_t{2}}}, 3)),
      reject("microsoft_group_query_attention_without_value",
             "key and value are given both or not at all",
             microsoft("GroupQueryAttention",
                       {in({1, 1, 8}), in({1, 1, 8}), none(), in({1, 2, 4, 4}), in({1, 2, 4, 4}),
                        in({1}, kS32), in({1}, kS32)},
                       {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}, 3)),
      reject("graphcore_unknown_operator",
             "operator NoSuchOperator of domain 'ai.graphcore' is not supported;",
             Op{"NoSuchOperator", {in({2})}, {}, 17, 1, "ai.graphcore"}),
      reject("poprt_unknown_operator",
             "operator NoSuchOperator of domain 'poprt' is not supported;",
             Op{"NoSuchOperator", {in({2})}, {}, 17, 1, "poprt"}),
  };
}

}  // namespace poprt::hostile

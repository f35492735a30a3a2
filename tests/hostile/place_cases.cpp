// Constant indices, lengths and positions outside of their tensors; windows and reflections that
// contain no element.
#include "case.h"

namespace poprt::hostile {
namespace {

Operand of32(const Dims& dims, const std::vector<int32_t>& values) {
  auto t = tensor(kS32, dims);
  t.set_raw_data(raw(values));
  return constant(t);
}
Operand of64(const Dims& dims, const Ints& values) {
  auto t = tensor(kS64, dims);
  t.set_raw_data(raw(values));
  return constant(t);
}
Operand of_floats(const Dims& dims, const Floats& values) {
  auto t = tensor(kFloat, dims);
  t.set_raw_data(raw(values));
  return constant(t);
}

const Operand kOneChannel = in({2, 1, 4, 4});

Op recurrent(const std::string& type, int64_t gates, const std::vector<int32_t>& lengths) {
  return {type,
          {in({3, 2, 3}), in({1, gates * 4, 3}), in({1, gates * 4, 4}), none(), of32({2}, lengths)},
          {{"hidden_size", int64_t{4}}}};
}
Op max_unpool(const Ints& indices) {
  return {
      "MaxUnpool", {in({1, 1, 1, 2}), of64({1, 1, 1, 2}, indices)}, {{"kernel_shape", Ints{2, 2}}}};
}
Op roi_align(int64_t batch) { return {"RoiAlign", {kOneChannel, in({1, 4}), of64({1}, {batch})}}; }
Op reverse_sequence(const Ints& lengths) {
  return {"ReverseSequence", {in({4, 2}), of64({2}, lengths)}};
}
Op tensor_scatter(const Ints& at, const std::string& mode) {
  return {"TensorScatter", {in({2, 4, 2}), in({2, 2, 2}), of64({2}, at)}, {{"mode", mode}}, 24};
}
Op rotary(const Dims& dims, const Ints& positions) {
  return microsoft("RotaryEmbedding",
                   {in({1, 4, 4}), of64(dims, positions), in({16, 1}), in({16, 1})},
                   {{"num_heads", int64_t{2}}});
}
Op group_query_attention(int32_t length) {
  return microsoft("GroupQueryAttention",
                   {in({1, 1, 8}), in({1, 1, 8}), in({1, 1, 8}), in({1, 2, 4, 4}), in({1, 2, 4, 4}),
                    of32({1}, {length}), of32({1}, {4})},
                   {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}, 3);
}
Op embeddings(const std::vector<int32_t>& ids, const std::vector<int32_t>& segments) {
  return microsoft("EmbedLayerNormalization",
                   {of32({1, 2}, ids), of32({1, 2}, segments), in({10, 4}), in({4, 4}), in({2, 4}),
                    in({4}), in({4})},
                   {}, 2);
}
Op pad(const std::string& mode, const Dims& dims, const Ints& pads, int64_t opset = 17) {
  return {"Pad", {in(dims), ints(pads)}, {{"mode", mode}}, opset};
}

Cases places() {
  return {
      reject("max_unpool_past_the_end", "index 99 is outside [0, 6)", max_unpool({0, 99})),
      reject("max_unpool_negative", "index -1 is outside [0, 6)", max_unpool({-1, 0})),
      reject("roi_align_past_the_batch", "batch index 2 is outside [0, 2)", roi_align(2)),
      reject("roi_align_before_the_batch", "batch index -1 is outside [0, 2)", roi_align(-1)),
      reject("max_roi_pool_past_the_batch", "batch index 5 is outside [0, 2)",
             Op{"MaxRoiPool",
                {kOneChannel, of_floats({1, 5}, {5, 0, 0, 1, 1})},
                {{"pooled_shape", Ints{2, 2}}}}),
      reject(
          "crop_and_resize_past_the_batch", "batch index 7 is outside [0, 2)",
          microsoft("CropAndResize", {kOneChannel, in({1, 4}), of32({1}, {7}), of32({2}, {2, 2})})),
      reject("reverse_sequence_too_long", "sequence length 5 is outside [0, 4]",
             reverse_sequence({5, 1})),
      reject("reverse_sequence_negative", "sequence length -1 is outside [0, 4]",
             reverse_sequence({4, -1})),
      reject("lstm_sequence_too_long", "sequence length 4 is outside [0, 3]",
             recurrent("LSTM", 4, {3, 4})),
      reject("lstm_sequence_negative", "sequence length -1 is outside [0, 3]",
             recurrent("LSTM", 4, {-1, 3})),
      reject("gru_sequence_too_long", "sequence length 9 is outside [0, 3]",
             recurrent("GRU", 3, {9, 1})),
      reject("rnn_sequence_too_long", "sequence length 9 is outside [0, 3]",
             recurrent("RNN", 1, {1, 9})),
      reject("scatter_past_the_end", "index 3 is outside [-3, 3) of axis 0",
             Op{"Scatter", {in({3}), ints({3}), in({1})}, {}, 9}),
      reject("scatter_elements_before_the_start", "index -4 is outside [-3, 3) of axis 0",
             Op{"ScatterElements", {in({3}), ints({-4}), in({1})}}),
      reject("gather_elements_before_the_start", "index -3 is outside [-2, 2) of axis 0",
             Op{"GatherElements", {in({2, 3}), of64({1, 3}, {0, 1, -3})}}),
      reject("gather_nd_behind_batch_dimensions", "index 4 is outside [-3, 3) of axis 1",
             Op{"GatherND", {in({2, 3}), of64({2, 1}, {0, 4})}, {{"batch_dims", int64_t{1}}}}),
      reject("microsoft_gather_nd_past_the_end", "index 9 is outside [-2, 2) of axis 0",
             microsoft("GatherND", {in({2, 3}), of64({1, 1}, {9})})),
      reject("compress_past_the_end", "the condition keeps element 3 of 3",
             Op{"Compress",
                {in({3}), constant(changed(tensor(kBool, {4}),
                                           [](auto& t) { t.set_raw_data(std::string(4, '\1')); }))},
                {{"axis", int64_t{0}}}}),
      reject("tensor_scatter_past_the_end", "write index 3 is outside [0, 2]",
             tensor_scatter({0, 3}, "linear")),
      reject("tensor_scatter_negative", "write index -1 is outside [0,",
             tensor_scatter({-1, 0}, "circular")),
      reject("loss_label_past_the_classes", "label 7 is outside [0, 3)",
             Op{"NegativeLogLikelihoodLoss", {in({2, 3}), of64({2}, {0, 7})}}),
      reject("cross_entropy_label_negative", "label -1 is outside [0, 3)",
             Op{"SoftmaxCrossEntropyLoss", {in({2, 3}), of64({2}, {0, -1})}}),
      reject("attention_more_keys_than_there_are", "nonpad_kv_seqlen 9 is outside [0, 4]",
             Op{"Attention",
                {in({1, 1, 4, 4}), in({1, 1, 4, 4}), in({1, 1, 4, 4}), none(), none(), none(),
                 of64({1}, {9})},
                {},
                24}),
      reject("rotary_position_past_the_table", "position 16 is outside [0, 16)",
             Op{"RotaryEmbedding",
                {in({1, 2, 4, 4}), in({16, 2}), in({16, 2}), of64({1, 4}, {0, 1, 2, 16})},
                {},
                23}),
      reject("microsoft_rotary_position_past_the_table", "position 90 is outside [0, 16)",
             rotary({1, 4}, {90, 1, 2, 3})),
      reject("microsoft_rotary_start_too_late", "position of the first token 13 is outside [0, 12]",
             rotary({1}, {13})),
      reject("group_query_attention_past_the_cache", "seqlens_k 4 is outside [0, 4)",
             group_query_attention(4)),
      reject("group_query_attention_negative", "seqlens_k -1 is outside [0, 4)",
             group_query_attention(-1)),
      reject("decoder_attention_past_the_cache", "past_sequence_length 4 is outside [0, 3]",
             microsoft("DecoderMaskedMultiHeadAttention",
                       {in({1, 1, 8}), in({1, 1, 8}), in({1, 1, 8}), none(), none(),
                        in({1, 2, 4, 4}), in({1, 2, 4, 4}), of32({1}, {4})},
                       {{"num_heads", int64_t{2}}, {"past_present_share_buffer", int64_t{1}}}, 3)),
      reject("embedding_past_the_words", "input id 99 is outside [0, 10)",
             embeddings({0, 99}, {0, 0})),
      reject("embedding_negative_word", "input id -1 is outside [0, 10)",
             embeddings({-1, 0}, {0, 0})),
      reject("embedding_past_the_segments", "segment id 2 is outside [0, 2)",
             embeddings({0, 1}, {0, 2})),
      reject("array_feature_past_the_end", "index 3 is outside [0, 3)",
             Op{"ArrayFeatureExtractor", {in({2, 3}), ints({3})}, {}, 17, 1, "ai.onnx.ml"}),
      reject("sequence_at_past_the_end", "SequenceAt node",
             [] {
               pb::ModelProto m = empty_model();
               auto& g = *m.mutable_graph();
               add_input(g, "x");
               *g.add_initializer() =
                   changed(ints_tensor({2}, "at"), [](auto& t) { t.clear_dims(); });
               add_node(g, "SequenceConstruct", {"x", "x"}, {"s"});
               add_node(g, "SequenceAt", {"s", "at"}, {"y"});
               add_output(g, "y");
               return m;
             }()),
      accept("max_unpool_last_place", max_unpool({0, 5})),
      accept("reverse_sequence_of_nothing", reverse_sequence({4, 0})),
      accept("lstm_sequence_of_nothing", recurrent("LSTM", 4, {3, 0})),
      accept("tensor_scatter_around_the_end", tensor_scatter({3, 0}, "circular")),
      accept("microsoft_rotary_last_start", rotary({1}, {12})),
      accept("group_query_attention_last_place", group_query_attention(3)),
      accept("embedding_of_the_last_word", embeddings({0, 9}, {0, 1})),
  };
}

Cases windows() {
  const Operand small = in({1, 4, 2, 2}), bytes = in({1, 4, 2, 2}, kU8);
  const Operand weights = in({4, 4, 3, 3});
  const std::string nothing = "no output is left on spatial axis 0: a kernel of 3 with dilation 1";
  const Attribute three = {"kernel_shape", Ints{3, 3}};
  return {
      reject("conv_kernel_larger_than_the_image", nothing, Op{"Conv", {small, weights}}),
      reject("conv_kernel_larger_than_the_padded_image", "the input has 2 with pads 0 and 0",
             Op{"Conv", {small, weights}, {{"auto_pad", std::string("VALID")}}}),
      reject("conv_dilation_larger_than_the_image",
             "a kernel of 3 with dilation 4 reaches over 9, the input has 8",
             Op{"Conv", {in({1, 4, 8, 8}), weights}, {{"dilations", Ints{4, 4}}}}),
      reject("conv_stride_over_nothing", nothing,
             Op{"Conv", {small, weights}, {{"strides", Ints{2, 2}}}}),
      reject("max_pool_larger_than_the_image", nothing, Op{"MaxPool", {small}, {three}}),
      reject("average_pool_larger_than_the_image", nothing, Op{"AveragePool", {small}, {three}}),
      reject("lp_pool_larger_than_the_image", nothing, Op{"LpPool", {small}, {three}}),
      reject("max_pool_dilated_past_the_image",
             "a kernel of 2 with dilation 2 reaches over 3, the input has 2",
             Op{"MaxPool", {small}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}}}),
      reject("conv_integer_larger_than_the_image", nothing,
             Op{"ConvInteger", {bytes, in({4, 4, 3, 3}, kU8)}}),
      reject("qlinear_conv_larger_than_the_image", nothing,
             Op{"QLinearConv",
                {bytes, in({}), in({}, kU8), in({4, 4, 3, 3}, kU8), in({}), in({}, kU8), in({}),
                 in({}, kU8)}}),
      reject("deform_conv_larger_than_the_image", nothing,
             Op{"DeformConv", {small, weights, in({1, 18, 1, 1})}, {}, 19}),
      reject("microsoft_fused_conv_larger_than_the_image", "no output is left on spatial axis 0",
             microsoft("FusedConv", {small, weights})),
      reject("microsoft_nhwc_max_pool_larger_than_the_image", nothing,
             microsoft("NhwcMaxPool", {in({1, 2, 2, 4}, kU8)}, {three})),
      reject("microsoft_qlinear_average_pool_larger_than_the_image",
             "no output is left on spatial axis 0",
             microsoft("QLinearAveragePool", {bytes, in({}), in({}, kU8), in({}), in({}, kU8)},
                       {three})),
      reject("conv_transpose_all_cut_off",
             "pads are larger than the output: none of 4 is left on spatial axis 0",
             Op{"ConvTranspose", {small, weights}, {{"pads", Ints{2, 2, 2, 2}}}}),
      reject("max_unpool_all_cut_off", "no output is left on spatial axis 0",
             Op{"MaxUnpool",
                {in({1, 1, 1, 1}), in({1, 1, 1, 1}, kS64)},
                {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}}),
      reject("pad_reflects_more_than_there_is",
             "a pad of 3 on axis 0 is too large: mode reflect has 2 elements without the edge",
             pad("reflect", {3}, {3, 0})),
      reject("pad_reflects_more_than_there_is_behind",
             "a pad of 5 on axis 1 is too large: mode reflect has 2 elements",
             pad("reflect", {2, 3}, {0, 0, 0, 5})),
      reject("pad_reflects_more_than_is_left",
             "a pad of 2 on axis 0 is too large: mode reflect has 1 elements",
             pad("reflect", {4}, {-2, 2})),
      reject("pad_reflects_in_an_attribute",
             "a pad of 3 on axis 0 is too large: mode reflect has 2 elements",
             Op{"Pad", {in({3})}, {{"mode", std::string("reflect")}, {"pads", Ints{3, 0}}}, 10}),
      reject("pad_wraps_nothing", "mode 'wrap' needs elements, axis 0",
             pad("wrap", {0}, {1, 0}, 19)),
      reject("pad_edge_of_what_is_cut_off", "mode 'edge' needs elements, axis 0",
             pad("edge", {3}, {-3, 2})),
      reject("microsoft_pad_reflects_more_than_there_is", "a pad of 3 on axis 0 is too large",
             microsoft("Pad", {in({3}), ints({3, 0})}, {{"mode", std::string("reflect")}})),
      accept("pad_reflects_all", pad("reflect", {3}, {2, 2})),
      accept("pad_wraps_around_twice", pad("wrap", {3}, {7, 0}, 19)),
      accept("conv_of_an_empty_image", Op{"Conv", {in({1, 4, 0, 2}), in({4, 4, 1, 1})}}),
      accept("max_pool_of_a_part_of_a_window",
             Op{"MaxPool", {small}, {three, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}}),
  };
}

}  // namespace

Cases place_cases() {
  Cases all = places();
  for (Case& c : windows()) all.push_back(std::move(c));
  return all;
}

}  // namespace poprt::hostile

// Attributes that are out of range, contradict each other, or have another type than they declare.
#include <limits>

#include "case.h"

namespace poprt::hostile {
namespace {

const Operand kImage = in({1, 4, 8, 8});
const Operand kWeights = in({4, 4, 3, 3});

Op conv(std::vector<Attribute> attributes) {
  return {"Conv", {kImage, kWeights}, std::move(attributes)};
}
Op max_pool(std::vector<Attribute> attributes) {
  return {"MaxPool", {kImage}, std::move(attributes)};
}
Op transpose(const Ints& perm) { return {"Transpose", {in({2, 3, 4})}, {{"perm", perm}}}; }
Op with_axis(const std::string& type, int64_t axis, int64_t opset = 17) {
  return {type, {in({2, 3})}, {{"axis", axis}}, opset};
}
Op lstm(std::vector<Attribute> attributes) {
  return {"LSTM", {in({5, 1, 3}), in({1, 16, 3}), in({1, 16, 4})}, std::move(attributes)};
}
Op resize(std::vector<Attribute> attributes) {
  return {"Resize", {kImage, none(), floats({1, 1, 2, 2})}, std::move(attributes)};
}
Op einsum(const std::string& equation) {
  return {"Einsum", {in({2, 3}), in({3, 4})}, {{"equation", equation}}};
}

// LeakyRelu whose attribute `alpha` is filled by `fill`, for example with a wrong type.
template <class Fill>
pb::ModelProto malformed(Fill&& fill) {
  pb::ModelProto m = relu_model();
  auto& n = *m.mutable_graph()->mutable_node(0);
  n.set_op_type("LeakyRelu");
  auto& a = *n.add_attribute();
  a.set_name("alpha");
  fill(a, n);
  return m;
}
using A = pb::AttributeProto&;
using N = pb::NodeProto&;

}  // namespace

Cases attribute_cases() {
  return {
      reject_if_strict("conv_unknown_attribute",
                       "Conv has no attribute 'foo' in opset 17; its attributes are:",
                       model_of(conv({{"foo", int64_t{2}}}))),
      reject_if_strict(
          "gather_attribute_of_another_framework", "Gather has no attribute 'batch_dims'",
          model_of(Op{"Gather", {in({2, 3}), ints({0})}, {{"batch_dims", int64_t{1}}}})),
      reject("reshape_attribute_of_a_later_opset", "opset 14 on has it: convert the model",
             Op{"Reshape", {in({2, 3}), ints({3, 2})}, {{"allowzero", int64_t{1}}}, 13}),
      reject("conv_stride_0", "kernel_shape, strides and dilations must be positive",
             conv({{"strides", Ints{0, 1}}})),
      reject("conv_stride_negative", "kernel_shape, strides and dilations must be positive",
             conv({{"strides", Ints{-1, 1}}})),
      reject("conv_stride_count",
             "kernel_shape, strides, dilations or pads do not fit the input's rank",
             conv({{"strides", Ints{1, 1, 1}}})),
      reject("conv_dilation_0", "kernel_shape, strides and dilations must be positive",
             conv({{"dilations", Ints{0, 1}}})),
      reject("conv_dilation_huge", "kernel_shape, strides and dilations must be positive",
             conv({{"dilations", Ints{kMax, 1}}})),
      reject("conv_kernel_0", "kernel_shape [0,3] differs from the weights' [3,3]",
             conv({{"kernel_shape", Ints{0, 3}}})),
      reject("conv_kernel_negative", "kernel_shape [?,?] differs from the weights' [3,3]",
             conv({{"kernel_shape", Ints{-3, -3}}})),
      reject("conv_kernel_is_not_that_of_the_weights",
             "kernel_shape [5,5] differs from the weights' [3,3]",
             conv({{"kernel_shape", Ints{5, 5}}})),
      reject("conv_group_0", "input [1,4,8,8] in 0 groups does not fit weights [4,4,3,3]",
             conv({{"group", int64_t{0}}})),
      reject("conv_group_negative", "input [1,4,8,8] in -4 groups does not fit weights [4,4,3,3]",
             conv({{"group", int64_t{-4}}})),
      reject("conv_group_does_not_divide",
             "input [1,4,8,8] in 3 groups does not fit weights [4,4,3,3]",
             conv({{"group", int64_t{3}}})),
      reject("conv_group_smallest",
             "input [1,4,8,8] in -9223372036854775808 groups does not fit weights",
             conv({{"group", kMin}})),
      reject("conv_pads_negative", "pads -1 are negative", conv({{"pads", Ints{-1, -1, -1, -1}}})),
      reject("conv_pads_count",
             "kernel_shape, strides, dilations or pads do not fit the input's rank",
             conv({{"pads", Ints{1, 1}}})),
      reject("conv_pads_overflow", "pads are out of range",
             conv({{"pads", Ints{kMax, kMax, kMax, kMax}}})),
      reject("conv_auto_pad_unknown", "auto_pad 'SAME' is unknown",
             conv({{"auto_pad", std::string("SAME")}})),
      reject("conv_of_a_matrix", "input [4,4] has no spatial dimension",
             Op{"Conv", {in({4, 4}), in({4, 4})}}),
      reject("conv_of_a_scalar", "input [] has no spatial dimension", Op{"Conv", {in({}), in({})}}),
      reject("conv_weights_of_no_channels",
             "input [1,4,8,8] in 1 groups does not fit weights [4,0,3,3]",
             Op{"Conv", {kImage, in({4, 0, 3, 3})}}),
      reject("conv_kernel_of_no_size", "kernel_shape, strides and dilations must be positive",
             Op{"Conv", {kImage, in({4, 4, 0, 0})}}),
      reject("conv_bias_count", "bias [5] does not fit", Op{"Conv", {kImage, kWeights, in({5})}}),
      reject("conv_transpose_output_padding",
             "output_padding must be less than the stride or the dilation",
             Op{"ConvTranspose", {kImage, kWeights}, {{"output_padding", Ints{-9, -9}}}}),
      reject("conv_transpose_stride_0", "kernel_shape, strides and dilations must be positive",
             Op{"ConvTranspose", {kImage, kWeights}, {{"strides", Ints{0, 0}}}}),
      reject("conv_transpose_output_shape", "pads are larger than the output",
             Op{"ConvTranspose", {kImage, kWeights}, {{"output_shape", Ints{-5, 3}}}}),
      reject("max_pool_without_kernel",
             "kernel_shape, strides, dilations or pads do not fit the input's rank", max_pool({})),
      reject("max_pool_kernel_0", "kernel_shape, strides and dilations must be positive",
             max_pool({{"kernel_shape", Ints{0, 0}}})),
      reject("max_pool_kernel_huge", "kernel_shape, strides and dilations must be positive",
             max_pool({{"kernel_shape", Ints{kMax, kMax}}})),
      reject("max_pool_stride_0", "kernel_shape, strides and dilations must be positive",
             max_pool({{"kernel_shape", Ints{2, 2}}, {"strides", Ints{0, 0}}})),
      reject("max_pool_pads_overflow", "pads are out of range",
             max_pool({{"kernel_shape", Ints{2, 2}}, {"pads", Ints{kMax, 0, kMax, 0}}})),
      reject("max_pool_storage_order", "storage_order is 7",
             max_pool({{"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t{7}}})),
      reject(
          "average_pool_stride_negative", "kernel_shape, strides and dilations must be positive",
          Op{"AveragePool", {kImage}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{-1, -1}}}}),
      reject("lp_pool_p_0", "p is 0, expected 1 or more",
             Op{"LpPool", {kImage}, {{"kernel_shape", Ints{2, 2}}, {"p", int64_t{0}}}}),
      reject("transpose_repeats", "perm is not a permutation", transpose({0, 0, 1})),
      reject("transpose_out_of_range", "perm is not a permutation", transpose({0, 1, 3})),
      reject("transpose_negative", "perm is not a permutation", transpose({0, 1, -1})),
      reject("transpose_count", "perm has 2 axes, the input has rank 3", transpose({1, 0})),
      reject("transpose_huge", "perm is not a permutation", transpose({0, 1, kMax})),
      reject("concat_without_axis", "attribute 'axis' is missing",
             Op{"Concat", {in({2}), in({2})}}),
      reject("concat_axis", "axis 1 is outside [-1, 1)",
             Op{"Concat", {in({2}), in({2})}, {{"axis", int64_t{1}}}}),
      reject("concat_axis_smallest", "axis -9223372036854775808 is outside [-1, 1)",
             Op{"Concat", {in({2}), in({2})}, {{"axis", kMin}}}),
      reject("concat_shapes_differ", "input 1 is [2,4]: dimension 1 should be 3",
             Op{"Concat", {in({2, 3}), in({2, 4})}, {{"axis", int64_t{0}}}}),
      reject("concat_of_scalars", "axis 0 is outside [0, 0)",
             Op{"Concat", {in({}), in({})}, {{"axis", int64_t{0}}}}),
      reject("softmax_axis", "axis 2 is outside [-2, 2)", with_axis("Softmax", 2)),
      reject("softmax_axis_negative", "axis -3 is outside [-2, 2)", with_axis("Softmax", -3)),
      reject("softmax_axis_largest", "axis 9223372036854775807 is outside [-2, 2)",
             with_axis("Softmax", kMax)),
      reject("flatten_axis", "axis 5 is outside [-2, 2]", with_axis("Flatten", 5)),
      reject("arg_max_axis", "axis 2 is outside [-2, 2)", with_axis("ArgMax", 2)),
      reject("hardmax_axis", "axis -5 is outside [-2, 2)", with_axis("Hardmax", -5)),
      reject("layer_normalization_axis", "axis 4 is outside [-2, 2)",
             Op{"LayerNormalization", {in({2, 3}), in({3})}, {{"axis", int64_t{4}}}}),
      reject("layer_normalization_scale", "input 1 is [7], which does not broadcast to [2,3]",
             Op{"LayerNormalization", {in({2, 3}), in({7})}}),
      reject("gather_axis", "axis 2 is outside [-2, 2)",
             Op{"Gather", {in({2, 3}), ints({0})}, {{"axis", int64_t{2}}}}),
      reject("reduce_axes", "axis 2 is outside [-2, 2)",
             Op{"ReduceMean", {in({2, 3})}, {{"axes", Ints{2}}}}),
      either("reduce_axes_repeat", Op{"ReduceMean", {in({2, 3})}, {{"axes", Ints{0, -2}}}}),
      reject("squeeze_of_no_1", "axis 0 of [2,3] is not 1",
             Op{"Squeeze", {in({2, 3})}, {{"axes", Ints{0}}}, 11}),
      reject("unsqueeze_axes_repeat", "axis 0 is given twice",
             Op{"Unsqueeze", {in({2, 3})}, {{"axes", Ints{0, 0}}}, 11}),
      reject("unsqueeze_axes", "axis 9 is outside [-3, 3)",
             Op{"Unsqueeze", {in({2, 3})}, {{"axes", Ints{9}}}, 11}),
      reject("split_axis", "axis 9 is outside [-2, 2)",
             Op{"Split", {in({4, 4})}, {{"axis", int64_t{9}}}, 17, 2}),
      reject("split_sum", "split sizes sum to 3, dimension 0 is 4",
             Op{"Split", {in({4, 4})}, {{"split", Ints{1, 2}}}, 11, 2}),
      reject("split_negative", "split size -1 of 4",
             Op{"Split", {in({4, 4})}, {{"split", Ints{-1, 5}}}, 11, 2}),
      reject("cast_without_to", "attribute to is 0, expected the number of an element type",
             Op{"Cast", {in({2})}}),
      reject("cast_to_0", "attribute to is 0, expected the number of an element type",
             Op{"Cast", {in({2})}, {{"to", int64_t{0}}}}),
      reject("cast_to_99", "attribute to is 99, expected the number of an element type",
             Op{"Cast", {in({2})}, {{"to", int64_t{99}}}}),
      reject("cast_to_past_32_bits",
             "attribute to is 4294967297, expected the number of an element type",
             Op{"Cast", {in({2})}, {{"to", (int64_t{1} << 32) + 1}}}),
      reject("depth_to_space_block_0", "blocksize 0 is out of range",
             Op{"DepthToSpace", {kImage}, {{"blocksize", int64_t{0}}}}),
      reject("depth_to_space_block_negative", "blocksize -2 is out of range",
             Op{"DepthToSpace", {kImage}, {{"blocksize", int64_t{-2}}}}),
      reject("depth_to_space_block_does_not_divide",
             "4 channels are not a multiple of blocksize * blocksize = 9",
             Op{"DepthToSpace", {kImage}, {{"blocksize", int64_t{3}}}}),
      reject("depth_to_space_block_overflows", "blocksize 8589934592 is out of range",
             Op{"DepthToSpace", {kImage}, {{"blocksize", int64_t{1} << 33}}}),
      reject("space_to_depth_block_0", "blocksize 0 is out of range",
             Op{"SpaceToDepth", {kImage}, {{"blocksize", int64_t{0}}}}),
      reject("lrn_size_0", "size must be at least 1", Op{"LRN", {kImage}, {{"size", int64_t{0}}}}),
      reject("lrn_size_negative", "size must be at least 1",
             Op{"LRN", {kImage}, {{"size", int64_t{-3}}}}),
      reject("einsum_garbage",
             "equation 'this is no equation': the equation and the node have different numbers of "
             "operands",
             einsum("this is no equation")),
      reject("einsum_empty",
             "equation '': the equation and the node have different numbers of operands",
             einsum("")),
      reject("einsum_sizes_differ", "equation 'ij,ik->jk': a label has two different sizes",
             einsum("ij,ik->jk")),
      reject("einsum_rank", "equation 'ijk,jk->ik': a term and its operand have different ranks",
             einsum("ijk,jk->ik")),
      reject("einsum_unknown_output",
             "equation 'ij,jk->iz': the result has an unknown or repeated label",
             einsum("ij,jk->iz")),
      reject("einsum_operand_count",
             "equation 'ij->ji': the equation and the node have different numbers of operands",
             einsum("ij->ji")),
      reject("einsum_of_10000_letters", "equation", einsum(std::string(10000, 'i') + ",jk->ik")),
      reject(
          "group_normalization_groups_0", "4 channels do not divide into 0 groups",
          Op{"GroupNormalization", {kImage, in({4}), in({4})}, {{"num_groups", int64_t{0}}}, 21}),
      reject(
          "group_normalization_groups_do_not_divide", "4 channels do not divide into 3 groups",
          Op{"GroupNormalization", {kImage, in({4}), in({4})}, {{"num_groups", int64_t{3}}}, 21}),
      reject("batch_normalization_channels", "input 3 is [3], expected [4]",
             Op{"BatchNormalization", {kImage, in({4}), in({4}), in({3}), in({4})}}),
      reject("batch_normalization_training_channels", "input 4 is [1], expected [4]",
             Op{"BatchNormalization",
                {kImage, in({4}), in({4}), in({4}), in({1})},
                {{"training_mode", int64_t{1}}}}),
      reject("instance_normalization_channels", "input 1 has 9 elements, expected 4 or 1",
             Op{"InstanceNormalization", {kImage, in({9}), in({9})}}),
      reject("lstm_hidden_size_0", "hidden_size is 0, R is [1,16,4]",
             lstm({{"hidden_size", int64_t{0}}})),
      reject("lstm_hidden_size_differs", "hidden_size is 5, R is [1,16,4]",
             lstm({{"hidden_size", int64_t{5}}})),
      reject("lstm_direction", "direction 'sideways' is unknown",
             lstm({{"hidden_size", int64_t{4}}, {"direction", std::string("sideways")}})),
      reject("lstm_layout", "layout is 2",
             lstm({{"hidden_size", int64_t{4}}, {"layout", int64_t{2}}})),
      reject(
          "gru_weights", "input 1 should be [1,12,3], found [1,7,3]",
          Op{"GRU", {in({5, 1, 3}), in({1, 7, 3}), in({1, 7, 4})}, {{"hidden_size", int64_t{4}}}}),
      reject("resize_mode", "mode 'magic' is unknown", resize({{"mode", std::string("magic")}})),
      reject("resize_coordinates", "coordinate_transformation_mode 'magic' is unknown",
             resize({{"coordinate_transformation_mode", std::string("magic")}})),
      reject("resize_nearest", "nearest_mode 'magic' is unknown",
             resize({{"mode", std::string("nearest")}, {"nearest_mode", std::string("magic")}})),
      reject("top_k_axis", "axis 7 is outside [-2, 2)",
             Op{"TopK", {in({2, 3}), ints({1})}, {{"axis", int64_t{7}}}, 17, 2}),
      reject("one_hot_axis", "axis 5 is outside [-2, 2)",
             Op{"OneHot", {in({2}, kS64), int_scalar(3), floats({0, 1})}, {{"axis", int64_t{5}}}}),
      reject("roi_align_height_0", "kernel roi_align: oh is 0, expected 1 to",
             Op{"RoiAlign", {kImage, in({2, 4}), in({2}, kS64)}, {{"output_height", int64_t{0}}}}),
      reject("roi_align_mode", "mode 'min'",
             Op{"RoiAlign", {kImage, in({2, 4}), in({2}, kS64)}, {{"mode", std::string("min")}}}),
      reject("grid_sample_mode", "mode 'magic'",
             Op{"GridSample", {kImage, in({1, 2, 2, 2})}, {{"mode", std::string("magic")}}}),
      reject("grid_sample_grid", "grid [1,2,2,5] does not fit input [1,4,8,8]",
             Op{"GridSample", {kImage, in({1, 2, 2, 5})}}),
      reject("constant_of_shape_two_values", "value should be a tensor of one element",
             Op{"ConstantOfShape", {ints({2})}, {{"value", ints_tensor({1, 2})}}}),
      reject("bit_shift_direction", "direction is 'UP', expected LEFT or RIGHT",
             Op{"BitShift", {in({2}, kU8), in({2}, kU8)}, {{"direction", std::string("UP")}}}),
      reject("mod_of_floats_needs_fmod", "need fmod=1 before opset 28",
             Op{"Mod", {in({2}), in({2})}}),
      reject("gemm_shapes", "A [2,3] does not fit B [4,5]", Op{"Gemm", {in({2, 3}), in({4, 5})}}),
      reject("matmul_shapes", "[2,3] does not fit [4,5]", Op{"MatMul", {in({2, 3}), in({4, 5})}}),
      reject("matmul_of_scalars", "operands must have a dimension", Op{"MatMul", {in({}), in({})}}),
      reject("quantize_axis", "scale [3] does not fit input [2,3] on axis 7, block 0",
             Op{"QuantizeLinear", {in({2, 3}), in({3}), in({3}, kU8)}, {{"axis", int64_t{7}}}}),
      reject("quantize_scale_count", "scale [5] does not fit input [2,3] on axis 1, block 0",
             Op{"QuantizeLinear", {in({2, 3}), in({5}), in({5}, kU8)}, {{"axis", int64_t{1}}}}),
      reject("quantize_zero_point_count", "zero point [2] does not fit scale [3]",
             Op{"QuantizeLinear", {in({2, 3}), in({3}), in({2}, kU8)}, {{"axis", int64_t{1}}}}),
      reject(
          "dequantize_block_negative", "does not fit input [2,4]",
          Op{"DequantizeLinear", {in({2, 4}, kU8), in({2, 2})}, {{"block_size", int64_t{-2}}}, 21}),
      reject(
          "dequantize_block_does_not_fit", "does not fit input [2,4]",
          Op{"DequantizeLinear", {in({2, 4}, kU8), in({2, 2})}, {{"block_size", int64_t{8}}}, 21}),
      reject("qlinear_conv_scale_count", "scale [3] must have one element or 4",
             Op{"QLinearConv",
                {in({1, 4, 8, 8}, kU8), in({1}), in({1}, kU8), in({4, 4, 3, 3}, kU8), in({3}),
                 in({3}, kU8), in({1}), in({1}, kU8)}}),
      reject("scatter_reduction", "reduction 'xor' is unknown",
             Op{"ScatterElements",
                {in({3}), ints({0}), in({1})},
                {{"reduction", std::string("xor")}},
                18}),
      reject("pad_mode", "mode 'magic' is unknown",
             Op{"Pad", {in({3}), ints({1, 1})}, {{"mode", std::string("magic")}}}),
      reject("max_unpool_shapes", "indices must be s64 in the shape of the input",
             Op{"MaxUnpool",
                {in({1, 1, 2, 2}), in({1, 1, 3, 3}, kS64)},
                {{"kernel_shape", Ints{2, 2}}}}),
      reject("random_normal_shape_negative", "shape [?,2] has a negative dimension",
             Op{"RandomNormal", {}, {{"shape", Ints{-1, 2}}}}),
      reject("dft_axis", "axis 9 is outside [-3, 3)",
             Op{"DFT", {in({1, 4, 1})}, {{"axis", int64_t{9}}}}),
      reject("tf_idf_without_pool", "kernel tf_idf: lengths is 0, expected 1 to 64",
             Op{"TfIdfVectorizer", {in({4}, kS64)}, {{"mode", std::string("TF")}}}),
      reject("mel_weight_matrix_of_floats", "expected an integer tensor, found f32",
             Op{"MelWeightMatrix",
                {floats({8}), floats({8}), floats({8}), float_scalar(0), float_scalar(1)}}),
      reject("attention_heads_do_not_divide",
             "hidden sizes do not divide into heads; Q [1,4,6], K [1,4,6], V [1,4,6]",
             Op{"Attention",
                {in({1, 4, 6}), in({1, 4, 6}), in({1, 4, 6})},
                {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{4}}},
                23}),
      reject("attention_heads_0",
             "q_num_heads and kv_num_heads are required; Q [1,4,6], K [1,4,6], V",
             Op{"Attention",
                {in({1, 4, 6}), in({1, 4, 6}), in({1, 4, 6})},
                {{"q_num_heads", int64_t{0}}, {"kv_num_heads", int64_t{0}}},
                23}),
      reject("unknown_attribute_type",
             "attribute 'alpha': its type is GRAPH, it holds a value of type FLOAT",
             malformed([](A a, N) {
               a.set_type(static_cast<pb::AttributeProto::AttributeType>(5));
               a.set_f(1);
             })),
      reject("attribute_says_int_holds_float",
             "attribute 'alpha': its type is INT, it holds a value of type FLOAT",
             malformed([](A a, N) {
               a.set_type(pb::AttributeProto::INT);
               a.set_f(1);
             })),
      reject("attribute_says_float_holds_floats",
             "attribute 'alpha': its type is FLOAT, it holds a value of type FLOATS",
             malformed([](A a, N) {
               a.set_type(pb::AttributeProto::FLOAT);
               a.add_floats(1);
             })),
      reject("attribute_holds_int_where_float_is_meant", "attribute 'alpha' should be a float",
             malformed([](A a, N) {
               a.set_type(pb::AttributeProto::INT);
               a.set_i(1);
             })),
      reject("attribute_holds_two_values",
             "attribute 'alpha': its type is FLOAT, it holds a value of type INT",
             malformed([](A a, N) {
               a.set_type(pb::AttributeProto::FLOAT);
               a.set_f(1);
               a.set_i(1);
             })),
      reject("attribute_twice", "attribute 'alpha': it is given twice", malformed([](A a, N n) {
               a.set_type(pb::AttributeProto::FLOAT);
               a.set_f(1);
               *n.add_attribute() = a;
             })),
      reject("attribute_without_name", "attribute '': it has no name", malformed([](A a, N) {
               a.set_name("");
               a.set_type(pb::AttributeProto::FLOAT);
               a.set_f(1);
             })),
      reject("attribute_is_a_graph", "attribute 'alpha' should be a float", malformed([](A a, N) {
               a.set_type(pb::AttributeProto::GRAPH);
               a.mutable_g()->set_name("g");
             })),
      reject("attribute_tensor_is_broken",
             "attribute 'alpha': a f32 tensor [1000] needs 1000 elements, it has no",
             malformed([](A a, N) {
               a.set_type(pb::AttributeProto::TENSOR);
               *a.mutable_t() = tensor(kFloat, {1000});
             })),
  };
}

}  // namespace poprt::hostile

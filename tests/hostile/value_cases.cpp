// Constants whose values make no sense to the operator that reads them.
#include <cmath>
#include <limits>

#include "case.h"

namespace poprt::hostile {
namespace {

Op reshape(const Ints& shape) { return {"Reshape", {in({2, 3}), ints(shape)}}; }
Op slice(const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
  return {"Slice", {in({4, 4}), ints(starts), ints(ends), ints(axes), ints(steps)}};
}
Op pad(const Ints& pads) { return {"Pad", {in({2, 3}), ints(pads)}}; }
Op resize_scales(const Floats& scales) {
  return {"Resize", {in({1, 1, 4, 4}), none(), floats(scales)}};
}
Op resize_sizes(const Ints& sizes) {
  return {"Resize", {in({1, 1, 4, 4}), none(), none(), ints(sizes)}};
}
template <class T>
Operand of(int type, const std::vector<T>& values) {
  auto t = tensor(type, {static_cast<int64_t>(values.size())});
  t.set_raw_data(raw(values));
  return constant(t);
}
Operand indices(const Dims& dims, const Ints& values) {
  auto t = tensor(kS64, dims);
  t.set_raw_data(raw(values));
  return constant(t);
}
Operand strings(const std::vector<std::string>& values) {
  auto t = tensor(kString, {static_cast<int64_t>(values.size())});
  for (const auto& v : values) t.add_string_data(v);
  return constant(t);
}

}  // namespace

Cases value_cases() {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  return {
      reject("reshape_minus_2", "dimension 0 of the new shape is -2", reshape({-2, 3})),
      reject("reshape_minus_1_twice", "the new shape [?,?] has more than one -1",
             reshape({-1, -1})),
      reject("reshape_does_not_divide", "an input [2,3] cannot take the shape [4,?]",
             reshape({4, -1})),
      reject("reshape_other_count", "an input [2,3] of 6 elements cannot take the shape [7]",
             reshape({7})),
      reject("reshape_0_of_no_dimension",
             "dimension 2 of the new shape is 0 but the input [2,3] has none to keep",
             reshape({2, 3, 0})),
      reject("reshape_overflows", "shape: 4294967296 * 4294967296 overflows",
             reshape({int64_t{1} << 32, int64_t{1} << 32})),
      reject("reshape_wraps_to_the_right_count",
             "dimension 1 of the new shape is -9223372036854775808", reshape({6, kMin, 2, 1})),
      reject("reshape_by_a_matrix", "should be a list",
             Op{"Reshape", {in({2, 3}), indices({1, 2}, {3, 2})}}),
      reject("reshape_by_floats", "expected an integer tensor, found f32",
             Op{"Reshape", {in({2, 3}), floats({3, 2})}}),
      reject("reshape_to_65_dimensions", "an input [2,3] of 6 elements cannot take the shape",
             reshape(Ints(65, 1))),
      reject("reshape_by_a_run_time_value",
             "the shape of 'out0' is f32[?,?] and depends on run-time values; the",
             Op{"Reshape", {in({2, 3}), in({2}, kS64)}}),
      reject("slice_step_0", "the step of axis 0 is 0", slice({0}, {4}, {0}, {0})),
      reject("slice_counts_differ", "starts, ends, axes and steps have 2, 1, 1 and 1 entries",
             slice({0, 0}, {4}, {0}, {1})),
      reject("slice_axes_repeat", "axis 0 is given twice", slice({0, 0}, {4, 4}, {0, 0}, {1, 1})),
      reject("slice_axis", "axis 2 is outside [-2, 2)", slice({0}, {4}, {2}, {1})),
      reject("slice_axis_smallest", "axis -9223372036854775808 is outside [-2, 2)",
             slice({0}, {4}, {kMin}, {1})),
      accept("slice_extremes_clamp", slice({kMax}, {kMin}, {0}, {-1})),
      accept("slice_step_smallest", slice({kMax}, {kMin}, {0}, {kMin})),
      accept("slice_step_largest", slice({0}, {kMax}, {0}, {kMax})),
      reject("pad_count", "2 pads for 2 axes", pad({1, 1})),
      reject("pad_removes_too_much", "pads -3 and 0 remove more than dimension 0 of [2,3]",
             pad({-3, 0, 0, 0})),
      reject("pad_smallest", "a pad of -9223372036854775808 is out of range",
             pad({kMin, 0, kMin, 0})),
      reject("pad_overflows", "a pad of 9223372036854775807 is out of range",
             pad({kMax, 0, kMax, 0})),
      reject("pad_edge_of_nothing", "mode 'edge' needs elements, axis 0",
             Op{"Pad", {in({0, 3}), ints({1, 0, 1, 0})}, {{"mode", std::string("edge")}}}),
      reject("split_sums_differ", "split sizes sum to 3, dimension 0 is 4",
             Op{"Split", {in({4}), ints({1, 2})}, {}, 17, 2}),
      reject("split_negative_constant", "split size -4 of 4",
             Op{"Split", {in({4}), ints({-4, 8})}, {}, 17, 2}),
      reject("split_count_differs", "split has 3 sizes, the node has 2 outputs",
             Op{"Split", {in({4}), ints({2, 1, 1})}, {}, 17, 2}),
      reject("split_overflows", "split size 9223372036854775807 of 4",
             Op{"Split", {in({4}), ints({kMax, kMin + 5})}, {}, 17, 2}),
      reject("expand_does_not_broadcast", "shapes [2,3] and [2,4] do not broadcast: 3 against 4",
             Op{"Expand", {in({2, 3}), ints({2, 4})}}),
      reject("expand_negative", "the shape [?,3] has a negative dimension",
             Op{"Expand", {in({2, 3}), ints({-2, 3})}}),
      reject("tile_negative", "repeat -1 is negative", Op{"Tile", {in({2, 3}), ints({-1, 1})}}),
      reject("tile_count", "1 repeats for a rank of 2", Op{"Tile", {in({2, 3}), ints({1})}}),
      reject("tile_overflows", "shape: 2 * 9223372036854775807 overflows",
             Op{"Tile", {in({2, 3}), ints({kMax, kMax})}}),
      reject("gather_past_the_end", "index 2 is outside [-2, 2) of axis 0",
             Op{"Gather", {in({2, 3}), ints({2})}}),
      reject("gather_before_the_start", "index -3 is outside [-2, 2) of axis 0",
             Op{"Gather", {in({2, 3}), ints({-3})}}),
      reject("gather_smallest", "index -9223372036854775808 is outside [-2, 2) of axis 0",
             Op{"Gather", {in({2, 3}), ints({kMin})}}),
      reject("gather_from_nothing", "index 0 is outside [0, 0) of axis 0",
             Op{"Gather", {in({0, 3}), ints({0})}}),
      reject("gather_constants_past_the_end", "index 9 is outside [-2, 2) of axis 0",
             Op{"Gather", {ints({1, 2}), ints({9})}}),
      reject("gather_elements_past_the_end", "index 2 is outside [-2, 2) of axis 0",
             Op{"GatherElements", {in({2, 3}), indices({1, 3}, {0, 1, 2})}}),
      reject("gather_nd_past_the_end", "index 3 is outside [-3, 3) of axis 1",
             Op{"GatherND", {in({2, 3}), indices({1, 2}, {0, 3})}}),
      reject("gather_nd_too_many_indices", "index tuples have 3 entries, data is [2,3]",
             Op{"GatherND", {in({2, 3}), indices({1, 3}, {0, 0, 0})}}),
      reject("gather_nd_batch_dims", "batch_dims 5 does not fit data [2,3] and indices [2,1]",
             Op{"GatherND", {in({2, 3}), indices({2, 1}, {0, 0})}, {{"batch_dims", int64_t{5}}}}),
      reject("scatter_elements_past_the_end", "index 3 is outside [-3, 3) of axis 0",
             Op{"ScatterElements", {in({3}), ints({3}), in({1})}}),
      reject("scatter_nd_past_the_end", "index -4 is outside [-3, 3) of axis 0",
             Op{"ScatterND", {in({3}), indices({1, 1}, {-4}), in({1})}}),
      reject("scatter_nd_updates", "updates should be [1], found [7]",
             Op{"ScatterND", {in({3}), indices({1, 1}, {0}), in({7})}}),
      reject("one_hot_depth_negative", "depth is -1",
             Op{"OneHot", {in({2}, kS64), int_scalar(-1), floats({0, 1})}}),
      reject("one_hot_values", "values should be [off, on], found [3]",
             Op{"OneHot", {in({2}, kS64), int_scalar(3), floats({0, 1, 2})}}),
      reject("range_delta_0", "delta is 0",
             Op{"Range", {int_scalar(0), int_scalar(5), int_scalar(0)}}),
      reject("range_delta_nan", "elements are too many",
             Op{"Range", {float_scalar(0), float_scalar(5), float_scalar(nan)}}),
      reject("range_limit_infinite", "inf elements are too many",
             Op{"Range", {float_scalar(0), float_scalar(infinity), float_scalar(1)}}),
      reject("top_k_too_many", "k is 4, the axis has 3 elements",
             Op{"TopK", {in({3}), ints({4})}, {}, 17, 2}),
      reject("top_k_negative", "k is -1, the axis has 3 elements",
             Op{"TopK", {in({3}), ints({-1})}, {}, 17, 2}),
      reject("top_k_of_two_numbers",
             "the shape of 'out0' is f32[?] and depends on run-time values; the",
             Op{"TopK", {in({3}), ints({1, 2})}, {}, 17, 2}),
      reject("squeeze_constant_axis", "axis 5 is outside [-2, 2)",
             Op{"Squeeze", {in({2, 3}), ints({5})}}),
      reject("unsqueeze_constant_axes_repeat", "axis -3 is given twice",
             Op{"Unsqueeze", {in({2, 3}), ints({1, -3})}}),
      reject("unsqueeze_1000_axes", "has 1002 dimensions",
             [] {
               Ints axes;
               for (int i = 0; i < 1000; i++) axes.push_back(i);
               return Op{"Unsqueeze", {in({2, 3}), ints(axes)}};
             }()),
      reject("reduce_sum_constant_axis", "axis -3 is outside [-2, 2)",
             Op{"ReduceSum", {in({2, 3}), ints({-3})}}),
      reject("constant_of_shape_negative", "the shape [?] has a negative dimension",
             Op{"ConstantOfShape", {ints({-1})}}),
      reject("constant_of_shape_overflows",
             "shape: 9223372036854775807 * 9223372036854775807 overflows",
             Op{"ConstantOfShape", {ints({kMax, kMax})}}),
      reject("resize_sizes_negative", "size -4 is out of range", resize_sizes({1, 1, -4, 4})),
      reject("resize_sizes_count", "sizes has 2 entries, expected 4", resize_sizes({4, 4})),
      reject("resize_scales_0", "scale 0 is not a positive number", resize_scales({1, 1, 0, 1})),
      reject("resize_scales_negative", "scale -1 is not a positive number",
             resize_scales({1, 1, -1, 1})),
      reject("resize_scales_nan", "scale nan is not a positive number",
             resize_scales({1, 1, nan, 1})),
      reject("resize_scales_infinite", "scale inf is not a positive number",
             resize_scales({1, 1, infinity, 1})),
      reject("resize_scales_count", "scales has 2 entries, expected 4", resize_scales({1, 2})),
      reject("resize_scales_and_sizes", "expected either scales or sizes",
             Op{"Resize", {in({1, 1, 4, 4}), none(), floats({1, 1, 2, 2}), ints({1, 1, 8, 8})}}),
      reject("cumsum_axis", "axis 2 is outside [-2, 2)", Op{"CumSum", {in({2, 3}), int_scalar(2)}}),
      reject("trilu_of_a_vector", "expected rank 2 or more, found [3]", Op{"Trilu", {in({3})}}),
      accept("trilu_k_largest", Op{"Trilu", {in({3, 3}), int_scalar(kMax)}, {}, 14}),
      accept("trilu_k_smallest", Op{"Trilu", {in({3, 3}), int_scalar(kMin)}, {}, 14}),
      reject("hann_window_negative", "the size must be one number from 0",
             Op{"HannWindow", {int_scalar(-1)}}),
      reject("cast_of_text", "'not a number' is not a number",
             Op{"Cast", {strings({"not a number"})}, {{"to", int64_t{kFloat}}}}),
      reject("where_shapes", "shapes [2] and [3] do not broadcast: 2 against 3",
             Op{"Where", {in({2}, kBool), in({3}), in({4})}}),
      reject("concat_of_different_types", "input 1 is s64, input 0 is f32",
             Op{"Concat", {in({2}), in({2}, kS64)}, {{"axis", int64_t{0}}}}),
      reject("clip_bounds_are_vectors", "min 'in1' is f32[2]; expected one number",
             Op{"Clip", {in({4}), floats({0, 1}), floats({1, 2})}}),
      reject("compress_condition_is_a_matrix", "the condition should have rank 1, found [2,3]",
             Op{"Compress", {in({2, 3}), in({2, 3}, kBool)}}),
      reject("center_crop_pad_negative", "size -1 is negative",
             Op{"CenterCropPad", {in({2, 3}), ints({-1, 3})}, {}, 18}),
      reject("col2im_block_0", "kernel_shape, strides and dilations must be positive",
             Op{"Col2Im", {in({1, 4, 4}), ints({4, 4}), ints({0, 0})}, {}, 18}),
      reject("affine_grid_sizes", "size [1,1,?,2] must have four or five dimensions",
             Op{"AffineGrid", {in({1, 2, 3}), ints({1, 1, -2, 2})}, {}, 20}),
      reject("dft_length_0", "input [1,4,1]: dft_length is out of range",
             Op{"DFT", {in({1, 4, 1}), int_scalar(0)}}),
      reject("stft_frame_step_0", "signal [1,16,1]: frame_length or frame_step is out of range",
             Op{"STFT", {in({1, 16, 1}), int_scalar(0), none(), int_scalar(4)}}),
      reject("quantize_constant_scale_count",
             "scale [2] does not fit input [2,3] on axis 1, block 0",
             Op{"DequantizeLinear", {in({2, 3}, kU8), floats({1, 2})}, {{"axis", int64_t{1}}}}),
      // ONNX does not define integer division by zero.
      either("integer_division_of_constants_by_0",
             Op{"Div", {of<int32_t>(kS32, {1, -1, 0}), of<int32_t>(kS32, {0, 0, 0})}}),
      either(
          "smallest_integer_divided_by_minus_1",
          Op{"Div",
             {of<int32_t>(kS32, {std::numeric_limits<int32_t>::min()}), of<int32_t>(kS32, {-1})}}),
      either("smallest_long_divided_by_minus_1", Op{"Div", {ints({kMin}), ints({-1})}}),
      either("integer_division_by_0_at_run_time",
             Op{"Div", {in({3}, kS32), of<int32_t>(kS32, {0, 0, -1})}}),
      either("integer_remainder_by_0", Op{"Mod", {ints({5, -5}), ints({0, 0})}}),
      either("integer_remainder_by_0_at_run_time",
             Op{"Mod", {in({3}, kS32), of<int32_t>(kS32, {0, 0, -1})}}),
      either("smallest_remainder_of_minus_1", Op{"Mod", {ints({kMin}), ints({-1})}}),
      either("integer_division_of_inputs", Op{"Div", {in({8}, kS8), in({8}, kS8)}}),
      either("shift_by_200", Op{"BitShift",
                                {of<uint8_t>(kU8, {1}), of<uint8_t>(kU8, {200})},
                                {{"direction", std::string("LEFT")}}}),
      either("float_to_integer_out_of_range",
             Op{"Cast", {floats({1e30f, -1e30f, nan, infinity})}, {{"to", int64_t{kS32}}}}),
      either("indices_out_of_range_at_run_time", Op{"Gather", {floats({1, 2}), in({64}, kS64)}}),
      either("scatter_indices_at_run_time",
             Op{"ScatterElements", {in({2}), in({2}, kS64), in({2})}}),
      either("gather_nd_indices_at_run_time", Op{"GatherND", {in({2, 2}), in({8, 2}, kS64)}}),
      either("max_unpool_indices_at_run_time",
             Op{"MaxUnpool",
                {in({1, 1, 2, 2}), in({1, 1, 2, 2}, kS64)},
                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}}),
      either("roi_align_batch_indices_at_run_time",
             Op{"RoiAlign", {in({1, 1, 4, 4}), in({3, 4}), in({3}, kS64)}}),
      either("one_hot_indices_at_run_time",
             Op{"OneHot", {in({4}, kS64), int_scalar(3), floats({0, 1})}}),
      either("reverse_sequence_lengths_at_run_time",
             Op{"ReverseSequence", {in({4, 2}), in({2}, kS64)}}),
      either("lstm_sequence_lengths_at_run_time",
             Op{"LSTM",
                {in({3, 2, 3}), in({1, 16, 3}), in({1, 16, 4}), none(), in({2}, kS32)},
                {{"hidden_size", int64_t{4}}}}),
      either("tensor_scatter_indices_at_run_time",
             Op{"TensorScatter", {in({2, 4, 2}), in({2, 1, 2}), in({2}, kS64)}, {}, 24}),
  };
}

}  // namespace poprt::hostile

// The functions in the table, by family. Each converts one node between two adjacent definitions;
// see Rule.
#pragma once

#include "opsets/rule.h"

namespace poprt::opsets {

// -- axes.cpp: attributes that became inputs, and axes ------------------------------------------
void axes_to_input(Rewriter& r);
void axes_to_attribute(Rewriter& r);
void reduce_axes_to_attribute(Rewriter& r);
void split_to_input(Rewriter& r);
void split_to_attribute(Rewriter& r);
void split_outputs_to_count(Rewriter& r);
void split_count_to_sizes(Rewriter& r);
void softmax_from_flattened(Rewriter& r);
void softmax_to_flattened(Rewriter& r);
void slice_to_inputs(Rewriter& r);
void top_k_to_input(Rewriter& r);
void pad_to_inputs(Rewriter& r);
void pad_without_axes(Rewriter& r);
void clip_to_inputs(Rewriter& r);
void dropout_to_inputs(Rewriter& r);
void dropout_to_attribute(Rewriter& r);
void dft_axis_to_input(Rewriter& r);
void dft_axis_to_attribute(Rewriter& r);
void without_select_last_index(Rewriter& r);

// -- shapes.cpp and einsum.cpp: Reshape, Resize and other operators that move elements ---------
void reshape_without_allowzero(Rewriter& r);
void upsample_scales_to_input(Rewriter& r);
void upsample_to_resize(Rewriter& r);
void resize_from_10(Rewriter& r);
void resize_with_all_inputs(Rewriter& r);
void resize_without_axes(Rewriter& r);
void shape_to_slice(Rewriter& r);
void scatter_to_scatter_elements(Rewriter& r);
void gather_nd_without_batch(Rewriter& r);
void center_crop_pad_to_parts(Rewriter& r);
void trilu_to_where(Rewriter& r);
void space_to_depth_to_transpose(Rewriter& r);
void affine_grid_to_matmul(Rewriter& r);
void grid_sample_modes_up(Rewriter& r);
void grid_sample_modes_down(Rewriter& r);
void roi_align_to_explicit(Rewriter& r);
void roi_align_to_implicit(Rewriter& r);
void einsum_to_matmul(Rewriter& r);
// Each of these refuses the values that a later definition has added to an attribute.
void pad_without_wrap(Rewriter& r);
void resize_without_symmetric(Rewriter& r);
void scatter_without_extremes(Rewriter& r);

// -- elementwise.cpp --------------------------------------------------------------------------
void cast_like_to_cast(Rewriter& r);
void mod_of_floats_to_fmod(Rewriter& r);
void swiglu_to_parts(Rewriter& r);
void drop_saturate(Rewriter& r);
void drop_round_mode(Rewriter& r);
void celu_to_elu(Rewriter& r);
void celu_of_f32(Rewriter& r);
void gelu_to_parts(Rewriter& r);
void mish_to_parts(Rewriter& r);
void hard_swish_to_parts(Rewriter& r);
void swish_to_parts(Rewriter& r);
void greater_or_equal_to_parts(Rewriter& r);
void less_or_equal_to_parts(Rewriter& r);
void clip_of_integers(Rewriter& r);
void max_of_integers(Rewriter& r);
void min_of_integers(Rewriter& r);
void relu_of_integers(Rewriter& r);
void pow_of_one_type(Rewriter& r);
void bernoulli_to_parts(Rewriter& r);
void range_without_stash(Rewriter& r);
// Both compute in a wider type if the older definition does not have the type of input 0: widen()
// computes f16 in f32, and bool and integers of 8 or 16 bits in s32; widen_to_float() computes
// 8-bit integers in f32.
void widen(Rewriter& r);
void widen_to_float(Rewriter& r);

// -- normalization.cpp ------------------------------------------------------------------------
void batch_norm_spatial(Rewriter& r);
void batch_norm_for_inference(Rewriter& r);
void batch_norm_without_training(Rewriter& r);
void layer_norm_to_parts(Rewriter& r);
void rms_norm_to_parts(Rewriter& r);
void group_norm_to_channels(Rewriter& r);
void group_norm_to_parts(Rewriter& r);
void group_norm_to_groups(Rewriter& r);

// -- attention.cpp ----------------------------------------------------------------------------
void attention_to_parts(Rewriter& r);
void attention_without_window(Rewriter& r);
void attention_without_lengths(Rewriter& r);
void rotary_embedding_to_parts(Rewriter& r);

// -- quantization.cpp -------------------------------------------------------------------------
void quantize_per_tensor(Rewriter& r);
void quantize_without_saturate(Rewriter& r);
void quantize_without_blocks(Rewriter& r);
void quantize_without_precision(Rewriter& r);
void dequantize_per_tensor(Rewriter& r);
void dequantize_to_f32(Rewriter& r);
void dequantize_without_blocks(Rewriter& r);
void dequantize_without_dtype(Rewriter& r);

// -- recurrent.cpp ----------------------------------------------------------------------------
void recurrent_without_layout(Rewriter& r);

}  // namespace poprt::opsets

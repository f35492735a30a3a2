// The table of changes between two definitions of an operator, sorted by name and opset.
//
// A definition without a row differs from the previous one only in its element types, which are
// checked at the end (opsets/types.h), or in attributes that it adds. A conversion to an older
// opset drops such an attribute if its value means the older behaviour, and fails otherwise. A row
// without functions only adds text to the documentation. The row of an operator's first definition
// describes its replacement in older opsets. Without such a row, or without a function in it, the
// operator must be computable from constants.
#include <algorithm>

#include "ir/schemas.h"
#include "ops/op.h"
#include "opsets/convert.h"
#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

constexpr std::string_view kNoChange = "no change", kWider = "a wider type between Casts",
                           kAxesIn = "axes become an input",
                           kAxesOut = "axes become an attribute, constant", kText = "text",
                           kDefaultsOnly = "only without what is new";

constexpr Rule kRules[] = {
    {"Add", 14, nullptr, widen, kNoChange, kWider},
    {"AffineGrid",
     20,
     nullptr,
     affine_grid_to_matmul,
     {},
     "MatMul with the points, of a constant size"},
    {"ArgMax", 12, nullptr, without_select_last_index, kNoChange,
     "select_last_index: of the reversed axis"},
    {"ArgMin", 12, nullptr, without_select_last_index, kNoChange,
     "select_last_index: of the reversed axis"},
    {"Attention", 23, nullptr, attention_to_parts, {}, "MatMul, Softmax and MatMul (slower)"},
    {"Attention", 24, nullptr, attention_without_lengths, kNoChange,
     "with lengths its parts (slower)"},
    {"Attention", 25, nullptr, attention_without_window, kNoChange,
     "with a window its parts (slower)"},
    {"AveragePool", 19, nullptr, nullptr, kNoChange, kDefaultsOnly},
    {"BatchNormalization", 9, batch_norm_spatial, nullptr, "spatial 0: arithmetic", {}},
    {"BatchNormalization", 14, batch_norm_for_inference, batch_norm_without_training,
     "for inference", "training_mode: arithmetic"},
    {"Bernoulli",
     15,
     nullptr,
     bernoulli_to_parts,
     {},
     "RandomUniformLike, Less, Cast: other random numbers"},
    {"BitwiseAnd", 18, nullptr, nullptr, {}, "whole numbers have no bits there"},
    {"BitwiseNot", 18, nullptr, nullptr, {}, "whole numbers have no bits there"},
    {"BitwiseOr", 18, nullptr, nullptr, {}, "whole numbers have no bits there"},
    {"BitwiseXor", 18, nullptr, nullptr, {}, "whole numbers have no bits there"},
    {"Cast", 19, nullptr, drop_saturate, kNoChange,
     "saturate goes, with the 8-bit floats that it is for"},
    {"Cast", 24, nullptr, drop_round_mode, kNoChange,
     "round_mode goes, with the type that it is for"},
    {"CastLike", 15, nullptr, cast_like_to_cast, {}, "Cast"},
    {"CastLike", 19, nullptr, drop_saturate, kNoChange,
     "saturate goes, with the 8-bit floats that it is for"},
    {"CastLike", 24, nullptr, drop_round_mode, kNoChange,
     "round_mode goes, with the type that it is for"},
    {"Celu", 12, nullptr, celu_to_elu, {}, "Elu between Div and Mul"},
    {"Celu", 28, nullptr, celu_of_f32, kNoChange, "f16 and f64: as below 12"},
    {"CenterCropPad",
     18,
     nullptr,
     center_crop_pad_to_parts,
     {},
     "Slice and Pad, of a constant shape"},
    {"Clip", 11, clip_to_inputs, nullptr, "min and max become inputs", {}},
    {"Clip", 12, nullptr, clip_of_integers, kNoChange, "integers: Max and Min"},
    {"CumSum", 14, nullptr, widen, kNoChange, kWider},
    {"DFT", 20, dft_axis_to_input, dft_axis_to_attribute, "axis becomes an input",
     "axis becomes an attribute, constant"},
    {"DequantizeLinear", 13, nullptr, dequantize_per_tensor, kNoChange,
     "with an axis arithmetic (slower)"},
    {"DequantizeLinear", 19, nullptr, dequantize_to_f32, kNoChange, "f16: followed by Cast"},
    {"DequantizeLinear", 21, nullptr, dequantize_without_blocks, kNoChange,
     "with blocks or 16 bits arithmetic (slower)"},
    {"DequantizeLinear", 23, nullptr, dequantize_without_dtype, kNoChange,
     "output_dtype: followed by Cast"},
    {"Div", 14, nullptr, widen, kNoChange, kWider},
    {"Dropout", 12, dropout_to_inputs, dropout_to_attribute, "ratio becomes an input",
     "ratio becomes an attribute; not with training_mode"},
    {"Einsum",
     12,
     nullptr,
     einsum_to_matmul,
     {},
     "Transpose, Reshape, MatMul, ReduceSum; no diagonals"},
    {"GRU", 14, nullptr, recurrent_without_layout, kNoChange, "layout 1: Transposes around"},
    {"GatherND", 12, nullptr, gather_nd_without_batch, kNoChange,
     "batch_dims: places in the batch before the indices"},
    {"Gelu",
     20,
     nullptr,
     gelu_to_parts,
     {},
     "with Erf or Tanh, which the compiler puts together again"},
    {"GreaterOrEqual", 12, nullptr, greater_or_equal_to_parts, {}, "Or of Greater and Equal"},
    {"GridSample", 20, grid_sample_modes_up, grid_sample_modes_down, "modes are linear and cubic",
     "modes are bilinear and bicubic; images alone"},
    {"GroupNormalization",
     18,
     nullptr,
     group_norm_to_parts,
     {},
     "InstanceNormalization of the groups, Mul, Add"},
    {"GroupNormalization", 21, group_norm_to_channels, group_norm_to_groups,
     "scale and bias repeated for each channel", "as below 18 unless each channel is a group"},
    {"HardSwish",
     14,
     nullptr,
     hard_swish_to_parts,
     {},
     "Mul with HardSigmoid, which the compiler puts together again"},
    {"Hardmax", 13, softmax_from_flattened, softmax_to_flattened,
     "several last axes: Flatten, Reshape", "another axis than the last: Transposes"},
    {"IsInf", 20, nullptr, widen, kNoChange, kWider},
    {"LSTM", 14, nullptr, recurrent_without_layout, kNoChange, "layout 1: Transposes around"},
    {"LayerNormalization", 17, nullptr, layer_norm_to_parts, kNoChange,
     "mean and variance, which the compiler puts together again"},
    {"LessOrEqual", 12, nullptr, less_or_equal_to_parts, {}, "Or of Less and Equal"},
    {"LogSoftmax", 13, softmax_from_flattened, softmax_to_flattened,
     "several last axes: Flatten, Reshape", "another axis than the last: Transposes"},
    {"LpPool", 18, nullptr, nullptr, kNoChange, kDefaultsOnly},
    {"Max", 12, nullptr, max_of_integers, kNoChange, "integers: Where of Greater"},
    {"MaxPool", 12, nullptr, widen_to_float, kNoChange, "bytes: f32 between Casts"},
    {"Min", 12, nullptr, min_of_integers, kNoChange, "integers: Where of Less"},
    {"Mish", 18, nullptr, mish_to_parts, {}, "Mul with Tanh of Softplus"},
    {"Mod", 28, nullptr, mod_of_floats_to_fmod, kNoChange,
     "of floats without fmod: fmod, and Where"},
    {"Mul", 14, nullptr, widen, kNoChange, kWider},
    {"Pad", 11, pad_to_inputs, nullptr, "pads and value become inputs", {}},
    {"Pad", 13, nullptr, widen, kNoChange, kWider},
    {"Pad", 18, nullptr, pad_without_axes, kNoChange, "axes: pads of all axes"},
    {"Pad", 19, nullptr, pad_without_wrap, kNoChange, "not mode wrap"},
    {"Pow", 12, nullptr, pow_of_one_type, kNoChange, "of two types or of integers: Casts"},
    {"QuantizeLinear", 13, nullptr, quantize_per_tensor, kNoChange,
     "with an axis arithmetic (slower)"},
    {"QuantizeLinear", 19, nullptr, quantize_without_saturate, kNoChange, "f16: Cast in front"},
    {"QuantizeLinear", 21, nullptr, quantize_without_blocks, kNoChange,
     "with blocks or 16 bits arithmetic (slower)"},
    {"QuantizeLinear", 23, nullptr, quantize_without_precision, kNoChange, "precision f32 only"},
    {"RMSNormalization", 23, nullptr, rms_norm_to_parts, {}, "arithmetic (slower)"},
    {"RNN", 14, nullptr, recurrent_without_layout, kNoChange, "layout 1: Transposes around"},
    {"Range", 27, nullptr, range_without_stash, kNoChange,
     "stash_type goes, with the types that it is for"},
    {"ReduceL1", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceL2", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceLogSum", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceLogSumExp", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceMax", 12, nullptr, widen, kNoChange, kWider},
    {"ReduceMax", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceMax", 20, nullptr, widen, kNoChange, kWider},
    {"ReduceMean", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceMin", 12, nullptr, widen, kNoChange, kWider},
    {"ReduceMin", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceMin", 20, nullptr, widen, kNoChange, kWider},
    {"ReduceProd", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceSum", 13, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"ReduceSumSquare", 18, axes_to_input, reduce_axes_to_attribute, kAxesIn, kAxesOut},
    {"RegexFullMatch", 20, nullptr, nullptr, {}, kText},
    {"Relu", 14, nullptr, relu_of_integers, kNoChange, "integers: Max"},
    {"Reshape", 14, nullptr, reshape_without_allowzero, kNoChange,
     "allowzero: not for a new dimension of none"},
    {"Resize", 11, resize_from_10, nullptr, "asymmetric; nearest rounds as ONNX Runtime did", {}},
    {"Resize", 13, nullptr, resize_with_all_inputs, kNoChange, "empty inputs for those left out"},
    {"Resize", 18, nullptr, resize_without_axes, kNoChange,
     "axes: scales or sizes of all; no antialias, no keep_aspect_ratio_policy"},
    {"Resize", 19, nullptr, resize_without_symmetric, kNoChange, "not half_pixel_symmetric"},
    {"RoiAlign", 16, roi_align_to_explicit, roi_align_to_implicit, "output_half_pixel",
     "output_half_pixel only"},
    {"RotaryEmbedding", 23, nullptr, rotary_embedding_to_parts, {}, "arithmetic (slower)"},
    {"Scatter", 11, scatter_to_scatter_elements, nullptr, "ScatterElements", {}},
    {"ScatterElements", 16, nullptr, nullptr, kNoChange, "reduction none only"},
    {"ScatterElements", 18, nullptr, scatter_without_extremes, kNoChange,
     "not reduction max or min"},
    {"ScatterND", 16, nullptr, nullptr, kNoChange, "reduction none only"},
    {"ScatterND", 18, nullptr, scatter_without_extremes, kNoChange, "not reduction max or min"},
    {"Shape", 15, nullptr, shape_to_slice, kNoChange, "start, end: followed by Slice"},
    {"Slice", 10, slice_to_inputs, nullptr, "starts, ends and axes become inputs", {}},
    {"Softmax", 13, softmax_from_flattened, softmax_to_flattened,
     "several last axes: Flatten, Reshape", "another axis than the last: Transposes"},
    {"SpaceToDepth", 28, nullptr, space_to_depth_to_transpose, kNoChange,
     "mode CRD: Reshape, Transpose"},
    {"Split", 13, split_to_input, split_to_attribute, "split becomes an input",
     "split becomes an attribute, constant"},
    {"Split", 18, split_outputs_to_count, split_count_to_sizes, "num_outputs is their number",
     "sizes where the parts differ"},
    {"Squeeze", 13, axes_to_input, axes_to_attribute, kAxesIn, kAxesOut},
    {"StringConcat", 20, nullptr, nullptr, {}, kText},
    {"StringSplit", 20, nullptr, nullptr, {}, kText},
    {"Sub", 14, nullptr, widen, kNoChange, kWider},
    {"SwiGLU", 28, nullptr, swiglu_to_parts, {}, "Mul with Sigmoid, Mul"},
    {"Swish",
     24,
     nullptr,
     swish_to_parts,
     {},
     "Mul with Sigmoid, which the compiler puts together again"},
    {"TopK", 10, top_k_to_input, nullptr, "k becomes an input", {}},
    {"Trilu", 14, nullptr, trilu_to_where, {}, "Where with a mask"},
    {"Unsqueeze", 13, axes_to_input, axes_to_attribute, kAxesIn, kAxesOut},
    {"Upsample", 9, upsample_scales_to_input, nullptr, "scales become an input", {}},
    {"Upsample", 10, upsample_to_resize, nullptr, "Resize", {}},
};

constexpr bool rule_before(const Rule& a, const Rule& b) {
  return a.op != b.op ? a.op < b.op : a.since < b.since;
}
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules), rule_before));

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule* find_rule(std::string_view op, int64_t since) {
  const auto it = std::lower_bound(std::begin(kRules), std::end(kRules),
                                   Rule{.op = op, .since = since}, rule_before);
  return it != std::end(kRules) && it->op == op && it->since == since ? it : nullptr;
}

std::string conversions_markdown() {
  std::string text = "| operator | opset | from older ones | to older ones |\n|---|---|---|---|\n";
  std::vector<std::string_view> names;
  for (const ops::OpDef* op : ops::all_ops())
    if (op->domain.empty()) names.push_back(op->name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string_view name : names) {
    int64_t had = ir::definition_of("", name, kOldestSource);
    for (int64_t opset = kOldestSource + 1; opset <= kNewest; opset++) {
      const int64_t has = ir::definition_of("", name, opset);
      const bool changed = has != had, first = had == 0;
      had = has;
      if (!changed) continue;
      const Rule* rule = find_rule(name, opset);
      if (!rule && (!first || opset <= kOldestTarget)) continue;
      const std::string_view up = rule ? rule->up_words : std::string_view(),
                             down = rule ? rule->down_words : std::string_view();
      text += fmt::format("| {} | {} | {} | {} |\n", name, opset, first ? "new" : up,
                          opset <= kOldestTarget ? ""
                          : first && (!rule || !rule->down)
                              ? fmt::format("of constants only{}{}", down.empty() ? "" : ": ", down)
                              : std::string(down));
    }
  }
  return text;
}

}  // namespace poprt::opsets

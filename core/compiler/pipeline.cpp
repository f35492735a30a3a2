#include "compiler/pipeline.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace poprt::compiler {
namespace {

using passes::PassDef;

// Each group lists passes in order. The comment above a pass states why it is at this place.
//
// Passes that options select and that must see the model as it was exported.
constexpr std::string_view kEarly[] = {
    // Inputs still have the names and shapes that the user knows.
    "apply_host_concat_split",
    // Compress and If still exist.
    "compress_pattern",
    "merge_if_with_same_cond",
};

// Passes that options select. They run after the default passes and before those in `passes`: first
// whole patterns, then products, which still have the names of the model.
constexpr std::string_view kBeforeUsers[] = {
    // Attention is still as exported, and every token is still at its original place.
    "packed_transformer", "erf_gelu_pattern", "merge_matmul", "merge_matmul_add", "merge_moe",
};

// Passes that options select, after those in `passes`. They split products and mark places, so
// products must have their final form. They run before the conversion to half precision, because
// after it weights are casts of constants and not constants.
constexpr std::string_view kAfterUsers[] = {
    "serialize_matmul",
    "serialize_matmul_add",
    "auto_insert_remap",
};

// No later pass changes a constant.
constexpr std::string_view kLast[] = {
    "fold_periodic_initializer",
    // No later pass changes a node, which would have to preserve these attributes.
    "manual_sharding",
};

constexpr std::string_view kConverter[] = {
    // All later passes look for constants and need types.
    "extract_constant_to_initializer",
    "shape_inference",
    // Folding must see the neighbours of these nodes. It then removes the shape arithmetic of
    // exporters.
    "eliminate_nop_dropout",
    "eliminate_identity",
    "constant_folding",
    // Conditions are constant now. Inlined branches make more shapes known.
    "eliminate_nop_if",
    "shape_inference",
    "constant_folding",
    "eliminate_deadend",
    // Nodes that do nothing. Their shapes are known now.
    "remove_empty_concat_inputs",
    "eliminate_nop_arithmetic",
    "eliminate_nop_cast",
    "eliminate_nop_expand",
    "eliminate_nop_flatten",
    "eliminate_nop_pad",
    "eliminate_nop_reshape",
    "eliminate_nop_transpose",
    "eliminate_nop_slice",
    "eliminate_nop_tile",
    "eliminate_nop_concat",
    "eliminate_nop_split",
    // Merges nodes that have become neighbours. Reshape is last, because it handles mixed chains.
    // The merged nodes may do nothing.
    "fuse_consecutive_cast",
    "fuse_consecutive_squeeze",
    "fuse_consecutive_unsqueeze",
    "fuse_consecutive_transpose",
    "fuse_consecutive_reshape",
    "eliminate_nop_cast",
    "eliminate_nop_transpose",
    "eliminate_nop_reshape",
    // Moves values into attributes and constant weights. The bias is merged before and after
    // BatchNormalization, because an Add may be on either side of it: Conv, Add, BatchNormalization
    // are merged in this order, and an Add after a BatchNormalization then directly follows the
    // convolution. Only a BatchNormalization that was not merged becomes Mul and Add. A factor is
    // merged into the weights of MatMul before fuse_consecutive_arithmetic merges it with others.
    "pad_into_conv",
    "fuse_add_bias_into_conv",
    "fuse_bn_into_conv",
    "fuse_bn_into_gemm",
    "fuse_add_bias_into_conv",
    "replace_bn_with_mul_add",
    "fuse_mul_into_matmul",
    "fuse_consecutive_arithmetic",
    // Equal constants make nodes equal. Afterwards unused nodes and constants are removed.
    "eliminate_duplicate_initializer",
    "eliminate_duplicate_nodes",
    "eliminate_deadend",
    "eliminate_unused_initializer",
};

// The passes that compiling requires: types are known, operators have the constants that they need,
// and no If has a constant condition.
constexpr std::string_view kPlain[] = {
    "extract_constant_to_initializer",
    "shape_inference",
    "constant_folding",
    "eliminate_nop_if",
    "shape_inference",
    "constant_folding",
    "eliminate_deadend",
    "remove_empty_concat_inputs",
};

constexpr std::string_view kExpand[] = {
    // Passes of users may leave types unknown.
    "shape_inference",
    // The MatMuls take part in all later passes: weights, attention, epilogues.
    "replace_einsum_with_matmul",
    // Weights are still bytes with a scale. The pass creates operators that have expansions.
    "qdq_products",
    // Products read the integer weights that are left as stored. Later passes widen those that no
    // product reads this way.
    "narrow_products",
    // All later passes handle only ai.onnx. Folding unpacks weights that were stored in a packed
    // form.
    "expand_operators",
    "constant_folding",
};

constexpr std::string_view kFuse[] = {
    // The fast emulator computes in f32 and only stores f16. Casts between f32 operators are
    // merged, and those of f16 or quantised weights are folded, so that Linear and Conv can pack
    // the weights.
    "compute_half_in_float",
    "fuse_consecutive_cast",
    "eliminate_nop_cast",
    "dequantize_weights",
    "constant_folding",
    // The parameters of BatchNormalization, and the weights and bias of the convolution before it,
    // may have been bytes until now. A BatchNormalization without a convolution joins a chain of
    // elementwise operators.
    "fuse_add_bias_into_conv",
    "fuse_bn_into_conv",
    "replace_bn_with_mul_add",
    // Must run before other patterns take the Mul and Add after a product of bytes.
    "scaled_products",
    // Whole patterns must be matched before other passes take their Adds and Muls. Activations must
    // be matched before epilogues look for them.
    "layer_norm_pattern",
    "erf_gelu_pattern",
    "gelu_pattern",
    "silu_pattern",
    "hard_swish_pattern",
    // The patterns above match Div. Mul is cheaper in fused chains.
    "replace_div_with_mul",
    // Split, Reshape and Transpose are still as exported. Afterwards each projection has one
    // reader.
    "attention_pattern",
    "linear_fusion",
    // Each weight has its product now, and no later pass reads it.
    "narrow_weights",
    // Both readers of a table have the type in which it is stored.
    "tied_embeddings",
    // The remaining Transposes and Reshapes only move data.
    "transpose_to_reshape",
    "fuse_consecutive_reshape",
    "eliminate_nop_reshape",
    // All passes that depend on NCHW have run. Operators on bytes are moved to channels last, float
    // convolutions to blocks of channels. Epilogues are merged into the resulting nodes.
    "channels_last",
    "fuse_consecutive_transpose",
    "eliminate_nop_transpose",
    "transpose_to_reshape",
    "quantized_residual",
    // Runs after quantized_residual, which looks for sums of two dequantised tensors. Equal bytes
    // that moved are then computed once.
    "byte_maps",
    "blocked_layout",
    "conv_epilogue",
    // Runs after conv_epilogue, so that an Add that is a residual is merged as one.
    "conv_prologue",
    // Runs after conv_epilogue, which changes only blocked nodes.
    "conv_plain_result",
    // No later pass changes a convolution or what reads it.
    "bf16_convolutions",
    // All patterns that contain a Transpose have been matched.
    "strided_products",
    // Equal Blocks and masks of several layers are shared before fusion hides them.
    "eliminate_duplicate_initializer",
    "eliminate_duplicate_nodes",
    "elementwise_fusion",
};

constexpr std::string_view kFinish[] = {
    "eliminate_deadend",
    "eliminate_unused_initializer",
    "sort_graph",
};

std::vector<const PassDef*> resolve(std::span<const std::string_view> names,
                                    const Options& options) {
  std::vector<const PassDef*> out;
  for (const std::string_view name : names) out.push_back(&passes::pass_of(name));
  for (const std::string& name : options.skip_passes) std::erase(out, &passes::pass_of(name));
  return out;
}

// Adds the passes of the group that options select and that the user has not placed in `passes`.
void add_requested(std::vector<const PassDef*>& out, std::span<const std::string_view> group,
                   const Options& options) {
  for (const PassDef* p : resolve(group, options)) {
    const auto is_named = [&](const std::string& name) { return passes::is_called(*p, name); };
    if (std::ranges::any_of(options.requested, is_named) &&
        std::ranges::none_of(options.passes, is_named))
      out.push_back(p);
  }
}

}  // namespace

std::vector<const PassDef*> early_pipeline(const Options& options) {
  std::vector<const PassDef*> out;
  if (!options.plain) add_requested(out, kEarly, options);
  return out;
}

std::vector<const PassDef*> converter_pipeline(const Options& options) {
  if (options.plain) return resolve(kPlain, options);
  std::vector<std::string_view> names(std::begin(kConverter), std::end(kConverter));
  // Shape arithmetic has been folded at this point. The new Casts may be next to other Casts.
  if (options.narrow_int64)
    names.insert(names.end(), {"int64_to_int32", "fuse_consecutive_cast", "eliminate_nop_cast",
                               "eliminate_deadend", "eliminate_unused_initializer"});
  std::vector<const PassDef*> out = resolve(names, options);
  add_requested(out, kBeforeUsers, options);
  // Passes of the user run before the conversions to 8-bit floats and bytes, which need numbers
  // that have not been rounded. Then the rest becomes f16, followed by passes of the user that need
  // f16.
  const bool quarters =
      options.precision == Precision::fp8 || options.precision == Precision::fp8_weight;
  const PassDef* half = quarters || options.precision == Precision::fp16
                            ? &passes::pass_of("float_to_half")
                            : nullptr;
  std::vector<std::string> chosen = options.passes;
  if (half) chosen.emplace_back(half->name);
  const std::vector<const PassDef*> users = passes::sort_passes(chosen);
  const auto split = half ? std::ranges::find(users, half) : users.end();
  out.insert(out.end(), users.begin(), split);
  add_requested(out, kAfterUsers, options);
  if (quarters) out.push_back(&passes::pass_of("float_to_fp8"));
  if (options.precision == Precision::int8) out.push_back(&passes::pass_of("float_to_qdq"));
  out.insert(out.end(), split, users.end());
  if (quarters)
    for (const char* name : {"fuse_consecutive_cast", "eliminate_nop_cast", "eliminate_deadend"})
      out.push_back(&passes::pass_of(name));
  // This pass follows all passes above because some of them look for images of floats.
  if (options.eight_bits_io) out.push_back(&passes::pass_of("eight_bits_io"));
  add_requested(out, kLast, options);
  // Also removes passes that a precision or the user has added.
  for (const std::string& name : options.skip_passes) std::erase(out, &passes::pass_of(name));
  return out;
}

std::vector<const PassDef*> compile_pipeline(const Options& options) {
  std::vector<const PassDef*> all;
  for (const Stage& stage : compile_stages(options))
    all.insert(all.end(), stage.passes.begin(), stage.passes.end());
  return all;
}

// The checkpoints have PopART's names. A transform of a plug-in runs at the checkpoints for which
// the options name it.
std::vector<Stage> compile_stages(const Options& options) {
  return {{"PreAlias", resolve(kExpand, options)},
          {"MainLoops", resolve(kFuse, options)},
          {"Final", resolve(kFinish, options)}};
}

}  // namespace poprt::compiler

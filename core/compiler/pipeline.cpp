#include "compiler/pipeline.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace poprt::compiler {
namespace {

using passes::PassDef;

// Each group: the passes in order, and above them why they stand there.
// What options ask for and must see the model as it was exported.
constexpr std::string_view kEarly[] = {
    // While inputs have the names and shapes that the user knows.
    "apply_host_concat_split",
    // While Compress and If are there.
    "compress_pattern",
    "merge_if_with_same_cond",
};

// What options ask for, behind the default passes and in front of those that the user names: whole
// patterns first, then products, named as the model has them.
constexpr std::string_view kBeforeUsers[] = {
    // While attention is as exported, and every token is computed where it stands.
    "packed_transformer", "erf_gelu_pattern", "merge_matmul", "merge_matmul_add", "merge_moe",
};

// And behind them: what cuts products and marks places, once they are what they become; in front of
// half precision, behind which weights are no constants but casts of some.
constexpr std::string_view kAfterUsers[] = {
    "serialize_matmul",
    "serialize_matmul_add",
    "auto_insert_remap",
};

// When no constant changes any more.
constexpr std::string_view kLast[] = {
    "fold_periodic_initializer",
    // Nor any node: what comes behind would only have to keep what this says of them.
    "manual_sharding",
};

constexpr std::string_view kConverter[] = {
    // Everything below looks for constants and asks for types.
    "extract_constant_to_initializer",
    "shape_inference",
    // So that folding sees its neighbours; then the shape arithmetic of exporters disappears.
    "eliminate_nop_dropout",
    "eliminate_identity",
    "constant_folding",
    // Conditions are constant now; inlined branches bring new shapes.
    "eliminate_nop_if",
    "shape_inference",
    "constant_folding",
    "eliminate_deadend",
    // What does nothing, now that shapes are known.
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
    // Pairs that the eliminations brought together; reshape last, because it takes mixed chains.
    // What they
    // merge to may do nothing.
    "fuse_consecutive_cast",
    "fuse_consecutive_squeeze",
    "fuse_consecutive_unsqueeze",
    "fuse_consecutive_transpose",
    "fuse_consecutive_reshape",
    "eliminate_nop_cast",
    "eliminate_nop_transpose",
    "eliminate_nop_reshape",
    // Into constant weights. Pad stands between Conv and BatchNorm; a bias joins BatchNorm's shift;
    // only a
    // BatchNorm that nobody took becomes Mul and Add; a factor goes into MatMul before it merges
    // elsewhere.
    "pad_into_conv",
    "fuse_bn_into_conv",
    "fuse_bn_into_gemm",
    "fuse_add_bias_into_conv",
    "replace_bn_with_mul_add",
    "fuse_mul_into_matmul",
    "fuse_consecutive_arithmetic",
    // Equal constants make nodes equal; then what was orphaned.
    "eliminate_duplicate_initializer",
    "eliminate_duplicate_nodes",
    "eliminate_deadend",
    "eliminate_unused_initializer",
};

// What the compiler cannot do without: known types, constants where operators want them, no If that
// is decided already.
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
    // User passes may leave gaps.
    "shape_inference",
    // While weights are bytes beside their scales; makes operators that expand.
    "qdq_products",
    // Everything below knows ai.onnx only. What was a weight in some packed form becomes a plain
    // one.
    "expand_operators",
    "constant_folding",
};

constexpr std::string_view kFuse[] = {
    // Half precision is a storage type of the fast emulator: f32 operators meet directly, and the
    // casts of
    // f16 or quantised weights fold back, so that Linear and Conv can pack them.
    "compute_half_in_float",
    "fuse_consecutive_cast",
    "eliminate_nop_cast",
    "dequantize_weights",
    "constant_folding",
    // Before other patterns take the Mul and Add behind a product of bytes.
    "scaled_products",
    // Whole patterns, before anything takes their Adds and Muls, and activations before epilogues
    // look for them.
    "layer_norm_pattern",
    "erf_gelu_pattern",
    "gelu_pattern",
    "silu_pattern",
    "hard_swish_pattern",
    // After the patterns, which know Div; cheaper in fused chains.
    "replace_div_with_mul",
    // While Split, Reshape and Transpose are as exported; projections are single-use afterwards.
    "attention_pattern",
    "linear_fusion",
    // Only plain layout moves are left.
    "transpose_to_reshape",
    "fuse_consecutive_reshape",
    "eliminate_nop_reshape",
    // After every pass that speaks NCHW. Bytes have their channels last; of what floats are left
    // convolutions take theirs in blocks, and epilogues go on those nodes.
    "channels_last",
    "fuse_consecutive_transpose",
    "eliminate_nop_transpose",
    "transpose_to_reshape",
    "quantized_residual",
    // After that, which looks for sums of two dequantised tensors; of bytes that moved, one copy.
    "byte_maps",
    "blocked_layout",
    "conv_epilogue",
    // After epilogues, so that an Add that is a residual is one.
    "conv_prologue",
    // After epilogues, which go on blocked nodes.
    "conv_plain_result",
    // Equal Blocks and masks shared between layers, before fusion hides them.
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

// Those of the group that options ask for and the user has not given a place of his own.
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
  // When shapes are arithmetic no more; Casts that it needs may meet others.
  if (options.narrow_int64)
    names.insert(names.end(), {"int64_to_int32", "fuse_consecutive_cast", "eliminate_nop_cast",
                               "eliminate_deadend", "eliminate_unused_initializer"});
  std::vector<const PassDef*> out = resolve(names, options);
  add_requested(out, kBeforeUsers, options);
  // 8-bit floats come behind the user's passes, of numbers that nothing has rounded before; then
  // halves for the rest, and behind them what looks for halves.
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
  out.insert(out.end(), split, users.end());
  if (quarters)
    for (const char* name : {"fuse_consecutive_cast", "eliminate_nop_cast", "eliminate_deadend"})
      out.push_back(&passes::pass_of(name));
  // Last, so that passes before it look for images of floats.
  if (options.eight_bits_io) out.push_back(&passes::pass_of("eight_bits_io"));
  add_requested(out, kLast, options);
  // Those that a precision brings, or the user named himself, are left out as well.
  for (const std::string& name : options.skip_passes) std::erase(out, &passes::pass_of(name));
  return out;
}

std::vector<const PassDef*> compile_pipeline(const Options& options) {
  std::vector<const PassDef*> all;
  for (const Stage& stage : compile_stages(options))
    all.insert(all.end(), stage.passes.begin(), stage.passes.end());
  return all;
}

std::vector<Stage> compile_stages(const Options& options) {
  return {{"PreAlias", resolve(kExpand, options)},
          {"MainLoops", resolve(kFuse, options)},
          {"Final", resolve(kFinish, options)}};
}

}  // namespace poprt::compiler

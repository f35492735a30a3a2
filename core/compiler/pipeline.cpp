#include "compiler/pipeline.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace poprt::compiler {
namespace {

using passes::PassDef;

// Each group: the passes in order, and above them why they stand there.
constexpr std::string_view kConverter[] = {
    // Everything below asks for types; shape arithmetic of exporters disappears before patterns
    // look.
    "shape_inference",
    "constant_folding",
    "eliminate_deadend",
    // What does nothing, so that the fusions below see true neighbours.
    "eliminate_identity",
    "eliminate_nop_dropout",
    "eliminate_nop_if",
    "eliminate_nop_arithmetic",
    "eliminate_nop_cast",
    "eliminate_nop_concat",
    "eliminate_nop_expand",
    "eliminate_nop_flatten",
    "eliminate_nop_pad",
    "eliminate_nop_reshape",
    "eliminate_nop_slice",
    "eliminate_nop_split",
    "eliminate_nop_tile",
    "eliminate_nop_transpose",
    // Pairs that the eliminations brought together.
    "fuse_consecutive_cast",
    "fuse_consecutive_reshape",
    "fuse_consecutive_squeeze",
    "fuse_consecutive_unsqueeze",
    "fuse_consecutive_transpose",
    // Arithmetic into constant weights: Pad and bias first, because they stand between Conv and
    // BatchNorm.
    "pad_into_conv",
    "fuse_add_bias_into_conv",
    "fuse_bn_into_conv",
    "fuse_bn_into_gemm",
    "fuse_mul_into_matmul",
    "fuse_consecutive_arithmetic",
    // Equal subtrees, after folding made them equal; then what all of this orphaned.
    "eliminate_duplicate_nodes",
    "eliminate_duplicate_initializer",
    "eliminate_deadend",
    "eliminate_unused_initializer",
};

constexpr std::string_view kCompile[] = {
    // User passes may have left gaps.
    "shape_inference",
    // A BatchNorm that found no Conv to go into.
    "replace_bn_with_mul_add",
    // Whole patterns, before anything takes their Adds and Muls.
    "layer_norm_pattern",
    "erf_gelu_pattern",
    "gelu_pattern",
    "silu_pattern",
    "hard_swish_pattern",
    // Attention before its projections become Linear with epilogues.
    "fused_attention",
    "linear_fusion",
    // After every pattern that speaks NCHW; then epilogues on the blocked convolutions.
    "blocked_layout",
    "conv_epilogue",
    // Transposes that move no element become free; the elementwise operators that are left fuse.
    "transpose_to_reshape",
    "elementwise_fusion",
    // Equal Blocks and reshapes, and what was orphaned.
    "eliminate_duplicate_nodes",
    "eliminate_deadend",
    "eliminate_unused_initializer",
};

std::vector<const PassDef*> resolve(std::span<const std::string_view> names,
                                    const Options& options) {
  std::vector<const PassDef*> out;
  for (const std::string_view name : names)
    if (std::find(options.skip_passes.begin(), options.skip_passes.end(), name) ==
        options.skip_passes.end())
      out.push_back(&passes::pass_of(name));
  return out;
}

}  // namespace

std::vector<const PassDef*> converter_pipeline(const Options& options) {
  for (const std::string& name : options.skip_passes)
    passes::pass_of(name);  // a misspelt name is an error
  std::vector<const PassDef*> out = resolve(kConverter, options);
  for (const PassDef* p : passes::sort_passes(options.passes)) out.push_back(p);
  if (options.precision == Precision::fp16) out.push_back(&passes::pass_of("float_to_half"));
  return out;
}

std::vector<const PassDef*> compile_pipeline(const Options& options) {
  return resolve(kCompile, options);
}

}  // namespace poprt::compiler

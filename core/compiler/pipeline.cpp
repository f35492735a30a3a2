#include "compiler/pipeline.h"

#include <algorithm>
#include <array>

namespace poprt::compiler {
namespace {

using passes::PassDef;

// Each line: the pass, and why it stands there.
constexpr std::array kConverter = {
    std::string_view("shape_inference"),           // everything below asks for types
    std::string_view("constant_folding"),          // shape arithmetic of exporters disappears first
    std::string_view("eliminate_deadend"),         // what only fed folded nodes
    std::string_view("eliminate_identity"),        // so that patterns see neighbours
    std::string_view("eliminate_nop_arithmetic"),  // x * 1, x + 0
    std::string_view("eliminate_nop_cast"),        //
    std::string_view("eliminate_nop_expand"),      //
    std::string_view("eliminate_nop_flatten"),     //
    std::string_view("eliminate_nop_pad"),         //
    std::string_view("eliminate_nop_reshape"),     //
    std::string_view("eliminate_nop_transpose"),   //
    std::string_view("eliminate_nop_dropout"),     //
    std::string_view("fuse_consecutive_cast"),     // pairs that the eliminations brought together
    std::string_view("fuse_consecutive_reshape"),  //
    std::string_view("fuse_consecutive_squeeze"),  //
    std::string_view("fuse_consecutive_unsqueeze"),   //
    std::string_view("fuse_consecutive_transpose"),   //
    std::string_view("fuse_bn_into_conv"),            // needs the Conv's constant weights
    std::string_view("fuse_bn_into_gemm"),            //
    std::string_view("fuse_mul_into_matmul"),         //
    std::string_view("fuse_consecutive_arithmetic"),  // constant Add / Mul chains that are left
    std::string_view("eliminate_duplicate_nodes"),  // equal subtrees, after folding made them equal
    std::string_view("eliminate_duplicate_initializer"),  //
    std::string_view("eliminate_deadend"),                // what the fusions orphaned
    std::string_view("eliminate_unused_initializer"),     // last: nothing refers to them any more
};

constexpr std::array kCompile = {
    std::string_view("shape_inference"),            // user passes may have left gaps
    std::string_view("layer_norm_pattern"),         // before anything takes its Adds and Muls
    std::string_view("erf_gelu_pattern"),           //
    std::string_view("gelu_pattern"),               //
    std::string_view("silu_pattern"),               //
    std::string_view("fused_attention"),            // before projections become Linear
    std::string_view("linear_fusion"),              // MatMul + bias + activation + residual
    std::string_view("elementwise_fusion"),         // takes what is left
    std::string_view("eliminate_duplicate_nodes"),  // equal Blocks and reshapes
    std::string_view("eliminate_deadend"),          //
    std::string_view("eliminate_unused_initializer"),
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

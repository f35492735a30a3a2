// matmul_narrow: operands [a [m, k], panels, scales?, zeros?, bias? [n], residual? [m, n], y [m,
// n], rows?]. y = act(a b + bias + residual), or act(a b + bias) + residual, where b [k, n] has the
// elements (q - zero point) * scale, or q if there are no scales. The q are packed in panels of 16
// columns (isa/narrow.h, common/pack_narrow.h). scales (f32 or f16) and zeros (u8) are [panels,
// blocks, 16]; bias has room for whole panels. The panels are u8, all others are f32.
//
// `rows` (u8) is memory for rows of a in another form; it is present unless products are f32.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/epilogue.h"
#include "kernels/isa/narrow.h"

namespace poprt::kernels::calls {

// The precision of products. An instruction set that has none of the faster products uses f32.
enum class NarrowProducts : int64_t {
  f32,
  bytes,  // rows of a become bytes with a scale for each part of a block
  bf16,   // rows of a are rounded to bf16
  f16,    // rows of a and sums of 32 products are rounded to f16
};

struct MatmulNarrow {
  static constexpr std::string_view kKernel = "matmul_narrow";

  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 1;
  isa::NarrowFormat format = isa::NarrowFormat::u4;
  NarrowProducts products = NarrowProducts::f32;
  int64_t block = 16;  // values of k with one scale; the last block may be shorter
  int64_t part = 16;   // values of k of a row with one scale, for products of bytes
  int64_t zero = 0;    // the zero point if the operand `zeros` is omitted
  Epilogue epilogue;

  void fields(Fields& f) {
    f.size("m", m);
    f.size("n", n);
    f.size("k", k, 1);
    f.choice("format", format, isa::kLastNarrowFormat);
    f.choice("products", products, NarrowProducts::f16);
    f.size("block", block, 1);
    f.size("part", part, 1);
    f.integer("zero", zero, 0, 255);
    epilogue.fields(f);
    const int64_t group = isa::narrow_group(format);
    f.require(block % group == 0, "a block is not a whole number of groups");
    f.require(products != NarrowProducts::bf16 || format == isa::NarrowFormat::bf16,
              "products of bf16 require weights of bf16");
    f.require(products != NarrowProducts::f16 || format == isa::NarrowFormat::f16,
              "products of f16 require weights of f16");
    f.require(
        products != NarrowProducts::bytes || (isa::is_integer(format) && part % group == 0 &&
                                              block % part == 0 && part % 16 == 0 && part <= 1024),
        "the parts do not fit products of bytes");
  }
};

}  // namespace poprt::kernels::calls

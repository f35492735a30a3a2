#include "ops/common/narrow_matmul.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/common/packed_bias.h"
#include "program/narrow_weights.h"

namespace poprt::ops {

using kernels::NarrowMatrix;
using kernels::isa::kNarrowPanel;
using kernels::isa::NarrowFormat;

namespace {

// A row of bytes has a scale for each part of at most this many values.
constexpr int64_t kMostOfPart = 128;

template <class T>
std::span<const T> elements(const Tensor& t) {
  return {static_cast<const T*>(t.data()), static_cast<size_t>(t.count())};
}

struct NarrowPanels {
  NarrowFormat format;
  bool is_signed;
  NarrowMatrix matrix;
  bool operator==(const NarrowPanels&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    if (kernels::isa::is_integer(format))
      kernels::pack_narrow_integers(program::bytes_of(from[0]), is_signed, format, matrix, to);
    else if (kernels::isa::narrow_bits(format) == 16)
      kernels::pack_narrow_halves(elements<uint16_t>(from[0]), format, matrix,
                                  program::as_array<uint16_t>(to));
    else
      kernels::pack_narrow_bytes(elements<uint8_t>(from[0]), matrix, to);
  }
};

// One number for each block and column, in the order of the panels; 0 for missing columns.
struct BlockNumbers {
  int64_t n, blocks, by_block, by_n;
  DType dtype;
  double add, times;
  bool operator==(const BlockNumbers&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    const std::vector<double> values = from[0].to_doubles();
    for (int64_t panel = 0, i = 0; panel < kernels::narrow_panels(n); panel++)
      for (int64_t block = 0; block < blocks; block++)
        for (int64_t j = panel * kNarrowPanel; j < (panel + 1) * kNarrowPanel; j++, i++) {
          const double v =
              j < n ? values[static_cast<size_t>(block * by_block + j * by_n)] * times + add : 0;
          const auto at = static_cast<size_t>(i);
          if (dtype == DType::f32)
            program::as_array<float>(to)[at] = static_cast<float>(v);
          else if (dtype == DType::f16)
            program::as_array<f16_t>(to)[at] = to_f16(static_cast<float>(v));
          else
            program::as_array<uint8_t>(to)[at] = static_cast<uint8_t>(v);
        }
  }
};

program::BufferId pack_numbers(LowerContext& ctx, const Tensor& of, const BlockNumbers& numbers) {
  return ctx.pack(numbers.dtype, {kernels::narrow_panels(numbers.n), numbers.blocks, kNarrowPanel},
                  {{of}, numbers});
}

bool fits_f16(const Tensor& scales) {
  const auto values = scales.values<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float v) { return to_float(to_f16(v)) == v; });
}

struct NarrowCall {
  calls::MatmulNarrow call;
  program::BufferId scales = program::kNoBuffer, zeros = program::kNoBuffer;
};

// Sets the blocks of integers and packs their scales and zero points.
void add_blocks(LowerContext& ctx, const NarrowMatmul& p, NarrowCall& to) {
  calls::MatmulNarrow& c = to.call;
  const int64_t group = kernels::isa::narrow_group(c.format), padded = (c.k + 15) / 16 * 16;
  const int64_t blocks = p.block ? (c.k + p.block - 1) / p.block : 1;
  c.block = p.block ? p.block : padded;
  if (blocks == 1) c.block = padded;
  // The largest of 16, 32, 64 and 128 that divides the block, or 16 if none does.
  c.part = 16;
  while (c.part * 2 <= kMostOfPart && c.block % (c.part * 2) == 0) c.part *= 2;
  const bool parts_fit = c.block % c.part == 0 && c.part % group == 0;
  if (p.products == calls::NarrowProducts::bytes && parts_fit)
    c.products = calls::NarrowProducts::bytes;

  const double middle = is_signed(p.b.dtype())
                            ? static_cast<double>(1 << (kernels::isa::narrow_bits(c.format) - 1))
                            : 0;
  BlockNumbers numbers{c.n, blocks, p.scale_by_block, p.scale_by_n, DType::f32, 0, 1};
  numbers.dtype = fits_f16(p.scales) ? DType::f16 : DType::f32;
  to.scales = pack_numbers(ctx, p.scales, numbers);
  c.zero = p.zero + static_cast<int64_t>(middle);
  if (!p.zeros.defined()) return;
  const std::vector<double> zeros = p.zeros.to_doubles();
  if (std::all_of(zeros.begin(), zeros.end(), [&](double z) { return z == zeros[0]; }))
    c.zero = static_cast<int64_t>(zeros[0] + middle);
  else
    to.zeros = pack_numbers(ctx, p.zeros,
                            {c.n, blocks, p.scale_by_block, p.scale_by_n, DType::u8, middle, 1});
}

// The ratio of the value of an 8-bit float to the f16 as which a kernel reads it; 1 for other
// formats.
double quarter_factor(NarrowFormat format) { return format == NarrowFormat::f8_143 ? 0x1p7 : 1; }

}  // namespace

std::optional<NarrowFormat> narrow_format(DType dtype) {
  switch (dtype) {
    case DType::s2:
    case DType::u2: return NarrowFormat::u2;
    case DType::s4:
    case DType::u4: return NarrowFormat::u4;
    case DType::s8:
    case DType::u8: return NarrowFormat::u8;
    case DType::f16: return NarrowFormat::f16;
    case DType::bf16: return NarrowFormat::bf16;
    case DType::f8_143: return NarrowFormat::f8_143;
    default: return std::nullopt;
  }
}

bool is_narrow_block(DType dtype, int64_t block) {
  const auto format = narrow_format(dtype);
  return format && kernels::isa::is_integer(*format) && block >= 0 &&
         block % kernels::isa::narrow_group(*format) == 0;
}

std::optional<NarrowNumbers> narrow_numbers(const Tensor& weights) {
  constexpr size_t kPiece = 4096;  // floats between two checks for an early exit
  const auto values = weights.values<float>();
  program::Narrowing narrowing;
  for (size_t at = 0; at < values.size(); at += kPiece)
    if (!narrowing.add(values.subspan(at, std::min(kPiece, values.size() - at))))
      return std::nullopt;
  auto form = narrowing.narrowest();
  if (!form) return std::nullopt;
  // No kernel reads f8_152. bf16 represents its numbers, and so does f16 unless they are too small.
  if (form->dtype == DType::f8_152) {
    const bool half = std::ranges::all_of(values, [](float v) { return to_float(to_f16(v)) == v; });
    *form = {0, 0, half ? DType::f16 : DType::bf16, 0};
  }
  NarrowNumbers numbers{Tensor::zeros(form->dtype, weights.shape()),
                        std::ldexp(1.0f, form->exponent)};
  program::narrow(*form, values,
                  {static_cast<std::byte*>(numbers.values.mutable_data()), numbers.values.bytes()});
  return numbers;
}

program::BufferId pack_narrow_panels(LowerContext& ctx, const Tensor& b, const NarrowMatrix& m) {
  const NarrowFormat format = *narrow_format(b.dtype());
  return ctx.pack(DType::u8, {kernels::packed_narrow_bytes(format, m.k, m.n)},
                  {{b}, NarrowPanels{format, is_signed(b.dtype()), m}});
}

void lower_narrow_matmul(LowerContext& ctx, const NarrowMatmul& p) {
  NarrowCall narrow;
  calls::MatmulNarrow& c = narrow.call;
  c.m = p.m;
  c.n = p.matrix.n;
  c.k = p.matrix.k;
  c.format = *narrow_format(p.b.dtype());
  c.epilogue = epilogue_of(p.activation, p.residual_after);
  c.block = kernels::isa::narrow_groups(c.format, c.k) * kernels::isa::narrow_group(c.format);
  if (kernels::isa::is_integer(c.format))
    add_blocks(ctx, p, narrow);
  else if (p.scales.defined())
    narrow.scales = pack_numbers(
        ctx, p.scales,
        {c.n, 1, p.scale_by_block, p.scale_by_n, DType::f32, 0, quarter_factor(c.format)});
  if (p.products == calls::NarrowProducts::bf16 && c.format == NarrowFormat::bf16)
    c.products = calls::NarrowProducts::bf16;
  // Few rows are bound by the memory on every CPU and need no rows of f16.
  if (p.products == calls::NarrowProducts::f16 && c.format == NarrowFormat::f16 &&
      c.m > kernels::isa::kNarrowRows && !p.scales.defined())
    c.products = calls::NarrowProducts::f16;
  const auto panels = pack_narrow_panels(ctx, p.b, p.matrix);
  const int64_t columns = checked_mul(kernels::narrow_panels(c.n), kNarrowPanel);
  const auto bias = p.bias.defined() ? pack_bias(ctx, p.bias, c.n, columns) : LowerContext::kNone;
  std::vector<program::BufferId> operands = {p.a,        panels, narrow.scales, narrow.zeros, bias,
                                             p.residual, p.c};
  if (c.products == calls::NarrowProducts::bf16)
    operands.push_back(ctx.temporary(DType::u8, {c.m, kernels::isa::narrow_pair_bytes(c.k)}));
  if (c.products == calls::NarrowProducts::f16)
    operands.push_back(ctx.temporary(DType::u8, {c.m, kernels::isa::narrow_half_bytes(c.k)}));
  if (c.products == calls::NarrowProducts::bytes) {
    const kernels::isa::NarrowShape shape = {.m = c.m,
                                             .n = c.n,
                                             .k = c.k,
                                             .format = c.format,
                                             .block = c.block,
                                             .blocks = 0,
                                             .zero = 0,
                                             .half_scales = false,
                                             .epilogue = {},
                                             .part = c.part,
                                             .parts = (c.k + c.part - 1) / c.part};
    operands.push_back(ctx.temporary(DType::u8, {c.m, kernels::isa::narrow_row_bytes(shape)}));
  }
  ctx.emit(c, operands);
}

}  // namespace poprt::ops

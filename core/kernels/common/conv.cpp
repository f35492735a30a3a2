#include "kernels/common/conv.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/make_epilogue.h"

namespace poprt::kernels {

void expect_f32(std::string_view kernel, std::span<const Operand> operands, size_t i,
                int64_t elements) {
  const Operand& o = operands[i];
  expect(o.present, kernel, "an operand is missing");
  expect(o.dtype == DType::f32, kernel, "operands must be f32");
  expect(elements >= 0 && o.bytes / 4 >= static_cast<uint64_t>(elements), kernel,
         "an operand is too small");
}

void expect_stored(std::string_view kernel, std::span<const Operand> operands, size_t i,
                   int64_t elements) {
  const Operand& o = operands[i];
  expect(o.present, kernel, "an operand is missing");
  expect(o.dtype == DType::bf16 || o.dtype == DType::f32, kernel, "operands must be bf16 or f32");
  expect(elements >= 0 &&
             o.bytes / (o.dtype == DType::bf16 ? 2 : 4) >= static_cast<uint64_t>(elements),
         kernel, "an operand is too small");
}

void expect_bf16_weights(std::string_view kernel, const Operand& weights, int64_t vectors) {
  expect(weights.present && weights.dtype == DType::bf16, kernel, "weights must be bf16");
  expect(weights.bytes / 64 >= static_cast<uint64_t>(vectors), kernel, "an operand is too small");
}

ConvCall read_conv(std::string_view kernel, const calls::BlockedConv& conv,
                   std::span<const Operand> operands, const std::optional<calls::ConvDepth>& depth,
                   bool plain_y, ConvTypes types) {
  expect(operands.size() == 5, kernel, "expected 5 operands");
  const auto expect_type = types == ConvTypes::f32 ? expect_f32 : expect_stored;
  ConvCall c;
  isa::ConvShape& s = c.shape;
  s.batch = conv.batch;
  s.groups = conv.groups;
  s.c = conv.c;
  s.c_blocks = (conv.c + 15) / 16;
  s.oc_blocks = (conv.m + 15) / 16;
  s.h = conv.h;
  s.w = conv.w;
  s.oh = conv.oh;
  s.ow = conv.ow;
  s.kh = conv.kh;
  s.kw = conv.kw;
  s.stride_h = conv.stride_h;
  s.stride_w = conv.stride_w;
  s.pad_h = conv.pad_h;
  s.pad_w = conv.pad_w;
  s.dilation_h = conv.dilation_h;
  s.dilation_w = conv.dilation_w;
  if (depth) {
    s.d = depth->d;
    s.od = depth->od;
    s.kd = depth->kd;
    s.stride_d = depth->stride_d;
    s.pad_d = depth->pad_d;
    s.dilation_d = depth->dilation_d;
  }
  s.epilogue = make_epilogue(conv.epilogue);
  const auto product = [](std::initializer_list<int64_t> list) {
    int64_t p = 1;
    for (const int64_t f : list) p = checked_mul(p, f);
    return p;
  };
  c.x_elements = product({s.batch, s.groups, s.c_blocks, s.d, s.h, s.w, 16});
  const int64_t filters = checked_mul(s.groups, plain_y ? conv.m : s.oc_blocks * 16);
  const int64_t y = product({s.batch, filters, s.od, s.oh, s.ow});
  if (operands[2].present) expect_f32(kernel, operands, 2, filters);
  if (operands[3].present) expect_type(kernel, operands, 3, y);
  expect_type(kernel, operands, 4, y);
  s.bf16_x = types != ConvTypes::f32 && operands[0].dtype == DType::bf16;
  s.bf16_residual = operands[3].present && operands[3].dtype == DType::bf16;
  s.bf16_y = operands[4].dtype == DType::bf16;
  c.outputs = static_cast<double>(y);
  c.flops = 2.0 * c.outputs * static_cast<double>(s.c) * static_cast<double>(s.kd) *
            static_cast<double>(s.kh) * static_cast<double>(s.kw);
  c.io_bytes = (s.bf16_x ? 2.0 : 4.0) * static_cast<double>(c.x_elements) +
               (s.bf16_y ? 2.0 : 4.0) * c.outputs;
  c.io_bytes += static_cast<double>(operands[1].bytes);
  return c;
}

std::vector<int32_t> tap_offsets(const isa::ConvShape& s, int64_t channels,
                                 const isa::RowsLayout& layout, int64_t unit) {
  std::vector<int32_t> offsets;
  for (int64_t channel = 0; channel < channels; channel++)
    for (int64_t ky = 0; ky < s.kh; ky++)
      for (int64_t kx = 0; kx < s.kw; kx++) {
        const int64_t x = kx * s.dilation_w, row = channel * layout.rows + ky * s.dilation_h;
        offsets.push_back(static_cast<int32_t>(
            ((row * layout.phases + x % s.stride_w) * layout.width + x / s.stride_w) * unit));
      }
  return offsets;
}

double conv_ns(const ConvCall& call, double flops) {
  return std::max(flops / 100.0, call.io_bytes / 15.0) +
         call.outputs * epilogue_ns(call.shape.epilogue);
}

}  // namespace poprt::kernels

#include "kernels/common/conv.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/epilogue.h"

namespace poprt::kernels {

void expect_f32(std::string_view kernel, const Call& call, size_t i, int64_t elements) {
  const Operand& o = call.operands[i];
  expect(o.present, kernel, "an operand is missing");
  expect(o.dtype == DType::f32, kernel, "operands must be f32");
  expect(elements >= 0 && o.bytes / 4 >= static_cast<uint64_t>(elements), kernel,
         "an operand is too small");
}

namespace {

void read_depth(std::string_view kernel, std::span<const int64_t> v, isa::ConvShape& s) {
  for (size_t i = 0; i < kConvDepthInts; i++)
    expect(v[i] >= (i == 4 ? 0 : 1) && v[i] < (int64_t{1} << 31), kernel, "a size is out of range");
  s.d = v[0];
  s.od = v[1];
  s.kd = v[2];
  s.stride_d = v[3];
  s.pad_d = v[4];
  s.dilation_d = v[5];
}

ConvCall read(std::string_view kernel, const Call& call, size_t extra, bool deep, bool plain_y) {
  expect(
      call.operands.size() == 5 && call.ints.size() == kConvInts + extra && call.floats.size() == 2,
      kernel, "wrong number of operands, integers or floats");
  const auto v = [&](size_t i) { return call.ints[i]; };
  for (size_t i = 0; i < 16; i++)
    expect(v(i) >= (i == 12 || i == 13 ? 0 : 1) && v(i) < (int64_t{1} << 31), kernel,
           "a size is out of range");
  ConvCall c;
  isa::ConvShape& s = c.shape;
  s.batch = v(0);
  s.groups = v(1);
  s.c = v(2);
  s.c_blocks = (v(2) + 15) / 16;
  s.oc_blocks = (v(3) + 15) / 16;
  s.h = v(4);
  s.w = v(5);
  s.oh = v(6);
  s.ow = v(7);
  s.kh = v(8);
  s.kw = v(9);
  s.stride_h = v(10);
  s.stride_w = v(11);
  s.pad_h = v(12);
  s.pad_w = v(13);
  s.dilation_h = v(14);
  s.dilation_w = v(15);
  if (deep) read_depth(kernel, call.ints.subspan(kConvInts), s);
  s.epilogue = make_epilogue(kernel, v(16), call.floats[0], call.floats[1], v(17) != 0);
  const auto product = [](std::initializer_list<int64_t> list) {
    int64_t p = 1;
    for (const int64_t f : list) p = checked_mul(p, f);
    return p;
  };
  c.x_elements = product({s.batch, s.groups, s.c_blocks, s.d, s.h, s.w, 16});
  const int64_t filters = checked_mul(s.groups, plain_y ? v(3) : s.oc_blocks * 16);
  const int64_t y = product({s.batch, filters, s.od, s.oh, s.ow});
  if (call.operands[2].present) expect_f32(kernel, call, 2, filters);
  if (call.operands[3].present) expect_f32(kernel, call, 3, y);
  expect_f32(kernel, call, 4, y);
  c.outputs = static_cast<double>(y);
  c.flops = 2.0 * c.outputs * static_cast<double>(s.c) * static_cast<double>(s.kd) *
            static_cast<double>(s.kh) * static_cast<double>(s.kw);
  c.io_bytes = 4.0 * (static_cast<double>(c.x_elements) + c.outputs);
  for (const Operand& o : call.operands.subspan(1, 1)) c.io_bytes += static_cast<double>(o.bytes);
  return c;
}

}  // namespace

ConvCall read_conv(std::string_view kernel, const Call& call, size_t extra) {
  return read(kernel, call, extra, false, false);
}

ConvCall read_deep_conv(std::string_view kernel, const Call& call, bool plain_y) {
  const bool deep = call.ints.size() == kConvInts + kConvDepthInts;
  return read(kernel, call, deep ? kConvDepthInts : 0, deep, plain_y);
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

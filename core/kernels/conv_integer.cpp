// conv_integer (calls/conv_integer.h). A task is a panel of output pixels of one image and group.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/calls/conv_integer.h"
#include "kernels/common/conv_generic.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/isa/quantize.h"
#include "kernels/isa/vnni.h"

namespace poprt::kernels::conv_integer_kernel {
namespace {

struct Params {
  GenericConv conv;
  const isa::IntegerTable* table;
  int64_t panels;
  bool x_signed, w_signed, w_filters;
  // Used only if each group has one channel.
  const isa::VnniTable* vnni_table;
  const isa::QuantizeTable* quantize;
  std::array<int64_t, 3> padded;
  int64_t padded_floats;
  std::vector<int32_t> offsets;
};

void gather(const GenericConv& p, const uint8_t* x, bool is_signed, int32_t zero, int64_t pixel,
            int64_t count, int64_t k0, int64_t k1, IntegerScratch& s) {
  const auto& [az, ay, ax] = p.axis;
  int64_t z[kIntegerPanel], y[kIntegerPanel], xs[kIntegerPanel];
  for (int64_t j = 0; j < count; j++) {
    const int64_t at = pixel + j;
    z[j] = at / (ay.out * ax.out) * az.stride - az.pad;
    y[j] = at / ax.out % ay.out * ay.stride - ay.pad;
    xs[j] = at % ax.out * ax.stride - ax.pad;
  }
  for (int64_t k = k0; k < k1; k++) {
    int16_t* to = panel_row(s, k - k0);
    const int64_t channel = k / p.taps, tap = k % p.taps;
    const int64_t dz = tap / (ay.kernel * ax.kernel) * az.dilation;
    const int64_t dy = tap / ax.kernel % ay.kernel * ay.dilation;
    const int64_t dx = tap % ax.kernel * ax.dilation;
    const uint8_t* plane = x + channel * p.in_plane;
    for (int64_t j = 0; j < count; j++) {
      const int64_t iz = z[j] + dz, iy = y[j] + dy, ix = xs[j] + dx;
      const bool inside = iz >= 0 && iz < az.in && iy >= 0 && iy < ay.in && ix >= 0 && ix < ax.in;
      to[2 * j] = inside ? static_cast<int16_t>(
                               byte_at(plane, is_signed, (iz * ay.in + iy) * ax.in + ix) - zero)
                         : int16_t{0};
    }
    for (int64_t j = count; j < kIntegerPanel; j++) to[2 * j] = 0;
  }
  finish_panel(s, k1 - k0);
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const Params& all = *static_cast<const Params*>(params);
  const GenericConv& p = all.conv;
  const bool x_signed = all.x_signed, w_signed = all.w_signed, w_filters = all.w_filters;
  const int64_t panels = all.panels;
  const isa::IntegerTable* table = all.table;
  auto& s = *reinterpret_cast<IntegerScratch*>(scratch);
  const int64_t k_total = p.c * p.taps;
  const int32_t x_zero = data[2] ? byte_at(data[2], x_signed, 0) : 0;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / panels, pixel = task % panels * kIntegerPanel;
    const int64_t group = plane % p.groups, width = std::min(kIntegerPanel, p.out_plane - pixel);
    const auto* x = static_cast<const uint8_t*>(data[0]) + plane * p.c * p.in_plane;
    const auto* w = static_cast<const uint8_t*>(data[1]) + group * p.m * k_total;
    auto* y = static_cast<int32_t*>(data[5]) + plane * p.m * p.out_plane + pixel;
    for (int64_t k = 0; k < k_total; k += kIntegerDepth) {
      const int64_t depth = std::min(kIntegerDepth, k_total - k);
      gather(p, x, x_signed, x_zero, pixel, width, k, k + depth, s);
      for (int64_t m = 0; m < p.m; m += kIntegerRows) {
        const int64_t rows = std::min(kIntegerRows, p.m - m);
        for (int64_t r = 0; r < rows; r++) {
          const int64_t filter = group * p.m + m + r;
          const int32_t w_zero = data[3] ? byte_at(data[3], w_signed, w_filters ? filter : 0) : 0;
          fill_row(s, r, w + (m + r) * k_total + k, w_signed, w_zero, depth);
          int32_t* sums = s.sums + r * kIntegerPanel;
          if (k)
            std::copy_n(y + (m + r) * p.out_plane, width, sums);
          else
            std::fill_n(sums, kIntegerPanel,
                        data[4] ? static_cast<const int32_t*>(data[4])[filter] : 0);
        }
        table->multiply(s.rows, kIntegerDepth, rows, s.panel, (depth + 1) / 2, s.sums);
        for (int64_t r = 0; r < rows; r++)
          std::copy_n(s.sums + r * kIntegerPanel, width, y + (m + r) * p.out_plane);
      }
    }
  }
}

// One channel in each group: planes are converted to floats, in which such short sums are exact. A
// task is one group of one image.
constexpr int64_t kExactTaps = 256;  // 256 * 255 * 255 < 2^24

void run_depthwise(const void* params, void* const* data, int64_t begin, int64_t end,
                   std::byte* scratch) noexcept {
  const Params& all = *static_cast<const Params*>(params);
  const GenericConv& p = all.conv;
  const auto& [az, ay, ax] = p.axis;
  auto* plane = reinterpret_cast<float*>(scratch);
  const float one = 1;
  const auto x_zero = static_cast<float>(data[2] ? byte_at(data[2], all.x_signed, 0) : 0);
  for (int64_t task = begin; task < end; task++) {
    const auto* x = static_cast<const uint8_t*>(data[0]) + task * p.in_plane;
    std::fill_n(plane, all.padded_floats, 0.0f);
    for (int64_t iz = 0; iz < az.in; iz++)
      for (int64_t iy = 0; iy < ay.in; iy++)
        all.quantize->dequantize(
            all.x_signed ? isa::Whole::s8 : isa::Whole::u8,
            plane + ((iz + az.pad) * all.padded[1] + iy + ay.pad) * all.padded[2] + ax.pad,
            x + (iz * ay.in + iy) * ax.in, &one, &x_zero, false, ax.in);
    for (int64_t m = 0; m < p.m; m++) {
      const int64_t filter = task % p.groups * p.m + m;
      const auto* w = static_cast<const uint8_t*>(data[1]) + filter * p.taps;
      const int32_t w_zero =
          data[3] ? byte_at(data[3], all.w_signed, all.w_filters ? filter : 0) : 0;
      float weights[kExactTaps];
      for (int64_t t = 0; t < p.taps; t++)
        weights[t] = static_cast<float>(byte_at(w, all.w_signed, t) - w_zero);
      const int32_t bias = data[4] ? static_cast<const int32_t*>(data[4])[filter] : 0;
      int32_t* y = static_cast<int32_t*>(data[5]) + (task * p.m + m) * p.out_plane;
      for (int64_t oz = 0; oz < az.out; oz++)
        for (int64_t oy = 0; oy < ay.out; oy++, y += ax.out)
          all.vnni_table->filter_row(
              plane + (oz * az.stride * all.padded[1] + oy * ay.stride) * all.padded[2],
              all.offsets.data(), weights, p.taps, ax.stride, ax.out, bias, y);
    }
  }
}

// Plans the float version if each group has one input channel, unless there are too many taps, the
// planes or the stride are too large, or a pad is negative.
void plan_depthwise(Params& all, Plan& plan) {
  const GenericConv& p = all.conv;
  if (p.c != 1 || p.taps > kExactTaps) return;
  int64_t floats = 1;
  for (size_t d = 0; d < 3; d++) {
    const ConvAxis& a = p.axis[d];
    if (a.pad < 0) return;
    const int64_t reach =
        checked_add(checked_mul(a.out - 1, a.stride), checked_mul(a.kernel - 1, a.dilation)) + 1;
    all.padded[d] = std::max(reach, a.pad + a.in);
    if (all.padded[d] > (int64_t{1} << 24)) return;
    floats *= all.padded[d];
    if (floats > (int64_t{1} << 24)) return;
  }
  const auto& [az, ay, ax] = p.axis;
  if (ax.stride > 4096) return;
  for (int64_t t = 0; t < p.taps; t++)
    all.offsets.push_back(
        static_cast<int32_t>((t / (ay.kernel * ax.kernel) * az.dilation * all.padded[1] +
                              t / ax.kernel % ay.kernel * ay.dilation) *
                                 all.padded[2] +
                             t % ax.kernel * ax.dilation));
  all.padded_floats = floats + 16 * ax.stride + 16;
  all.vnni_table = &POPRT_SELECT_ISA(vnni);
  all.quantize = &POPRT_SELECT_ISA(quantize);
  plan.run = run_depthwise;
  plan.tasks = checked_mul(p.n, p.groups);
  plan.work =
      static_cast<double>(plan.tasks) *
      (static_cast<double>(floats) * 0.2 + static_cast<double>(p.m * p.out_plane * p.taps) * 0.1);
  plan.scratch_bytes = static_cast<size_t>(all.padded_floats) * 4;
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_integer";
  const Operands r(kName, call, 6);
  const auto c = calls::decode<calls::ConvInteger>(call);
  const DType x = r.dtype(0), w = r.dtype(1);
  r.check(r.has(0) && r.has(1) && is_byte(x) && is_byte(w), "x and w must be u8 or s8");
  // The checks of a float convolution are used, so the operands are described with one type.
  Operand bytes_x = call.operands[0], bytes_w = call.operands[1], y = call.operands[5];
  r.check(y.present && y.dtype == DType::s32, "y must be s32");
  bytes_x.dtype = bytes_w.dtype = y.dtype = DType::u8;
  y.bytes /= 4;
  const Operand operands[] = {bytes_x, bytes_w, Operand{}, y};
  auto p = std::make_shared<Params>();
  p->conv = read_generic_conv(kName, c.conv, operands);
  p->table = &POPRT_SELECT_ISA(integer);
  p->x_signed = x == DType::s8;
  p->w_signed = w == DType::s8;
  p->w_filters = c.w_filters;
  const int64_t filters = p->conv.groups * p->conv.m;
  r.needs_if_present(2, x, {1});
  r.needs_if_present(3, w, {p->w_filters ? filters : 1});
  r.needs_if_present(4, DType::s32, {filters});
  p->panels = (p->conv.out_plane + kIntegerPanel - 1) / kIntegerPanel;
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(checked_mul(p->conv.n, p->conv.groups), p->panels);
  plan.work = p->conv.flops() * static_cast<double>(p->conv.out_plane) / 60;
  plan.scratch_bytes = sizeof(IntegerScratch);
  plan_depthwise(*p, plan);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_integer", prepare};

}  // namespace poprt::kernels::conv_integer_kernel

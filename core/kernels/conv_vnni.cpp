// conv_vnni (calls/conv_vnni.h). A task is a few panels of 64 positions of one image and group.
//
// If the stride along the rows is 1, a panel is read in place; otherwise it is gathered. If the
// stride from row to row is 1, too, the positions of a panel continue through the padding at the
// ends of rows, and results for the padding are dropped.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/calls/conv_vnni.h"
#include "kernels/common/convert_block.h"
#include "kernels/common/instruction_set.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/isa/vnni.h"

namespace poprt::kernels::conv_vnni_kernel {
namespace {

constexpr int64_t kPanelsOfTask = 4;

using Axis = calls::VnniAxis;

struct Params {
  const isa::VnniTable* table;
  bool vnni;
  int64_t groups, c, m, quads, in_plane = 1, out_plane = 1, taps = 1, steps;
  bool x_signed, w_signed, w_filters;
  std::array<Axis, 3> axis;
  bool direct;                  // panels are read in place
  int64_t line, lines, panels;  // positions of a line, lines of an image, panels of a line
  int64_t tasks_of_line;
  std::vector<int32_t> offsets;                // of the steps, in bytes
  bool scaled = false, scale_filters = false;  // y is bytes; there is a w_scale for each filter
  DType x_scale, w_scale, y_scale, y;
};

// Converts sums to bytes.
class Requantizer {
 public:
  Requantizer(const Params& p, void* const* data) : p_(p), data_(data) {
    if (!p.scaled) return;
    factor_ = number(p.x_scale, data[6], 0);
    divisor_ = number(p.y_scale, data[8], 0);
    zero = number(p.y, data[9], 0);
    low = p.y == DType::s8 ? -128.0f : 0.0f;
  }
  float scale_of(int64_t filter) const {
    return factor_ * number(p_.w_scale, data_[7], p_.scale_filters ? filter : 0) / divisor_;
  }
  float zero = 0, low = 0;

 private:
  static float number(DType t, const void* from, int64_t i) {
    if (t == DType::f32) return static_cast<const float*>(from)[i];
    float v;
    to_floats(t, from, i, 1, &v);
    return v;
  }
  const Params& p_;
  void* const* data_;
  float factor_ = 0, divisor_ = 1;
};

// The first input position of a line, in quads.
int64_t line_start(const Params& p, int64_t line) {
  const auto& [az, ay, ax] = p.axis;
  if (!p.direct || ay.stride != 1)
    return (line / ay.out * az.stride * ay.padded + line % ay.out * ay.stride) * ax.padded;
  return line * az.stride * ay.padded * ax.padded;
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto& [az, ay, ax] = p.axis;
  auto* gathered = reinterpret_cast<uint8_t*>(scratch);
  const int32_t x_zero = (data[3] ? byte_at(data[3], p.x_signed, 0) : 0) + (p.x_signed ? 128 : 0);
  const auto w_zero = [&](int64_t filter) {
    return (data[4] ? byte_at(data[4], p.w_signed, p.w_filters ? filter : 0) : 0) -
           (p.w_signed ? 0 : 128);
  };
  const Requantizer requantizer(p, data);
  auto* y_bytes = static_cast<std::byte*>(data[p.scaled ? 10 : 6]);
  const int64_t y_size = p.scaled ? 1 : static_cast<int64_t>(sizeof(int32_t));
  const int64_t filters = p.groups * p.m;
  bool any_zero = false;
  for (int64_t f = 0; f < (p.w_filters ? filters : 1); f++) any_zero |= w_zero(f) != 0;
  constexpr int64_t kPanel = isa::kVnniPanel;
  int32_t sums[isa::kVnniRows * kPanel], column_sums[kPanel] = {}, zeros[kPanel], out[kPanel];
  std::fill_n(zeros, kPanel, 1);
  const auto depth = static_cast<uint32_t>(p.c * p.taps);
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / (p.lines * p.tasks_of_line), group = plane % p.groups;
    const int64_t line = task / p.tasks_of_line % p.lines;
    const int64_t first = task % p.tasks_of_line * kPanelsOfTask;
    const auto* x = static_cast<const uint8_t*>(data[0]) +
                    (plane * p.quads * p.in_plane + line_start(p, line)) * 4;
    const auto* w = static_cast<const uint8_t*>(data[1]) + group * p.m * p.steps * 4;
    for (int64_t panel = first; panel < std::min(first + kPanelsOfTask, p.panels); panel++) {
      const int64_t position = panel * kPanel, count = std::min(kPanel, p.line - position);
      isa::VnniPanel from = {x + position * 4, p.offsets.data(), p.steps};
      if (!p.direct) {
        for (int64_t i = 0; i < p.steps; i++) {
          const uint8_t* at = x + position * ax.stride * 4 + p.offsets[static_cast<size_t>(i)];
          p.table->take(gathered + i * isa::kVnniBytes, at, ax.stride, count);
        }
        from = {gathered, nullptr, p.steps};
      }
      if (any_zero) p.table->column_sums(false, p.vnni, from, column_sums);
      for (int64_t m0 = 0; m0 < p.m; m0 += isa::kVnniRows) {
        const int64_t rows = std::min(isa::kVnniRows, p.m - m0);
        p.table->multiply(isa::VnniSigns::rows, p.vnni, w + m0 * p.steps * 4, p.steps * 4, rows,
                          from, false, sums);
        for (int64_t r = 0; r < rows; r++) {
          const int64_t filter = group * p.m + m0 + r;
          // (x - zx)(w - zw) = xw - zw x - zx (w - zw)
          const int32_t zw = w_zero(filter);
          const uint32_t rest =
              static_cast<uint32_t>(x_zero) *
                  (static_cast<uint32_t>(static_cast<const int32_t*>(data[2])[filter]) -
                   depth * static_cast<uint32_t>(zw)) -
              (data[5] ? static_cast<uint32_t>(static_cast<const int32_t*>(data[5])[filter]) : 0u);
          // The bytes of a complete panel are written to their place, others through `out`.
          const auto begin_of = [&](int64_t at) { return y_bytes + at * y_size; };
          const auto write = [&](int64_t at, int64_t j, int64_t n) {
            std::memcpy(begin_of(at), reinterpret_cast<const std::byte*>(out) + j * y_size,
                        static_cast<size_t>(n * y_size));
          };
          const bool runs_on = p.direct && ay.stride == 1;
          const bool whole = !runs_on || ax.padded == ax.out;  // there are no gaps between rows
          int64_t y = (plane * p.m + m0 + r) * p.out_plane + line * (runs_on ? ay.out : 1) * ax.out;
          if (p.scaled) {
            const bool straight = whole && count == kPanel;
            p.table->correct_bytes(straight ? static_cast<void*>(begin_of(y + position)) : out,
                                   sums + r * kPanel, zw, column_sums, static_cast<int32_t>(rest),
                                   requantizer.scale_of(filter), requantizer.zero, requantizer.low);
            if (straight) continue;
          } else {
            p.table->correct(out, sums + r * kPanel, kPanel, zw, column_sums, zeros,
                             static_cast<int32_t>(rest));
          }
          if (whole) {
            write(y + position, 0, count);
            continue;
          }
          // Rows have ax.padded positions, of which the first ax.out are results.
          for (int64_t j = 0; j < count;) {
            const int64_t row = (position + j) / ax.padded, at = (position + j) % ax.padded;
            const int64_t n = std::min(count - j, ax.padded - at);
            if (at < ax.out) write(y + row * ax.out + at, j, std::min(n, ax.out - at));
            j += n;
          }
        }
      }
    }
  }
}

Plan prepare(const Call& call) {
  const bool scaled = call.operands.size() > 7;
  const Operands r("conv_vnni", call, scaled ? 11 : 7);
  const auto c = calls::decode<calls::ConvVnni>(call);
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(vnni);
  p->vnni = can_use_vnni();
  const int64_t n = c.n;
  p->groups = c.groups;
  p->c = c.c;
  p->m = c.m;
  p->x_signed = c.x_signed;
  p->w_signed = c.w_signed;
  p->w_filters = c.w_filters;
  p->quads = (p->c + 3) / 4;
  std::copy_backward(c.axes.begin(), c.axes.end(), p->axis.end());
  for (const Axis& a : c.axes) {
    p->in_plane = checked_mul(p->in_plane, a.padded);
    p->out_plane = checked_mul(p->out_plane, a.out);
    p->taps = checked_mul(p->taps, a.kernel);
  }
  const auto& [az, ay, ax] = p->axis;
  p->steps = checked_mul(p->quads, p->taps);
  const int64_t bytes = Operands::product({p->quads, p->in_plane, 4});
  r.check(bytes < (int64_t{1} << 31), "an image is too large");
  const int64_t filters = checked_mul(p->groups, p->m), images = checked_mul(n, p->groups);
  r.needs(0, DType::u8, {checked_add(checked_mul(images, bytes), isa::kVnniBytes)});
  r.needs(1, DType::s8, {filters, p->steps, 4});
  r.needs(2, DType::s32, {filters});
  r.needs_if_present(3, p->x_signed ? DType::s8 : DType::u8, {1});
  r.needs_if_present(4, p->w_signed ? DType::s8 : DType::u8, {p->w_filters ? filters : 1});
  r.needs_if_present(5, DType::s32, {filters});
  if (scaled) {
    p->scaled = true;
    p->x_scale = r.dtype(6);
    p->w_scale = r.dtype(7);
    p->y_scale = r.dtype(8);
    p->y = r.dtype(10);
    for (const DType t : {p->x_scale, p->w_scale, p->y_scale})
      r.check(t == DType::f32 || t == DType::f16 || t == DType::bf16,
              "scales must be f32, f16 or bf16");
    r.check(is_byte(p->y), "results must be u8 or s8");
    p->scale_filters = element_count(call.operands[7].shape) != 1;
    r.needs(6, p->x_scale, {1});
    r.needs(7, p->w_scale, {p->scale_filters ? filters : 1});
    r.needs(8, p->y_scale, {1});
    r.needs(9, p->y, {1});
  }
  r.needs(scaled ? 10 : 6, scaled ? p->y : DType::s32, {images, p->m, p->out_plane});
  for (int64_t q = 0; q < p->quads; q++)
    for (int64_t kz = 0; kz < az.kernel; kz++)
      for (int64_t ky = 0; ky < ay.kernel; ky++)
        for (int64_t kx = 0; kx < ax.kernel; kx++)
          p->offsets.push_back(static_cast<int32_t>(
              (q * p->in_plane + (kz * az.dilation * ay.padded + ky * ay.dilation) * ax.padded +
               kx * ax.dilation) *
              4));
  p->direct = ax.stride == 1;
  const bool runs_on = p->direct && ay.stride == 1;
  p->line = runs_on ? (ay.out - 1) * ax.padded + ax.out : ax.out;
  p->lines = runs_on ? az.out : az.out * ay.out;
  p->panels = (p->line + isa::kVnniPanel - 1) / isa::kVnniPanel;
  p->tasks_of_line = (p->panels + kPanelsOfTask - 1) / kPanelsOfTask;
  Plan plan;
  plan.run = run;
  plan.tasks = Operands::product({images, p->lines, p->tasks_of_line});
  plan.work = static_cast<double>(images * p->lines * p->panels) * isa::kVnniPanel *
              static_cast<double>(p->m) * (static_cast<double>(p->steps) / 40 + 0.5);
  if (!p->direct) plan.scratch_bytes = static_cast<size_t>(checked_mul(p->steps, isa::kVnniBytes));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_vnni", prepare};

}  // namespace poprt::kernels::conv_vnni_kernel

// interleave_bytes (calls/interleave_bytes.h). A task is four channels.
#include <algorithm>
#include <array>

#include "kernels/calls/interleave_bytes.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/isa/vnni.h"

namespace poprt::kernels::interleave_bytes_kernel {
namespace {

using Axis = calls::PaddedAxis;
struct Params {
  const isa::VnniTable* table;
  int64_t c, quads, in_plane = 1, out_plane = 1;
  bool is_signed;
  std::array<Axis, 3> axis;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto& [az, ay, ax] = p.axis;
  const uint8_t flip = p.is_signed ? 0x80 : 0;
  const auto zero =
      static_cast<uint8_t>((data[1] ? static_cast<const uint8_t*>(data[1])[0] : uint8_t{0}) ^ flip);
  for (int64_t task = begin; task < end; task++) {
    const int64_t group = task / p.quads, quad = task % p.quads;
    const int64_t rows = std::min<int64_t>(4, p.c - 4 * quad);
    const auto* x = static_cast<const uint8_t*>(data[0]) + (group * p.c + 4 * quad) * p.in_plane;
    auto* y = static_cast<uint8_t*>(data[2]) + task * p.out_plane * 4;
    const auto pad = [&](uint8_t* at, int64_t n) {
      if (rows == 4) return std::fill_n(at, 4 * n, zero), void();
      for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < 4; t++) at[4 * i + t] = t < rows ? zero : uint8_t{0};
    };
    for (int64_t oz = 0; oz < az.padded; oz++)
      for (int64_t oy = 0; oy < ay.padded; oy++, y += 4 * ax.padded) {
        const int64_t iz = oz - az.pad, iy = oy - ay.pad;
        if (iz < 0 || iz >= az.in || iy < 0 || iy >= ay.in) {
          pad(y, ax.padded);
          continue;
        }
        pad(y, ax.pad);
        p.table->interleave(x + (iz * ay.in + iy) * ax.in, p.in_plane, rows, ax.in, flip,
                            y + 4 * ax.pad);
        pad(y + 4 * (ax.pad + ax.in), ax.padded - ax.pad - ax.in);
      }
  }
}

Plan prepare(const Call& call) {
  const Operands r("interleave_bytes", call, 3);
  const auto [groups, c, axes] = calls::decode<calls::InterleaveBytes>(call);
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(vnni);
  p->c = c;
  p->quads = (c + 3) / 4;
  std::copy_backward(axes.begin(), axes.end(), p->axis.end());
  for (const Axis& a : axes) {
    p->in_plane = checked_mul(p->in_plane, a.in);
    p->out_plane = checked_mul(p->out_plane, a.padded);
  }
  const DType x = r.dtype(0);
  r.check(is_byte(x), "x must be u8 or s8");
  p->is_signed = x == DType::s8;
  r.needs(0, x, {groups, p->c, p->in_plane});
  r.needs_if_present(1, x, {1});
  r.needs(2, DType::u8,
          {checked_add(Operands::product({groups, p->quads, p->out_plane, 4}), isa::kVnniBytes)});
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(groups, p->quads);
  plan.work = static_cast<double>(plan.tasks) * static_cast<double>(p->out_plane) * 0.2;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"interleave_bytes", prepare};

}  // namespace poprt::kernels::interleave_bytes_kernel

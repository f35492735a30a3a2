// conv_bytes (calls/conv_bytes.h).
//
// A row of a register tile is an output pixel. The tile reads each tap of its pixels in place, or
// in a line of zero points for padding, so stride and dilation cost nothing. If C is not a multiple
// of four, it reads whole lines of taps, which are copied only if padding or dilation interrupts
// them. A task is a block of pixels of one image and some panels of columns.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/calls/conv_bytes.h"
#include "kernels/common/instruction_set.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/common/pack_vnni.h"
#include "kernels/isa/byte_pixels.h"

namespace poprt::kernels::conv_bytes_kernel {
namespace {

static_assert(kPackedVnniColumns == isa::kPixelPanel);

using Axis = calls::WindowAxis;
struct Params {
  const isa::BytePixelTable* table;
  bool vnni, x_signed, has_residual, by_lines, depthwise;
  bool pointwise = true;  // the single tap of an output pixel is at the same place
  int64_t n, c, m, taps = 1, in_pixels = 1, out_pixels = 1;
  // A pixel reads `reads` taps, or lines of taps if `by_lines`, of `quads` times four bytes.
  int64_t reads, quads;
  uint8_t pad_byte;
  std::array<Axis, 3> axis;
  int64_t tile_line;  // the number of pixels of a row if tiles end with it, otherwise 0
  bool by_rows;       // tiles of a row share pointers to the lines of its windows
  int64_t block, blocks, panels, panels_of_task, panel_groups;
  int32_t y_zero, y_low;
  float y_least = 0, y_most = 0;  // bounds of q (calls/conv_bytes.h), minus y_zero
  isa::PixelResidual residual;
  size_t pointer_bytes;
};

// An output pixel of an image. next() returns the following pixel without a division.
class Place {
 public:
  Place(const Params& p, int64_t at)
      : z(at / (p.axis[1].out * p.axis[2].out)),
        y(at / p.axis[2].out % p.axis[1].out),
        x(at % p.axis[2].out) {}
  void next(const Params& p) {
    if (++x < p.axis[2].out) return;
    x = 0;
    if (++y < p.axis[1].out) return;
    y = 0;
    z++;
  }
  int64_t z, y, x;
};

// Calls each(t, line, x) for the lines of taps of output pixel `at`. The first tap of the line is t
// and reads pixel x of `line`, which is null in the padding.
template <class F>
void each_line(const Params& p, const uint8_t* x, const Place& at, F each) {
  const auto& [az, ay, ax] = p.axis;
  const int64_t z0 = at.z * az.stride - az.pad, y0 = at.y * ay.stride - ay.pad,
                x0 = at.x * ax.stride - ax.pad;
  int64_t t = 0;
  for (int64_t kz = 0; kz < az.kernel; kz++)
    for (int64_t ky = 0; ky < ay.kernel; ky++, t += ax.kernel) {
      const int64_t iz = z0 + kz * az.dilation, iy = y0 + ky * ay.dilation;
      const bool inside = iz >= 0 && iz < az.in && iy >= 0 && iy < ay.in;
      each(t, inside ? x + (iz * ay.in + iy) * ax.in * p.c : nullptr, x0);
    }
}

// Calls each(t, pixel) for the taps of such a line; pixel is null in the padding.
template <class F>
void each_tap(const Params& p, int64_t t, const uint8_t* line, int64_t x, F each) {
  const Axis& ax = p.axis[2];
  const bool inside = line && x >= 0 && x + (ax.kernel - 1) * ax.dilation < ax.in;
  if (inside) {
    const uint8_t* pixel = line + x * p.c;
    for (int64_t kx = 0; kx < ax.kernel; kx++, pixel += ax.dilation * p.c) each(t + kx, pixel);
    return;
  }
  for (int64_t kx = 0; kx < ax.kernel; kx++, x += ax.dilation)
    each(t + kx, line && x >= 0 && x < ax.in ? line + x * p.c : nullptr);
}

// The scratch of a task: a table of pointers for each tile of six pixels, and a pixel or line of
// zero points, followed by copies.
struct Scratch {
  const uint8_t** pointers;
  uint8_t* bytes;
};

// The tiles of a block of pixels, with sizes that are as equal as possible.
class Tiles {
 public:
  Tiles(const Params& p, int64_t count)
      : line_(p.tile_line ? p.tile_line : count),
        of_line_((line_ + isa::kPixelRows - 1) / isa::kPixelRows),
        count_(count / line_ * of_line_) {}
  int64_t count() const { return count_; }
  // The first pixel of tile i, relative to the block.
  int64_t start(int64_t i) const { return i / of_line_ * line_ + i % of_line_ * line_ / of_line_; }

 private:
  int64_t line_, of_line_, count_;
};

void point_at_taps(const Params& p, const uint8_t* x, int64_t first, const Tiles& tiles,
                   const Scratch& s) {
  std::memset(s.bytes, p.pad_byte, static_cast<size_t>(p.c));
  Place at(p, first);
  for (int64_t i = 0; i < tiles.count(); i++) {
    const uint8_t** to = s.pointers + i * p.taps * isa::kPixelRows;
    const int64_t from = tiles.start(i), end = tiles.start(i + 1);
    if (p.pointwise) {
      for (int64_t r = from; r < end; r++) *to++ = x + (first + r) * p.c;
      continue;
    }
    for (int64_t r = from; r < end; r++, to++, at.next(p))
      each_line(p, x, at, [&](int64_t line_tap, const uint8_t* line, int64_t x0) {
        each_tap(p, line_tap, line, x0, [&](int64_t t, const uint8_t* pixel) {
          to[t * isa::kPixelRows] = pixel ? pixel : s.bytes;
        });
      });
  }
}

// Sets pointers to the lines that the windows of each row of output pixels read.
void point_at_rows(const Params& p, const uint8_t* x, int64_t first, int64_t count,
                   const Scratch& s) {
  std::memset(s.bytes, p.pad_byte, static_cast<size_t>(p.c));
  const uint8_t** to = s.pointers;
  for (int64_t at = first; at < first + count; at += p.tile_line)
    each_line(p, x, Place(p, at), [&](int64_t, const uint8_t* line, int64_t) { *to++ = line; });
}

// Sets pointers to the lines of each window. A line with padding or dilation is copied after the
// line of zero points, and so is a line at the end of x, because the kernel reads whole quads.
void point_at_lines(const Params& p, const uint8_t* x, const uint8_t* x_end, int64_t first,
                    const Tiles& tiles, const Scratch& s) {
  const int64_t bytes = 4 * p.quads;
  const Axis& ax = p.axis[2];
  std::memset(s.bytes, p.pad_byte, static_cast<size_t>(bytes));
  Place place(p, first);
  for (int64_t i = 0; i < tiles.count(); i++) {
    const uint8_t** to = s.pointers + i * p.reads * isa::kPixelRows;
    const int64_t from = tiles.start(i), end = tiles.start(i + 1);
    for (int64_t r = from; r < end; r++, to++, place.next(p))
      each_line(p, x, place, [&](int64_t tap, const uint8_t* line, int64_t x0) {
        const int64_t l = tap / ax.kernel;
        const uint8_t*& at = to[l * isa::kPixelRows];
        at = s.bytes;
        if (!line) return;
        const bool whole = ax.dilation == 1 && x0 >= 0 && x0 + ax.kernel <= ax.in;
        if (whole && x_end - line >= x0 * p.c + bytes) {
          at = line + x0 * p.c;
          return;
        }
        uint8_t* copy = s.bytes + (1 + r * p.reads + l) * bytes;
        std::memset(copy, p.pad_byte, static_cast<size_t>(bytes));
        each_tap(p, 0, line, x0, [&](int64_t t, const uint8_t* pixel) {
          if (pixel) std::memcpy(copy + t * p.c, pixel, static_cast<size_t>(p.c));
        });
        at = copy;
      });
  }
}

// The windows of a tile for a convolution with as many groups as channels. The caller sets the
// range of channels.
isa::ChannelRows channels_of(const Params& p, const Scratch& s, const Tiles& tiles, int64_t tile,
                             int64_t rows) {
  const Axis& ax = p.axis[2];
  isa::ChannelRows c{};
  c.lines = p.taps / ax.kernel;
  c.width = ax.kernel;
  c.rows = rows;
  if (!p.by_rows) {
    c.at = s.pointers + tile * p.taps * isa::kPixelRows;
    return c;
  }
  const int64_t from = tiles.start(tile);
  c.at = s.pointers + from / p.tile_line * c.lines;
  c.shift = ax.stride;
  c.pad = s.bytes;
  c.x = from % p.tile_line * ax.stride - ax.pad;
  c.in = ax.in;
  c.stride = p.c;
  return c;
}

void multiply(const Params& p, const Scratch& s, const Tiles& tiles, int64_t tile, int64_t rows,
              const void* panels, int64_t panel, int64_t columns, int32_t* sums) noexcept {
  if (!p.depthwise) {
    const isa::PixelRows pixels = {s.pointers + tile * p.reads * isa::kPixelRows, p.reads, p.quads,
                                   rows};
    return p.table->multiply(
        p.x_signed, p.vnni, pixels,
        static_cast<const uint8_t*>(panels) + panel * p.reads * p.quads * 4 * isa::kPixelPanel,
        static_cast<int>((columns + 15) / 16), sums);
  }
  isa::ChannelRows channels = channels_of(p, s, tiles, tile, rows);
  channels.first = panel * isa::kPixelPanel;
  channels.columns = columns;
  const int64_t bytes = channel_panel_bytes(channels.width, channels.lines);
  p.table->multiply_channels(p.x_signed, p.vnni, channels,
                             static_cast<const int8_t*>(panels) + panel * bytes, sums);
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const Scratch s = {reinterpret_cast<const uint8_t**>(scratch),
                     reinterpret_cast<uint8_t*>(scratch + p.pointer_bytes)};
  int32_t sums[isa::kPixelRows * isa::kPixelPanel];
  const auto* x_begin = static_cast<const uint8_t*>(data[0]);
  const uint8_t* x_end = x_begin + p.n * p.in_pixels * p.c;
  for (int64_t task = begin; task < end; task++) {
    const int64_t image = task / (p.blocks * p.panel_groups),
                  block = task / p.panel_groups % p.blocks;
    const int64_t first = block * p.block, count = std::min(p.block, p.out_pixels - first);
    const Tiles tiles(p, count);
    const uint8_t* x = x_begin + image * p.in_pixels * p.c;
    if (p.by_lines)
      point_at_lines(p, x, x_end, first, tiles, s);
    else if (p.by_rows)
      point_at_rows(p, x, first, count, s);
    else
      point_at_taps(p, x, first, tiles, s);
    const int64_t panel0 = task % p.panel_groups * p.panels_of_task;
    for (int64_t panel = panel0; panel < std::min(p.panels, panel0 + p.panels_of_task); panel++) {
      const int64_t m0 = panel * isa::kPixelPanel, columns = std::min(isa::kPixelPanel, p.m - m0);
      const isa::PixelBytes how = {static_cast<const int32_t*>(data[2]) + m0,
                                   static_cast<const float*>(data[3]) + m0,
                                   p.y_zero,
                                   p.y_low,
                                   p.y_least,
                                   p.y_most};
      for (int64_t i = 0; i < tiles.count(); i++) {
        const int64_t from = tiles.start(i), rows = tiles.start(i + 1) - from;
        multiply(p, s, tiles, i, rows, data[1], panel, columns, sums);
        const int64_t at = (image * p.out_pixels + first + from) * p.m + m0;
        auto* y = static_cast<uint8_t*>(data[5]) + at;
        if (!p.has_residual) {
          p.table->bytes(sums, how, rows, columns, y, p.m);
          continue;
        }
        const auto* residual = static_cast<const uint8_t*>(data[4]) + at;
        for (int64_t r = 0; r < rows; r++)
          p.table->bytes_and_residual(sums + r * isa::kPixelPanel, how, p.residual,
                                      residual + r * p.m, columns, y + r * p.m);
      }
    }
  }
}

constexpr int64_t kPixelsOfBlock = 240, kPointersOfBlock = 1 << 12, kBytesOfBlock = 1 << 17,
                  kLeastTasks = 16;

// Chooses the number of pixels of a block so that its scratch stays small. A block consists of
// whole tiles, or, if there are as many groups as channels and a row is short enough, of whole
// rows; then no tile reaches from one row into the next.
void choose_block(Params& p) {
  const int64_t most =
      p.by_lines ? kBytesOfBlock / (4 * p.quads * p.reads) : kPointersOfBlock / p.reads;
  const int64_t pixels = std::clamp(most, isa::kPixelRows, kPixelsOfBlock), row = p.axis[2].out;
  p.tile_line = p.depthwise && row <= pixels ? row : 0;
  p.by_rows = p.tile_line && p.axis[2].dilation == 1;
  const int64_t unit = p.tile_line ? row : isa::kPixelRows;
  p.block = pixels / unit * unit;
}

void read_residual(const Operands& r, const calls::ConvBytes& c, Params& p) {
  p.has_residual = r.has(4);
  if (!p.has_residual) return;
  const DType residual = r.dtype(4), y = r.dtype(5);
  r.check(is_byte(residual), "the residual must be u8 or s8");
  r.needs(4, residual, {p.n, p.out_pixels, p.m});
  isa::PixelResidual& more = p.residual;
  more.scale = c.y_scale;
  more.residual_scale = c.residual_scale;
  more.y_scale = c.sum_scale;
  more.residual_low = residual == DType::s8 ? -128 : 0;
  more.y_low = y == DType::s8 ? -128 : 0;
  more.residual_zero = static_cast<int32_t>(c.residual_zero);
  more.y_zero = static_cast<int32_t>(c.sum_zero);
  more.relu = c.relu;
}

Plan prepare(const Call& call) {
  const Operands r("conv_bytes", call, 6);
  const auto c = calls::decode<calls::ConvBytes>(call);
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(byte_pixels);
  p->vnni = can_use_vnni();
  const int64_t n = c.n;
  p->n = n;
  p->c = c.c;
  p->m = c.m;
  std::copy_backward(c.axes.begin(), c.axes.end(), p->axis.end());
  for (const Axis& a : c.axes) {
    p->in_pixels = checked_mul(p->in_pixels, a.in);
    p->out_pixels = checked_mul(p->out_pixels, a.out);
    p->taps = checked_mul(p->taps, a.kernel);
    p->pointwise &= a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.in == a.out;
  }
  const DType x = r.dtype(0), y = r.dtype(5);
  r.check(is_byte(x) && is_byte(y), "x and y must be u8 or s8");
  p->x_signed = x == DType::s8;
  p->pad_byte = static_cast<uint8_t>(c.x_zero);
  p->y_zero = static_cast<int32_t>(c.y_zero);
  p->y_low = c.is_signed ? -128 : 0;
  const calls::ByteRange whole{p->y_low, p->y_low + 255}, range = c.range.value_or(whole);
  r.check(whole.least <= range.least && range.least <= range.most && range.most <= whole.most,
          "the range is not one of bytes");
  p->y_least = static_cast<float>(range.least - c.y_zero);
  p->y_most = static_cast<float>(range.most - c.y_zero);
  p->depthwise = c.groups != 1;
  p->by_lines = p->c % 4 != 0;
  r.check(checked_mul(p->taps, p->c) < (int64_t{1} << 31), "windows are too large");
  const int64_t line_taps = p->axis[2].kernel;
  p->reads = p->by_lines ? p->taps / line_taps : p->taps;
  p->quads = (p->by_lines ? line_taps * p->c + 3 : p->c) / 4;
  p->panels = vnni_panels(p->m);
  r.needs(0, x, {n, p->in_pixels, p->c});
  if (p->depthwise)
    r.needs(1, DType::s8, {p->panels, channel_panel_bytes(line_taps, p->taps / line_taps)});
  else
    r.needs(1, DType::s8, {p->panels, p->reads, p->quads, 4 * isa::kPixelPanel});
  r.needs(2, DType::s32, {p->panels, isa::kPixelPanel});
  r.needs(3, DType::f32, {p->panels, isa::kPixelPanel});
  r.needs(5, y, {n, p->out_pixels, p->m});
  read_residual(r, c, *p);
  choose_block(*p);
  p->blocks = (p->out_pixels + p->block - 1) / p->block;
  // Each task recomputes the table of pointers of its block, so there should be few tasks.
  const int64_t least = call.threads > 1 ? kLeastTasks : 1;
  const int64_t wanted = (least + n * p->blocks - 1) / std::max<int64_t>(1, n * p->blocks);
  p->panels_of_task = (p->panels + wanted - 1) / std::max<int64_t>(1, wanted);
  p->panels_of_task = std::max<int64_t>(1, p->panels_of_task);
  p->panel_groups = (p->panels + p->panels_of_task - 1) / p->panels_of_task;
  const int64_t pointers = checked_mul(Tiles(*p, p->block).count() * isa::kPixelRows, p->reads);
  p->pointer_bytes = static_cast<size_t>(checked_mul(pointers, int64_t{sizeof(uint8_t*)}));
  Plan plan;
  plan.run = run;
  plan.tasks = Operands::product({n, p->blocks, p->panel_groups});
  plan.work = static_cast<double>(n * p->out_pixels) * static_cast<double>(p->m) *
              (static_cast<double>(p->depthwise ? 4 * p->taps : p->reads * p->quads) / 50 + 0.3);
  plan.scratch_bytes =
      p->pointer_bytes +
      static_cast<size_t>(p->by_lines ? checked_mul(pointers + 1, 4 * p->quads) : p->c);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_bytes", prepare};

}  // namespace poprt::kernels::conv_bytes_kernel

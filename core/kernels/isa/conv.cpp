#include "kernels/isa/conv.h"

#include "kernels/isa/conv_task.h"
#include "kernels/isa/conv_tile.h"
#include "kernels/isa/depthwise.h"

namespace poprt::kernels::isa {
namespace {

int64_t choose_vectors(int64_t pixels, int64_t blocks) { return best_vectors(pixels, blocks); }

struct Unchanged {
  POPRT_INLINE f32x16 operator()(f32x16 v) const { return v; }
};
struct Normalized {
  f32x16 scale, shift, low;
  POPRT_INLINE f32x16 operator()(f32x16 v) const { return vmax(low, fma(v, scale, shift)); }
};

// Copies pixels of a plane, [count][16].
template <class F>
struct CopyFloats {
  F prologue;
  const float* plane;
  float* to;
  POPRT_INLINE void zeros(int64_t n) {
    for (int64_t i = 0; i < n; i++, to += 16) store(to, zero());
  }
  POPRT_INLINE void pixels(int64_t first, int64_t step, int64_t n) {
    const float* from = plane + first * 16;
    for (int64_t i = 0; i < n; i++, to += 16, from += step * 16) store(to, prologue(load(from)));
  }
};

// Copies segments [s0, s1) of one group of an image. A segment is one tap of a block of 16
// channels.
void gather_segments(const ConvShape& s, const ConvPrologue* prologue, const float* x,
                     int64_t image, int64_t group, int64_t s0, int64_t s1, int64_t pixel,
                     int64_t pixels, float* to) {
  const int64_t taps = s.taps();
  for (int64_t seg = s0; seg < s1; seg++, to += pixels * 16) {
    const int64_t block = group * s.c_blocks + seg / taps;
    const int64_t block_of_all = image * s.image_x_blocks() + block;
    const float* from = x + block_of_all * s.in_pixels() * 16;
    if (!prologue) {
      gather_tap(s, seg % taps, pixel, pixels, CopyFloats<Unchanged>{{}, from, to});
      continue;
    }
    const int64_t scale = prologue->scale_of_image ? block_of_all : block;
    const Normalized normalized = {load(prologue->scale + scale * 16),
                                   prologue->shift ? load(prologue->shift + block * 16) : zero(),
                                   splat(prologue->low)};
    gather_tap(s, seg % taps, pixel, pixels, CopyFloats<Normalized>{normalized, from, to});
  }
}

// The segments [begin, end) that affect block `oc` of output channels, and the end of the blocks
// for which this is true.
struct Needed {
  int64_t begin, end, oc_end;
};

Needed needed_by(const ConvShape& s, int64_t oc, int64_t segments) {
  if (!s.pair_c) return {0, segments, s.oc_blocks};
  const int64_t taps = s.taps(), first = s.pair_m / 16, last = (s.pair_m + 15) / 16;
  if (oc < first) return {0, (s.pair_c + 15) / 16 * taps, first};
  if (oc < last) return {0, segments, last};
  return {s.pair_c / 16 * taps, segments, s.oc_blocks};
}

// The part of a row of output pixels that belongs to a task.
struct RowPiece {
  int64_t oz, oy, ox, pixels;
  int64_t first, index;  // pixels and pieces of the task before it
};

template <class Visit>
POPRT_INLINE void for_each_piece(const ConvShape& s, const BlockedTask& t, Visit&& visit) {
  int64_t row = t.pixel / s.ow, ox = t.pixel % s.ow;
  for (int64_t first = 0, index = 0; first < t.pixels; row++, index++, ox = 0) {
    const int64_t n = least(t.pixels - first, s.ow - ox);
    visit(RowPiece{row / s.oh, row % s.oh, ox, n, first, index});
    first += n;
  }
}

// The inputs of a task for segments [s0, s0 + rows * kw), row by row: all taps of a row of the
// filter read the same inputs.
struct TaskRows {
  const ConvShape& s;
  const float* x;  // of the task's group of its image
  float* scratch;
  int64_t s0, rows;

  // The inputs of a piece for a row of taps, from the column of its first pixel and tap on: in x
  // or, if some of them are padding, in `scratch`, to which `copy` writes them.
  const float* inputs(const RowPiece& piece, int64_t row, bool copy) const {
    const int64_t seg = s0 + row * s.kw, tap = seg % s.taps();
    const int64_t iz = piece.oz * s.stride_d - s.pad_d + tap / s.kw / s.kh * s.dilation_d;
    const int64_t iy = piece.oy * s.stride_h - s.pad_h + tap / s.kw % s.kh * s.dilation_h;
    const int64_t column = piece.ox - s.pad_w, extra = (s.kw - 1) * s.dilation_w;
    const int64_t columns = piece.pixels + extra;
    const bool inside = iz >= 0 && iz < s.d && iy >= 0 && iy < s.h;
    const float* from = x + (seg / s.taps() * s.in_pixels() + (iz * s.h + iy) * s.w + column) * 16;
    if (inside && column >= 0 && column + columns <= s.w) return from;
    float* to = scratch + (rows * (piece.first + piece.index * extra) + row * columns) * 16;
    if (!copy) return to;
    const int64_t begin = inside ? least(columns, most(0, -column)) : columns;
    const int64_t end = inside ? most(begin, least(columns, s.w - column)) : columns;
    for (int64_t i = 0; i < begin; i++) store(to + i * 16, zero());
    for (int64_t i = begin; i < end; i++) store(to + i * 16, load(from + i * 16));
    for (int64_t i = end; i < columns; i++) store(to + i * 16, zero());
    return to;
  }
  void copy(const BlockedTask& t) const {
    for_each_piece(s, t, [&](const RowPiece& piece) {
      for (int64_t row = 0; row < rows; row++) inputs(piece, row, true);
    });
  }
  // Stores in `at` the addresses of the segments from `first` on for the first pixel of a piece.
  void find(const RowPiece& piece, int64_t first, const float** at) const {
    for (int64_t row = 0; row < rows; row++) {
      const float* from = inputs(piece, row, false);
      for (int64_t kx = 0; kx < s.kw; kx++)
        if (row * s.kw + kx >= first) *at++ = from + kx * s.dilation_w * 16;
    }
  }
};

// Computes `count` adjacent pixels, the first of which is at in.a or in.at.
void sum_pixels(const ConvTiles& tiles, int64_t vectors, TileIn in, TileOut out, int64_t count) {
  for (int64_t p = 0; p < count;) {
    const int64_t rows = even_piece(count - p, kMaxRows[vectors]), floats = rows * 16;
    tiles.blocked[vectors][rows](in, out);
    in.a += floats;
    in.shift += floats;
    out.c += floats;
    if (out.residual) out.residual += floats;
    p += rows;
  }
}

// The same for the pixels of a task, whose rows have been copied.
void sum_rows(const ConvTiles& tiles, int64_t vectors, const TaskRows& rows, const BlockedTask& t,
              int64_t first, TileIn in, const TileOut& out) {
  const float* at[kSummedSegments] = {};
  in.at = at;
  for_each_piece(rows.s, t, [&](const RowPiece& piece) {
    rows.find(piece, first, at);
    TileOut o = out;
    o.c += piece.first * 16;
    if (o.residual) o.residual += piece.first * 16;
    sum_pixels(tiles, vectors, in, o, piece.pixels);
  });
}

// Computes a task. `c` points to its first result, and `residual`, if it is not null, to the number
// that is added to that result; blocks of output channels are c_block floats apart, and pixels 16.
// Without taps, results are the bias.
void sum_task(const ConvShape& s, const ConvBlocking& b, const BlockedTask& t,
              const ConvPrologue* prologue, const float* x, const float* weights, const float* bias,
              const float* residual, float* c, int64_t c_block, float* scratch) {
  const ConvTiles& tiles = POPRT_ISA_NAME(conv_tiles);
  const int64_t taps = s.taps(), k_total = s.c * taps;
  const int64_t full_segments = s.c / 16 * taps, tail_k = s.c % 16;
  const int64_t segments = full_segments + (tail_k ? taps : 0);
  const int64_t in_pixels = s.in_pixels();
  const bool in_place = s.is_pointwise() && !prologue;
  const float* xi = x + (t.image * s.image_x_blocks() + t.group * s.c_blocks) * in_pixels * 16;
  for (int64_t s0 = 0; s0 < segments || s0 == 0; s0 += b.segments) {
    const int64_t s1 = least(segments, s0 + b.segments);
    TileIn in{};
    in.tail_k = tail_k;
    in.w_vector = k_total * 16;
    const float* a = scratch;
    const TaskRows rows{s, xi, scratch, s0, b.by_rows ? (s1 - s0) / s.kw : 0};
    if (b.by_rows) {
      rows.copy(t);
    } else if (in_place) {
      a = xi + (s0 * in_pixels + t.pixel) * 16;
      in.a_segment = in_pixels * 16;
    } else {
      gather_segments(s, prologue, x, t.image, t.group, s0, s1, t.pixel, t.pixels, scratch);
      in.a_segment = t.pixels * 16;
    }
    for (int64_t oc = t.oc_begin; oc < t.oc_end;) {
      const Needed needed = needed_by(s, oc, segments);
      const int64_t vectors = least(b.vectors, least(t.oc_end, needed.oc_end) - oc);
      const int64_t first = most(s0, needed.begin), last = least(s1, needed.end);
      if (first >= last && s.pair_c) {
        oc += vectors;
        continue;
      }
      in.full = most(0, least(last, full_segments) - first);
      in.tail = last - first - in.full;
      const int64_t k0 = first <= full_segments
                             ? first * 16
                             : full_segments * 16 + (first - full_segments) * tail_k;
      const int64_t block = t.group * s.oc_blocks + oc, at = (oc - t.oc_begin) * c_block;
      in.w = weights + (block * k_total + k0) * 16;
      TileOut out{};
      out.c_row = out.residual_row = 16;
      out.c_vector = c_block;
      out.lanes = 16;
      out.bias = bias ? bias + block * 16 : nullptr;
      out.epilogue = &s.epilogue;
      out.first = first == needed.begin;
      out.last = last == needed.end;
      in.a = a + (first - s0) * in.a_segment;
      out.c = c + at;
      out.residual = residual ? residual + at : nullptr;
      if (b.by_rows)
        sum_rows(tiles, vectors, rows, t, first - s0, in, out);
      else
        sum_pixels(tiles, vectors, in, out, t.pixels);
      oc += vectors;
    }
  }
}

void run_blocked(const ConvShape& s, const ConvBlocking& b, const ConvPrologue* prologue,
                 const float* x, const float* weights, const float* bias, const float* residual,
                 float* y, int64_t begin, int64_t end, float* scratch) noexcept {
  const int64_t out_pixels = s.out_pixels();
  for (int64_t task = begin; task < end; task++) {
    const BlockedTask t(s, b, task);
    const int64_t at = (t.block_of_all(s) * out_pixels + t.pixel) * 16;
    sum_task(s, b, t, prologue, x, weights, bias, residual ? residual + at : nullptr, y + at,
             out_pixels * 16, scratch);
  }
}

// Copies the results of one phase, [block][pixel][16], to their places in y.
void spread_phase(const ConvShape& whole, const ConvPhase& phase, const BlockedTask& t,
                  const float* sums, float* y) {
  const ConvShape& s = phase.shape;
  for (int64_t oc = t.oc_begin; oc < t.oc_end; oc++) {
    float* plane = y + (t.block_of_all(s) + oc - t.oc_begin) * whole.oh * whole.ow * 16;
    int64_t qy = t.pixel / s.ow, qx = t.pixel % s.ow;
    for (int64_t left = t.pixels; left > 0; qy++, qx = 0) {
      const int64_t run = least(left, s.ow - qx);
      float* to =
          plane + ((phase.y + qy * whole.stride_h) * whole.ow + phase.x + qx * whole.stride_w) * 16;
      for (int64_t i = 0; i < run; i++, sums += 16, to += whole.stride_w * 16)
        store(to, load(sums));
      left -= run;
    }
  }
}

// The same for all phases together: lanes are [phase][channel].
void spread_merged(const ConvShape& whole, const ConvPhase& phase, int64_t channels,
                   const BlockedTask& t, const float* sums, float* y) {
  const ConvShape& s = phase.shape;
  float* plane = y + t.image * whole.oh * whole.ow * 16;
  for (int64_t p = 0; p < t.pixels; p++) {
    const int64_t oy0 = phase.y + (t.pixel + p) / s.ow * whole.stride_h;
    const int64_t ox0 = phase.x + (t.pixel + p) % s.ow * whole.stride_w;
    int64_t lane = 0;
    for (int64_t fy = 0; fy < whole.stride_h; fy++)
      for (int64_t fx = 0; fx < whole.stride_w; fx++) {
        const int64_t oy = oy0 + fy, ox = ox0 + fx;
        if (oy < 0 || oy >= whole.oh || ox < 0 || ox >= whole.ow) {
          lane += channels;
          continue;
        }
        float* to = plane + (oy * whole.ow + ox) * 16;
        store(to, zero());
        for (int64_t c = 0; c < channels; c++, lane++)
          to[c] = sums[(lane / 16 * t.pixels + p) * 16 + lane % 16];
      }
  }
}

void run_phases(const ConvShape& whole, const ConvBlocking& b, const ConvPhase* phases,
                int64_t count, int64_t merged_channels, const float* x, const float* weights,
                const float* bias, float* y, int64_t begin, int64_t end, float* scratch) noexcept {
  float* sums = scratch + b.segments * b.pixels * 16;
  for (int64_t task = begin; task < end; task++) {
    const ConvPhase& phase = phases[task % count];
    const BlockedTask t(phase.shape, b, task / count);
    if (t.pixels <= 0) continue;
    sum_task(phase.shape, b, t, nullptr, x, weights + phase.weights, bias, nullptr, sums,
             t.pixels * 16, scratch);
    if (merged_channels)
      spread_merged(whole, phase, merged_channels, t, sums, y);
    else
      spread_phase(whole, phase, t, sums, y);
  }
}

// Copies the part of one input row that outputs from `column` on read, padded and split by the
// phase of the stride.
void stem_row(const ConvShape& s, const RowsLayout& l, int64_t column, const float* row,
              float* to) {
  for (int64_t phase = 0; phase < l.phases; phase++, to += l.width) {
    const int64_t shift = column * s.stride_w + phase - s.pad_w;
    const int64_t first = shift >= 0 ? 0 : least(l.width, (-shift + s.stride_w - 1) / s.stride_w);
    const int64_t end = !row || s.w - 1 - shift < 0
                            ? first
                            : most(first, least(l.width, (s.w - 1 - shift) / s.stride_w + 1));
    for (int64_t i = 0; i < first; i++) to[i] = 0;
    if (s.stride_w == 1)
      for (int64_t i = first; i < end; i++) to[i] = row[i + shift];
    else if (s.stride_w == 2)
      for (int64_t i = first; i < end; i++) to[i] = row[2 * i + shift];
    else
      for (int64_t i = first; i < end; i++) to[i] = row[i * s.stride_w + shift];
    for (int64_t i = end; i < l.width; i++) to[i] = 0;
  }
}

// Copies the input rows of the output rows from `row` of a slice on.
void stem_rows(const ConvShape& s, const RowsLayout& l, const float* image, int64_t slice,
               int64_t row, int64_t column, float* to) {
  for (int64_t c = 0; c < s.c; c++)
    for (int64_t kz = 0; kz < s.kd; kz++) {
      const int64_t iz = slice * s.stride_d - s.pad_d + kz * s.dilation_d;
      const float* plane = image + (c * s.d + iz) * s.h * s.w;
      for (int64_t r = 0; r < l.rows; r++, to += l.phases * l.width) {
        const int64_t iy = row * s.stride_h - s.pad_h + r;
        const bool inside = iz >= 0 && iz < s.d && iy >= 0 && iy < s.h;
        stem_row(s, l, column, inside ? plane + iy * s.w : nullptr, to);
      }
    }
}

// The rows and columns of the outputs of a task whose inputs are in scratch.
struct StemTask {
  int64_t image, slice, row, rows, column, columns;
  StemTask(const ConvShape& s, const ConvBlocking& b, int64_t at) {
    column = at % b.column_tasks * b.columns;
    at /= b.column_tasks;
    row = at % b.pixel_tasks * b.pixels;
    at /= b.pixel_tasks;
    slice = at % s.od;
    image = at / s.od;
    rows = least(b.pixels, s.oh - row);
    columns = least(b.columns, s.ow - column);
  }
};

void run_stem(const ConvShape& s, const ConvBlocking& b, const int32_t* offset, const float* x,
              const float* weights, const float* bias, const float* residual, float* y,
              int64_t begin, int64_t end, float* scratch) noexcept {
  const ConvTiles& tiles = POPRT_ISA_NAME(conv_tiles);
  const RowsLayout l = rows_layout(s, b.pixels, b.columns);
  const int64_t k_total = s.c * s.taps(), out_pixels = s.out_pixels();
  for (int64_t task = begin; task < end; task++) {
    const StemTask t(s, b, task);
    stem_rows(s, l, x + t.image * s.c * s.in_pixels(), t.slice, t.row, t.column, scratch);
    for (int64_t oc = 0; oc < s.oc_blocks;) {
      const int64_t vectors = least(b.vectors, s.oc_blocks - oc);
      PlaneIn in{};
      in.offset = offset;
      in.k = k_total;
      in.w = weights + oc * k_total * 16;
      in.w_vector = k_total * 16;
      TileOut out{};
      out.c_row = out.residual_row = 16;
      out.c_vector = out_pixels * 16;
      out.lanes = 16;
      out.bias = bias ? bias + oc * 16 : nullptr;
      out.epilogue = &s.epilogue;
      out.first = out.last = true;
      for (int64_t r = 0; r < t.rows; r++) {
        const float* from = scratch + r * s.stride_h * l.phases * l.width;
        const int64_t pixel = (t.slice * s.oh + t.row + r) * s.ow + t.column;
        const int64_t out_at = ((t.image * s.oc_blocks + oc) * out_pixels + pixel) * 16;
        for (int64_t p = 0; p < t.columns;) {
          const int64_t count = even_piece(t.columns - p, kMaxRows[vectors]);
          in.a = from + p;
          out.c = y + out_at + p * 16;
          out.residual = residual ? residual + out_at + p * 16 : nullptr;
          tiles.plane[vectors][count](in, out);
          p += count;
        }
      }
      oc += vectors;
    }
  }
}

void run_plain(const ConvShape& s, const ConvBlocking& b, int64_t filters, const int32_t* offset,
               const float* x, const float* weights, const float* bias, float* y, int64_t begin,
               int64_t end, float* scratch) noexcept {
  const ConvTiles& tiles = POPRT_ISA_NAME(conv_tiles);
  const RowsLayout l = rows_layout(s, b.pixels, b.columns);
  const int64_t out_pixels = s.out_pixels();
  WideIn in{};
  in.k = in.w_row = s.c * s.taps();
  in.offset = offset;
  TileOut out{};
  out.c_row = out_pixels;
  out.c_vector = 16;
  out.epilogue = &s.epilogue;
  out.first = out.last = true;
  for (int64_t task = begin; task < end; task++) {
    const StemTask t(s, b, task);
    stem_rows(s, l, x + t.image * s.c * s.in_pixels(), t.slice, t.row, t.column, scratch);
    for (int64_t r = 0; r < t.rows; r++)
      for (int64_t p = 0; p < t.columns; p += 16 * kWideVectors) {
        const int64_t width = least(16 * kWideVectors, t.columns - p), vectors = (width + 15) / 16;
        const int64_t pixel = (t.slice * s.oh + t.row + r) * s.ow + t.column + p;
        in.b = scratch + r * s.stride_h * l.phases * l.width + p;
        out.lanes = width - (vectors - 1) * 16;
        for (int64_t m = 0; m < filters;) {
          const int64_t rows = even_piece(filters - m, kWideRows);
          in.w = weights + m * in.k;
          in.bias = bias ? bias + m : nullptr;
          out.c = y + (t.image * filters + m) * out_pixels + pixel;
          tiles.wide[vectors][rows](in, out);
          m += rows;
        }
      }
  }
}

void run_transpose(const ConvShape& s, const ConvBlocking& b, const float* x, const float* weights,
                   const float* bias, float* y, int64_t begin, int64_t end) noexcept {
  const ConvTiles& tiles = POPRT_ISA_NAME(conv_tiles);
  const int64_t in_pixels = s.in_pixels(), out_pixels = s.out_pixels();
  for (int64_t task = begin; task < end; task++) {
    const int64_t image = task / b.pixel_tasks, row0 = task % b.pixel_tasks * b.pixels;
    const int64_t row_end = least(s.d * s.h, row0 + b.pixels);
    for (int64_t tap = 0; tap < s.taps(); tap++) {
      const int64_t kx = tap % s.kw, ky = tap / s.kw % s.kh, kz = tap / s.kw / s.kh;
      for (int64_t oc = 0; oc < s.oc_blocks;) {
        const int64_t vectors = least(b.vectors, s.oc_blocks - oc);
        TileIn in{};
        in.a_segment = in_pixels * 16;
        in.full = s.c / 16;
        in.tail = s.c % 16 ? 1 : 0;
        in.tail_k = s.c % 16;
        in.w = weights + (tap * s.oc_blocks + oc) * s.c * 16;
        in.w_vector = s.c * 16;
        TileOut out{};
        out.c_row = s.kw * 16;
        out.c_vector = out_pixels * 16;
        out.lanes = 16;
        out.bias = bias ? bias + oc * 16 : nullptr;
        out.epilogue = &s.epilogue;
        out.first = out.last = true;
        for (int64_t row = row0; row < row_end; row++) {
          const float* from = x + (image * s.c_blocks * in_pixels + row * s.w) * 16;
          const int64_t slice = row / s.h * s.kd + kz, out_row = row % s.h * s.kh + ky;
          float* to =
              y +
              ((image * s.oc_blocks + oc) * out_pixels + (slice * s.oh + out_row) * s.ow + kx) * 16;
          for (int64_t p = 0; p < s.w;) {
            const int64_t count = even_piece(s.w - p, kMaxRows[vectors]);
            in.a = from + p * 16;
            out.c = to + p * s.kw * 16;
            tiles.blocked[vectors][count](in, out);
            p += count;
          }
        }
        oc += vectors;
      }
    }
  }
}

}  // namespace

extern const ConvTable POPRT_ISA_NAME(conv);
const ConvTable POPRT_ISA_NAME(conv) = {choose_vectors, run_blocked,   run_stem,  run_plain,
                                        run_depthwise,  run_transpose, run_phases};

}  // namespace poprt::kernels::isa

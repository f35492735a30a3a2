#include "kernels/isa/conv_grouped.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/tile.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
POPRT_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Broadcasts lane J of every group of the pixel at p to the whole group.
template <int Size, int J>
POPRT_INLINE f32x16 broadcast_lane(const float* p) {
  if constexpr (Size == 16) {
    return splat(p[J]);
  } else {
    const f32x16 v = load(p);
    constexpr int b = ~(Size - 1);  // lane l & b is the first of its group
    return __builtin_shufflevector(v, v, J, (1 & b) + J, (2 & b) + J, (3 & b) + J, (4 & b) + J,
                                   (5 & b) + J, (6 & b) + J, (7 & b) + J, (8 & b) + J, (9 & b) + J,
                                   (10 & b) + J, (11 & b) + J, (12 & b) + J, (13 & b) + J,
                                   (14 & b) + J, (15 & b) + J);
  }
}

// One output row of one block. Filter rows [ky_begin, ky_end) are inside the input.
struct Row {
  const float* input;  // column -pad_w of the input row of filter row 0 (may be outside)
  int64_t pitch;       // floats between the input rows of adjacent filter rows
  int64_t ky_begin, ky_end;
  const float* w;
};

// A filter of K columns with stride S. Every input column is broadcast once and used by all filter
// columns.
template <int Size, int K, int S, int X, int J>
POPRT_INLINE void dense_channels(f32x16 (&acc)[X][1], const float* row, const float* w) {
  f32x16 filter[K];
  POPRT_UNROLL for (int kx = 0; kx < K; kx++) filter[kx] = load(w + (kx * Size + J) * 16);
  POPRT_UNROLL for (int i = 0; i < (X - 1) * S + K; i++) {
    const f32x16 v = broadcast_lane<Size, J>(row + i * 16);
    POPRT_UNROLL for (int kx = 0; kx < K; kx++) {
      if ((i - kx) % S == 0 && i >= kx && (i - kx) / S < X)
        acc[(i - kx) / S][0] = fma(v, filter[kx], acc[(i - kx) / S][0]);
    }
  }
  if constexpr (J + 1 < Size) dense_channels<Size, K, S, X, J + 1>(acc, row, w);
}

template <int Size, int K, int S, int X>
void dense_pixels(const ConvShape&, const Row& r, int64_t x, const TileOut& out) {
  f32x16 acc[X][1];
  tile_begin(acc, out);
  for (int64_t ky = r.ky_begin; ky < r.ky_end; ky++)
    dense_channels<Size, K, S, X, 0>(acc, r.input + ky * r.pitch + x * S * 16,
                                     r.w + ky * K * Size * 16);
  tile_store(acc, out);
}

template <int Size, int X, int J>
POPRT_INLINE void tap_channels(f32x16 (&acc)[X][1], const float* row, int64_t step,
                               const float* w) {
  const f32x16 filter = load(w + J * 16);
  POPRT_UNROLL for (int i = 0; i < X; i++) acc[i][0] =
      fma(broadcast_lane<Size, J>(row + i * step), filter, acc[i][0]);
  if constexpr (J + 1 < Size) tap_channels<Size, X, J + 1>(acc, row, step, w);
}

// Computes X output pixels from column x on, for any filter.
template <int Size, int X>
void any_pixels(const ConvShape& s, const Row& r, int64_t x, const TileOut& out) {
  f32x16 acc[X][1];
  tile_begin(acc, out);
  const int64_t step = s.stride_w * 16;
  for (int64_t ky = r.ky_begin; ky < r.ky_end; ky++)
    for (int64_t kx = 0; kx < s.kw; kx++)
      tap_channels<Size, X, 0>(acc, r.input + ky * r.pitch + x * step + kx * s.dilation_w * 16,
                               step, r.w + (ky * s.kw + kx) * Size * 16);
  tile_store(acc, out);
}

// The number of pixels at a time, chosen so that registers remain for the filter and the input.
#if defined(__AVX512F__)
constexpr int kWidths[] = {14, 7, 4, 2, 1};
#elif defined(__AVX2__)
constexpr int kWidths[] = {4, 3, 2, 1, 1};
#else
constexpr int kWidths[] = {2, 1, 1, 1, 1};
#endif
constexpr int kSteps = 5;

using Pixels = void (*)(const ConvShape&, const Row&, int64_t x, const TileOut&);
struct Widths {
  Pixels of[kSteps];
};

template <int Size, int K, int S>
constexpr Widths dense = {
    {dense_pixels<Size, K, S, kWidths[0]>, dense_pixels<Size, K, S, kWidths[1]>,
     dense_pixels<Size, K, S, kWidths[2]>, dense_pixels<Size, K, S, kWidths[3]>,
     dense_pixels<Size, K, S, kWidths[4]>}};
template <int Size>
constexpr Widths any = {{any_pixels<Size, kWidths[0]>, any_pixels<Size, kWidths[1]>,
                         any_pixels<Size, kWidths[2]>, any_pixels<Size, kWidths[3]>,
                         any_pixels<Size, kWidths[4]>}};

template <int Size>
const Widths& widths_of(const ConvShape& s) {
  const bool three = s.kw == 3 && s.dilation_w == 1;
  if (three && s.stride_w == 1) return dense<Size, 3, 1>;
  if (three && s.stride_w == 2) return dense<Size, 3, 2>;
  return any<Size>;
}

const Widths& choose(const ConvShape& s, int64_t size) {
  switch (size) {
    case 1: return any<1>;
    case 2: return widths_of<2>(s);
    case 4: return widths_of<4>(s);
    case 8: return widths_of<8>(s);
    default: return widths_of<16>(s);
  }
}

// Copies rows [first, first + count) of a plane of an image with columns [-pad_w, columns - pad_w).
// Rows outside the plane are not written.
void copy_padded(const ConvShape& s, const float* plane, int64_t first, int64_t count,
                 int64_t columns, float* to) {
  const int64_t left = least(s.pad_w, columns), end = most(left, least(columns, left + s.w));
  for (int64_t r = most(0, -first); r < least(count, s.h - first); r++) {
    const float* from = plane + ((first + r) * s.w - left) * 16;
    float* row = to + r * columns * 16;
    for (int64_t i = 0; i < left; i++) store(row + i * 16, zero());
    for (int64_t i = left; i < end; i++) store(row + i * 16, load(from + i * 16));
    for (int64_t i = end; i < columns; i++) store(row + i * 16, zero());
  }
}

void row_pixels(const ConvShape& s, const Widths& widths, const Row& row, TileOut out, float* c,
                const float* residual) {
  for (int64_t x = 0, step = 0; x < s.ow;) {
    while (kWidths[step] > s.ow - x) step++;
    out.c = c + x * 16;
    out.residual = residual ? residual + x * 16 : nullptr;
    widths.of[step](s, row, x, out);
    x += kWidths[step];
  }
}

void run(const ConvShape& s, const GroupedBlocking& b, const float* x, const float* weights,
         const float* bias, const float* residual, float* y, int64_t begin, int64_t end,
         float* scratch) noexcept {
  const Widths& widths = choose(s, b.size);
  const int64_t columns = b.in_place ? s.w : grouped_columns(s);
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / b.row_tasks, block = plane % s.groups;
    const int64_t row0 = task % b.row_tasks * b.rows, row_end = least(s.oh, row0 + b.rows);
    const int64_t first = row0 * s.stride_h - s.pad_h;
    const float* from = x + (plane * s.h + first) * s.w * 16;
    if (!b.in_place) {
      copy_padded(s, x + plane * s.h * s.w * 16, first, grouped_rows(s, row_end - row0), columns,
                  scratch);
      from = scratch;
    }
    Row row{};
    row.pitch = s.dilation_h * columns * 16;
    row.w = weights + block * s.kh * s.kw * b.size * 16;
    TileOut out{};
    out.c_row = out.residual_row = 16;
    out.lanes = 16;
    out.bias = bias ? bias + block * 16 : nullptr;
    out.epilogue = &s.epilogue;
    out.first = out.last = true;
    for (int64_t oy = row0; oy < row_end; oy++) {
      const int64_t iy = oy * s.stride_h - s.pad_h, out_at = (plane * s.oh + oy) * s.ow * 16;
      row.input = from + (oy - row0) * s.stride_h * columns * 16;
      row.ky_begin = iy >= 0 ? 0 : least(s.kh, (-iy + s.dilation_h - 1) / s.dilation_h);
      row.ky_end = iy >= s.h ? 0 : least(s.kh, (s.h - 1 - iy) / s.dilation_h + 1);
      row_pixels(s, widths, row, out, y + out_at, residual ? residual + out_at : nullptr);
    }
  }
}

}  // namespace

extern const ConvGroupedTable POPRT_ISA_NAME(conv_grouped);
const ConvGroupedTable POPRT_ISA_NAME(conv_grouped) = {run};

}  // namespace poprt::kernels::isa

#include "kernels/isa/conv_dilated.h"

#include "kernels/isa/conv_tile.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The rectangle of a tap. Rows that are adjacent both in x and in y form one run of pixels.
struct TapRuns {
  int64_t runs, pixels, first_row, first_column;
  TapRuns(const ConvShape& s, int64_t ky, int64_t kx, int64_t row_begin, int64_t row_end) {
    const Inside rows(ky * s.dilation_h - s.pad_h, s.h, row_begin, row_end);
    const Inside columns(kx * s.dilation_w - s.pad_w, s.w, 0, s.ow);
    const bool whole_rows = columns.count() == s.ow && s.ow == s.w;
    first_row = rows.begin;
    first_column = columns.begin;
    runs = whole_rows ? least(1, rows.count()) : rows.count();
    pixels = whole_rows ? rows.count() * s.ow : columns.count();
  }
};

int64_t cheapest_vectors(const ConvShape& s) {
  const auto cost_of = [&](int64_t vectors) {
    double cost = 0;
    for (int64_t ky = 0; ky < s.kh; ky++)
      for (int64_t kx = 0; kx < s.kw; kx++) {
        const TapRuns t(s, ky, kx, 0, s.oh);
        cost += static_cast<double>(t.runs) * run_cost(t.pixels, vectors);
      }
    return cost;
  };
  int64_t best = 1;
  double best_cost = 0;
  for (int64_t vectors = 1; vectors <= kMaxVectors && vectors <= s.oc_blocks; vectors++) {
    double cost = cost_of(vectors) * static_cast<double>(s.oc_blocks / vectors);
    if (s.oc_blocks % vectors) cost += cost_of(s.oc_blocks % vectors);
    if (vectors == 1 || cost < best_cost) {
      best = vectors;
      best_cost = cost;
    }
  }
  return best;
}

struct Product {
  const ConvTiles& tiles;
  int64_t vectors;
  TileIn in;
  TileOut out;

  // Computes `count` adjacent pixels.
  void run(const float* a, float* c, const float* residual, int64_t count) {
    for (int64_t p = 0; p < count;) {
      const int64_t rows = even_piece(count - p, kMaxRows[vectors]);
      in.a = a + p * 16;
      out.c = c + p * 16;
      out.residual = residual ? residual + p * 16 : nullptr;
      tiles.blocked[vectors][rows](in, out);
      p += rows;
    }
  }
};

// Adds the products of blocks of input channels from `x` on and `weights` to output rows
// [row_begin, row_end) of the planes at y. `tap_floats` is the size of one tap of one block.
void add_taps(const ConvShape& s, Product& product, const float* x, const float* weights,
              int64_t tap_floats, float* y, int64_t row_begin, int64_t row_end) {
  for (int64_t ky = 0; ky < s.kh; ky++)
    for (int64_t kx = 0; kx < s.kw; kx++) {
      const TapRuns t(s, ky, kx, row_begin, row_end);
      if (t.pixels == 0) continue;
      const int64_t iy = t.first_row + ky * s.dilation_h - s.pad_h;
      const int64_t ix = t.first_column + kx * s.dilation_w - s.pad_w;
      product.in.w = weights + (ky * s.kw + kx) * tap_floats;
      for (int64_t i = 0; i < t.runs; i++)
        product.run(x + ((iy + i) * s.w + ix) * 16,
                    y + ((t.first_row + i) * s.ow + t.first_column) * 16, nullptr, t.pixels);
    }
}

void run(const ConvShape& s, const DilatedBlocking& b, const float* x, const float* weights,
         const float* bias, const float* residual, float* y, int64_t begin, int64_t end) noexcept {
  const int64_t taps = s.kh * s.kw, k_total = s.c * taps, full = s.c / 16, tail_k = s.c % 16;
  const int64_t in_pixels = s.h * s.w, out_pixels = s.oh * s.ow;
  for (int64_t task = begin; task < end; task++) {
    int64_t at = task;
    const int64_t row_begin = at % b.row_tasks * b.rows;
    at /= b.row_tasks;
    const int64_t oc = at % b.oc_tasks * b.vectors;
    at /= b.oc_tasks;
    const int64_t image = at % s.batch, group = at / s.batch;
    const int64_t row_end = least(s.oh, row_begin + b.rows);
    const int64_t block = group * s.oc_blocks + oc;
    const int64_t plane = (image * s.groups * s.oc_blocks + block) * out_pixels * 16;
    const int64_t corner = plane + row_begin * s.ow * 16, pixels = (row_end - row_begin) * s.ow;
    const float* xi = x + (image * s.groups + group) * s.c_blocks * in_pixels * 16;
    const float* w = weights + block * k_total * 16;

    Product product{POPRT_ISA_NAME(conv_tiles), least(b.vectors, s.oc_blocks - oc), {}, {}};
    TileIn& in = product.in;
    TileOut& out = product.out;
    in.a_segment = in_pixels * 16;
    in.w_vector = k_total * 16;
    in.w_skip = (taps - 1) * 256;
    out.c_row = out.residual_row = 16;
    out.c_vector = out_pixels * 16;
    out.lanes = 16;
    out.bias = bias ? bias + block * 16 : nullptr;
    out.epilogue = &s.epilogue;

    out.first = true;
    product.run(xi, y + corner, nullptr, pixels);
    out.first = false;
    for (int64_t s0 = 0; s0 < full; s0 += b.segments) {
      in.full = least(b.segments, full - s0);
      add_taps(s, product, xi + s0 * in.a_segment, w + s0 * taps * 256, 256, y + plane, row_begin,
               row_end);
    }
    in.full = 0;
    if (tail_k) {
      in.tail = 1;
      in.tail_k = tail_k;
      add_taps(s, product, xi + full * in.a_segment, w + full * taps * 256, tail_k * 16, y + plane,
               row_begin, row_end);
      in.tail = 0;
    }
    out.last = true;
    product.run(xi, y + corner, residual ? residual + corner : nullptr, pixels);
  }
}

}  // namespace

extern const ConvDilatedTable POPRT_ISA_NAME(conv_dilated);
const ConvDilatedTable POPRT_ISA_NAME(conv_dilated) = {cheapest_vectors, run};

}  // namespace poprt::kernels::isa

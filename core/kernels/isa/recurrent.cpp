#include "kernels/isa/recurrent.h"

#include "kernels/isa/activation.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"
#include "kernels/isa/rounded.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

// Not inlined, because the rare activations would be compiled in 48 places, once for each number of
// rows and each gate, which doubles the time to compile this file.
[[gnu::noinline]] f32x16 activate_rarely(const RecurrentCell& cell, int which, f32x16 x) {
  const float a = cell.alpha[which], b = cell.beta[which];
  switch (cell.activation[which]) {
    case RecurrentActivation::relu: return ActRelu{}(x);
    case RecurrentActivation::affine: return x * a + b;
    case RecurrentActivation::leaky_relu: return x < 0.0f ? x * a : x;
    case RecurrentActivation::thresholded_relu: return x > a ? x : zero();
    case RecurrentActivation::scaled_tanh: return vtanh(x * b) * a;
    case RecurrentActivation::hard_sigmoid: return clamp(x * a + b, 0.0f, 1.0f);
    case RecurrentActivation::elu: return x < 0.0f ? vexpm1(x) * a : x;
    case RecurrentActivation::softsign: return x / (vabs(x) + 1.0f);
    case RecurrentActivation::softplus: return vsoftplus(x);
    default: return x;
  }
}

POPRT_INLINE f32x16 activate(const RecurrentCell& cell, int which, f32x16 x) {
  switch (cell.activation[which]) {
    case RecurrentActivation::sigmoid: return vsigmoid(x);
    case RecurrentActivation::tanh: return vtanh(x);
    default: return activate_rarely(cell, which, x);
  }
}

POPRT_INLINE f32x16 clipped(const RecurrentCell& cell, f32x16 x) {
  return cell.clip > 0 ? clamp(x, -cell.clip, cell.clip) : x;
}

// acc[n][g] = sum over k of v[n][k] * r[k][g]. Fewer than eight sums do not hide the latency of a
// multiply-add, so each is split into partial sums, unless the order of the products must not
// depend on N.
template <int G, int N, bool kInOrder>
POPRT_INLINE void multiply(const RecurrentRow* rows, const float* r, int64_t hidden,
                           f32x16 (&acc)[N][G]) {
  constexpr int kParts = kInOrder || N * G >= 8 ? 1 : N * G >= 4 ? 2 : N * G >= 2 ? 4 : 8;
  f32x16 part[kParts][N][G];
#pragma GCC unroll 8
  for (int p = 0; p < kParts; p++)
#pragma GCC unroll 4
    for (int n = 0; n < N; n++)
#pragma GCC unroll 4
      for (int g = 0; g < G; g++) part[p][n][g] = zero();
  const float* v[N];
  for (int n = 0; n < N; n++) v[n] = rows[n].v;
  const auto step = [&](int64_t k, f32x16(&to)[N][G]) __attribute__((always_inline)) {
    f32x16 w[G];
#pragma GCC unroll 4
    for (int g = 0; g < G; g++) w[g] = load(r + (k * G + g) * 16);
#pragma GCC unroll 4
    for (int n = 0; n < N; n++) {
      const f32x16 x = splat(v[n][k]);
#pragma GCC unroll 4
      for (int g = 0; g < G; g++) to[n][g] = fma(x, w[g], to[n][g]);
    }
  };
  int64_t k = 0;
  for (; k + kParts <= hidden; k += kParts) {
#pragma GCC unroll 8
    for (int p = 0; p < kParts; p++) step(k + p, part[p]);
  }
  for (; k < hidden; k++) step(k, part[0]);
#pragma GCC unroll 4
  for (int n = 0; n < N; n++)
#pragma GCC unroll 4
    for (int g = 0; g < G; g++) {
#pragma GCC unroll 8
      for (int p = 1; p < kParts; p++) part[0][n][g] += part[p][n][g];
      acc[n][g] = part[0][n][g];
    }
}

bool is_usual_lstm(const RecurrentCell& cell, const float* peephole) {
  return cell.activation[0] == RecurrentActivation::sigmoid &&
         cell.activation[1] == RecurrentActivation::tanh &&
         cell.activation[2] == RecurrentActivation::tanh && cell.clip <= 0 && !cell.input_forget &&
         !peephole;
}

// 1 / sigmoid(x), at most 1e13, so that products of a few are finite.
POPRT_INLINE f32x16 inverse_sigmoid(f32x16 x) { return vexp(clamp(-x, -30.0f, 30.0f)) + 1.0f; }

// The usual LSTM cell, computed from the inputs of the activations. Fractions are added and
// multiplied as such: a division takes as long as ten other operations, and this way there are two
// instead of five. `under` is at most 417e13, so a large c is divided by 2^60 before the product,
// which would be infinite although the new c is finite.
POPRT_INLINE void usual_lstm(f32x16 i, f32x16 o, f32x16 f, f32x16 n, f32x16& c, f32x16& h) {
  const f32x16 in = inverse_sigmoid(i), forget = inverse_sigmoid(f), out = inverse_sigmoid(o);
  const TanhParts next = tanh_parts(n);
  const f32x16 under = in * next.under;
  const i32x16 large = vabs(c) > 1e20f;
  const f32x16 over = fma(large ? c * 0x1p-60f : c, under,
                          rounded(large ? next.over * forget * 0x1p-60f : next.over * forget));
  c = over / (under * forget);
  c = large ? c * 0x1p60f : c;
  const TanhParts y = tanh_parts(c);
  h = clamp(y.over / (y.under * out), -1.0f, 1.0f);
}

struct Lanes {
  int64_t first, count;
  POPRT_INLINE f32x16 get(const float* p) const {
    return p ? load_first(p + first, count) : zero();
  }
  POPRT_INLINE void put(float* p, f32x16 v) const {
    if (p) store_first(p + first, v, count);
  }
};

template <int G>
POPRT_INLINE void finish(const RecurrentCell& cell, const RecurrentRow& row, int64_t block,
                         const float* bias, const float* peephole, const Lanes& lanes,
                         f32x16 (&acc)[G]) {
  const int64_t hidden = cell.hidden;
  const int total = cell.kind == RecurrentKind::lstm ? 4 : cell.kind == RecurrentKind::rnn ? 1 : 3;
  const int first = cell.kind == RecurrentKind::gru_state ? 2 : 0;
  const bool gru = cell.kind == RecurrentKind::gru;
  f32x16 x[G];
#pragma GCC unroll 4
  for (int g = 0; g < G; g++) {
    x[g] = load_first(row.x + block * cell.x_block + (first + g) * cell.x_gate, lanes.count);
    if (!bias) continue;
    x[g] += lanes.get(bias + (first + g) * hidden);
    const f32x16 rb = lanes.get(bias + (total + first + g) * hidden);
    if (gru && g == 2)
      acc[g] += rb;
    else
      x[g] += rb;
  }
  if constexpr (G == 1) {
    const f32x16 s = clipped(cell, x[0] + acc[0]);
    if (cell.kind == RecurrentKind::rnn) {
      const f32x16 h = activate(cell, 0, s);
      lanes.put(row.h, h);
      lanes.put(row.y, h);
      return;
    }
    const f32x16 z = lanes.get(row.c_prev), n = activate(cell, 1, s);
    const f32x16 h = fma(1.0f - z, n, rounded(z * lanes.get(row.h_prev)));
    lanes.put(row.h, h);
    lanes.put(row.y, h);
  } else if constexpr (G == 2) {
    const f32x16 z = activate(cell, 0, clipped(cell, x[0] + acc[0]));
    const f32x16 r = activate(cell, 0, clipped(cell, x[1] + acc[1]));
    lanes.put(row.c, z);
    lanes.put(row.h, r * lanes.get(row.v));
  } else if constexpr (G == 3) {
    const f32x16 z = activate(cell, 0, clipped(cell, x[0] + acc[0]));
    const f32x16 r = activate(cell, 0, clipped(cell, x[1] + acc[1]));
    const f32x16 n = activate(cell, 1, clipped(cell, x[2] + r * acc[2]));
    const f32x16 h = fma(1.0f - z, n, rounded(z * lanes.get(row.h_prev)));
    lanes.put(row.h, h);
    lanes.put(row.y, h);
  } else {
    const f32x16 c_prev = lanes.get(row.c_prev);
    f32x16 i = x[0] + acc[0], o = x[1] + acc[1], f = x[2] + acc[2];
    if (is_usual_lstm(cell, peephole)) {
      f32x16 c = c_prev, h;
      usual_lstm(i, o, f, x[3] + acc[3], c, h);
      lanes.put(row.c, c);
      lanes.put(row.h, h);
      lanes.put(row.y, h);
      return;
    }
    if (peephole) {
      i += lanes.get(peephole) * c_prev;
      f += lanes.get(peephole + 2 * hidden) * c_prev;
    }
    i = activate(cell, 0, clipped(cell, i));
    f = cell.input_forget ? 1.0f - i : activate(cell, 0, clipped(cell, f));
    const f32x16 n = activate(cell, 1, clipped(cell, x[3] + acc[3]));
    const f32x16 c = fma(f, c_prev, rounded(i * n));
    if (peephole) o += lanes.get(peephole + hidden) * c;
    o = activate(cell, 0, clipped(cell, o));
    const f32x16 h = o * activate(cell, 2, c);
    lanes.put(row.c, c);
    lanes.put(row.h, h);
    lanes.put(row.y, h);
  }
}

template <int G, int N>
void rows_block(const RecurrentCell& cell, const RecurrentRow* rows, int64_t block, const float* r,
                const float* products, const float* bias, const float* peephole) {
  f32x16 acc[N][G] = {};
  // The inputs of finish() are prefetched while the products are computed.
  for (int n = 0; n < N; n++)
    for (int g = 0; g < G; g++)
      __builtin_prefetch(rows[n].x + block * cell.x_block + g * cell.x_gate);
  if (G == 4 && products) {
    for (int n = 0; n < N; n++)
      for (int g = 0; g < G; g++) acc[n][g] = load(products + (n * G + g) * 16);
  } else if (rows[0].v && cell.in_order) {
    multiply<G, N, true>(rows, r, cell.hidden, acc);
  } else if (rows[0].v) {
    multiply<G, N, false>(rows, r, cell.hidden, acc);
  }
  const int64_t left = cell.hidden - block * 16;
  const Lanes lanes{block * 16, left < 16 ? left : 16};
  for (int n = 0; n < N; n++) finish<G>(cell, rows[n], block, bias, peephole, lanes, acc[n]);
}

template <int G>
POPRT_INLINE void gates_block(const RecurrentCell& cell, const RecurrentRow* rows, int64_t n,
                              int64_t block, const float* r, const float* products,
                              const float* bias, const float* peephole) {
  switch (n) {
    case 1: return rows_block<G, 1>(cell, rows, block, r, products, bias, peephole);
    case 2: return rows_block<G, 2>(cell, rows, block, r, products, bias, peephole);
    case 3: return rows_block<G, 3>(cell, rows, block, r, products, bias, peephole);
    default: return rows_block<G, 4>(cell, rows, block, r, products, bias, peephole);
  }
}

void run_block(const RecurrentCell& cell, const RecurrentRow* rows, int64_t n, int64_t block,
               const float* r, const float* products, const float* bias, const float* peephole) {
  switch (cell.kind) {
    case RecurrentKind::rnn:
    case RecurrentKind::gru_state:
      return gates_block<1>(cell, rows, n, block, r, products, bias, peephole);
    case RecurrentKind::gru_gates:
      return gates_block<2>(cell, rows, n, block, r, products, bias, peephole);
    case RecurrentKind::gru:
      return gates_block<3>(cell, rows, n, block, r, products, bias, peephole);
    case RecurrentKind::lstm:
      return gates_block<4>(cell, rows, n, block, r, products, bias, peephole);
  }
}

}  // namespace

extern const RecurrentTable POPRT_ISA_NAME(recurrent);
const RecurrentTable POPRT_ISA_NAME(recurrent) = {run_block};

}  // namespace poprt::kernels::isa

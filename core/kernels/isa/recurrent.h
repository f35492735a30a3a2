// One step of LSTM, GRU and RNN for sixteen hidden units.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// The numbers are part of the file format: append only.
enum class RecurrentKind : int64_t {
  rnn = 0,        // h = f(x + R v)
  lstm = 1,       // gates i, o, f, c
  gru = 2,        // gates z, r, h, linear_before_reset = 1
  gru_gates = 3,  // linear_before_reset = 0, first half: z (stored as c) and r * h (stored as h)
  gru_state = 4,  // second half: v is r * h, c_prev is z
};
inline constexpr int64_t kRecurrentKinds = 5;

// thresholded_relu maps x = alpha to 0, as ONNX Runtime does. By the specification of RNN, the
// result is x.
enum class RecurrentActivation : int64_t {
  sigmoid = 0,
  tanh = 1,
  relu = 2,
  affine = 3,            // alpha x + beta
  leaky_relu = 4,        // x < 0 ? alpha x : x
  thresholded_relu = 5,  // x > alpha ? x : 0
  scaled_tanh = 6,       // alpha tanh(beta x)
  hard_sigmoid = 7,      // min(max(alpha x + beta, 0), 1)
  elu = 8,               // x < 0 ? alpha (e^x - 1) : x
  softsign = 9,          // x / (1 + |x|)
  softplus = 10,         // ln(1 + e^x)
};
inline constexpr int64_t kRecurrentActivations = 11;

struct RecurrentCell {
  RecurrentKind kind = RecurrentKind::rnn;
  int64_t hidden = 0;
  int64_t x_block = 0, x_gate = 0;  // strides of blocks and of gates of x
  bool input_forget = false;
  bool in_order = false;  // products of a sum are added one after the other (Call::reproducible)
  float clip = 0;         // 0: none
  RecurrentActivation activation[3] = {};
  float alpha[3] = {}, beta[3] = {};
};

// One sequence of the batch. Vectors have `hidden` elements. Null represents zeros (v, h_prev,
// c_prev), or a result that is not wanted (y).
struct RecurrentRow {
  const float *x, *v, *h_prev, *c_prev;
  float *h, *c, *y;
};

struct RecurrentTable {
  // Computes hidden units [16 block, 16 block + 16) of `n` rows (1 to 4). `r` contains the
  // recurrent weights of this block, [hidden][gates][16]. `bias` (part of W then of R, each
  // [gates][hidden]) and `peephole` ([3][hidden]: i, o, f) may be null. Either all rows or none
  // have a v. `products`, [n][4][16], is R times v of an LSTM if that is already known, otherwise
  // null.
  void (*block)(const RecurrentCell& cell, const RecurrentRow* rows, int64_t n, int64_t block,
                const float* r, const float* products, const float* bias, const float* peephole);
};

POPRT_DECLARE_ISA(RecurrentTable, recurrent)

}  // namespace poprt::kernels::isa

// recurrent: all time steps of LSTM, GRU or RNN in one direction. Operands are f32 unless another
// type is stated. x contains the products of the inputs with W for the whole sequence; a step adds
// R times the state and updates the cell.
//
// Operands [x, r, r_state?, r_sums?, r_scales?, bias?, peephole?, lens? (s32), h_first?, c_first?,
// y?, h_last?, c_last?, work?]:
//
//   x        the row of a sequence and time is at x_offset + (time * batch + sequence) * x_row; in
//            it, gate g of block b (16 hidden units) is at b * x_block + g * x_gate
//   r        [blocks, hidden, gates, 16], units after `hidden` are zero
//   r_state  the same for the third gate of a GRU with linear_before_reset = 0 (kind gru_gates),
//            whose r has two gates
//   r_sums, r_scales   for an LSTM whose r is bytes: r consists of panels of 64 columns of
//            kernels/common/pack_vnni.h, which are the gates of a block; these operands are the
//            sums (s32) and scales of the columns. Each step quantises the state of each sequence
//            like DynamicQuantizeLinear. Programs that were compiled before r could be bytes have
//            neither operand: their calls have twelve operands
//   bias     [2 * gates of the cell, hidden]: of W, then of R
//   peephole [3, hidden]
//   lens     valid steps of each sequence; later steps keep the state and write zeros to y
//   h_first, c_first   [batch, hidden], zeros if omitted
//   h_last, c_last     [batch, hidden]
//   y        [steps, directions, batch, hidden]
//   work     [rows, batch, hidden], rows = (2 unless y without lens contains the states) +
//            (1: the cell of an LSTM) + (2: z and r * h of kind gru_gates)
#pragma once

#include <array>

#include "kernels/calls/call.h"
#include "kernels/calls/common/cell_activation.h"

namespace poprt::kernels::calls {

struct Recurrent {
  static constexpr std::string_view kKernel = "recurrent";

  isa::RecurrentKind kind = isa::RecurrentKind::rnn;
  int64_t steps = 1;
  int64_t batch = 0;
  int64_t hidden = 1;
  int64_t directions = 1;  // of y
  int64_t direction = 0;   // the index of this direction in y
  bool reverse = false;    // from the last step to the first
  int64_t x_offset = 0;    // in elements, like the next three
  int64_t x_row = 0;
  int64_t x_block = 0;
  int64_t x_gate = 0;
  bool input_forget = false;
  float clip = 0;                               // 0: none
  std::array<CellActivation, 3> activations{};  // f, g, h

  void fields(Fields& f) {
    f.choice("kind", kind, isa::RecurrentKind::gru_gates);
    f.size("steps", steps, 1);
    f.size("batch", batch);
    f.size("hidden", hidden, 1);
    f.size("directions", directions, 1);
    f.size("direction", direction, 0, directions - 1);
    f.flag("reverse", reverse);
    f.size("x_offset", x_offset);
    f.size("x_row", x_row);
    f.size("x_block", x_block);
    f.size("x_gate", x_gate);
    f.flag("input_forget", input_forget);
    f.real("clip", clip);
    for (CellActivation& a : activations) a.fields(f);
  }
};

}  // namespace poprt::kernels::calls

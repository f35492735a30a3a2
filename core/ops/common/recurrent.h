// What LSTM, GRU and RNN share: types, weights packed for kernel recurrent.
#pragma once

#include <string_view>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

struct RecurrentOp {
  int64_t gates = 1;
  bool has_cell = false;             // a third result Y_c, inputs initial_c and peephole weights
  bool linear_before_reset = false;  // has that attribute
  std::vector<std::string_view> activations = {};
  bool projected = false;  // input 0 is x * W of all directions already, input 1 is none. R may
                           // be constant bytes [directions, gates * hidden, hidden]: their zero
                           // points are those of symmetric weights, input 8 is their scale, f32
                           // [directions] or [directions, gates * hidden]
};

void infer_recurrent(InferContext& ctx, const RecurrentOp& op);

// x * W + b for the whole sequence in one product, then one recurrent kernel per direction. Weights
// that are constant are packed at compile time, others by strided copies in the run.
void lower_recurrent(LowerContext& ctx, const RecurrentOp& op);
// Batch and directions; steps and units are mixed.
void axes_of_recurrent(AxesContext& ctx);

}  // namespace poprt::ops

// Helpers shared by LSTM, GRU and RNN: types, and weights packed for kernel recurrent.
#pragma once

#include <string_view>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

struct RecurrentOp {
  int64_t gates = 1;
  bool has_cell = false;             // a third result Y_c, inputs initial_c and peephole weights
  bool linear_before_reset = false;  // the operator has attribute linear_before_reset
  std::vector<std::string_view> activations = {};
  // Input 0 is already x * W of all directions, and input 1 is absent. R may be constant bytes
  // [directions, gates * hidden, hidden] with symmetric zero points; input 8 is then their scale,
  // f32 [directions] or [directions, gates * hidden].
  bool projected = false;
};

void infer_recurrent(InferContext& ctx, const RecurrentOp& op);

// For f32, emits x * W for the whole sequence as one product (plus the bias if W and B are
// constant), followed by one recurrent kernel for each direction. Constant weights are packed at
// compile time, and R that is not constant by strided copies at run time. For f64, emits one kernel
// recurrent_generic.
void lower_recurrent(LowerContext& ctx, const RecurrentOp& op);
// The batch and the directions are carried; steps and units are mixed.
void axes_of_recurrent(AxesContext& ctx);

}  // namespace poprt::ops

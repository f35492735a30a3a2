#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/recurrent.h"

namespace poprt::ops::lstm_op {
namespace {

const RecurrentOp kOp = {.gates = 4,
                         .has_cell = true,
                         .linear_before_reset = false,
                         .activations = {"sigmoid", "tanh", "tanh"}};

void infer(InferContext& ctx) { infer_recurrent(ctx, kOp); }

void lower(LowerContext& ctx) { lower_recurrent(ctx, kOp); }

}  // namespace

constexpr StateForm kLstmStates[] = {{5, 1}, {6, 2}};

extern const OpDef def;
const OpDef def = {.name = "LSTM",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes_of_recurrent,
                   .cost = cost::recurrent,
                   .packs = 0b1110,
                   .facts = {.weight_inputs = 0b1110,
                             .states = kLstmStates,
                             .flops = flops::recurrent,
                             .trial = {"T[2,1,4]; T[1,8,4]; T[1,8,2]", "hidden_size = 2", 2}}};

}  // namespace poprt::ops::lstm_op

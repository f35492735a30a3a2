// poprt.ProjectedLSTM: LSTM on [steps, batch, directions * 4 * hidden] numbers that are already x *
// W, so W is omitted. R may be bytes with a scale as input 8 (ops/common/recurrent.h); then the
// state is quantised in each step.
#include "ops/common/cost_special.h"
#include "ops/common/recurrent.h"

namespace poprt::ops::poprt_projected_lstm_op {
namespace {

const RecurrentOp kOp = {
    .gates = 4, .has_cell = true, .activations = {"sigmoid", "tanh", "tanh"}, .projected = true};

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ProjectedLSTM",
                   .domain = "poprt",
                   .infer = [](InferContext& ctx) { infer_recurrent(ctx, kOp); },
                   .lower = [](LowerContext& ctx) { lower_recurrent(ctx, kOp); },
                   .axes = axes_of_recurrent,
                   .cost = cost::projected_lstm,
                   .facts = {.trial = {"T[2,1,8]; _; T[1,8,2]", "hidden_size = 2", 3}}};

}  // namespace poprt::ops::poprt_projected_lstm_op

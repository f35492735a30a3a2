#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/recurrent.h"

namespace poprt::ops::gru_op {
namespace {

const RecurrentOp kOp = {
    .gates = 3, .has_cell = false, .linear_before_reset = true, .activations = {"sigmoid", "tanh"}};

void infer(InferContext& ctx) { infer_recurrent(ctx, kOp); }

void lower(LowerContext& ctx) { lower_recurrent(ctx, kOp); }

}  // namespace

constexpr StateForm kGruStates[] = {{5, 1}};

extern const OpDef def;
const OpDef def = {.name = "GRU",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes_of_recurrent,
                   .cost = cost::recurrent,
                   .packs = 0b1110,
                   .facts = {.weight_inputs = 0b1110,
                             .states = kGruStates,
                             .flops = flops::recurrent,
                             .trial = {"T[2,1,4]; T[1,6,4]; T[1,6,2]", "hidden_size = 2", 2}}};

}  // namespace poprt::ops::gru_op

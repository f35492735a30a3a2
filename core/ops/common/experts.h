// Mixtures of experts: MoE and QMoE of com.microsoft. Each row of the input is computed by the
// top_k experts that the router prefers, and the results are added with the weights of the router.
// An expert is a network of two layers, whose first layer may be gated.
#pragma once

#include <string>

#include "ops/common/expansion.h"

namespace poprt::ops {

// Weights [experts, columns, rows] of a layer, of the type of the input; bias [experts, columns]
// may be null.
struct ExpertLayer {
  ir::Value *weights = nullptr, *bias = nullptr;
};

struct ExpertsCall {
  ir::Value* x = nullptr;  // [rows, hidden]
  ExpertLayer fc1, fc2, fc3;
  ir::Value* chosen = nullptr;  // s64 [rows, top]
  ir::Value* shares = nullptr;  // [rows, top]: the weight of each chosen expert
};

// The best logits of each row, and the numbers of their experts.
struct Routed {
  ir::Value *logits, *chosen;  // [rows, top]
};
// Selects the k experts (attribute k) with the best router_probs [rows, experts].
Routed route(Expansion& e, ir::Value* logits, int64_t rows, int64_t experts);

// The result [rows, hidden]. Reads the attributes of the activation from the node.
ir::Value* apply_experts(Expansion& e, const ExpertsCall& call);

// Whether attributes state that the first layer contains gate and value.
bool has_fused_gate(const Expansion& e);

}  // namespace poprt::ops

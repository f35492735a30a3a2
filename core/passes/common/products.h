// Products with constant weights, and several of them as one.
#pragma once

#include <span>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// x [.., K] times constant weights [K, N], plus a constant bias of N elements where `add` is there.
struct Projection {
  ir::Node* matmul = nullptr;
  ir::Node* add = nullptr;  // reads the product alone
  ir::Value* bias = nullptr;

  ir::Node& last() const { return add ? *add : *matmul; }
  ir::Value* weight() const { return matmul->input(1); }
  int64_t columns() const { return weight()->shape()[1]; }
};

// What a node computes as a projection: MatMul, or Add of one and a bias. Null members where it is
// none.
Projection projection_of(ir::Node& node);

// The projection that a value comes from, through what reorders and scales and has no other reader.
std::optional<Projection> projection_behind(ir::Value* v);
// The product whose scaled and masked scores a value is, through what has no other reader.
ir::Node* scores_behind(ir::Value* v);

// One product of weights side by side, and its parts in the place of the given ones, which read one
// value in one type and all have a bias or none. The parts are outputs of a Split.
void merge_projections(std::span<const Projection> parts);

// The projections of one input among those that a user named, in their order. Throws
// invalid_argument for one that has no other with its input, or that differs from them.
std::vector<std::vector<Projection>> grouped_by_input(std::span<const Projection> all);

}  // namespace poprt::passes

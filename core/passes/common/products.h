// Finds products with constant weights and merges several of them.
#pragma once

#include <span>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// x [.., K] times constant weights [K, N], plus a constant bias of N elements if `add` is set.
struct Projection {
  ir::Node* matmul = nullptr;
  ir::Node* add = nullptr;  // the only reader of the product
  ir::Value* bias = nullptr;

  ir::Node& last() const { return add ? *add : *matmul; }
  ir::Value* weight() const { return matmul->input(1); }
  int64_t columns() const { return weight()->shape()[1]; }
};

// Returns the projection that a node computes: a MatMul, or the Add of a MatMul and a bias. All
// members are null if it computes none.
Projection projection_of(ir::Node& node);

// Returns the projection that `v` is computed from through nodes that reorder or scale and whose
// results have one reader.
std::optional<Projection> find_projection(ir::Value* v);
// Returns the product of which `v` is the scaled and masked scores, if the values between have one
// reader.
ir::Node* find_scores_product(ir::Value* v);

// Replaces projections by one product with concatenated weights and a Split. All must be in one
// graph, read the same value, and have weights of one type with the same number of rows; all or
// none must have a bias.
void merge_projections(std::span<const Projection> parts);

// Groups the projections that a user named by their input, in their order. Throws invalid_argument
// for a projection that is named twice, that shares its input with no other, or that differs from
// the others in graph, type, bias or number of rows.
std::vector<std::vector<Projection>> grouped_by_input(std::span<const Projection> all);

}  // namespace poprt::passes

// The interface of the hook OpDef::cost: what an operator costs on the chip. The hook appends
// supersteps (ipu/lowering.h). It reads shapes, types and attributes, and never the value of a
// tensor, except for constant inputs that decide shapes and constant numbers that select a cheaper
// operation, such as the exponent 2 of Pow.
#pragma once

#include <cstdint>
#include <functional>

#include "ipu/lowering.h"
#include "ops/op.h"

namespace poprt::ops {

class CostContext {
 public:
  CostContext(const ir::Node& n, ipu::Lowering& to, std::function<DType(DType)> type_of)
      : node(n), out(to), type_of_(std::move(type_of)) {}

  const ir::Node& node;
  ipu::Lowering& out;

  bool has(size_t i) const { return node.input(i) != nullptr; }
  const Shape& in(size_t i) const { return node.input(i)->shape(); }
  const Shape& result(size_t o = 0) const { return node.output(o)->shape(); }
  int64_t in_count(size_t i) const { return has(i) ? element_count(in(i)) : 0; }
  int64_t result_count(size_t o = 0) const { return element_count(result(o)); }
  // Types of the elements on the chip, which the precision of the estimate decides.
  DType in_type(size_t i) const { return type_of_(node.input(i)->dtype()); }
  DType result_type(size_t o = 0) const { return type_of_(node.output(o)->dtype()); }
  bool is_constant(size_t i) const { return has(i) && weight(i); }

  // Whether input i is on the same tiles as input 0, so that an elementwise operation needs no
  // exchange.
  std::function<bool(size_t i)> aligned = [](size_t) { return false; };
  // Whether input i is a weight: a constant, or an input that the user names as a weight.
  std::function<bool(size_t i)> weight = [this](size_t i) {
    return has(i) && node.input(i)->is_constant();
  };
  // Whether input i is already on the tiles where a product needs it: a weight, or an input of the
  // graph that the host writes there.
  std::function<bool(size_t i)> placed = [this](size_t i) { return weight(i); };
  // Whether products with weights have 8-bit inputs.
  bool quarter_products = false;

 private:
  std::function<DType(DType)> type_of_;
};

// Appends the cost of a node whose types are static: OpDef::cost, or else a rule that the facts of
// the operator determine. An operator without a rule is marked (Lowering::no_rule).
void add_cost(CostContext& ctx);

}  // namespace poprt::ops

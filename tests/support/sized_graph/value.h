// Values of the interpreter of random graphs with data-dependent sizes.
//
// A tensor has exactly as many elements as ONNX defines for the given input: there is no bound and
// no padding here. Every number comes with an error, the most by which a correct computation in the
// drawn precision may differ. An error of zero means that every order of computation gives exactly
// this number, so that the number may decide an order, an index or a size.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace poprt::test::sized {

// Thrown for a node that is not valid on its inputs, or that makes a decision by inexact numbers.
struct Invalid : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Val {
  DType dtype = DType::undefined;  // undefined: an omitted input, or a sequence
  Shape shape;
  std::vector<double> v;
  std::vector<double> e;          // an error for each element of v; if empty, all are exact
  std::vector<std::string> text;  // of strings
  bool is_sequence = false;
  std::vector<Val> elements;  // of a sequence

  bool given() const { return dtype != DType::undefined || is_sequence; }
  double error(size_t i) const { return e.empty() ? 0.0 : e[i]; }
  bool exact() const {
    for (const double x : e)
      if (x != 0) return false;
    return true;
  }
  int64_t count() const { return element_count(shape); }
  size_t rank() const { return shape.size(); }
};

// How a drawn precision rounds. These are the tolerances of the checks, which allow four times the
// error that they add up to: keep and fp32 round each operation to 2^-22 of its result, the others
// to 2^-10. An operand of a matrix product that becomes an 8-bit float (both of fp8, the right one
// of fp8_weight) may be off by 7 % and 0.02.
struct Rounding {
  int bits = 24;               // of a significand
  double step = 0x1p-22;       // relative error of one operation
  double tiny = 3e-8;          // absolute error of one operation that is not exact
  double left = 0, right = 0;  // relative errors of the operands of a matrix product
  double most = 1e6;           // largest number that a value may have
  double most_factor = 1e6;    // largest operand of a matrix product
};

// Adds the rounding error to a result. `function`: it is computed by an approximation.
void round_result(Val& v, const Rounding& r, bool function = false);
// Whether the sum of the terms is the same in every order and precision of r.
bool sums_exactly(const std::vector<double>& terms, const Rounding& r);
// Returns numbers that must be exact, such as indices, axes and sizes.
std::vector<int64_t> ints_of(const Val& v);
int64_t int_of(const Val& v);

Val make_val(DType dtype, Shape shape);
Val int_val(const std::vector<int64_t>& values);  // s64 [n]
Val val_of(const Tensor& t);
Tensor tensor_of(const Val& v, DType dtype);

size_t axis_in(int64_t axis, size_t rank);
std::vector<int64_t> strides_of(const Shape& shape);
// Calls f with the multi-index of each element, in row-major order.
void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& f);
size_t offset_of(const Shape& index, const std::vector<int64_t>& strides);
// Copies element `from` of `a` to the end of `to`.
void append(Val& to, const Val& a, size_t from);

// The values of a graph and of the enclosing graphs.
struct Scope {
  std::unordered_map<const ir::Value*, Val> values;
  const Scope* outer = nullptr;
  const Val* find(const ir::Value* v) const {
    for (const Scope* s = this; s; s = s->outer)
      if (const auto it = s->values.find(v); it != s->values.end()) return &it->second;
    return nullptr;
  }
};

using Inputs = std::vector<Val>;
using Outputs = std::vector<Val>;
// Computes one node with plain loops. Throws Invalid.
Outputs interpret(const ir::Node& node, const Inputs& inputs, const Scope& scope,
                  const Rounding& r);
// The outputs of a graph whose inputs are in `scope`.
Outputs interpret(const ir::Graph& graph, Scope& scope, const Rounding& r);

using Rule = Outputs (*)(const ir::Node&, const Inputs&, const Rounding&);
using Rules = std::unordered_map<std::string, Rule>;
const Rules& elementwise_rules();
const Rules& reduction_rules();
const Rules& movement_rules();
const Rules& selection_rules();
const Rules& sequence_rules();
// Computes an If, Loop or Scan.
Outputs interpret_control(const ir::Node& node, const Inputs& inputs, const Scope& scope,
                          const Rounding& r);

}  // namespace poprt::test::sized

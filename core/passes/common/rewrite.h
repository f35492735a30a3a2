// Helpers of rewrites: properties of values and constants, and safe replacement.
//
// Passes walk graph.nodes() in order and match a pattern at its last node, so that a rewrite erases
// only the visited node or nodes before it.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/match.h"
#include "passes/pass.h"

namespace poprt::passes {

// Visits the graph and all its subgraphs, innermost first.
void for_each_graph(ir::Graph& graph, const std::function<void(ir::Graph&)>& visit);
// Visits each node of each of those graphs in order. `visit` may erase the node and nodes before
// it.
void for_each_node(ir::Graph& graph, const std::function<void(ir::Node&)>& visit);

using ir::const_ints;
using ir::const_scalar;
using ir::producer_if;
using ir::single_use;

bool is_used(const ir::Value* value);
// Like producer_if, but null unless single_use(value): if the value has several readers or is a
// graph output, or its only reader is in a subgraph.
ir::Node* sole_producer_of(const ir::Value* value, std::string_view op_type,
                           std::string_view domain = "");

// Whether a number is `expected`, or `expected` rounded to `dtype`, within a relative 1e-6. For
// f32, `expected` rounded to f16 or bf16 is also accepted, because models of these types are
// computed in f32. If a model may divide by the constant, compare the divisor, too: the reciprocal
// of a rounded divisor differs from the rounded reciprocal.
bool is_close(double value, double expected, DType dtype);
// Whether `value` is a one-element constant within that tolerance of `expected`.
bool is_scalar(const ir::Value* value, double expected);
// Reads integers, such as `axes`, that older opsets have as an attribute and newer ones as input
// `index`. Returns nullopt if the input is not constant, and an empty list if both are missing.
std::optional<std::vector<int64_t>> ints_param(const ir::Node& node, std::string_view attribute,
                                               size_t index);

// Whether both shapes are static and equal.
bool same_static_shape(const ir::Value* a, const ir::Value* b);
// Whether `dtype` is f32, f64, f16 or bf16.
bool is_plain_float(DType dtype);

// Creates a tensor of a numeric dtype of whole bytes (not an 8-bit float) from doubles. f16 and
// bf16 are rounded once, to the nearest number (base/float_odd.h). Integers truncate and saturate,
// and NaN becomes 0. Throws internal for another dtype.
Tensor tensor_of(DType dtype, Shape shape, std::span<const double> values);
// Adds constants to `graph`.
ir::Value* add_ints(ir::Graph& graph, std::string name, std::span<const int64_t> values);
ir::Value* add_scalar(ir::Graph& graph, std::string name, DType dtype, double value);

// Adds a node before `at` and infers its types. Its first output gets the name NAME_OPTYPE, where
// NAME is the name of output 0 of `at`.
ir::Node* insert_node(
    ir::Node& at, std::string op_type, std::string domain, std::span<ir::Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {},
    size_t output_count = 1);
ir::Node* insert_node(
    ir::Node& at, std::string op_type, std::string domain, std::initializer_list<ir::Value*> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {},
    size_t output_count = 1);

// Erases the node if it has no readers, and then the nodes and constants that only it read.
void erase_if_dead(ir::Node* node);
// Makes readers of a single-output node read `by`, which takes its name unless it is an output of
// the graph already, and erases the node and all nodes that only it needed. A node of the same
// graph must produce `by`.
void replace_node(ir::Node& node, ir::Value* by);

// For nodes that do nothing: whether a node reads `value`, so that it can read `by` instead, or
// `value` is a graph output that `by` can become. It cannot become the output if it is an input, a
// constant, another output or a value of an outer graph.
bool can_bypass(const ir::Value* value, const ir::Value* by);
// Makes the readers of `value` read `by` and erases nothing. A graph output that `by` cannot become
// keeps `value`.
void redirect(ir::Value* value, ir::Value* by);
// Calls redirect and erases the node if it has no reader left.
void bypass(ir::Value* value, ir::Value* by);

// Collects the factors of a product: descends through Mul (and Div by constants) as long as the
// intermediate results have no other reader, through at most 64 nodes. `scale` is the product of
// the one-element constants.
struct Product {
  double scale = 1;
  std::vector<ir::Value*> factors;
};
Product factors_of(ir::Node& mul);
Product factors_of(ir::Value* value);

}  // namespace poprt::passes

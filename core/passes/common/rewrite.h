// What rewrites share: questions about values and constants, and safe replacement.
//
// Convention of the passes: walk graph.nodes() in order with the last node of a pattern as its
// root, so that everything a rewrite erases is the visited node or stands in front of it.
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

// The graph and all graphs inside it, innermost first.
void for_each_graph(ir::Graph& graph, const std::function<void(ir::Graph&)>& visit);
// Each node of each of those graphs, in order. `visit` may erase the node and nodes in front of it.
void for_each_node(ir::Graph& graph, const std::function<void(ir::Node&)>& visit);

using ir::const_ints;
using ir::const_scalar;
using ir::producer_if;
using ir::single_use;

bool is_used(const ir::Value* value);
// producer_if, and nothing else reads the value.
ir::Node* sole_producer_of(const ir::Value* value, std::string_view op_type,
                           std::string_view domain = "");

// Equal within the relative tolerance that suits constants of `dtype`: 1e-6, for f16 and bf16 one
// rounding. An f32 may also be exactly what a half holds of it, since halves are computed in f32.
bool near(double value, double expected, DType dtype);
// A one-element constant within that tolerance of `expected`.
bool is_scalar(const ir::Value* value, double expected);
// `axes` (or whatever) that older opsets keep as an attribute and newer ones as input `index`;
// nullopt when it is an input that is not constant, empty when absent.
std::optional<std::vector<int64_t>> ints_param(const ir::Node& node, std::string_view attribute,
                                               size_t index);

// Both shapes are static and equal.
bool same_static_shape(const ir::Value* a, const ir::Value* b);
// f32, f64, f16 or bf16.
bool is_plain_float(DType dtype);

// A tensor of a numeric dtype from doubles, rounded once (integers truncate, saturating).
Tensor tensor_of(DType dtype, Shape shape, std::span<const double> values);
// New constants beside the nodes of `graph`.
ir::Value* add_ints(ir::Graph& graph, std::string name, std::span<const int64_t> values);
ir::Value* add_scalar(ir::Graph& graph, std::string name, DType dtype, double value);

// Adds a node in front of `at`, named after it, and infers its types. Its first output takes the
// name `at` output 0 + "_" + op_type.
ir::Node* insert_node(
    ir::Node& at, std::string op_type, std::string domain, std::span<ir::Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {},
    size_t output_count = 1);
ir::Node* insert_node(
    ir::Node& at, std::string op_type, std::string domain, std::initializer_list<ir::Value*> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {},
    size_t output_count = 1);

// Erases the node if nothing reads it, and then whatever only it read (constants included).
void erase_if_dead(ir::Node* node);
// A single-output node's readers read `by`, a new value that computes the same and takes its name;
// then the node and what only it needed are gone. `by` must be made by a node of the same graph.
void replace_node(ir::Node& node, ir::Value* by);

// For nodes that do nothing. True when readers of `value` can read `by` instead: always, unless the
// only reader is the graph's output list and `by` cannot take over the output (it is an input, a
// constant, another output or from an outer graph).
bool can_bypass(const ir::Value* value, const ir::Value* by);
// Does it; nothing is erased. A graph output that `by` cannot take over keeps `value`.
void redirect(ir::Value* value, ir::Value* by);
// redirect, and the node goes if nothing reads it any more.
void bypass(ir::Value* value, ir::Value* by);

// Collects the factors of a product: descends through Mul (and Div by constants) as long as the
// intermediate results have no other reader. Constants of one element end up in `scale`.
struct Product {
  double scale = 1;
  std::vector<ir::Value*> factors;
};
Product factors_of(ir::Node& mul);
Product factors_of(ir::Value* value);

}  // namespace poprt::passes

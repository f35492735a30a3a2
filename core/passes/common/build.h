// Nodes that rewrites make, spelled as the opset of the graph has them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

inline constexpr std::string_view kGraphcore = "ai.graphcore";

// Adds a node of ai.graphcore in front of `at`; the model imports the domain.
ir::Node* insert_graphcore(
    ir::Node& at, std::string op_type, std::span<ir::Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {},
    size_t output_count = 1);
// The same in the place of a node with one output.
void replace_with_graphcore(
    ir::Node& node, std::string op_type, std::span<ir::Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {});

// In the place of every node `op_type` of ai.onnx, with its inputs and attributes.
void replace_each_with_graphcore(ir::Graph& graph, PassContext& context, std::string_view op_type,
                                 const std::string& graphcore_type);
// A node as `of`, attributes included, in front of `at`.
ir::Node* insert_like(ir::Node& at, const ir::Node& of, std::span<ir::Value* const> inputs);

// Each gives the value that a new node in front of `at` makes of `v`.
ir::Value* reshaped(ir::Node& at, ir::Value* v, const Shape& shape);
ir::Value* cast_to(ir::Node& at, ir::Value* v, DType dtype);
ir::Value* transposed(ir::Node& at, ir::Value* v, std::vector<int64_t> perm);
// Elements [begin, end) of an axis, every `step`-th; a negative step goes down from `begin`.
ir::Value* sliced(ir::Node& at, ir::Value* v, int64_t axis, int64_t begin, int64_t end,
                  int64_t step = 1);
// Parts of these sizes along an axis.
std::vector<ir::Value*> split_into(ir::Node& at, ir::Value* v, std::span<const int64_t> sizes,
                                   int64_t axis);
ir::Value* joined(ir::Node& at, std::span<ir::Value* const> parts, int64_t axis);
// Zeros behind the last element of an axis, up to `size` elements.
ir::Value* padded(ir::Node& at, ir::Value* v, int64_t axis, int64_t size);
// Operators without attributes.
ir::Value* computed(ir::Node& at, std::string_view op_type,
                    std::initializer_list<ir::Value*> inputs);

// Readers of the node's outputs read `by` instead, which take over the names; the node and what
// only it needed are gone. An output whose `by` is null must have no reader. A graph output whose
// `by` cannot take its place is copied.
void replace_outputs(ir::Node& node, std::span<ir::Value* const> by);

// A constant's tensor along `axis`: elements [begin, end).
Tensor slice_of(const Tensor& tensor, int64_t axis, int64_t begin, int64_t end);
// Tensors of one type, one after the other along `axis`.
Tensor concat_of(std::span<const Tensor> parts, int64_t axis);

// The node of that name anywhere in the graph; its first output's name does too, as PopRT's users
// know both. Throws not_found naming near ones of `op_type` (any when empty).
ir::Node& node_of(ir::Graph& graph, std::string_view name, std::string_view op_type);

// The outermost graph.
ir::Graph& root_of(ir::Graph& graph);

}  // namespace poprt::passes

// Creates nodes in the form that the opset of the graph requires.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

inline constexpr std::string_view kGraphcore = "ai.graphcore";

// Adds a node of ai.graphcore before `at` and imports the domain into the model.
ir::Node* insert_graphcore(
    ir::Node& at, std::string op_type, std::span<ir::Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {},
    size_t output_count = 1);
// Replaces a node with one output by a node of ai.graphcore.
void replace_with_graphcore(
    ir::Node& node, std::string op_type, std::span<ir::Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes = {});

// Replaces every ai.onnx node `op_type` by a node of ai.graphcore with the same inputs and
// attributes.
void replace_each_with_graphcore(ir::Graph& graph, PassContext& context, std::string_view op_type,
                                 const std::string& graphcore_type);
// Adds a node before `at` with the operator and attributes of `of`.
ir::Node* insert_like(ir::Node& at, const ir::Node& of, std::span<ir::Value* const> inputs);

// Each of these functions adds a node before `at` and returns its result. reshaped(), cast_to(),
// transposed() and padded() add nothing and return `v` if it has that form already. Axes are not
// negative.
ir::Value* reshaped(ir::Node& at, ir::Value* v, const Shape& shape);
// Throws unimplemented if ONNX does not have the type.
ir::Value* cast_to(ir::Node& at, ir::Value* v, DType dtype);
ir::Value* transposed(ir::Node& at, ir::Value* v, std::vector<int64_t> perm);
// Elements [begin, end) of an axis, every `step`-th. A negative step counts down from `begin`.
// Throws unimplemented for a step other than 1 if the opset is lower than 10.
ir::Value* sliced(ir::Node& at, ir::Value* v, int64_t axis, int64_t begin, int64_t end,
                  int64_t step = 1);
// Parts of the given sizes along an axis.
std::vector<ir::Value*> split_into(ir::Node& at, ir::Value* v, std::span<const int64_t> sizes,
                                   int64_t axis);
ir::Value* joined(ir::Node& at, std::span<ir::Value* const> parts, int64_t axis);
// The sum over the given axes, which the result does not have.
ir::Value* summed_over(ir::Node& at, ir::Value* v, std::span<const int64_t> axes);
// Appends zeros along an axis, up to `size` elements.
ir::Value* padded(ir::Node& at, ir::Value* v, int64_t axis, int64_t size);
// Result of an operator without attributes.
ir::Value* computed(ir::Node& at, std::string_view op_type,
                    std::initializer_list<ir::Value*> inputs);

// Makes readers of the node's outputs read the values of `by`, and erases the node and all nodes
// that only it needed. A value that nothing read before takes the name of the output. An output
// whose `by` is null must have no reader. If `by` cannot replace a graph output, a copy of it does.
void replace_outputs(ir::Node& node, std::span<ir::Value* const> by);

// Elements [begin, end) of a tensor along `axis`. The type must have whole bytes.
Tensor slice_of(const Tensor& tensor, int64_t axis, int64_t begin, int64_t end);
// Concatenates tensors of one type, which has whole bytes, along `axis`. Their other dimensions
// must be equal.
Tensor concat_of(std::span<const Tensor> parts, int64_t axis);

// Finds a node anywhere in the graph by its name or, because PopRT's users know both, by the name
// of its first output. Throws not_found with the names of some nodes of `op_type` (of any type if
// it is empty), and invalid_argument if the node is not of this type.
ir::Node& node_of(ir::Graph& graph, std::string_view name, std::string_view op_type);

// The outermost graph.
ir::Graph& root_of(ir::Graph& graph);

}  // namespace poprt::passes

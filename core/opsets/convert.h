// Converts a graph to another opset of ai.onnx.
//
// Every node is converted from its opset to the target, one definition at a time. A row of the
// table (opsets/table.cpp) describes the change between two definitions of an operator, and the
// replacement of an operator that the target does not have. Example, opset 20 to 11:
//
//   ReduceMean(x, axes)      18: axes become an attribute
//   Gelu(x)                  20: Mul(Mul(x, Add(Erf(Div(x, 1.414...)), 1)), 0.5)
//   Relu(x)                  14: Max(x, 0) for integers; 13: the same operator without bf16
//
// Other domains do not change. docs/opsets.md lists the conversions of each operator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ir/graph.h"
#include "ir/newest.h"

namespace poprt::opsets {

inline constexpr int64_t kOldestSource = 7, kOldestTarget = 11, kNewest = ir::kNewestOpset;

// Rewrites the graph and its subgraphs in place. Types should be inferred first, because some
// conversions need a shape or a constant. Throws invalid_argument if the target is not from 11 to
// kNewest. Has no effect if the graph has no node of ai.onnx. Throws unimplemented if the opset of
// the graph is not from 7 to kNewest, and if a node cannot be converted, with the node, the
// operator, both opsets and the reason in the message; the graph is then partly converted, so a
// caller that goes on with the original passes a clone. With `faithful`, an operator whose
// replacement compiles to a slower program is also an error.
void convert(ir::Graph& graph, int64_t target, bool faithful = false);

// Converts to `wanted`. If an operator does not allow that, converts to the lowest higher opset
// that works, at most the graph's own. It never accepts a slower replacement (`faithful`). `graph`
// is replaced by the converted graph, or does not change if no opset works. The result is the
// reason if the opset is not `wanted`, else empty. Throws invalid_argument if `wanted` is not from
// 11 to kNewest.
std::string convert_to_lowest(std::unique_ptr<ir::Graph>& graph, int64_t wanted);

// Converts the nodes of the newest opset that passes have added to the opset of the graph. Has no
// effect if that opset is not from 11 to kNewest. Throws unimplemented like convert().
void convert_newest_nodes(ir::Graph& graph);

// The opset of ai.onnx that the graph imports; 0 if it imports none.
int64_t opset_of(const ir::Graph& graph);

// The table as Markdown for users: docs/opsets.md.
std::string conversions_markdown();

}  // namespace poprt::opsets

// A graph for another opset of ai.onnx.
//
// Every node goes, definition by definition, from the opset that it has to the target: a row of the
// one table (opsets/table.cpp) says what changes between two definitions of an operator, and
// what takes the place of an operator that the target has not got. Example, opset 18 to 11:
//
//   ReduceMean(x, axes)      18: axes become an attribute
//   Gelu(x)                  20: Mul(Mul(x, 0.5), Add(Erf(Div(x, 1.414...)), 1))
//   Relu(x)                  14, 13: the same operator for fewer types, which x must have
//
// Other domains stay as they are. docs/opsets.md lists what is done to which operator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ir/graph.h"
#include "ir/newest.h"

namespace poprt::opsets {

inline constexpr int64_t kOldestSource = 7, kOldestTarget = 11, kNewest = ir::kNewestOpset;

// What the converted model of command poprt and of Python's Converter has: the newest opset that
// PopART knows.
inline constexpr int64_t kDefaultTarget = 11;

// Rewrites the graph, its subgraphs included, in place. Types should be inferred; where a change
// needs a shape or a constant that is not known, that is an error. Does nothing when no node of
// ai.onnx is there. Throws invalid_argument for a target outside of 11 to kNewest, unimplemented
// naming node, operator, both opsets and the reason where it cannot be done; the graph is then in
// pieces: give a clone. With `faithful`, operators whose parts compile to a slower program than
// they do themselves are such a reason.
void convert(ir::Graph& graph, int64_t target, bool faithful = false);

// Converts to `wanted` or, where an operator does not allow it, to the lowest opset above it that
// works, up to the graph's own; faithfully. `graph` is replaced by what was converted, or stays as
// it is when none works. The result says why the opset is not `wanted`; it is empty when it is.
std::string convert_to_lowest(std::unique_ptr<ir::Graph>& graph, int64_t wanted);

// Makes what passes have put in as the newest opset defines it fit the graph's own opset, as well
// as that can be done.
void settle(ir::Graph& graph);

// The opset of ai.onnx that the graph imports; 0 when it imports none.
int64_t opset_of(const ir::Graph& graph);

// The table for people, as Markdown: docs/opsets.md.
std::string listing();

}  // namespace poprt::opsets

// Implements poprt_graph_host (poprt/plugin.h), the functions through which passes, patterns and
// transforms of plug-ins access a graph. Handles are the addresses of ir::Graph, ir::Node and
// ir::Value.
#pragma once

#include <functional>
#include <string_view>

#include "ir/graph.h"
#include "passes/common/arguments.h"
#include "plugins/report.h"

namespace poprt::passes {

const poprt_graph_host& graph_host();

inline poprt_graph* handle(ir::Graph& graph) { return reinterpret_cast<poprt_graph*>(&graph); }
inline poprt_node* handle(ir::Node& node) { return reinterpret_cast<poprt_node*>(&node); }

// Calls a plug-in's function that may use graph_host() and returns its result. Failures become an
// Error with `what` as prefix: those that it reports by fail(), errors of host functions,
// exceptions, and, with `result_is_code`, a result that is an error code. get_parameter() reads
// `arguments`; null means none.
int32_t call_with_graph(std::string_view what, const std::function<int32_t()>& function,
                        bool result_is_code = true, const Arguments* arguments = nullptr);

}  // namespace poprt::passes

// What passes, patterns and transforms of plug-ins see of a graph: the functions of
// poprt_graph_host (poprt/plugin.h). Handles are addresses of ir::Graph, ir::Node and ir::Value.
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

// Runs a function of a plug-in that may use graph_host(). What it says by fail(), what functions of
// the host found wrong, what it throws and a result that is an error code become an Error with
// `what` in front. Gives its result. get_parameter() tells of `arguments`; null: there are none.
int32_t call_with_graph(std::string_view what, const std::function<int32_t()>& function,
                        bool result_is_code = true, const Arguments* arguments = nullptr);

}  // namespace poprt::passes

// Converts graphs that are given as text to another opset, and compares their results.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/schemas.h"
#include "ir/text.h"
#include "opsets/convert.h"
#include "support/graph_eval.h"

namespace poprt::opsets {

// A graph with the types that its text declares.
inline std::unique_ptr<ir::Graph> declared(std::string_view body, int opset) {
  return ir::parse_text(fmt::format("graph \"g\" opset {{\"\": {}}} {{\n{}\n}}", opset, body));
}

inline std::unique_ptr<ir::Graph> parsed(std::string_view body, int opset) {
  auto graph = declared(body, opset);
  ops::infer(*graph);
  return graph;
}

// The operators of the nodes, in their order.
inline std::string ops_of(const ir::Graph& graph) {
  std::string s;
  for (const ir::Node* n : graph.nodes())
    s += (s.empty() ? "" : " ") + (n->domain.empty() ? "" : n->domain + ".") + n->op_type;
  return s;
}

// Converts the graph and compares its operators, and its results with those before the conversion.
// Returns the converted graph.
inline std::unique_ptr<ir::Graph> convert_from(std::string_view body, int opset, int64_t target,
                                               std::string_view operators) {
  const auto before = parsed(body, opset);
  auto graph = parsed(body, opset);
  convert(*graph, target);
  EXPECT_EQ(opset_of(*graph), target);
  EXPECT_EQ(ops_of(*graph), operators) << ir::to_text(*graph);
  for (const ir::Node* n : graph->nodes()) EXPECT_NO_THROW(ir::check_attributes(*n));
  EXPECT_NO_THROW(ops::infer(*graph));
  test::expect_same_results(*before, *graph, 1e-5);
  return graph;
}

// The same for one node with `results` results. `values` has its inputs and constants.
inline std::unique_ptr<ir::Graph> convert_node(std::string_view values, std::string_view call,
                                               int opset, int64_t target,
                                               std::string_view operators, size_t results = 1) {
  SCOPED_TRACE(fmt::format("{} from opset {} to {}", call, opset, target));
  std::string made, outputs;
  for (size_t i = 0; i < results; i++) {
    made += fmt::format("{}%y{} : ?", i ? ", " : "", i);
    outputs += fmt::format("\noutput %y{}", i);
  }
  return convert_from(fmt::format("{}\n{} = {}{}", values, made, call, outputs), opset, target,
                      operators);
}

// Returns the message of a conversion that is not possible.
inline std::string refusal_of(ir::Graph& graph, int64_t target) {
  try {
    convert(graph, target);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    return e.message();
  }
  return "nothing was refused";
}

// Expects an error of one line that contains all of `parts`.
inline void expect_refusal(std::string_view body, int opset, int64_t target,
                           const std::vector<std::string>& parts,
                           ErrorCode code = ErrorCode::unimplemented) {
  const auto graph = parsed(body, opset);
  try {
    convert(*graph, target);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    EXPECT_EQ(e.message().find('\n'), std::string::npos);
    if (code == ErrorCode::unimplemented)
      EXPECT_TRUE(e.message().starts_with(
          fmt::format("convert_version: no conversion from opset {} to {}: ", opset, target)))
          << e.message();
    for (const std::string& part : parts)
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

}  // namespace poprt::opsets

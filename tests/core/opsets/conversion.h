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

inline std::unique_ptr<ir::Graph> parsed(std::string_view body, int opset) {
  auto graph =
      ir::parse_text(fmt::format("graph \"g\" opset {{\"\": {}}} {{\n{}\n}}", opset, body));
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
    for (const std::string& part : parts)
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

}  // namespace poprt::opsets

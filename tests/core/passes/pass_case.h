// Runs passes on a small graph in text form, compares the text of the result, and checks that
// results stay equal, also for the graph with one fact changed (alter.h).
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/passes/alter.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "support/graph_eval.h"

namespace poprt::test {

inline std::unique_ptr<ir::Graph> parsed(std::string_view body, int opset = 17) {
  auto graph =
      ir::parse_text(fmt::format("graph \"g\" opset {{\"\": {}}} {{\n{}\n}}", opset, body));
  ops::infer(*graph);
  return graph;
}

inline std::vector<passes::PassReport> run(ir::Graph& graph, std::vector<std::string> names) {
  std::vector<const passes::PassDef*> list;
  for (const std::string& name : names) list.push_back(&passes::pass_of(name));
  return passes::run_passes(graph, list);
}

inline std::vector<passes::PassCall> calls_of(const std::vector<std::string>& names) {
  std::vector<passes::PassCall> calls;
  for (const std::string& name : names) calls.push_back({&passes::pass_of(name)});
  return calls;
}

// Operators in order: "MatMul poprt.Gelu".
inline std::string ops_of(const ir::Graph& graph) {
  std::string s;
  for (const ir::Node* n : graph.nodes())
    s += (s.empty() ? "" : " ") + (n->domain.empty() ? "" : n->domain + ".") + n->op_type;
  return s;
}

// The passes turn `before` into `after` (text for text, types inferred) and keep the results.
inline void expect_rewrite(std::vector<std::string> names, std::string_view before,
                           std::string_view after, int opset = 17) {
  const auto original = parsed(before, opset);
  const auto graph = parsed(before, opset);
  const auto calls = calls_of(names);
  run(*graph, std::move(names));
  EXPECT_EQ(ir::to_text(*graph), ir::to_text(*parsed(after, opset)));
  expect_same_results(*original, *graph, 1e-5);
  expect_same_when_altered(*original, calls, 1e-5);
}

// The same, but compares only the operators that are left. Returns the graph for further checks.
inline std::unique_ptr<ir::Graph> expect_ops(std::vector<std::string> names,
                                             std::string_view before, std::string_view operators,
                                             int opset = 17, double tolerance = 1e-5) {
  const auto original = parsed(before, opset);
  auto graph = parsed(before, opset);
  run(*graph, names);
  EXPECT_EQ(ops_of(*graph), operators) << ir::to_text(*graph);
  expect_same_results(*original, *graph, tolerance);
  expect_same_when_altered(*original, calls_of(names), tolerance);
  return graph;
}

// Runs the passes over a graph that was built node by node, compares its results and
// returns the remaining operators.
inline std::string ops_after(ir::Graph& graph, std::vector<std::string> names,
                             double tolerance = 2e-5) {
  const auto feeds = random_feeds(graph);
  const auto before = evaluate_graph(graph, feeds);
  run(graph, std::move(names));
  graph.sort();
  const auto after = evaluate_graph(graph, feeds);
  for (const auto& [name, tensor] : before) expect_close(tensor, after.at(name), tolerance, name);
  return ops_of(graph);
}

// Expects that the passes do not change the graph.
inline void expect_unchanged(std::vector<std::string> names, std::string_view text,
                             int opset = 17) {
  const auto graph = parsed(text, opset);
  const std::string before = ir::to_text(*graph);
  run(*graph, names);
  EXPECT_EQ(ir::to_text(*graph), before);
  expect_same_when_altered(*parsed(text, opset), calls_of(names), 1e-5);
}

}  // namespace poprt::test

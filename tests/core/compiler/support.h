// Compiles a text graph and runs it on the emulated device.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "compiler/compiler.h"
#include "ir/text.h"
#include "support/graph_eval.h"
#include "support/run_executable.h"

namespace poprt::test {

inline compiler::Executable compile_text(const std::string& text, compiler::Options options = {}) {
  const auto graph = ir::parse_text(text);
  compiler::convert(*graph, options);
  return compiler::compile(*graph, options);
}

// Expects that the compiled graph gives the same results as its nodes evaluated one by one.
inline void expect_compiles_to_same(const std::string& text, double tolerance = 1e-5) {
  const auto reference = ir::parse_text(text);
  ops::infer(*reference);
  const auto feeds = random_feeds(*reference);
  const auto wanted = evaluate_graph(*reference, feeds);
  const compiler::Executable executable = compile_text(text);
  const auto got = run_executable(executable, feeds);
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) expect_close(tensor, got.at(name), tolerance, name);
  const auto again = run_executable(executable, feeds, 3);
  for (const auto& [name, tensor] : got)
    EXPECT_TRUE(tensor.same_as(again.at(name))) << name << " depends on the threads";
}

}  // namespace poprt::test

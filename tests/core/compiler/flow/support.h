// Compiles bodies of text graphs with control flow, and runs them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../support.h"
#include "compiler/flow/specialize.h"
#include "support/uniform.h"

namespace poprt::compiler::flow_test {

using Values = std::map<std::string, Tensor>;

inline std::string graph_text(const std::string& body, int opset = 17) {
  return "graph \"g\" opset {\"\": " + std::to_string(opset) + ", \"com.microsoft\": 1} {\n" +
         body + "}\n";
}

inline Tensor floats(Shape shape, uint32_t seed = 1) {
  std::mt19937 rng(seed);
  const test::Uniform real{-2, 2};
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  for (float& x : t.mutable_values<float>()) x = real(rng);
  return t;
}

inline std::vector<float> values(const Tensor& t) {
  const auto v = t.values<float>();
  return {v.begin(), v.end()};
}

inline bool uses(const Executable& e, std::string_view kernel) {
  return std::find(e.program.kernels.begin(), e.program.kernels.end(), kernel) !=
         e.program.kernels.end();
}

inline Executable compile_body(const std::string& body, Options options = {}) {
  return test::compile_text(graph_text(body), std::move(options));
}

// Runs with one thread and with three, and expects equal results.
inline Values run(const Executable& e, const Values& feeds) {
  const Values first = test::run_executable(e, feeds);
  const Values again = test::run_executable(e, feeds, 3);
  for (const auto& [name, t] : first) EXPECT_TRUE(t.same_as(again.at(name))) << name;
  return first;
}

inline ErrorCode code_of(const std::string& body, Options options = {}) {
  try {
    compile_body(body, std::move(options));
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

}  // namespace poprt::compiler::flow_test

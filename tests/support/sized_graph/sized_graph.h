// Random ONNX models whose sizes depend on data, with inputs, and with the sizes and values that
// they compute. An interpreter of plain loops (value.h) computes these, without the operators and
// kernels of the library.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "support/sized_graph/builder.h"

namespace poprt::test::sized {

// How a model is converted.
struct Config {
  compiler::Precision precision = compiler::Precision::keep;
  int64_t opset = 0;  // of the result; 0: the model's own; -1: the lowest that is possible
  bool narrow_int64 = false;
  std::vector<std::string> passes;  // in addition to the default ones
  std::string describe() const;
};

struct SizedGraph {
  std::unique_ptr<Graph> graph;
  Config config;
  Counts counts;
  // For each of kFeeds runs: the feeds, and every value of the top level, by name.
  std::vector<std::map<std::string, Val>> feeds, values;
};

SizedGraph sized_graph(uint64_t seed);
// The model as ONNX.
std::string model_of(const SizedGraph& s);
// Converts the model like command poprt and returns an ONNX model. Throws Error if it is refused.
std::string converted(const std::string& model, const Config& config);

enum class Outcome { equal, refused, wrong };
struct Checked {
  Outcome converted = Outcome::equal;  // the converted model, compiled and run
  Outcome compiled = Outcome::equal;   // the model itself, compiled and run
  std::vector<std::string> refusals,
      faults;  // the message of the refusal, the description of the fault
};
Checked check(const SizedGraph& s);

// Returns a smaller model, with fewer outputs and only the nodes that they need, that is still
// wrong.
SizedGraph reduced(const SizedGraph& s);
// The graph as text with the inputs as comments.
std::string describe(const SizedGraph& s);

}  // namespace poprt::test::sized

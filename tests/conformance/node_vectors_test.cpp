// Runs ONNX's published vectors (Debian package libonnx-testdata: single operators, their function
// bodies, and PyTorch's small models) node by node, with ONNX's tolerances (rtol 1e-3, atol 1e-7).
// Inputs that an operator needs as constants are given as constants: the vectors feed everything at
// run time, a static compiler knows shapes before.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "onnx/import.h"
#include "onnx/tensor_io.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

// Vectors that must not pass, with the reason. A listed one that passes fails the test, so that the
// list stays true.
using FailureList = std::map<std::string, std::string>;

// About training.
bool is_skipped(const std::string& name) { return name.find("training") != std::string::npos; }

// Random by nature: only types and shapes are compared.
bool is_random(const std::string& name) { return name.find("bernoulli") != std::string::npos; }

std::string compare(const Tensor& found, const Tensor& wanted) {
  if (found.dtype() != wanted.dtype())
    return std::string("dtype ") + std::string(dtype_name(found.dtype())) + ", expected " +
           std::string(dtype_name(wanted.dtype()));
  if (found.shape() != wanted.shape())
    return "shape " + shape_string(found.shape()) + ", expected " + shape_string(wanted.shape());
  if (wanted.dtype() == DType::string)
    return found.string_values() == wanted.string_values() ? "" : "strings differ";
  if (wanted.dtype() == DType::c64 || wanted.dtype() == DType::c128)
    return found.same_as(wanted) ? "" : "complex values differ";
  const auto f = found.to_doubles(), w = wanted.to_doubles();
  for (size_t i = 0; i < f.size(); i++) {
    if (std::isnan(f[i]) && std::isnan(w[i])) continue;
    if (f[i] == w[i]) continue;
    if (!(std::fabs(f[i] - w[i]) <= 1e-7 + 1e-3 * std::fabs(w[i])))
      return fmt::format("element {} is {}, expected {}", i, f[i], w[i]);
  }
  return "";
}

// Operators whose result shape depends on the value of their first input.
bool needs_constants(const std::string& op) { return op == "ConstantOfShape" || op == "Range"; }

// Operators whose result has a bound at run time.
bool has_data_dependent_shape(const std::string& op) {
  return op == "NonMaxSuppression" || op == "NonZero" || op == "Unique";
}

// These vectors keep bfloat16 as its bits in uint16 tensors.
Tensor read_as(const fs::path& file, DType declared) {
  const Tensor t = onnx::read_tensor_pb(file);
  if (declared != DType::bf16 || t.dtype() != DType::u16) return t;
  return Tensor::view(DType::bf16, t.shape(), t.data(), t.bytes(), std::make_shared<Tensor>(t));
}

struct Outcome {
  enum { passed, failed, unsupported } status;
  std::string op, message;
};

// How the inputs of a single node are given.
enum class Feed {
  run_time_input,  // input 0 at run time, the rest as constants; output types are not known before
  constants,       // everything as constants
  declared,        // as run_time_input, with the output types that the model declares as bounds
};

std::vector<Tensor> run_node(ir::Node* node, const std::map<const ir::Value*, Tensor>& given,
                             Feed feed) {
  ir::Graph& graph = node->graph();
  std::vector<ir::Value*> inputs;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < node->inputs().size(); i++) {
    ir::Value* v = node->input(i);
    if (!v) {
      inputs.push_back(nullptr);
      tensors.emplace_back();
      continue;
    }
    const Tensor t = v->is_constant() ? v->constant() : given.at(v);
    tensors.push_back(t);
    const bool at_run_time = i == 0 && feed != Feed::constants && !needs_constants(node->op_type);
    inputs.push_back(at_run_time ? v : graph.add_constant("", t));
    if (at_run_time) v->type = ir::ValueType::of(t.dtype(), t.shape());
  }
  const std::vector<ir::Value*> before(node->inputs().begin(), node->inputs().end());
  node->set_inputs(inputs);
  try {
    ops::infer(*node);
    for (const ir::Value* v : node->outputs())
      if (!v->uses().empty() || graph.is_output(v))
        if (!v->type.is_static())
          fail(ErrorCode::unimplemented, "{}: the type of '{}' is not static: {}", node->describe(),
               v->name(), ir::type_string(v->type));
    auto results = ops::evaluate(*node, tensors);
    node->set_inputs(before);
    return results;
  } catch (...) {
    node->set_inputs(before);
    throw;
  }
}

Outcome run_vector(const fs::path& directory) {
  Outcome outcome{Outcome::failed, "?", ""};
  try {
    const auto graph = onnx::import_file(directory / "model.onnx");
    const auto nodes = graph->nodes();
    for (const ir::Node* n : nodes) {
      outcome.op = n->op_type;
      if (!ops::find_op(n->domain, n->op_type, n->opset()))
        return {Outcome::unsupported, n->op_type, "no such operator"};
    }
    if (nodes.size() != 1) outcome.op = "(several nodes)";
    const fs::path set = directory / "test_data_set_0";
    std::map<const ir::Value*, Tensor> given;
    for (size_t i = 0; i < graph->inputs().size(); i++) {
      const fs::path file = set / ("input_" + std::to_string(i) + ".pb");
      const ir::Value* v = graph->inputs()[i];
      if (fs::exists(file)) given[v] = read_as(file, v->dtype());
    }
    std::vector<DType> declared;
    for (const ir::Value* v : graph->outputs()) declared.push_back(v->dtype());
    for (ir::Node* node : nodes) {
      std::vector<ir::ValueType> types;
      for (const ir::Value* v : node->outputs()) types.push_back(v->type);
      const auto attempt = [&](Feed feed) {
        for (size_t o = 0; o < types.size(); o++)
          node->output(o)->type = feed == Feed::declared ? types[o] : ir::ValueType{};
        return run_node(node, given, feed);
      };
      std::vector<Tensor> results;
      try {
        results = attempt(nodes.size() != 1                         ? Feed::constants
                          : has_data_dependent_shape(node->op_type) ? Feed::declared
                                                                    : Feed::run_time_input);
      } catch (const Error& e) {
        if (nodes.size() != 1 || e.code() != ErrorCode::unimplemented) throw;
        try {
          results = attempt(Feed::constants);
        } catch (const Error& again) {
          if (again.code() != ErrorCode::unimplemented) throw;
          results = attempt(Feed::declared);
        }
      }
      for (size_t o = 0; o < results.size(); o++) given[node->output(o)] = results[o];
    }
    for (size_t i = 0; i < graph->outputs().size(); i++) {
      const fs::path file = set / ("output_" + std::to_string(i) + ".pb");
      const auto found = given.find(graph->outputs()[i]);
      if (found == given.end() || !fs::exists(file)) continue;
      const Tensor wanted = read_as(file, declared[i]);
      if (is_random(directory.filename().string()) && found->second.dtype() == wanted.dtype() &&
          found->second.shape() == wanted.shape())
        continue;
      const std::string difference = compare(found->second, wanted);
      if (!difference.empty())
        return {Outcome::failed, outcome.op, fmt::format("output {}: {}", i, difference)};
    }
    return {Outcome::passed, outcome.op, ""};
  } catch (const std::exception& e) {
    outcome.message = e.what();
    return outcome;
  }
}

struct Row {
  int passed = 0, failed = 0;
};

// Runs every vector under `root`, prints the table, and checks the list of expected failures.
void run_vectors(const fs::path& root, const FailureList& expected_failures) {
  std::map<std::string, Row> table;
  std::map<std::string, int> missing;
  std::set<fs::path> directories;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"})
    if (fs::is_directory(root / kind))
      for (const auto& entry : fs::directory_iterator(root / kind)) {
        if (fs::exists(entry.path() / "model.onnx")) directories.insert(entry.path());
      }
  for (const fs::path& directory : directories) {
    const std::string name = directory.filename().string();
    if (is_skipped(name)) continue;
    const Outcome outcome = run_vector(directory);
    if (outcome.status == Outcome::unsupported) {
      missing[outcome.op]++;
      continue;
    }
    const bool passed = outcome.status == Outcome::passed;
    (passed ? table[outcome.op].passed : table[outcome.op].failed)++;
    const auto expected = expected_failures.find(name);
    if (passed && expected != expected_failures.end())
      ADD_FAILURE() << name << " passes; take it off the list of expected failures";
    if (!passed && expected == expected_failures.end())
      ADD_FAILURE() << name << " (" << outcome.op << "): " << outcome.message;
  }
  int passed = 0, failed = 0, unsupported = 0;
  for (const auto& [op, row] : table) {
    std::printf("%-28s %3d passed %3d failed\n", op.c_str(), row.passed, row.failed);
    passed += row.passed;
    failed += row.failed;
  }
  for (const auto& [op, count] : missing) {
    std::printf("%-28s %3d vectors, no such operator\n", op.c_str(), count);
    unsupported += count;
  }
  std::printf("%d passed, %d failed, %d for operators that do not exist here\n", passed, failed,
              unsupported);
  EXPECT_GT(passed, 0);
}

TEST(OnnxNodeVectors, AllOperatorsThatWeHave) {
  const fs::path root = POPRT_ONNX_TESTDATA;
  ASSERT_TRUE(fs::is_directory(root / "node"))
      << root << " is missing: install the Debian package libonnx-testdata";
  static const FailureList expected = {
#include "conformance/expected_failures.inc"
  };
  run_vectors(root, expected);
}

// Variable ONNX_TEST_DATA names a newer set (onnx 1.22's backend/test/data).
TEST(OnnxNodeVectors, NewerDataFromTheEnvironment) {
  const char* directory = std::getenv("ONNX_TEST_DATA");
  if (!directory) GTEST_SKIP() << "ONNX_TEST_DATA is not set";
  const fs::path root = directory;
  ASSERT_TRUE(fs::is_directory(root / "node")) << root << " is missing";
  static const FailureList expected = {
#include "conformance/expected_failures_1_22.inc"
  };
  run_vectors(root, expected);
}

}  // namespace
}  // namespace poprt

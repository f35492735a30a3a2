// Operators of com.microsoft, ai.onnx.ml and ai.graphcore against vectors of tests/data/contrib and
// tests/data/ml: single-node models that contain their inputs and the results of ONNX Runtime, or
// of NumPy if ONNX Runtime does not have the operator. make_*_vectors.py write them. Each runs
// twice: compiled, on the emulated device, and node by node as constant folding does.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "onnx/import.h"
#include "ops/common/evaluate.h"
#include "ops/common/op_types.h"
#include "support/axes_contract.h"
#include "support/graph_eval.h"
#include "support/run_executable.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> vector_files() {
  std::set<fs::path> files;
  for (const char* folder : {"contrib", "ml", "graphcore"}) {
    const fs::path path = fs::path(POPRT_TEST_DATA) / folder;
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".onnx") files.insert(entry.path());
  }
  return {files.begin(), files.end()};
}

struct Vector {
  std::unique_ptr<ir::Graph> graph;
  std::map<std::string, Tensor> feeds, wanted;
  double rtol = 0, atol = 0;
};

Vector read(const fs::path& file) {
  Vector v;
  v.graph = onnx::import_file(file);
  for (ir::Value* value : v.graph->values()) {
    if (!value->is_constant()) continue;
    const std::string& name = value->name();
    if (name.starts_with("feed/")) v.feeds[name.substr(5)] = value->constant();
    if (name.starts_with("want/")) v.wanted[name.substr(5)] = value->constant();
    if (name.starts_with("feed/") || name.starts_with("want/")) v.graph->erase_value(value);
  }
  v.rtol = std::stod(v.graph->metadata.at("prop.rtol"));
  v.atol = std::stod(v.graph->metadata.at("prop.atol"));
  return v;
}

void expect_results(const Vector& v, const std::map<std::string, Tensor>& got) {
  ASSERT_FALSE(v.wanted.empty());
  for (const auto& [name, want] : v.wanted) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(got.contains(name));
    const Tensor& found = got.at(name);
    ASSERT_EQ(dtype_name(found.dtype()), dtype_name(want.dtype()));
    ASSERT_EQ(found.shape(), want.shape());
    const auto f = found.to_doubles(), w = want.to_doubles();
    for (size_t i = 0; i < w.size(); i++) {
      if (std::isnan(f[i]) && std::isnan(w[i])) continue;
      if (f[i] == w[i]) continue;
      ASSERT_LE(std::fabs(f[i] - w[i]), v.atol + v.rtol * std::fabs(w[i]))
          << "element " << i << " is " << f[i] << ", expected " << w[i];
    }
  }
}

class ContribVector : public ::testing::TestWithParam<fs::path> {};

TEST_P(ContribVector, CompiledModelGivesTheRecordedResults) {
  Vector v = read(GetParam());
  compiler::Options options;
  compiler::convert(*v.graph, options);
  expect_results(v, test::run_executable(compiler::compile(*v.graph, options), v.feeds));
}

TEST_P(ContribVector, EvaluatedNodeGivesTheRecordedResults) {
  Vector v = read(GetParam());
  for (const ir::Node* n : v.graph->nodes())
    if (ops::support_of(ops::op_of(*n)).implementation == ops::Implementation::compiler) return;
  if (v.graph->node_count() > 1) return;  // whole models need their constants folded first
  for (ir::Value* value : v.graph->outputs()) value->type = {};
  ops::infer(*v.graph);
  expect_results(v, test::evaluate_graph(*v.graph, v.feeds));
}

// For operators that are decomposed, the map is composed from the maps of the nodes.
TEST_P(ContribVector, InfluenceStaysWithinTheAxisMap) {
  const Vector v = read(GetParam());
  if (v.graph->nodes().size() != 1) return;
  ir::Node& n = *v.graph->nodes().front();
  const ops::OpDef& op = ops::op_of(n);
  if (!op.pure || ops::support_of(op).implementation == ops::Implementation::compiler) return;
  for (ir::Value* value : v.graph->outputs()) value->type = {};
  ops::infer(n);
  if (!ops::contract::is_ready(n)) return;
  ops::contract::Tried t{n.op_type, nullptr, &n, {}, {}};
  for (const ir::Value* value : n.inputs()) {
    t.inputs.push_back(!value                 ? Tensor()
                       : value->is_constant() ? value->constant()
                                              : v.feeds.at(value->name()));
    t.fixed.push_back(!value || value->is_constant() || value->dtype() == DType::string);
  }
  const ops::AxisMap map = ops::axis_map(n);
  const auto found = ops::contract::Contract(t, map).check();
  EXPECT_TRUE(found.wrong.empty()) << ops::contract::first_of(found.wrong);
}

INSTANTIATE_TEST_SUITE_P(All, ContribVector, ::testing::ValuesIn(vector_files()),
                         [](const auto& info) {
                           return info.param.parent_path().filename().string() + "_" +
                                  info.param.stem().string();
                         });

TEST(ContribVectors, EveryOperatorOfAnotherDomainHasAVector) {
  std::set<std::string> covered;
  for (const fs::path& file : vector_files()) {
    const auto graph = onnx::import_file(file);
    for (const ir::Node* n : graph->nodes()) covered.insert(n->domain + "." + n->op_type);
  }
  for (const ops::OpDef* op : ops::all_ops()) {
    if (op->domain != "com.microsoft" && op->domain != "ai.onnx.ml" && op->domain != "ai.graphcore")
      continue;
    // The compiler resolves these operators; tests/core/compiler covers them.
    if (ops::support_of(*op).implementation == ops::Implementation::compiler) continue;
    const std::string name = std::string(op->domain) + "." + std::string(op->name);
    EXPECT_TRUE(covered.contains(name)) << name << " has no vector";
  }
}

}  // namespace
}  // namespace poprt

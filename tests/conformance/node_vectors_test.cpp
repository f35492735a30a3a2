// Runs ONNX's published vectors (Debian package libonnx-testdata: single operators, their function
// bodies, sequences, and PyTorch's small models) through import, compiler and emulated device, with
// ONNX's tolerances (rtol 1e-3, atol 1e-7; kTolerances). The published vectors pass all inputs at
// run time, including those that decide shapes. A vector is first compiled without values of
// inputs. If the compiler reports that it needs values, the test folds the inputs of the next level
// of compiler::fold_inputs, as `poprt_exec run` does. The summary contains the number of vectors
// that passed at each level.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "compiler/compiler.h"
#include "compiler/flow/specialize.h"
#include "device/emulator/emulator.h"
#include "onnx/import.h"
#include "onnx/tensor_io.h"
#include "ops/op.h"
#include "program/serialize.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

// Vectors that must not pass, with the reason. A listed one that passes fails the test, so that the
// list stays true.
using FailureList = std::map<std::string, std::string>;

// Whether the result is random, so that only types and shapes are compared.
bool is_random(const std::string& name) {
  return name.find("bernoulli") != std::string::npos ||
         (name.starts_with("test_training_dropout") &&
          name.find("zero_ratio") == std::string::npos);
}

struct Tolerance {
  std::string_view vectors;  // prefix of their names
  double absolute;
};
// Vectors for which ONNX's runner allows more than 1e-7. It also does so for images of lossy
// formats, but poprt decodes these to equal bytes.
constexpr Tolerance kTolerances[] = {
    // The vectors contain rounding errors of 2e-7 in elements whose exact value is 0, which poprt
    // computes.
    {"test_dft", 1e-6},
};

double absolute_tolerance(std::string_view vector) {
  for (const Tolerance& t : kTolerances)
    if (vector.starts_with(t.vectors)) return t.absolute;
  return 1e-7;
}

std::string compare(const Tensor& found, const Tensor& wanted, double absolute) {
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
    if (!(std::fabs(f[i] - w[i]) <= absolute + 1e-3 * std::fabs(w[i])))
      return fmt::format("element {} is {}, expected {}", i, f[i], w[i]);
  }
  return "";
}

// These vectors keep bfloat16 as its bits in uint16 tensors.
Tensor as_declared(const Tensor& t, DType declared) {
  if (declared != DType::bf16 || t.dtype() != DType::u16) return t;
  return Tensor::view(DType::bf16, t.shape(), t.data(), t.bytes(), std::make_shared<Tensor>(t));
}

struct Outcome {
  enum { passed, failed, unsupported } status;
  std::string op, message;
  int level = 0;
  int64_t opset = 0;
};

using Values = std::map<std::string, Tensor>;

// The inputs of a vector. A tensor is called NAME; the tensors of a sequence are NAME[0], NAME[1]
// ...
struct Feed {
  Values values;
  compiler::Options options;

  void add(const std::string& name, const Tensor& t) {
    values[name] = t;
    options.input_shape[name] = t.shape();
  }
};

Feed read_feed(const ir::Graph& graph, const fs::path& set) {
  Feed feed;
  std::map<int64_t, const ir::Node*> containers;
  for (const ir::Node* n : graph.nodes())
    if (n->is("ContainerInput", "poprt")) containers[n->int_attr("position", 0)] = n;
  const size_t count = graph.inputs().size() + containers.size();
  for (size_t i = 0, next = 0; i < count; i++) {
    const fs::path file = set / ("input_" + std::to_string(i) + ".pb");
    const auto container = containers.find(static_cast<int64_t>(i));
    if (container == containers.end()) {
      const ir::Value* v = graph.inputs()[next++];
      if (fs::exists(file))
        feed.add(v->name(), as_declared(onnx::read_tensor_pb(file), v->dtype()));
      continue;
    }
    const std::string name = container->second->output()->name();
    const std::vector<Tensor> tensors =
        fs::exists(file) ? onnx::read_tensors_pb(file) : std::vector<Tensor>();
    const bool single = container->second->string_attr("kind", "") == "optional";
    for (size_t k = 0; k < tensors.size(); k++)
      feed.add(single ? name : fmt::format("{}[{}]", name, k), tensors[k]);
    if (container->second->string_attr("kind", "") == "sequence")
      feed.options.input_length[name] = static_cast<int64_t>(tensors.size());
  }
  return feed;
}

// The first places of each dimension, as many as the companion output states.
Tensor cropped(const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return t;
  Tensor out = Tensor::zeros(t.dtype(), shape);
  const auto size = static_cast<size_t>(dtype_bits(t.dtype()) / 8);
  Shape at(shape.size(), 0);
  for (int64_t i = 0; i < out.count(); i++) {
    int64_t from = 0;
    for (size_t d = 0; d < shape.size(); d++) from = from * t.shape()[d] + at[d];
    std::memcpy(static_cast<std::byte*>(out.mutable_data()) + static_cast<size_t>(i) * size,
                static_cast<const std::byte*>(t.data()) + static_cast<size_t>(from) * size, size);
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return out;
}

Values run_program(const compiler::Executable& executable, const Values& inputs) {
  const auto loaded = program::load_in_memory(executable.program, executable.weights);
  device::EmulatedDevice device;
  const auto engine = device.load(
      {std::make_shared<program::Program>(loaded.program), loaded.weights, loaded.owner},
      {.threads = 1, .profile = false});
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& anchor : loaded.program.inputs) in.push_back(inputs.at(anchor.name).data());
  Values results;
  for (const auto& anchor : loaded.program.outputs) {
    Tensor& t = results[anchor.name] = Tensor::zeros(anchor.dtype, anchor.shape);
    out.push_back(t.mutable_data());
  }
  engine->run(device::Flow::main, in.data(), out.data());
  return results;
}

// Compiles and runs a vector with as few values of inputs as possible known at compile time.
Values compile_and_run(const ir::Graph& model, const Feed& feed, int& level) {
  std::vector<std::string> before = {"none yet"};
  std::string first;
  for (level = 0; level < compiler::kFoldLevels; level++) {
    const bool last = level + 1 == compiler::kFoldLevels;
    compiler::Options options = feed.options;
    Values text;
    options.constant_outputs = &text;
    const auto graph = model.clone();
    try {
      compiler::expand_containers(*graph, options);
      const auto folded = compiler::fold_inputs(*graph, feed.values, level);
      if (folded == before && !last) continue;
      before = folded;
      for (const std::string& name : folded) options.input_shape.erase(name);
      compiler::convert(*graph, options);
      if (graph->outputs().empty()) return text;
      Values results = run_program(compiler::compile(*graph, options), feed.values);
      for (auto& [name, value] : results)
        if (const auto shape = results.find(name + ":shape"); shape != results.end())
          value = cropped(value, shape->second.to_int64s());
      results.merge(text);
      return results;
    } catch (const Error& e) {
      if (last ||
          (e.code() != ErrorCode::unimplemented && e.code() != ErrorCode::invalid_argument)) {
        if (!first.empty() && last) throw Error(e.code(), e.message() + "; at first: " + first);
        throw;
      }
      if (first.empty()) first = e.message();
    }
  }
  return {};
}

void collect_names(const ir::Graph& graph, std::set<std::string>& names, std::string& missing) {
  for (const ir::Node* n : graph.nodes()) {
    if (n->is("ContainerInput", "poprt")) continue;
    names.insert(n->op_type);
    if (!ops::find_op(n->domain, n->op_type, n->opset())) missing = n->op_type;
    ir::for_each_subgraph(*n, [&](const ir::Graph& g) { collect_names(g, names, missing); });
  }
}

Outcome run_vector(const fs::path& directory) {
  Outcome outcome{Outcome::failed, "?", "", 0, 0};
  try {
    const auto graph = onnx::import_file(directory / "model.onnx");
    if (const auto it = graph->opsets.find(""); it != graph->opsets.end())
      outcome.opset = it->second;
    std::set<std::string> names;
    std::string missing;
    collect_names(*graph, names, missing);
    if (!missing.empty())
      return {Outcome::unsupported, missing, "no such operator", 0, outcome.opset};
    outcome.op = graph->node_count() == 1 ? graph->nodes()[0]->op_type : "(several nodes)";
    if (names.size() == 1) outcome.op = *names.begin();
    const fs::path set = directory / "test_data_set_0";
    const Feed feed = read_feed(*graph, set);
    const Values results = compile_and_run(*graph, feed, outcome.level);
    for (size_t i = 0; i < graph->outputs().size(); i++) {
      const fs::path file = set / ("output_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) continue;
      const ir::Value* v = graph->outputs()[i];
      const std::vector<Tensor> wanted = onnx::read_tensors_pb(file);
      std::vector<Tensor> found;
      if (const auto it = results.find(v->name()); it != results.end())
        found.push_back(it->second);
      else
        for (size_t k = 0; results.contains(fmt::format("{}[{}]", v->name(), k)); k++)
          found.push_back(results.at(fmt::format("{}[{}]", v->name(), k)));
      std::string difference;
      if (found.size() != wanted.size())
        difference = fmt::format("{} tensors, expected {}", found.size(), wanted.size());
      for (size_t k = 0; difference.empty() && k < found.size(); k++) {
        const Tensor t = as_declared(wanted[k], v->dtype());
        if (is_random(directory.filename().string()) && found[k].dtype() == t.dtype() &&
            found[k].shape() == t.shape())
          continue;
        difference = compare(found[k], t, absolute_tolerance(directory.filename().string()));
      }
      if (!difference.empty()) {
        outcome.message = fmt::format("output {}: {}", i, difference);
        return outcome;
      }
    }
    outcome.status = Outcome::passed;
  } catch (const std::exception& e) {
    outcome.message = e.what();
  }
  return outcome;
}

// ONNX's large models with artificial weights: DIR/light_x.onnx and DIR/light_x_output_0.pb. The
// input is 0, 1/n, 2/n ... as in onnx.backend.test.runner.
Outcome run_light(const fs::path& model) {
  Outcome outcome{Outcome::failed, "(light models)", "", 0, 0};
  try {
    const auto graph = onnx::import_file(model);
    if (const auto it = graph->opsets.find(""); it != graph->opsets.end())
      outcome.opset = it->second;
    Feed feed;
    for (const ir::Value* v : graph->inputs()) {
      Shape shape = v->shape();
      for (int64_t& d : shape) d = std::max<int64_t>(d, 1);
      Tensor t = Tensor::zeros(DType::f32, shape);
      const double n = static_cast<double>(t.count());
      const auto x = t.mutable_values<float>();
      for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(static_cast<double>(i) / n);
      feed.add(v->name(), t);
    }
    const Values results = compile_and_run(*graph, feed, outcome.level);
    for (size_t i = 0; i < graph->outputs().size(); i++) {
      const fs::path wanted =
          model.parent_path() / fmt::format("{}_output_{}.pb", model.stem().string(), i);
      outcome.message =
          compare(results.at(graph->outputs()[i]->name()), onnx::read_tensor_pb(wanted),
                  absolute_tolerance(model.stem().string()));
      if (!outcome.message.empty()) return outcome;
    }
    outcome.status = Outcome::passed;
  } catch (const std::exception& e) {
    outcome.message = e.what();
  }
  return outcome;
}

struct Row {
  int passed = 0, failed = 0;
};

// Runs every vector under `root`, prints the table by operator and opset, and checks the list of
// expected failures, where "operator NAME" means all vectors of an operator that does not
// exist.
void run_vectors(const fs::path& root, const FailureList& expected_failures) {
  for (const auto& [name, reason] : expected_failures)
    if (name.starts_with("operator "))
      for (const ops::OpDef* op : ops::all_ops())
        EXPECT_NE(name, "operator " + std::string(op->name)) << "exists; take it off the list";
  std::map<std::string, std::map<int64_t, Row>> table;
  int levels[compiler::kFoldLevels] = {};
  int passed = 0, failed = 0;
  const auto count = [&](const std::string& name, const Outcome& outcome) {
    const bool ok = outcome.status == Outcome::passed;
    Row& row = table[outcome.op][outcome.opset];
    (ok ? row.passed : row.failed)++;
    (ok ? passed : failed)++;
    if (ok) levels[outcome.level]++;
    const bool listed =
        expected_failures.contains(name) || (outcome.status == Outcome::unsupported &&
                                             expected_failures.contains("operator " + outcome.op));
    if (ok && listed) ADD_FAILURE() << name << " passes; take it off the list of expected failures";
    if (!ok && !listed) ADD_FAILURE() << name << " (" << outcome.op << "): " << outcome.message;
  };
  std::set<fs::path> directories, light;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"})
    if (fs::is_directory(root / kind))
      for (const auto& entry : fs::directory_iterator(root / kind)) {
        if (fs::exists(entry.path() / "model.onnx")) directories.insert(entry.path());
      }
  if (fs::is_directory(root / "light"))
    for (const auto& entry : fs::directory_iterator(root / "light"))
      if (entry.path().extension() == ".onnx") light.insert(entry.path());
  for (const fs::path& directory : directories) {
    count(directory.filename().string(), run_vector(directory));
  }
  for (const fs::path& model : light) count(model.stem().string(), run_light(model));
  for (const auto& [op, opsets] : table) {
    std::string columns;
    Row sum;
    for (const auto& [opset, row] : opsets) {
      sum.passed += row.passed;
      sum.failed += row.failed;
      columns += fmt::format("  {}: {}", opset, row.passed);
      if (row.failed) columns += fmt::format(" (-{})", row.failed);
    }
    std::printf("%-28s %4d passed %3d failed | opset: passed (-failed)%s\n", op.c_str(), sum.passed,
                sum.failed, columns.c_str());
  }
  std::printf("%d of %d passed, %d failed\n", passed, passed + failed, failed);
  std::printf(
      "passed with inputs known at compile time: none (but text) %d, those that decide shapes %d, "
      "all but the first %d, all %d\n",
      levels[0], levels[1], levels[2], levels[3]);
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

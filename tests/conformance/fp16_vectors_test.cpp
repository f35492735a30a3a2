// ONNX's published vectors at half precision: each model is converted with Precision::fp16,
// compiled and run on the emulated device, with its f32 inputs rounded to f16. Floats must agree
// with the vector's f32 results within 4e-3 of the largest of them plus 4e-3 relative (f16 rounds
// by 4.9e-4; inputs, weights and results are rounded once each, and sums add up these errors);
// results beyond the range of f16 (65504) count as infinities. Everything else must be equal.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "onnx/import.h"
#include "onnx/tensor_io.h"
#include "support/run_executable.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 4e-3;
constexpr double kLargestHalf = 65504;

// Vectors that cannot agree, with the reason. A listed vector that agrees fails the test.
const std::map<std::string, std::string>& expected_failures() {
  static const std::map<std::string, std::string> list = {
#include "conformance/expected_failures_fp16.inc"
  };
  return list;
}

Tensor as_half(const Tensor& t) {
  const std::vector<double> values = t.to_doubles();
  Tensor half = Tensor::zeros(DType::f16, t.shape());
  const auto to = half.mutable_values<f16_t>();
  for (size_t i = 0; i < to.size(); i++) to[i] = to_f16(static_cast<float>(values[i]));
  return half;
}

std::string compare(const Tensor& found, const Tensor& wanted) {
  if (found.shape() != wanted.shape())
    return "shape " + shape_string(found.shape()) + ", expected " + shape_string(wanted.shape());
  if (wanted.dtype() == DType::string) return "";
  const auto f = found.to_doubles(), w = wanted.to_doubles();
  double largest = 0;
  for (const double v : w)
    if (std::isfinite(v) && std::fabs(v) <= kLargestHalf) largest = std::max(largest, std::fabs(v));
  const bool exact = !is_float(wanted.dtype());
  for (size_t i = 0; i < f.size(); i++) {
    if (std::isnan(f[i]) && std::isnan(w[i])) continue;
    if (f[i] == w[i]) continue;
    if (std::isinf(f[i]) && std::fabs(w[i]) > kLargestHalf * (1 - kTolerance) &&
        std::signbit(f[i]) == std::signbit(w[i]))
      continue;
    if (exact || !(std::fabs(f[i] - w[i]) <= kTolerance * (largest + std::fabs(w[i]))))
      return fmt::format("element {} is {}, expected {}", i, f[i], w[i]);
  }
  return "";
}

enum class Status { passed, failed, skipped };

struct Outcome {
  Status status = Status::skipped;
  std::string message = {};
};

// A vector is skipped if it has no f32, or if it does not pass at full precision either (shapes
// that depend on run-time values, strings).
Outcome run_vector(const fs::path& directory) {
  const fs::path set = directory / "test_data_set_0";
  std::map<std::string, Tensor> feeds;
  std::map<std::string, Tensor> wanted;
  bool any_float = false;
  const auto prepare = [&] {
    feeds.clear();
    auto graph = onnx::import_file(directory / "model.onnx");
    const std::vector<ir::Value*> inputs = graph->inputs();
    for (size_t i = 0; i < inputs.size(); i++) {
      const fs::path file = set / ("input_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) continue;
      const Tensor t = onnx::read_tensor_pb(file);
      any_float = any_float || t.dtype() == DType::f32;
      ir::Value* v = inputs[i];
      if (t.dtype() == DType::f32 && t.count() > 1) {
        v->type = ir::ValueType::of(t.dtype(), t.shape());
        feeds[v->name()] = t;
        continue;
      }
      // Shapes, indices, scales and other parameters are usually constants of the model.
      ir::Value* constant = graph->add_constant(v->name() + "_frozen", t);
      graph->replace_all_uses(v, constant);
      graph->remove_input(v);
    }
    return graph;
  };
  const auto run = [&](compiler::Precision precision) {
    const auto graph = prepare();
    compiler::Options options;
    options.precision = precision;
    compiler::convert(*graph, options);
    const compiler::Executable executable = compiler::compile(*graph, options);
    std::map<std::string, Tensor> given;
    for (const program::Anchor& a : executable.program.inputs)
      given[a.name] = a.dtype == DType::f16 ? as_half(feeds.at(a.name)) : feeds.at(a.name);
    return test::run_executable(executable, given);
  };
  try {
    const auto graph = prepare();
    for (size_t i = 0; i < graph->outputs().size(); i++) {
      const fs::path file = set / ("output_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) return {};
      wanted[graph->outputs()[i]->name()] = onnx::read_tensor_pb(file);
    }
    if (!any_float) return {};
    const auto full = run(compiler::Precision::keep);
    for (const auto& [name, tensor] : wanted)
      if (!full.contains(name) || !compare(full.at(name), tensor).empty()) return {};
  } catch (const std::exception&) {
    return {};
  }
  try {
    const auto half = run(compiler::Precision::fp16);
    for (const auto& [name, tensor] : wanted) {
      if (!half.contains(name)) return {Status::failed, "output '" + name + "' is gone"};
      const std::string difference = compare(half.at(name), tensor);
      if (!difference.empty()) return {Status::failed, "output '" + name + "': " + difference};
    }
    return {Status::passed};
  } catch (const std::exception& e) {
    return {Status::failed, e.what()};
  }
}

void run_vectors(const fs::path& root) {
  int passed = 0, failed = 0, skipped = 0;
  std::set<fs::path> directories;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"})
    if (fs::is_directory(root / kind))
      for (const auto& entry : fs::directory_iterator(root / kind))
        if (fs::exists(entry.path() / "model.onnx")) directories.insert(entry.path());
  for (const fs::path& directory : directories) {
    const std::string name = directory.filename().string();
    if (name.find("bernoulli") != std::string::npos) continue;  // random by nature
    const Outcome outcome = run_vector(directory);
    (outcome.status == Status::passed   ? passed
     : outcome.status == Status::failed ? failed
                                        : skipped)++;
    const bool listed = expected_failures().contains(name);
    if (outcome.status == Status::passed && listed)
      ADD_FAILURE() << name << " passes; take it off the list of expected failures";
    if (outcome.status == Status::failed && !listed)
      ADD_FAILURE() << name << ": " << outcome.message;
  }
  std::printf("fp16: %d passed, %d failed as expected or not, %d without f32 or not static\n",
              passed, failed, skipped);
  EXPECT_GT(passed, 0);
}

TEST(OnnxVectorsInHalf, DebianData) { run_vectors(POPRT_ONNX_TESTDATA); }

// Variable ONNX_TEST_DATA names a newer set (onnx 1.22's backend/test/data).
TEST(OnnxVectorsInHalf, NewerDataFromTheEnvironment) {
  const char* directory = std::getenv("ONNX_TEST_DATA");
  if (!directory) GTEST_SKIP() << "ONNX_TEST_DATA is not set";
  run_vectors(directory);
}

}  // namespace
}  // namespace poprt

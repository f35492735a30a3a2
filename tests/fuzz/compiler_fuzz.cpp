// A libFuzzer target. The bytes are the decisions of the random graph generator, or an ONNX model.
// Both are compiled with all default passes, and the program runs.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>

#include "ir/text.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "support/random_graph/random_graph.h"
#include "support/run_executable.h"

namespace {

using namespace poprt;

// The first byte of an input if an ONNX model follows. Other values select a profile.
constexpr uint8_t kModel = 'M';

void check_generated(std::span<const uint8_t> bytes) {
  const auto names = test::profiles();
  test::Choices choices(bytes.subspan(1));
  const test::RandomGraph g = test::random_graph(names[bytes[0] % names.size()], choices);
  const std::string found = test::check_graph(g);
  if (found.empty()) return;
  const std::string kind = found.substr(0, found.find_first_of("'0123456789"));
  const test::RandomGraph small = test::reduced(
      g, [&](const test::RandomGraph& x) { return test::check_graph(x).starts_with(kind); });
  std::cerr << test::check_graph(small) << '\n' << test::describe(small);
  std::abort();
}

// Larger tensors are refused, because the fuzzer searches for wrong accesses, not for large models.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

void check_model(std::span<const uint8_t> bytes) {
  const auto graph = onnx::import_bytes(std::as_bytes(bytes));
  compiler::Options options;
  options.max_tensor_size = kMostBytes;
  uint64_t total = 0;
  for (const ir::Value* v : graph->inputs())
    if (v->type.is_static()) total += dtype_bytes(v->dtype(), element_count(v->shape()));
  if (total > kMostBytes) return;
  compiler::convert(*graph, options);
  const compiler::Executable e = compiler::compile(*graph, options);
  if (e.program.arena_bytes + e.program.weights_bytes > kMostBytes) return;
  std::map<std::string, Tensor> feeds;
  for (const program::Anchor& a : e.program.inputs) feeds[a.name] = Tensor::zeros(a.dtype, a.shape);
  for (const program::Anchor& a : e.program.outputs)
    if (a.bytes() > kMostBytes) return;
  (void)test::run_executable(e, feeds);
}

// Writes an initial corpus: decisions of every profile, and the same graphs as ONNX models.
void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  const auto names = test::profiles();
  for (size_t p = 0; p < names.size(); p++)
    for (uint64_t i = 0; i < 50; i++) {
      test::Choices noise(i * names.size() + p);
      std::string bytes(1, static_cast<char>(p));
      for (int k = 0; k < 600; k++) bytes += static_cast<char>(noise.below(256));
      const std::string stem = std::string(names[p]) + "_" + std::to_string(i);
      write(stem, bytes);
      try {
        test::Choices choices(
            std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()).subspan(1));
        const test::RandomGraph g = test::random_graph(names[p], choices);
        write(stem + ".onnx", static_cast<char>(kModel) + onnx::export_bytes(*g.graph));
      } catch (const Error&) {
      }
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kSeeds = "--write_seeds=";
  for (int i = 1; i < *count; i++) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(kSeeds)) continue;
    write_seeds(argument.substr(kSeeds.size()));
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return -1;
  const std::span<const uint8_t> bytes(data, size);
  try {
    if (bytes[0] == kModel)
      check_model(bytes.subspan(1));
    else
      check_generated(bytes);
  } catch (const Error&) {
  }
  return 0;
}

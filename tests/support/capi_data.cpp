// Makes the files that the C tests use: fused.popef, copies.popef and weights.popef
// (tests/support/copy_model.h, 16 floats) and identity.onnx (x -> Identity -> y, f32[N,4]),
// beyond_f16.onnx.
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "ir/graph.h"
#include "onnx/export.h"
#include "runtime/popef_file.h"
#include "support/copy_model.h"

namespace {

// y = x + 1e6, f32[1]: a constant that float16 does not hold.
void write_beyond_f16(const std::filesystem::path& path) {
  using namespace poprt;
  ir::Graph graph("beyond_f16");
  graph.opsets[""] = 17;
  ir::Value* const inputs[] = {graph.add_input("x", ir::ValueType::of(DType::f32, {1})),
                               graph.add_constant("c", Tensor::of<float>({1}, {1e6F}))};
  const std::string names[] = {"y"};
  ir::Node* node = graph.add_node("Add", "", inputs, 1, nullptr, names);
  node->output()->type = ir::ValueType::of(DType::f32, {1});
  graph.add_output(node->output());
  onnx::export_file(graph, path);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace poprt;
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  try {
    testing::CopyModel copy(16);
    runtime::write_popef(
        folder / "copies.popef", "copies", copy.b.program(), [&](const program::Sink& sink) {
          program::write_executable(sink, copy.b.program(), copy.b.weight_records());
        });
    // The same where x has a value, the constants.
    copy.b.program().inputs[0].data = copy.b.weight_records()[0].offset;
    runtime::write_popef(
        folder / "weights.popef", "weights", copy.b.program(), [&](const program::Sink& sink) {
          program::write_executable(sink, copy.b.program(), copy.b.weight_records());
        });
    // Two graphs of a copy each, and the index that a fusion runner gives as an output of both.
    program::Builder fused;
    const auto index = fused.add_input({"index", DType::u32, {1}});
    for (const std::string g : {"graph0/", "graph1/"}) {
      const auto x = fused.add_input({g + "x", DType::f32, {4}});
      const auto y = fused.add_output({g + "y", DType::f32, {4}});
      const auto k = fused.add_output({g + "k", DType::u32, {1}});
      const program::BufferId copy_x[] = {fused.input(x, 0, 16, DType::f32, {4}),
                                          fused.output(y, 0, 16, DType::f32, {4})};
      const program::BufferId copy_k[] = {fused.input(index, 0, 4, DType::u32, {1}),
                                          fused.output(k, 0, 4, DType::u32, {1})};
      fused.emit("copy", copy_x, {}, {}, "x");
      fused.emit("copy", copy_k, {}, {}, "k");
    }
    runtime::write_popef(folder / "fused.popef", "fused", fused.program(),
                         [&](const program::Sink& sink) {
                           program::write_executable(sink, fused.program(), fused.weight_records());
                         });
    ir::Graph graph("identity");
    graph.opsets[""] = 17;
    ir::ValueType type = ir::ValueType::of(DType::f32, {kUnknownDim, 4});
    type.symbols = {"N", ""};
    ir::Value* x = graph.add_input("x", type);
    const std::string names[] = {"y"};
    ir::Value* const inputs[] = {x};
    ir::Node* node = graph.add_node("Identity", "", inputs, 1, nullptr, names);
    node->output()->type = type;
    graph.add_output(node->output());
    onnx::export_file(graph, folder / "identity.onnx");
    write_beyond_f16(folder / "beyond_f16.onnx");
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}

// Makes the files that the C tests use: copies.popef and weights.popef (tests/support/copy_model.h,
// 16 floats) and identity.onnx (x -> Identity -> y, f32[N,4]).
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "ir/graph.h"
#include "onnx/export.h"
#include "runtime/popef_file.h"
#include "support/copy_model.h"

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
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}

// Makes the files that the C tests use: fused.popef, copies.popef, source.popef and weights.popef
// (tests/support/copy_model.h, 16 floats) and identity.onnx (x -> Identity -> y, f32[N,4]),
// beyond_f16.onnx, dense.onnx, random.onnx and quarter.onnx.
#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "onnx/export.h"
#include "runtime/session/popef_file.h"
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

// Models whose exports cpp_export_test.cpp reads.
void write_exports(const std::filesystem::path& folder) {
  const auto write = [&](const char* file, std::string_view text) {
    poprt::onnx::export_file(*poprt::ir::parse_text(text), folder / file);
  };
  write("dense.onnx", R"(graph "dense" opset {"": 17} {
    input %x : f32[2,4]
    const %w : f32[4,3] = [0.5, -1.25, 2.0, 0.75, 1.5, -0.5, 3.0, 0.25, -2.0, 1.0, -0.125, 0.625]
    const %b : f32[3] = [0.1, -0.2, 0.3]
    %h : f32[2,3] = MatMul(%x, %w)
    %y : f32[2,3] = Add(%h, %b)
    output %y
  })");
  write("random.onnx", R"(graph "random" opset {"": 17} {
    input %x : f32[2,4]
    const %w : f32[4] = [0.5, -1.25, 2.0, 0.75]
    %r : f32[2,4] = RandomUniformLike(%x) {seed = 3.0}
    %s : f32[2,4] = Mul(%r, %w)
    %y : f32[2,4] = Add(%x, %s)
    output %y
  })");
  // Quarter numbers in both formats: ONNX's types, and PopRT's bytes with several scales.
  write("quarter.onnx", R"(graph "quarter" opset {"": 21, "ai.graphcore": 1} {
    input %i : s64[2]
    input %a : u8[2,2]
    const %f143 : f8e4m3fnuz[3,2] = hex"38c04a017fb2"
    const %f152 : f8e5m2fnuz[3,2] = hex"3cc04e017bb2"
    const %b143 : u8[2,3] = hex"3840484c5058"
    const %b152 : u8[2,3] = hex"3c40444850b8"
    const %one : s32[] = 1
    const %two : s32[] = -2
    %g : f8e4m3fnuz[2,2] = Gather(%f143, %i)
    %h : f8e5m2fnuz[2,2] = Gather(%f152, %i)
    %u : f32[2,2] = Cast(%g) {to = 1}
    %v : f32[2,2] = Cast(%h) {to = 1}
    %p : f16[2,3] = ai.graphcore.FP8MatMul(%a, %b143, %one, %two) {fp8FormatLHS = "F143", fp8FormatRHS = "F143"}
    %q : f16[2,3] = ai.graphcore.FP8MatMul(%a, %b152, %two, %one) {fp8FormatLHS = "F143", fp8FormatRHS = "F152"}
    output %u
    output %v
    output %g
    output %p
    output %q
  })");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace poprt;
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  try {
    test::CopyModel copy(16);
    runtime::write_popef(folder / "copies.popef", "copies", copy.b.program(),
                         copy.b.weight_records());
    // The same with a source. Tests read only whether there is one, so its text is not a model.
    runtime::write_popef(folder / "source.popef", "copies", copy.b.program(),
                         copy.b.weight_records(), {{"poprt.source", "text"}});
    // The same, but the file contains the value of input x: the constants.
    copy.b.program().inputs[0].data = copy.b.weight_records()[0].offset;
    runtime::write_popef(folder / "weights.popef", "weights", copy.b.program(),
                         copy.b.weight_records());
    // Two graphs that copy their input. Both also copy the index, which a fusion runner sets.
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
    runtime::write_popef(folder / "fused.popef", "fused", fused.program(), fused.weight_records());
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
    write_exports(folder);
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}

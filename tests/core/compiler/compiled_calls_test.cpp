// Changes the kernel calls of compiled graphs in one fact each (support/kernel_call_tests.h). They
// include calls of blocked, packed and fused kernels, which no single operator makes.
#include "support/kernel_call_tests.h"

#include <set>

#include "compiler/compiler.h"
#include "ir/text.h"
#include "support/random_graph/random_graph.h"

namespace poprt::test {
namespace {

void add_calls_of(ir::Graph& graph, std::vector<OneCall>& calls, compiler::Options options = {}) {
  options.winograd = compiler::Winograd::fast;
  compiler::convert(graph, options);
  const compiler::Executable executable = compiler::compile(graph, options);
  for (const program::Instruction& in : executable.program.main)
    calls.push_back(call_of(executable.program, in));
}

// Graphs that the random ones do not cover: 8-bit depthwise convolutions and pools, a transposed
// convolution, one over four axes, one with Winograd's kernel, one after a normalization, and a
// recurrent layer in double.
constexpr const char* kLayers = R"(graph "g" opset {"": 17, "com.microsoft": 1} {
    input %x : f32[1,64,28,28]
    input %u : u8[1,16,8,8]
    input %v : u8[1,8,8,16]
    input %d : f64[1,4,5,5,5,4]
    input %r : f64[5,2,8]
    input %k : s64[1]
    const %w : f32[64,64,3,3] = fill 0.5
    const %wt : f32[64,32,2,2] = fill 0.5
    const %w1 : f32[48,64,1,1] = fill 0.5
    const %norm : f32[64,1,1] = fill 0.5
    const %wd : f64[8,4,3,3,3,2] = fill 0.5
    const %wr : f64[1,32,8] = fill 0.5
    const %w8 : s8[16,1,3,3] = fill 1
    const %s : f32[] = 0.02
    const %z : u8[] = 100
    const %zw : s8[] = 0
    %winograd : ? = Conv(%x, %w) {pads = [1, 1, 1, 1]}
    %transposed : ? = ConvTranspose(%winograd, %wt) {strides = [2, 2]}
    %scaled : ? = Mul(%winograd, %norm)
    %shifted : ? = Add(%scaled, %norm)
    %positive : ? = Relu(%shifted)
    %normalized : ? = Conv(%positive, %w1) {strides = [2, 2]}
    %bytes : ? = QLinearConv(%u, %s, %z, %w8, %s, %zw, %s, %z) {pads = [1, 1, 1, 1], group = 16}
    %pool : ? = com.microsoft.NhwcMaxPool(%v) {kernel_shape = [2, 2]}
    %volume : ? = Conv(%d, %wd)
    %recurrent : ?, %state : ?, %cell : ? = LSTM(%r, %wr, %wr) {hidden_size = 8}
    %top : ?, %places : ? = TopK(%r, %k)
    output %top
    output %transposed
    output %normalized
    output %bytes
    output %pool
    output %volume
    output %recurrent
  })";

// Convolutions with products of bf16: one of few channels, and two that pass bf16 to each other.
constexpr const char* kBf16Layers = R"(graph "g" opset {"": 17} {
    input %x : f32[1,3,16,16]
    const %stem : f32[32,3,3,3] = fill 0.5
    const %w : f32[64,32,1,1] = fill 0.5
    const %w2 : f32[32,64,3,3] = fill 0.5
    %a : ? = Conv(%x, %stem) {strides = [2, 2]}
    %b : ? = Relu(%a)
    %c : ? = Conv(%b, %w)
    %d : ? = Conv(%c, %w2) {strides = [2, 2]}
    output %d
  })";

// A Gather of the panels of a product.
constexpr const char* kTiedEmbeddings = R"(graph "g" opset {"": 17} {
    input %ids : s64[2]
    const %table : f32[128,48] = fill 0.5
    %rows : ? = Gather(%table, %ids)
    %transposed : ? = Transpose(%table) {perm = [1, 0]}
    %head : ? = MatMul(%rows, %transposed)
    output %head
  })";

compiler::Options bf16_products() {
  compiler::Options options;
  for (const char* pass : {"narrow_weights", "bf16_convolutions"})
    options.pass_arguments[pass]["products"] = std::string_view("bf16");
  return options;
}

}  // namespace

// Returns the calls of compiled graphs.
const std::vector<OneCall>& found_calls() {
  static const std::vector<OneCall> calls = [] {
    std::vector<OneCall> found;
    add_calls_of(*ir::parse_text(kLayers), found);
    add_calls_of(*ir::parse_text(kBf16Layers), found, bf16_products());
    add_calls_of(*ir::parse_text(kTiedEmbeddings), found);
    for (const std::string_view profile : profiles())
      for (uint64_t seed = 0; seed < 150; seed++) {
        Choices choices(seed);
        const RandomGraph g = random_graph(profile, choices);
        try {
          add_calls_of(*g.graph, found);
        } catch (const Error&) {  // RandomGraphs tests refusals
        }
      }
    return found;
  }();
  return calls;
}

namespace {

TEST(CompiledCalls, LeaveNoKernelButThoseOfSamples) {
  std::set<std::string_view> known(std::begin(kKernelsOfSamples), std::end(kKernelsOfSamples));
  known.insert("custom");  // of plug-ins
  for (const OneCall& c : all_calls()) known.insert(c.kernel);
  for (const kernels::Kernel* k : kernels::all_kernels())
    EXPECT_TRUE(known.contains(k->name)) << k->name;
}

}  // namespace
}  // namespace poprt::test

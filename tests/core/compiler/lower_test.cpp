// Operators with a state, which a run reads as the previous run left it; operators that write into
// the memory of an input if the plan allows it; weights that several nodes read.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"
#include "core/compiler/support.h"
#include "support/uniform.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// Runs one engine several times.
class Runs {
 public:
  explicit Runs(const Executable& e) : executable_(e) {
    weights_ = Tensor::zeros(DType::u8, {static_cast<int64_t>(e.program.weights_bytes)});
    for (const program::Weight& w : e.weights)
      w.fill({static_cast<std::byte*>(weights_.mutable_data()) + w.offset, w.bytes});
    device::Image image;
    image.program = std::make_shared<program::Program>(e.program);
    image.weights = {static_cast<const std::byte*>(weights_.data()), weights_.bytes()};
    engine_ = device_.load(image, {});
  }
  // Input step, then x; output y.
  std::vector<float> operator()(int32_t step, std::vector<float> x) {
    Tensor y = Tensor::zeros(DType::f32, executable_.program.outputs[0].shape);
    const void* in[] = {&step, x.data()};
    void* out[] = {y.mutable_data()};
    engine_->run(device::Flow::main, in, out);
    return values(y);
  }

 private:
  const Executable& executable_;
  Tensor weights_;
  device::EmulatedDevice device_;
  std::unique_ptr<device::Engine> engine_;
};

Executable compiled(const std::string& node, const std::string& shape) {
  return test::compile_text(
      "graph \"g\" opset {\"\": 17, \"ai.graphcore\": 1} {\n input %step : s32[]\n"
      " input %x : f32" +
      shape + "\n %y : ? = " + node + "\n output %y\n}\n");
}

using V = std::vector<float>;

TEST(State, ACacheHasTheNewestPlacesFirstUntilAStepOfZero) {
  const Executable e =
      compiled("ai.graphcore.KVCache(%step, %x) {max_len = 3, sequence_axis = 1}", "[2,1]");
  Runs run(e);
  EXPECT_EQ(run(0, {1, 10}), (V{1, 0, 0, 10, 0, 0}));
  EXPECT_EQ(run(1, {2, 20}), (V{2, 1, 0, 20, 10, 0}));
  EXPECT_EQ(run(2, {3, 30}), (V{3, 2, 1, 30, 20, 10}));
  EXPECT_EQ(run(3, {4, 40}), (V{4, 3, 2, 40, 30, 20}));
  EXPECT_EQ(run(0, {5, 50}), (V{5, 0, 0, 50, 0, 0}));
  Runs other(e);
  EXPECT_EQ(other(7, {6, 60}), (V{6, 0, 0, 60, 0, 0})) << "engines share no state";
}

TEST(State, SeveralPlacesAStepAndSeveralCachesByTurns) {
  const Executable two =
      compiled("ai.graphcore.KVCache(%step, %x) {max_len = 4, step_len = 2}", "[2]");
  Runs pairs(two);
  EXPECT_EQ(pairs(0, {1, 2}), (V{1, 2, 0, 0}));
  EXPECT_EQ(pairs(1, {3, 4}), (V{3, 4, 1, 2}));
  const Executable turns =
      compiled("ai.graphcore.KVCachePipeline(%step, %x) {max_len = 3, max_bps = 2}", "[1,1]");
  Runs run(turns);
  EXPECT_EQ(run(0, {1}), (V{1, 0, 0}));
  EXPECT_EQ(run(1, {2}), (V{2, 0, 0}));
  EXPECT_EQ(run(2, {3}), (V{3, 1, 0}));
  EXPECT_EQ(run(3, {4}), (V{4, 2, 0}));
}

TEST(State, EightBitCachesRoundOnce) {
  const Executable e = compiled("ai.graphcore.KVCache(%step, %x) {max_len = 2, fp8 = 1}", "[1]");
  Runs run(e);
  EXPECT_EQ(run(0, {1.05f}), (V{1, 0}));
  EXPECT_EQ(run(1, {3.3f}), (V{3.25f, 1}));
}

TEST(State, NodesWithEqualInputsHaveSeparateStates) {
  const Executable e = test::compile_text(R"(
    graph "g" opset {"": 17, "ai.graphcore": 1} {
      input %step : s32[]
      input %x : f32[1]
      %a : ? = ai.graphcore.KVCache(%step, %x) {max_len = 2}
      %b : ? = ai.graphcore.KVCache(%step, %a) {max_len = 2, step_len = 2}
      %c : ? = ai.graphcore.KVCache(%step, %x) {max_len = 2}
      %y : ? = Concat(%a, %b, %c) {axis = 0}
      output %y
    })");
  Runs run(e);
  EXPECT_EQ(run(0, {1}), (V{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(run(1, {2}), (V{2, 1, 2, 1, 2, 1}));
}

// A loop that is unrolled (4 rounds) and a loop of the device (600 rounds) each have one state.
TEST(State, RoundsOfALoopShareTheStateOfANode) {
  for (const int64_t rounds : {4, 600}) {
    const Executable e = test::compile_text(R"(
      graph "g" opset {"": 17, "ai.graphcore": 1} {
        input %step : s32[]
        input %x : f32[1]
        const %m : s64[] = )" + std::to_string(rounds) +
                                            R"(
        const %zero : f32[2] = [0, 0]
        %y : ? = Loop(%m, _, %zero) {body = graph "body" {
          input %i : s64[]
          input %c : bool[]
          input %last : f32[2]
          const %one : s32[] = 1
          %next : ? = Add(%step, %one)
          %n : ? = Cast(%i) {to = 1}
          %v : ? = Add(%x, %n)
          %cache : ? = ai.graphcore.KVCache(%next, %v) {max_len = 2}
          %c2 : ? = Identity(%c)
          output %c2
          output %cache
        }}
        output %y
      })");
    Runs run(e);
    const auto last = static_cast<float>(rounds - 1);
    EXPECT_EQ(run(0, {1}), (V{1 + last, last})) << rounds;
    EXPECT_EQ(run(0, {5}), (V{5 + last, 4 + last})) << rounds;
  }
}

// The numbers of three runs of one engine.
std::vector<V> drawn(const std::string& node) {
  const Executable e = test::compile_text(R"(
    graph "g" opset {"": 17} {
      input %step : s32[]
      input %x : f32[1,64]
      const %half : f32[] = 0.5
      const %yes : bool[] = true
      %r : ? = )" + node + R"(
      %f : ? = Cast(%r) {to = 1}
      %n : ? = Cast(%step) {to = 1}
      %y : ? = Add(%f, %n)
      output %y
    })");
  Runs run(e);
  std::vector<V> all;
  for (int i = 0; i < 3; i++) all.push_back(run(0, V(64, 0.5f)));
  return all;
}

TEST(State, RandomNumbersWithoutASeedAreNewInEveryRun) {
  for (const auto& [node, attributes] :
       std::vector<std::pair<std::string, std::string>>{{"RandomUniform()", "shape = [2, 64]"},
                                                        {"RandomNormal()", "shape = [2, 64]"},
                                                        {"RandomUniformLike(%x)", ""},
                                                        {"RandomNormalLike(%x)", ""},
                                                        {"Bernoulli(%x)", ""},
                                                        {"Multinomial(%x)", "sample_size = 64"},
                                                        {"Dropout(%x, %half, %yes)", ""}}) {
    const std::vector<V> runs = drawn(node + " {" + attributes + "}");
    EXPECT_NE(runs[0], runs[1]) << node;
    EXPECT_NE(runs[0], runs[2]) << node;
    EXPECT_NE(runs[1], runs[2]) << node;
    EXPECT_EQ(drawn(node + " {" + attributes + "}"), runs) << node;
    const std::string seed =
        attributes + (attributes.empty() ? "" : ", ") + "seed = " + (node[0] == 'D' ? "3" : "3.0");
    const std::vector<V> same = drawn(node + " {" + seed + "}");
    EXPECT_EQ(same[0], same[1]) << node;
    EXPECT_EQ(same[0], same[2]) << node;
  }
}

TEST(State, CallRunsItsSubgraphInPlace) {
  const Executable e = test::compile_text(R"(
    graph "g" opset {"": 17, "ai.graphcore": 1} {
      input %step : s32[]
      input %x : f32[2]
      %y : ? = ai.graphcore.Call(%x, %x) {callee = graph "c" {
        input %a : f32[2]
        input %b : f32[2]
        %sum : ? = Add(%a, %b)
        output %sum
      }}
      output %y
    })");
  Runs run(e);
  EXPECT_EQ(run(0, {1, 2}), (V{2, 4}));
}

std::string scatters(const std::string& nodes, const std::string& outputs) {
  return "graph \"g\" opset {\"\": 24} {\n input %c : f32[2,3,8,1]\n input %u : f32[2,3,2,1]\n"
         " const %at : s64[2] = [3, 5]\n const %ten : f32[] = 10.0\n %a : ? = "
         "Mul(%c, %ten)\n" +
         nodes + outputs + "}\n";
}

size_t copies(const std::string& text) {
  const Executable e = test::compile_text(text);
  size_t n = 0;
  for (const auto& i : e.program.main) n += e.program.kernels[i.kernel] == "copy";
  return n;
}

TEST(TensorScatterInPlace, ACacheThatIsReadLaterIsCopied) {
  for (const std::string_view type : {"1", "10", "11", "7"}) {
    // Conversions to another type and back may be removed.
    const double tolerance = type == "1" || type == "11" || type == "7" ? 1e-5 : 1e-2;
    // The cache is read before the update, after it, and in two updates.
    const std::string cast =
        fmt::format(" %b : ? = Cast(%a) {{to = {}}}\n %v : ? = Cast(%u) {{to = {}}}\n", type, type);
    const std::string back = " %y : ? = Cast(%t) {to = 1}\n %z : ? = Cast(%b) {to = 1}\n";
    test::expect_compiles_to_same(scatters(cast +
                                               " %s : ? = TensorScatter(%b, %v, %at)\n %t : ? = "
                                               "Transpose(%s) {perm = [0, 1, 3, 2]}\n" +
                                               back,
                                           " output %y\n output %z\n"),
                                  tolerance);
    test::expect_compiles_to_same(
        scatters(cast +
                     " %s : ? = TensorScatter(%b, %v, %at)\n %s2 : ? = TensorScatter(%b, %v)\n"
                     " %t : ? = Concat(%s, %s2) {axis = 3}\n" +
                     back,
                 " output %y\n output %z\n"),
        tolerance);
    test::expect_compiles_to_same(
        scatters(cast +
                     " %w : ? = Transpose(%b) {perm = [0, 1, 3, 2]}\n %s : ? = TensorScatter(%b, "
                     "%v, %at)\n"
                     " %s2 : ? = TensorScatter(%s, %v)\n"
                     " %t : ? = Transpose(%s2) {perm = [0, 1, 3, 2]}\n %y : ? = Cast(%t) {to = 1}\n"
                     " %z : ? = Cast(%w) {to = 1}\n",
                 " output %y\n output %z\n"),
        tolerance);
  }
}

TEST(TensorScatterInPlace, ACacheWithoutOtherReadersIsNotCopied) {
  const std::string text = scatters(
      " %s : ? = TensorScatter(%a, %u, %at)\n %s2 : ? = TensorScatter(%s, %u)\n"
      " %y : ? = Transpose(%s2) {perm = [3, 0, 1, 2]}\n %z : ? = Exp(%y)\n",
      " output %z\n");
  test::expect_compiles_to_same(text);
  EXPECT_EQ(copies(text), 0u);
}

TEST(TensorScatterInPlace, AnUpdateThatIsTheCacheItself) {
  test::expect_compiles_to_same(
      scatters(" %s : ? = TensorScatter(%a, %a, %at) {mode = \"circular\"}\n %y : ? = Exp(%s)\n",
               " output %y\n"));
}

// Models of one kind of layer whose weights are the constants with names that begin with w: layer i
// makes %x(i+1) of %xi.
struct Layer {
  const char* name;
  const char* x;          // the input's type
  const char* constants;  // read by every layer
  const char* node;       // with $x, $y, and $i for its own names
  int layers = 8;
  double tolerance = 2e-3;
};

std::string stacked(const Layer& l, int layers) {
  std::string text =
      "graph \"g\" opset {\"\": 17, \"com.microsoft\": 1} {\n input %x0 : " + std::string(l.x) +
      "\n" + l.constants + "\n";
  for (int i = 0; i < layers; i++) {
    std::string node = flow_test::replaced(l.node, "$x", fmt::format("%x{}", i));
    node = flow_test::replaced(node, "$y", fmt::format("%x{}", i + 1));
    text += flow_test::replaced(node, "$i", std::to_string(i)) + "\n";
  }
  return text + fmt::format(" output %x{}\n}}\n", layers);
}

// Random numbers for every weight, the same for the same shape: equal weights under other names.
void randomize_weights(ir::Graph& graph) {
  for (ir::Value* v : graph.values()) {
    if (!v->is_constant() || v->name()[0] != 'w' || v->dtype() == DType::f16) continue;
    std::mt19937 rng(static_cast<uint32_t>(v->constant().bytes()));
    Tensor t = Tensor::zeros(v->dtype(), v->shape());
    if (v->dtype() == DType::f32) {
      const test::Uniform real{-0.2f, 0.2f};
      for (float& x : t.mutable_values<float>()) x = real(rng);
    } else {
      for (size_t i = 0; i < t.bytes(); i++)
        static_cast<uint8_t*>(t.mutable_data())[i] = static_cast<uint8_t>(rng() % 256);
    }
    v->set_constant(t);
  }
}

Executable compile_stacked(const std::string& text) {
  const auto graph = ir::parse_text(text);
  randomize_weights(*graph);
  convert(*graph, {});
  return compile(*graph, {});
}

const Layer kLayers[] = {
    {"MatMul", "f32[4,64]", "const %w : f32[64,64] = fill 0", "$y : ? = MatMul($x, %w)"},
    {"MatMulF16", "f16[4,64]", "const %w : f16[64,64] = fill 0.125", "$y : ? = MatMul($x, %w)"},
    {"EqualBytesOfTwoConstants", "f32[4,64]",
     "const %w : f32[64,64] = fill 0\n const %w2 : f32[64,64] = fill 0",
     "%a$i : ? = MatMul($x, %w)\n %b$i : ? = Relu(%a$i)\n $y : ? = MatMul(%b$i, %w2)"},
    {"Gemm", "f32[4,64]", "const %w : f32[64,64] = fill 0\n const %wb : f32[64] = fill 0",
     "$y : ? = Gemm($x, %w, %wb) {transB = 1}"},
    {"GemmScaled", "f32[4,64]", "const %w : f32[64,64] = fill 0\n const %wb : f32[64] = fill 0",
     "$y : ? = Gemm($x, %w, %wb) {alpha = 0.5, beta = 2.0}"},
    {"Conv1x1", "f32[1,32,6,6]", "const %w : f32[32,32,1,1] = fill 0", "$y : ? = Conv($x, %w)"},
    {"Conv3x3", "f32[1,64,14,14]",
     "const %w : f32[64,64,3,3] = fill 0\n const %wb : f32[64] = fill 0",
     "$y : ? = Conv($x, %w, %wb) {pads = [1, 1, 1, 1]}"},
    {"ConvDilated", "f32[1,32,9,9]", "const %w : f32[32,32,3,3] = fill 0",
     "$y : ? = Conv($x, %w) {pads = [2, 2, 2, 2], dilations = [2, 2]}"},
    {"ConvDepthwise", "f32[1,32,9,9]", "const %w : f32[32,1,3,3] = fill 0",
     "$y : ? = Conv($x, %w) {pads = [1, 1, 1, 1], group = 32}"},
    {"ConvFewChannels", "f32[1,3,9,9]", "const %w : f32[3,3,3,3] = fill 0",
     "$y : ? = Conv($x, %w) {pads = [1, 1, 1, 1]}"},
    {"Conv1d", "f32[1,8,32]", "const %w : f32[8,8,3] = fill 0",
     "$y : ? = Conv($x, %w) {pads = [1, 1]}"},
    {"ConvTranspose", "f32[1,16,3,3]",
     "const %w : f32[16,16,2,2] = fill 0\n const %wb : f32[16] = fill 0",
     "$y : ? = ConvTranspose($x, %w, %wb) {strides = [2, 2]}", 3},
    {"LSTM", "f32[5,2,40]",
     "const %w : f32[1,160,40] = fill 0\n const %wr : f32[1,160,40] = fill 0\n"
     " const %wb : f32[1,320] = fill 0\n const %axes : s64[1] = [1]",
     "%a$i : ? = LSTM($x, %w, %wr, %wb) {hidden_size = 40}\n $y : ? = Squeeze(%a$i, %axes)"},
    {"GRU", "f32[5,2,40]",
     "const %w : f32[1,120,40] = fill 0\n const %wr : f32[1,120,40] = fill 0\n"
     " const %wb : f32[1,240] = fill 0\n const %axes : s64[1] = [1]",
     "%a$i : ? = GRU($x, %w, %wr, %wb) {hidden_size = 40, linear_before_reset = 1}\n"
     " $y : ? = Squeeze(%a$i, %axes)"},
    {"RNN", "f32[5,2,40]",
     "const %w : f32[1,40,40] = fill 0\n const %wr : f32[1,40,40] = fill 0\n"
     " const %axes : s64[1] = [1]",
     "%a$i : ? = RNN($x, %w, %wr) {hidden_size = 40}\n $y : ? = Squeeze(%a$i, %axes)"},
    {"Attention", "f32[1,8,32]", "const %w : f32[32,96] = fill 0\n const %wb : f32[96] = fill 0",
     "$y : ? = com.microsoft.Attention($x, %w, %wb) {num_heads = 4}"},
    {"AttentionOfThreeProjections", "f32[1,8,32]",
     "const %wq : f32[32,32] = fill 0\n const %wk : f32[32,32] = fill 0\n"
     " const %wv : f32[32,32] = fill 0\n const %wb : f32[96] = fill 0",
     "%q$i : ? = MatMul($x, %wq)\n %k$i : ? = MatMul($x, %wk)\n %v$i : ? = MatMul($x, %wv)\n"
     " $y : ? = com.microsoft.MultiHeadAttention(%q$i, %k$i, %v$i, %wb) {num_heads = 4}"},
    {"MatMulInteger", "f32[4,64]", "const %w : s8[64,64] = fill 1",
     "%q$i : ?, %s$i : ?, %z$i : ? = DynamicQuantizeLinear($x)\n"
     " %p$i : ? = MatMulInteger(%q$i, %w, %z$i)\n %f$i : ? = Cast(%p$i) {to = 1}\n"
     " $y : ? = Mul(%f$i, %s$i)"},
    {"DynamicQuantizeMatMul", "f32[4,64]",
     "const %w : u8[64,64] = fill 1\n const %s : f32[] = 0.001\n const %z : u8[] = 128",
     "$y : ? = com.microsoft.DynamicQuantizeMatMul($x, %w, %s, %z)"},
    {"QLinearMatMul", "u8[4,64]",
     "const %w : s8[64,64] = fill 1\n const %s : f32[] = 0.02\n const %z : u8[] = 100\n"
     " const %t : f32[] = 0.01\n const %u : s8[] = 0",
     "$y : ? = QLinearMatMul($x, %s, %z, %w, %t, %u, %s, %z)"},
    {"QLinearConv", "u8[1,16,6,6]",
     "const %w : s8[16,16,3,3] = fill 1\n const %s : f32[] = 0.02\n const %z : u8[] = 100\n"
     " const %t : f32[] = 0.01\n const %u : s8[] = 0",
     "$y : ? = QLinearConv($x, %s, %z, %w, %t, %u, %s, %z) {pads = [1, 1, 1, 1]}"},
    {"QuantizedProducts", "f32[4,64]",
     "const %w : s8[64,64] = fill 1\n const %s : f32[] = 0.02\n const %z : u8[] = 100\n"
     " const %t : f32[] = 0.0015\n const %u : s8[] = 0",
     "%q$i : ? = QuantizeLinear($x, %s, %z)\n %d$i : ? = DequantizeLinear(%q$i, %s, %z)\n"
     " %e$i : ? = DequantizeLinear(%w, %t, %u)\n %p$i : ? = MatMul(%d$i, %e$i)\n"
     " %r$i : ? = QuantizeLinear(%p$i, %s, %z)\n $y : ? = DequantizeLinear(%r$i, %s, %z)",
     8, 0.1},
    {"DequantizedWeights", "f32[4,64]", "const %w : s8[64,64] = fill 1\n const %t : f32[] = 0.01",
     "%e$i : ? = DequantizeLinear(%w, %t)\n $y : ? = MatMul($x, %e$i)"},
    {"MatMulNBits", "f32[4,64]",
     "const %w : u8[64,2,16] = fill 1\n const %s : f32[128] = fill 0.01",
     "$y : ? = com.microsoft.MatMulNBits($x, %w, %s) {K = 64, N = 64, bits = 4, block_size = 32}"},
    {"DynamicQuantizeLSTM", "f32[5,2,40]",
     "const %w : u8[1,40,160] = fill 1\n const %wr : u8[1,40,160] = fill 1\n"
     " const %s : f32[1] = [0.001]\n const %z : u8[1] = [128]\n const %axes : s64[1] = [1]",
     "%a$i : ? = com.microsoft.DynamicQuantizeLSTM($x, %w, %wr, _, _, _, _, _, %s, %z, %s, %z) "
     "{hidden_size = 40}\n $y : ? = Squeeze(%a$i, %axes)"},
    {"Elementwise", "f32[64,64]", "const %w : f32[64,64] = fill 0",
     "%a$i : ? = Mul($x, %w)\n $y : ? = Softmax(%a$i)"},
};

class SharedWeights : public ::testing::TestWithParam<Layer> {};

// The first layer may read another layout than the others.
TEST_P(SharedWeights, ManyLayersTakeTheRoomOfTwo) {
  const Layer& l = GetParam();
  const Executable two = compile_stacked(stacked(l, 2));
  const Executable all = compile_stacked(stacked(l, l.layers));
  EXPECT_LE(all.program.weights_bytes, two.program.weights_bytes + 256);
  EXPECT_LE(all.weights.size(), two.weights.size() + 2);
  EXPECT_EQ(program::to_string(all.program),
            program::to_string(compile_stacked(stacked(l, l.layers)).program));
}

TEST_P(SharedWeights, LayersGiveTheResultsOfSeparateWeights) {
  const Layer& l = GetParam();
  const auto reference = ir::parse_text(stacked(l, l.layers));
  randomize_weights(*reference);
  ops::infer(*reference);
  const auto feeds = test::random_feeds(*reference);
  const auto wanted = test::evaluate_graph(*reference, feeds);
  const auto got = test::run_executable(compile_stacked(stacked(l, l.layers)), feeds);
  for (const auto& [name, t] : wanted)
    test::expect_close(t, got.at(name), t.dtype() == DType::u8 ? 0.02 : l.tolerance, name);
}

INSTANTIATE_TEST_SUITE_P(Forms, SharedWeights, ::testing::ValuesIn(kLayers),
                         [](const auto& test) { return std::string(test.param.name); });

// Branches and bodies have their own constants; the unrolled loop copies its body.
TEST(SharedWeights, BranchesAndBodiesShareWithTheGraphAround) {
  for (const char* rounds : {"4", "600"}) {
    const std::string text = fmt::format(R"(graph "g" opset {{"": 17}} {{
      input %x : f32[4,64]
      input %c : bool[]
      const %w : f32[64,64] = fill 0.01
      const %m : s64[] = {}
      %a : ? = MatMul(%x, %w)
      %b : ? = If(%c) {{then_branch = graph "t" {{
        const %w1 : f32[64,64] = fill 0.01
        %t : ? = MatMul(%a, %w1)
        output %t
      }}, else_branch = graph "e" {{
        const %w2 : f32[64,64] = fill 0.01
        %r : ? = Relu(%a)
        %e : ? = MatMul(%r, %w2)
        output %e
      }}}}
      %y : ? = Loop(%m, _, %b) {{body = graph "body" {{
        input %i : s64[]
        input %on : bool[]
        input %s : f32[4,64]
        const %w3 : f32[64,64] = fill 0.01
        %p : ? = MatMul(%s, %w3)
        %go : ? = Identity(%on)
        output %go
        output %p
      }}}}
      output %y
    }})",
                                         rounds);
    const uint64_t matrix = 64 * 96 * 4;  // two panels of 48 columns
    EXPECT_LE(test::compile_text(text).program.weights_bytes, matrix + 1024) << rounds;
  }
}

TEST(SharedWeights, TransposedWeightsHaveASeparateForm) {
  const Layer l = {"", "f32[4,64]", "const %w : f32[64,64] = fill 0",
                   "%a$i : ? = Gemm($x, %w) {transB = 1}\n $y : ? = Gemm(%a$i, %w)"};
  const auto reference = ir::parse_text(stacked(l, 2));
  randomize_weights(*reference);
  ops::infer(*reference);
  const auto feeds = test::random_feeds(*reference);
  const Executable e = compile_stacked(stacked(l, 2));
  test::expect_close(test::evaluate_graph(*reference, feeds).at("x2"),
                     test::run_executable(e, feeds).at("x2"), 1e-5);
}

// -- Indices outside their tensor ---------------------------------------------------------------

struct OutsideCase {
  std::string node;  // makes y from x, at and u
  std::string x, at, u;
  std::vector<int64_t> inside, outside;
  std::string failure;  // the end of the message
  std::string zero;     // the result of `outside` with option out_of_range=zero
};

std::string result_of(const Executable& e, const OutsideCase& c, const std::vector<int64_t>& at) {
  const auto tensor_of = [](const std::string& type) {
    return ir::parse_text("graph \"g\" opset {\"\": 17} {\n input %v : " + type +
                          "\n output %v\n}\n")
        ->inputs()[0]
        ->type;
  };
  Values feeds;
  const Shape x = tensor_of(c.x).shape, u = c.u.empty() ? Shape{} : tensor_of(c.u).shape;
  Tensor ramp = Tensor::zeros(DType::f32, x);
  for (int64_t k = 0; k < ramp.count(); k++)
    ramp.mutable_values<float>()[static_cast<size_t>(k)] = static_cast<float>(k + 1);
  feeds["x"] = ramp;
  const ir::ValueType index = tensor_of(c.at);
  Tensor places = Tensor::zeros(index.dtype, index.shape);
  for (size_t k = 0; k < at.size(); k++)
    if (index.dtype == DType::s64)
      places.mutable_values<int64_t>()[k] = at[k];
    else
      places.mutable_values<int32_t>()[k] = static_cast<int32_t>(at[k]);
  feeds["at"] = places;
  feeds["total"] = Tensor::scalar(int32_t{3});
  if (!c.u.empty()) {
    feeds["u"] = Tensor::zeros(DType::f32, u);
    for (float& v : feeds["u"].mutable_values<float>()) v = 9;
  }
  try {
    return fmt::format("{}",
                       fmt::join(test::run_executable(e, feeds, 2).at("y").to_doubles(), " "));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_range) << error.what();
    return error.what();
  }
}

TEST(OutOfRange, AnIndexOutsideItsTensorIsAFailureOfTheRunUnlessZeroIsChosen) {
  const std::vector<OutsideCase> cases = {
      {"Gather(%x, %at)",
       "f32[3]",
       "s64[2]",
       "",
       {0, -3},
       {1, 3},
       "index 3 at place 1 is outside [-3, 2]",
       "2 0"},
      {"Gather(%x, %at)",
       "f32[3]",
       "s32[2]",
       "",
       {2, 1},
       {-4, 5},
       "index -4 at place 0 is outside [-3, 2]",
       "0 0"},
      {"Gather(%x, %at) {axis = 1}",
       "f32[4,2]",
       "s64[1]",
       "",
       {1},
       {2},
       "index 2 at place 0 is outside [-2, 1]",
       "0 0 0 0"},
      {"Gather(%x, %at)",
       "f32[2,3]",
       "s64[1]",
       "",
       {1},
       {INT64_MIN},
       "index -9223372036854775808 at place 0 is outside [-2, 1]",
       "0 0 0"},
      {"GatherElements(%x, %at)",
       "f32[3]",
       "s64[2]",
       "",
       {0, -3},
       {0, 3},
       "index 3 at place 1 is outside [-3, 2]",
       "1 0"},
      {"GatherElements(%x, %at) {axis = 1}",
       "f32[2,2]",
       "s32[2,1]",
       "",
       {0, 1},
       {1, -3},
       "index -3 at place 1 is outside [-2, 1]",
       "2 0"},
      {"GatherND(%x, %at)",
       "f32[2,2]",
       "s64[1,2]",
       "",
       {1, -1},
       {1, 2},
       "index 2 at place 1 is outside [-2, 1]",
       "0"},
      {"ScatterElements(%x, %at, %u)",
       "f32[3]",
       "s64[2]",
       "f32[2]",
       {0, -1},
       {0, 3},
       "index 3 at place 1 is outside [-3, 2]",
       "9 2 3"},
      {"ScatterND(%x, %at, %u)",
       "f32[3]",
       "s64[2,1]",
       "f32[2]",
       {0, -1},
       {-4, 1},
       "index -4 at place 0 is outside [-3, 2]",
       "1 9 3"},
      {"MaxUnpool(%x, %at) {kernel_shape = [2], strides = [2]}",
       "f32[1,1,2]",
       "s64[1,1,2]",
       "",
       {0, 3},
       {4, 1},
       "index 4 at place 0 is outside [0, 3]",
       "0 2 0 0"},
      {"ReverseSequence(%x, %at)",
       "f32[3,1]",
       "s64[1]",
       "",
       {2},
       {4},
       "sequence length 4 at place 0 is outside [0, 3]",
       "3 2 1"},
  };
  for (const OutsideCase& c : cases) {
    const std::string text = "input %x : " + c.x + "\ninput %at : " + c.at + "\n" +
                             (c.u.empty() ? "" : "input %u : " + c.u + "\n") +
                             "%y : ? = " + c.node + " \"picks\"\noutput %y\n";
    const Executable e = compile_body(text);
    const std::string inside = result_of(e, c, c.inside);
    EXPECT_EQ(inside.find("node"), std::string::npos) << inside;
    EXPECT_EQ(result_of(e, c, c.outside), "node 'picks': " + c.failure) << c.node;
    EXPECT_EQ(result_of(e, c, c.inside), inside) << "the run after a failure: " << c.node;
    Options options;
    options.zero_out_of_range = true;
    const Executable lenient = compile_body(text, options);
    EXPECT_EQ(result_of(lenient, c, c.outside), c.zero) << c.node;
    EXPECT_EQ(result_of(lenient, c, c.inside), inside) << c.node;
  }
}

// An index has no place in a dimension of size 0. Where only the slices are empty, gather_nd has
// nothing to read, and scatters check as ONNX Runtime does.
TEST(OutOfRange, AnEmptyDimensionHasNoPlaces) {
  const std::vector<OutsideCase> cases = {
      {"Gather(%x, %at)", "f32[0]", "s64[1]", "", {}, {0}, "index 0 at place 0", "0"},
      {"GatherElements(%x, %at)", "f32[0]", "s64[1]", "", {}, {0}, "index 0 at place 0", "0"},
      {"GatherND(%x, %at)", "f32[0,2]", "s64[1,1]", "", {}, {0}, "index 0 at place 0", "0 0"},
      {"GatherND(%x, %at)", "f32[0,2]", "s64[1,2]", "", {}, {0, 1}, "index 0 at place 0", "0"},
      {"ScatterElements(%x, %at, %u)",
       "f32[0]",
       "s64[1]",
       "f32[1]",
       {},
       {0},
       "index 0 at place 0",
       ""},
      {"ScatterND(%x, %at, %u)", "f32[0]", "s64[1,1]", "f32[1]", {}, {0}, "index 0 at place 0", ""},
      {"ScatterND(%x, %at, %u)",
       "f32[2,0]",
       "s64[2,1]",
       "f32[2,0]",
       {1, -2},
       {1, 5},
       "index 5 at place 1",
       ""},
      {"GatherND(%x, %at)", "f32[2,0]", "s64[1,1]", "", {1}, {5}, "", ""},
  };
  for (const OutsideCase& c : cases) {
    const std::string text = "input %x : " + c.x + "\ninput %at : " + c.at + "\n" +
                             (c.u.empty() ? "" : "input %u : " + c.u + "\n") +
                             "%y : ? = " + c.node + " \"picks\"\noutput %y\n";
    const Executable e = compile_body(text);
    const std::string got = result_of(e, c, c.outside);
    if (c.failure.empty())
      EXPECT_EQ(got, "") << c.node;
    else
      EXPECT_TRUE(got.starts_with("node 'picks': " + c.failure + " is outside")) << c.node << got;
    if (!c.inside.empty()) EXPECT_EQ(result_of(e, c, c.inside), "") << c.node;
    Options options;
    options.zero_out_of_range = true;
    EXPECT_EQ(result_of(compile_body(text, options), c, c.outside), c.zero) << c.node;
  }
}

// The other numbers that choose a place. `before` are the lines before the node.
struct NumberCase {
  std::string before, node, x, at;
  std::vector<int64_t> inside, outside;
  std::string failure, zero;
};

const std::vector<NumberCase>& number_cases() {
  static const std::vector<NumberCase> cases = [] {
    std::vector<NumberCase> all = {
        {"const %u : f32[1,4] = [0.0, 0.0, 1.0, 1.0]\n",
         "RoiAlign(%x, %u, %at) {output_height = 1, output_width = 1}",
         "f32[2,1,2,2]",
         "s64[1]",
         {1},
         {2},
         "batch index 2 at place 0 is outside [0, 1]",
         "0"},
        {"%rois : ? = Cast(%at) {to = 1}\n",
         "MaxRoiPool(%x, %rois) {pooled_shape = [1, 1]}",
         "f32[2,1,2,2]",
         "s64[2,5]",
         {1, 0, 0, 1, 1, 0, 0, 0, 1, 1},
         {1, 0, 0, 1, 1, -1, 0, 0, 1, 1},
         "batch index -1 at place 1 is outside [0, 1]",
         "8 0"},
        {"const %u : f32[1,4] = [0.0, 0.0, 1.0, 1.0]\nconst %size : s32[2] = [1, 1]\n",
         "com.microsoft.CropAndResize(%x, %u, %at, %size) {extrapolation_value = 5.0}",
         "f32[2,1,2,2]",
         "s32[1]",
         {1},
         {-1},
         "batch index -1 at place 0 is outside [0, 1]",
         "5"},
        {"const %cos : f32[3,1] = [1.0, 1.0, 1.0]\nconst %sin : f32[3,1] = [0.0, 0.0, 0.0]\n",
         "RotaryEmbedding(%x, %cos, %sin, %at)",
         "f32[1,1,2,2]",
         "s64[1,2]",
         {0, 2},
         {2, 3},
         "position 3 at place 1 is outside [0, 2]",
         "1 2 3 4"},
        {"const %k : f32[1,1,2,2] = [0.0, 0.0, 0.0, 0.0]\n",
         "Attention(%x, %k, %k, _, _, _, %at)",
         "f32[1,1,1,2]",
         "s64[1]",
         {2},
         {3},
         "nonpad_kv_seqlen 3 at place 0 is outside [0, 2]",
         "0 0"},
    };
    all.push_back({"",
                   "ai.graphcore.DynamicSlice(%x, %at) {axes = [0, 1], sizes = [1, 2]}",
                   "f32[2,3]",
                   "s32[2]",
                   {1, 1},
                   {1, 2},
                   "start 2 at place 1 is outside [0, 1]",
                   "5 6"});
    all.push_back(all.back());
    all.back().outside = {-1, 0};
    all.back().failure = "start -1 at place 0 is outside [0, 1]";
    all.back().zero = "1 2";
    all.push_back({"const %u : f32[1,3] = [7.0, 8.0, 9.0]\n",
                   "ai.graphcore.DynamicUpdate(%x, %at, %u) {axes = [0], sizes = [1]}",
                   "f32[2,3]",
                   "s64[1]",
                   {1},
                   {2},
                   "start 2 at place 0 is outside [0, 1]",
                   "1 2 3 7 8 9"});
    // The new key and value are written after the cached ones, of which the last token has room.
    all.push_back(
        {"const %kv : f32[1,1,2] = [1.0, 2.0]\nconst %cache : f32[1,1,3,2] = fill 0.5\n"
         "input %total : s32[]\n",
         "com.microsoft.GroupQueryAttention(%x, %kv, %kv, %cache, %cache, %at, %total) "
         "{num_heads = 1, kv_num_heads = 1}",
         "f32[1,1,2]",
         "s32[1]",
         {2},
         {3},
         "seqlens_k 3 at place 0 is outside [0, 2]",
         ""});
    all.push_back(all.back());
    all.back().outside = {-1};
    all.back().failure = "seqlens_k -1 at place 0 is outside [0, 2]";
    all.back().zero = "1 2";
    for (const char* loss : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
      all.push_back({"",
                     std::string(loss) + "(%x, %at) {reduction = \"none\"}",
                     "f32[2,2]",
                     "s64[2]",
                     {0, 1},
                     {2, 2},
                     "label 2 at place 0 is outside [0, 1]",
                     "0 0"});
      all.push_back({"",
                     std::string(loss) + "(%x, %at) {reduction = \"sum\", ignore_index = -1}",
                     "f32[2,2]",
                     "s32[2]",
                     {-1, 1},
                     {-1, -2},
                     "label -2 at place 1 is outside [0, 1]",
                     "0"});
    }
    const std::pair<const char*, int> cells[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
    for (const auto& [cell, gates] : cells)
      for (const bool wide : {false, true}) {
        std::string before = fmt::format(
            "const %w : f32[1,{0},1] = fill 0.0\nconst %r : f32[1,{0},1] = fill 0.0\n", gates);
        const char* inputs = "%x, %w, %r";
        if (wide) {
          before +=
              "%xd : ? = Cast(%x) {to = 11}\n%wd : ? = Cast(%w) {to = 11}\n%rd : ? = Cast(%r) {to "
              "= 11}\n";
          inputs = "%xd, %wd, %rd";
        }
        all.push_back({before,
                       fmt::format("{}({}, _, %at) {{hidden_size = 1}}", cell, inputs),
                       "f32[2,2,1]",
                       "s32[2]",
                       {0, 2},
                       {1, 3},
                       "sequence length 3 at place 1 is outside [0, 2]",
                       "0 0 0 0"});
        all.push_back(all.back());
        all.back().outside = {-1, 2};
        all.back().failure = "sequence length -1 at place 0 is outside [0, 2]";
      }
    return all;
  }();
  return cases;
}

TEST(OutOfRange, ANumberThatChoosesAPlaceIsAFailureOfTheRunUnlessZeroIsChosen) {
  for (const NumberCase& c : number_cases()) {
    const std::string text =
        "graph \"g\" opset {\"\": 24, \"com.microsoft\": 1, \"ai.graphcore\": 1} {\ninput %x : " +
        c.x + "\ninput %at : " + c.at + "\n" + c.before + "%y : ? = " + c.node +
        " \"picks\"\noutput %y\n}";
    OutsideCase run{.node = c.node, .x = c.x, .at = c.at};
    const Executable e = test::compile_text(text);
    const std::string inside = result_of(e, run, c.inside);
    EXPECT_EQ(inside.find("node"), std::string::npos) << inside;
    EXPECT_EQ(result_of(e, run, c.outside), "node 'picks': " + c.failure) << c.node;
    EXPECT_EQ(result_of(e, run, c.inside), inside) << "the run after a failure: " << c.node;
    Options options;
    options.zero_out_of_range = true;
    const Executable lenient = test::compile_text(text, options);
    const std::string zero = result_of(lenient, run, c.outside);
    EXPECT_EQ(zero, c.zero.empty() ? inside : c.zero) << c.node;
    EXPECT_EQ(result_of(lenient, run, c.inside), inside) << c.node;
  }
}

// If the number of regions depends on data, the padding after them is not checked.
TEST(OutOfRange, PaddingOfRegionsIsNotOutside) {
  const Executable e = compile_body(R"(
    input %x : f32[2,1,2,2]
    input %rois : f32[3,4]
    input %at : s64[3]
    input %c : bool[3]
    %u : ? = Compress(%rois, %c) {axis = 0}
    %n : ? = Compress(%at, %c) {axis = 0}
    %y : ? = RoiAlign(%x, %u, %n) {output_height = 1, output_width = 1}
    output %y
  )");
  const auto run = [&](std::vector<int64_t> at) {
    return test::run_executable(
        e, {{"x", Tensor::of<float>({2, 1, 2, 2}, {1, 1, 1, 1, 3, 3, 3, 3})},
            {"rois", Tensor::of<float>({3, 4}, {0, 0, 1, 1, 0, 0, 1e9f, 1e9f, 0, 0, 1, 1})},
            {"at", Tensor::of<int64_t>({3}, at)},
            {"c", Tensor::of<bool>({3}, {true, false, false})}});
  };
  const Values got = run({1, 7, 9});
  EXPECT_EQ(got.at("y:shape").to_int64s()[0], 1);
  EXPECT_EQ(got.at("y").to_doubles()[0], 3);
  EXPECT_THROW(run({2, 0, 0}), Error);
}

// Indices in the padding of a size that depends on data are not checked.
TEST(OutOfRange, PaddingIsNotOutside) {
  for (const char* gather : {"Gather(%t, %far)", "GatherElements(%t, %far)"}) {
    const Executable e = compile_body(std::string(R"(
      input %x : s64[4]
      input %c : bool[4]
      const %hundred : s64[] = 100
      const %t : f32[3] = [5, 6, 7]
      %z : ? = Compress(%x, %c) {axis = 0}
      %far : ? = Sub(%z, %hundred)
      %y : ? = )") + gather + "\noutput %y\n");
    const Values got =
        test::run_executable(e, {{"x", Tensor::of<int64_t>({4}, {102, 7, 100, 7})},
                                 {"c", Tensor::of<bool>({4}, {true, false, true, false})}});
    EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{2}));
    EXPECT_EQ(got.at("y").to_doubles()[0], 7);
    EXPECT_EQ(got.at("y").to_doubles()[1], 5);
  }
}

TEST(OutOfRange, AnIndexIsCheckedInEachRoundAndBranch) {
  const Executable e = compile_body(R"(
    input %m : s64[]
    input %x : f32[1]
    const %t : f32[3] = [1, 2, 3]
    %y : ? = Loop(%m, _, %x) {body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %v : f32[1]
      const %shape : s64[1] = [1]
      %at : ? = Reshape(%i, %shape)
      %p : ? = Gather(%t, %at) "picks"
      %n : ? = Add(%v, %p)
      output %c
      output %n
    }}
    output %y
  )");
  const auto rounds = [&](int64_t m) {
    return test::run_executable(e, {{"m", Tensor::scalar(m)}, {"x", Tensor::of<float>({1}, {0})}});
  };
  EXPECT_EQ(rounds(3).at("y").to_doubles()[0], 6);
  EXPECT_THROW(rounds(4), Error);
}

}  // namespace
}  // namespace poprt::compiler

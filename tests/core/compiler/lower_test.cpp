// Operators with a state: what one run leaves on the device, the next one finds. Operators that
// write into an input's memory where the plan lets them.
#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// One engine, one run after the other.
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

TEST(State, TwoNodesThatReadTheSameHaveStatesOfTheirOwn) {
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

// Unrolled (4 rounds) or as a loop of the device (600): one state.
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
    // Conversions there and back may fall away.
    const double tolerance = type == "1" || type == "11" || type == "7" ? 1e-5 : 1e-2;
    // Before the update, after it, and in two updates.
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

TEST(TensorScatterInPlace, ACacheThatNothingElseReadsIsNotCopied) {
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

}  // namespace
}  // namespace poprt::compiler

#include "compiler/flow/specialize.h"

#include <gtest/gtest.h>

#include <random>

#include "../support.h"
#include "onnx/export.h"
#include "onnx/import.h"

namespace poprt::compiler {
namespace {

using Values = std::map<std::string, Tensor>;

std::string graph_text(const std::string& body, int opset = 17) {
  return "graph \"g\" opset {\"\": " + std::to_string(opset) + "} {\n" + body + "}\n";
}

Tensor floats(Shape shape, uint32_t seed = 1) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> real(-2, 2);
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  for (float& x : t.mutable_values<float>()) x = real(rng);
  return t;
}

std::vector<float> values(const Tensor& t) {
  const auto v = t.values<float>();
  return {v.begin(), v.end()};
}

bool uses(const Executable& e, std::string_view kernel) {
  return std::find(e.program.kernels.begin(), e.program.kernels.end(), kernel) !=
         e.program.kernels.end();
}

Executable compile_body(const std::string& body, Options options = {}) {
  return test::compile_text(graph_text(body), std::move(options));
}

// Runs twice, so that whatever a run leaves behind shows.
Values run(const Executable& e, const Values& feeds) {
  const Values first = test::run_executable(e, feeds);
  const Values again = test::run_executable(e, feeds, 3);
  for (const auto& [name, t] : first) EXPECT_TRUE(t.same_as(again.at(name))) << name;
  return first;
}

ErrorCode code_of(const std::string& body, Options options = {}) {
  try {
    compile_body(body, std::move(options));
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

constexpr const char* kBranches = R"(
    %y : ? = If(%c) {
      then_branch = graph "t" { const %two : f32[] = 2.0 %a : ? = Mul(%x, %two) output %a },
      else_branch = graph "e" { const %one : f32[] = 1.0 %b : ? = Sub(%x, %one) output %b }}
    %z : ? = Neg(%y)
    output %z
)";

TEST(Specialize, ARunTimeConditionRunsOneBranchOnTheDevice) {
  const Executable e =
      compile_body(std::string("input %c : bool[]\ninput %x : f32[5]\n") + kBranches);
  EXPECT_TRUE(uses(e, "control.if"));
  const Tensor x = floats({5});
  for (const bool c : {true, false}) {
    const Values got = run(e, {{"c", Tensor::scalar(c)}, {"x", x}});
    for (size_t i = 0; i < 5; i++)
      EXPECT_FLOAT_EQ(got.at("z").values<float>()[i],
                      c ? -2 * x.values<float>()[i] : 1 - x.values<float>()[i]);
  }
}

TEST(Specialize, AConstantConditionLeavesNoBranch) {
  const Executable e =
      compile_body(std::string("const %c : bool[] = true\ninput %x : f32[5]\n") + kBranches);
  EXPECT_FALSE(uses(e, "control.if"));
  const Tensor x = floats({5});
  EXPECT_FLOAT_EQ(run(e, {{"x", x}}).at("z").values<float>()[3], -2 * x.values<float>()[3]);
}

TEST(Specialize, BranchesOfTwoShapesNeedAConstantCondition) {
  EXPECT_EQ(code_of(R"(
    input %c : bool[]
    input %x : f32[4]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Concat(%x, %x) {axis = 0} output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    output %y
  )"),
            ErrorCode::unimplemented);
}

// (a, b) becomes (b, a) and a scan output collects a: 3 rounds are unrolled, 1001 are not.
std::string swap_loop(const std::string& count) {
  return count + R"(
    input %a : f32[3]
    input %b : f32[3]
    %p : ?, %q : ?, %s : ? = Loop(%m, _, %a, %b) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %u : f32[3]
      input %v : f32[3]
      %c2 : ? = Identity(%c)
      %v2 : ? = Identity(%v)
      %u2 : ? = Identity(%u)
      %n : ? = Neg(%u)
      output %c2
      output %v2
      output %u2
      output %n
    }}
    output %p
    output %q
    output %s
  )";
}

TEST(Specialize, ALongLoopRunsOnTheDeviceAndSwapsItsStates) {
  for (const int64_t rounds : {0, 1, 3, 2000, 2001}) {
    const Executable e = compile_body(swap_loop("const %m : s64[] = " + std::to_string(rounds)));
    EXPECT_EQ(uses(e, "control.loop"), rounds == 0 || rounds >= 2000) << rounds;
    const Tensor a = floats({3}, 1), b = floats({3}, 2);
    const Values got = run(e, {{"a", a}, {"b", b}});
    EXPECT_EQ(values(got.at("p")), values(rounds % 2 ? b : a));
    EXPECT_EQ(values(got.at("q")), values(rounds % 2 ? a : b));
    ASSERT_EQ(got.at("s").shape(), (Shape{rounds, 3}));
    for (int64_t r = 0; r < rounds; r++)
      EXPECT_EQ(got.at("s").values<float>()[static_cast<size_t>(r * 3 + 1)],
                -(r % 2 ? b : a).values<float>()[1]);
  }
}

// Elementwise recurrences with views, an outer value, a branch and an inner loop; the same body
// with a trip count known at compile time and at run time.
std::string recurrence(const std::string& count) {
  return count + R"(
    input %x : f32[2,6]
    input %w : f32[6,6]
    const %t : f32[] = true_scale
    const %flat : s64[1] = [12]
    const %back : s64[2] = [2, 6]
    const %three : s64[] = inner
    %outer : ? = Tanh(%x)
    %y : ?, %k : ? = Loop(%m, _, %x, %outer) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[2,6]
      input %old : f32[2,6]
      const %half : f32[] = 0.5
      const %limit : f32[] = 3.0
      const %axes : s64[2] = [0, 1]
      %c2 : ? = Identity(%c)
      %o : ? = Sigmoid(%outer)
      %r : ? = Reshape(%s, %flat)
      %r2 : ? = Mul(%r, %half)
      %r3 : ? = Reshape(%r2, %back)
      %mm : ? = MatMul(%r3, %w)
      %d : ? = Add(%mm, %o)
      %sum : ? = ReduceSum(%d, %axes) {keepdims = 0}
      %big : ? = Greater(%sum, %limit)
      %e : ? = If(%big) {
        then_branch = graph "t" { %p : ? = Tanh(%d) %p2 : ? = Add(%p, %outer) output %p2 },
        else_branch = graph "f" { %n : ? = Neg(%d) output %n }}
      %f : ? = Loop(%three, _, %e) {body = graph "inner" {
        input %j : s64[]
        input %jc : bool[]
        input %js : f32[2,6]
        %jc2 : ? = Identity(%jc)
        %jf : ? = Cast(%j) {to = 1}
        %ja : ? = Add(%js, %jf)
        %jb : ? = Tanh(%ja)
        %jd : ? = Add(%jb, %old)
        output %jc2
        output %jd
      }}
      %keep : ? = Add(%s, %half)
      output %c2
      output %f
      output %keep
    }}
    output %y
    output %k
  )";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

TEST(Specialize, UnrolledAndRepeatedLoopsGiveTheSame) {
  for (const int64_t rounds : {1, 2, 7}) {
    for (const char* inner : {"2", "300"}) {
      const auto text = [&](const std::string& count) {
        return replaced(replaced(recurrence(count), "true_scale", "1.0"), "= inner",
                        std::string("= ") + inner);
      };
      const Executable fixed = compile_body(text("const %m : s64[] = " + std::to_string(rounds)));
      const Executable free = compile_body(text("input %m : s64[]"));
      EXPECT_TRUE(uses(free, "control.loop"));
      Values feeds = {{"x", floats({2, 6}, 3)}, {"w", floats({6, 6}, 4)}};
      const Values wanted = run(fixed, feeds);
      feeds["m"] = Tensor::scalar(rounds);
      const Values got = run(free, feeds);
      for (const char* name : {"y", "k"})
        test::expect_close(wanted.at(name), got.at(name), 1e-5, name);
    }
  }
}

TEST(Specialize, ALoopThatEndsOnDataSaysHowManyRowsAreReal) {
  const Executable e = compile_body(R"(
    input %x : f32[1]
    const %m : s64[] = 40
    const %yes : bool[] = true
    %y : ?, %all : ? = Loop(%m, %yes, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[1]
      const %two : f32[] = 2.0
      const %limit : f32[] = 1000.0
      const %none : s64[0] = []
      %d : ? = Mul(%s, %two)
      %less : ? = Less(%d, %limit)
      %c2 : ? = Reshape(%less, %none)
      output %c2
      output %d
      output %d
    }}
    output %y
    output %all
  )");
  EXPECT_TRUE(uses(e, "control.loop"));
  for (const float start : {1.0f, 300.0f, 5000.0f, 1e-30f}) {
    const Values got = run(e, {{"x", Tensor::of<float>({1}, {start})}});
    std::vector<float> wanted;
    float v = start;
    for (int i = 0; i < 40; i++) {
      wanted.push_back(v *= 2);
      if (!(v < 1000)) break;
    }
    const auto rows = static_cast<int64_t>(wanted.size());
    EXPECT_EQ(got.at("all:shape").to_int64s(), (std::vector<int64_t>{rows, 1}));
    EXPECT_EQ(got.at("y").values<float>()[0], v);
    wanted.resize(40);  // the rest is zeros
    EXPECT_EQ(values(got.at("all")), wanted);
  }
}

TEST(Specialize, ALoopThatGrowsItsStateIsUnrolled) {
  const Executable e = compile_body(R"(
    input %x : f32[1]
    const %m : s64[] = 4
    %y : ? = Loop(%m, _, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : ?
      %c2 : ? = Identity(%c)
      %d : ? = Concat(%s, %s) {axis = 0}
      output %c2
      output %d
    }}
    output %y
  )");
  EXPECT_FALSE(uses(e, "control.loop"));
  EXPECT_EQ(run(e, {{"x", floats({1})}}).at("y").shape(), (Shape{16}));
}

TEST(Specialize, ALoopThatNeverEndsIsRefused) {
  EXPECT_EQ(code_of(R"(
    input %x : f32[1]
    const %yes : bool[] = true
    %y : ? = Loop(_, %yes, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : ?
      %c2 : ? = Identity(%c)
      %d : ? = Concat(%s, %x) {axis = 0}
      output %c2
      output %d
    }}
    output %y
  )"),
            ErrorCode::resource_exhausted);
}

TEST(Specialize, ScanRunsOverAxesAndBackwards) {
  for (const int64_t length : {4, 900}) {
    const Executable e = compile_body(replaced(R"(
      input %s : f32[2]
      input %x : f32[2,LEN]
      %t : ?, %y : ? = Scan(%s, %x) {num_scan_inputs = 1, scan_input_axes = [1],
          scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1],
          body = graph "body" {
        input %a : ?
        input %b : ?
        %c : ? = Add(%a, %b)
        %d : ? = Identity(%c)
        output %c
        output %d
      }}
      output %t
      output %y
    )",
                                               "LEN", std::to_string(length)));
    EXPECT_EQ(uses(e, "control.loop"), length > 100);
    const Tensor s = floats({2}, 1), x = floats({2, length}, 2);
    const Values got = run(e, {{"s", s}, {"x", x}});
    ASSERT_EQ(got.at("y").shape(), (Shape{2, length}));
    for (size_t r = 0; r < 2; r++) {
      float sum = s.values<float>()[r];
      const size_t n = static_cast<size_t>(length);
      for (size_t t = n; t-- > 0;) {
        sum += x.values<float>()[r * n + t];
        EXPECT_EQ(got.at("y").values<float>()[r * n + t], sum);
      }
      EXPECT_EQ(got.at("t").values<float>()[r], sum);
    }
  }
}

TEST(Specialize, NonZeroHasABoundAndASize) {
  const Executable e = compile_body(R"(
    input %x : f32[2,3]
    %at : ? = NonZero(%x)
    %rows : ? = Transpose(%at) {perm = [1, 0]}
    output %rows
  )");
  const Values got = run(e, {{"x", Tensor::of<float>({2, 3}, {0, 1, 0, 2, 0, 3})}});
  EXPECT_EQ(got.at("rows").shape(), (Shape{6, 2}));
  EXPECT_EQ(got.at("rows:shape").to_int64s(), (std::vector<int64_t>{3, 2}));
  const auto rows = got.at("rows").to_int64s();
  EXPECT_EQ((std::vector<int64_t>(rows.begin(), rows.begin() + 6)),
            (std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
}

TEST(Specialize, CompressKeepsWhatARunTimeConditionSays) {
  const Executable e = compile_body(R"(
    input %x : f32[2,4]
    input %c : bool[4]
    %y : ? = Compress(%x, %c) {axis = 1}
    output %y
  )");
  const Tensor c = Tensor::of<bool>({4}, {true, false, false, true});
  const Values got = run(e, {{"x", Tensor::of<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}, {"c", c}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{2, 2}));
  const auto y = got.at("y").values<float>();
  EXPECT_EQ((std::vector<float>{y[0], y[1], y[4], y[5]}), (std::vector<float>{0, 3, 4, 7}));
}

TEST(Specialize, UniqueKeepsItsSizesApart) {
  const Executable e = compile_body(R"(
    input %x : s64[5]
    %y : ?, %first : ?, %inverse : ?, %counts : ? = Unique(%x)
    output %y
    output %inverse
    output %counts
  )");
  const Values got = run(e, {{"x", Tensor::of<int64_t>({5}, {7, 3, 7, 7, 1})}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_EQ(got.at("counts:shape").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_FALSE(got.contains("inverse:shape"));
  EXPECT_EQ(got.at("y").to_int64s(), (std::vector<int64_t>{1, 3, 7, 0, 0}));
  EXPECT_EQ(got.at("counts").to_int64s(), (std::vector<int64_t>{1, 1, 3, 0, 0}));
}

constexpr const char* kSequences = R"(
    input %a : f32[2]
    input %b : f32[2]
    const %zero : s64[] = 0
    %s : ? = SequenceConstruct(%a, %b)
    %t : ? = SequenceInsert(%s, %b, %zero)
    %n : ? = SequenceLength(%t)
    %y : ? = ConcatFromSequence(%t) {axis = 0, new_axis = 1}
    %o : ? = Optional(%t)
    %has : ? = OptionalHasElement(%o)
    output %y
    output %n
    output %t
    output %has
)";

TEST(Specialize, SequencesBecomeTheirTensors) {
  const Executable e = compile_body(kSequences);
  const Tensor a = floats({2}, 1), b = floats({2}, 2);
  const Values got = run(e, {{"a", a}, {"b", b}});
  EXPECT_EQ(got.at("n").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_EQ(got.at("has").to_int64s(), (std::vector<int64_t>{1}));
  EXPECT_EQ(got.at("y").shape(), (Shape{3, 2}));
  EXPECT_TRUE(got.at("t[0]").same_as(b));
  EXPECT_TRUE(got.at("t[1]").same_as(a));
  EXPECT_TRUE(got.at("t[2]").same_as(b));
}

TEST(Specialize, APositionAtRunTimePicksFromEqualTensors) {
  const Executable e = compile_body(R"(
    input %a : f32[2]
    input %b : f32[2]
    input %i : s64[]
    %s : ? = SequenceConstruct(%a, %b)
    %y : ? = SequenceAt(%s, %i)
    output %y
  )");
  const Tensor a = floats({2}, 1), b = floats({2}, 2);
  for (const int64_t i : {0, 1, -1})
    EXPECT_TRUE(run(e, {{"a", a}, {"b", b}, {"i", Tensor::scalar(i)}}).at("y").same_as(i ? b : a));
}

TEST(Specialize, ASequenceInputHasItsLengthFromTheOptions) {
  const std::string body = R"(
    %in : ? = poprt.ContainerInput() {kind = "sequence", dtype = 1, shape = [2], position = 0} "in"
    %y : ? = ConcatFromSequence(%in) {axis = 0}
    output %y
  )";
  EXPECT_EQ(code_of(body), ErrorCode::invalid_argument);
  Options options;
  options.input_length["in"] = 3;
  const Executable e = compile_body(body, options);
  ASSERT_EQ(e.program.inputs.size(), 3u);
  EXPECT_EQ(e.program.inputs[2].name, "in[2]");
  EXPECT_EQ(e.program.outputs[0].shape, (Shape{6}));
}

TEST(Specialize, TextIsComputedAtCompileTime) {
  const std::string body = R"(
    input %x : f32[2]
    const %a : string[2] = ["one", "two"]
    const %b : string[] = "!"
    %t : ? = StringConcat(%a, %b)
    %same : ? = Equal(%t, %a)
    %y : ? = Neg(%x)
    output %t
    output %same
    output %y
  )";
  EXPECT_EQ(code_of(body), ErrorCode::unimplemented);
  Options options;
  Values text;
  options.constant_outputs = &text;
  const Executable e = test::compile_text(graph_text(body, 20), options);
  EXPECT_EQ(text.at("t").string_values(), (std::vector<std::string>{"one!", "two!"}));
  EXPECT_EQ(e.program.outputs.size(), 2u);
}

TEST(Specialize, ASpecializedModelIsStillOnnx) {
  const auto graph = ir::parse_text(graph_text(
      replaced(replaced(recurrence("input %m : s64[]"), "true_scale", "1.0"), "= inner", "= 300")));
  convert(*graph, {});
  const std::string bytes = onnx::export_bytes(*graph);
  const auto again = onnx::import_bytes(std::as_bytes(std::span(bytes)));
  Options options;
  convert(*again, options);
  const Executable e = compile(*again, options);
  const Values feeds = {
      {"x", floats({2, 6}, 3)}, {"w", floats({6, 6}, 4)}, {"m", Tensor::scalar<int64_t>(3)}};
  const Values wanted =
      run(compile_body(replaced(replaced(recurrence("input %m : s64[]"), "true_scale", "1.0"),
                                "= inner", "= 300")),
          feeds);
  EXPECT_TRUE(run(e, feeds).at("y").same_as(wanted.at("y")));
}

TEST(Specialize, LoopsRunInHalfPrecision) {
  Options options;
  options.precision = Precision::fp16;
  const Executable e = compile_body(R"(
    input %m : s64[]
    input %x : f32[4]
    %y : ? = Loop(%m, _, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[4]
      const %half : f32[] = 0.5
      %c2 : ? = Identity(%c)
      %h : ? = Mul(%s, %half)
      %d : ? = Add(%h, %x)
      output %c2
      output %d
    }}
    output %y
  )",
                                    options);
  const Tensor x = floats({4});
  Tensor half = Tensor::zeros(DType::f16, {4});
  for (size_t i = 0; i < 4; i++) half.mutable_values<f16_t>()[i] = to_f16(x.values<float>()[i]);
  const Values got = run(e, {{"x", half}, {"m", Tensor::scalar<int64_t>(5)}});
  ASSERT_EQ(got.at("y").dtype(), DType::f16);
  for (size_t i = 0; i < 4; i++) {
    double s = x.values<float>()[i];
    for (int round = 0; round < 5; round++) s = s / 2 + x.values<float>()[i];
    EXPECT_NEAR(got.at("y").to_doubles()[i], s, 0.01);
  }
}

// Layout and fusion passes see a body and what it reads from outside.
TEST(Specialize, ConvolutionsInABodyGiveWhatUnrolledOnesGive) {
  const std::string body = R"(
    input %x : f32[1,16,5,5]
    const %w : f32[16,16,3,3] = fill 0.01
    const %b : f32[16] = fill 0.1
    %outer : ? = Conv(%x, %w, %b) {pads = [1, 1, 1, 1]}
    %act : ? = Relu(%outer)
    %y : ? = Loop(%m, _, %act) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[1,16,5,5]
      %c2 : ? = Identity(%c)
      %p : ? = Conv(%s, %w, %b) {pads = [1, 1, 1, 1]}
      %q : ? = Add(%p, %act)
      %r : ? = Relu(%q)
      output %c2
      output %r
    }}
    %pool : ? = GlobalAveragePool(%y)
    output %pool
    output %y
  )";
  Values feeds = {{"x", floats({1, 16, 5, 5})}};
  const Values wanted = run(compile_body("const %m : s64[] = 3\n" + body), feeds);
  const Executable e = compile_body("input %m : s64[]\n" + body);
  EXPECT_TRUE(uses(e, "control.loop"));
  feeds["m"] = Tensor::scalar<int64_t>(3);
  const Values got = run(e, feeds);
  for (const char* name : {"y", "pool"})
    test::expect_close(wanted.at(name), got.at(name), 1e-4, name);
}

TEST(Specialize, NestedLoopsThatAreTooLongTogetherAreNotUnrolled) {
  const Executable e = compile_body(R"(
    input %x : f32[1]
    const %m : s64[] = 100
    %y : ? = Loop(%m, _, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[1]
      const %one : f32[] = 1.0
      %c2 : ? = Identity(%c)
      %t : ? = Loop(%m, _, %s) {body = graph "inner" {
        input %j : s64[]
        input %jc : bool[]
        input %js : f32[1]
        %jc2 : ? = Identity(%jc)
        %jt : ? = Add(%js, %one)
        output %jc2
        output %jt
      }}
      output %c2
      output %t
    }}
    output %y
  )");
  EXPECT_TRUE(uses(e, "control.loop"));
  EXPECT_EQ(run(e, {{"x", Tensor::of<float>({1}, {0})}}).at("y").values<float>()[0], 10000);
}

TEST(Specialize, ALoopOverContainersDoesBoundedWork) {
  EXPECT_EQ(code_of(R"(
    const %m : s64[] = 2000000000
    input %x : f32[1]
    %s : ? = SequenceConstruct(%x)
    %t : ? = Loop(%m, _, %s) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %q : ?
      %c2 : ? = Identity(%c)
      %q2 : ? = Identity(%q)
      output %c2
      output %q2
    }}
    output %t
  )"),
            ErrorCode::resource_exhausted);
}

TEST(Specialize, AConvertedModelKeepsSizesThatDependOnData) {
  const auto graph = ir::parse_text(graph_text(R"(
    input %x : f32[2,3]
    %at : ? = NonZero(%x)
    output %at
  )"));
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_TRUE(graph->nodes()[0]->is("NonZero"));
  EXPECT_EQ(graph->outputs().size(), 1u);
}

TEST(FoldInputs, LevelsGoFromNothingToEverything) {
  const std::string text = graph_text(R"(
    input %x : f32[6]
    input %shape : s64[2]
    input %scale : f32[]
    %r : ? = Reshape(%x, %shape)
    %y : ? = Mul(%r, %scale)
    output %y
  )");
  const Values all = {{"x", floats({6})},
                      {"shape", Tensor::of<int64_t>({2}, {2, 3})},
                      {"scale", Tensor::scalar(2.0f)}};
  using Names = std::vector<std::string>;
  const auto folded = [&](int level) {
    const auto graph = ir::parse_text(text);
    return fold_inputs(*graph, all, level);
  };
  EXPECT_EQ(folded(0), Names{});
  EXPECT_EQ(folded(1), Names{"shape"});
  EXPECT_EQ(folded(2), (Names{"shape", "scale"}));
  EXPECT_EQ(folded(3), (Names{"x", "shape", "scale"}));
}

}  // namespace
}  // namespace poprt::compiler

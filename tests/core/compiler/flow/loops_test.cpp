#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"
#include "onnx/export.h"
#include "onnx/import.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

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

TEST(Loops, ALongLoopRunsOnTheDeviceAndSwapsItsStates) {
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

TEST(Loops, UnrolledAndRepeatedLoopsGiveTheSame) {
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

TEST(Loops, ALoopThatEndsOnDataSaysHowManyRowsAreReal) {
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

TEST(Loops, ALoopThatGrowsItsStateIsUnrolled) {
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

TEST(Loops, ALoopThatNeverEndsIsRefused) {
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

TEST(Loops, ASpecializedModelIsStillOnnx) {
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

TEST(Loops, LoopsRunInHalfPrecision) {
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
TEST(Loops, ConvolutionsInABodyGiveWhatUnrolledOnesGive) {
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

TEST(Loops, NestedLoopsThatAreTooLongTogetherAreNotUnrolled) {
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

TEST(Loops, ALoopOverContainersDoesBoundedWork) {
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

}  // namespace
}  // namespace poprt::compiler

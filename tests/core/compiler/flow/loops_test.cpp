#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "program/control.h"

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

TEST(Loops, LoopThatEndsOnDataReportsItsRealRows) {
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

// Layout and fusion passes see a body and the outer values that it reads.
TEST(Loops, ConvolutionsInABodyEqualUnrolledOnes) {
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

// Bodies may declare the iteration number and the condition as [1]. They then have this shape.
std::string declared_loop(const std::string& count, const std::string& index,
                          const std::string& condition) {
  return count + R"(
    input %x : f32[3]
    const %true : bool[)" +
         condition + R"(] = fill true
    %y : ?, %s : ? = Loop(%m, %true, %x) {body = graph "body" {
      input %i : s64[)" +
         index + R"(]
      input %c : bool[)" +
         condition + R"(]
      input %a : f32[3]
      %c2 : ? = Identity(%c)
      %f : ? = Cast(%i) {to = 1}
      %b : ? = Add(%a, %f)
      output %c2
      output %b
      output %i
    }}
    output %y
    output %s
  )";
}

TEST(Loops, IterationNumberAndConditionHaveTheDeclaredShape) {
  const Tensor x = floats({3});
  for (const int64_t rounds : {3, 700})
    for (const char* index : {"", "1"})
      for (const char* condition : {"", "1"}) {
        const std::string count = "const %m : s64[] = " + std::to_string(rounds);
        const Executable e = compile_body(declared_loop(count, index, condition));
        EXPECT_EQ(uses(e, "control.loop"), rounds == 700);
        const Values got = run(e, {{"x", x}});
        const double sum = static_cast<double>(rounds * (rounds - 1) / 2);
        for (size_t k = 0; k < 3; k++)
          EXPECT_NEAR(got.at("y").values<float>()[k], x.values<float>()[k] + sum, 1e-6 * sum);
        const auto numbers = got.at("s").values<int64_t>();
        ASSERT_EQ(numbers.size(), static_cast<size_t>(rounds));
        for (int64_t r = 0; r < rounds; r++) EXPECT_EQ(numbers[static_cast<size_t>(r)], r);
        EXPECT_EQ(got.at("s").shape().size(), *index ? 2u : 1u);
      }
}

TEST(Loops, AConditionOfOneElementEndsTheLoop) {
  const Executable e = compile_body(R"(
    input %x : f32[1]
    const %true : bool[1] = [true]
    %y : ? = Loop(_, %true, %x) {body = graph "body" {
      input %i : s64[1]
      input %c : bool[1]
      input %a : f32[1]
      const %two : f32[] = 2.0
      const %limit : f32[1] = [1000.0]
      %b : ? = Mul(%a, %two)
      %c2 : ? = Less(%b, %limit)
      output %c2
      output %b
    }}
    output %y
  )");
  EXPECT_EQ(values(run(e, {{"x", Tensor::of<float>({1}, {3.0f})}}).at("y"))[0], 1536.0f);
}

// `depth` loops in each other, of which the innermost adds one.
std::string nest(int depth, const std::string& count) {
  std::string text = "input %x : f32[]\nconst %one : f32[] = 1.0\n", close;
  std::string state = "%x";
  for (int d = 0; d < depth; d++) {
    const std::string n = std::to_string(d);
    text += "%y" + n + " : ? = Loop(" + count + ", _, " + state + ") {body = graph \"b" + n +
            "\" {\n input %i" + n + " : s64[]\n input %c" + n + " : bool[]\n input %a" + n +
            " : f32[]\n %k" + n + " : ? = Identity(%c" + n + ")\n";
    state = "%a" + n;
    close = " output %k" + n + "\n output %" +
            (d + 1 < depth ? "y" + std::to_string(d + 1) : "sum") + "\n}}\n" + close;
  }
  return text + " %sum : ? = Add(" + state + ", %one)\n" + close + "output %y0\n";
}

// Returns 0.5 plus the number of rounds of the innermost loop.
float nest_result(int depth, int64_t rounds, bool known) {
  const std::string count =
      known ? "const %m : s64[] = " + std::to_string(rounds) : "input %m : s64[]";
  Values feeds = {{"x", Tensor::scalar(0.5f)}};
  if (!known) feeds["m"] = Tensor::scalar(rounds);
  return values(run(compile_body(count + "\n" + nest(depth, "%m")), feeds).at("y0"))[0];
}

TEST(Loops, ThirtyNestedLoopsRun) {
  for (const bool known : {true, false}) {
    EXPECT_EQ(nest_result(30, 1, known), 1.5f);
    EXPECT_EQ(nest_result(6, 3, known), 729.5f);
    EXPECT_EQ(nest_result(12, 2, known), 4096.5f);
  }
  compile_body("const %m : s64[] = 2\n" + nest(30, "%m"));  // running takes 2^30 rounds
}

// `nodes` in the body, each of which negates the one before.
std::string chain_loop(int64_t rounds, int nodes) {
  std::string body = fmt::format("const %m : s64[] = {}\ninput %x : f32[1]\n", rounds) +
                     "%y : ? = Loop(%m, _, %x) {body = graph \"b\" {\ninput %i : s64[]\n"
                     "input %c : bool[]\ninput %n0 : f32[1]\n";
  for (int k = 0; k < nodes; k++) body += fmt::format("%n{} : ? = Neg(%n{})\n", k + 1, k);
  return body + fmt::format("output %c\noutput %n{}\n}}}}\noutput %y\n", nodes);
}

// A loop is unrolled if this results in at most 512 nodes.
TEST(Loops, HowLongAnUnrolledLoopMayBe) {
  const auto repeats = [](int64_t rounds, int nodes) {
    const Executable e = compile_body(chain_loop(rounds, nodes));
    const float y = values(run(e, {{"x", Tensor::of<float>({1}, {3})}}).at("y"))[0];
    EXPECT_EQ(y, rounds * nodes % 2 ? -3 : 3) << rounds << " of " << nodes;
    return uses(e, "control.loop");
  };
  for (const auto& [rounds, nodes] : {std::pair{512, 1}, {256, 2}, {170, 3}, {512, 0}})
    EXPECT_FALSE(repeats(rounds, nodes)) << rounds << " of " << nodes;
  for (const auto& [rounds, nodes] : {std::pair{513, 1}, {257, 2}, {171, 3}, {513, 0}})
    EXPECT_TRUE(repeats(rounds, nodes)) << rounds << " of " << nodes;
  EXPECT_TRUE(uses(compile_body(chain_loop(20'000'000, 1)), "control.loop"));
  // The nodes of branches are counted: 1 + 3 + 3.
  const auto branches = [](int64_t rounds) {
    return uses(compile_body(fmt::format("const %m : s64[] = {}\n", rounds) + R"(
      input %go : bool[]
      input %x : f32[1]
      %y : ? = Loop(%m, _, %x) {body = graph "b" {
        input %i : s64[]
        input %c : bool[]
        input %s : f32[1]
        %t : ? = If(%go) {
          then_branch = graph "t" { %a : ? = Neg(%s) %b : ? = Exp(%a) %d : ? = Abs(%b) output %d },
          else_branch = graph "e" { %e : ? = Abs(%s) %f : ? = Exp(%e) %g : ? = Neg(%f) output %g }}
        output %c
        output %t
      }}
      output %y
    )"),
                "control.loop");
  };
  EXPECT_FALSE(branches(73));
  EXPECT_TRUE(branches(74));
}

std::string refusal_of_loop(const std::string& body) {
  try {
    compile_body(body);
  } catch (const Error& e) {
    return e.message().substr(e.message().find("): ") + 3);
  }
  return "taken";
}

// The message of the failure of a run, or the values of output y.
std::string outcome(const Executable& e, const std::map<std::string, Tensor>& inputs) {
  try {
    return fmt::format("{}", fmt::join(values(run(e, inputs).at("y")), " "));
  } catch (const Error& error) {
    return fmt::format("{}: {}", error_code_name(error.code()), error.what());
  }
}

// y = x + 1 in each round of a Loop with this count, first condition and next condition.
Executable counting(const std::string& inputs, const std::string& count_and_condition,
                    const std::string& next) {
  return compile_body(inputs + "input %x : f32[1]\n%y : f32[1] = Loop(" + count_and_condition +
                      ", %x) {body = graph \"b\" {\ninput %i : s64[]\ninput %c : bool[]\n"
                      "input %v : f32[1]\nconst %one : f32[1] = [1.0]\n"
                      "const %most : s64[] = 17000000\n%n : f32[1] = Add(%v, %one)\n"
                      "%go : bool[] = Less(%i, %most)\noutput %" +
                      next + "\noutput %n\n}} \"turns\"\noutput %y\n");
}

// A run does not end silently before its loop does: the trip count, constant or not, and the
// condition may exceed any number.
TEST(Loops, ALoopRunsMoreThan16777216Rounds) {
  const Tensor x = Tensor::of<float>({1}, {0});
  // f32 represents integers up to 2^24 only; adding 1 to 2^24 has no effect.
  const auto rounds_of = [&](const Executable& e, std::map<std::string, Tensor> inputs) {
    inputs["x"] = Tensor::of<float>({1}, {-10'000'000});
    return outcome(e, inputs);
  };
  EXPECT_EQ(rounds_of(counting("input %m : s64[]\n", "%m, _", "c"),
                      {{"m", Tensor::scalar(int64_t{20'000'000})}}),
            "10000000");
  EXPECT_EQ(rounds_of(counting("const %m : s64[] = 20000000\n", "%m, _", "c"), {}), "10000000");
  EXPECT_EQ(rounds_of(counting("", "_, _", "go"), {}), "7000001");
}

TEST(Loops, ALoopThatNeverEndsIsAFailureOfTheRun) {
  const Tensor x = Tensor::of<float>({1}, {3});
  const std::string endless =
      "invalid_argument: loop 'turns' never ends: no trip count bounds it, and its condition stays "
      "true";
  EXPECT_EQ(outcome(counting("", "_, _", "c"), {{"x", x}}), endless);
  const Executable e = counting("input %yes : bool[]\n", "_, %yes", "c");
  EXPECT_EQ(outcome(e, {{"x", x}, {"yes", Tensor::scalar(true)}}), endless);
  EXPECT_EQ(outcome(e, {{"x", x}, {"yes", Tensor::scalar(false)}}), "3");
}

TEST(Loops, ScanOutputsHaveALimit) {
  const auto collecting = [](const std::string& count, const std::string& condition) {
    return count + "input %x : f32[1]\n%y : ?, %all : ? = Loop(%m, _, %x) {body = graph \"b\" {\n" +
           "input %i : s64[]\ninput %c : bool[]\ninput %a : f32[1]\nconst %zero : f32[1] = [0.0]\n"
           "%n : ? = Neg(%a)\n%less : ? = Less(%n, %zero)\n%copy : ? = Abs(%n)\noutput %" +
           condition + "\noutput %n\noutput %copy\n}}\noutput %y\noutput %all\n";
  };
  const std::string grows =
      "its scan outputs grow with the trip count, which must be a constant of at most 16777216; "
      "give a bound of the rounds with option max_size: all=N";
  EXPECT_EQ(refusal_of_loop(collecting("input %m : s64[]\n", "c")), grows);
  EXPECT_EQ(refusal_of_loop(collecting("input %m : s64[]\n", "less")), grows);
  EXPECT_EQ(
      refusal_of_loop(collecting("const %m : s64[] = 16777217\n", "less")),
      "it can neither be unrolled nor run as it is: Loop node that makes 'y' (opset 17): " + grows);
  EXPECT_EQ(refusal_of_loop(collecting("const %m : s64[] = 16777216\n", "less")), "taken");
  const std::string ends =
      replaced(replaced(collecting("const %m : s64[] = 20000000\n", "less"), ", %all : ?", ""),
               "output %copy\n", "");
  const Executable e = compile_body(replaced(ends, "output %all\n", ""));
  EXPECT_EQ(values(run(e, {{"x", Tensor::of<float>({1}, {3})}}).at("y"))[0], 3) << "two rounds";
}

// Two states and two scan outputs, of different types each.
TEST(Loops, ALoopThatEndsOnDataSeparatesStatesAndRows) {
  const Executable e = compile_body(R"(
    input %x : f32[2]
    input %n : s64[]
    const %m : s64[] = 6
    %a : ?, %b : ?, %u : ?, %v : ? = Loop(%m, _, %x, %n) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[2]
      input %t : s64[]
      const %one : s64[] = 1
      const %zero : s64[] = 0
      %t2 : ? = Sub(%t, %one)
      %go : ? = Greater(%t2, %zero)
      %s2 : ? = Add(%s, %s)
      %row : ? = Neg(%s)
      %mark : ? = Mul(%t, %t)
      output %go
      output %s2
      output %t2
      output %row
      output %mark
    }}
    output %a
    output %b
    output %u
    output %v
  )");
  for (const int64_t n : {1, 2, 4, 9}) {
    const int64_t rounds = std::min<int64_t>(n, 6);
    const Values got = run(e, {{"x", Tensor::of<float>({2}, {1, -3})}, {"n", Tensor::scalar(n)}});
    const auto scale = static_cast<float>(int64_t{1} << rounds);
    EXPECT_EQ(values(got.at("a")), (std::vector<float>{scale, -3 * scale}));
    EXPECT_EQ(got.at("b").to_int64s()[0], n - rounds);
    EXPECT_EQ(got.at("u:shape").to_int64s(), (std::vector<int64_t>{rounds, 2}));
    EXPECT_EQ(got.at("v:shape").to_int64s(), std::vector<int64_t>{rounds});
    for (int64_t r = 0; r < 6; r++) {
      const bool real = r < rounds;
      EXPECT_EQ(values(got.at("u"))[static_cast<size_t>(2 * r)],
                real ? -static_cast<float>(1 << r) : 0)
          << n;
      EXPECT_EQ(got.at("v").to_int64s()[static_cast<size_t>(r)], real ? (n - r) * (n - r) : 0);
    }
  }
}

// Two halves are exchanged, and the sign of one of them changes.
TEST(Loops, AStateMayBeMadeOfPartsOfItself) {
  const std::string body = R"(
    input %x : f32[2,3]
    %y : ? = Loop(%m, _, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[2,3]
      %u : ?, %v : ? = Split(%s) {axis = 0}
      %n : ? = Neg(%v)
      %j : ? = Concat(FIRST, SECOND) {axis = 0}
      output %c
      output %j
    }}
    output %y
  )";
  for (const auto& [first, second] :
       {std::pair{"%n", "%u"}, {"%u", "%n"}, {"%v", "%u"}, {"%u", "%v"}, {"%u", "%u"}}) {
    const Executable e = compile_body("input %m : s64[]\n" +
                                      replaced(replaced(body, "FIRST", first), "SECOND", second));
    for (const int64_t rounds : {1, 2, 3}) {
      std::vector<float> wanted = {1, 2, 3, 4, 5, 6};
      for (int64_t r = 0; r < rounds; r++) {
        const std::vector<float> was = wanted;
        for (size_t half = 0; half < 2; half++)
          for (size_t k = 0; k < 3; k++) {
            const char part = (half ? second : first)[1];
            wanted[half * 3 + k] = part == 'u' ? was[k] : part == 'v' ? was[3 + k] : -was[3 + k];
          }
      }
      const Values got = run(
          e, {{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, {"m", Tensor::scalar(rounds)}});
      EXPECT_EQ(values(got.at("y")), wanted) << first << second << rounds;
    }
  }
}

// Scan outputs then have no rows, for any trip count.
TEST(Loops, ALoopThatIsNeverEnteredHandsItsStatesOn) {
  for (const char* way : {"const %m : s64[] = 0\nconst %yes : bool[] = true\n",
                          "const %m : s64[] = 5\nconst %yes : bool[] = false\n"}) {
    const Executable e = compile_body(std::string(way) + R"(
    input %x : f32[2]
    %y : ?, %all : ? = Loop(%m, %yes, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[2]
      %n : ? = Neg(%s)
      %copy : ? = Abs(%s)
      output %c
      output %n
      output %copy
    }}
    output %y
    output %all
  )");
    const Values got = run(e, {{"x", Tensor::of<float>({2}, {1, -3})}});
    EXPECT_EQ(values(got.at("y")), (std::vector<float>{1, -3})) << way;
    EXPECT_EQ(got.at("all").shape(), (Shape{0, 2})) << way;
  }
}

// Nodes of an abandoned attempt would run although their results are unused.
TEST(Loops, AnAbandonedAttemptLeavesNoStatefulNode) {
  const Executable e = test::compile_text(R"(graph "g" opset {"": 17, "ai.graphcore": 1} {
    input %step : s32[]
    input %x : f32[1]
    const %m : s64[] = 100
    %y : ? = Loop(%m, _, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[1]
      %k : ? = ai.graphcore.KVCache(%step, %s) {max_len = 1}
      %a : ? = Add(%s, %k)
      %t : ? = Loop(%m, _, %a) {body = graph "inner" {
        input %j : s64[]
        input %jc : bool[]
        input %js : f32[1]
        %jt : ? = Neg(%js)
        output %jc
        output %jt
      }}
      output %c
      output %t
    }}
    output %y
  })");
  EXPECT_TRUE(uses(e, "control.loop"));
  int64_t caches = 0;
  for (const program::Instruction& i : e.program.main)
    caches += e.program.kernels[i.kernel] == "shift";
  EXPECT_EQ(caches, 1);
}

TEST(Loops, HaveTheNameOfTheirNodeOrOfTheirFirstResult) {
  const auto name = [](const std::string& given) {
    const auto graph = ir::parse_text(graph_text(
        "input %m : s64[]\ninput %x : f32[1]\n%y : ? = Loop(%m, _, %x) {body = graph \"b\" { input "
        "%i : s64[] input %c : bool[] input %s : f32[1] %n : ? = Neg(%s) output %c output %n }}" +
        given + "\noutput %y\n"));
    convert(*graph, {});
    EXPECT_EQ(graph->nodes().size(), 1u);
    return graph->nodes()[0]->name;
  };
  EXPECT_EQ(name(" \"turns\""), "turns");
  EXPECT_EQ(name(""), "y");
}

// Without an initial condition the first round runs; a body may read the condition and end the
// loop.
TEST(Loops, WithoutAConditionInFrontItHolds) {
  const auto loop = [](const std::string& condition) {
    return R"(
    const %m : s64[] = 3000
    const %limit : f32[] = 1500
    const %one : f32[] = 1
    input %x : f32[]
    %y : ?, %s : ? = Loop(%m, _, %x) {body = graph "body" {
      input %i : s64[]
      input %c : bool[]
      input %v : f32[]
      %held : ? = Cast(%c) {to = 1}
      %v2 : ? = Add(%v, %held)
      %less : ? = Less(%v2, %limit)
      %kept : ? = Identity(%c)
      output %)" +
           condition + R"(
      output %v2
      output %held
    }}
    output %y
  )";
  };
  const std::pair<const char*, float> rows[] = {{"kept", 3000}, {"less", 1500}};
  for (const auto& [condition, expected] : rows) {
    const Executable e = compile_body(loop(condition));
    EXPECT_TRUE(uses(e, "control.loop")) << condition;
    EXPECT_EQ(values(run(e, {{"x", Tensor::scalar(0.0f)}}).at("y")), std::vector<float>{expected})
        << condition;
  }
}

// A loop of constants is not computed while compiling, because it may have any number of rounds.
TEST(Loops, ManyRoundsAreNotComputedAtCompileTime) {
  const Executable e = compile_body(
      "const %m : s64[] = 1000000000000000000\nconst %x : f32[2] = [1, 2]\ninput %z : f32[2]\n"
      "%last : ? = Loop(%m, _, %x) {body = graph \"b\" {\ninput %i : s64[]\ninput %c : bool[]\n"
      "input %a : f32[2]\n%n : ? = Neg(%a)\n%d : ? = Identity(%c)\noutput %d\noutput %n\n}}\n"
      "%y : ? = Add(%last, %z)\noutput %y\n");
  EXPECT_FALSE(e.program.main.empty());
}

}  // namespace
}  // namespace poprt::compiler

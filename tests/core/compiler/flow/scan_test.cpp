#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(Scan, ScanRunsOverAxesAndBackwards) {
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

// Small whole numbers, whose sums are exact in any order.
Tensor wholes(Shape shape, uint32_t seed) {
  std::mt19937 rng(seed);
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  for (float& x : t.mutable_values<float>()) x = static_cast<float>(rng() % 7) - 3;
  return t;
}

constexpr const char* kTwoOfEach = R"(body = graph "body" {
        input %a : ?
        input %b : ?
        input %u : ?
        input %v : ?
        %w : ? = Mul(%u, %v)
        %c : ? = Add(%a, %w)
        %d : ? = Sub(%b, %v)
        %e : ? = Identity(%c)
        %f : ? = Sub(%u, %v)
        output %c
        output %d
        output %e
        output %f
      })";

TEST(Scan, TwoStatesTwoInputsAndTwoOutputsEachWithItsAxisAndDirection) {
  for (const int64_t length : {1, 4, 900}) {
    const Executable e = compile_body(replaced(R"(
      input %s : f32[2]
      input %k : f32[2]
      input %x : f32[2,LEN]
      input %y : f32[LEN,2]
      %p : ?, %q : ?, %g : ?, %h : ? = Scan(%s, %k, %x, %y) {num_scan_inputs = 2,
          scan_input_axes = [-1, 0], scan_input_directions = [1, 0],
          scan_output_axes = [0, -1], scan_output_directions = [0, 1], )" +
                                                   std::string(kTwoOfEach) + R"(}
      output %p
      output %q
      output %g
      output %h
    )",
                                               "LEN", std::to_string(length)));
    const auto n = static_cast<size_t>(length);
    const Tensor s = wholes({2}, 1), k = wholes({2}, 2), x = wholes({2, length}, 3),
                 y = wholes({length, 2}, 4);
    const Values got = run(e, {{"s", s}, {"k", k}, {"x", x}, {"y", y}});
    ASSERT_EQ(got.at("g").shape(), (Shape{length, 2}));
    ASSERT_EQ(got.at("h").shape(), (Shape{2, length}));
    for (size_t r = 0; r < 2; r++) {
      float a = s.values<float>()[r], b = k.values<float>()[r];
      for (size_t t = 0; t < n; t++) {
        const float u = x.values<float>()[r * n + n - 1 - t], v = y.values<float>()[t * 2 + r];
        a += u * v;
        b -= v;
        EXPECT_EQ(got.at("g").values<float>()[t * 2 + r], a) << t;
        EXPECT_EQ(got.at("h").values<float>()[r * n + n - 1 - t], u - v) << t;
      }
      EXPECT_EQ(got.at("p").values<float>()[r], a);
      EXPECT_EQ(got.at("q").values<float>()[r], b);
    }
  }
}

TEST(Scan, OfOpset8ScansEachElementOfTheBatchForItsLength) {
  const std::string body = std::string(R"(
    const %lengths : s64[3] = [4, 0, 2]
    input %s : f32[3,2]
    input %k : f32[3,2]
    input %x : f32[3,4,2]
    input %y : f32[3,4,2]
    %p : ?, %q : ?, %g : ?, %h : ? = Scan(GIVEN, %s, %k, %x, %y) {num_scan_inputs = 2,
        directions = [0, BACK], )") +
                           kTwoOfEach + R"(}
    output %p
    output %q
    output %g
    output %h
  )";
  for (const bool given : {false, true}) {
    const size_t lengths[] = {4, given ? size_t{0} : 4, given ? size_t{2} : 4};
    const Executable e = test::compile_text(graph_text(
        replaced(replaced(body, "GIVEN", given ? "%lengths" : "_"), "BACK", given ? "0" : "1"), 8));
    const Tensor s = wholes({3, 2}, 1), k = wholes({3, 2}, 2), x = wholes({3, 4, 2}, 3),
                 y = wholes({3, 4, 2}, 4);
    const Values got = run(e, {{"s", s}, {"k", k}, {"x", x}, {"y", y}});
    ASSERT_EQ(got.at("g").shape(), (Shape{3, 4, 2}));
    for (size_t batch = 0; batch < 3; batch++) {
      for (size_t r = 0; r < 2; r++) {
        const size_t row = batch * 2 + r;
        float a = s.values<float>()[row], b = k.values<float>()[row];
        for (size_t t = 0; t < 4; t++) {
          const size_t at = (batch * 4 + t) * 2 + r, back = (batch * 4 + 3 - t) * 2 + r;
          const bool there = t < lengths[batch];
          const float u = x.values<float>()[at], v = y.values<float>()[given ? at : back];
          if (there) {
            a += u * v;
            b -= v;
          }
          EXPECT_EQ(got.at("g").values<float>()[at], there ? a : 0) << batch << " " << t;
          EXPECT_EQ(got.at("h").values<float>()[at], there ? u - v : 0) << batch << " " << t;
        }
        EXPECT_EQ(got.at("p").values<float>()[row], a);
        EXPECT_EQ(got.at("q").values<float>()[row], b);
      }
    }
  }
}

// A state and an input to scan, with other attributes of the node and another body.
std::string scan_of(const std::string& inputs, const std::string& outputs,
                    const std::string& scanned, const std::string& body) {
  return "input %s : f32[2]\ninput %r : f32[2]\ninput %x : f32[3,2]\n" + outputs + " = Scan(" +
         inputs + ") {num_scan_inputs = " + scanned + ", body = graph \"body\" {\n" + body +
         "\n}}\n" + "output %t\n";
}

TEST(Scan, NumbersOfInputsAndOutputsFitTheBody) {
  const std::string sum = "input %a : ?\ninput %b : ?\n%c : ? = Add(%a, %b)\noutput %c",
                    three =
                        "input %a : ?\ninput %b : ?\ninput %d : ?\n%c : ? = Add(%a, %b)\noutput %c";
  // The node may have no scan output.
  EXPECT_EQ(code_of(scan_of("%s, %x", "%t : ?", "1", sum)), ErrorCode::ok);
  for (const std::string& wrong :
       {scan_of("%s, %x", "%t : ?", "0", sum), scan_of("%s, %x", "%t : ?", "3", sum),
        scan_of("%s, %x", "%t : ?", "1", three), scan_of("%s, %x", "%t : ?, %y : ?", "1", sum),
        scan_of("%s, %r, %x", "%t : ?", "1", three)})
    EXPECT_EQ(code_of(wrong), ErrorCode::invalid_argument) << wrong;
}

TEST(Scan, StatesKeepTheirType) {
  const std::string body =
      "input %a : f32[2]\ninput %b : ?\n%c : f64[2] = Cast(%a) {to = 11}\noutput %c";
  try {
    compile_body(scan_of("%s, %x", "%t : ?", "1", body));
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("state 0 is f32[2] before a step and f64[2] after it, as 'c'"),
              std::string::npos)
        << e.message();
  }
}

TEST(Scan, InputsThatDoNotFitTogetherAreRefused) {
  const auto scan = [](const std::string& attributes, const std::string& x, const std::string& y) {
    return code_of("input %s : f32[2]\ninput %k : f32[2]\ninput %x : f32" + x + "\ninput %y : f32" +
                   y + "\n%p : ?, %q : ?, %g : ?, %h : ? = Scan(%s, %k, %x, %y) {" + attributes +
                   kTwoOfEach + "}\noutput %p\noutput %q\noutput %g\noutput %h\n");
  };
  EXPECT_EQ(scan("num_scan_inputs = 2, ", "[3,2]", "[3,2]"), ErrorCode::ok);
  EXPECT_EQ(scan("num_scan_inputs = 2, ", "[3,2]", "[4,2]"), ErrorCode::invalid_argument);
  EXPECT_EQ(scan("num_scan_inputs = 2, ", "[3,2]", "[]"), ErrorCode::invalid_argument);
  EXPECT_EQ(scan("num_scan_inputs = 5, ", "[3,2]", "[3,2]"), ErrorCode::invalid_argument);
  EXPECT_EQ(scan("", "[3,2]", "[3,2]"), ErrorCode::invalid_argument);
  EXPECT_EQ(scan("num_scan_inputs = 2, scan_input_axes = [0], ", "[3,2]", "[3,2]"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(scan("num_scan_inputs = 2, scan_output_directions = [0], ", "[3,2]", "[3,2]"),
            ErrorCode::invalid_argument);
}

TEST(Scan, LengthsOfOpset8FitTheBatchAndTheInputs) {
  const auto scan = [](const std::string& lengths, int64_t batch) {
    const std::string b = std::to_string(batch);
    const std::string text = "const %lengths : s64" + lengths + "\ninput %s : f32[" + b +
                             ",2]\ninput %k : f32[" + b + ",2]\ninput %x : f32[" + b +
                             ",4,2]\ninput %y : f32[" + b +
                             ",4,2]\n%p : ?, %q : ?, %g : ?, %h : ? = Scan(%lengths, %s, %k, %x, "
                             "%y) {num_scan_inputs = 2, " +
                             kTwoOfEach + "}\noutput %p\noutput %q\noutput %g\noutput %h\n";
    try {
      test::compile_text(graph_text(text, 8));
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(scan("[2] = [0, 4]", 2), ErrorCode::ok);
  EXPECT_EQ(scan("[2] = [0, 5]", 2), ErrorCode::invalid_argument);
  EXPECT_EQ(scan("[2] = [-1, 4]", 2), ErrorCode::invalid_argument);
  EXPECT_EQ(scan("[3] = [4, 4, 4]", 2), ErrorCode::unimplemented);
  EXPECT_EQ(scan("[0] = []", 0), ErrorCode::unimplemented);
}

}  // namespace
}  // namespace poprt::compiler

#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// Also where a body has a value of the same name.
TEST(Specialize, InputsAndConstantsThatAreOutputsKeepTheirNames) {
  for (const char* rounds : {"2", "2000"}) {
    const Executable e = compile_body(replaced(R"(
      input %x : f32[2]
      const %k : f32[2] = [3.0, 4.0]
      const %m : s64[] = ROUNDS
      %y : ? = Loop(%m, _, %x) {body = graph "body" {
        input %i : s64[]
        input %c : bool[]
        input %x : f32[2]
        %c2 : ? = Identity(%c)
        %n : ? = Neg(%x)
        output %c2
        output %n
      }}
      output %k
      output %x
      output %y
    )",
                                               "ROUNDS", rounds));
    std::string names;
    for (const auto& output : e.program.outputs) names += output.name + " ";
    EXPECT_EQ(names, "k x y ");
    const Tensor x = floats({2});
    const Values got = run(e, {{"x", x}});
    EXPECT_EQ(values(got.at("x")), values(x));
    EXPECT_EQ(values(got.at("y")), values(x));
    EXPECT_EQ(values(got.at("k")), (std::vector<float>{3, 4}));
  }
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

constexpr std::string_view kDecode = R"(
    %image : ? = ImageDecoder(%stream) {pixel_format = "BGR"}
    %float : ? = Cast(%image) {to = 1}
    %y : ? = Mul(%float, %x)
    output %y
  )";

TEST(Specialize, ImagesAreDecodedAtCompileTime) {
  // P6, 2 x 1 pixels, 255 at most, then 1 2 3 and 4 5 6.
  const std::string body =
      "input %x : f32[]\nconst %stream : u8[17] = [80, 54, 32, 50, 32, 49, 32, 50, 53, 53, 10, 1, "
      "2, "
      "3, 4, 5, 6]" +
      std::string(kDecode);
  try {
    const Executable e = test::compile_text(graph_text(body, 20));
    const Tensor y = run(e, {{"x", Tensor::scalar(10.0f)}}).at("y");
    EXPECT_EQ(y.shape(), (Shape{1, 2, 3}));
    EXPECT_EQ(values(y), (std::vector<float>{30, 20, 10, 60, 50, 40}));
  } catch (const Error& e) {
    if (e.code() != ErrorCode::failed_precondition) throw;
    GTEST_SKIP() << e.what();  // built without the library that decodes
  }
}

TEST(Specialize, ImagesThatComeAtRunTimeAreRefused) {
  const auto graph = ir::parse_text(
      graph_text("input %x : f32[]\ninput %stream : u8[17]" + std::string(kDecode), 20));
  const Values all = {{"x", Tensor::scalar(1.0f)}, {"stream", Tensor::zeros(DType::u8, {17})}};
  EXPECT_EQ(fold_inputs(*graph->clone(), all, 0), std::vector<std::string>{});
  EXPECT_EQ(fold_inputs(*graph->clone(), all, 1), std::vector<std::string>{"stream"});
  try {
    convert(*graph, {});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_EQ(
        std::string(e.what()),
        "ImageDecoder node that makes 'image_0': the size of an image is in its bytes: images are "
        "decoded when the model is compiled, so the node's input must be constant");
  }
}

}  // namespace
}  // namespace poprt::compiler

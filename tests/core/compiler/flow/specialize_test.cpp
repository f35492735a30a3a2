#include <gtest/gtest.h>

#include "core/compiler/flow/long_chain.h"
#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// A body may have a value of the same name.
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

// Returns the number of nodes of an operator that remain of a body that must be resolved.
size_t remaining_nodes(const std::string& op, const std::string& body) {
  const auto graph = ir::parse_text(
      graph_text("input %x : f32[1]\nconst %yes : bool[] = true\n" + body + "output %y\n"));
  EXPECT_TRUE(specialize(*graph, {}));
  size_t count = 0;
  for (const ir::Node* n : graph->nodes()) count += n->op_type == op;
  return count;
}

// The limit is lower in a body that may run many times.
TEST(Specialize, FoldsConstantsUpToALimit) {
  const auto expanded = [](int64_t count, bool inside) {
    const std::string
        expand = fmt::format(
            "const %one : f32[1] = [2.0] const %to : s64[1] = [{}] %wide : ? = Expand(%one, "
            "%to) ",
            count),
        sum = "%y : ? = ReduceSum(%a)\n";
    return inside ? remaining_nodes("Expand",
                                    "%a : ? = If(%yes) {then_branch = graph \"t\" { " + expand +
                                        "output %wide }, else_branch = graph \"e\" { %b : ? = "
                                        "Neg(%x) output %b }}\n" +
                                        sum)
                  : remaining_nodes(
                        "Expand",
                        expand +
                            "\n%a : ? = If(%yes) {then_branch = graph \"t\" { %n : ? = Mul(%wide, "
                            "%x) output %n }, else_branch = graph \"e\" { %o : ? = Identity(%x) "
                            "output %o }}\n" +
                            sum);
  };
  EXPECT_EQ(expanded(1 << 18, false), 0u) << "a megabyte";
  EXPECT_EQ(expanded((1 << 18) + 1, false), 1u);
  EXPECT_EQ(expanded(1 << 14, true), 0u) << "64 kilobytes";
  EXPECT_EQ(expanded((1 << 14) + 1, true), 1u);
}

// The limit is twice the size of the inputs if that is more. In a body, inputs count like results.
TEST(Specialize, FoldsResultsUpToTwiceTheSizeOfInputs) {
  const auto tiled = [](int64_t count, int times) {
    return remaining_nodes(
        "Tile", fmt::format("const %w : f32[{}] = fill 2.0\nconst %k : s64[1] = [{}]\n%t : ? "
                            "= Tile(%w, %k)\n%y : ? = If(%yes) {{then_branch = graph \"t\" "
                            "{{ %n : ? = Mul(%t, %x) output %n }}, else_branch = graph "
                            "\"e\" {{ %o : ? = Identity(%x) output %o }}}}\n",
                            count, times));
  };
  EXPECT_EQ(tiled(1 << 18, 2), 0u);
  EXPECT_EQ(tiled(1 << 18, 3), 1u);
  const auto summed = [](int64_t count) {
    return remaining_nodes(
        "ReduceSum",
        fmt::format("%y : ? = If(%yes) {{then_branch = graph \"t\" {{ const %w : f32[{}] = "
                    "fill 2.0 %s : ? = ReduceSum(%w) %n : ? = Mul(%s, %x) output %n }}, "
                    "else_branch = graph \"e\" {{ %o : ? = Identity(%x) output %o }}}}\n",
                    count));
  };
  EXPECT_EQ(summed(1 << 14), 0u);
  EXPECT_EQ(summed((1 << 14) + 1), 1u);
}

TEST(Specialize, ReportsWorkOnlyForDynamicSizesStringsAndSequences) {
  const auto worked = [](const std::string& body) {
    const auto graph = ir::parse_text(graph_text("input %x : f32[2]\n" + body + "output %y\n"));
    return specialize(*graph, {});
  };
  EXPECT_FALSE(worked("%i : ? = Identity(%x)\n%y : ? = Neg(%i)\n"));
  EXPECT_TRUE(worked("%n : ? = NonZero(%x)\n%y : ? = Neg(%n)\n"));
  EXPECT_TRUE(worked("const %t : string[1] = [\"a\"]\n%y : ? = Neg(%x)\n"));
  EXPECT_TRUE(
      worked("%s : ? = SequenceConstruct(%x)\nconst %k : s64[] = 0\n"
             "%y : ? = SequenceAt(%s, %k)\n"));
}

// An output that the model already has is not created again.
TEST(Specialize, AnOutputOfTheModelIsNotTakenForASize) {
  const Executable e = compile_body(R"(
    input %x : f32[4]
    %y : ? = NonZero(%x)
    %"y:shape" : ? = Neg(%x)
    %z : ? = Neg(%y)
    output %y
    output %"y:shape"
    output %z
  )");
  std::string names;
  for (const program::Anchor& a : e.program.outputs)
    names += a.name + std::string(dtype_name(a.dtype)) + shape_string(a.shape) + " ";
  EXPECT_EQ(names, "ys64[1,4] y:shapef32[4] zs64[1,4] z:shapes64[2] ");
}

// One value is two outputs; an input and a constant are outputs under other names.
TEST(Specialize, OutputsOfOneValueAreOutputsEach) {
  const Executable e = compile_body(R"(
    input %x : f32[2]
    const %yes : bool[] = true
    const %k : f32[2] = [3.0, 4.0]
    %a : ?, %b : ? = If(%yes) {
      then_branch = graph "t" { %n : ? = Neg(%x) output %n output %n },
      else_branch = graph "e" { %m : ? = Abs(%x) output %m output %m }}
    %c : ? = Identity(%x)
    %d : ? = Identity(%k)
    output %a
    output %b
    output %c
    output %d
  )");
  const Values got = run(e, {{"x", Tensor::of<float>({2}, {1, -2})}});
  EXPECT_EQ(values(got.at("a")), (std::vector<float>{-1, 2}));
  EXPECT_EQ(values(got.at("b")), (std::vector<float>{-1, 2}));
  EXPECT_EQ(values(got.at("c")), (std::vector<float>{1, -2}));
  EXPECT_EQ(values(got.at("d")), (std::vector<float>{3, 4}));
}

TEST(Specialize, SubgraphsOfOtherOperatorsAreRefused) {
  try {
    compile_body(
        "input %x : f32[2]\n%n : ? = NonZero(%x)\n%y : ? = Neg(%x) {body = graph \"b\" { "
        "%o : ? = Abs(%x) output %o }} \"odd\"\noutput %y\noutput %n\n");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("Neg"), std::string::npos) << e.message();
  }
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
        "ImageDecoder node that makes 'image_0': the size of an image is encoded in its bytes: "
        "images are decoded at compile time, so the node's input must be constant");
  }
}

TEST(Specialize, AShapeMayBeComputedByAVeryLongChain) {
  const auto graph = ir::parse_text(graph_text("input %x : f32[2]\ninput %n : s64[2]\n" +
                                               long_chain("Neg", "n", "s") +
                                               "%y : ? = Reshape(%x, %s)\noutput %y\n"));
  EXPECT_TRUE(specialize(*graph, {}));
  // Nothing bounds the shape, so that the compilation refuses it afterwards.
  EXPECT_TRUE(graph->outputs()[0]->producer()->is("Reshape"));
  EXPECT_FALSE(graph->outputs()[0]->type.is_static());
}

}  // namespace
}  // namespace poprt::compiler

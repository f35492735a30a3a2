#include "compiler/open_shapes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"

namespace poprt::compiler {
namespace {

using program::kOpen;

std::optional<OpenModel> describe(const std::string& text, const DriverOptions& options = {}) {
  return open_model(
      *ir::parse_text("graph \"g\" opset {\"\": 17, \"ai.onnx.ml\": 3} {\n" + text + "}\n"),
      options);
}

const std::string kNetwork =
    "input %x : f32[N,4]\ninput %m : s32[N,?]\n"
    "%y = Relu(%x)\n%z = NonZero(%m)\noutput %y\noutput %z\n";

TEST(OpenModel, NamesTheSizesThatRequestsDecide) {
  const auto model = describe(kNetwork);
  ASSERT_TRUE(model);
  EXPECT_FALSE(model->complete);
  const program::OpenShapes& s = model->shapes;
  ASSERT_EQ(s.inputs.size(), 2u);
  EXPECT_EQ(s.inputs[0].shape, (Shape{kOpen, 4}));
  EXPECT_EQ(s.inputs[0].names, (std::vector<std::string>{"N", ""}));
  EXPECT_EQ(s.inputs[1].names, (std::vector<std::string>{"N", "m:1"}));
  EXPECT_EQ(s.inputs[1].dtype, DType::s32);
  ASSERT_EQ(s.outputs.size(), 3u);
  EXPECT_EQ(s.outputs[0].names, (std::vector<std::string>{"N", ""}));
  EXPECT_EQ(s.outputs[1].shape, (Shape{2, kOpen}));
  EXPECT_EQ(s.outputs[1].names, (std::vector<std::string>{"", ""})) << "it depends on data";
  EXPECT_EQ(s.outputs[2].name, "z:shape") << "every compiled shape has this output";
  EXPECT_EQ(s.outputs[2].dtype, DType::s64);
  EXPECT_EQ(s.outputs[2].shape, (Shape{2}));
}

TEST(OpenModel, OptionsThatChangeTypesKeepSizesThatDependOnData) {
  DriverOptions options;
  options.precision = Precision::fp16;
  const auto model = describe(kNetwork, options);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->shapes.outputs.size(), 3u);
  EXPECT_EQ(model->shapes.outputs[0].dtype, DType::f16);
  EXPECT_EQ(model->shapes.outputs[2].name, "z:shape");
}

TEST(OpenModel, ASizeThatOnlyShapesDecideHasNoOutput) {
  const auto model = describe(
      "input %x : f32[N,4]\n%y = Concat(%x, %x) {axis = 0}\n%z = NonZero(%x)\noutput %y\n");
  ASSERT_TRUE(model);
  ASSERT_EQ(model->shapes.outputs.size(), 1u);
  EXPECT_EQ(model->shapes.outputs[0].shape, (Shape{kOpen, 4}));
}

// Converters declare the sizes of the batch that they used.
TEST(OpenModel, ASizeThatIsDeclaredWronglyIsOpen) {
  const auto output = [](const std::string& nodes) {
    const auto model = describe("input %x : f32[N,4]\n" + nodes + "\noutput %y\n");
    return model->shapes.outputs.at(0);
  };
  for (const std::string nodes :
       {"%y : f32[N,4] = Concat(%x, %x) {axis = 0}", "%y : f32[1,4] = Relu(%x)",
        "%h : f32[1,4] = Relu(%x)\n%y : f32[N,4] = Neg(%h)"}) {
    EXPECT_EQ(output(nodes).shape, (Shape{kOpen, 4})) << nodes;
    EXPECT_EQ(output(nodes).names, (std::vector<std::string>{"", ""})) << nodes;
  }
  EXPECT_EQ(output("%y : f32[N,4] = Flatten(%x) {axis = 0}").shape, (Shape{1, kOpen}));
  EXPECT_EQ(output("%y : f32[N] = Relu(%x)").shape, (Shape{kOpen, kOpen}));
  EXPECT_EQ(output("%y : f32[N,4] = Relu(%x)").names, (std::vector<std::string>{"N", ""}));
}

// S is 5, which no trial knows unless the options contain it.
TEST(OpenModel, AModelThatNeedsCertainSizesHasSizesThatDependOnData) {
  const std::string text =
      "input %x : f32[N,S]\nconst %w : f32[5,2] = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, "
      "0.0]"
      "\n%y = MatMul(%x, %w)\n%z = NonZero(%y)\n%r = Relu(%x)\noutput %r\noutput %z\n";
  DriverOptions fixed;
  fixed.shapes = {{{"x", {3, 5}}}};
  for (const DriverOptions& options : {DriverOptions(), fixed}) {
    const auto model = describe(text, options);
    ASSERT_TRUE(model);
    ASSERT_EQ(model->shapes.outputs.size(), 3u);
    EXPECT_EQ(model->shapes.outputs[0].names, (std::vector<std::string>{"N", "S"}));
    EXPECT_EQ(model->shapes.outputs[2].name, "z:shape");
    EXPECT_EQ(model->sized, (std::set<std::string>{"z:shape"}));
  }
}

TEST(OpenModel, SizesOfTheOptionsShowTypesOfOutputs) {
  const std::string text =
      "input %x : f32[N,S]\nconst %w : f32[5,1] = [1.0, 0.0, 1.0, 0.0, 1.0]\n"
      "%y = MatMul(%x, %w)\n%o : ? = Optional(%y)\n%z : ? = OptionalGetElement(%o)\noutput %z\n";
  EXPECT_THROW(describe(text), Error);
  DriverOptions fixed;
  fixed.shapes = {{{"x", {3, 5}}}};
  const auto model = describe(text, fixed);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->shapes.outputs[0].shape, (Shape{kOpen, kOpen}));
}

// No request to such a model could be computed.
TEST(OpenModel, ASizeThatAnInputDecidesNeedsABound) {
  const std::string inputs = "input %x : f32[N,6]\ninput %s : s64[2]\ninput %n : s64[1]\n";
  const auto refusal = [&](const std::string& nodes, std::map<std::string, int64_t> max_size = {}) {
    DriverOptions options;
    options.max_size = std::move(max_size);
    try {
      describe(inputs + nodes + "output %y\n", options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  const std::string joined =
      "const %six : s64[1] = [6]\n%to = Concat(%n, %six) {axis = 0}\n%y = Reshape(%x, %to)\n";
  const std::string begin = "Reshape node that makes 'y': input ";
  EXPECT_EQ(refusal("%y = Reshape(%x, %s)\n"),
            begin +
                "'s' decides the shape of 'y': make it constant; at most one dimension of a "
                "value may depend on data");
  EXPECT_EQ(refusal(joined), begin +
                                 "'n' decides the shape of 'y': make it constant, or give its "
                                 "largest number with option max_size: n=N");
  EXPECT_EQ(refusal(joined, {{"n", 8}}), "none");
  EXPECT_EQ(refusal("%y, %at = TopK(%x, %n)\n"), "none");
  EXPECT_EQ(refusal("%y = Slice(%x, %n, %n)\n"), "none");
  EXPECT_EQ(refusal("%to = Shape(%x)\n%y = Reshape(%x, %to)\n"), "none");
}

TEST(OpenModel, ASizeOfZeroIsFixed) {
  const auto model = describe("input %x : f32[N,0]\n%y = Relu(%x)\noutput %y\n");
  ASSERT_TRUE(model);
  for (const program::OpenAnchor& a : {model->shapes.inputs.at(0), model->shapes.outputs.at(0)}) {
    EXPECT_EQ(a.shape, (Shape{kOpen, 0})) << a.name;
    EXPECT_EQ(a.names, (std::vector<std::string>{"N", ""})) << a.name;
  }
}

TEST(OpenModel, OptionsMayFixEverySize) {
  DriverOptions options;
  options.batch_size = 8;
  options.batch_axis = 0;
  EXPECT_FALSE(describe(kNetwork, options)->complete);
  options.batch_size = 0;
  options.batch_axis = -1;
  options.shapes = {{{"m", {8, 3}}}};
  const auto fixed = describe(kNetwork, options);
  EXPECT_TRUE(fixed->complete);
  EXPECT_EQ(fixed->shapes.inputs[0].shape, (Shape{kOpen, 4})) << "requests may have others";
}

TEST(OpenModel, AModelWithoutOpenSizesIsNotOne) {
  EXPECT_FALSE(describe("input %x : f32[2,4]\n%y = Relu(%x)\noutput %y\n"));
  EXPECT_FALSE(describe("input %x : f32[*]\n%y = Relu(%x)\noutput %y\n"));
}

TEST(OpenModel, AnInputOfTextIsRefused) {
  try {
    describe("input %s : string[N]\n%y = Identity(%s)\noutput %y\n");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_EQ(e.message(), "input 's' is string[N]: the device does not support strings");
  }
}

TEST(OpenModel, OutputsOfUnknownTypeAreThoseOfAConversion) {
  const auto outputs = [](const std::string& nodes) {
    const auto model = describe("input %x : f32[N,4]\n" + nodes);
    EXPECT_TRUE(model) << nodes;
    std::string text;
    for (const program::OpenAnchor& a : model->shapes.outputs)
      text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", dtype_name(a.dtype),
                          shape_string(a.shape), a.name);
    return text;
  };
  EXPECT_EQ(outputs("%o : ? = Optional(%x)\n%y : ? = OptionalGetElement(%o)\noutput %y\n"),
            "f32[?,?] y");
  EXPECT_EQ(outputs("%s : ? = SequenceConstruct(%x, %x)\noutput %s\n"),
            "f32[?,?] s[0], f32[?,?] s[1]");
  EXPECT_EQ(outputs("%l : string[N], %p : f32[N,3] = ai.onnx.ml.LinearClassifier(%x) {coefficients "
                    "= [1.0, 0.0, 0.0, 1.0, -1.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], intercepts "
                    "= [0.0, 0.0, 0.0], classlabels_strings = [\"a\", \"b\", \"c\"]}\n"
                    "%m : ? = ai.onnx.ml.ZipMap(%p) {classlabels_strings = [\"a\", \"b\", "
                    "\"c\"]}\noutput %l\noutput %m\n"),
            "s64[?] l, f32[?,?] m");
}

TEST(OpenModel, ASequenceOfAnOpenLengthIsRefusedByItsName) {
  const std::string text =
      "input %x : f32[N,4]\n%s : ? = SplitToSequence(%x) {axis = 0}\noutput %s\n";
  try {
    describe(text);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_EQ(e.message(),
              "the model cannot be compiled at the shapes of requests, because the type of output "
              "'s' is not known, and a conversion at small sizes does not find it: the number of "
              "outputs depends on the size of an input; give `input_shape` or `batch_size`");
  }
  DriverOptions fixed;
  fixed.shapes = {{{"x", {2, 4}}}};
  EXPECT_FALSE(describe(text, fixed)) << "the options fix every size";
}

TEST(OpenModel, AnIfWhoseBranchesDifferInLengthHasASize) {
  const auto model = describe(
      "input %x : f32[N,3]\nconst %z : f32[] = 0.0\n%s = ReduceSum(%x) {keepdims = 0}\n"
      "%c = Greater(%s, %z)\n%y : ? = If(%c) {else_branch = graph \"e\" opset {\"\": 17} {\n"
      "%a = Identity(%x)\noutput %a\n}, then_branch = graph \"t\" opset {\"\": 17} {\n"
      "const %from : s64[1] = [0]\nconst %to : s64[1] = [2]\n%b : ? = Slice(%x, %from, %to)\n"
      "output %b\n}}\noutput %y\n");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->shapes.outputs.size(), 2u);
  EXPECT_EQ(model->sized, (std::set<std::string>{"y:shape"}));
}

TEST(OpenModel, TypesMatchTheConvertedModel) {
  const std::string text = "input %x : f32[N,4]\n%y = Relu(%x)\noutput %y\n";
  DriverOptions options;
  options.precision = Precision::fp16;
  const auto model = describe(text, options);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->shapes.inputs[0].dtype, DType::f16);
  EXPECT_EQ(model->shapes.outputs[0].dtype, DType::f16);
  EXPECT_EQ(model->shapes.inputs[0].shape, (Shape{kOpen, 4}));
}

}  // namespace
}  // namespace poprt::compiler

#include "compiler/compiler.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "base/log.h"
#include "compiler/pipeline.h"
#include "core/compiler/support.h"
#include "ir/work.h"
#include "kernels/calls/conv_winograd.h"

namespace poprt::test {
namespace {

TEST(Compiler, AnOutputThatIsAnInputIsCopied) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[3,5]
    %y : ? = Relu(%x)
    output %x
    output %y
  })");
}

TEST(Compiler, AnOutputThatIsAConstantIsStored) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[3]
    const %c : f32[3] = [1.0, 2.0, 3.0]
    %y : ? = Add(%x, %c)
    output %c
    output %y
  })");
}

// Control flow is resolved into a graph of new values.
TEST(Compiler, PassThroughOutputsKeepNamesWithControlFlow) {
  const compiler::Executable e = compile_text(R"(graph "g" opset {"": 17} {
    input %x : f32[3]
    const %c : f32[3] = [1.0, 2.0, 3.0]
    const %trips : s64[] = 2
    %y : ? = Loop(%trips, _, %x) {body = graph "body" {
      input %i : s64[]
      input %go : bool[]
      input %s : f32[3]
      %again : ? = Identity(%go)
      %next : ? = Add(%s, %^c)
      output %again
      output %next
    }}
    output %x
    output %c
    output %y
  })");
  const Tensor x = Tensor::of<float>({3}, {4, 5, 6});
  const auto results = run_executable(e, {{"x", x}});
  ASSERT_TRUE(results.contains("x") && results.contains("c") && results.contains("y"));
  EXPECT_TRUE(results.at("x").same_as(x));
  EXPECT_TRUE(results.at("c").same_as(Tensor::of<float>({3}, {1, 2, 3})));
  EXPECT_TRUE(results.at("y").same_as(Tensor::of<float>({3}, {6, 9, 12})));
}

TEST(Compiler, ScanOutputsMayBeEmpty) {
  for (const int opset : {12, 17}) {
    const compiler::Executable e = compile_text(fmt::format(R"(graph "g" opset {{"": {}}} {{
    input %x : f32[3,0]
    const %trips : s64[] = 2
    %y : ? = Loop(%trips, _) {{body = graph "body" {{
      input %i : s64[]
      input %go : bool[]
      %again : ? = Identity(%go)
      %row : ? = Relu(%^x)
      output %again
      output %row
    }}}}
    output %y
  }})",
                                                            opset));
    EXPECT_EQ(e.program.outputs[0].shape, (Shape{2, 3, 0}));
  }
}

// The reductions run on the device, and while constants are folded.
TEST(Compiler, ReductionsOfEmptyTensorsRun) {
  for (const char* dtype : {"f32", "f64", "s32"})
    for (const char* kind : {"input %x : {}[3,0]", "const %x : {}[3,0] = []"}) {
      const std::string x = fmt::format(fmt::runtime(kind), dtype);
      const compiler::Executable e = compile_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
    {}
    const %axes : s64[1] = [0]
    %y : ? = ReduceSum(%x, %axes)
    output %y
  }})",
                                                              x));
      const auto results =
          run_executable(e, {{"x", Tensor::zeros(*dtype_from_name(dtype), {3, 0})}});
      EXPECT_EQ(results.at("y").shape(), (Shape{1, 0}));
    }
}

TEST(Compiler, AnyResultOfANodeMayBeTheOnlyOneThatIsRead) {
  const struct {
    const char *node, *results;
  } kNodes[] = {{"MaxPool(%x) {kernel_shape = [2, 2]}", "%a : ?, %b : ?"},
                {"TopK(%x, %k) {axis = 2}", "%a : ?, %b : ?"},
                {"Split(%x) {axis = 1}", "%a : ?, %b : ?"},
                {"Dropout(%x)", "%a : ?, %b : ?"},
                {"LayerNormalization(%x, %w)", "%a : ?, %b : ?, %c : ?"},
                {"DynamicQuantizeLinear(%x)", "%a : ?, %b : ?, %c : ?"},
                {"LSTM(%s, %lw, %lr) {hidden_size = 2}", "%a : ?, %b : ?, %c : ?"},
                {"GRU(%s, %gw, %gr) {hidden_size = 2}", "%a : ?, %b : ?"}};
  for (const auto& n : kNodes)
    for (const char* read : {"a", "b", "c"}) {
      if (std::string_view(n.results).find(fmt::format("%{} ", read)) == std::string_view::npos)
        continue;
      expect_compiles_to_same(fmt::format(R"(graph "g" opset {{"": 17}} {{
    input %x : f32[1,2,4,5]
    input %s : f32[3,1,4]
    const %k : s64[1] = [2]
    const %w : f32[5] = [1.0, 2.0, 3.0, 4.0, 5.0]
    const %lw : f32[1,8,4] = fill 0.25
    const %lr : f32[1,8,2] = fill 0.5
    const %gw : f32[1,6,4] = fill 0.25
    const %gr : f32[1,6,2] = fill 0.5
    {} = {}
    output %{}
  }})",
                                          n.results, n.node, read));
    }
}

// Outputs are distinguished by their names.
TEST(Compiler, AnOutputThatIsListedTwiceIsOneOutput) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[6]
    %y : ? = Relu(%x)
    %z : ? = Neg(%x)
    output %y
    output %x
    output %y
    output %z
    output %x
  })";
  const compiler::Executable e = compile_text(text);
  std::string names;
  for (const auto& output : e.program.outputs) names += output.name + " ";
  EXPECT_EQ(names, "y x z ");
}

TEST(Compiler, ConcatAndSplitShareMemory) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[1,32]
    %a : ?, %b : ? = Split(%x) {axis = 1}
    %c : ? = Relu(%a)
    %d : ? = Sigmoid(%b)
    %e : ? = Concat(%d, %c, %d) {axis = 1}
    %f : ? = Concat(%e, %c) {axis = 1}
    %g : ? = Relu(%e)
    output %f
    output %g
  })");
}

TEST(Compiler, AValueReadAgainLaterIsNotOverwritten) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[4,16]
    %a : ? = Sigmoid(%x)
    %b : ? = Tanh(%a)
    %c : ? = Exp(%b)
    %d : ? = Transpose(%c) {perm = [1, 0]}
    %e : ? = Transpose(%a) {perm = [1, 0]}
    %f : ? = Mul(%d, %e)
    output %f
  })");
}

TEST(Compiler, AMultiLayerPerceptron) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[3,8]
    const %w : f32[5,8] = fill 0.25
    const %b : f32[5] = [0.1, 0.2, 0.3, -0.4, 0.5]
    %a : ? = Gemm(%x, %w, %b) {transB = 1}
    %r : ? = Relu(%a)
    %y : ? = Softmax(%r) {axis = -1}
    output %y
  })");
}

// Each message names the node, the operator, the opset, the supported types and where to report.
TEST(Compiler, NodeErrorsStateSupportAndWhereToReport) {
  const struct {
    const char *op, *opsets, *inputs, *outputs, *attributes, *cause;
  } kBad[] = {
      {"Resize", "\"\": 17", "%x, _, %f4", "%y : ?", "mode = \"spline\"", "'spline'"},
      {"Resize", "\"\": 17", "%x, _, %f4", "%y : ?", "coordinate_transformation_mode = \"odd\"",
       "odd"},
      {"Resize", "\"\": 18", "%x, _, _, %s4", "%y : ?", "keep_aspect_ratio_policy = \"odd\"",
       "odd"},
      {"Pad", "\"\": 17", "%x, %s8", "%y : ?", "mode = \"odd\"", "odd"},
      {"GridSample", "\"\": 17", "%x, %grid", "%y : ?", "mode = \"odd\"", "odd"},
      {"Conv", "\"\": 17", "%x, %w", "%y : ?", "auto_pad = \"ODD\"", "ODD"},
      {"Conv", "\"\": 17", "%x, %w", "%y : ?", "group = 3", "group"},
      {"Conv", "\"\": 17", "%x, %w", "%y : ?", "strides = \"2\"", "strides"},
      {"LpPool", "\"\": 1", "%x", "%y : ?", "kernel_shape = [2, 2], p = 2.5", "2.5"},
      {"LpPool", "\"\": 17", "%x", "%y : ?", "kernel_shape = [2, 2], p = 2.0", "'p'"},
      {"ScatterElements", "\"\": 17", "%x, %s8, %x", "%y : ?", "reduction = \"odd\"", ""},
      {"DepthToSpace", "\"\": 17", "%x", "%y : ?", "blocksize = 2, mode = \"odd\"", "odd"},
      {"Cast", "\"\": 17", "%x", "%y : ?", "to = 99", "99"},
      {"Cast", "\"\": 17", "%c", "%y : ?", "to = 1", ""},
      {"Einsum", "\"\": 17", "%x", "%y : ?", "equation = \"i->i\"", ""},
      {"Gelu", "\"\": 17", "%x", "%y : ?", "", "from opset 20 on"},
      {"Gelu", "\"\": 20", "%x", "%y : ?", "approximate = \"odd\"", "odd"},
      {"BatchNormalization", "\"\": 6", "%x, %f4, %f4, %f4, %f4", "%y : ?, %mean : ?, %var : ?",
       "is_test = 0", "the node trains"},
      {"LSTM", "\"\": 17", "%x", "%y : ?", "hidden_size = 2", ""},
      {"TopK", "\"\": 17", "%x", "%y : ?", "", "input 1 is required"},
      {"Add", "\"\": 17", "%x, %f8", "%y : ?", "", ""},
      {"com.microsoft.SkipLayerNormalization", "\"\": 17, \"com.microsoft\": 1", "%x", "%y : ?", "",
       "input 1 is required"},
      {"com.microsoft.RotaryEmbedding", "\"\": 17, \"com.microsoft\": 1", "%x3, %s8, %tab, %tab",
       "%y : ?", "num_heads = 1", "position_ids"},
      {"com.microsoft.NhwcConv", "\"\": 17, \"com.microsoft\": 1", "%x, %w", "%y : ?", "",
       "ORT_ENABLE_EXTENDED"},
      {"com.microsoft.nchwc.Conv", "\"\": 17, \"com.microsoft.nchwc\": 1", "%x, %w", "%y : ?", "",
       "ORT_ENABLE_EXTENDED"},
      {"Unheard", "\"\": 17", "%x", "%y : ?", "", "not supported"},
      {"ai.onnx.ml.Normalizer", "\"\": 17, \"ai.onnx.ml\": 3", "%x", "%y : ?", "norm = \"odd\"",
       ""},
  };
  for (const auto& b : kBad) {
    const std::string text = fmt::format(R"(graph "g" opset {{{}}} {{
  input %x : f32[1,4,4,4]
  input %x3 : f32[1,3,4]
  input %c : c64[4]
  input %w : f32[4,4,1,1]
  input %grid : f32[1,2,2,2]
  const %f4 : f32[4] = fill 1.0
  const %f8 : f32[8] = fill 1.0
  const %s8 : s64[8] = fill 0
  const %s4 : s64[4] = fill 4
  const %tab : f32[8,2] = fill 0.5
  {} = {}({}) {{{}}}
  {}
}})",
                                         b.opsets, b.outputs, b.op, b.inputs, b.attributes,
                                         std::string_view(b.outputs).find(',') != std::string::npos
                                             ? "output %y\n  output %mean\n  output %var"
                                             : "output %y");
    try {
      compile_text(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      const std::string& m = e.message();
      for (const std::string& part :
           {std::string(b.op) + " node that makes 'y'", std::string("opset "), std::string(b.cause),
            std::string("open an issue with this line")})
        EXPECT_NE(m.find(part), std::string::npos) << part << " is not in: " << m;
      EXPECT_EQ(m.find('\n'), std::string::npos) << m;
    }
  }
}

// The node may be in a subgraph.
TEST(Compiler, AttributesThatNoOpsetHasAreAWarning) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[1,1,1,3]
    input %c : bool[]
    const %w : f32[1,1,1,1] = [2.0]
    %z : ? = Conv(%x, %w) {foo = 2}
    %y : ? = If(%c) {then_branch = graph "t" { %a : ? = Relu(%z) {foo = 2} output %a },
                     else_branch = graph "e" { %b : ? = Neg(%z) output %b }}
    output %y
  })";
  static int warnings;
  warnings = 0;
  set_log_receiver([](int32_t, const char* message) {
    warnings += std::string_view(message).find("no attribute 'foo'") != std::string_view::npos;
  });
  const compiler::Executable e = compile_text(text);
  set_log_receiver(nullptr);
  EXPECT_EQ(warnings, 2);
  const Tensor x = Tensor::of<float>({1, 1, 1, 3}, {{-1, 0, 2}});
  const Tensor y = run_executable(e, {{"x", x}, {"c", Tensor::scalar(true)}}).at("y");
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{0, 0, 4}));
}

TEST(Compiler, RefusesAttributesOfOtherOpsetsAndUnknownOnesIfStrict) {
  for (const char* const node :
       {"%y : ? = Conv(%x, %w) {foo = 2}",
        "%y : ? = AveragePool(%x) {kernel_shape = [1, 1], dilations = [1, 1]}",
        "%y : ? = If(%c) {then_branch = graph \"t\" { %a : ? = Relu(%x) {foo = 2}\n output %a },"
        " else_branch = graph \"e\" { %b : ? = Relu(%x)\n output %b }}"}) {
    try {
      compiler::Options options;
      options.strict = std::string_view(node).find("foo") != std::string_view::npos;
      compile_text(std::string("graph \"g\" opset {\"\": 17} {\n input %x : f32[1,1,3,3]\n const "
                               "%w : f32[1,1,1,1] = [1.0]\n input %c : bool[]\n") +
                       node + "\n output %y\n}",
                   options);
      ADD_FAILURE() << node;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("has no attribute"), std::string::npos) << e.message();
    }
  }
}

// Tests the blocked layout, epilogues, Concat in place, pooling, and the conversion back.
TEST(Compiler, AConvolutionalNetwork) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[2,3,12,10]
    const %w1 : f32[32,3,3,3] = fill 0.03125
    const %w2 : f32[32,32,3,3] = fill 0.0078125
    const %w3 : f32[20,64,1,1] = fill 0.0625
    const %b1 : f32[32] = fill 0.5
    %c1 : ? = Conv(%x, %w1, %b1) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}
    %r1 : ? = Relu(%c1)
    %c2 : ? = Conv(%r1, %w2) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %s2 : ? = Sigmoid(%c2)
    %m2 : ? = Mul(%c2, %s2)
    %a2 : ? = Add(%m2, %r1)
    %k : ? = Concat(%a2, %r1) {axis = 1}
    %c3 : ? = Conv(%k, %w3) {kernel_shape = [1, 1]}
    %p : ? = MaxPool(%c3) {kernel_shape = [2, 2], strides = [2, 2]}
    %g : ? = GlobalAveragePool(%p)
    %f : ? = Flatten(%g) {axis = 1}
    output %f
    output %c3
  })",
                          2e-5);
}

TEST(Compiler, SameInputGivesTheSameProgram) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[1,16,6,6]
    const %w : f32[16,16,3,3] = fill 0.5
    %a : ? = Conv(%x, %w) {kernel_shape = [3, 3]}
    %b : ? = Relu(%a)
    %y : ? = GlobalAveragePool(%b)
    output %y
  })";
  EXPECT_EQ(program::to_string(compile_text(text).program),
            program::to_string(compile_text(text).program));
}

TEST(Compiler, AnUnknownOperatorIsNamed) {
  try {
    compile_text(R"(graph "g" opset {"": 17, "com.example": 1} {
      input %x : f32[3]
      %y : ? = com.example.Strange(%x) "here"
      output %y
    })");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_NE(e.message().find("com.example.Strange node 'here'"), std::string::npos)
        << e.message();
  }
}

// Returns the kernels of a 3x3 convolution, each followed by its Winograd tile.
std::string kernels_of_convolution(compiler::Winograd winograd, int64_t size) {
  compiler::Options options;
  options.winograd = winograd;
  const compiler::Executable e = compile_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
    input %x : f32[1,64,{0},{0}]
    const %w : f32[64,64,3,3] = fill 0.5
    %y : ? = Conv(%x, %w) {{pads = [1, 1, 1, 1]}}
    output %y
  }})",
                                                          size),
                                              options);
  for (const auto& i : e.program.main) {
    const std::string& kernel = e.program.kernels[i.kernel];
    if (kernel == "conv_winograd") {
      const auto call = kernels::calls::decode<kernels::calls::ConvWinograd>(i.ints, i.floats);
      return fmt::format("{} {}", kernel, call.tile);
    }
    if (kernel.starts_with("conv")) return kernel;
  }
  return "";
}

TEST(Compiler, WinogradIsChosenByTheUser) {
  using compiler::Winograd;
  EXPECT_EQ(kernels_of_convolution(Winograd::off, 28), "conv");
  EXPECT_EQ(kernels_of_convolution(Winograd::exact, 28), "conv_winograd 2");
  EXPECT_EQ(kernels_of_convolution(Winograd::fast, 28), "conv_winograd 4");
  EXPECT_EQ(kernels_of_convolution(Winograd::fast, 4), "conv_dilated") << "where it is not faster";
}

TEST(Compiler, AConvolutionPacksAKernelThatIsComputedFromConstants) {
  const compiler::Executable e = compile_text(R"(graph "g" opset {"": 17} {
    input %x : f32[1,256,16,16]
    const %shape : s64[4] = [256, 256, 3, 3]
    const %row : f32[256,1,1,1] = fill 0.5
    const %zero : f32[] = 0.25
    %wide : ? = Expand(%row, %shape)
    %cos : ? = Cos(%wide)
    %part : ? = Div(%cos, %wide)
    %positive : ? = Greater(%part, %zero)
    %w : ? = Where(%positive, %part, %zero)
    %y : ? = Conv(%x, %w) {pads = [1, 1, 1, 1]}
    output %y
  })");
  EXPECT_EQ(fmt::format("{}", fmt::join(e.program.kernels, " ")), "block conv_winograd unblock");
}

// Collects the reports of the progress.
struct ProgressReports {
  std::vector<double> done;
  std::vector<std::string> what;
  std::function<void(double, std::string_view)> listen() {
    return [this](double d, std::string_view w) {
      done.push_back(d);
      what.emplace_back(w);
    };
  }
};

TEST(Compiler, ReportsProgress) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[4,4]
    %a : ? = MatMul(%x, %x)
    %b : ? = Softmax(%a)
    %y : ? = MatMul(%b, %x)
    output %y
  })");
  ProgressReports converting, compiling;
  compiler::Options options;
  options.progress = converting.listen();
  compiler::convert(*graph, options);
  const size_t passes = compiler::converter_pipeline({}).size();
  ASSERT_EQ(converting.done.size(), passes);
  for (size_t i = 0; i < passes; i++) {
    EXPECT_DOUBLE_EQ(converting.done[i], static_cast<double>(i + 1) / static_cast<double>(passes));
    EXPECT_EQ(converting.what[i], "PopRT conversion");
  }
  options.progress = compiling.listen();
  compiler::compile(*graph, options);
  // The passes are half of the progress, and the nodes are the other half.
  const size_t first = compiler::compile_pipeline({}).size(), nodes = graph->node_count();
  ASSERT_EQ(compiling.done.size(), first + nodes);
  for (size_t i = 0; i < first; i++)
    EXPECT_NEAR(compiling.done[i], 0.5 * static_cast<double>(i + 1) / static_cast<double>(first),
                1e-12);
  for (size_t i = 0; i < nodes; i++)
    EXPECT_DOUBLE_EQ(compiling.done[first + i],
                     0.5 + 0.5 * static_cast<double>(i + 1) / static_cast<double>(nodes));
  for (const std::string& what : compiling.what) EXPECT_EQ(what, "Graph compilation");
}

// Passes that options request run first, and are not counted.
TEST(Compiler, ProgressIsZeroBeforeTheFirstPass) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[4]
    %y : ? = Relu(%x)
    output %y
  })");
  ProgressReports error_text;
  compiler::Options options;
  options.requested = {"merge_if_with_same_cond"};
  options.progress = error_text.listen();
  compiler::convert(*graph, options);
  ASSERT_EQ(error_text.done.size(), 1 + compiler::converter_pipeline({}).size());
  EXPECT_EQ(error_text.done[0], 0);
  EXPECT_GT(error_text.done[1], 0);
}

// Sizes of results stay wide, also if other integers become narrow.
TEST(Compiler, SizesStayWideWhereIntegersBecomeNarrow) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[4]
    input %k : s64[2]
    %at : ? = NonZero(%x)
    %y : ? = Neg(%at)
    %alone:shape : ? = Neg(%k)
    output %y
    output %alone:shape
  })";
  compiler::Options narrow, named;
  narrow.narrow_int64 = true;
  named.passes = {"int64_to_int32"};
  for (const compiler::Options& options : {narrow, named}) {
    const std::string quoted = [&] {
      std::string t = text;
      for (size_t at; (at = t.find("%alone:shape")) != t.npos;)
        t.replace(at, 12, "%\"alone:shape\"");
      return t;
    }();
    const compiler::Executable e = compile_text(quoted, options);
    std::map<std::string, std::string> types;
    for (const auto& output : e.program.outputs)
      types[output.name] = std::string(dtype_name(output.dtype)) + shape_string(output.shape);
    EXPECT_EQ(types, (std::map<std::string, std::string>{
                         {"y", "s32[1,4]"}, {"y:shape", "s64[2]"}, {"alone:shape", "s32[2]"}}));
    const auto got = run_executable(
        e, {{"x", Tensor::of<float>({4}, {0, 1, 0, 2})}, {"k", Tensor::of<int32_t>({2}, {3, -4})}});
    EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(got.at("alone:shape").to_int64s(), (std::vector<int64_t>{-3, 4}));
  }
}

// The result does not depend on the order of the nodes in the model.
TEST(Compiler, SizesBeforeTheirResultStayWide) {
  compiler::Options narrow;
  narrow.narrow_int64 = true;
  const compiler::Executable e = compile_text(R"(graph "g" opset {"": 17} {
    input %x : f32[4]
    input %k : s64[1]
    %"y:shape" : ? = Neg(%k)
    %y : ? = Neg(%x)
    output %"y:shape"
    output %y
  })",
                                              narrow);
  EXPECT_EQ(e.program.outputs[0].name, "y:shape");
  EXPECT_EQ(e.program.outputs[0].dtype, DType::s64);
}

TEST(Compiler, StoresTheMetadataOfTheModelAsNotes) {
  const auto graph = ir::parse_text(R"(graph "named" opset {"": 17} {
    input %x : f32[4]
    %y : ? = Relu(%x)
    output %y
  })");
  graph->metadata = {{"producer_name", "me"}, {"producer_version", "3"},
                     {"domain", "com.me"},    {"model_version", "4"},
                     {"doc_string", "says"},  {"graph.doc_string", "more"},
                     {"ir_version", "8"},     {"prop.poprt.own", "nobody's"},
                     {"prop.author", "you"},  {"prop.HostConcatRunnerConfig", "{\"a\": 1}"}};
  compiler::convert(*graph, {});
  const auto notes = compiler::compile(*graph, {}).notes;
  EXPECT_EQ(notes, (std::map<std::string, std::string>{
                       {"HostConcatRunnerConfig", "{\"a\": 1}"},
                       {"onnx_metadata",
                        R"({"producer_name":"me","producer_version":"3","domain":"com.me",)"
                        R"("model_version":"4","doc_string":"says","graph.doc_string":"more",)"
                        R"("prop.HostConcatRunnerConfig":"{\"a\": 1}",)"
                        R"("prop.author":"you","graph_name":"named"})"}}));
}

TEST(Compiler, StopsAfterTheNamedPass) {
  const auto passes_of = [](const char* name) {
    const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[4]
    %y : ? = Relu(%x)
    output %y
  })");
    std::vector<std::string> ran;
    compiler::Options options;
    options.stop_after = name;
    options.after_pass = [&](const passes::PassReport& report, const ir::Graph&) {
      ran.emplace_back(report.name);
    };
    compiler::convert(*graph, options);
    const size_t converted = ran.size();
    compiler::compile(*graph, options);
    EXPECT_GT(ran.size(), converted);
    return std::pair(converted, ran.back());
  };
  EXPECT_EQ(passes_of("constant_folding").first, 5u) << "of the converter";
  EXPECT_EQ(passes_of("expand_operators").second, "expand_operators");
  EXPECT_EQ(passes_of("linear_fusion").second, "linear_fusion");
  EXPECT_EQ(passes_of("").second, "sort_graph");
}

// A model that imports only another domain has no version of ai.onnx. Passes then create nodes of a
// newer opset.
TEST(Compiler, NodesThatPassesMakeHaveAnOpset) {
  const auto opset_of = [](const char* opsets) {
    const auto graph = ir::parse_text(fmt::format(
        "graph \"g\" opset {{{}}} {{ input %x : f32[2] %y : ? = com.microsoft.FastGelu(%x) output "
        "%y }}",
        opsets));
    compiler::convert(*graph, {});
    return graph->opsets.contains("") ? graph->opsets.at("") : 0;
  };
  EXPECT_EQ(opset_of("\"com.microsoft\": 1"), 21);
  EXPECT_EQ(opset_of("\"com.microsoft\": 1, \"\": 13"), 13);
  EXPECT_EQ(opset_of("\"com.microsoft\": 1, \"ai.onnx\": 13"), 0);
}

// Exporters that keep the bias of a convolution as an Add put it before BatchNormalization.
TEST(Compiler, MergesAddsOnBothSidesOfBatchNormalizationIntoAConvolution) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[1,2,3,3]
    const %w : f32[1,2,1,1] = [2.0, 4.0]
    const %before : f32[1,1,1] = [3.0]
    const %after : f32[1,1,1,1] = [0.25]
    const %scale : f32[1] = [1.5]
    const %shift : f32[1] = [0.5]
    const %mean : f32[1] = [1.0]
    const %var : f32[1] = [9.0]
    %c = Conv(%x, %w) {kernel_shape = [1, 1]}
    %a = Add(%c, %before)
    %n = BatchNormalization(%a, %scale, %shift, %mean, %var) {epsilon = 0.0}
    %s = Add(%after, %n)
    %y = Relu(%s)
    output %y
  })");
  compiler::convert(*graph, {});
  std::string ops;
  for (const ir::Node* n : graph->nodes()) ops += n->op_type + " ";
  ASSERT_EQ(ops, "Conv Relu ");
  const ir::Node& conv = *graph->nodes().front();
  EXPECT_EQ(conv.input(1)->constant().to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(conv.input(2)->constant().to_doubles(), (std::vector<double>{1.75}));  // (3-1)/2+0.75
}

// An unknown operator is reported before other errors of the node.
TEST(Compiler, AnUnknownOperatorWithAttributesIsNamed) {
  try {
    compiler::Options options;
    options.strict = true;
    compile_text(
        "graph \"g\" opset {\"\": 17} { input %x : f32[2] %y : ? = Unheard(%x) {foo = 2} "
        "output %y }",
        options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_NE(e.message().find("Unheard"), std::string::npos) << e.message();
  }
}

// Models whose parts become one node, or disappear.
const std::pair<const char*, const char*> kBodies[] = {
    {"Shapes", R"(
    input %x : f32[2,3,4]
    const %zero : s64[1] = [0]
    const %minus : s64[1] = [-1]
    %s : ? = Shape(%x)
    %b : ? = Gather(%s, %zero)
    %t : ? = Concat(%b, %minus) {axis = 0}
    %r : f32[2,12] = Reshape(%x, %t)
    %n : ? = Shape(%r)
    %f : f32[2,12] = ConstantOfShape(%n)
    %y : ? = Add(%r, %f))"},
    {"Arithmetic", R"(
    input %x : f32[3]
    const %a : f32[3] = [1.0, 2.0, 3.0]
    const %b : f32[] = 2.0
    %c : ? = Mul(%a, %b)
    %d : ? = Sub(%c, %a)
    %e : ? = Mul(%x, %d)
    %f : ? = Mul(%e, %b)
    %y : ? = Add(%f, %d))"},
    {"Convolution", R"(
    input %x : f32[1,16,8,8]
    const %w : f32[16,16,3,3] = fill 0.01
    const %scale : f32[16] = fill 1.5
    const %shift : f32[16] = fill 0.25
    const %mean : f32[16] = fill 0.125
    const %var : f32[16] = fill 0.5
    const %pads : s64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
    %p : ? = Pad(%x, %pads)
    %c : ? = Conv(%p, %w)
    %n : ? = BatchNormalization(%c, %scale, %shift, %mean, %var)
    %r : ? = Relu(%n)
    %d : ? = Conv(%r, %w) {pads = [1, 1, 1, 1]}
    %a : ? = Add(%d, %x)
    %s : ? = Sigmoid(%a)
    %m : ? = Mul(%a, %s)
    %q : ? = MaxPool(%m) {kernel_shape = [2, 2], strides = [2, 2]}
    %g : ? = GlobalAveragePool(%q)
    %y : ? = Flatten(%g))"},
    {"Attention", R"(
    input %x : f32[1,8,32]
    const %wq : f32[32,32] = fill 0.02
    const %wk : f32[32,32] = fill 0.03
    const %wv : f32[32,32] = fill 0.04
    const %heads : s64[4] = [1, 8, 4, 8]
    const %whole : s64[3] = [1, 8, 32]
    const %scale : f32[] = 0.35
    %q : ? = MatMul(%x, %wq)
    %k : ? = MatMul(%x, %wk)
    %v : ? = MatMul(%x, %wv)
    %q4 : ? = Reshape(%q, %heads)
    %k4 : ? = Reshape(%k, %heads)
    %v4 : ? = Reshape(%v, %heads)
    %qt : ? = Transpose(%q4) {perm = [0, 2, 1, 3]}
    %kt : ? = Transpose(%k4) {perm = [0, 2, 3, 1]}
    %vt : ? = Transpose(%v4) {perm = [0, 2, 1, 3]}
    %l : ? = MatMul(%qt, %kt)
    %ls : ? = Mul(%l, %scale)
    %p : ? = Softmax(%ls)
    %o : ? = MatMul(%p, %vt)
    %ot : ? = Transpose(%o) {perm = [0, 2, 1, 3]}
    %y : ? = Reshape(%ot, %whole))"},
    {"Normalization", R"(
    input %x : f32[4,32]
    const %w : f32[32,32] = fill 0.05
    const %b : f32[32] = fill 0.5
    const %two : f32[] = 2.0
    const %eps : f32[] = 0.00001
    const %half : f32[] = 0.5
    const %one : f32[] = 1.0
    const %root : f32[] = 1.4142135
    %l : ? = MatMul(%x, %w)
    %h : ? = Add(%l, %b)
    %m : ? = ReduceMean(%h) {axes = [-1]}
    %d : ? = Sub(%h, %m)
    %sq : ? = Pow(%d, %two)
    %v : ? = ReduceMean(%sq) {axes = [-1]}
    %ve : ? = Add(%v, %eps)
    %sd : ? = Sqrt(%ve)
    %n : ? = Div(%d, %sd)
    %g : ? = Mul(%n, %b)
    %q : ? = Div(%g, %root)
    %er : ? = Erf(%q)
    %e1 : ? = Add(%er, %one)
    %ge : ? = Mul(%g, %e1)
    %y : ? = Mul(%ge, %half))"},
    {"Quantized", R"(
    input %x : f32[4,32]
    const %w : s8[32,32] = fill 3
    const %s : f32[] = 0.05
    const %z : u8[] = 100
    const %t : f32[] = 0.01
    const %u : s8[] = 0
    %q : ? = QuantizeLinear(%x, %s, %z)
    %dq : ? = DequantizeLinear(%q, %s, %z)
    %dw : ? = DequantizeLinear(%w, %t, %u)
    %p : ? = MatMul(%dq, %dw)
    %pq : ? = QuantizeLinear(%p, %s, %z)
    %pd : ? = DequantizeLinear(%pq, %s, %z)
    %y : ? = Relu(%pd))"},
    {"Recurrent", R"(
    input %x : f32[3,1,8]
    const %w : f32[1,32,8] = fill 0.1
    const %r : f32[1,32,8] = fill 0.2
    const %axes : s64[1] = [1]
    %h : ?, %last : ?, %cell : ? = LSTM(%x, %w, %r) {hidden_size = 8}
    %k : ? = Squeeze(%h, %axes)
    %c : ? = Concat(%k, %x) {axis = 2}
    %a : ?, %b : ? = Split(%c) {axis = 2}
    %y : ? = Mul(%a, %b))"},
};

class Exposed : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

// A debugger requests each value in addition to the result, and then all values together.
TEST_P(Exposed, AnyValueMayBeAnOutput) {
  const std::string body = std::string("graph \"g\" opset {\"\": 13} {") + GetParam().second;
  std::string all;
  const auto graph = ir::parse_text(body + "\n output %y\n}");
  for (const ir::Node* n : graph->nodes())
    for (const ir::Value* v : n->outputs()) {
      if (v->name() == "y") continue;
      const std::string out = "\n output %" + v->name();
      all += out;
      SCOPED_TRACE(v->name());
      expect_compiles_to_same(body + "\n output %y" + out + "\n}");
    }
  expect_compiles_to_same(body + all + "\n output %y\n}");
}

INSTANTIATE_TEST_SUITE_P(Models, Exposed, ::testing::ValuesIn(kBodies),
                         [](const auto& test) { return std::string(test.param.first); });

// The scales are short decimals, so some sums are exactly between two steps, and the type in which
// they are computed decides how they are rounded. In ONNX's specification, it is f32.
TEST(Compiler, SharedQuantizationsRoundAsStepsInF32Do) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[64,64]
    input %v : f32[64,64]
    const %sx : f32[] = 0.02
    const %sv : f32[] = 0.021
    const %sa : f32[] = 0.04
    const %z : u8[] = 117
    const %w : f32[64,64] = fill 0.5
    %q : ? = QuantizeLinear(%x, %sx, %z)
    %p : ? = QuantizeLinear(%v, %sv, %z)
    %d1 : ? = DequantizeLinear(%q, %sx, %z)
    %d2 : ? = DequantizeLinear(%q, %sx, %z)
    %d3 : ? = DequantizeLinear(%q, %sx, %z)
    %e : ? = DequantizeLinear(%p, %sv, %z)
    %sum : ? = Add(%d1, %e)
    %twice : ? = Add(%d1, %d2)
    %product : ? = Mul(%d2, %e)
    %pq : ? = QuantizeLinear(%product, %sx, %z)
    %sq : ? = QuantizeLinear(%sum, %sa, %z)
    %tq : ? = QuantizeLinear(%twice, %sa, %z)
    %m : ? = MatMul(%d3, %w)
    output %sq
    output %tq
    output %pq
    output %m
  })";
  const auto feeds = random_feeds(*ir::parse_text(text));
  const auto got = run_executable(compile_text(text), feeds);
  const auto bytes = [&](const char* name, size_t i) {
    return static_cast<int>(got.at(name).values<uint8_t>()[i]);
  };
  const auto quantized = [](float real, float scale) {
    const float steps = std::nearbyint(real / scale) + 117.0f;
    return static_cast<int>(std::min(std::max(steps, 0.0f), 255.0f));
  };
  for (size_t i = 0; i < 64 * 64; i++) {
    const int q = quantized(feeds.at("x").values<float>()[i], 0.02f);
    const int p = quantized(feeds.at("v").values<float>()[i], 0.021f);
    const float d = static_cast<float>(q - 117) * 0.02f, e = static_cast<float>(p - 117) * 0.021f;
    const float sum = d + e, twice = d + d, product = d * e;
    ASSERT_EQ(bytes("sq", i), quantized(sum, 0.04f)) << i;
    ASSERT_EQ(bytes("tq", i), quantized(twice, 0.04f)) << i;
    ASSERT_EQ(bytes("pq", i), quantized(product, 0.02f)) << i;
  }
}

// Pooling, Resize and Softmax between DequantizeLinear and QuantizeLinear compute the formula in
// f32 and round once: no result is more than half a step from the formula in real numbers.
TEST(Compiler, QuantizedPoolingResizeAndSoftmaxRoundOnce) {
  constexpr double kScale = 0.02, kResult = 0.005;
  constexpr int64_t kRows = 8, kColumns = 12;
  const auto quantized = [&](const std::string& node, const std::string& constants = "") {
    return compile_text(
        "graph \"g\" opset {\"\": 17} {\n input %x : s8[1,1,8,12]\n const %s : f32[] = 0.02\n"
        " const %t : f32[] = 0.005\n const %z : s8[] = -128\n" +
        constants + " %f : ? = DequantizeLinear(%x, %s, %z)\n %a : ? = " + node +
        "\n %y : ? = QuantizeLinear(%a, %t, %z)\n output %y\n}\n");
  };
  std::mt19937 rng(3);
  Tensor x = Tensor::zeros(DType::s8, {1, 1, kRows, kColumns});
  // The numbers are small, so results are in range.
  for (int8_t& v : x.mutable_values<int8_t>())
    v = static_cast<int8_t>(static_cast<int>(rng() % 60) - 128);
  const std::vector<double> q = x.to_doubles();
  const auto real = [&](int64_t row, int64_t column) {
    return (q[static_cast<size_t>(row * kColumns + column)] + 128) * kScale;
  };
  const auto check = [&](const compiler::Executable& e, int64_t rows, int64_t columns,
                         const std::function<double(int64_t, int64_t)>& formula) {
    const std::vector<double> y = run_executable(e, {{"x", x}}).at("y").to_doubles();
    ASSERT_EQ(y.size(), static_cast<size_t>(rows * columns));
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < columns; c++) {
        const double wanted = std::clamp(formula(r, c) / kResult - 128, -128.0, 127.0);
        EXPECT_LE(std::abs(y[static_cast<size_t>(r * columns + c)] - wanted), 0.5001)
            << r << " " << c;
      }
  };
  const auto mean = [&](int64_t r, int64_t c) {
    return (real(2 * r, 2 * c) + real(2 * r, 2 * c + 1) + real(2 * r + 1, 2 * c) +
            real(2 * r + 1, 2 * c + 1)) /
           4;
  };
  for (const char* ceil : {"0", "1"})
    check(quantized(std::string(
                        "AveragePool(%f) {kernel_shape = [2, 2], strides = [2, 2], ceil_mode = ") +
                    ceil + ", count_include_pad = " + ceil + "}"),
          kRows / 2, kColumns / 2, mean);
  check(quantized("Softmax(%f) {axis = 3}"), kRows, kColumns, [&](int64_t r, int64_t c) {
    double sum = 0;
    for (int64_t k = 0; k < kColumns; k++) sum += std::exp(real(r, k));
    return std::exp(real(r, c)) / sum;
  });
  check(quantized("Resize(%f, _, %by) {mode = \"linear\"}", " const %by : f32[4] = [1, 1, 2, 2]\n"),
        2 * kRows, 2 * kColumns, [&](int64_t r, int64_t c) {
          const auto at = [](int64_t o, int64_t n) {
            const double place = std::clamp((static_cast<double>(o) + 0.5) / 2 - 0.5, 0.0,
                                            static_cast<double>(n - 1));
            return std::pair(static_cast<int64_t>(place), place - std::floor(place));
          };
          const auto [row, down] = at(r, kRows);
          const auto [column, right] = at(c, kColumns);
          const int64_t below = std::min(row + 1, kRows - 1),
                        next = std::min(column + 1, kColumns - 1);
          return (real(row, column) * (1 - right) + real(row, next) * right) * (1 - down) +
                 (real(below, column) * (1 - right) + real(below, next) * right) * down;
        });
}

// Returns the steps that compiling a graph of `nodes` nodes takes. `line` returns the line of node
// i.
uint64_t work_of(int nodes, const std::function<std::string(int)>& line) {
  std::string text = "graph \"g\" opset {\"\": 17} {\ninput %x : f32[2,2]\n%v0 : ? = Softmax(%x)\n";
  for (int i = 1; i < nodes; i++) text += line(i);
  const auto graph = ir::parse_text(text + fmt::format("output %v{}\n}}", nodes - 1));
  const uint64_t before = ir::work_done;
  compiler::Options options;
  compiler::convert(*graph, options);
  compiler::compile(*graph, options);
  return ir::work_done - before;
}

void expect_linear_work(const std::function<std::string(int)>& line) {
  const uint64_t few = work_of(300, line), many = work_of(2400, line);
  EXPECT_GT(few, 300u);
  EXPECT_LT(many, 12 * few) << "8 times the nodes";
}

TEST(CompilerWork, GrowsWithTheLengthOfAChain) {
  expect_linear_work([](int i) {
    return fmt::format("%v{} : ? = {}(%v{})\n", i, i % 2 ? "Relu" : "Softmax", i - 1);
  });
}

TEST(CompilerWork, GrowsWithTheNumberOfWeights) {
  expect_linear_work([](int i) {
    return fmt::format(
        "const %w{} : f32[2,2] = [{}.0, 1.0, 2.0, 3.0]\n%m{} : ? = MatMul(%v{}, %w{})\n"
        "%v{} : ? = Softmax(%m{})\n",
        i, i, i, i - 1, i, i, i);
  });
}

// Some passes rewrite all readers of a value, from the first to the last.
TEST(CompilerWork, GrowsWithTheReadersOfAValue) {
  expect_linear_work([](int i) {
    return fmt::format(
        "%i{} : ? = Identity(%x)\n%a{} : ? = Add(%i{}, %v{})\n%v{} : ? = Softmax(%a{})\n", i, i, i,
        i - 1, i, i);
  });
  // Here the value with many readers is elementwise, so it may join a group with each of them.
  expect_linear_work([](int i) {
    return fmt::format("%i{} : ? = Relu(%x)\n%v{} : ? = Add(%i{}, %v{})\n", i, i, i, i - 1);
  });
}

}  // namespace
}  // namespace poprt::test

#include "core/passes/batch_norm_case.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(ConstantFolding, ShapeArithmeticDisappears) {
  const auto graph = parsed(R"(
    input %x : f32[2,3,4]
    const %zero : s64[1] = [0]
    const %minus : s64[1] = [-1]
    %s = Shape(%x)
    %b = Gather(%s, %zero)
    %t = Concat(%b, %minus) {axis = 0}
    %y = Reshape(%x, %t)
    %n = Shape(%y)
    %z = Reshape(%y, %n)
    output %z
  )");
  run(*graph, {"constant_folding", "eliminate_unused_initializer"});
  EXPECT_EQ(ops_of(*graph), "Reshape Reshape");
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{2, 12}));
}

// With a limit of 0 bytes nothing is folded; the parameter of the pass overrides the option.
TEST(ConstantFolding, FoldsNoResultAboveTheSizeLimit) {
  const auto left = [](const char* parameter, int64_t option) {
    const auto graph = parsed(R"(
      const %a : f32[2] = [1.0, 2.0]
      input %x : f32[2]
      %b = Neg(%a)
      %y = Add(%x, %b)
      output %y
    )");
    const std::vector<passes::PassCall> calls{
        {&passes::pass_of("constant_folding"), {{"max_tensor_size", parameter}}}};
    passes::run_passes(*graph, calls, {.max_tensor_size = option});
    return ops_of(*graph);
  };
  EXPECT_EQ(left("-1", -1), "Add");
  EXPECT_EQ(left("0", -1), "Neg Add");
  EXPECT_EQ(left("7", -1), "Neg Add");
  EXPECT_EQ(left("8", -1), "Add");
  EXPECT_EQ(left("-1", 0), "Neg Add");
  EXPECT_EQ(left("-1", 7), "Neg Add");
  EXPECT_EQ(left("-1", 8), "Add");
  EXPECT_EQ(left("8", 0), "Add");
  EXPECT_EQ(left("0", 8), "Neg Add");
}

TEST(ConstantFolding, LargeResultsOfLittleStayNodes) {
  const char* text = R"(
    input %x : f32[1024,1024]
    const %one : f32[1,1] = [1.0]
    const %shape : s64[2] = [1024, 1024]
    %big = Expand(%one, %shape)
    %y = Add(%x, %big)
    output %y
  )";
  const auto graph = parsed(text);
  run(*graph, {"constant_folding"});
  EXPECT_EQ(ops_of(*graph), "Expand Add");
}

// Each graph makes 4 MiB or more from a few bytes, and the reader is an Add, which would have to
// read them from memory.
TEST(ConstantFolding, DoesNotStoreRepeatedElements) {
  for (const char* big : {
           "%big = ConstantOfShape(%shape) {value = f32[1] [2.0]}",
           "%big = Expand(%row, %shape)",
           "%big = Tile(%row, %times)",
           "%flat = Range(%zero, %end, %one)\n %big = Reshape(%flat, %shape)",
           "%w = Expand(%row, %shape)\n %big = Transpose(%w) {perm = [1, 0]}",
           "%mask = Expand(%row, %shape)\n %big = Trilu(%mask)",
       }) {
    const auto graph = parsed(std::string(R"(
      input %x : f32[1024,1024]
      const %shape : s64[2] = [1024, 1024]
      const %times : s64[2] = [1024, 1]
      const %row : f32[1,1024] = fill 0.5
      const %zero : f32[] = 0.0
      const %one : f32[] = 1.0
      const %end : f32[] = 1048576.0
      )") + big + "\n %y = Add(%x, %big)\n output %y");
    const size_t before = graph->node_count();
    run(*graph, {"constant_folding"});
    EXPECT_EQ(graph->node_count(), before) << big;
  }
}

// Results of up to one MiB, or twice the size of the inputs, are stored for any operator.
TEST(ConstantFolding, StoresSmallResultsAndResultsOfAboutTheSizeOfTheirOperands) {
  const struct {
    const char *big, *left;
  } all[] = {
      {"const %n : s64[1] = [262144]\n%big = Expand(%one, %n)", "Add"},
      {"const %n : s64[1] = [262145]\n%big = Expand(%one, %n)", "Expand Add"},
      {"const %row : f32[1,262145] = fill 0.5\n%big = Concat(%row, %row) {axis = 0}", "Add"},
      {"const %row : f32[1,262145] = fill 0.5\nconst %n : s64[2] = [3, 1]\n%big = Tile(%row, %n)",
       "Tile Add"},
  };
  for (const auto& c : all) {
    const auto graph = parsed(fmt::format(
        "input %x : f32[1]\nconst %one : f32[1] = [1.0]\n{}\n%y = Add(%x, %big)\noutput %y",
        c.big));
    run(*graph, {"constant_folding"});
    EXPECT_EQ(ops_of(*graph), c.left) << c.big;
  }
}

// The result is large, but a run would repeat much arithmetic.
TEST(ConstantFolding, StoresResultsOfLongComputations) {
  const auto graph = parsed(R"(
    input %x : f32[1024,1024]
    const %frequency : f32[1,1024] = fill 0.01
    const %zero : f32[] = 0.0
    const %one : f32[] = 1.0
    const %end : f32[] = 1024.0
    const %axes : s64[1] = [1]
    %at = Range(%zero, %end, %one)
    %column = Unsqueeze(%at, %axes)
    %angle = Mul(%column, %frequency)
    %wave = Cos(%angle)
    %curve = Pow(%wave, %at)
    %sine = Sin(%curve)
    %y = Add(%x, %sine)
    output %y
  )");
  const auto before = graph->clone();
  run(*graph, {"constant_folding", "eliminate_unused_initializer"});
  EXPECT_EQ(ops_of(*graph), "Add");
  expect_same_results(*before, *graph);
}

// A weight is folded however it is computed, because products pack it.
TEST(ConstantFolding, WeightsAreFoldedWhateverMakesThem) {
  for (const char* reader : {
           "%y = MatMul(%x, %big)",
           "%y = Gemm(%x, %big)",
           "%w = Reshape(%big, %kernel)\n %i = Reshape(%x, %image)\n %y = Conv(%i, %w)",
           "%w = Reshape(%big, %kernel)\n %i = Reshape(%x, %image)\n %y = ConvTranspose(%i, %w)",
           "%w = Reshape(%big, %gates)\n %i = Reshape(%x, %steps)\n"
           " %r = Reshape(%small, %hidden)\n %y = RNN(%i, %w, %r) {hidden_size = 512}",
           "%q, %s, %z = DynamicQuantizeLinear(%x)\n %b = Cast(%big) {to = 3}\n"
           " %y = MatMulInteger(%q, %b, %z)",
       }) {
    const auto graph = parsed(std::string(R"(
      input %x : f32[2,512]
      const %shape : s64[2] = [512, 1024]
      const %kernel : s64[4] = [512, 512, 1, 2]
      const %image : s64[4] = [1, 512, 1, 2]
      const %gates : s64[3] = [1, 512, 1024]
      const %steps : s64[3] = [1, 1, 1024]
      const %hidden : s64[3] = [1, 512, 512]
      const %small : f32[512,512] = fill 0.5
      const %row : f32[1,1024] = fill 0.5
      const %zero : f32[] = 0.25
      %wide = Expand(%row, %shape)
      %cos = Cos(%wide)
      %part = Div(%cos, %wide)
      %positive = Greater(%part, %zero)
      %big = Where(%positive, %part, %zero)
      )") + reader + "\n output %y");
    run(*graph, {"constant_folding"});
    EXPECT_EQ(ops_of(*graph).find("Expand"), std::string::npos) << reader;
    EXPECT_EQ(ops_of(*graph).find("Where"), std::string::npos) << reader;
    for (const ir::Value* v : graph->nodes().back()->inputs())
      EXPECT_TRUE(!v || v->type.is_static());
  }
}

// A small result depends on a large value, which another node also reads.
TEST(ConstantFolding, FoldsASmallResultWithoutStoringALargeStep) {
  const auto graph = parsed(R"(
    input %x : f32[1024,1024]
    const %shape : s64[2] = [1024, 1024]
    const %row : f32[1,1024] = fill 0.5
    %big = Expand(%row, %shape)
    %sum = ReduceSum(%big) {keepdims = 0}
    %a = Add(%x, %big)
    %y = Mul(%a, %sum)
    output %y
  )");
  const auto before = graph->clone();
  run(*graph, {"constant_folding"});
  EXPECT_EQ(ops_of(*graph), "Expand Add Mul");
  expect_same_results(*before, *graph);
}

// Each result has 64 MiB, and each alone would be worth storing.
TEST(ConstantFolding, TheFileDoesNotGrowWithoutEnd) {
  std::string text =
      "input %x : f32[4096,4096]\n const %row : f32[1,4096] = fill 0.5\n"
      " const %column : f32[4096,1] = fill 0.5\n %x0 = Neg(%x)\n";
  for (int i = 0; i < 3; i++)
    text += fmt::format(
        " %a{0} = Mul(%row, %column)\n %b{0} = Cos(%a{0})\n %c{0} = Erf(%b{0})\n"
        " %d{0} = Sin(%c{0})\n %e{0} = Tan(%d{0})\n %x{1} = Add(%x{0}, %e{0})\n",
        i, i + 1);
  const auto graph = parsed(text + " output %x3");
  run(*graph, {"constant_folding"});
  uint64_t constants = 0;
  for (const ir::Value* v : graph->values())
    if (v->is_constant()) constants += v->constant().bytes();
  EXPECT_LE(constants, uint64_t{65} << 20);
}

TEST(ConstantFolding, QuantizedWeightsStayQuantized) {
  const auto graph = parsed(R"(
    input %x : f32[2,4]
    const %w : s8[4,4] = fill 3
    const %s : f32[] = 0.5
    %d = DequantizeLinear(%w, %s)
    %t = Transpose(%d) {perm = [1, 0]}
    %y = MatMul(%x, %t)
    output %y
  )");
  run(*graph, {"constant_folding"});
  EXPECT_EQ(ops_of(*graph), "DequantizeLinear Transpose MatMul");
}

// Readers receive a constant, and the value is still an output of the graph.
TEST(ConstantFolding, AnOutputOnTheWayToAShapeIsFoldedForItsReaders) {
  const auto graph = parsed(R"(
    input %x : f32[2,3,4]
    const %zero : s64[1] = [0]
    const %minus : s64[1] = [-1]
    %s = Shape(%x)
    %b = Gather(%s, %zero)
    %t = Concat(%b, %minus) {axis = 0}
    %y = Reshape(%x, %t)
    output %s
    output %b
    output %t
    output %y
    output %t
  )");
  run(*graph, {"constant_folding", "eliminate_unused_initializer"});
  EXPECT_EQ(graph->find("y")->shape(), (Shape{2, 12}));
  EXPECT_EQ(ops_of(*graph), "Identity Identity Identity Reshape");
  const auto results = evaluate_graph(*graph, random_feeds(*graph));
  EXPECT_EQ(results.at("s").to_int64s(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(results.at("b").to_int64s(), (std::vector<int64_t>{2}));
  EXPECT_EQ(results.at("t").to_int64s(), (std::vector<int64_t>{2, -1}));
  EXPECT_EQ(graph->outputs()[2], graph->outputs()[4]);
  const size_t nodes = graph->node_count();
  run(*graph, {"constant_folding"});
  EXPECT_EQ(graph->node_count(), nodes) << "done is done";
}

TEST(ConstantFolding, ABranchHandsOutConstantsByNodes) {
  const auto graph = parsed(R"(
    input %c : bool[]
    const %a : f32[2] = [1.0, 2.0]
    %y = If(%c) {then_branch = graph "t" {
      %t = Add(%a, %a)
      output %t
    }, else_branch = graph "e" {
      %m = Mul(%a, %a)
      %e = Neg(%m)
      output %e
    }}
    output %y
  )");
  run(*graph, {"constant_folding"});
  ir::for_each_subgraph(*graph->nodes()[0], [](const ir::Graph& branch) {
    EXPECT_EQ(branch.node_count(), 1u);
    EXPECT_TRUE(branch.nodes()[0]->is("Identity"));
  });
}

TEST(ConstantFolding, RespectsTheLimit) {
  const auto graph = parsed(R"(
    input %x : f32[4]
    const %a : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
    const %s : s64[1] = [4]
    %b = Reshape(%a, %s)
    %y = Concat(%x, %b) {axis = 0}
    output %y
  )");
  const passes::PassDef* list[] = {&passes::pass_of("constant_folding")};
  passes::run_passes(*graph, list, {.max_tensor_size = 8});
  EXPECT_EQ(graph->node_count(), 2u);
  passes::run_passes(*graph, list, {.max_tensor_size = 16});
  EXPECT_EQ(graph->node_count(), 1u);
}

// A matrix whose rows and columns repeat themselves, or nearly so.
struct Periods {
  const char* type;
  int64_t rows, columns, row_period, column_period;
  std::string block;  // the stored block and its count; empty if the matrix stays
  bool last_differs = false;
};

TEST(FoldPeriodicInitializer, StoresTheShortestPeriodOfEachAxisWhereThatSavesEnough) {
  const Periods all[] = {
      {"f32", 64, 16, 4, 2, "[4,2] x [16,8]"},
      {"u8", 64, 32, 1, 8, "[1,8] x [64,4]"},
      {"s64", 6, 40, 3, 40, ""},  // 960 bytes
      {"s64", 8, 40, 4, 40, "[4,40] x [2,1]"},
      {"f32", 64, 16, 32, 16, "[32,16] x [2,1]"},
      {"f32", 16, 64, 16, 32, "[16,32] x [1,2]"},
      {"f32", 257, 1, 1, 1, "[1,1] x [257,1]"},  // saves 1024 bytes
      {"f32", 256, 1, 1, 1, ""},                 // saves 1020
      {"f16", 1, 513, 1, 1, "[1,1] x [1,513]"},
      {"f32", 30, 16, 4, 16, ""},  // the period does not divide the rows
      {"f32", 32, 16, 32, 16, ""},
      {"f32", 64, 16, 4, 2, "", true},
      {"u4", 64, 64, 1, 1, ""},  // halves of bytes are not looked at
  };
  for (const Periods& p : all) {
    SCOPED_TRACE(
        fmt::format("{}[{},{}] {} {}", p.type, p.rows, p.columns, p.row_period, p.column_period));
    std::string values;
    for (int64_t r = 0; r < p.rows; r++)
      for (int64_t c = 0; c < p.columns; c++)
        values += fmt::format("{}{}", values.empty() ? "" : ", ",
                              (r % p.row_period * 3 + c % p.column_period) % 200);
    if (p.last_differs) values.back() = '9';
    const auto graph =
        parsed(fmt::format("const %c : {}[{},{}] = [{}]\n%y = Identity(%c)\noutput %y", p.type,
                           p.rows, p.columns, values),
               21);
    const auto before = graph->clone();
    run(*graph, {"fold_periodic_initializer"});
    EXPECT_EQ(ops_of(*graph), p.block.empty() ? "Identity" : "Tile Identity");
    if (p.block.empty()) continue;
    const ir::Node& tile = *graph->nodes()[0];
    const auto repeats = tile.input(1)->constant().to_int64s();
    EXPECT_EQ(fmt::format("{} x {}", shape_string(tile.input(0)->shape()),
                          shape_string({repeats.begin(), repeats.end()})),
              p.block);
    EXPECT_EQ(tile.output()->name(), "c");
    expect_same_results(*before, *graph, 0);
  }
}

TEST(ReplaceBnWithMulAdd, WhenNoConvolutionTakesIt) {
  expect_ops({"replace_bn_with_mul_add"}, std::string(kBatchNorm) + R"(
    input %x : f32[2,4,3]
    %y = BatchNormalization(%x, %scale, %shift, %mean, %var)
    output %y
  )",
             "Mul Add");
}

TEST(ReplaceDivWithMul, OnlyConstantsThatHaveAReciprocal) {
  expect_ops({"replace_div_with_mul"}, R"(
    input %x : f32[4]
    const %three : f32[] = 3.0
    %y = Div(%x, %three)
    output %y
  )",
             "Mul");
  expect_unchanged({"replace_div_with_mul"}, R"(
    input %x : f32[4]
    const %zero : f32[] = 0.0
    %y = Div(%x, %zero)
    output %y
  )");
}

TEST(TraceFolding, ResultsThatOverflowStayComputed) {
  for (const auto& [op, by] : {std::pair("Div", "-1"), {"Add", "-1"}, {"Sub", "1"}, {"Mul", "2"}}) {
    const auto graph = parsed(fmt::format(R"(
    input %x : f32[N,3]
    const %low : s64[1] = [-9223372036854775808]
    const %by : s64[1] = [{}]
    const %last : s64[1] = [2]
    %s = Shape(%x)
    %c = Concat(%s, %low) {{axis = 0}}
    %g = Gather(%c, %last)
    %r = {}(%g, %by)
    %y = Identity(%r)
    output %y
  )",
                                          by, op));
    run(*graph, {"trace_folding"});
    EXPECT_EQ(ops_of(*graph), fmt::format("{} Identity", op));
  }
}

// The type of %r is s64[?], so inference accepts two addends, although there are three elements.
TEST(TraceFolding, OperandsOfDifferentLengthsStay) {
  const auto graph = parsed(R"(
    input %x : f32[2,3,4]
    input %size : s64[1]
    const %two : s64[2] = [1, 2]
    %s = Shape(%x)
    %r = Reshape(%s, %size)
    %a = Add(%r, %two)
    %y = Neg(%a)
    output %y
  )");
  EXPECT_EQ(graph->find("a")->shape(), Shape{2});
  run(*graph, {"trace_folding"});
  EXPECT_NE(ops_of(*graph).find("Add Neg"), std::string::npos) << ops_of(*graph);
}

}  // namespace
}  // namespace poprt::test

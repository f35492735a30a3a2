#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/compiler/flow/sized_support.h"
#include "support/error_code.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(DataSizes, NonZeroHasABoundAndASize) {
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

TEST(DataSizes, CompressKeepsElementsOfARunTimeCondition) {
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

TEST(DataSizes, OutputsOfUniqueHaveSeparateSizes) {
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

Executable compile_contrib(const std::string& body) {
  return test::compile_text("graph \"g\" opset {\"\": 17, \"com.microsoft\": 1} {\n" + body +
                            "}\n");
}

// The values are those of NumPy and of ONNX Runtime 1.32.
TEST(DataSizes, DynamicTimeWarpingKeepsThePath) {
  const Executable e = compile_contrib(R"(
    input %x : f32[3,3]
    %y : ? = com.microsoft.DynamicTimeWarping(%x)
    output %y
  )");
  const Values got = run(e, {{"x", Tensor::of<float>({3, 3}, {0, 1, 2, 0, 1, 2, 0, 1, 2})}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(got.at("y").to_int64s(), (std::vector<int64_t>{0, 1, 2, 2, 2, 0, 0, 0, 1, 2}));
  const Values diagonal = run(e, {{"x", Tensor::of<float>({3, 3}, {0, 5, 5, 5, 0, 5, 5, 5, 0})}});
  EXPECT_EQ(diagonal.at("y:shape").to_int64s(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(diagonal.at("y").to_int64s(), (std::vector<int64_t>{0, 1, 2, -1, -1, 0, 1, 2, -1, -1}));
}

// The first tokens of %p that agree with %s from place 2 on, and the next one, follow %c.
TEST(DataSizes, BifurcationDetectorReturnsTheAcceptedTokens) {
  const Executable e = compile_contrib(R"(
    input %s : s64[7]
    input %c : s64[2]
    input %i : s64[1]
    input %p : s64[6]
    %y : ?, %found : ? = com.microsoft.BifurcationDetector(%s, %c, %i, %p) {min_ngram_size = 1, max_ngram_size = 3}
    output %y
    output %found
  )");
  const auto feed = [](const std::vector<int64_t>& predicted) {
    const auto of = [](const std::vector<int64_t>& v) {
      return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, std::span<const int64_t>(v));
    };
    return Values{
        {"s", of({2, 3, 4, 5, 3, 4, 6})}, {"c", of({2, 3})}, {"i", of({2})}, {"p", of(predicted)}};
  };
  Values got = run(e, feed({4, 5, 3, 9, 6, 1}));
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{6}));
  EXPECT_EQ(got.at("found").to_int64s(), (std::vector<int64_t>{-1}));
  got = run(e, feed({5, 9, 9, 9, 9, 9}));
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{3}));
  EXPECT_EQ(got.at("found").to_int64s(), (std::vector<int64_t>{4}));
}

TEST(DataSizes, AConvertedModelKeepsSizesThatDependOnData) {
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

// Returns the operators of a model that is only converted. None of them is of domain poprt.
std::multiset<std::string> converted_ops(const ir::Graph& graph) {
  std::multiset<std::string> names;
  for (const ir::Node* n : graph.nodes()) {
    EXPECT_TRUE(n->domain.empty()) << n->describe();
    names.insert(n->op_type);
  }
  return names;
}

TEST(DataSizes, AConvertedModelDoesNotTakeTheMostBoxesForTheirNumber) {
  const auto graph = ir::parse_text(graph_text(R"(
    input %b : f32[1,4,4]
    input %s : f32[1,1,4]
    const %most : s64[1] = [4]
    %boxes : ? = NonMaxSuppression(%b, %s, %most)
    %shape : ? = Shape(%boxes)
    const %zero : s64[] = 0
    const %one : s64[] = 1
    %rows : ? = Gather(%shape, %zero) {axis = 0}
    %y : ? = Range(%zero, %rows, %one)
    output %rows
    output %y
  )"));
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  EXPECT_EQ(converted_ops(*graph),
            (std::multiset<std::string>{"Gather", "NonMaxSuppression", "Range", "Shape"}));
  EXPECT_EQ(graph->outputs()[1]->type.shape, Shape{kUnknownDim});
}

TEST(DataSizes, AConvertedModelDoesNotTakeTheTripCountForTheRoundsOfALoopThatEndsEarly) {
  const std::string text = graph_text(R"(
    input %x : s64[]
    const %most : s64[] = 600
    const %start : bool[] = true
    %last : ?, %rows : ? = Loop(%most, %start, %x) { body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %s : s64[]
      const %limit : s64[] = 4
      %n : ? = Add(%s, %i)
      %more : ? = NEXT
      output %more
      output %n
      output %n } }
    output %rows
    output %last
  )");
  Options options;
  options.keep_onnx = true;
  const std::pair<const char*, int64_t> cases[] = {{"Less(%i, %limit)", kUnknownDim},
                                                   {"Identity(%c)", 600}};
  for (const auto& [next, rows] : cases) {
    const auto graph = ir::parse_text(replaced(text, "NEXT", next));
    convert(*graph, options);
    EXPECT_EQ(converted_ops(*graph), (std::multiset<std::string>{"Loop"})) << next;
    EXPECT_EQ(graph->outputs()[0]->type.shape, Shape{rows}) << next;
  }
}

// The condition of the first round is an input, so there may be no rounds.
TEST(DataSizes, ALoopThatMayNotBeginMakesRowsOfUnknownNumber) {
  const std::string text = graph_text(R"(
    input %x : s64[]
    input %start : bool[]
    const %most : s64[] = 600
    %last : ?, %y : ? = Loop(%most, %start, %x) { body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %s : s64[]
      %n : ? = Add(%s, %i)
      output %c
      output %n
      output %n } }
    output %last
    output %y
  )");
  const Executable e = test::compile_text(text);
  for (const bool start : {false, true}) {
    const auto got = run(e, {{"x", Tensor::scalar(int64_t{1})}, {"start", Tensor::scalar(start)}});
    EXPECT_EQ(got.at("y:shape").to_int64s(), std::vector<int64_t>{start ? 600 : 0});
    EXPECT_EQ(got.at("last").to_int64s()[0], start ? 1 + 599 * 300 : 1);
  }
  const auto graph = ir::parse_text(text);
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  EXPECT_EQ(graph->outputs()[1]->type.shape, Shape{kUnknownDim});
}

// Converts a model with a body that reads z, an unknown number of rows.
std::unique_ptr<ir::Graph> converted_rows(const std::string& body, int opset = 17) {
  auto graph = ir::parse_text(graph_text(
      "input %x : f32[5,3]\n input %c : bool[5]\n %z : ? = Compress(%x, %c) {axis = 0}\n" + body,
      opset));
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  return graph;
}

TEST(DataSizes, AConvertedModelKeepsAScanOfUnknownLength) {
  const auto graph = converted_rows(R"(
    const %w : f32[3] = [1.0, 2.0, 3.0]
    const %two : f32[] = 2.0
    %k : ? = Mul(%w, %two)
    %t : ?, %y : ? = Scan(%k, %z) {num_scan_inputs = 1, scan_output_axes = [1], body = graph "b" {
      input %a : f32[3]
      input %b : f32[3]
      %d : ? = Add(%a, %b)
      %e : ? = Mul(%d, %two)
      output %d
      output %e } }
    output %t
    output %y
  )");
  EXPECT_EQ(converted_ops(*graph), (std::multiset<std::string>{"Compress", "Scan"}));
  EXPECT_EQ(graph->outputs()[0]->type.shape, Shape{3});
  EXPECT_EQ(graph->outputs()[1]->type.shape, (Shape{3, kUnknownDim}));
}

// The Identity of the model is replaced by its input, which is already an output of the body.
TEST(DataSizes, ABodyThatAConvertedModelKeepsHasEachOutputOnce) {
  const auto graph = converted_rows(R"(
    const %w : f32[3] = [1.0, 2.0, 3.0]
    %t : ?, %y : ? = Scan(%w, %z) {num_scan_inputs = 1, body = graph "b" {
      input %a : f32[3]
      input %b : f32[3]
      %d : ? = Add(%a, %b)
      %e : ? = Identity(%d)
      output %d
      output %e } }
    output %t
    output %y
  )");
  const ir::Node* scan = graph->outputs()[0]->producer();
  ASSERT_TRUE(scan->is("Scan"));
  const auto body = std::get<std::shared_ptr<ir::Graph>>(*scan->find_attr("body"));
  EXPECT_NE(body->outputs()[0], body->outputs()[1]);
}

TEST(DataSizes, AConvertedModelKeepsSequencesOfUnknownLength) {
  const auto graph = converted_rows(R"(
    const %at : s64[] = 0
    %s : ? = SplitToSequence(%z) {keepdims = 0}
    %r : ? = SequenceErase(%s, %at)
    %w : ? = SequenceAt(%r, %at)
    %q : ? = SequenceInsert(%r, %w, %at)
    %n : ? = SequenceLength(%q)
    %y : ? = ConcatFromSequence(%q) {axis = 0, new_axis = 1}
    output %n
    output %w
    output %y
  )");
  EXPECT_EQ(
      converted_ops(*graph),
      (std::multiset<std::string>{"Compress", "ConcatFromSequence", "SequenceAt", "SequenceErase",
                                  "SequenceInsert", "SequenceLength", "SplitToSequence"}));
  EXPECT_EQ(ir::type_string(graph->outputs()[1]->type), "f32[*]");
  EXPECT_EQ(ir::type_string(graph->outputs()[2]->type), "f32[*]");
}

TEST(DataSizes, AConvertedModelJoinsRowsOfUnknownNumber) {
  const auto joined = converted_rows(R"(
    %s : ? = SequenceConstruct(%z, %x)
    %y : ? = ConcatFromSequence(%s) {axis = -2}
    output %y
  )");
  EXPECT_EQ(converted_ops(*joined), (std::multiset<std::string>{"Compress", "Concat"}));
  const auto stacked = converted_rows(R"(
    %s : ? = SequenceConstruct(%z, %z)
    %y : ? = ConcatFromSequence(%s) {axis = -1, new_axis = 1}
    output %y
  )");
  EXPECT_EQ(stacked->outputs()[0]->type.shape, (Shape{kUnknownDim, 3, 2}));
}

// A position that depends on data requires elements of equal shapes; other sequences are kept.
TEST(DataSizes, AConvertedModelKeepsASequenceWhosePlaceDependsOnData) {
  const auto graph = converted_rows(R"(
    const %zero : s64[] = 0
    const %one : s64[] = 1
    %s : ? = SequenceConstruct(%z, %x)
    %n : ? = Shape(%z)
    %m : ? = Gather(%n, %zero) {axis = 0}
    %at : ? = Min(%m, %one)
    %y : ? = SequenceAt(%s, %at)
    output %y
  )");
  EXPECT_EQ(converted_ops(*graph),
            (std::multiset<std::string>{"Compress", "Gather", "Min", "SequenceAt",
                                        "SequenceConstruct", "Shape"}));
  EXPECT_EQ(ir::type_string(graph->outputs()[0]->type), "f32[*]");
}

TEST(DataSizes, AConvertedModelHasNoSequenceOfUnknownLengthAsAnOutput) {
  test::expect_error([] { converted_rows("%s : ? = SplitToSequence(%z)\noutput %s\n"); },
                     ErrorCode::unimplemented,
                     "is a sequence whose number of elements depends on data");
}

TEST(DataSizes, AConvertedModelKeepsALoopWhoseStateGrows) {
  const auto graph = ir::parse_text(graph_text(R"(
    input %x : f32[2]
    input %most : s64[]
    %y : ? = Loop(%most, _, %x) { body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %s : f32[?]
      %n : ? = Concat(%s, %x) {axis = 0}
      output %c
      output %n } }
    output %y
  )"));
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  EXPECT_EQ(converted_ops(*graph), (std::multiset<std::string>{"Loop"}));
  EXPECT_EQ(graph->outputs()[0]->type.shape, Shape{kUnknownDim});
}

TEST(DataSizes, ReductionsIgnorePadding) {
  const std::pair<const char*, double> cases[] = {
      {"ReduceMax", 3},
      {"ReduceMin", -4},
      {"ReduceProd", -12},
      {"ReduceMean", 0},
      {"ReduceL1", 8},
      {"ReduceL2", std::sqrt(26)},
      {"ReduceSumSquare", 26},
      {"ReduceLogSumExp", std::log(std::exp(1) + std::exp(3) + std::exp(-4))}};
  for (const auto& [op, want] : cases) {
    const auto got = of_kept(std::string("%y : ? = ") + op + "(%z) {axes = [0], keepdims = 0}\n");
    ASSERT_EQ(got.size(), 1u) << op;
    EXPECT_NEAR(got[0], want, 1e-5) << op;
  }
  EXPECT_EQ(of_kept("%y : ? = ReduceSum(%z)\n"), std::vector<double>{0});
  EXPECT_EQ(of_kept("%w : ? = Exp(%z)\n%v : ? = Log(%w)\n%y : ? = ReduceMax(%v)\n").size(), 1u);
  EXPECT_EQ(of_kept("%y : ? = ArgMin(%z) {keepdims = 0}\n"), std::vector<double>{2});
}

TEST(DataSizes, AMeanOverAllDimensionsCountsRealRows) {
  const Executable e = compile_body(R"(
    input %x : f32[3,2]
    input %c : bool[3]
    %z : ? = Compress(%x, %c) {axis = 0}
    %y : ? = ReduceMean(%z) {keepdims = 0}
    output %y
  )");
  const auto got = real_part(run(e, {{"x", Tensor::of<float>({3, 2}, {1, 2, 30, 40, 5, 6})},
                                     {"c", Tensor::of<bool>({3}, {true, false, true})}}));
  EXPECT_NEAR(got[0], 3.5, 1e-6);
}

TEST(DataSizes, SoftmaxIgnoresPadding) {
  const auto got = of_kept("%y : ? = Softmax(%z) {axis = 0}\n");
  const double sum = std::exp(1) + std::exp(3) + std::exp(-4);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_NEAR(got[0], std::exp(1) / sum, 1e-6);
  EXPECT_NEAR(got[1], std::exp(3) / sum, 1e-6);
  EXPECT_NEAR(got[2], std::exp(-4) / sum, 1e-6);
}

TEST(DataSizes, ConcatJoinsRealPartsWithoutGaps) {
  using V = std::vector<double>;
  EXPECT_EQ(of_kept("%y : ? = Concat(%z, %x) {axis = 0}\n"), (V{1, 3, -4, 1, 2, 3, -4, 5}));
  EXPECT_EQ(of_kept("%y : ? = Concat(%x, %z) {axis = 0}\n"), (V{1, 2, 3, -4, 5, 1, 3, -4}));
  EXPECT_EQ(of_kept("%n : ? = Neg(%z)\n%y : ? = Concat(%z, %n, %z) {axis = 0}\n"),
            (V{1, 3, -4, -1, -3, 4, 1, 3, -4}));
}

TEST(DataSizes, ShapesAreBoundsWhereTheyDecideShapesAndSizesWhereTheyAreNumbers) {
  using V = std::vector<double>;
  EXPECT_EQ(of_kept("%y : ? = Shape(%z)\n"), V{3});
  EXPECT_EQ(of_kept("%y : ? = Size(%z)\n"), V{3});
  EXPECT_EQ(of_kept("%s : ? = Shape(%z)\n%y : ? = Add(%s, %s)\n"), V{6});
  EXPECT_EQ(of_kept("%s : ? = Shape(%z)\n%y : ? = ConstantOfShape(%s)\n"), (V{0, 0, 0}));
  EXPECT_EQ(of_kept("%s : ? = Size(%z)\n%a : s64[] = Constant() {value_int = 0}\n"
                    "%b : s64[] = Constant() {value_int = 1}\n%y : ? = Range(%a, %s, %b)\n"),
            (V{0, 1, 2}));
  EXPECT_EQ(of_kept("%s : ? = Shape(%z)\n%one : s64[1] = Constant() {value_ints = [1]}\n"
                    "%t : ? = Concat(%s, %one) {axis = 0}\n%y : ? = Reshape(%z, %t)\n"),
            (V{1, 3, -4}));
  EXPECT_EQ(of_kept("%s : ? = Shape(%z)\n%zero : s64[1] = Constant() {value_ints = [0]}\n"
                    "%y : ? = Slice(%x, %zero, %s)\n"),
            (V{1, 2, 3}));
}

TEST(DataSizes, PartsOfARealPartKnowTheirSize) {
  using V = std::vector<double>;
  const auto slice = [](int64_t from, int64_t to) {
    return of_kept("%a : s64[1] = Constant() {value_ints = [" + std::to_string(from) +
                   "]}\n%b : s64[1] = Constant() {value_ints = [" + std::to_string(to) +
                   "]}\n%y : ? = Slice(%z, %a, %b)\n");
  };
  EXPECT_EQ(slice(1, INT64_MAX), (V{3, -4}));
  EXPECT_EQ(slice(0, 2), (V{1, 3}));
  EXPECT_EQ(slice(4, 5), V{});
  EXPECT_EQ(of_kept("%k : s64[1] = Constant() {value_ints = [-1]}\n%y : ? = Gather(%z, %k)\n"),
            V{-4});
  EXPECT_EQ(of_kept("%k : s64[1] = Constant() {value_ints = [2]}\n%y : ?, %i : ? = TopK(%z, %k)\n"),
            (V{3, 1}));
  EXPECT_EQ(
      of_kept("%a : s64[] = Constant() {value_int = 0}\n%y : ? = CumSum(%z, %a) {reverse = 1}\n"),
      (V{0, -1, -4}));
}

TEST(DataSizes, FewerIndicesThanTheBoundGiveAResultThatIsAllReal) {
  Shape shape;
  EXPECT_EQ(of_kept("%k : s64[2] = Constant() {value_ints = [-1, 1]}\n%r : ? = Reshape(%z, %k)\n"
                    "%i : s64[2,1] = Constant() {value = s64[2,1] [0, 0]}\n"
                    "%y : ? = GatherElements(%r, %i) {axis = 1}\n",
                    &shape),
            (std::vector<double>{1, 3}));
  EXPECT_EQ(shape, (Shape{2, 1}));
}

TEST(DataSizes, ProductsSumRealElementsOnly) {
  using V = std::vector<double>;
  EXPECT_EQ(of_kept("%y : ? = MatMul(%z, %z)\n"), V{26});
  EXPECT_EQ(of_kept("%y : ? = MatMul(%z, %x)\n"), V{1 + 6 - 12});
  Shape shape;
  EXPECT_EQ(
      of_kept("%k : s64[2] = Constant() {value_ints = [-1, 1]}\n%r : ? = Reshape(%z, %k)\n"
              "%w : f32[1,2] = Constant() {value = f32[1,2] [1, 10]}\n%y : ? = Gemm(%r, %w)\n",
              &shape),
      (V{1, 10, 3, 30, -4, -40}));
  EXPECT_EQ(shape, (Shape{3, 2}));
}

TEST(DataSizes, MaskIndicesGatherAndScatterRealElements) {
  const std::string body = R"(
    input %x : f32[4]
    %o : f32[] = Constant() {value_float = 0.0}
    %m : ? = Greater(%x, %o)
    %n : ? = NonZero(%m)
    %at : ? = Transpose(%n)
    %v : ? = GatherND(%x, %at)
  )";
  const auto result = [&](const std::string& rest, std::vector<float> x) {
    const Executable e = compile_body(body + rest + "output %y\n");
    Tensor t = Tensor::zeros(DType::f32, {4});
    std::copy(x.begin(), x.end(), t.mutable_values<float>().begin());
    return real_part(run(e, {{"x", t}}));
  };
  using V = std::vector<double>;
  EXPECT_EQ(result("%y : ? = Identity(%v)\n", {1, -1, 3, -4}), (V{1, 3}));
  EXPECT_EQ(result("%y : ? = Identity(%v)\n", {-1, -1, -3, -4}), V{});
  const std::string doubled = "%w : ? = Add(%v, %v)\n%y : ? = ScatterND(%x, %at, %w)\n";
  EXPECT_EQ(result(doubled, {1, -1, 3, -4}), (V{2, -1, 6, -4}));
  EXPECT_EQ(result(doubled, {-1, -1, -3, -4}), (V{-1, -1, -3, -4}));
  EXPECT_EQ(result(doubled, {5, 6, 7, 8}), (V{10, 12, 14, 16}));
  const std::string added = "%y : ? = ScatterND(%x, %at, %v) {reduction = \"add\"}\n";
  EXPECT_EQ(result(added, {1, -1, 3, -4}), (V{2, -1, 6, -4}));
  EXPECT_EQ(result(added, {-1, -1, -3, -4}), (V{-1, -1, -3, -4}));
}

TEST(DataSizes, BoxesThatASuppressionKeepsCanBeGathered) {
  const Executable e = compile_body(R"(
    input %boxes : f32[1,3,4]
    input %scores : f32[1,1,3]
    %k : s64[1] = Constant() {value_ints = [5]}
    %iou : f32[1] = Constant() {value_floats = [0.5]}
    %least : f32[1] = Constant() {value_floats = [0.0]}
    %n : ? = NonMaxSuppression(%boxes, %scores, %k, %iou, %least)
    %two : s64[] = Constant() {value_int = 2}
    %at : ? = Gather(%n, %two) {axis = 1}
    %zero : s64[1] = Constant() {value_ints = [0]}
    %flat : ? = Squeeze(%boxes, %zero)
    %y : ? = Gather(%flat, %at)
    output %y
  )");
  Shape shape;
  const auto got = real_part(
      run(e, {{"boxes", Tensor::of<float>({1, 3, 4}, {0, 0, 1, 1, 0, .1f, 1, 1.1f, 0, 2, 1, 3})},
              {"scores", Tensor::of<float>({1, 1, 3}, {.9f, .75f, .6f})}}),
      &shape);
  EXPECT_EQ(shape, (Shape{2, 4}));
  EXPECT_EQ(got, (std::vector<double>{0, 0, 1, 1, 0, 2, 1, 3}));
}

// Padding consists of empty regions of the first image, whatever the model contains there.
TEST(DataSizes, RegionsThatAreNotRealAreNotChecked) {
  const Executable e = compile_body(R"(
    input %x : f32[1,1,4,4]
    input %rois : f32[3,4]
    input %images : s64[3]
    input %c : bool[3]
    %r : ? = Compress(%rois, %c) {axis = 0}
    %i : ? = Compress(%images, %c) {axis = 0}
    %y : ? = RoiAlign(%x, %r, %i) {output_height = 1, output_width = 1, sampling_ratio = 1}
    output %y
  )");
  const Values got =
      run(e, {{"x", Tensor::of<float>({1, 1, 4, 4}, std::vector<float>(16, 2.0f))},
              {"rois", Tensor::of<float>({3, 4}, {0, 0, 2, 2, 1, 1, 3, 3, 0, 0, 4, 4})},
              {"images", Tensor::of<int64_t>({3}, {7, 0, -1})},
              {"c", Tensor::of<bool>({3}, {false, true, false})}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(got.at("y").to_doubles()[0], 2);
}

// Only the number of images depends on data. A run whose model is valid has as many as regions.
TEST(DataSizes, RegionsMayHaveASizedNumberOfImages) {
  const auto body = [](int regions) {
    return fmt::format(R"(
      input %x : f32[1,1,4,4]
      input %rois : f32[{},4]
      input %images : s64[3]
      input %c : bool[3]
      %i : ? = Compress(%images, %c) {{axis = 0}}
      %y : ? = RoiAlign(%x, %rois, %i) {{output_height = 1, output_width = 1, sampling_ratio = 1}}
      output %y
    )",
                       regions);
  };
  const Executable e = compile_body(body(3));
  const Values got =
      run(e, {{"x", Tensor::of<float>({1, 1, 4, 4}, std::vector<float>(16, 2.0f))},
              {"rois", Tensor::of<float>({3, 4}, {0, 0, 2, 2, 1, 1, 3, 3, 0, 0, 4, 4})},
              {"images", Tensor::zeros(DType::s64, {3})},
              {"c", Tensor::of<bool>({3}, {true, true, true})}});
  EXPECT_EQ(got.at("y:shape").to_int64s(), (std::vector<int64_t>{3, 1, 1, 1}));
  EXPECT_EQ(got.at("y").to_doubles(), (std::vector<double>{2, 2, 2}));
  try {
    compile_body(body(2));
    ADD_FAILURE() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unimplemented);
    EXPECT_NE(error.message().find("the size of 'i' along axis 0 depends on data (at most 3)"),
              std::string::npos)
        << error.message();
  }
}

TEST(DataSizes, ConstantsHaveShapesMadeOfSizes) {
  const std::string of = "%y : ? = ConstantOfShape(%s) {value = f32[1] [7.0]}\n";
  expect_as_of_rows("%s : ? = Shape(%z)\n" + of);
  expect_as_of_rows(kRows + ints("k", "4") + "%s : ? = Concat(%k, %n) {axis = 0}\n" + of);
  // The fewer rows there are, the more elements the result has.
  expect_as_of_rows(kRows + ints("k", "9") + "%s : ? = Sub(%k, %n)\n" + of);
  expect_as_of_rows(kRows + ints("k", "2") + "%two : ? = Mul(%n, %k)\n" + ints("cap", "6") +
                    "%most : ? = Concat(%two, %cap) {axis = 0}\n"
                    "%s : ? = ReduceMin(%most) {axes = [0]}\n" +
                    of);
  expect_as_of_rows(kRows + ints("k", "3") + "%s : ? = Div(%n, %k)\n" + of);
  expect_as_of_rows(kRows + ints("k", "3") + "%s : ? = Mod(%n, %k)\n" + of);
  // The result has the number of elements that are missing to a multiple.
  expect_as_of_rows(kRows + ints("k", "4") + "%m : ? = Neg(%n)\n%s : ? = Mod(%m, %k)\n" + of);
  expect_as_of_rows(kRows + ints("k", "2") + ints("cap", "8") +
                    "%more : ? = Greater(%n, %k)\n%s : ? = Where(%more, %n, %cap)\n" + of);
}

// One operator of %s, whose rows (`r`: [n, 3]), columns (`c`: [3, n]) or middle (`m`: [1, n, 3])
// were selected by data. For those in `takes` it gives the results of a tensor of that size; for
// those in `refuses` there is no rule, or the operator needs to know the number.
struct Rule {
  const char* name;
  std::string body;
  const char *takes, *refuses = "";
};

const Rule kRules[] = {
    {"transposed", "%y : ? = Transpose(%s)", "rcm"},
    {"transposed_by_perm", "%y : ? = Transpose(%s) {perm = [2, 0, 1]}", "m"},
    {"sum_over_all", "%y : ? = ReduceSum(%s)", "rcm"},
    {"sum_over_none", "%y : ? = ReduceSum(%s) {noop_with_empty_axes = 1}", "rcm"},
    {"sum_over_0", ints("a", "0") + "%y : ? = ReduceSum(%s, %a) {keepdims = 0}", "rcm"},
    {"sum_over_1", ints("a", "1") + "%y : ? = ReduceSum(%s, %a) {keepdims = 0}", "rcm"},
    {"sum_over_last_kept", ints("a", "-1") + "%y : ? = ReduceSum(%s, %a)", "rcm"},
    {"product_over_0", "%y : ? = ReduceProd(%s) {axes = [0], keepdims = 0}", "rcm"},
    {"most_over_1", "%y : ? = ReduceMax(%s) {axes = [1]}", "rm"},
    {"least_over_last", "%y : ? = ReduceMin(%s) {axes = [-1], keepdims = 0}", "rm"},
    {"mean_over_last", "%y : ? = ReduceMean(%s) {axes = [-1], keepdims = 0}", "rm"},
    {"squares_over_0", "%y : ? = ReduceSumSquare(%s) {axes = [0], keepdims = 0}", "rcm"},
    {"arg_max_of_last", "%y : ? = ArgMax(%s) {axis = -1, keepdims = 0}", "rm"},
    {"arg_min_of_last", "%y : ? = ArgMin(%s) {axis = -1}", "rm"},
    {"softmax_of_0", "%y : ? = Softmax(%s) {axis = 0}", "rcm"},
    {"softmax_of_1", "%y : ? = Softmax(%s) {axis = 1}", "rcm"},
    {"log_softmax", "%y : ? = LogSoftmax(%s)", "rcm"},
    {"hardmax_of_1", "%y : ? = Hardmax(%s) {axis = 1}", "rcm"},
    {"running_sum", "%a : s64[] = Constant() {value_int = 0}\n%y : ? = CumSum(%s, %a)", "rcm"},
    {"running_sum_from_the_end",
     "%a : s64[] = Constant() {value_int = 1}\n%y : ? = CumSum(%s, %a) {reverse = 1}", "rcm"},
    {"running_sum_of_those_before",
     "%a : s64[] = Constant() {value_int = 1}\n%y : ? = CumSum(%s, %a) {exclusive = 1, reverse = "
     "1}",
     "rcm"},
    {"norm_of_last", "%y : ? = LpNormalization(%s)", "rm", "c"},
    {"norm_of_0", "%y : ? = LpNormalization(%s) {axis = 0}", "cm", "r"},
    {"layer_norm",
     "%w : f32[3] = Constant() {value = f32[3] [1, 2, 3]}\n%y : ? = LayerNormalization(%s, %w)",
     "rm"},
    {"layer_norm_of_all",
     "%w : f32[1] = Constant() {value = f32[1] [2]}\n%y : ? = LayerNormalization(%s, %w) {axis = "
     "0}",
     "", "rcm"},
    {"padded_beside", ints("p", "0, 1, 0, 2") + "%y : ? = Pad(%s, %p)", "rc", ""},
    {"padded_before", ints("p", "1, 0, 0, 0") + "%y : ? = Pad(%s, %p)", "rc", ""},
    {"padded_behind", ints("p", "0, 0, 1, 0") + "%y : ? = Pad(%s, %p)", "rc", ""},
    {"split_0", "%y : ?, %y2 : ?, %y3 : ? = Split(%s)", "c", "r"},
    {"split_last", "%y0 : ?, %y : ?, %y3 : ? = Split(%s) {axis = -1}", "rm", "c"},
    {"flattened_to_one_row", "%y : ? = Flatten(%s) {axis = 0}", "rcm"},
    {"flattened", "%y : ? = Flatten(%s)", "rcm"},
    {"flattened_from_the_end", "%y : ? = Flatten(%s) {axis = -1}", "rcm"},
    {"flattened_to_one_column", "%y : ? = Flatten(%s) {axis = 2}", "rcm"},
    {"unsqueezed_0", ints("a", "0") + "%y : ? = Unsqueeze(%s, %a)", "rcm"},
    {"unsqueezed_1", ints("a", "1") + "%y : ? = Unsqueeze(%s, %a)", "rcm"},
    {"unsqueezed_last", ints("a", "-1") + "%y : ? = Unsqueeze(%s, %a)", "rcm"},
    {"unsqueezed_twice", ints("a", "3, 0") + "%y : ? = Unsqueeze(%s, %a)", "rcm"},
    {"unsqueezed_twice_in_front", ints("a", "1, 0") + "%y : ? = Unsqueeze(%s, %a)", "rcm"},
    {"squeezed", ints("a", "0") + "%y : ? = Squeeze(%s, %a)", "m"},
    {"squeezed_of_what_is_one", "%y : ? = Squeeze(%s)", "m"},
    {"squeezed_behind",
     ints("b", "2, -1") + "%t : ? = Unsqueeze(%s, %b)\n" + ints("a", "-2, 2") +
         "%y : ? = Squeeze(%t, %a)",
     "rc"},
    {"gathered_beside", ints("k", "2, 0, -1, 2") + "%y : ? = Gather(%s, %k) {axis = -1}", "rm"},
    {"gathered_before", ints("k", "2, -3") + "%y : ? = Gather(%s, %k)", "c"},
    {"gathered_one", "%k : s64[] = Constant() {value_int = 1}\n%y : ? = Gather(%s, %k) {axis = 0}",
     "c"},
    {"gathered_table",
     "%k : s64[2,2] = Constant() {value = s64[2,2] [0, 1, 2, 0]}\n%y : ? = Gather(%s, %k)", "c"},
    {"of_a_table",
     "%w : f32[3,2] = Constant() {value = f32[3,2] [1, 2, 3, 4, 5, 6]}\n"
     "%f : ? = Floor(%s)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n%y : ? = Gather(%w, %i)",
     "rcm"},
    {"of_the_columns_of_a_table",
     "%w : f32[2,3] = Constant() {value = f32[2,3] [1, 2, 3, 4, 5, 6]}\n"
     "%f : ? = Floor(%s)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n"
     "%y : ? = Gather(%w, %i) {axis = 1}",
     "rcm"},
    {"elements_of_last",
     "%f : ? = Floor(%s)\n%g : ? = Abs(%f)\n%i : ? = Cast(%g) {to = 7}\n"
     "%y : ? = GatherElements(%s, %i) {axis = -1}",
     "rm"},
    {"one_hot",
     "%f : ? = Floor(%s)\n%i : ? = Cast(%f) {to = 7}\n%d : s64[] = Constant() {value_int = 4}\n"
     "%v : f32[2] = Constant() {value = f32[2] [-1, 2]}\n%y : ? = OneHot(%i, %d, %v)",
     "rcm"},
    {"one_hot_in_front",
     "%f : ? = Floor(%s)\n%i : ? = Cast(%f) {to = 7}\n%d : s64[] = Constant() {value_int = 4}\n"
     "%v : f32[2] = Constant() {value = f32[2] [-1, 2]}\n%y : ? = OneHot(%i, %d, %v) {axis = 0}",
     "rcm"},
    {"one_hot_between",
     "%f : ? = Floor(%s)\n%i : ? = Cast(%f) {to = 7}\n%d : s64[] = Constant() {value_int = 4}\n"
     "%v : f32[2] = Constant() {value = f32[2] [-1, 2]}\n%y : ? = OneHot(%i, %d, %v) {axis = 1}",
     "rcm"},
    {"expanded", ints("k", "2, 1, 1") + "%y : ? = Expand(%s, %k)", "rcm"},
    {"tiled", ints("k", "2, 3") + "%y : ? = Tile(%s, %k)", "rc"},
    {"joined_0", "%t : ? = Neg(%s)\n%y : ? = Concat(%s, %t) {axis = 0}", "rcm"},
    {"joined_1", "%t : ? = Neg(%s)\n%y : ? = Concat(%s, %t, %s) {axis = 1}", "rcm"},
    {"joined_last", "%t : ? = Neg(%s)\n%y : ? = Concat(%s, %t) {axis = -1}", "rcm"},
    {"added_to_a_row", "%w : f32[3] = Constant() {value = f32[3] [1, 2, 3]}\n%y : ? = Add(%w, %s)",
     "rm"},
    {"added_to_a_column",
     "%w : f32[3,1] = Constant() {value = f32[3,1] [1, 2, 3]}\n%y : ? = Add(%s, %w)", "c"},
    {"of_more_dimensions",
     "%w : f32[2,1,1,1] = Constant() {value = f32[2,1,1,1] [1, 2]}\n%y : ? = Mul(%s, %w)", "rcm"},
    {"rows_times_matrix",
     "%w : f32[3,2] = Constant() {value = f32[3,2] [1, 2, 3, 4, 5, 6]}\n%y : ? = MatMul(%s, %w)",
     "rm"},
    {"matrix_times_columns",
     "%w : f32[2,3] = Constant() {value = f32[2,3] [1, 2, 3, 4, 5, 6]}\n%y : ? = MatMul(%w, %s)",
     "c"},
    {"row_times_columns",
     "%w : f32[3] = Constant() {value = f32[3] [1, 2, 3]}\n%y : ? = MatMul(%w, %s)", "c"},
    {"rows_times_column",
     "%w : f32[3] = Constant() {value = f32[3] [1, 2, 3]}\n%y : ? = MatMul(%s, %w)", "rm"},
    {"with_itself_transposed", "%t : ? = Transpose(%s)\n%y : ? = MatMul(%s, %t)", "rc"},
    {"gemm_of_both_transposed",
     "%w : f32[2,3] = Constant() {value = f32[2,3] [1, 2, 3, 4, 5, 6]}\n"
     "%y : ? = Gemm(%s, %w) {transA = 1, transB = 1, alpha = 2.0}",
     "c"},
    {"gemm_of_a_transposed", "%y : ? = Gemm(%s, %s) {transA = 1}", "r"},
    {"gemm_of_b_transposed", "%y : ? = Gemm(%s, %s) {transB = 1}", "c"},
    {"gemm_and_a_row",
     "%w : f32[3,2] = Constant() {value = f32[3,2] [1, 2, 3, 4, 5, 6]}\n"
     "%b : f32[2] = Constant() {value = f32[2] [7, 8]}\n%y : ? = Gemm(%s, %w, %b) {beta = 0.5}",
     "r"},
    {"best_of_last", ints("k", "2") + "%y : ?, %i : ? = TopK(%s, %k)", "rm"},
    {"places_of_the_least",
     ints("k", "2") + "%v : ?, %y : ? = TopK(%s, %k) {axis = 0, largest = 0}", "c"},
    {"shape", "%y : ? = Shape(%s)", "rcm"},
    {"shape_from_1", "%y : ? = Shape(%s) {start = 1}", "rcm"},
    {"shape_to_the_last", "%y : ? = Shape(%s) {end = -1}", "rcm"},
    {"shape_of_the_last", "%y : ? = Shape(%s) {start = -1, end = 9}", "rcm"},
    {"size", "%y : ? = Size(%s)", "rcm"},
    {"what_is_not_zero", "%f : ? = Floor(%s)\n%y : ? = NonZero(%f)", "rc"},
    {"reversed",
     ints("a", "-1") + ints("b", "-9") + ints("d", "1") + "%y : ? = Slice(%s, %a, %b, %d, %a)",
     "rcm"},
    {"every_second",
     ints("a", "0") + ints("b", "9") + ints("d", "0") + ints("t", "2") +
         "%y : ? = Slice(%s, %a, %b, %d, %t)",
     "rcm"},
};

class SizedRules : public testing::TestWithParam<Rule> {};

TEST_P(SizedRules, PaddedResultsEqualResultsOfTheRealSize) {
  const std::map<char, std::string> heads = {
      {'r', "%s : ? = Identity(%z)\n"},
      {'c', "%s : ? = Transpose(%z)\n"},
      {'m', ints("middle", "1, -1, 3") + "%s : ? = Reshape(%z, %middle)\n"}};
  const Rule& rule = GetParam();
  for (const char head : std::string_view(rule.takes)) {
    SCOPED_TRACE(head);
    expect_as_of_rows(heads.at(head) + rule.body + "\n", 3, {0, 2, 5}, 1e-5);
  }
  for (const char head : std::string_view(rule.refuses))
    EXPECT_EQ(code_of("input %x : f32[5,3]\n input %c : bool[5]\n %z : ? = Compress(%x, %c) "
                      "{axis = 0}\n" +
                      heads.at(head) + rule.body + "\noutput %y\n"),
              ErrorCode::unimplemented)
        << head;
}

INSTANTIATE_TEST_SUITE_P(DataSizes, SizedRules, testing::ValuesIn(kRules),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DataSizes, ExpandRepeatsForASize) {
  expect_as_of_rows(kRows + ints("k", "3") + "%s : ? = Concat(%n, %k) {axis = 0}\n" +
                    "%one : f32[1,3] = Constant() {value = f32[1,3] [1, 2, 3]}\n"
                    "%y : ? = Expand(%one, %s)\n");
  // Exporters write -1 for an unchanged dimension.
  expect_as_of_rows(kRows + ints("k", "3") +
                    "%s : ? = Concat(%n, %k) {axis = 0}\n%r : ? = Shape(%s)\n" +
                    "%ones : ? = ConstantOfShape(%r) {value = s64[1] [1]}\n" + ints("minus", "-1") +
                    "%minuses : ? = Mul(%ones, %minus)\n%e : ? = Equal(%s, %minuses)\n"
                    "%t : ? = Where(%e, %ones, %s)\n" +
                    ints("to", "-1, 1") + "%first : ? = Gather(%z, %zero) {axis = 1}\n" +
                    "%column : ? = Reshape(%first, %to)\n%y : ? = Expand(%column, %t)\n");
}

TEST(DataSizes, RangesEndStartAndCountBySizes) {
  const std::string scalar = kRows +
                             "%m : ? = Squeeze(%n)\n"
                             "%a : s64[] = Constant() {value_int = -2}\n"
                             "%one : s64[] = Constant() {value_int = 1}\n"
                             "%three : s64[] = Constant() {value_int = 3}\n"
                             "%back : s64[] = Constant() {value_int = -2}\n";
  expect_as_of_rows(scalar + "%y : ? = Range(%a, %m, %one)\n");
  expect_as_of_rows(scalar + "%y : ? = Range(%a, %m, %three)\n");
  expect_as_of_rows(scalar + "%y : ? = Range(%m, %a, %back)\n");
  expect_as_of_rows(scalar + "%y : ? = Range(%m, %three, %one)\n");
  // A range up to a number below 0 is empty.
  expect_as_of_rows(scalar +
                    "%nil : s64[] = Constant() {value_int = 0}\n%less : ? = Sub(%m, %three)\n"
                    "%y : ? = Range(%nil, %less, %one)\n");
  expect_as_of_rows(scalar +
                    "%f : ? = Cast(%m) {to = 1}\n"
                    "%h : f32[] = Constant() {value_float = 0.75}\n"
                    "%o : f32[] = Constant() {value_float = 0.5}\n"
                    "%y : ? = Range(%o, %f, %h)\n");
}

TEST(DataSizes, TileRepeatsRealElements) {
  expect_as_of_rows(ints("r", "3, 1") + "%y : ? = Tile(%z, %r)\n");
  expect_as_of_rows(ints("r", "2, 2") + "%y : ? = Tile(%z, %r)\n");
  expect_as_of_rows(kRows + ints("k", "2") +
                    "%r : ? = Concat(%n, %k) {axis = 0}\n"
                    "%one : f32[2,1] = Constant() {value = f32[2,1] [1, 2]}\n"
                    "%y : ? = Tile(%one, %r)\n");
}

TEST(DataSizes, ReshapeMovesRealElements) {
  for (const char* to : {"-1", "-1, 1, 3", "3, -1", "1, -1", "-1, 3, 1, 1", "0, -1", "-1, 0"})
    expect_as_of_rows(ints("to", to) + "%y : ? = Reshape(%z, %to)\n");
  expect_as_of_rows(ints("to", "-1, 2") + "%y : ? = Reshape(%z, %to)\n", 4);
  expect_as_of_rows(ints("to", "-1, 8") +
                        "%two : ? = Concat(%z, %z) {axis = 0}\n"
                        "%y : ? = Reshape(%two, %to)\n",
                    4);
  // Rows have become columns, so the real elements are not at the front.
  for (const char* to : {"-1", "3, -1", "-1, 3", "1, -1, 1"})
    expect_as_of_rows("%t : ? = Transpose(%z)\n" + ints("to", to) + "%y : ? = Reshape(%t, %to)\n");
  expect_as_of_rows("%t : ? = Transpose(%z)\n%y : ? = Flatten(%t) {axis = 0}\n");
  // Zero elements for any real size.
  expect_as_of_rows("%t : ? = Transpose(%z)\n" + ints("a", "3") + ints("b", "3") + ints("d", "0") +
                    ints("to", "1, -1, 1") +
                    "%none : ? = Slice(%t, %a, %b, %d)\n"
                    "%y : ? = Reshape(%none, %to)\n");
  // The shape contains the size itself.
  expect_as_of_rows(kRows + ints("k", "-1") + "%to : ? = Concat(%n, %k) {axis = 0}\n" +
                    "%y : ? = Reshape(%z, %to)\n");
  expect_as_of_rows(kRows + ints("k", "3") + "%to : ? = Concat(%k, %n) {axis = 0}\n" +
                    "%y : ? = Reshape(%z, %to) {allowzero = 1}\n");
}

TEST(DataSizes, SlicesBeginAndEndBySizes) {
  const auto slice = [](const char* from, const char* to, const char* step = "1") {
    expect_as_of_rows(ints("a", from) + ints("b", to) + ints("d", "0") + ints("s", step) +
                      "%y : ? = Slice(%z, %a, %b, %d, %s)\n");
  };
  slice("1", "4");
  slice("-2", "9223372036854775807");
  slice("0", "-1");
  slice("-3", "-1");
  slice("0", "9223372036854775807", "2");
  slice("1", "5", "2");
  slice("-1", "-9223372036854775807", "-1");
  slice("3", "0", "-2");
  // No element is left for any real size.
  slice("9223372036854775807", "9223372036854775807", "2");
  slice("3", "2", "2");
  // The input is entirely real.
  const std::string x = "%w : f32[7] = Constant() {value = f32[7] [1, 2, 3, 4, 5, 6, 7]}\n";
  expect_as_of_rows(kRows + x + ints("k", "7") + "%y : ? = Slice(%w, %n, %k)\n");
  expect_as_of_rows(kRows + x + ints("k", "1") +
                    "%e : ? = Add(%n, %k)\n"
                    "%y : ? = Slice(%w, %k, %e)\n");
  expect_as_of_rows(kRows + x + ints("k", "7") + "%e : ? = Neg(%n)\n%f : ? = Sub(%e, %k)\n" +
                    "%y : ? = Slice(%w, %f, %n)\n");
  // The same along another axis.
  expect_as_of_rows(ints("a", "1, 0") + ints("b", "4, 2") + "%y : ? = Slice(%z, %a, %b)\n");
}

TEST(DataSizes, ElementsScatterWhereRowsAreReal) {
  const std::string at = ints("k", "3") + "%s : ? = Shape(%z)\n" +
                         "%i : ? = ConstantOfShape(%s) {value = s64[1] [2]}\n"
                         "%d : f32[6,3] = Constant() {value = f32[6,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, "
                         "10, 11, 12, 13, 14, 15, 16, 17, 18]}\n";
  expect_as_of_rows(at + "%y : ? = ScatterElements(%d, %i, %z) {axis = 0, reduction = \"mul\"}\n");
  // Indices count from the end of a tensor whose size depends on data.
  expect_as_of_rows(
      "%s : ? = Shape(%z)\n%i : ? = ConstantOfShape(%s) {value = s64[1] [-1]}\n"
      "%y : ? = ScatterElements(%z, %i, %z) {axis = 1}\n");
}

TEST(DataSizes, ScatteredUpdateHasTheSizeOfItsTarget) {
  const std::string columns = "%t : ? = Transpose(%z)\n" + ints("at", "1");
  expect_as_of_rows(columns + ints("two", "1, 1") + "%p : ? = Reshape(%at, %two)\n" +
                    ints("a", "0") + ints("b", "1") + "%u : ? = Slice(%t, %a, %b, %a)\n" +
                    "%y : ? = ScatterND(%t, %p, %u)\n");
}

TEST(DataSizes, ProductsOfManyMatricesMeetInTheirNumber) {
  expect_as_of_rows(ints("col", "-1, 3, 1") + ints("row", "-1, 1, 3") +
                    "%a : ? = Reshape(%z, %col)\n%b : ? = Reshape(%z, %row)\n"
                    "%y : ? = MatMul(%a, %b)\n");
  expect_as_of_rows(ints("col", "-1, 3, 1") + "%a : ? = Reshape(%z, %col)\n" +
                    "%w : f32[1,1,2] = Constant() {value = f32[1,1,2] [2, 3]}\n"
                    "%y : ? = MatMul(%a, %w)\n");
}

TEST(DataSizes, ProductsOfTwoSizesAreRefused) {
  try {
    of_kept(
        "%k : s64[4] = Constant() {value_ints = [-1, 1, 1, 1]}\n"
        "%l : s64[4] = Constant() {value_ints = [1, -1, 1, 1]}\n"
        "%a : ? = Reshape(%z, %k)\n%b : ? = Reshape(%z, %l)\n%y : ? = MatMul(%a, %b)\n");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented) << e.message();
  }
}

TEST(DataSizes, GemmAddendHasTheRowsOfTheProduct) {
  const std::string w =
      "%w : f32[3,3] = Constant() {value = f32[3,3] [1, 2, 0, -1, 4, 2, 3, 0, 1]}\n";
  expect_as_of_rows(w + "%y : ? = Gemm(%z, %w, %z)\n");
  expect_as_of_rows(w + ints("a", "0") + ints("b", "1") + ints("d", "1") +
                    "%q : ? = Slice(%z, %a, %b, %d)\n%y : ? = Gemm(%z, %w, %q)\n");
}

TEST(DataSizes, CastLikeTargetDoesNotAffectTheSize) {
  expect_as_of_rows(
      "%l : s32[1,1,1] = Constant() {value = s32[1,1,1] [1]}\n"
      "%y : ? = CastLike(%z, %l)\n");
}

TEST(DataSizes, MeanOfHalvesIgnoresPadding) {
  using V = std::vector<double>;
  EXPECT_EQ(of_kept("%h : ? = Cast(%z) {to = 10}\n%y : ? = ReduceMean(%h) {keepdims = 0}\n"), V{0});
}

TEST(DataSizes, OneRealElementIsSqueezed) {
  const Executable e = compile_body(
      "input %x : f32[5]\n input %c : bool[5]\n %z : ? = Compress(%x, %c) {axis = 0}\n" +
      ints("a", "0") + "%y : ? = Squeeze(%z, %a)\noutput %y\n");
  const Values got = run(e, {{"x", Tensor::of<float>({5}, {1, 2, 3, -4, 5})},
                             {"c", Tensor::of<bool>({5}, {false, false, true, false, false})}});
  EXPECT_EQ(got.at("y").shape(), Shape{});
  EXPECT_EQ(got.at("y").to_doubles(), std::vector<double>{3});
}

TEST(DataSizes, LengthsThatMeetAreEqualOrRepeated) {
  // A sum of z with two other tensors of its size, whose bounds are 4 and 5.
  expect_as_of_rows(kRows + ints("k", "4") + "%m : ? = Min(%n, %k)\n" + ints("a", "0") +
                    "%z4 : ? = Slice(%z, %a, %m, %a)\n%one : ? = ReduceSum(%z4, %a)\n"
                    "%y : ? = Add(%z, %one)\n");
  // One row of the two is repeated.
  const Executable e = compile_body(R"(
    input %x : f32[3,2]
    input %c : bool[3]
    input %d : bool[3]
    %a : ? = Compress(%x, %c) {axis = 0}
    %b : ? = Compress(%x, %d) {axis = 0}
    %y : ? = Sub(%a, %b)
    output %y
  )");
  const auto difference = [&](std::initializer_list<bool> c, std::initializer_list<bool> d) {
    return real_part(run(e, {{"x", Tensor::of<float>({3, 2}, {1, 2, 30, 40, 500, 600})},
                             {"c", Tensor::of<bool>({3}, c)},
                             {"d", Tensor::of<bool>({3}, d)}}));
  };
  using V = std::vector<double>;
  EXPECT_EQ(difference({true, true, false}, {false, true, true}), (V{-29, -38, -470, -560}));
  EXPECT_EQ(difference({false, true, false}, {true, true, true}), (V{29, 38, 0, 0, -470, -560}));
  EXPECT_EQ(difference({true, false, true}, {true, false, false}), (V{0, 0, 499, 598}));
  EXPECT_EQ(difference({false, false, false}, {false, false, false}), V{});
}

TEST(DataSizes, BranchesMakeShapesOfSizes) {
  expect_as_of_rows(R"(
    %sum : ? = ReduceSum(%z) {keepdims = 0}
    %zero : f32[] = Constant() {value_float = 0.0}
    %positive : ? = Greater(%sum, %zero)
    %y : ? = If(%positive) {
      then_branch = graph "then" {
        %s : ? = Shape(%z)
        %t : ? = ConstantOfShape(%s) {value = f32[1] [2.0]}
        output %t
      },
      else_branch = graph "else" {
        %k : s64[2] = Constant() {value_ints = [2, 1]}
        %r : ? = Tile(%z, %k)
        output %r
      }
    }
)");
}

TEST(DataSizes, AShapeWithoutABoundIsRefused) {
  EXPECT_NE(code_of("input %x : f32[4]\n%n : ? = NonZero(%x)\n%s : ? = Shape(%n)\n"
                    "%f : ? = Cast(%s) {to = 1}\n%r : ? = Reciprocal(%f)\n"
                    "%t : ? = Cast(%r) {to = 7}\n%y : ? = ConstantOfShape(%t)\noutput %y\n"),
            ErrorCode::ok);
}

TEST(DataSizes, RefusesOperatorsWithoutARule) {
  try {
    of_kept("%y : ? = Einsum(%z, %z) {equation = \"i,j->ij\"}\n");
    FAIL() << "compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    for (const char* part : {"Einsum", "'z'", "axis 0", "at most 5"})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

TEST(DataSizes, ConstantConditionGivesAFixedSize) {
  const Executable e = compile_body(R"(
    input %x : f32[4]
    %c : bool[4] = Constant() {value = bool[4] [true, false, true, false]}
    %z : ? = Compress(%x, %c) {axis = 0}
    %y : ? = ReduceMean(%z)
    output %y
    output %z
  )");
  const Values got = run(e, {{"x", Tensor::of<float>({4}, {1, 2, 3, 4})}});
  EXPECT_EQ(got.at("z").shape(), Shape{2});
  EXPECT_FALSE(got.contains("z:shape"));
  EXPECT_EQ(got.at("y").to_doubles(), std::vector<double>{2});
}

TEST(DataSizes, TheLastOfEqualExtremesIsReal) {
  using V = std::vector<double>;
  for (const char* op : {"ArgMax", "ArgMin"}) {
    const std::string attributes = "{axis = 0, keepdims = 0, select_last_index = 1}";
    for (const int to : {2, 1, 7})  // u8, f32, s64
      EXPECT_EQ(of_kept(fmt::format("%n : ? = Sub(%z, %z)\n%h : ? = Cast(%n) {{to = {}}}\n"
                                    "%y : ? = {}(%h) {}\n",
                                    to, op, attributes)),
                V{2});
    expect_as_of_rows(fmt::format("%y : ? = {}(%z) {}\n", op, attributes), 3, {1, 2, 3, 4, 5});
  }
}

// Neither the bound nor the mean over the bound need be numbers of the narrow type.
TEST(DataSizes, MeansOfNarrowFloatsAreScaledInF32) {
  constexpr int64_t kRows = 70000;
  const Executable e = compile_body(
      "input %x : f16[70000]\n input %c : bool[70000]\n %z : ? = Compress(%x, %c) {axis = 0}\n"
      "%y : ? = ReduceMean(%z) {keepdims = 0}\noutput %y\n");
  Tensor x = Tensor::zeros(DType::f16, {kRows}), c = Tensor::zeros(DType::boolean, {kRows});
  for (f16_t& v : x.mutable_values<f16_t>()) v = to_f16(0.01f);
  for (size_t i = 0; i < 3; i++) c.mutable_values<bool>()[i * 1000] = true;
  EXPECT_EQ(run(e, {{"x", x}, {"c", c}}).at("y").to_doubles()[0], to_float(to_f16(0.01f)));
}

TEST(DataSizes, SoftmaxOfOpset11TakesAListOfAnySize) {
  expect_as_of_rows(
      "%k : s64[1] = Constant() {value = s64[1] [-1]}\n%l : ? = Reshape(%z, %k)\n"
      "%y : ? = Softmax(%l)\n",
      1, {0, 1, 3, 5}, 0, 11);
}

}  // namespace
}  // namespace poprt::compiler

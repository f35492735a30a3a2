#include "base/quarter.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

void run_fp8(ir::Graph& graph, const passes::PrecisionParameters& parameters,
             std::vector<std::string> names = {"float_to_fp8"}) {
  passes::PassManagerOptions options;
  options.precision = parameters;
  std::vector<const passes::PassDef*> list;
  for (const std::string& name : names) list.push_back(&passes::pass_of(name));
  passes::run_passes(graph, list, options);
}

passes::PrecisionParameters parameters(const char* formats, bool weights_only = false) {
  passes::PrecisionParameters p;
  p.fp8 = passes::parse_fp8_params(formats, "test");
  p.fp8_weights_only = weights_only;
  return p;
}

// A constant in the text IR with pseudo-random numbers.
std::string constant(const char* name, const char* type, int count) {
  std::string s = fmt::format("const %{} : {} = [", name, type);
  for (int i = 0; i < count; i++)
    s += fmt::format("{}{}", i ? ", " : "", (i * 37 % 41 - 20) / 32.0);
  return s + "]\n";
}

std::string matmul() {
  return "input %x : f32[3,4]\n" + constant("w", "f32[4,2]", 8) + "%y = MatMul(%x, %w)\noutput %y";
}

// Rounds a tensor to 8-bit floats.
Tensor rounded(const Tensor& t, DType dtype, int scale) {
  Tensor out = Tensor::zeros(DType::f32, t.shape());
  std::vector<uint8_t> codes(static_cast<size_t>(t.count()));
  encode_quarters(dtype, scale, t.values<float>(), codes);
  decode_quarters(dtype, scale, codes, out.mutable_values<float>());
  return out;
}

TEST(FloatToFp8, CastsTheDataAndStoresCodesOfTheWeights) {
  const auto graph = parsed(matmul());
  run_fp8(*graph, parameters("F152,F143,-2,-7"));
  EXPECT_EQ(ops_of(*graph), "Cast ai.graphcore.CastToFP8 ai.graphcore.FP8MatMul Cast");
  const ir::Node* product = graph->nodes()[2];
  EXPECT_EQ(product->string_attr("fp8FormatLHS", ""), "F152");
  EXPECT_EQ(product->string_attr("fp8FormatRHS", ""), "F143");
  EXPECT_EQ(product->input(1)->dtype(), DType::u8);
  EXPECT_EQ(product->input(2)->constant().to_int64s(), std::vector<int64_t>{-2});
  EXPECT_EQ(product->input(3)->constant().to_int64s(), std::vector<int64_t>{-7});
  EXPECT_EQ(product->output()->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f32);
  EXPECT_EQ(graph->find("w"), nullptr);
  std::vector<uint8_t> codes(8);
  encode_quarters(DType::f8_143, -7, parsed(matmul())->find("w")->constant().values<float>(),
                  codes);
  EXPECT_TRUE(product->input(1)->constant().same_as(Tensor::of<uint8_t>({4, 2}, codes)));
}

// Compares the results after the pass with those of the model with rounded operands.
void expect_rounded(const std::string& text, const char* formats, bool weights_only) {
  const passes::PrecisionParameters p = parameters(formats, weights_only);
  const auto reference = parsed(text), graph = parsed(text);
  for (ir::Value* v : reference->values())
    if (v->is_constant() && v->shape().size() >= 2)
      v->set_constant(rounded(v->constant(), p.fp8.weight.dtype, p.fp8.weight.scale));
  auto feeds = random_feeds(*graph);
  // The data goes through halves; values that are halves are rounded once.
  for (auto& [name, tensor] : feeds)
    for (float& v : tensor.mutable_values<float>()) v = to_float(to_f16(v));
  run_fp8(*graph, p);
  const auto got = evaluate_graph(*graph, feeds);
  if (!weights_only)
    for (auto& [name, tensor] : feeds)
      tensor = rounded(tensor, p.fp8.input.dtype, p.fp8.input.scale);
  const auto wanted = evaluate_graph(*reference, feeds);
  for (const auto& [name, tensor] : wanted) expect_close(tensor, got.at(name), 2e-3, name);
}

TEST(FloatToFp8, ComputesOnRoundedOperands) {
  const std::string conv =
      "input %x : f32[2,4,5,6]\n" + constant("w", "f32[6,2,3,3]", 108) +
      constant("b", "f32[6]", 6) +
      "%y = Conv(%x, %w, %b) {group = 2, pads = [1, 0, 1, 0], strides = [2, 1]}\n"
      "output %y";
  const std::string gemm = "input %x : f32[3,4]\n" + constant("w", "f32[5,4]", 20) +
                           constant("c", "f32[5]", 5) +
                           "%y = Gemm(%x, %w, %c) {transB = 1, alpha = 0.5, beta = 2.0}\noutput %y";
  const std::string batched = "input %x : f32[2,3,4]\n" + constant("w", "f32[2,4,5]", 40) +
                              "%y = MatMul(%x, %w)\noutput %y";
  for (const std::string& text : {matmul(), conv, gemm, batched})
    for (const bool weights_only : {false, true})
      for (const char* formats : {"F143,F143,-6,-8", "F152,F143,-12,-7", "F143,F152,-5,-14"})
        expect_rounded(text, formats, weights_only);
}

TEST(FloatToFp8, OnlyWeightsInFp8LeaveTheDataInHalf) {
  const auto graph = parsed(matmul());
  run_fp8(*graph, parameters("F143,F143,-1,-5", true));
  EXPECT_EQ(ops_of(*graph), "Cast ai.graphcore.FP8MatMul Cast");
  EXPECT_EQ(graph->nodes()[1]->input(0)->dtype(), DType::f16);
  EXPECT_EQ(graph->nodes()[1]->input(2), nullptr);
}

TEST(FloatToFp8, SharesCodesOfOneWeightAndOneCastOfData) {
  const auto graph = parsed("input %x : f32[3,4]\n" + constant("w", "f32[4,4]", 16) +
                            "%a = MatMul(%x, %w)\n%b = MatMul(%x, %w)\n%c = Add(%a, %b)\n"
                            "%y = MatMul(%c, %w)\noutput %y");
  run_fp8(*graph, parameters("F143,F143,0,-5"));
  int codes = 0, casts = 0;
  for (const ir::Value* v : graph->values()) codes += v->is_constant() && v->dtype() == DType::u8;
  for (const ir::Node* n : graph->nodes()) casts += n->op_type == "CastToFP8";
  EXPECT_EQ(codes, 1);
  EXPECT_EQ(casts, 2);
}

TEST(FloatToFp8, SkipsByNamesOfNodesAndOfResults) {
  const std::string text =
      "input %x : f32[3,4]\n" + constant("w", "f32[4,4]", 16) +
      "%a = MatMul(%x, %w)\n%b = MatMul(%a, %w)\n%c = MatMul(%b, %w)\noutput %c";
  const auto graph = parsed(text);
  graph->nodes()[1]->name = "second";
  passes::PrecisionParameters p = parameters("F143,F143,0,0", true);
  p.fp8_skip_op_names = {"a", "second"};
  run_fp8(*graph, p);
  EXPECT_EQ(ops_of(*graph), "MatMul MatMul Cast ai.graphcore.FP8MatMul Cast");
  const auto all = parsed(text);
  p.fp8_skip_op = false;
  run_fp8(*all, p);
  for (const ir::Node* n : all->nodes()) EXPECT_NE(n->op_type, "MatMul");
}

TEST(FloatToFp8, TakesFormatsOfSingleNodes) {
  const auto graph = parsed("input %x : f32[3,4]\n" + constant("w", "f32[4,4]", 16) +
                            "%a = MatMul(%x, %w)\n%b = MatMul(%a, %w)\noutput %b");
  passes::PrecisionParameters p = parameters("F143,F143,0,0");
  p.fp8_input_dict["a"] = {DType::f8_152, 3};
  p.fp8_weight_dict["b"] = {DType::f8_152, -9};
  run_fp8(*graph, p);
  std::string seen;
  for (const ir::Node* n : graph->nodes())
    if (n->op_type == "FP8MatMul")
      seen +=
          fmt::format("{},{} {},{}; ", n->string_attr("fp8FormatLHS", ""),
                      n->input(2)->constant().to_int64s()[0], n->string_attr("fp8FormatRHS", ""),
                      n->input(3)->constant().to_int64s()[0]);
  EXPECT_EQ(seen, "F152,3 F143,0; F143,0 F152,-9; ");
}

TEST(FloatToFp8, LeavesNodesWithoutAConstantWeight) {
  for (const char* text :
       {"input %x : f32[3,4]\ninput %w : f32[4,2]\n%y = MatMul(%x, %w)\noutput %y",
        "input %x : f32[3,4]\n%y = Relu(%x)\noutput %y",
        "input %x : s32[3,4]\nconst %w : s32[4,2] = fill 3\n"
        "%y = MatMul(%x, %w)\noutput %y"})
    expect_unchanged({"float_to_fp8"}, text);
}

TEST(FloatToFp8, BetweenHalvesLeavesNoCasts) {
  const auto graph = parsed("input %x : f32[3,4]\n" + constant("w", "f32[4,4]", 16) +
                            "%a = MatMul(%x, %w)\n%r = Relu(%a)\n%y = MatMul(%r, %w)\noutput %y");
  run_fp8(*graph, parameters("F143,F143,-4,-7"),
          {"float_to_fp8", "float_to_half", "fuse_consecutive_cast", "eliminate_nop_cast",
           "eliminate_deadend"});
  EXPECT_EQ(ops_of(*graph),
            "ai.graphcore.CastToFP8 ai.graphcore.FP8MatMul Relu ai.graphcore.CastToFP8 "
            "ai.graphcore.FP8MatMul");
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
}

TEST(FloatToFp8, OfAModelInHalfReadsThroughItsCasts) {
  const auto graph = parsed(matmul());
  run(*graph, {"float_to_half"});
  run_fp8(*graph, parameters("F143,F143,-4,-7"),
          {"float_to_fp8", "fuse_consecutive_cast", "eliminate_nop_cast", "eliminate_deadend"});
  EXPECT_EQ(ops_of(*graph), "ai.graphcore.CastToFP8 ai.graphcore.FP8MatMul");
}

TEST(Fp8Params, AreReadOrRefusedByOneLine) {
  const auto formats = passes::parse_fp8_params("F152, F143,-3,31", "--fp8_params");
  EXPECT_EQ(formats.input, (passes::QuarterFormat{DType::f8_152, -3}));
  EXPECT_EQ(formats.weight, (passes::QuarterFormat{DType::f8_143, 31}));
  for (const char* bad : {"", "F143", "F143,F143,0", "F143,F143,0,32", "F143,F143,-33,0",
                          "F134,F143,0,0", "F143,F143,0,0,0", "F143,F143,x,0", "F143,F143,1.5,0"}) {
    try {
      passes::parse_fp8_params(bad, "--fp8_params");
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(e.message().find("--fp8_params: expected"), std::string::npos) << e.message();
    }
  }
}

}  // namespace
}  // namespace poprt::test

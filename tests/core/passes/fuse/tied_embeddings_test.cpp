#include <fmt/ranges.h>

#include <random>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// A table [100, 48] of numbers of `bits` bits, times `unit`, and its transpose.
struct TiedTable {
  std::vector<std::string> rows = std::vector<std::string>(100 * 48), columns = rows;

  explicit TiedTable(uint32_t bits, float unit = 0.01f) {
    std::mt19937 rng(1);
    for (size_t r = 0; r < 100; r++)
      for (size_t c = 0; c < 48; c++) {
        std::string number =
            fmt::format("{}", static_cast<float>(1 + rng() % ((1u << bits) - 1)) * unit);
        if (number.find_first_of(".e") == std::string::npos) number += ".0";
        rows[r * 48 + c] = columns[c * 100 + r] = number;
      }
  }
  std::string constants(const std::string& type = "f32") const {
    return fmt::format("const %table : {}[100,48] = [{}]\nconst %transposed : {}[48,100] = [{}]\n",
                       type, fmt::join(rows, ", "), type, fmt::join(columns, ", "));
  }
};

// The passes that run before, in order.
const std::vector<std::string> kTiedPasses = {"constant_folding", "linear_fusion", "narrow_weights",
                                              "tied_embeddings", "eliminate_unused_initializer"};

constexpr const char* kTiedModel = R"(
    input %i : s64[2,5]
    %rows = Gather(%table, %i)
    %head = MatMul(%rows, %transposed)
    output %head
)";

size_t count_constants(const ir::Graph& graph) {
  return static_cast<size_t>(
      std::ranges::count_if(graph.values(), [](const ir::Value* v) { return v->is_constant(); }));
}

TEST(TiedEmbeddings, AStoredTransposeBecomesTheTable) {
  const auto graph =
      expect_ops(kTiedPasses, TiedTable(20).constants() + kTiedModel, "poprt.Gather poprt.Linear");
  EXPECT_EQ(count_constants(*graph), 1u);
  EXPECT_EQ(graph->nodes()[1]->int_attr("transB", 0), 1);
}

TEST(TiedEmbeddings, AComputedTransposeBecomesTheTable) {
  const auto graph = expect_ops(kTiedPasses, TiedTable(20).constants() + R"(
    input %i : s64[5]
    input %x : f32[3,48]
    %rows = Gather(%table, %i) {axis = -2}
    %matrix = Transpose(%table) {perm = [1, 0]}
    %head = MatMul(%x, %matrix)
    output %head
    output %rows
)",
                                "poprt.Gather poprt.Linear");
  EXPECT_EQ(count_constants(*graph), 1u);
}

TEST(TiedEmbeddings, AGemmReadsTheTableAlready) {
  expect_ops(kTiedPasses, TiedTable(20).constants() + R"(
    input %i : s64[5]
    input %j : s64[2]
    input %x : f32[3,48]
    %rows = Gather(%table, %i)
    %more = Gather(%table, %j)
    %head = Gemm(%x, %table) {transB = 1}
    output %head
    output %rows
    output %more
)",
             "poprt.Gather poprt.Gather poprt.Linear");
}

TEST(TiedEmbeddings, NarrowTypesAreShared) {
  for (const auto& [bits, unit, type] :
       {std::tuple(11u, 1.0f, DType::f16), std::tuple(8u, 0x1p100f, DType::bf16)}) {
    const auto graph = expect_ops(kTiedPasses, TiedTable(bits, unit).constants() + R"(
    input %i : s64[2,5]
    input %x : f32[3,48]
    %rows = Gather(%table, %i)
    %head = MatMul(%x, %transposed)
    output %head
    output %rows
)",
                                  "poprt.Gather Cast poprt.Linear");
    EXPECT_EQ(graph->nodes()[0]->input(0)->dtype(), type);
    EXPECT_EQ(graph->nodes()[2]->input(1), graph->nodes()[0]->input(0));
  }
}

// GatherBlockQuantized and MatMulNBits of one table [300, 64] of integers.
TEST(TiedEmbeddings, IntegersAreShared) {
  for (const int bits : {2, 4, 8}) {
    std::mt19937 rng(1);
    std::vector<unsigned> bytes(static_cast<size_t>(300 * 64 * bits / 8));
    for (unsigned& b : bytes) b = rng() % 256;
    const std::string text =
        fmt::format(R"(
    input %i : s64[2,5]
    input %x : f32[3,64]
    const %table : u8[300,{0}] = [{1}]
    const %blocks : u8[300,2,{2}] = [{1}]
    const %scales : f32[300,2] = fill 0.125
    %rows = com.microsoft.GatherBlockQuantized(%table, %i, %scales) {{bits = {3}, block_size = 32}}
    %head = com.microsoft.MatMulNBits(%x, %blocks, %scales) {{N = 300, K = 64, bits = {3}, block_size = 32}}
    output %head
    output %rows
)",
                    64 * bits / 8, fmt::join(bytes, ", "), 32 * bits / 8, bits);
    const auto parse = [&] {
      auto g = ir::parse_text(
          fmt::format("graph \"g\" opset {{\"\": 17, \"com.microsoft\": 1}} {{\n{}\n}}", text));
      ops::infer(*g);
      return g;
    };
    const auto original = parse(), graph = parse();
    run(*graph, {"narrow_products", "expand_operators", "constant_folding", "tied_embeddings"});
    const auto nodes = graph->nodes();
    const auto rows =
        std::ranges::find_if(nodes, [](const ir::Node* n) { return n->is("Gather", "poprt"); });
    ASSERT_NE(rows, nodes.end()) << ops_of(*graph);
    EXPECT_EQ(dtype_bits((*rows)->input(0)->dtype()), bits);
    expect_same_results(*original, *graph, 1e-5);
  }
}

TEST(TiedEmbeddings, OtherTablesAndOtherReadersStay) {
  TiedTable changed(20);
  changed.columns[4321] = "0.5";
  expect_ops(kTiedPasses, changed.constants() + kTiedModel, "Gather poprt.Linear");
  // A Gather of columns requires the rows of the table, which are then in the file in any case.
  expect_ops(kTiedPasses, TiedTable(20).constants() + R"(
    input %i : s64[5]
    input %x : f32[3,48]
    %rows = Gather(%table, %i)
    %column = Gather(%table, %i) {axis = 1}
    %head = MatMul(%x, %transposed)
    output %head
    output %rows
    output %column
)",
             "Gather Gather poprt.Linear");
}

}  // namespace
}  // namespace poprt::test

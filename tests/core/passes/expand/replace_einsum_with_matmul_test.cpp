// Compares results for random operands with sums in f64 over every index.
#include <cmath>
#include <map>
#include <random>

#include "core/passes/pass_case.h"
#include "passes/common/rewrite.h"
#include "support/uniform.h"

namespace poprt::test {
namespace {

struct EinsumCase {
  const char* equation;
  std::vector<Shape> operands;
  const char* result;                   // labels of the result; letters only
  std::vector<const char*> terms = {};  // labels of the operands, if the equation has an ellipsis
};

std::vector<const char*> terms_of(const EinsumCase& c, std::string& storage) {
  if (!c.terms.empty()) return c.terms;
  storage = c.equation;
  std::erase(storage, ' ');
  storage = storage.substr(0, storage.find("->"));
  std::vector<const char*> terms{storage.data()};
  for (char& letter : storage)
    if (letter == ',') letter = '\0', terms.push_back(&letter + 1);
  return terms;
}

// The sum over all labels that `result` lacks, and the sum of absolute values, which bounds the
// rounding.
struct Sum {
  std::vector<double> values, magnitudes;
};

Sum sum_of(const EinsumCase& c, const std::vector<std::vector<double>>& operands) {
  std::string storage;
  const auto terms = terms_of(c, storage);
  std::string labels = c.result;
  std::map<char, int64_t> sizes, index;
  for (size_t n = 0; n < terms.size(); n++)
    for (size_t d = 0; terms[n][d]; d++) {
      int64_t& size = sizes.try_emplace(terms[n][d], 1).first->second;
      size = std::max(size, c.operands[n][d]);
      if (labels.find(terms[n][d]) == std::string::npos) labels += terms[n][d];
    }
  int64_t results = 1, all = 1;
  for (const char* l = c.result; *l; l++) results *= sizes[*l];
  for (const auto& [label, size] : sizes) all *= size;
  Sum out{std::vector<double>(static_cast<size_t>(results)),
          std::vector<double>(static_cast<size_t>(results))};
  for (int64_t i = 0; i < all; i++) {
    int64_t rest = i;
    for (size_t l = labels.size(); l-- > 0; rest /= sizes[labels[l]])
      index[labels[l]] = rest % sizes[labels[l]];
    double product = 1;
    for (size_t n = 0; n < terms.size(); n++) {
      int64_t at = 0;
      for (size_t d = 0; terms[n][d]; d++)
        at = at * c.operands[n][d] + (c.operands[n][d] == 1 ? 0 : index[terms[n][d]]);
      product *= operands[n][static_cast<size_t>(at)];
    }
    const auto r = static_cast<size_t>(i / (all / results));
    out.values[r] += product;
    out.magnitudes[r] += std::abs(product);
  }
  return out;
}

void expect_sums(const EinsumCase& c, DType type, double rounding) {
  SCOPED_TRACE(c.equation);
  std::string inputs, names;
  for (size_t n = 0; n < c.operands.size(); n++) {
    inputs +=
        fmt::format("input %x{} : {}[{}]\n", n, dtype_name(type), fmt::join(c.operands[n], ","));
    names += fmt::format("{}%x{}", n ? ", " : "", n);
  }
  const auto graph = parsed(
      fmt::format("{}%y = Einsum({}) {{equation = \"{}\"}}\noutput %y", inputs, names, c.equation));
  run(*graph, {"replace_einsum_with_matmul"});
  EXPECT_EQ(ops_of(*graph).find("Einsum"), std::string::npos);
  std::mt19937 rng(1);
  const Uniform real{-2, 2};
  std::map<std::string, Tensor> feeds;
  std::vector<std::vector<double>> operands;
  for (size_t n = 0; n < c.operands.size(); n++) {
    std::vector<double>& values = operands.emplace_back(element_count(c.operands[n]));
    for (double& x : values)
      x = is_float(type) ? static_cast<double>(real(rng)) : static_cast<double>(rng() % 9) - 4;
    feeds[fmt::format("x{}", n)] = passes::tensor_of(type, c.operands[n], values);
  }
  const Sum expected = sum_of(c, operands);
  const std::vector<double> y = evaluate_graph(*graph, feeds).at("y").to_doubles();
  ASSERT_EQ(y.size(), expected.values.size());
  for (size_t i = 0; i < y.size(); i++)
    ASSERT_NEAR(y[i], expected.values[i], rounding * expected.magnitudes[i] + 1e-30) << i;
}

const EinsumCase kEquations[] = {
    // Two operands: every group of labels, alone and together, in the order of MatMul and others.
    {"ij,jk->ik", {{5, 7}, {7, 3}}, "ik"},
    {"ij,kj->ki", {{5, 7}, {3, 7}}, "ki"},
    {"ji,jk->ik", {{7, 5}, {7, 3}}, "ik"},
    {"i,i->", {{9}, {9}}, ""},
    {"i,j->ij", {{4}, {5}}, "ij"},
    {"i,j->ji", {{4}, {5}}, "ji"},
    {"ij,ij->i", {{4, 6}, {4, 6}}, "i"},
    {"ij,ji->j", {{4, 6}, {6, 4}}, "j"},
    {"ij,j->i", {{20, 6}, {6}}, "i"},
    {"j,ij->i", {{6}, {20, 6}}, "i"},
    {"bij,bij->bij", {{2, 3, 4}, {2, 3, 4}}, "bij"},
    {"bij,jb->ibj", {{2, 3, 4}, {4, 2}}, "ibj"},
    {"bhwc,wkc->bhwk", {{3, 4, 5, 6}, {5, 17, 6}}, "bhwk"},
    {"bhwc,hkc->bhwk", {{3, 4, 5, 6}, {4, 7, 6}}, "bhwk"},
    {"ibnd,jbnd->bnij", {{5, 2, 3, 4}, {6, 2, 3, 4}}, "bnij"},
    {"bnij,jbnd->ibnd", {{2, 3, 5, 6}, {6, 2, 3, 4}}, "ibnd"},
    {"bsd,dnh->bsnh", {{2, 5, 8}, {8, 3, 4}}, "bsnh"},
    {"bsnh,nhd->bsd", {{2, 5, 3, 4}, {3, 4, 8}}, "bsd"},
    {"bchw,bkhw->bck", {{2, 8, 3, 4}, {2, 5, 3, 4}}, "bck"},
    {"oi,bis->bos", {{5, 4}, {3, 4, 6}}, "bos"},
    {"oi,bsi->bso", {{5, 4}, {3, 6, 4}}, "bso"},
    {"abcd,dcef->efab", {{2, 3, 4, 5}, {5, 4, 3, 2}}, "efab"},
    {"abc,cd->bad", {{2, 3, 4}, {4, 50}}, "bad"},
    {"ab,cdb->cad", {{20, 3}, {4, 5, 3}}, "cad"},
    {"Ab,bC->AC", {{2, 3}, {3, 4}}, "AC"},
    {"ij,jk", {{2, 3}, {3, 4}}, "ik"},
    {"ba, ac", {{2, 3}, {3, 4}}, "bc"},
    // Labels of one operand.
    {"ij->j", {{4, 5}}, "j"},
    {"ijk->", {{3, 4, 5}}, ""},
    {"ij,jk->k", {{4, 5}, {5, 6}}, "k"},
    {"ij,k->i", {{4, 5}, {6}}, "i"},
    {"bij,bik->bk", {{2, 3, 4}, {2, 3, 5}}, "bk"},
    // Repeated labels.
    {"ii->i", {{6, 6}}, "i"},
    {"ii", {{6, 6}}, ""},
    {"iji->ji", {{3, 4, 3}}, "ji"},
    {"iii->i", {{4, 4, 4}}, "i"},
    {"iijj->ij", {{3, 3, 4, 4}}, "ij"},
    {"biij,bij->bj", {{2, 3, 3, 4}, {2, 3, 4}}, "bj"},
    {"ii,ij->j", {{4, 4}, {4, 5}}, "j"},
    // Axes of size 1 and axes that broadcast.
    {"bqhd,bkhd->bhqk", {{1, 5, 3, 4}, {1, 6, 3, 4}}, "bhqk"},
    {"ij,jk->ik", {{5, 1}, {7, 3}}, "ik"},
    {"bij,bjk->bik", {{1, 5, 4}, {3, 4, 6}}, "bik"},
    {"ij,jk->ik", {{1, 1}, {1, 1}}, "ik"},
    {"ij,ij->ij", {{1, 5}, {4, 1}}, "ij"},
    // Several operands.
    {"ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 6}}, "il"},
    {"bi,oij,bj->bo", {{2, 4}, {3, 4, 5}, {2, 5}}, "bo"},
    {"i,j,k->kji", {{3}, {4}, {5}}, "kji"},
    {"bclhn,bcshn,bhcls,bcshp->bclhp",
     {{1, 2, 5, 3, 4}, {1, 2, 6, 3, 4}, {1, 3, 2, 5, 6}, {1, 2, 6, 3, 7}},
     "bclhp"},
    {"ab,bc,cd,de,ea->", {{2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 2}}, ""},
    // An ellipsis.
    {"...i,ij->...j", {{2, 3, 4}, {4, 5}}, "xyj", {"xyi", "ij"}},
    {"...ij,...jk", {{2, 3, 4}, {2, 4, 5}}, "xik", {"xij", "xjk"}},
    {"...ij,...jk->...ik", {{2, 3, 3, 4}, {3, 4, 5}}, "xyik", {"xyij", "yjk"}},
    {"i...,i...->...", {{4, 2, 3}, {4, 1, 3}}, "xy", {"ixy", "ixy"}},
    {"...iij->j...", {{2, 3, 3, 4}}, "jx", {"xiij"}},
};

TEST(ReplaceEinsumWithMatmul, ComputesEveryFormOfEquation) {
  for (const EinsumCase& c : kEquations) expect_sums(c, DType::f32, 2e-6);
}

TEST(ReplaceEinsumWithMatmul, ComputesDoublesAndIntegers) {
  for (const EinsumCase& c : kEquations) {
    expect_sums(c, DType::f64, 1e-14);
    expect_sums(c, DType::s32, 0);
    expect_sums(c, DType::s64, 0);
  }
}

TEST(ReplaceEinsumWithMatmul, SumsWithAxesAsAttributeBeforeOpset13) {
  const auto graph = parsed(R"(
    input %a : f32[2,3]
    input %b : f32[4]
    %y = Einsum(%a, %b) {equation = "ij,k->ik"}
    output %y
  )",
                            12);
  run(*graph, {"replace_einsum_with_matmul"});
  EXPECT_EQ(ops_of(*graph), "ReduceSum Reshape Mul");
}

// Labels in the usual order need no Transpose, so later passes find the form of other exporters.
TEST(ReplaceEinsumWithMatmul, DenseLayersOfKerasAreOneMatMul) {
  const auto graph = parsed(R"(
    input %x : f32[2,5,6]
    const %w : f32[6,2,1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
    %y = Einsum(%x, %w) {equation = "bsd,dnh->bsnh"}
    output %y
  )");
  run(*graph, {"replace_einsum_with_matmul", "constant_folding"});
  EXPECT_EQ(ops_of(*graph), "MatMul Reshape");
}

}  // namespace
}  // namespace poprt::test

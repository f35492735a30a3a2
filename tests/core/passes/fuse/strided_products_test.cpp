#include <fmt/ranges.h>

#include <array>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

const std::vector<std::string> kStridedEinsum = {"replace_einsum_with_matmul",
                                                 "transpose_to_reshape", "fuse_consecutive_reshape",
                                                 "eliminate_nop_reshape", "strided_products"};

TEST(StridedProducts, AnEinsumWithABatchInTheMiddleNeedsNoTranspose) {
  const auto graph = expect_ops(kStridedEinsum, R"(
    input %a : f32[2,3,5,8]
    input %b : f32[5,4,8]
    %y = Einsum(%a, %b) {equation = "bhwc,wkc->bhwk"}
    output %y
  )",
                                "poprt.MatMul");
  const ir::Node& product = *graph->nodes()[0];
  EXPECT_EQ(product.ints_attr("sizes"), (std::vector<int64_t>{6, 4, 8}));
  EXPECT_EQ(product.ints_attr("strides"), (std::vector<int64_t>{40, 1, 8, 20}));
  EXPECT_EQ(product.ints_attr("batch"), (std::vector<int64_t>{5, 8, 32, 4}));
}

TEST(StridedProducts, EinsumsOfAttentionNeedNoTranspose) {
  for (const char* equation : {"bqhd,bkhd->bhqk", "ibnd,jbnd->bnij"})
    expect_ops(kStridedEinsum,
               fmt::format(R"(
    input %a : f32[3,4,2,5]
    input %b : f32[3,4,2,5]
    %y = Einsum(%a, %b) {{equation = "{}"}}
    output %y
  )",
                           equation),
               "poprt.MatMul");
}

TEST(StridedProducts, ARowOfColumnsStays) {
  // The values of a row are not contiguous, so this Transpose stays; that of b goes.
  expect_ops({"strided_products"}, R"(
    input %a : f32[2,4,3]
    input %b : f32[2,5,4]
    %s = Transpose(%a) {perm = [0, 2, 1]}
    %t = Transpose(%b) {perm = [0, 2, 1]}
    %y = MatMul(%s, %t)
    output %y
  )",
             "Transpose poprt.MatMul");
}

TEST(StridedProducts, OtherReadersKeepATranspose) {
  expect_ops({"strided_products"}, R"(
    input %a : f32[2,3,4]
    input %b : f32[2,5,4]
    %t = Transpose(%b) {perm = [0, 2, 1]}
    %y = MatMul(%a, %t)
    output %y
    output %t
  )",
             "Transpose MatMul");
}

TEST(StridedProducts, OneMatrixForAllRowsIsOneProduct) {
  const auto graph = expect_ops({"strided_products"}, R"(
    input %a : f32[2,3,4]
    input %b : f32[5,4]
    %t = Transpose(%b) {perm = [1, 0]}
    %y = MatMul(%a, %t)
    output %y
  )",
                                "poprt.MatMul");
  EXPECT_EQ(graph->nodes()[0]->ints_attr("sizes"), (std::vector<int64_t>{6, 5, 4}));
  // Rows that do not follow each other would be several products, each of which packs b.
  expect_ops({"strided_products"}, R"(
    input %a : f32[3,2,4]
    input %b : f32[4,5]
    %s = Transpose(%a) {perm = [1, 0, 2]}
    %y = MatMul(%s, %b)
    output %y
  )",
             "Transpose MatMul");
}

// Y[perm] of the product of A[perm] and B[perm], by loops.
std::vector<double> looped_product(const Tensor& a, const Tensor& b, const std::array<int, 3>& pa,
                                   const std::array<int, 3>& pb, const std::array<int, 3>& py,
                                   const std::array<int64_t, 4>& sizes) {
  const auto [batch, m, n, k] = sizes;
  // The stride of each axis of the product's operand in a tensor that is transposed by `perm`
  // afterwards.
  const auto strides = [](const Shape& stored, const std::array<int, 3>& perm) {
    const std::array<int64_t, 3> own = {stored[1] * stored[2], stored[2], 1};
    return std::array{own[static_cast<size_t>(perm[0])], own[static_cast<size_t>(perm[1])],
                      own[static_cast<size_t>(perm[2])]};
  };
  const std::array<int64_t, 3> dims = {batch, m, n};
  std::array<int64_t, 3> ys{};
  int64_t stride = 1;
  for (size_t d = 3; d-- > 0;) {
    ys[static_cast<size_t>(py[d])] = stride;
    stride *= dims[static_cast<size_t>(py[d])];
  }
  const auto as = strides(a.shape(), pa), bs = strides(b.shape(), pb);
  const std::vector<double> x = a.to_doubles(), w = b.to_doubles();
  std::vector<double> y(static_cast<size_t>(batch * m * n));
  for (int64_t q = 0; q < batch; q++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++)
          y[static_cast<size_t>(q * ys[0] + i * ys[1] + j * ys[2])] +=
              x[static_cast<size_t>(q * as[0] + i * as[1] + l * as[2])] *
              w[static_cast<size_t>(q * bs[0] + l * bs[1] + j * bs[2])];
  return y;
}

// The shape whose Transpose by `perm` is `shape`.
Shape shape_before(const Shape& shape, const std::array<int, 3>& perm) {
  Shape out(3);
  for (size_t d = 0; d < 3; d++) out[static_cast<size_t>(perm[d])] = shape[d];
  return out;
}

TEST(StridedProducts, EveryPermutationMatchesLoops) {
  constexpr std::array<std::array<int, 3>, 6> kPerms = {
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  const std::array<int64_t, 4> sizes = {3, 9, 50, 7};
  const auto [batch, m, n, k] = sizes;
  int strided = 0, free_of_moves = 0;
  for (const auto& pa : kPerms)
    for (const auto& pb : kPerms)
      for (const auto& py : kPerms) {
        SCOPED_TRACE(fmt::format("{} {} {}", pa, pb, py));
        const Shape a = shape_before({batch, m, k}, pa), b = shape_before({batch, k, n}, pb);
        const auto graph =
            parsed(fmt::format(R"(
          input %a : f32[{}]
          input %b : f32[{}]
          %s = Transpose(%a) {{perm = [{}]}}
          %t = Transpose(%b) {{perm = [{}]}}
          %p = MatMul(%s, %t)
          %y = Transpose(%p) {{perm = [{}]}}
          output %y
        )",
                               fmt::join(a, ","), fmt::join(b, ","), fmt::join(pa, ","),
                               fmt::join(pb, ","), fmt::join(py, ",")));
        run(*graph, {"eliminate_nop_transpose", "strided_products"});
        const auto feeds = random_feeds(*graph);
        const Tensor y = evaluate_graph(*graph, feeds).at("y");
        const std::vector<double> wanted =
            looped_product(feeds.at("a"), feeds.at("b"), pa, pb, py, sizes);
        const std::vector<double> got = y.to_doubles();
        ASSERT_EQ(got.size(), wanted.size());
        for (size_t i = 0; i < got.size(); i++) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i;
        const std::string left = ops_of(*graph);
        strided += left.find("poprt.MatMul") != std::string::npos;
        free_of_moves += left.find("Transpose") == std::string::npos;
      }
  // Rows of a are dense in two permutations, and so are rows of the result; rows or columns of b
  // are in four.
  EXPECT_EQ(free_of_moves, 2 * 4 * 2);
  EXPECT_EQ(strided, 216 - 5 * 5 * 3);
}

}  // namespace
}  // namespace poprt::test

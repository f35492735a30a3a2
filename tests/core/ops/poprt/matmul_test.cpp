// Compares poprt.MatMul with loops; passes/fuse/strided_products_test covers the permutations.
#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

// y[i, q, j] = sum over k of a[q, i, k] * b[j, k]
OPS_SAMPLE(StridedProduct) {
  constexpr size_t kBatch = 2, kM = 3, kN = 5, kK = 4;
  samples.add("MatMul", 1, "poprt")
      .input(random_f32({kBatch, kM, kK}))
      .input(random_f32({kN, kK}))
      .attr("shape", std::vector<int64_t>{kM, kBatch, kN})
      .attr("sizes", std::vector<int64_t>{kM, kN, kK})
      .attr("strides", std::vector<int64_t>{kK, 1, kK, kBatch * kN})
      .attr("batch", std::vector<int64_t>{kBatch, kM * kK, 0, kN})
      .shape({kM, kBatch, kN})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < kM; i++)
          for (size_t q = 0; q < kBatch; q++)
            for (size_t j = 0; j < kN; j++) {
              double sum = 0;
              for (size_t k = 0; k < kK; k++)
                sum += in[0][(q * kM + i) * kK + k] * in[1][j * kK + k];
              y.push_back(sum);
            }
        return SampleValues{y};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

namespace poprt::test {
namespace {

NodeCase strided_case(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                      std::vector<int64_t> batch) {
  return {.op = "MatMul",
          .attributes = {{"shape", std::vector<int64_t>{2, 3, 5}},
                         {"sizes", std::move(sizes)},
                         {"strides", std::move(strides)},
                         {"batch", std::move(batch)}},
          .inputs = {random_bytes(DType::f32, {2, 3, 4}), random_bytes(DType::f32, {4, 5})},
          .runtime = {0, 1},
          .domain = "poprt"};
}

TEST(StridedMatMul, RefusesSizesThatDoNotFit) {
  EXPECT_NO_THROW(run_node(strided_case({3, 5, 4}, {4, 5, 1, 5}, {2, 12, 0, 15})));
  EXPECT_THROW(run_node(strided_case({3, 5}, {4, 5, 1, 5}, {2, 12, 0, 15})), Error);
  EXPECT_THROW(run_node(strided_case({3, 5, 4}, {4, 5, 1}, {2, 12, 0, 15})), Error);
  EXPECT_THROW(run_node(strided_case({3, 5, 4}, {4, 5, 1, 5}, {2, 12, 0})), Error);
  EXPECT_THROW(run_node(strided_case({3, 5, 4}, {-4, 5, 1, 5}, {2, 12, 0, 15})), Error);
  EXPECT_THROW(run_node(strided_case({4, 5, 4}, {4, 5, 1, 5}, {2, 12, 0, 15})), Error);
  // These reach outside of a, b or the result.
  EXPECT_THROW(run_node(strided_case({3, 5, 4}, {4, 5, 1, 5}, {2, 13, 0, 15})), Error);
  EXPECT_THROW(run_node(strided_case({3, 5, 4}, {4, 6, 1, 5}, {2, 12, 0, 15})), Error);
  EXPECT_THROW(run_node(strided_case({3, 5, 4}, {4, 5, 1, 6}, {2, 12, 0, 15})), Error);
}

}  // namespace
}  // namespace poprt::test

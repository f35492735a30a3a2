// Compares poprt.CacheAttention with loops; tests/core/kernels/attention_generic_test has all masks
// and windows.
#include <cmath>

#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

constexpr size_t kKeys = 3, kHead = 4, kRow = kHead + 4;

// Rows of bytes with the scale 0.5: its bytes are 0, 0, 0, 63.
Tensor byte_rows(int first) {
  std::vector<int8_t> bytes;
  for (size_t t = 0; t < kKeys; t++) {
    for (size_t d = 0; d < kHead; d++)
      bytes.push_back(static_cast<int8_t>((first + static_cast<int>(t * kHead + d) * 5) % 7 - 3));
    bytes.insert(bytes.end(), {0, 0, 0, 63});
  }
  return Tensor::of<int8_t>({1, 1, kKeys, kRow}, std::move(bytes));
}

// Two heads of queries share the keys; the first `length` keys are valid.
std::vector<double> attended(const SampleValues& in, size_t length, double scale) {
  std::vector<double> y;
  for (size_t h = 0; h < 2; h++) {
    double weights[kKeys], sum = 0;
    for (size_t t = 0; t < length; t++) {
      double s = 0;
      for (size_t d = 0; d < kHead; d++) s += in[0][h * kHead + d] * in[1][t * kRow + d] * 0.5;
      sum += weights[t] = std::exp(s * scale);
    }
    for (size_t d = 0; d < kHead; d++) {
      double value = 0;
      for (size_t t = 0; t < length; t++) value += weights[t] / sum * in[2][t * kRow + d] * 0.5;
      y.push_back(value);
    }
  }
  return y;
}

OPS_SAMPLE(CacheAttention) {
  samples.add("CacheAttention", 1, "poprt")
      .input(random_f32({1, 2, 1, kHead}))
      .input(byte_rows(1))
      .input(byte_rows(4))
      .attr("q_num_heads", int64_t{2})
      .attr("kv_num_heads", int64_t{1})
      .shape({1, 2, 1, kHead})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) { return SampleValues{attended(in, kKeys, 0.5)}; });
}

OPS_SAMPLE(CacheAttentionOfPackedHeads) {
  const Tensor k = byte_rows(2).reshaped({1, kKeys, kRow}),
               v = byte_rows(3).reshaped({1, kKeys, kRow});
  samples.add("CacheAttention", 1, "poprt")
      .input(random_f32({1, 1, 2 * kHead}))
      .input(k)
      .input(v)
      .omit()
      .input(Tensor::of<int64_t>({1}, {2}))
      .attr("q_num_heads", int64_t{2})
      .attr("kv_num_heads", int64_t{1})
      .attr("scale", 2.0f)
      .shape({1, 1, 2 * kHead})
      .dtype(DType::f32)
      .reference([](const SampleValues& in) { return SampleValues{attended(in, 2, 2)}; });
}

}  // namespace
}  // namespace poprt::ops::sampled

namespace poprt::test {
namespace {

TEST(CacheAttentionOp, RefusesSizesThatDoNotFit) {
  const auto of = [](Shape q, Shape k, Shape v, int64_t heads, int64_t kv_heads) {
    return NodeCase{
        .op = "CacheAttention",
        .attributes = {{"q_num_heads", heads}, {"kv_num_heads", kv_heads}},
        .inputs = {random_bytes(DType::f32, std::move(q)), random_bytes(DType::s8, std::move(k)),
                   random_bytes(DType::s8, std::move(v))},
        .runtime = {0, 1, 2},
        .domain = "poprt"};
  };
  EXPECT_NO_THROW(run_node(of({1, 2, 1, 4}, {1, 2, 3, 8}, {1, 2, 3, 9}, 2, 2)));
  EXPECT_NO_THROW(run_node(of({1, 1, 8}, {1, 3, 16}, {1, 3, 16}, 2, 2)));
  EXPECT_THROW(run_node(of({1, 2, 1, 4}, {1, 2, 3, 7}, {1, 2, 3, 8}, 2, 2)), Error);
  EXPECT_THROW(run_node(of({1, 2, 1, 4}, {1, 2, 3, 8}, {1, 2, 4, 8}, 2, 2)), Error);
  EXPECT_THROW(run_node(of({1, 2, 1, 4}, {1, 2, 3, 8}, {1, 2, 3, 3}, 2, 2)), Error);
  EXPECT_THROW(run_node(of({1, 3, 1, 4}, {1, 2, 3, 8}, {1, 2, 3, 8}, 3, 2)), Error);
  EXPECT_THROW(run_node(of({1, 2, 1, 4}, {1, 2, 3, 8}, {1, 2, 3, 8}, 0, 0)), Error);
  EXPECT_THROW(run_node(of({1, 2, 1, 4}, {2, 2, 3, 8}, {2, 2, 3, 8}, 2, 2)), Error);
  EXPECT_THROW(run_node(of({2, 4}, {1, 2, 3, 8}, {1, 2, 3, 8}, 2, 2)), Error);
}

}  // namespace
}  // namespace poprt::test

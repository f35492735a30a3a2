// Compares poprt.Linear with weights of less than 32 bits with sums in double, over the orders of
// the weights, the forms of scales and zero points, and the epilogue.
#include "ops/common/narrow_matmul.h"

#include "base/checked.h"
#include "core/ops/built_node.h"
#include "core/ops/run_node.h"
#include "kernels/common/half_products.h"
#include "kernels/common/instruction_set.h"

namespace poprt::ops {
namespace {

using Attributes = std::map<std::string, ir::Attribute, std::less<>>;

// A product of [2, 3, k] with weights of a type that has random bits.
struct NarrowLinear {
  int64_t k, n, block;
  bool transposed;
  Tensor x, w, bias, residual, scales, zeros;

  NarrowLinear(DType type, int64_t columns, int64_t depth, int64_t block_size, bool is_transposed,
               bool zero_points, uint32_t seed)
      : k(depth), n(columns), block(block_size), transposed(is_transposed) {
    std::mt19937 rng(seed);
    x = random_tensor({2, 3, k}, rng);
    bias = random_tensor({n}, rng);
    residual = random_tensor({2, 3, n}, rng);
    const Shape shape = transposed ? Shape{n, k} : Shape{k, n};
    if (dtype_bits(type) == 8 && is_float(type)) {
      w = Tensor::zeros(type, shape);
      for (int64_t i = 0; i < k * n; i++)
        static_cast<uint8_t*>(w.mutable_data())[i] =
            static_cast<uint8_t>(rng() % 2 * 128 + 1 + rng() % 127);
      scales = Tensor::of<float>({1}, {0.25f});
      return;
    }
    if (is_float(type)) {
      w = Tensor::zeros(type, shape);
      auto* bits = static_cast<uint16_t*>(w.mutable_data());
      for (int64_t i = 0; i < k * n; i++) {
        const float v = static_cast<float>(static_cast<int>(rng() % 255) - 127) / 64;
        bits[i] = type == DType::f16 ? to_f16(v).bits : to_bf16(v).bits;
      }
      return;
    }
    w = test::any_bytes(type, shape, seed);
    const int64_t blocks = block ? (k + block - 1) / block : 1;
    scales = random_tensor(transposed ? Shape{n, blocks} : Shape{blocks, n}, rng);
    if (!zero_points) return;
    zeros = Tensor::zeros(is_signed(type) ? DType::s8 : DType::u8, scales.shape());
    const int range = 1 << dtype_bits(type);
    for (int64_t i = 0; i < zeros.count(); i++)
      static_cast<int8_t*>(zeros.mutable_data())[i] =
          static_cast<int8_t>(static_cast<int>(rng() % static_cast<uint32_t>(range)) -
                              (is_signed(type) ? range / 2 : 0));
  }

  double weight(const std::vector<double>& q, const std::vector<double>& s,
                const std::vector<double>& z, int64_t i, int64_t j, double zero) const {
    const int64_t blocks = block ? (k + block - 1) / block : 1, b = block ? i / block : 0;
    const double v = q[static_cast<size_t>(transposed ? j * k + i : i * n + j)];
    if (s.empty()) return v;
    const auto at = static_cast<size_t>(s.size() == 1 ? 0
                                        : transposed  ? j * blocks + b
                                                      : b * n + j);
    return (v - (z.empty() ? zero : z[at])) * s[at];
  }

  void expect(Attributes attributes, double tolerance = 1e-6, double zero = 0) const {
    attributes["transB"] = static_cast<int64_t>(transposed);
    attributes["block_size"] = block;
    BuiltNode c(
        "Linear", "poprt",
        {{x, false}, {w, true}, {bias, true}, {residual, false}, {scales, true}, {zeros, true}},
        attributes);
    const Tensor got = c.run()[0];
    const std::vector<double> q = w.to_doubles(),
                              s = scales.defined() ? scales.to_doubles() : std::vector<double>(),
                              z = zeros.defined() ? zeros.to_doubles() : std::vector<double>();
    std::vector<double> want, magnitude;
    for (int64_t r = 0; r < 6; r++)
      for (int64_t j = 0; j < n; j++) {
        double sum = static_cast<double>(bias.values<float>()[static_cast<size_t>(j)]) +
                     static_cast<double>(residual.values<float>()[static_cast<size_t>(r * n + j)]);
        double size = std::abs(sum);
        for (int64_t i = 0; i < k; i++) {
          const double v = weight(q, s, z, i, j, zero) *
                           static_cast<double>(x.values<float>()[static_cast<size_t>(r * k + i)]);
          sum += v;
          size += std::abs(v);
        }
        want.push_back(sum);
        magnitude.push_back(size);
      }
    expect_close(got.values<float>(), want, magnitude, tolerance);
  }
};

constexpr DType kIntegers[] = {DType::u2, DType::s2, DType::u4, DType::s4, DType::u8, DType::s8};

TEST(NarrowMatmul, ReadsEveryTypeInBothOrders) {
  for (const DType type : kIntegers)
    for (const bool transposed : {false, true})
      for (const bool zeros : {false, true})
        for (const int64_t block : {0, 16, 32, 128}) {
          SCOPED_TRACE(testing::Message() << dtype_name(type) << " " << transposed << " " << block);
          NarrowLinear(type, 40, 96, block, transposed, zeros, 1).expect({});
          NarrowLinear(type, 36, 132, block, transposed, zeros, 2).expect({});
        }
  for (const DType type : {DType::f16, DType::bf16, DType::f8_143})
    for (const bool transposed : {false, true})
      NarrowLinear(type, 33, 75, 0, transposed, false, 3).expect({});
}

TEST(NarrowMatmul, OneScaleAndZeroPointForAll) {
  NarrowLinear p(DType::s8, 40, 64, 0, false, false, 1);
  p.scales = Tensor::of<float>({1}, {0.25f});
  p.expect({});
  p.zeros = Tensor::of<int8_t>({1}, {int8_t{-7}});
  p.expect({});
}

TEST(NarrowMatmul, TheZeroPointMayBeAnAttribute) {
  NarrowLinear(DType::u4, 40, 64, 32, true, false, 1).expect({{"zero_point", int64_t{8}}}, 1e-6, 8);
}

TEST(NarrowMatmul, ProductsOfBytesRoundTheRows) {
  for (const DType type : kIntegers)
    for (const int64_t block : {0, 16, 64}) {
      SCOPED_TRACE(dtype_name(type));
      NarrowLinear(type, 40, 96, block, true, true, 4)
          .expect({{"products", std::string("bytes")}}, 1.0 / 127);
    }
}

// Runs only on a CPU with such products. The sums are as exact as others.
TEST(NarrowMatmul, ProductsOfBf16RoundTheRows) {
  NarrowLinear p(DType::bf16, 70, 131, 0, true, false, 4);
  const Attributes products = {{"products", std::string("bf16")}};
  p.expect(products, 0x1p-8);
  if (!kernels::can_use_bf16()) GTEST_SKIP() << "the CPU has no dots of bf16";
  NarrowLinear rounded = p;
  rounded.x = Tensor::zeros(DType::f32, p.x.shape());
  const auto from = p.x.values<float>();
  std::ranges::transform(from, rounded.x.mutable_values<float>().begin(),
                         [](float v) { return to_float(to_bf16(v)); });
  rounded.expect(products);
  // The bits are equal because the kernel rounds the rows in the same way.
  const auto run = [&](const NarrowLinear& of) {
    BuiltNode c("Linear", "poprt", {{of.x, false}, {of.w, true}},
                {{"products", std::string("bf16")}, {"transB", int64_t{1}}});
    return c.run()[0];
  };
  EXPECT_TRUE(run(p).same_as(run(rounded)));
}

// On a CPU that does not compute in f16, the results are those of f32.
TEST(NarrowMatmul, ProductsOfF16) {
  NarrowLinear(DType::f16, 70, 131, 0, true, false, 4)
      .expect({{"products", std::string("f16")}},
              kernels::can_use_half_products() ? 33 * 0x1p-11 : 1e-6);
}

// The narrowest type is found, and its numbers are the same.
TEST(NarrowMatmul, NumbersOfANarrowTypeAreFound) {
  std::mt19937 rng(1);
  for (const DType type : {DType::f16, DType::bf16, DType::f8_143, DType::f8_152}) {
    Tensor t = Tensor::zeros(DType::f32, {64, 32});
    for (float& v : t.mutable_values<float>()) {
      v = static_cast<float>(1 + rng() % (type == DType::f8_152 ? 3 : 15)) *
          std::ldexp(1.0f, -static_cast<int>(rng() % 4));
      if (type == DType::bf16) v *= 0x1p-40f;
      if (type == DType::f16) v += 0x1p-6f;
    }
    const auto got = narrow_numbers(t);
    ASSERT_TRUE(got) << dtype_name(type);
    const std::vector<double> numbers = got->values.to_doubles(), want = t.to_doubles();
    for (size_t i = 0; i < numbers.size(); i++)
      ASSERT_EQ(numbers[i] * static_cast<double>(got->scale), want[i]) << dtype_name(type);
  }
  EXPECT_FALSE(narrow_numbers(random_tensor({8, 8}, rng)));
}

TEST(NarrowMatmul, RefusesBlocksThatNoKernelReads) {
  NarrowLinear p(DType::u4, 8, 64, 20, false, false, 1);
  EXPECT_THROW(p.expect({}), Error);
  p = NarrowLinear(DType::u4, 8, 64, 32, false, false, 1);
  p.scales = Tensor::zeros(DType::f32, {3, 8});
  EXPECT_THROW(p.expect({}), Error);
  p.scales = {};
  EXPECT_THROW(p.expect({}), Error);
}

}  // namespace
}  // namespace poprt::ops

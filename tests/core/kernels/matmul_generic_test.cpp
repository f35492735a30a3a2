// Compares kernels `matmul_generic` and `matmul_dynamic` with loops: any strides, batch, addend and
// element type.
#include "kernels/calls/matmul_generic.h"
#include "kernels/calls/matmul_dynamic.h"

#include <cmath>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

using calls::StridedProduct;

// Returns both strides of a matrix with dense rows, with gaps between rows, or the same for
// columns.
std::pair<int64_t, int64_t> strides(int64_t rows, int64_t columns, std::mt19937& rng) {
  switch (rng() % 4) {
    case 0: return {1, rows};
    case 1: return {columns + 2, 1};
    case 2: return {2 * columns, 2};
    default: return {columns, 1};
  }
}

template <class Call>
void check(DType type, std::mt19937& rng) {
  Call call;
  StridedProduct& p = call.product;
  p.m = test::one_of(rng, {1, 3, 4, 9});
  p.n = test::one_of(rng, {1, 5, 31, 33, 64, 70});
  p.k = test::one_of(rng, {1, 2, 7, 20});
  std::tie(p.a_row, p.a_k) = strides(p.m, p.k, rng);
  if (std::is_same_v<Call, calls::MatmulDynamic>) std::tie(p.a_row, p.a_k) = std::pair(p.k + 1, 1);
  std::tie(p.b_k, p.b_n) = strides(p.k, p.n, rng);
  p.c_row = test::one_of(rng, {0, p.n});
  p.c_n = test::one_of(rng, {0, 1});
  const bool real = is_float(type);
  p.alpha = real ? static_cast<float>(test::one_of(rng, {1, 2, 3})) / 2
                 : static_cast<float>(test::one_of(rng, {1, 1, 2}));
  p.beta = static_cast<float>(test::one_of(rng, {0, 1, 3}));
  int64_t a_size = (p.m - 1) * p.a_row + (p.k - 1) * p.a_k + 1,
          b_size = (p.k - 1) * p.b_k + (p.n - 1) * p.b_n + 1, products = 1;
  p.batch.resize(rng() % 3);
  for (calls::BatchAxis& axis : p.batch) {
    axis = {test::one_of(rng, {1, 2, 3}), rng() % 3 ? a_size : 0, rng() % 3 ? b_size : 0};
    a_size += (axis.count - 1) * axis.a;
    b_size += (axis.count - 1) * axis.b;
    products *= axis.count;
  }
  // Products side by side, with a gap after each row.
  int64_t y_size = products * p.m * p.n;
  if (rng() % 2) {
    p.y_row = products * p.n + 1;
    y_size = (p.m - 1) * p.y_row + products * p.n;
    int64_t inner = products;
    for (calls::BatchAxis& axis : p.batch) axis.y = (inner /= axis.count) * p.n;
  }
  std::string trace(dtype_name(type));
  for (const int64_t i : calls::encode(call).ints) trace += " " + std::to_string(i);
  SCOPED_TRACE(trace);
  std::vector<Tensor> operands = {
      test::random_numbers(type, {a_size}, rng), test::random_numbers(type, {b_size}, rng),
      rng() % 2 ? test::random_numbers(type, {(p.m - 1) * p.c_row + (p.n - 1) * p.c_n + 1}, rng)
                : Tensor(),
      Tensor::zeros(type, {y_size})};
  test::expect_needs_every_element(call, operands);
  test::run_call(call, operands);
  const auto a = operands[0].to_doubles(), b = operands[1].to_doubles(),
             got = operands[3].to_doubles();
  const auto c = operands[2].defined() ? operands[2].to_doubles() : std::vector<double>();
  for (int64_t i = 0; i < products * p.m * p.n; i++) {
    int64_t rest = i / (p.m * p.n), at_a = i / p.n % p.m * p.a_row, at_b = i % p.n * p.b_n;
    int64_t at_y = p.y_row ? i / p.n % p.m * p.y_row + i % p.n : i;
    for (size_t d = p.batch.size(); d-- > 0; rest /= p.batch[d].count) {
      at_a += rest % p.batch[d].count * p.batch[d].a;
      at_b += rest % p.batch[d].count * p.batch[d].b;
      at_y += rest % p.batch[d].count * p.batch[d].y;
    }
    double sum = 0;
    for (int64_t k = 0; k < p.k; k++)
      sum += a[static_cast<size_t>(at_a + k * p.a_k)] * b[static_cast<size_t>(at_b + k * p.b_k)];
    sum *= static_cast<double>(p.alpha);
    if (!c.empty())
      sum += static_cast<double>(p.beta) *
             c[static_cast<size_t>(i / p.n % p.m * p.c_row + i % p.n * p.c_n)];
    ASSERT_EQ(got[static_cast<size_t>(at_y)], test::stored(type, sum)) << i;
  }
}

TEST(MatmulGeneric, MatchesLoopsForAnyStridesAndType) {
  std::mt19937 rng(3);
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::s32, DType::u32,
                           DType::s64, DType::u64})
    for (int i = 0; i < 25; i++) check<calls::MatmulGeneric>(type, rng);
}

TEST(MatmulDynamic, MatchesLoopsForAnyStrides) {
  std::mt19937 rng(4);
  for (int i = 0; i < 100; i++) check<calls::MatmulDynamic>(DType::f32, rng);
}

// Integers wrap, and a factor of one does not go through floats.
TEST(MatmulGeneric, IntegersWrapAndKeepEveryBit) {
  constexpr int64_t kLarge = (int64_t{1} << 62) + 1;
  calls::MatmulGeneric call;
  call.product = {.m = 1, .n = 1, .k = 3, .a_row = 3, .a_k = 1, .b_k = 1, .b_n = 1, .batch = {}};
  std::vector<Tensor> operands = {Tensor::of<int64_t>({3}, {kLarge, kLarge, kLarge}),
                                  Tensor::of<int64_t>({3}, {1, 1, 3}), Tensor(),
                                  Tensor::zeros(DType::s64, {1})};
  test::run_call(call, operands);
  EXPECT_EQ(operands[3].values<int64_t>()[0],
            static_cast<int64_t>(5 * static_cast<uint64_t>(kLarge)));
  call.product.b_n = 2;  // selects the code without blocks
  test::run_call(call, operands);
  EXPECT_EQ(operands[3].values<int64_t>()[0],
            static_cast<int64_t>(5 * static_cast<uint64_t>(kLarge)));
}

// A product without terms is zero; a call without results does not check its operands.
TEST(MatmulGeneric, EmptyProductsAreZero) {
  std::mt19937 rng(5);
  calls::MatmulGeneric call;
  call.product = {.m = 2, .n = 3, .k = 0, .a_row = 1, .a_k = 1, .b_k = 1, .b_n = 1, .batch = {}};
  std::vector<Tensor> operands = {Tensor::zeros(DType::f32, {0}), Tensor::zeros(DType::f32, {0}),
                                  Tensor(), test::random_numbers(DType::f32, {6}, rng)};
  test::run_call(call, operands);
  EXPECT_EQ(operands[3].to_doubles(), std::vector<double>(6));
  call.product.k = 4;
  call.product.m = 0;
  EXPECT_EQ(test::prepare_call(call, operands).tasks, 0);
}

TEST(MatmulGeneric, RefusesOperandsOfOtherTypes) {
  calls::MatmulGeneric call;
  call.product = {.m = 1, .n = 1, .k = 1, .batch = {}};
  const Tensor one = Tensor::zeros(DType::f32, {1}), other = Tensor::zeros(DType::f64, {1});
  EXPECT_NO_THROW(test::prepare_call(call, std::vector{one, one, one, one}));
  EXPECT_THROW(test::prepare_call(call, std::vector{other, one, one, one}), Error);
  EXPECT_THROW(test::prepare_call(call, std::vector{one, other, one, one}), Error);
  EXPECT_THROW(test::prepare_call(call, std::vector{one, one, other, one}), Error);
  EXPECT_THROW(test::prepare_call(call, std::vector{one, one, one, other}), Error);
  const Tensor byte = Tensor::zeros(DType::s8, {1});
  EXPECT_THROW(test::prepare_call(call, std::vector{byte, byte, byte, byte}), Error);
}

}  // namespace
}  // namespace poprt::kernels

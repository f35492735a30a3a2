// Compares kernel `matmul_narrow` with f32 products of integer weights with f64: every width, odd
// sizes, 1 to 17 rows, on each instruction set.
#include "kernels/calls/matmul_narrow.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "core/kernels/every_isa.h"
#include "core/kernels/run_call.h"
#include "kernels/common/instruction_set.h"
#include "kernels/common/pack_narrow.h"

namespace poprt::kernels::matmul_narrow_test {
namespace {

using isa::NarrowFormat;

struct Case {
  NarrowFormat format = NarrowFormat::u4;
  int64_t m = 1, n = 1, k = 1;
  int64_t block = 0;  // 0: all of K
  bool zeros = false, half = false, residual = false;
};

int64_t columns_of(const Case& c) { return narrow_panels(c.n) * isa::kNarrowPanel; }

// A random product, its call and its result in f64.
class Product {
 public:
  Product(const Case& c, std::mt19937& rng) : case_(c), rng_(rng) {
    call_.m = c.m;
    call_.n = c.n;
    call_.k = c.k;
    call_.format = c.format;
    call_.zero = 1 << (isa::narrow_bits(c.format) - 1);
    call_.block = c.block && c.block < c.k ? c.block : (c.k + 15) / 16 * 16;
    while (call_.part < 128 && call_.block % (call_.part * 2) == 0) call_.part *= 2;
    blocks_ = (c.k + call_.block - 1) / call_.block;
    make_weights();
    make_numbers();
    operands_ = {Tensor::zeros(DType::f32, {c.m, c.k}),
                 panels_,
                 scales_,
                 zeros_,
                 normal({columns_of(c)}),
                 c.residual ? normal({c.m, c.n}) : Tensor(),
                 Tensor::zeros(DType::f32, {c.m, c.n})};
    fill_rows(1);
  }

  // Sets the rows to normal numbers of different deviations, with outliers, times `by`.
  void fill_rows(float by) {
    std::normal_distribution<float> value;
    auto x = operands_[0].mutable_values<float>();
    for (size_t i = 0; i < x.size(); i++)
      x[i] = value(rng_) * by * (rng_() % 64 ? 1.0f : 50.0f) *
             static_cast<float>(1 + static_cast<int64_t>(i) / case_.k);
  }
  float& x(int64_t row, int64_t k) {
    return operands_[0].mutable_values<float>()[static_cast<size_t>(row * case_.k + k)];
  }
  const calls::MatmulNarrow& call() const { return call_; }
  std::vector<Tensor>& operands() { return operands_; }

  double weight(int64_t k, int64_t n) const {
    const auto at =
        static_cast<size_t>(((n / 16) * blocks_ + k / call_.block) * isa::kNarrowPanel + n % 16);
    const double zero =
        zeros_.defined() ? zeros_.values<uint8_t>()[at] : static_cast<double>(call_.zero);
    return (q_[static_cast<size_t>(k * case_.n + n)] - zero) * scale_of_[at];
  }

  // Runs the kernel and compares all results with f64. `pieces`: whether f32 products may be made
  // of three bytes.
  void expect_results(bool pieces) {
    test::run_call(call_, operands_);
    const auto y = operands_[6].values<float>();
    for (int64_t row = 0; row < case_.m; row++)
      for (int64_t n = 0; n < case_.n; n++) {
        const auto [want, bound] = reference(row, n, pieces && case_.m <= isa::kNarrowRows);
        const auto got = static_cast<double>(y[static_cast<size_t>(row * case_.n + n)]);
        ASSERT_LE(std::abs(got - want), bound) << "row " << row << ", column " << n;
      }
  }

  // The result in f64 and the bound of the error of f32.
  std::pair<double, double> reference(int64_t row, int64_t n, bool pieces) {
    double sum = 0, magnitudes = 0, split = 0;
    for (int64_t k0 = 0; k0 < case_.k; k0 += call_.part) {
      double top = 0, weights = 0;
      for (int64_t k = k0; k < std::min(case_.k, k0 + call_.part); k++) {
        const double v = static_cast<double>(x(row, k)), w = weight(k, n);
        sum += v * w;
        magnitudes += std::abs(v * w);
        top = std::max(top, std::abs(v));
        weights += std::abs(w);
      }
      split += top * weights;
    }
    for (const size_t operand : {size_t{4}, size_t{5}}) {
      if (!operands_[operand].defined()) continue;
      const int64_t at = operand == 4 ? n : row * case_.n + n;
      const auto v =
          static_cast<double>(operands_[operand].values<float>()[static_cast<size_t>(at)]);
      sum += v;
      magnitudes += std::abs(v);
    }
    const auto parts = static_cast<double>((case_.k + call_.part - 1) / call_.part);
    const double steps = (pieces ? parts : static_cast<double>(case_.k)) + 5;
    return {sum, steps * 0x1p-24 * magnitudes + (pieces ? 0x1p-22 * split : 0)};
  }

 private:
  Tensor normal(Shape shape) {
    std::normal_distribution<float> value;
    Tensor t = Tensor::zeros(DType::f32, std::move(shape));
    for (float& v : t.mutable_values<float>()) v = value(rng_);
    return t;
  }

  void make_weights() {
    const int64_t bits = isa::narrow_bits(case_.format), each = 8 / bits;
    std::vector<std::byte> bytes(static_cast<size_t>((case_.k * case_.n + each - 1) / each));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng_());
    for (int64_t i = 0; i < case_.k * case_.n; i++)
      q_.push_back(
          (std::to_integer<int>(bytes[static_cast<size_t>(i / each)]) >> (i % each * bits)) &
          ((1 << bits) - 1));
    panels_ = Tensor::zeros(DType::u8, {packed_narrow_bytes(case_.format, case_.k, case_.n)});
    pack_narrow_integers(bytes, false, case_.format,
                         {.k = case_.k, .n = case_.n, .by_k = case_.n, .by_n = 1},
                         {static_cast<std::byte*>(panels_.mutable_data()), panels_.bytes()});
  }

  void make_numbers() {
    const Shape shape = {blocks_ * columns_of(case_)};
    scales_ = Tensor::zeros(case_.half ? DType::f16 : DType::f32, shape);
    std::uniform_real_distribution<float> scale(0.005f, 0.015f);
    if (case_.half)
      for (f16_t& v : scales_.mutable_values<f16_t>()) v = to_f16(scale(rng_));
    else
      for (float& v : scales_.mutable_values<float>()) v = scale(rng_);
    scale_of_ = scales_.to_doubles();
    if (!case_.zeros) return;
    zeros_ = Tensor::zeros(DType::u8, shape);
    const auto range = static_cast<uint32_t>(1 << isa::narrow_bits(case_.format));
    for (uint8_t& v : zeros_.mutable_values<uint8_t>()) v = static_cast<uint8_t>(rng_() % range);
  }

  Case case_;
  std::mt19937& rng_;
  calls::MatmulNarrow call_;
  int64_t blocks_ = 1;
  std::vector<int> q_;
  std::vector<double> scale_of_;
  Tensor panels_, scales_, zeros_;
  std::vector<Tensor> operands_;
};

Case random_case(int64_t m, std::mt19937& rng) {
  Case c;
  c.format = static_cast<NarrowFormat>(rng() % 3);
  c.m = m;
  c.n = test::one_of(rng, {1, 15, 16, 17, 33, 48, 100});
  c.k = test::one_of(rng, {1, 7, 16, 31, 33, 64, 100, 129, 257, 520});
  c.block = test::one_of(rng, {0, 16, 32, 64, 128, 256});
  c.zeros = rng() % 2 != 0;
  c.half = rng() % 2 != 0;
  c.residual = rng() % 2 != 0;
  return c;
}

void check_random_products() {
  std::mt19937 rng(42);
  const bool pieces = can_use_vnni();
  for (int repeat = 0; repeat < 12; repeat++)
    for (int64_t m = 1; m <= 17; m++) {
      const Case c = random_case(m, rng);
      SCOPED_TRACE(testing::Message()
                   << isa::narrow_bits(c.format) << " bits, " << c.m << "x" << c.n << "x" << c.k
                   << ", block " << c.block << ", zeros " << c.zeros << ", half " << c.half);
      Product(c, rng).expect_results(pieces);
    }
}

// Numbers that cannot be split into bytes are multiplied as floats.
void check_numbers_without_pieces() {
  std::mt19937 rng(7);
  Product tiny({.m = 2, .n = 33, .k = 129, .block = 32}, rng);
  tiny.fill_rows(1e-25f);
  tiny.operands()[4] = Tensor::zeros(DType::f32, tiny.operands()[4].shape());
  tiny.expect_results(false);
  Product p({.m = 2, .n = 33, .k = 129, .block = 32}, rng);
  p.x(0, 100) = HUGE_VALF;
  test::run_call(p.call(), p.operands());
  const auto y = p.operands()[6].values<float>();
  for (int64_t n = 0; n < 33; n++) {
    const double w = p.weight(100, n);
    const float got = y[static_cast<size_t>(n)];
    if (w == 0)
      EXPECT_TRUE(std::isnan(got)) << n;
    else
      EXPECT_EQ(got, w > 0 ? HUGE_VALF : -HUGE_VALF) << n;
    const auto [want, bound] = p.reference(1, n, false);
    EXPECT_LE(std::abs(static_cast<double>(y[static_cast<size_t>(33 + n)]) - want), bound) << n;
  }
}

TEST(MatmulNarrow, IntegersEqualF64WithinTheBoundOnEveryInstructionSet) {
  test::expect_on_isas({"baseline", "avx2", "avx512"}, [] {
    check_random_products();
    check_numbers_without_pieces();
  });
}

// The results of the product of these operands with Call::reproducible. Tasks are divided into one
// range for each thread.
std::vector<float> reproducible_results(const calls::MatmulNarrow& call,
                                        std::vector<Tensor>& operands, int threads = 1) {
  std::vector<Operand> given;
  std::vector<void*> data;
  for (Tensor& t : operands) {
    given.push_back(t.defined() ? Operand{true, t.dtype(), t.shape(), t.bytes()} : Operand{});
    data.push_back(t.defined() ? t.mutable_data() : nullptr);
  }
  const calls::Encoded encoded = calls::encode(call);
  const Plan plan = find_kernel(calls::MatmulNarrow::kKernel)
                        ->prepare({given, encoded.ints, encoded.floats, threads, true});
  Tensor scratch = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
  const int64_t all = plan.tasks * plan.rounds;
  for (int64_t i = 0; i < threads; i++)
    plan.run(plan.params.get(), data.data(), all * i / threads, all * (i + 1) / threads,
             static_cast<std::byte*>(scratch.mutable_data()));
  const auto y = operands[6].values<float>();
  return {y.begin(), y.end()};
}

TEST(MatmulNarrow, ReproducibleRowsDoNotDependOnTheNumberOfRows) {
  std::mt19937 rng(3);
  const int64_t n = 33, k = 520;
  Product p({.m = 9, .n = n, .k = k, .block = 32}, rng);
  const std::vector<float> all = reproducible_results(p.call(), p.operands());
  for (const int64_t rows : {1, 2, 4}) {
    calls::MatmulNarrow call = p.call();
    call.m = rows;
    std::vector<Tensor> operands = p.operands();
    operands[0] = Tensor::zeros(DType::f32, {rows, k});
    for (int64_t i = 0; i < rows * k; i++)
      operands[0].mutable_values<float>()[static_cast<size_t>(i)] = p.x(0, i);
    operands[6] = Tensor::zeros(DType::f32, {rows, n});
    const std::vector<float> few = reproducible_results(call, operands);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin())) << rows << " rows";
  }
}

// The bits of all reproducible products: 2, 4 and 8 bits, in f32 and in bytes, of 1 to 17 rows.
std::vector<float> bits_of_reproducible_products() {
  std::vector<float> bits;
  std::mt19937 rng(17);
  for (int format = 0; format < 3; format++)
    for (int64_t m = 1; m <= 17; m++) {
      Case c = random_case(m, rng);
      c.format = static_cast<NarrowFormat>(format);
      for (const auto products : {calls::NarrowProducts::f32, calls::NarrowProducts::bytes}) {
        Product p(c, rng);
        calls::MatmulNarrow call = p.call();
        call.products = products;
        const isa::NarrowShape shape = {.m = c.m,
                                        .n = c.n,
                                        .k = c.k,
                                        .format = c.format,
                                        .block = call.block,
                                        .blocks = (c.k + call.block - 1) / call.block,
                                        .part = call.part,
                                        .parts = (c.k + call.part - 1) / call.part};
        if (products == calls::NarrowProducts::bytes)
          p.operands().push_back(Tensor::zeros(DType::u8, {c.m, isa::narrow_row_bytes(shape)}));
        const std::vector<float> one = reproducible_results(call, p.operands());
        for (const int threads : {2, 3, 5})
          EXPECT_EQ(reproducible_results(call, p.operands(), threads), one) << threads;
        bits.insert(bits.end(), one.begin(), one.end());
      }
    }
  return bits;
}

// The first process writes its bits to the file of POPRT_TEST_BITS, and the others compare theirs.
void check_bits_of_file() {
  const std::vector<float> bits = bits_of_reproducible_products();
  const auto size = static_cast<std::streamsize>(bits.size() * sizeof(float));
  std::vector<float> first(bits.size());
  const char* path = std::getenv("POPRT_TEST_BITS");
  if (std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(first.data()), size))
    EXPECT_EQ(std::memcmp(first.data(), bits.data(), static_cast<size_t>(size)), 0);
  else
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bits.data()), size);
}

TEST(MatmulNarrow, ReproducibleBitsAreEqualOnEveryInstructionSet) {
  std::string path = testing::TempDir() + "bits_XXXXXX";
  const bool makes_file = std::getenv("POPRT_TEST_BITS") == nullptr;
  if (makes_file) {
    ::close(::mkstemp(path.data()));
    ::setenv("POPRT_TEST_BITS", path.c_str(), 1);
  }
  test::expect_on_isas({"avx2", "avx512"}, check_bits_of_file);
  if (makes_file) {
    ::unsetenv("POPRT_TEST_BITS");
    std::remove(path.c_str());
  }
}

// The code of -0 is the NaN of F143. A NaN weight makes its column NaN.
TEST(MatmulNarrow, ANanWeightOfF143IsNan) {
  test::expect_on_isas({"baseline", "avx2", "avx512"}, [] {
    constexpr int64_t kN = 20;
    for (const int64_t k : {1, 5, 64})
      for (const int64_t m : {1, 3, 17}) {
        std::vector<uint8_t> codes(static_cast<size_t>(k * kN), 0x40);
        codes[static_cast<size_t>((k - 1) * kN + 7)] = 0x80;
        Tensor panels =
            Tensor::zeros(DType::u8, {packed_narrow_bytes(NarrowFormat::f8_143, k, kN)});
        pack_narrow_bytes(codes, {.k = k, .n = kN, .by_k = kN, .by_n = 1},
                          {static_cast<std::byte*>(panels.mutable_data()), panels.bytes()});
        calls::MatmulNarrow call;
        call.m = m;
        call.n = kN;
        call.k = k;
        call.format = NarrowFormat::f8_143;
        call.block = (k + 15) / 16 * 16;
        std::vector<float> rows(static_cast<size_t>(m * k), 1.0f);
        std::vector<Tensor> operands = {Tensor::of<float>({m, k}, std::span<const float>(rows)),
                                        panels,
                                        Tensor(),
                                        Tensor(),
                                        Tensor(),
                                        Tensor(),
                                        Tensor::zeros(DType::f32, {m, kN})};
        test::run_call(call, operands);
        const auto y = operands[6].values<float>();
        for (size_t i = 0; i < y.size(); i++)
          EXPECT_EQ(std::isnan(y[i]), i % kN == 7) << i << " with k " << k;
      }
  });
}

TEST(MatmulNarrow, ProductsOfBf16RequireWeightsOfBf16) {
  std::mt19937 rng(1);
  Product p({.m = 1, .n = 16, .k = 32}, rng);
  calls::MatmulNarrow call = p.call();
  call.products = calls::NarrowProducts::bf16;
  std::vector<Tensor> operands = p.operands();
  operands.push_back(Tensor::zeros(DType::u8, {1, isa::narrow_pair_bytes(32)}));
  EXPECT_THROW(test::prepare_call(call, operands), Error);
}

// A product of f16 of 6x40x33, whose rows may be missing or have another size.
void prepare_halves(int64_t row_bytes, NarrowFormat format = NarrowFormat::f16) {
  calls::MatmulNarrow call{.m = 6,
                           .n = 33,
                           .k = 40,
                           .format = format,
                           .products = calls::NarrowProducts::f16,
                           .block = 64,
                           .epilogue = {}};
  std::vector<Tensor> operands = {Tensor::zeros(DType::f32, {6, 40}),
                                  Tensor::zeros(DType::u8, {packed_narrow_bytes(format, 40, 33)}),
                                  Tensor(),
                                  Tensor(),
                                  Tensor(),
                                  Tensor(),
                                  Tensor::zeros(DType::f32, {6, 33})};
  if (row_bytes) operands.push_back(Tensor::zeros(DType::u8, {6, row_bytes}));
  test::prepare_call(call, operands);
}

TEST(MatmulNarrow, ProductsOfF16RequireWeightsAndRowsOfF16) {
  prepare_halves(isa::narrow_half_bytes(40));
  EXPECT_THROW(prepare_halves(isa::narrow_half_bytes(40), NarrowFormat::bf16), Error);
  EXPECT_THROW(prepare_halves(0), Error);
  EXPECT_THROW(prepare_halves(isa::narrow_half_bytes(40) - 64), Error);
}

}  // namespace
}  // namespace poprt::kernels::matmul_narrow_test

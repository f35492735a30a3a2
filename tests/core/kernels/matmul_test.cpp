// Products of f32 with Call::reproducible have equal bits for every number of rows.
#include "kernels/calls/matmul.h"

#include <cmath>

#include "core/kernels/every_isa.h"
#include "core/kernels/run_call.h"
#include "kernels/isa/gemm.h"

namespace poprt::kernels {
namespace {

// Rows of zeros times columns of negative numbers, plus -0.0: every sum is -0.0.
std::vector<float> sums_of_negative_zeros(int64_t m) {
  constexpr int64_t kColumns = 16, kDepth = 9;
  std::vector<Tensor> t = {Tensor::zeros(DType::f32, {m, kDepth}),
                           Tensor::zeros(DType::f32, {kDepth, isa::kPanel}),
                           Tensor::zeros(DType::f32, {isa::kPanel}),
                           {},
                           Tensor::zeros(DType::f32, {m, kColumns})};
  for (float& v : t[1].mutable_values<float>()) v = -1;
  for (float& v : t[2].mutable_values<float>()) v = -0.0f;
  std::vector<Operand> given;
  std::vector<void*> data;
  for (Tensor& o : t) {
    given.push_back(o.defined() ? Operand{true, o.dtype(), o.shape(), o.bytes()} : Operand{});
    data.push_back(o.defined() ? o.mutable_data() : nullptr);
  }
  const calls::Encoded call =
      calls::encode(calls::Matmul{.m = m, .n = kColumns, .k = kDepth, .epilogue = {}});
  const Plan plan =
      find_kernel(calls::Matmul::kKernel)->prepare({given, call.ints, call.floats, 1, true});
  plan.run(plan.params.get(), data.data(), 0, plan.tasks * plan.rounds, nullptr);
  const auto y = t[4].values<float>();
  return {y.begin(), y.end()};
}

TEST(Matmul, ReproducibleSumsKeepTheSignOfZeroInEveryRow) {
  test::expect_on_isas({"baseline", "avx2", "avx512"}, [] {
    for (int64_t m = 1; m <= 17; m++)
      for (const float v : sums_of_negative_zeros(m))
        ASSERT_TRUE(v == 0 && std::signbit(v)) << m << " rows";
  });
}

}  // namespace
}  // namespace poprt::kernels

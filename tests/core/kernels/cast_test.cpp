#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/kernels/run_call.h"
#include "kernels/calls/cast.h"

namespace poprt::kernels::test {
namespace {

// One form for each way of conversion: whole rows, blocks of floats, and single elements.
TEST(CastTasks, ConvertTheirPart) {
  std::mt19937 rng(31);
  for (const auto& [from, to] : {std::pair{DType::f32, DType::f16},
                                 {DType::s32, DType::f32},
                                 {DType::f16, DType::bf16},
                                 {DType::u8, DType::s64}}) {
    const int64_t count = 3 * 8192 + 5;  // four tasks
    std::vector<Tensor> operands{random_numbers(from, {count}, rng), Tensor::zeros(to, {count})};
    run_call(calls::Cast{}, operands);
    EXPECT_EQ(operands[1].to_doubles(), operands[0].to_doubles())
        << dtype_name(from) << " to " << dtype_name(to);
  }
}

}  // namespace
}  // namespace poprt::kernels::test

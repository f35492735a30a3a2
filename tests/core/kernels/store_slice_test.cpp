#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

Plan prepare(DType part, Shape part_shape, DType whole, Shape whole_shape) {
  const Shape scalar;
  const std::array<Operand, 3> operands = {{
      {true, part, part_shape, dtype_bytes(part, element_count(part_shape))},
      {true, DType::s64, scalar, 8},
      {true, whole, whole_shape, dtype_bytes(whole, element_count(whole_shape))},
  }};
  return find_kernel("store_slice")->prepare({operands, {}, {}});
}

TEST(StoreSlice, WritesOnlyTheRow) {
  const Plan plan = prepare(DType::s32, {2}, DType::s32, {3, 2});
  for (const int64_t index :
       {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, INT64_MAX}) {
    std::array<int32_t, 2> part = {5, 6};
    std::array<int32_t, 10> memory = {};  // two guards on each side
    int64_t at = index;
    void* data[] = {part.data(), &at, memory.data() + 2};
    plan.run(plan.params.get(), data, 0, plan.tasks, nullptr);
    for (int64_t i = 0; i < 10; i++) {
      const bool row = index >= 0 && index < 3 && (i - 2) / 2 == index && i >= 2;
      EXPECT_EQ(memory[static_cast<size_t>(i)], row ? 5 + i % 2 : 0) << index << " " << i;
    }
  }
}

TEST(StoreSlice, PartsThatDoNotFitAreRefused) {
  EXPECT_THROW(prepare(DType::s32, {3}, DType::s32, {3, 2}), Error);
  EXPECT_THROW(prepare(DType::s32, {2}, DType::f32, {3, 2}), Error);
  EXPECT_THROW(prepare(DType::s4, {2}, DType::s4, {3, 2}), Error);
  EXPECT_THROW(prepare(DType::s32, {}, DType::s32, {}), Error);
}

}  // namespace
}  // namespace poprt::kernels

// Kinds of kernel `reduce`. The numbers are part of the file format: append only.
#pragma once

#include <cstdint>

namespace poprt::kernels {

enum class Reduction : int64_t {
  sum = 0,
  mean = 1,
  max = 2,
  min = 3,
  prod = 4,
  l1 = 5,
  l2 = 6,
  sum_square = 7,
  log_sum = 8,
  log_sum_exp = 9,
};
inline constexpr int64_t kReductionCount = 10;

}  // namespace poprt::kernels

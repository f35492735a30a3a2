// The chip's conversions of floats to halves and to its 8-bit formats, as its documents state them.
//
// A number beyond the largest one becomes NaN (the chip's `nanoo` mode), or the largest one. An
// infinity becomes NaN in both modes. Numbers are rounded to nearest, ties to even, or
// stochastically: a number between two others becomes the upper one with the probability of its
// distance from the lower one, so that the average of many roundings is the number itself.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace poprt {

class ChipRounding {
 public:
  // With a seed, rounding is stochastic. Equal seeds give the same sequence of results.
  explicit ChipRounding(bool saturate, std::optional<uint64_t> seed = {})
      : saturate_(saturate), seed_(seed) {}

  // Returns the value of the half. NaN stays NaN, and an infinity is NaN.
  float half(float x);
  // Returns the code of a number that is divided by 2^scale. The chip converts from halves, so the
  // number is rounded to a half first.
  uint8_t quarter(float x, DType dtype, int scale);

 private:
  // Returns a number in [0, 1) with 32 random bits.
  double next();
  float half_by_chance(float x);

  bool saturate_;
  std::optional<uint64_t> seed_;
  uint64_t drawn_ = 0;
};

}  // namespace poprt

// A program of one instruction that takes about 0.3 s: output "y" = input "x" times itself, f64.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "device/device.h"
#include "program/builder.h"

namespace poprt::test {

struct LongMatmul {
  static constexpr int64_t kSize = 1024;
  static constexpr uint64_t kBytes = kSize * kSize * 8;

  static device::Image image() {
    program::Builder b;
    const Shape shape{kSize, kSize};
    const auto x = b.input(b.add_input({"x", DType::f64, shape}), 0, kBytes, DType::f64, shape);
    const auto y = b.output(b.add_output({"y", DType::f64, shape}), 0, kBytes, DType::f64, shape);
    const program::BufferId operands[] = {x, x, program::kNoBuffer, y};
    const int64_t ints[] = {kSize, kSize, kSize, kSize, 1, kSize, 1, 0, 0, 0};
    const float floats[] = {1, 0};
    b.emit("matmul_generic", operands, ints, floats, "long");
    return {std::make_shared<program::Program>(b.program()), {}, {}};
  }

  std::vector<double> x = std::vector<double>(kSize * kSize, 1), y = std::vector<double>(x.size());
  const void* inputs[1] = {x.data()};
  void* outputs[1] = {y.data()};

  bool finished() const { return std::find(y.begin(), y.end(), 0) == y.end(); }
  bool begun() const {
    return std::any_of(y.begin(), y.end(), [](double v) { return v == kSize; });
  }
};

// Calls round(delay) with increasing delays until it returns that it interrupted a run.
template <class Round>
bool caught_in_the_middle(Round&& round) {
  for (auto delay = std::chrono::milliseconds(1); delay < std::chrono::seconds(5); delay *= 2)
    if (round(delay)) return true;
  return false;
}

}  // namespace poprt::test

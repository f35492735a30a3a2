// A program of three copies for tests: input "x" -> arena -> output "y", and weights -> output "c".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/device.h"
#include "program/builder.h"
#include "support/uniform.h"

namespace poprt::test {

inline std::vector<float> random_floats(size_t n, unsigned seed = 7) {
  std::mt19937 rng(seed);
  const Uniform dist{-1, 1};
  std::vector<float> v(n);
  for (float& x : v) x = dist(rng);
  return v;
}

struct CopyModel {
  explicit CopyModel(int64_t n) : shape{n}, constants(random_floats(static_cast<size_t>(n), 9)) {
    const auto bytes = static_cast<uint64_t>(n) * 4;
    const auto x = b.add_input({"x", DType::f32, shape});
    const auto y = b.add_output({"y", DType::f32, shape});
    const auto c = b.add_output({"c", DType::f32, shape});
    const auto from = b.input(x, 0, bytes, DType::f32, shape);
    const auto middle = b.arena(0, bytes, DType::f32, shape);
    const auto to = b.output(y, 0, bytes, DType::f32, shape);
    const auto w = b.weights(bytes, DType::f32, shape, [this](std::span<std::byte> out) {
      std::memcpy(out.data(), constants.data(), out.size());
    });
    const auto to_c = b.output(c, 0, bytes, DType::f32, shape);
    emit(from, middle, "first");
    emit(middle, to, "second");
    emit(w, to_c, "third");
    weights.resize(b.program().weights_bytes);
    if (bytes != 0) std::memcpy(weights.data(), constants.data(), bytes);
  }
  CopyModel(const CopyModel&) = delete;
  CopyModel& operator=(const CopyModel&) = delete;

  void emit(program::BufferId from, program::BufferId to, std::string name) {
    const program::BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, std::move(name));
  }
  // Borrows `weights`.
  device::Image image() { return {std::make_shared<program::Program>(b.program()), weights, {}}; }

  program::Builder b;
  Shape shape;
  std::vector<float> constants;
  std::vector<std::byte> weights;
};

}  // namespace poprt::test

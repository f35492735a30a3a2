// Builds a Program piece by piece; the compiler's lowering and tests use it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/program.h"
#include "program/weight_form.h"

namespace poprt::program {

using BufferId = uint32_t;

// Constant bytes that are made late: `fill` writes exactly `bytes` bytes when the executable is
// written or loaded, so that packed weights never exist twice in memory. Called once or more, from
// any thread, one call at a time per record.
struct Weight {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::function<void(std::span<std::byte>)> fill;
};

class Builder {
 public:
  // A place in the arena at a planned offset.
  BufferId arena(uint64_t offset, uint64_t bytes, DType dtype, Shape shape);
  BufferId input(uint32_t anchor, uint64_t offset, uint64_t bytes, DType dtype, Shape shape);
  BufferId output(uint32_t anchor, uint64_t offset, uint64_t bytes, DType dtype, Shape shape);
  // Reserves `bytes` of weights, 64-byte aligned, in call order.
  BufferId weights(uint64_t bytes, DType dtype, Shape shape,
                   std::function<void(std::span<std::byte>)> fill);
  // The same, or the place that an equal form has got before.
  BufferId weights(uint64_t bytes, DType dtype, Shape shape, const WeightForm& form);

  uint32_t add_input(Anchor anchor);
  uint32_t add_output(Anchor anchor);

  // Appends to `main`.
  void emit(std::string_view kernel, std::span<const BufferId> operands,
            std::span<const int64_t> ints, std::span<const float> floats, std::string name);

  const Buffer& buffer(BufferId id) const { return program_.buffers[id]; }
  Program& program() { return program_; }
  std::vector<Weight>& weight_records() { return weights_; }

 private:
  BufferId add(Buffer buffer);

  Program program_;
  std::vector<Weight> weights_;
  // What lies where among the weights, by fingerprint.
  struct Placed {
    WeightForm form;
    uint64_t offset, bytes;
  };
  std::unordered_multimap<uint64_t, Placed> placed_;
  std::unordered_map<std::string, uint32_t> kernel_ids_;
};

}  // namespace poprt::program

// Builds a Program step by step. The compiler's lowering and tests use it.
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

// Constant bytes that are computed late: `fill` writes exactly `bytes` bytes whenever the bytes are
// needed, such as when the executable is written or loaded, so that a program in memory does not
// contain its packed weights. `fill` may be called several times, on any thread, but never by two
// threads at the same time for one record.
struct Weight {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::function<void(std::span<std::byte>)> fill;
};

class Builder {
 public:
  // Adds a buffer in the arena at a planned offset.
  BufferId arena(uint64_t offset, uint64_t bytes, DType dtype, Shape shape);
  BufferId input(uint32_t anchor, uint64_t offset, uint64_t bytes, DType dtype, Shape shape);
  BufferId output(uint32_t anchor, uint64_t offset, uint64_t bytes, DType dtype, Shape shape);
  // Reserves `bytes` of weights, aligned to 64, in the order of the calls.
  BufferId weights(uint64_t bytes, DType dtype, Shape shape,
                   std::function<void(std::span<std::byte>)> fill);
  // The same for a weight form. If an equal form of as many bytes was added before, the buffer uses
  // the bytes of that form.
  BufferId weights(uint64_t bytes, DType dtype, Shape shape, const WeightForm& form);

  uint32_t add_input(Anchor anchor);
  uint32_t add_output(Anchor anchor);

  // Appends an instruction to `main`.
  void emit(std::string_view kernel, std::span<const BufferId> operands,
            std::span<const int64_t> ints, std::span<const float> floats, std::string name);

  const Buffer& buffer(BufferId id) const { return program_.buffers[id]; }
  Program& program() { return program_; }
  std::vector<Weight>& weight_records() { return weights_; }

 private:
  BufferId add(Buffer buffer);

  Program program_;
  std::vector<Weight> weights_;
  // A weight form that has a place among the weights; the map is by fingerprint.
  struct Placed {
    WeightForm form;
    uint64_t offset, bytes;
  };
  std::unordered_multimap<uint64_t, Placed> placed_;
  std::unordered_map<std::string, uint32_t> kernel_ids_;
};

}  // namespace poprt::program

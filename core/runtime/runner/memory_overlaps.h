// Refuses requests whose outputs are in the memory of inputs or of other outputs. A run reads and
// writes them in place, in an order that depends on the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace poprt::runtime {

// The memory of an input or an output. 0 bytes: it is not given.
struct RequestMemory {
  std::string_view name;
  const void* data;
  uint64_t bytes;

  bool overlaps(const RequestMemory& other) const noexcept {
    const auto a = reinterpret_cast<uintptr_t>(data), b = reinterpret_cast<uintptr_t>(other.data);
    return bytes && other.bytes && a < b + other.bytes && b < a + bytes;
  }
};

// input(i) and output(i) return the RequestMemory of an index. Throws invalid_argument.
template <class Input, class Output>
void refuse_overlaps(size_t inputs, Input input, size_t outputs, Output output) {
  for (size_t o = 0; o < outputs; o++) {
    const RequestMemory to = output(o);
    if (to.bytes == 0) continue;
    for (size_t i = 0; i < inputs; i++)
      if (const RequestMemory from = input(i); to.overlaps(from))
        fail(ErrorCode::invalid_argument,
             "output '{}' and input '{}' are in the same memory: give the output memory of its own",
             to.name, from.name);
    for (size_t i = 0; i < o; i++)
      if (const RequestMemory other = output(i); to.overlaps(other))
        fail(ErrorCode::invalid_argument,
             "outputs '{}' and '{}' are in the same memory: give each of them its own", other.name,
             to.name);
  }
}

}  // namespace poprt::runtime

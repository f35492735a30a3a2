// Separates the memory of the inputs of a request from that of its outputs. A run reads and writes
// the memory in place, in an order that depends on the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/session/tensor_memory.h"

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

// input(i) and output(i) return the RequestMemory of an index. For each input whose memory overlaps
// that of an output, calls replace(i, copy) with a copy of its bytes, which `copies` owns. Throws
// invalid_argument if two outputs overlap.
template <class Input, class Output, class Replace>
void separate_inputs(size_t inputs, Input input, size_t outputs, Output output,
                     std::vector<TensorMemory>& copies, Replace replace) {
  for (size_t o = 0; o < outputs; o++) {
    const RequestMemory to = output(o);
    if (to.bytes == 0) continue;
    for (size_t i = 0; i < o; i++)
      if (const RequestMemory other = output(i); to.overlaps(other))
        fail(ErrorCode::invalid_argument,
             "outputs '{}' and '{}' are in the same memory: give each of them its own", other.name,
             to.name);
    for (size_t i = 0; i < inputs; i++) {
      const RequestMemory from = input(i);
      if (!to.overlaps(from)) continue;
      copies.emplace_back(from.bytes);
      std::memcpy(copies.back().data(), from.data, from.bytes);
      replace(i, copies.back().data());
    }
  }
}

}  // namespace poprt::runtime

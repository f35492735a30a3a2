// A program of several IPUs that copies.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "program/builder.h"
#include "program/control.h"
#include "program/shards.h"

namespace poprt::test {

// y = x and z = x through the given number of IPUs. The last IPU reads from its neighbour and from
// the first.
inline device::Image shard_program(size_t ipus, bool pipelined, const Shape& shape) {
  program::Builder b;
  const uint64_t bytes = dtype_bytes(DType::f32, element_count(shape));
  const auto x = b.input(b.add_input({"x", DType::f32, shape}), 0, bytes, DType::f32, shape);
  const auto y = b.output(b.add_output({"y", DType::f32, shape}), 0, bytes, DType::f32, shape);
  const auto z = b.output(b.add_output({"z", DType::f32, shape}), 0, bytes, DType::f32, shape);
  std::vector<program::BufferId> links;
  for (size_t i = 0; i < ipus; i++) {  // from IPU i to i + 1; the last link from the first IPU
    const uint32_t from = i + 1 < ipus ? static_cast<uint32_t>(i) : 0;
    links.push_back(b.arena(i * bytes, bytes, DType::f32, shape));
    const program::BufferId place[] = {links.back()};
    b.emit(program::kControlTransfer, place,
           program::encode(program::Transfer{"t", DType::f32, shape, i * bytes, bytes, from, {}}),
           {}, fmt::format("link{}", i));
  }
  const uint64_t end = ipus * bytes;
  const auto copy = [&](program::BufferId from, program::BufferId to) {
    const program::BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, "copy");
  };
  for (size_t i = 0; i < ipus; i++) {
    const uint64_t base = end + i * bytes;
    b.emit(program::kControlShard, {},
           program::encode(program::Shard{
               static_cast<int64_t>(i), pipelined ? static_cast<int64_t>(i) : -1, base, bytes, 0}),
           {}, "ipu");
    const auto own = b.arena(base, bytes, DType::f32, shape);
    copy(i == 0 ? x : links[i - 1], own);
    copy(own, i + 1 == ipus ? y : links[i]);
    if (i == 0) copy(own, links.back());
    if (i + 1 == ipus) copy(links.back(), z);
    b.emit(program::kControlEnd, {}, {}, {}, "ipu");
  }
  device::Image image;
  image.program = std::make_shared<program::Program>(std::move(b.program()));
  return image;
}

}  // namespace poprt::test

#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

using test::any_bytes;

OPS_SAMPLE(ByteMap) {
  for (const DType x : {DType::u8, DType::s8})
    for (const DType y : {DType::u8, DType::s8})
      samples.add("ByteMap", 1, "poprt")
          .input(any_bytes(x, {3, 1001}, 1))
          .constant_input(any_bytes(y, {256}, 2))
          .shape({3, 1001})
          .dtype(y)
          .reference([](const SampleValues& in) {
            return SampleValues{map(in[0], [&](double v) {
              return in[1][static_cast<size_t>(static_cast<uint8_t>(static_cast<int>(v)))];
            })};
          });
}

}  // namespace
}  // namespace poprt::ops::sampled

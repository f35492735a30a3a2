#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

using test::any_bytes;

OPS_SAMPLE(Packed) {
  const auto numbers = [](int bits) {
    return [bits](const SampleValues& in) {
      std::vector<double> y;
      for (const double byte : in[0])
        for (int at = 0; at < 8; at += bits)
          y.push_back(static_cast<int>(byte) >> at & ((1 << bits) - 1));
      return SampleValues{y};
    };
  };
  samples.add("Packed", 1, "poprt")
      .input(any_bytes(DType::u8, {5, 33}, 3))
      .attr("to", static_cast<int64_t>(DType::u4))
      .shape({5, 66})
      .dtype(DType::u4)
      .reference(numbers(4));
  samples.add("Packed", 1, "poprt")
      .input(any_bytes(DType::u8, {7}, 4))
      .attr("to", static_cast<int64_t>(DType::u2))
      .shape({28})
      .dtype(DType::u2)
      .reference(numbers(2));
}

}  // namespace
}  // namespace poprt::ops::sampled

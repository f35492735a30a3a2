// Operators that move elements smaller than a byte.
#pragma once

#include "core/ops/run_node.h"

namespace poprt::test {

// Expects that a node gives the same values for elements smaller than a byte as for f32.
inline void expect_moves_sub_byte(NodeCase c, std::vector<size_t> moved) {
  for (const DType dtype : {DType::s4, DType::u4, DType::s2, DType::u2, DType::f4e2m1})
    for (const bool constant : {false, true}) {
      SCOPED_TRACE(c.op + " of " + std::string(dtype_name(dtype)));
      NodeCase wide = c;
      for (const size_t i : moved) {
        c.inputs[i] = random_bytes(dtype, c.inputs[i].shape(), static_cast<uint32_t>(3 + i));
        wide.inputs[i] = Tensor::zeros(DType::f32, c.inputs[i].shape());
        const auto values = c.inputs[i].to_doubles();
        std::copy(values.begin(), values.end(), wide.inputs[i].mutable_values<float>().begin());
      }
      c.runtime = wide.runtime = constant ? std::vector<size_t>{} : moved;
      const Tensor got = run_node(c)[0], want = run_node(wide)[0];
      EXPECT_EQ(got.dtype(), dtype);
      EXPECT_EQ(got.shape(), want.shape());
      EXPECT_EQ(got.to_doubles(), want.to_doubles());
    }
}

}  // namespace poprt::test

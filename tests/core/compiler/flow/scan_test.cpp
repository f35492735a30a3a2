#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(Scan, ScanRunsOverAxesAndBackwards) {
  for (const int64_t length : {4, 900}) {
    const Executable e = compile_body(replaced(R"(
      input %s : f32[2]
      input %x : f32[2,LEN]
      %t : ?, %y : ? = Scan(%s, %x) {num_scan_inputs = 1, scan_input_axes = [1],
          scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1],
          body = graph "body" {
        input %a : ?
        input %b : ?
        %c : ? = Add(%a, %b)
        %d : ? = Identity(%c)
        output %c
        output %d
      }}
      output %t
      output %y
    )",
                                               "LEN", std::to_string(length)));
    EXPECT_EQ(uses(e, "control.loop"), length > 100);
    const Tensor s = floats({2}, 1), x = floats({2, length}, 2);
    const Values got = run(e, {{"s", s}, {"x", x}});
    ASSERT_EQ(got.at("y").shape(), (Shape{2, length}));
    for (size_t r = 0; r < 2; r++) {
      float sum = s.values<float>()[r];
      const size_t n = static_cast<size_t>(length);
      for (size_t t = n; t-- > 0;) {
        sum += x.values<float>()[r * n + t];
        EXPECT_EQ(got.at("y").values<float>()[r * n + t], sum);
      }
      EXPECT_EQ(got.at("t").values<float>()[r], sum);
    }
  }
}

}  // namespace
}  // namespace poprt::compiler

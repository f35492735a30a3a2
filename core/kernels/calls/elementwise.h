// elementwise: operands [inputs..., outputs...]. All inputs broadcast to the shape that every
// output has. Steps compute in float for all types. Inputs: f32 f16 bf16 bool s8 u8 s32 s64.
// Outputs: f32 f16 bf16 bool, and s8 u8 (rounded to nearest, ties to even, saturated; NaN becomes
// 0).
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/elementwise.h"

namespace poprt::kernels::calls {

// Operands are codes: an input is its index, constant k is -1 - k, and the result of step j is
// kElementwiseMaxInputs + j.
struct ElementwiseStep {
  ElementwiseOp op = ElementwiseOp::copy;
  int64_t a = 0, b = 0, c = 0;  // as many as the operation has
};

struct Elementwise {
  static constexpr std::string_view kKernel = "elementwise";

  int64_t inputs = 0;
  std::vector<ElementwiseStep> steps;
  std::vector<int64_t> outputs;  // codes of the steps whose results are stored
  std::vector<float> constants;

  void fields(Fields& f) {
    f.integer("inputs", inputs, 0, kElementwiseMaxInputs);
    f.rest("constants", constants, static_cast<size_t>(kElementwiseMaxConstants));
    f.length("steps", steps, 1, kElementwiseMaxSteps);
    f.length("outputs", outputs, 1, kElementwiseMaxOutputs);
    for (size_t s = 0; s < steps.size(); s++) {
      ElementwiseStep& step = steps[s];
      f.choice("op", step.op, static_cast<ElementwiseOp>(kElementwiseOpLimit - 1));
      const int arity = elementwise_arity(static_cast<int64_t>(step.op));
      f.require(arity > 0 && !elementwise_is_integer_only(step.op), "unknown operation");
      operand(f, step.a, arity > 0, s);
      operand(f, step.b, arity > 1, s);
      operand(f, step.c, arity > 2, s);
    }
    const auto last = kElementwiseMaxInputs + static_cast<int64_t>(steps.size()) - 1;
    for (int64_t& output : outputs) f.integer("output", output, kElementwiseMaxInputs, last);
  }

  // A code, or any number if the operation has no such operand.
  void operand(Fields& f, int64_t& code, bool used, size_t step) {
    if (!used) return f.integer("unused operand", code);
    f.integer("operand", code, -static_cast<int64_t>(constants.size()),
              kElementwiseMaxInputs + static_cast<int64_t>(step) - 1);
    f.require(code < inputs || code >= kElementwiseMaxInputs, "an operand is not an input");
  }
};

}  // namespace poprt::kernels::calls

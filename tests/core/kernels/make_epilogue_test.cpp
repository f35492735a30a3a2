#include "kernels/common/make_epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/common/activation.h"

namespace poprt::kernels {
namespace {

calls::Epilogue call_of(Activation activation) {
  calls::Epilogue e;
  e.activation = activation;
  e.a = -1.5f;
  e.b = 2.5f;
  return e;
}

TEST(Epilogue, CopiesTheFieldsOfTheCall) {
  for (int i = 0; i < kActivationCount; i++) {
    calls::Epilogue call = call_of(static_cast<Activation>(i));
    call.residual_after = i % 2 == 1;
    const isa::Epilogue e = make_epilogue(call);
    EXPECT_EQ(e.activation, i);
    EXPECT_EQ(e.a, -1.5f);
    EXPECT_EQ(e.b, 2.5f);
    EXPECT_EQ(e.residual_after, call.residual_after);
  }
}

TEST(Epilogue, NoActivationAndClampingAreDoneInRegisters) {
  EXPECT_EQ(make_epilogue(call_of(Activation::none)).mode, isa::Epilogue::plain);
  const isa::Epilogue relu = make_epilogue(call_of(Activation::relu));
  EXPECT_EQ(relu.mode, isa::Epilogue::clamped);
  EXPECT_EQ(relu.low, 0);
  EXPECT_EQ(relu.high, std::numeric_limits<float>::infinity());
  const isa::Epilogue clip = make_epilogue(call_of(Activation::clip));
  EXPECT_EQ(clip.mode, isa::Epilogue::clamped);
  EXPECT_EQ(clip.low, -1.5f);
  EXPECT_EQ(clip.high, 2.5f);
}

// A second pass over the results increases the cost.
TEST(Epilogue, OthersCostASecondPass) {
  double in_registers = 0, second_pass = 0;
  for (int i = 0; i < kActivationCount; i++) {
    const isa::Epilogue e = make_epilogue(call_of(static_cast<Activation>(i)));
    double& cost = e.mode == isa::Epilogue::general ? second_pass : in_registers;
    cost = std::max(cost, epilogue_ns(e));
  }
  EXPECT_LT(in_registers, second_pass);
}

}  // namespace
}  // namespace poprt::kernels

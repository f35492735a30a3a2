// The functions that a product or convolution applies to its results before it stores them.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/activation.h"

namespace poprt::kernels::calls {

struct Epilogue {
  Activation activation = Activation::none;
  bool residual_after = false;  // the residual is added to act(x) instead of to x
  float a = 0, b = 0;           // parameters of the activation

  void fields(Fields& f) {
    f.choice("activation", activation, static_cast<Activation>(kActivationCount - 1));
    f.flag("residual_after", residual_after);
    f.real("a", a);
    f.real("b", b);
  }
};

}  // namespace poprt::kernels::calls

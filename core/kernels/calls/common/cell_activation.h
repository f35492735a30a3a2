// An activation of a recurrent cell.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/isa/recurrent.h"

namespace poprt::kernels::calls {

struct CellActivation {
  isa::RecurrentActivation code = isa::RecurrentActivation::sigmoid;
  float alpha = 0, beta = 0;  // parameters of the activation

  void fields(Fields& f) {
    f.choice("activation", code, isa::RecurrentActivation::softplus);
    f.real("alpha", alpha);
    f.real("beta", beta);
  }
};

}  // namespace poprt::kernels::calls

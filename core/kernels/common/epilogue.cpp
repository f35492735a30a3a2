#include "kernels/common/epilogue.h"

#include <limits>

#include "kernels/common/activation.h"

namespace poprt::kernels {

isa::Epilogue make_epilogue(std::string_view kernel, int64_t activation, float a, float b,
                            bool residual_after) {
  expect(activation >= 0 && activation < kActivationCount, kernel, "unknown activation");
  isa::Epilogue e;
  e.activation = activation;
  e.a = a;
  e.b = b;
  e.residual_after = residual_after;
  switch (static_cast<Activation>(activation)) {
    case Activation::none: e.mode = isa::Epilogue::plain; break;
    case Activation::relu:
      e.mode = isa::Epilogue::clamped;
      e.low = 0;
      e.high = std::numeric_limits<float>::infinity();
      break;
    case Activation::clip:
      e.mode = isa::Epilogue::clamped;
      e.low = a;
      e.high = b;
      break;
    default: e.mode = isa::Epilogue::general;
  }
  return e;
}

double epilogue_ns(const isa::Epilogue& epilogue) {
  return epilogue.mode == isa::Epilogue::general ? 0.5 : 0.1;
}

}  // namespace poprt::kernels

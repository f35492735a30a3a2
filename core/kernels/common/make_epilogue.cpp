#include "kernels/common/make_epilogue.h"

#include <limits>

#include "kernels/common/activation.h"

namespace poprt::kernels {

isa::Epilogue make_epilogue(const calls::Epilogue& epilogue) {
  isa::Epilogue e;
  e.activation = static_cast<int64_t>(epilogue.activation);
  e.a = epilogue.a;
  e.b = epilogue.b;
  e.residual_after = epilogue.residual_after;
  switch (epilogue.activation) {
    case Activation::none: e.mode = isa::Epilogue::plain; break;
    case Activation::relu:
      e.mode = isa::Epilogue::clamped;
      e.low = 0;
      e.high = std::numeric_limits<float>::infinity();
      break;
    case Activation::clip:
      e.mode = isa::Epilogue::clamped;
      e.low = epilogue.a;
      e.high = epilogue.b;
      break;
    default: e.mode = isa::Epilogue::general;
  }
  return e;
}

double epilogue_ns(const isa::Epilogue& epilogue) {
  return epilogue.mode == isa::Epilogue::general ? 0.5 : 0.1;
}

}  // namespace poprt::kernels

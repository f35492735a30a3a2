// Activations of sixteen floats. A kernel dispatches once for each tile and passes a functor that
// is inlined:
//
//   with_activation(activation, a, b, [&](auto act) { ... store(p, act(acc)) ... });
//
// The body is instantiated once for each activation. with_common_activation() instantiates only the
// most frequent ones, for the hottest tiles, and applies the others through one indirect functor.
#pragma once

#include "kernels/common/activation.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

struct ActNone {
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return x; }
};
struct ActRelu {  // a NaN is kept
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return x < 0.0f ? zero() : x; }
};
struct ActClip {
  float lo, hi;
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return clamp(x, lo, hi); }
};
struct ActSigmoid {
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return vsigmoid(x); }
};
struct ActTanh {
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return vtanh(x); }
};
struct ActSilu {
  float a;
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return x / (vexp(x * -a) + 1.0f); }
};
struct ActGeluErf {
  POPRT_INLINE f32x16 operator()(f32x16 x) const {
    return x * 0.5f * (verf(x * 0.707106781186547524f) + 1.0f);
  }
};
struct ActGeluTanh {  // x/2 (1 + tanh(u/2)) = x sigmoid(u)
  POPRT_INLINE f32x16 operator()(f32x16 x) const {
    const f32x16 u = x * fma(x * x, splat(0.0713548162726f), splat(1.59576912160573f));
    return x / (vexp(-u) + 1.0f);
  }
};
struct ActLeakyRelu {
  float a;
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return x < 0.0f ? x * a : x; }
};
struct ActHardSigmoid {
  float a, b;
  POPRT_INLINE f32x16 operator()(f32x16 x) const {
    return clamp(fma(x, splat(a), splat(b)), 0.0f, 1.0f);
  }
};
struct ActHardSwish {
  POPRT_INLINE f32x16 operator()(f32x16 x) const {
    return x * clamp(fma(x, splat(1.0f / 6.0f), splat(0.5f)), 0.0f, 1.0f);
  }
};
struct ActElu {
  float a;
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return x < 0.0f ? vexpm1(x) * a : x; }
};

template <class F>
POPRT_INLINE void with_activation(Activation activation, float a, float b, F&& f) {
  switch (activation) {
    case Activation::none: return f(ActNone{});
    case Activation::relu: return f(ActRelu{});
    case Activation::clip: return f(ActClip{a, b});
    case Activation::sigmoid: return f(ActSigmoid{});
    case Activation::tanh: return f(ActTanh{});
    case Activation::silu: return f(ActSilu{a});
    case Activation::gelu_erf: return f(ActGeluErf{});
    case Activation::gelu_tanh: return f(ActGeluTanh{});
    case Activation::leaky_relu: return f(ActLeakyRelu{a});
    case Activation::hard_sigmoid: return f(ActHardSigmoid{a, b});
    case Activation::hard_swish: return f(ActHardSwish{});
    case Activation::elu: return f(ActElu{a});
  }
}

// Applies any activation with one switch for each vector, for bodies that are too large to
// instantiate twelve times.
struct ActAny {
  Activation activation;
  float a, b;
  __attribute__((noinline)) f32x16 slow(f32x16 x) const {
    f32x16 y = x;
    with_activation(activation, a, b, [&](auto act) { y = act(x); });
    return y;
  }
  POPRT_INLINE f32x16 operator()(f32x16 x) const { return slow(x); }
};

template <class F>
POPRT_INLINE void with_common_activation(Activation activation, float a, float b, F&& f) {
  switch (activation) {
    case Activation::none: return f(ActNone{});
    case Activation::relu: return f(ActRelu{});
    case Activation::clip: return f(ActClip{a, b});
    case Activation::silu: return f(ActSilu{a});
    default: return f(ActAny{activation, a, b});
  }
}

}  // namespace
}  // namespace poprt::kernels::isa

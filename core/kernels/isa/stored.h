// Activations that are stored as f32 or bf16: sixteen floats in registers.
#pragma once

#include "kernels/isa/activation.h"
#include "kernels/isa/convert.h"
#include "kernels/isa/epilogue.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE f32x16 load_stored(const float* p) { return load(p); }
POPRT_INLINE f32x16 load_stored(const uint16_t* p) { return load_bf16(p); }
POPRT_INLINE void store_stored(float* p, f32x16 v) { store(p, v); }
POPRT_INLINE void store_stored(uint16_t* p, f32x16 v) { store_u16(p, to_bf16_bits(v)); }

// Loads sixteen elements of a tensor from element i on.
POPRT_INLINE f32x16 load_stored(const void* p, bool bf16, int64_t i) {
  return bf16 ? load_bf16(static_cast<const uint16_t*>(p) + i)
              : load(static_cast<const float*>(p) + i);
}
POPRT_INLINE const void* stored_at(const void* p, bool bf16, int64_t i) {
  return p ? static_cast<const char*>(p) + i * (bf16 ? 2 : 4) : nullptr;
}
POPRT_INLINE void* stored_at(void* p, bool bf16, int64_t i) {
  return static_cast<char*>(p) + i * (bf16 ? 2 : 4);
}

// The destination of sums of [vectors][rows][16]. The residual has the strides of y, in elements.
struct StoredOut {
  void* y;
  const void* residual;
  int64_t row, vector;
  bool bf16_y, bf16_residual;
  const Epilogue* epilogue;
};

// Applies the epilogue to sums, whose rows are 16 floats apart, and stores the results.
[[maybe_unused]] __attribute__((noinline)) void store_activated(const float* sums,
                                                                int64_t sums_vector,
                                                                const StoredOut& o, int64_t rows,
                                                                int64_t vectors) {
  const Epilogue e = *o.epilogue;
  with_activation(static_cast<Activation>(e.activation), e.a, e.b, [&](auto act) {
    for (int64_t q = 0; q < vectors; q++)
      for (int64_t r = 0; r < rows; r++) {
        const int64_t at = r * o.row + q * o.vector;
        f32x16 v = load(sums + q * sums_vector + r * 16);
        if (o.residual && !e.residual_after) v += load_stored(o.residual, o.bf16_residual, at);
        v = act(v);
        if (o.residual && e.residual_after) v += load_stored(o.residual, o.bf16_residual, at);
        if (o.bf16_y)
          store_stored(static_cast<uint16_t*>(o.y) + at, v);
        else
          store(static_cast<float*>(o.y) + at, v);
      }
  });
}

}  // namespace
}  // namespace poprt::kernels::isa

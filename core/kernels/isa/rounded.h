// Products that are rounded before they are added (the files are compiled with -ffp-contract=fast).
#pragma once

#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

// Returns v, which the compiler does not fuse into an addition. If two products are added, it may
// fuse either one, and builds for different instruction sets would round differently.
POPRT_INLINE f32x16 rounded(f32x16 v) {
  int32_t none = 0;
  asm("" : "+r"(none));  // not known to be 0
  return from_bits(bits(v) ^ isplat(none));
}

}  // namespace
}  // namespace poprt::kernels::isa

// Conversions between number types of whole bytes.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// f16 and bf16 convert from and to f32 only.
enum class Number { f32, f64, s8, u8, s16, u16, s32, u32, s64, u64, boolean, f16, bf16 };

using CastRow = void (*)(void* to, const void* from, int64_t n) noexcept;

struct CastTable {
  // Null if there is no such function. Floats are truncated to integers; out-of-range numbers are
  // converted as in kernels/cast.cpp.
  CastRow (*find)(Number from, Number to) noexcept;
};
POPRT_DECLARE_ISA(CastTable, cast)

}  // namespace poprt::kernels::isa

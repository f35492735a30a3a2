// Weights of 2, 4 or 8 bits in blocks, with one scale and zero point for each block: MatMulNBits
// and GatherBlockQuantized.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// Reinterprets u8 that contain 8 / bits numbers each, low bits first, as u2 or u4 along the last
// axis. Returns u8 if bits is 8.
ir::Value* packed_numbers(Expansion& e, ir::Value* bytes, int64_t bits);

// Unpacks bytes that contain 8 / bits numbers each, low bits first, to u8 with a last axis of
// `count` numbers.
ir::Value* unpack_bits(Expansion& e, ir::Value* packed, int64_t bits, int64_t count);

// (q - zero) * scale in the type of `scale`. scale and zero contain one number for each `block`
// numbers along `axis` of q; zero may be null. q and zero have any type that DequantizeLinear
// supports.
ir::Value* scale_blocks(Expansion& e, ir::Value* q, ir::Value* scale, ir::Value* zero, int64_t axis,
                        int64_t block);

}  // namespace poprt::ops

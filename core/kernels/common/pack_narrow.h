// Packs constant weights of products in the form of isa/narrow.h: panels of 16 columns. Missing
// columns and values of k are zero bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/isa/narrow.h"

namespace poprt::kernels {

inline int64_t narrow_panels(int64_t n) { return (n + isa::kNarrowPanel - 1) / isa::kNarrowPanel; }
inline int64_t packed_narrow_bytes(isa::NarrowFormat format, int64_t k, int64_t n) {
  return narrow_panels(n) * isa::narrow_groups(format, k) * isa::narrow_group_bytes(format);
}

// The values of k that are next to each other in a column of numbers of 16 bits.
inline int64_t narrow_pair(isa::NarrowFormat format) {
  return format == isa::NarrowFormat::bf16 ? 2 : 1;
}

// Where the elements of a [k, n] matrix are: element (k, n) is number k * by_k + n * by_n.
struct NarrowMatrix {
  int64_t k = 0, n = 0, by_k = 0, by_n = 0;
  bool operator==(const NarrowMatrix&) const = default;
};

// Packs integers of 2, 4 or 8 bits. A byte contains several small ones, low bits first. Signed ones
// become unsigned by adding half of their range.
void pack_narrow_integers(std::span<const std::byte> from, bool is_signed, isa::NarrowFormat format,
                          const NarrowMatrix& m, std::span<std::byte> to);
// Packs numbers of 16 bits.
void pack_narrow_halves(std::span<const uint16_t> from, isa::NarrowFormat format,
                        const NarrowMatrix& m, std::span<uint16_t> to);

// Packs 8-bit floats.
void pack_narrow_bytes(std::span<const uint8_t> from, const NarrowMatrix& m,
                       std::span<std::byte> to);

}  // namespace poprt::kernels

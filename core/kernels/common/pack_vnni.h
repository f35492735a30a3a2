// Constant 8-bit weights in the form of isa/vnni.h.
#pragma once

#include <cstdint>
#include <span>

namespace poprt::kernels {

inline constexpr int64_t kPackedVnniColumns = 64;
inline int64_t vnni_panels(int64_t n) { return (n + kPackedVnniColumns - 1) / kPackedVnniColumns; }
inline int64_t packed_vnni_bytes(int64_t k, int64_t n) {
  return vnni_panels(n) * ((k + 3) / 4) * 4 * kPackedVnniColumns;
}

// The bytes of a panel for 64 channels that are convolved separately, with `lines` of `width` taps:
// quads of lines in the format of isa/byte_pixels.h.
inline int64_t channel_panel_bytes(int64_t width, int64_t lines) {
  return width * ((lines + 3) / 4) * 4 * kPackedVnniColumns;
}

// Packs b [k, n], u8 or s8, as signed panels [vnni_panels(n)][ceil(k / 4)][64][4]; u8 is decreased
// by 128, and missing elements are zero.
void pack_vnni_columns(std::span<const std::byte> b, bool is_signed, int64_t k, int64_t n,
                       std::span<std::byte> packed);
// Writes the sums of the packed columns to `sums`, which has vnni_panels(n) * 64 elements.
void sum_vnni_columns(std::span<const std::byte> b, bool is_signed, int64_t k, int64_t n,
                      std::span<int32_t> sums);

// Packs filters w [filters, channels, taps], u8 or s8, as signed rows
// [filters][ceil(channels / 4)][taps][4]; u8 is decreased by 128, and missing elements are zero.
void pack_vnni_rows(std::span<const std::byte> w, bool is_signed, int64_t filters, int64_t channels,
                    int64_t taps, std::span<std::byte> packed);
// Writes the sums of the packed rows, each of `each` = channels * taps numbers, to `sums`.
void sum_vnni_rows(std::span<const std::byte> w, bool is_signed, int64_t filters, int64_t each,
                   std::span<int32_t> sums);

}  // namespace poprt::kernels

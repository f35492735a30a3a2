#include "kernels/common/pack_vnni.h"

#include <algorithm>
#include <cstring>

namespace poprt::kernels {
namespace {

int signed_value(std::byte b, bool is_signed) {
  return is_signed ? static_cast<int8_t>(b) : static_cast<int>(b) - 128;
}
// Sums of more than 2^24 bytes wrap, as the products in which they are used.
int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
std::byte signed_byte(std::byte b, bool is_signed) { return is_signed ? b : b ^ std::byte{0x80}; }

}  // namespace

void pack_vnni_columns(std::span<const std::byte> b, bool is_signed, int64_t k, int64_t n,
                       std::span<std::byte> packed) {
  std::fill(packed.begin(), packed.end(), std::byte{});
  const int64_t steps = (k + 3) / 4;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) {
      const int64_t panel = j / kPackedVnniColumns, column = j % kPackedVnniColumns;
      packed[static_cast<size_t>(((panel * steps + i / 4) * kPackedVnniColumns + column) * 4 +
                                 i % 4)] =
          signed_byte(b[static_cast<size_t>(i * n + j)], is_signed);
    }
}

void sum_vnni_columns(std::span<const std::byte> b, bool is_signed, int64_t k, int64_t n,
                      std::span<int32_t> sums) {
  std::fill(sums.begin(), sums.end(), 0);
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) {
      int32_t& sum = sums[static_cast<size_t>(j)];
      sum = wrapped_sum(sum, signed_value(b[static_cast<size_t>(i * n + j)], is_signed));
    }
}

void pack_vnni_rows(std::span<const std::byte> w, bool is_signed, int64_t filters, int64_t channels,
                    int64_t taps, std::span<std::byte> packed) {
  std::fill(packed.begin(), packed.end(), std::byte{});
  const int64_t quads = (channels + 3) / 4;
  for (int64_t f = 0; f < filters; f++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t t = 0; t < taps; t++)
        packed[static_cast<size_t>(((f * quads + c / 4) * taps + t) * 4 + c % 4)] =
            signed_byte(w[static_cast<size_t>((f * channels + c) * taps + t)], is_signed);
}

void sum_vnni_rows(std::span<const std::byte> w, bool is_signed, int64_t filters, int64_t each,
                   std::span<int32_t> sums) {
  for (int64_t f = 0; f < filters; f++) {
    int32_t sum = 0;
    for (int64_t i = 0; i < each; i++)
      sum = wrapped_sum(sum, signed_value(w[static_cast<size_t>(f * each + i)], is_signed));
    sums[static_cast<size_t>(f)] = sum;
  }
}

}  // namespace poprt::kernels

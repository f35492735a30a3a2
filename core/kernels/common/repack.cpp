#include "kernels/common/repack.h"

#include <algorithm>

#include "kernels/common/pack_matmul.h"
#include "kernels/common/pack_narrow.h"

namespace poprt::kernels {

using isa::kNarrowPanel;
using isa::NarrowFormat;

void repack_matmul(std::span<const float> packed, int64_t k, int64_t n, NarrowFormat format,
                   std::span<std::byte> to) {
  static_assert(kMatmulPanel % kNarrowPanel == 0);
  constexpr int64_t kParts = kMatmulPanel / kNarrowPanel;
  const bool pairs = format == NarrowFormat::bf16;
  const int64_t step = pairs ? 2 : 1;  // values of k next to each other
  const int64_t depth = isa::narrow_groups(format, k) * isa::narrow_group(format);
  auto* const halves = reinterpret_cast<uint16_t*>(to.data());
  std::fill_n(halves, to.size() / 2, uint16_t{0});
  for (int64_t panel = 0; panel < narrow_panels(n); panel++)
    for (int64_t i = 0; i < k; i++) {
      const float* from = &packed[static_cast<size_t>((panel / kParts * k + i) * kMatmulPanel)] +
                          panel % kParts * kNarrowPanel;
      uint16_t* row = halves + (panel * depth + i / step * step) * kNarrowPanel + i % step;
      for (int64_t j = 0; j < kNarrowPanel; j++)
        row[j * step] = pairs ? to_bf16(from[j]).bits : to_f16(from[j]).bits;
    }
}

void repack_halves(std::span<const f16_t> panels, int64_t k, int64_t n, std::span<bf16_t> to) {
  const int64_t depth = isa::narrow_groups(NarrowFormat::f16, k) * 4;
  static_assert(isa::narrow_group(NarrowFormat::f16) == 4 &&
                isa::narrow_group(NarrowFormat::bf16) == 4);
  for (int64_t row = 0; row < narrow_panels(n) * depth; row++)
    for (int64_t j = 0; j < kNarrowPanel; j++)
      to[static_cast<size_t>((row / 2 * kNarrowPanel + j) * 2 + row % 2)] =
          to_bf16(to_float(panels[static_cast<size_t>(row * kNarrowPanel + j)]));
}

namespace {

// Writes 16 filters of a pair of channels; a channel without a weight is null.
bf16_t* write_pair(const float* first, const float* second, bf16_t* to) {
  for (int64_t lane = 0; lane < 16; lane++) {
    *to++ = to_bf16(first[lane]);
    *to++ = to_bf16(second ? second[lane] : 0.0f);
  }
  return to;
}

}  // namespace

void repack_conv(std::span<const float> packed, int64_t blocks, int64_t c, int64_t taps,
                 std::span<bf16_t> to) {
  const float* from = packed.data();
  bf16_t* out = to.data();
  for (int64_t block = 0; block < blocks; block++)
    for (int64_t c0 = 0; c0 < c; c0 += 16)
      for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t channels = std::min<int64_t>(16, c - c0);
        for (int64_t i = 0; i < channels; i += 2)
          out = write_pair(from + i * 16, i + 1 < channels ? from + (i + 1) * 16 : nullptr, out);
        from += channels * 16;
      }
}

void repack_conv_stem(std::span<const float> packed, int64_t blocks, int64_t c, int64_t taps,
                      std::span<bf16_t> to) {
  bf16_t* out = to.data();
  for (int64_t block = 0; block < blocks; block++) {
    const float* from = &packed[static_cast<size_t>(block * c * taps * 16)];
    for (int64_t tap = 0; tap < taps; tap++)
      for (int64_t i = 0; i < c; i += 2)
        out = write_pair(from + (i * taps + tap) * 16,
                         i + 1 < c ? from + ((i + 1) * taps + tap) * 16 : nullptr, out);
  }
}

}  // namespace poprt::kernels

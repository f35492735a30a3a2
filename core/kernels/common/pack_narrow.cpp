#include "kernels/common/pack_narrow.h"

#include <algorithm>

namespace poprt::kernels {

using isa::kNarrowPanel;
using isa::NarrowFormat;

void pack_narrow_integers(std::span<const std::byte> from, bool is_signed, NarrowFormat format,
                          const NarrowMatrix& m, std::span<std::byte> to) {
  std::fill(to.begin(), to.end(), std::byte{});
  const int64_t bits = isa::narrow_bits(format), each = 8 / bits, group = isa::narrow_group(format);
  const int64_t groups = isa::narrow_groups(format, m.k);
  const auto mask = static_cast<uint32_t>((1 << bits) - 1),
             flip = is_signed ? 1u << (bits - 1) : 0u;
  for (int64_t j = 0; j < m.n; j++) {
    std::byte* column =
        to.data() + (j / kNarrowPanel * groups * kNarrowPanel + j % kNarrowPanel) * 4;
    for (int64_t i = 0; i < m.k; i++) {
      const int64_t at = i * m.by_k + j * m.by_n, in = i % group;
      const uint32_t q =
          ((static_cast<uint32_t>(from[static_cast<size_t>(at / each)]) >> (at % each * bits)) &
           mask) ^
          flip;
      column[i / group * 4 * kNarrowPanel + in % 4] |= static_cast<std::byte>(q << (in / 4 * bits));
    }
  }
}

void pack_narrow_halves(std::span<const uint16_t> from, NarrowFormat format, const NarrowMatrix& m,
                        std::span<uint16_t> to) {
  std::fill(to.begin(), to.end(), uint16_t{0});
  const int64_t step = narrow_pair(format);
  const int64_t depth = isa::narrow_groups(format, m.k) * isa::narrow_group(format);
  for (int64_t panel = 0; panel < narrow_panels(m.n); panel++)
    for (int64_t i = 0; i < m.k; i++) {
      uint16_t* row = to.data() + (panel * depth + i / step * step) * kNarrowPanel + i % step;
      for (int64_t j = 0; j < std::min(kNarrowPanel, m.n - panel * kNarrowPanel); j++)
        row[j * step] = from[static_cast<size_t>(i * m.by_k + (panel * kNarrowPanel + j) * m.by_n)];
    }
}

void pack_narrow_bytes(std::span<const uint8_t> from, const NarrowMatrix& m,
                       std::span<std::byte> to) {
  std::fill(to.begin(), to.end(), std::byte{});
  const int64_t depth = (m.k + 3) / 4 * 4;
  for (int64_t i = 0; i < m.k; i++)
    for (int64_t j = 0; j < m.n; j++)
      to[static_cast<size_t>((j / kNarrowPanel * depth + i) * kNarrowPanel + j % kNarrowPanel)] =
          static_cast<std::byte>(from[static_cast<size_t>(i * m.by_k + j * m.by_n)]);
}

}  // namespace poprt::kernels

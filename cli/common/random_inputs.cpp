#include "common/random_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace poprt::cli {
namespace {

template <class T>
void put(std::byte* data, size_t i, T value) {
  std::memcpy(data + i * sizeof(T), &value, sizeof(T));
}

}  // namespace

void fill_random(const poprt_anchor* anchor, std::byte* data, uint64_t seed) {
  fill_random(poprt_anchor_dtype(anchor), data, poprt_anchor_bytes(anchor), seed);
}

void fill_random(poprt_dtype dtype, std::byte* data, size_t bytes, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<float> normal;
  const auto width = static_cast<size_t>(poprt_dtype_bits(dtype)) / 8;
  if (width == 0) return;
  const size_t count = bytes / width;
  for (size_t i = 0; i < count; i++) {
    switch (dtype) {
      case POPRT_DTYPE_F32: put(data, i, normal(rng)); break;
      case POPRT_DTYPE_F64: put(data, i, static_cast<double>(normal(rng))); break;
      case POPRT_DTYPE_F16:
        put(data, i, static_cast<uint16_t>((rng() & 0x8000) | (0x3000 + rng() % 0xc00)));
        break;
      case POPRT_DTYPE_BF16:
        put(data, i, static_cast<uint16_t>((rng() & 0x8000) | (0x3e80 + rng() % 0x100)));
        break;
      default:
        for (size_t b = 0; b < width; b++) data[i * width + b] = std::byte{0};
        data[i * width] = static_cast<std::byte>(rng() & 1);
    }
  }
}

int64_t rows_of(const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<int64_t> first;
  for (const std::vector<int64_t>& shape : shapes)
    if (!shape.empty()) first.push_back(shape[0]);
  return first.empty() ? 1 : std::ranges::min(first);
}

}  // namespace poprt::cli

// Compares pixels of bytes of every instruction set that this CPU has with plain loops: all bits
// are equal.
#include "kernels/isa/byte_pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/kernels/isa/random_bytes.h"
#include "core/kernels/run_call.h"
#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

struct Build {
  const char* name;
  const isa::BytePixelTable* table;
  bool vnni;
};

std::vector<Build> builds() {
  std::vector<Build> all = {{"baseline", &isa::byte_pixels_baseline, false}};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back({"avx2", &isa::byte_pixels_avx2, false});
  if (cpu_isa() >= Isa::avx512) all.push_back({"avx512", &isa::byte_pixels_avx512, false});
  if (can_use_vnni()) all.push_back({"avx512 vnni", &isa::byte_pixels_avx512, true});
#endif
  return all;
}

constexpr int64_t kTaps = 3, kQuads = 5, kBytes = 4 * kTaps * kQuads;

// Row r and tap t are at any address, and some share their bytes.
int64_t position(int64_t r, int64_t t) { return (r * 7 + t * 11) % 40; }

TEST(BytePixels, MultiplyIsExact) {
  const auto pixels = random_bytes(100, 1, 0x7f);
  auto panel = random_bytes(kTaps * kQuads * 4 * isa::kPixelPanel, 2);
  std::fill_n(panel.begin(), 300, uint8_t{0x80});
  std::vector<const uint8_t*> at;
  for (int64_t t = 0; t < kTaps; t++)
    for (int64_t r = 0; r < isa::kPixelRows; r++) at.push_back(pixels.data() + position(r, t));
  for (const Build& b : builds())
    for (const bool flip : {false, true})
      for (int64_t rows = 1; rows <= isa::kPixelRows; rows++)
        for (int vectors = 1; vectors <= 4; vectors++) {
          std::vector<int32_t> sums(isa::kPixelRows * isa::kPixelPanel, 5);
          b.table->multiply(flip, b.vnni, {at.data(), kTaps, kQuads, rows}, panel.data(), vectors,
                            sums.data());
          for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < 16 * vectors; j++) {
              int32_t wanted = 0;
              for (int64_t i = 0; i < kBytes; i++) {
                const int64_t tap = i / (4 * kQuads), byte = i % (4 * kQuads);
                const uint8_t x = pixels[static_cast<size_t>(position(r, tap) + byte)];
                const auto w = static_cast<int8_t>(
                    panel[static_cast<size_t>((i / 4 * isa::kPixelPanel + j) * 4 + i % 4)]);
                wanted += (flip ? static_cast<int8_t>(x) + 128 : x) * w;
              }
              ASSERT_EQ(sums[static_cast<size_t>(r * isa::kPixelPanel + j)], wanted)
                  << b.name << " flip " << flip << ", row " << r << " of " << rows << ", column "
                  << j;
            }
        }
}

// Windows of `lines` times `width` taps over an image: side by side with a stride, from before the
// ends of lines of which the last is padding, or anywhere.
void expect_exact_channels(const Build& b, int64_t lines, int64_t width, int64_t shift, bool flip,
                           int64_t rows, int64_t columns) {
  constexpr int64_t kFirst = 16, kChannels = 96, kWidth = 60, kIn = 9;
  const auto image = random_bytes(lines * kWidth * kChannels, 5), pad = random_bytes(kChannels, 7);
  std::mt19937 rng(6);
  const int64_t groups = (lines + 3) / 4;
  std::vector<int8_t> weights(static_cast<size_t>(width * groups * 4 * isa::kPixelPanel));
  const auto weight = [&](int64_t line, int64_t kx, int64_t j) -> int8_t& {
    const int64_t place = j % 16 / 4 * 16 + j / 16 * 4 + j % 4;
    return weights[static_cast<size_t>(((kx * groups + line / 4) * isa::kPixelPanel + place) * 4 +
                                       line % 4)];
  };
  std::vector<const uint8_t*> taps(static_cast<size_t>(lines * width * isa::kPixelRows)), starts;
  std::vector<int64_t> start;
  for (int64_t r = 0; r < rows; r++)
    start.push_back(shift ? r * shift - 2 : static_cast<int64_t>(rng() % (kWidth - 7)));
  for (int64_t line = 0; line < lines; line++) {
    const uint8_t* first = image.data() + line * kWidth * kChannels;
    const bool padding = shift && lines > 1 && line == lines - 1;
    starts.push_back(padding ? nullptr : first);
    for (int64_t kx = 0; kx < width; kx++) {
      for (int64_t j = 0; j < isa::kPixelPanel; j++)
        weight(line, kx, j) = static_cast<int8_t>(rng() % 8 ? rng() % 256 : 0x80);
      for (int64_t r = 0; r < rows; r++) {
        const int64_t x = start[static_cast<size_t>(r)] + kx;
        const bool inside = !shift || (!padding && x >= 0 && x < kIn);
        taps[static_cast<size_t>((line * width + kx) * isa::kPixelRows + r)] =
            inside ? first + x * kChannels : pad.data();
      }
    }
  }
  std::vector<int32_t> sums(isa::kPixelRows * isa::kPixelPanel, 5);
  b.table->multiply_channels(flip, b.vnni,
                             {shift ? starts.data() : taps.data(), lines, width, rows, shift,
                              kFirst, columns, pad.data(), -2, kIn, kChannels},
                             weights.data(), sums.data());
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < columns; j++) {
      int32_t wanted = 0;
      for (int64_t line = 0; line < lines; line++)
        for (int64_t kx = 0; kx < width; kx++) {
          const uint8_t x =
              taps[static_cast<size_t>((line * width + kx) * isa::kPixelRows + r)][kFirst + j];
          wanted += (flip ? static_cast<int8_t>(x) + 128 : x) * weight(line, kx, j);
        }
      ASSERT_EQ(sums[static_cast<size_t>(r * isa::kPixelPanel + j)], wanted)
          << b.name << ": " << lines << " lines of " << width << ", shift " << shift << ", flip "
          << flip << ", row " << r << " of " << rows << ", channel " << j << " of " << columns;
    }
}

TEST(BytePixels, ChannelsByThemselvesAreExact) {
  for (const Build& b : builds())
    for (const auto& [lines, width] :
         {std::pair{1, 1}, {1, 3}, {3, 3}, {5, 5}, {7, 7}, {9, 3}, {2, 9}})
      for (const int64_t shift : {0, 1, 2, 3})
        for (int64_t rows = 1; rows <= isa::kPixelRows; rows++)
          for (const int64_t columns : {16, 32, 48, 64})
            expect_exact_channels(b, lines, width, shift, rows % 2 == 1, rows, columns);
}

struct Epilogue {
  std::vector<int32_t> sums, offsets;
  std::vector<float> scales;
  std::vector<uint8_t> residual = random_bytes(isa::kPixelPanel, 3);

  Epilogue() {
    std::mt19937 rng(4);
    for (int64_t j = 0; j < isa::kPixelPanel; j++) {
      offsets.push_back(static_cast<int32_t>(rng() % 2000) - 1000);
      scales.push_back(0.002f + 0.0001f * static_cast<float>(rng() % 100));
    }
    for (int64_t i = 0; i < isa::kPixelRows * isa::kPixelPanel; i++)
      sums.push_back(static_cast<int32_t>(rng() % 40000) - 20000);
    sums[0] = 2147483647;  // beyond every byte
    sums[1] = -2147483647;
    offsets[0] = offsets[1] = 0;
    scales[0] = scales[1] = 3.0f;
    sums[2] = 5;  // a tie goes to the even number
    offsets[2] = 0;
    scales[2] = 0.5f;
  }
  int32_t byte(size_t j, int32_t zero, int32_t low, size_t row = 0) const {
    const int32_t sum = sums[row * isa::kPixelPanel + j] + offsets[j];
    const float v = static_cast<float>(sum) * scales[j];
    const double whole = std::nearbyint(static_cast<double>(v)) + zero;
    return static_cast<int32_t>(std::clamp<double>(whole, low, low + 255));
  }
};

TEST(BytePixels, SumsBecomeBytes) {
  constexpr int64_t kStride = isa::kPixelPanel + 3;
  const Epilogue e;
  for (const Build& b : builds())
    for (const int32_t low : {0, -128})
      for (int64_t rows = 1; rows <= isa::kPixelRows; rows++)
        for (const int64_t columns : {1, 13, 16, 23, 32, 40, 48, 60, 64}) {
          std::vector<uint8_t> y(isa::kPixelRows * kStride, 0x55);
          b.table->bytes(e.sums.data(), {e.offsets.data(), e.scales.data(), low + 7, low, -7, 248},
                         rows, columns, y.data(), kStride);
          for (size_t i = 0; i < y.size(); i++) {
            const size_t r = i / kStride, j = i % kStride;
            const bool inside = static_cast<int64_t>(j) < columns && static_cast<int64_t>(r) < rows;
            ASSERT_EQ(y[i], inside ? static_cast<uint8_t>(e.byte(j, low + 7, low, r)) : 0x55)
                << b.name << ", row " << r << " of " << rows << ", column " << j << " of "
                << columns;
          }
        }
}

// The scales of the added values are powers of two, so the order of roundings does not matter.
TEST(BytePixels, ResidualsAreAdded) {
  const Epilogue e;
  for (const Build& b : builds())
    for (const bool relu : {false, true})
      for (const int32_t low : {0, -128})
        for (const auto& [columns, y_scale] : {std::pair{5, 0.5f},
                                               {16, 0.5f},
                                               {23, 0.7f},
                                               {40, 0.5f},
                                               {63, 0.5f},
                                               {64, 0.5f},
                                               {64, 0.7f},
                                               {64, 0.03f}}) {
          isa::PixelResidual more{};
          more.scale = 0.25f;
          more.residual_scale = 0.125f;
          more.y_scale = y_scale;
          more.residual_low = low;
          more.residual_zero = low + 100;
          more.y_low = low;
          more.y_zero = low + 40;
          more.relu = relu;
          std::vector<uint8_t> y(isa::kPixelPanel + 1, 0x55);
          // No memory follows the last pixel of a tensor.
          Tensor last = Tensor::zeros(DType::u8, {columns});
          std::copy_n(e.residual.begin(), columns, last.mutable_values<uint8_t>().begin());
          const test::Fenced fenced(last);
          const auto* residual = static_cast<const uint8_t*>(fenced.data());
          b.table->bytes_and_residual(e.sums.data(),
                                      {e.offsets.data(), e.scales.data(), 90, 0, -90, 165}, more,
                                      residual, columns, y.data());
          for (size_t j = 0; j < y.size(); j++) {
            uint8_t wanted = 0x55;
            if (static_cast<int>(j) < columns) {
              const int32_t r =
                  low ? static_cast<int8_t>(e.residual[j]) : static_cast<int>(e.residual[j]);
              double v = (e.byte(j, 90, 0) - 90) * 0.25 + (r - low - 100) * 0.125;
              if (relu) v = std::max(v, 0.0);
              // The quotient is a float, which may be a tie although the exact quotient is not.
              const double whole =
                  static_cast<double>(std::nearbyint(static_cast<float>(v) / y_scale)) + low + 40;
              wanted = static_cast<uint8_t>(
                  static_cast<int32_t>(std::clamp<double>(whole, low, low + 255)));
            }
            ASSERT_EQ(y[j], wanted) << b.name << ", column " << j << " of " << columns;
          }
        }
}

}  // namespace
}  // namespace poprt::kernels

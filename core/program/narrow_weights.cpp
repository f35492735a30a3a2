#include "program/narrow_weights.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include "base/checked.h"
#include "base/error.h"
#include "base/half.h"
#include "base/quarter.h"
#include "base/threads.h"
#include "program/program.h"

namespace poprt::program {
namespace {

// The numbers that a float type represents: they have at most `significant` bits, all of which have
// exponents from `lowest` to `highest`.
struct Range {
  DType dtype;
  int significant;  // significant bits, including the implicit one
  int highest;      // exponent of the largest number
  int lowest;       // exponent of the lowest bit
  bool scaled;      // whether a scale may move both exponents
};
constexpr std::array kRanges = {
    Range{DType::f8_143, 4, 7, -10, true},
    Range{DType::f8_152, 3, 15, -17, true},
    Range{DType::f16, 11, 15, -24, false},
    Range{DType::bf16, 8, 127, -133, false},
};
constexpr int kLeastExponent = -64, kMostExponent = 64;  // limits of the scale of an 8-bit float

int width_of(DType dtype) {
  const auto found = std::ranges::find(kRanges, dtype, &Range::dtype);
  return found == kRanges.end() ? 0 : dtype_bits(dtype) / 8;
}

// The half must be finite. A normal half gets the bias of a float, and a subnormal one is its
// mantissa times 2^-24. No operand is a subnormal float, which a process may flush to zero.
float widen_half(uint16_t bits) {
  constexpr uint32_t kBias = 127 - 15, kLeastNormal = 1u << 10;
  const uint32_t magnitude = bits & 0x7fffu;
  const float normal = std::bit_cast<float>((magnitude << 13) + (kBias << 23));
  const float small = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  const float value = magnitude < kLeastNormal ? small : normal;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | static_cast<uint32_t>(bits & 0x8000u)
                                                                   << 16);
}

}  // namespace

bool Narrowing::add(std::span<const float> values) {
  for (const float v : values) {
    const uint32_t bits = std::bit_cast<uint32_t>(v), magnitude = bits & 0x7fffffffu;
    if (magnitude == 0) {
      minus_zero_ |= bits != 0;
      continue;
    }
    const int exponent = static_cast<int>(magnitude >> 23);
    // Not finite, or subnormal. bf16 represents some subnormal numbers, but kernels flush them.
    if (exponent == 255 || exponent == 0) {
      broken_ = true;
      return false;
    }
    const uint32_t mantissa = magnitude & 0x7fffffu;
    mantissa_ |= mantissa;
    high_ = std::max(high_, exponent - 127);
    const int trailing = mantissa ? std::countr_zero(mantissa) : 23;
    low_ = std::min(low_, exponent - 127 - 23 + trailing);
  }
  return narrowest().has_value();
}

bool Narrowing::fits(int significant, int highest, int lowest) const {
  const uint32_t dropped = (1u << (24 - significant)) - 1;
  return (mantissa_ & dropped) == 0 && high_ <= highest && low_ >= lowest;
}

std::optional<NarrowWeights> Narrowing::narrowest() const {
  if (broken_) return std::nullopt;
  const bool zeros = high_ < low_;  // all values are zero
  for (const Range& r : kRanges) {
    if (r.scaled && minus_zero_) continue;
    const int moved = r.scaled && !zeros ? high_ - r.highest : 0;
    if (moved < kLeastExponent || moved > kMostExponent) continue;
    if (zeros || fits(r.significant, r.highest + moved, r.lowest + moved))
      return NarrowWeights{0, 0, r.dtype, moved};
  }
  return std::nullopt;
}

void check_narrow(std::vector<NarrowWeights>& table, uint64_t weights_bytes) {
  std::ranges::sort(table, {}, &NarrowWeights::offset);
  uint64_t end = 0;
  for (const NarrowWeights& n : table) {
    if (n.offset < end || n.offset % sizeof(float) != 0 || n.bytes % sizeof(float) != 0 ||
        n.bytes == 0 || n.bytes > weights_bytes || n.offset > weights_bytes - n.bytes)
      fail(ErrorCode::data_loss, "narrow weights [{}, +{}) do not fit into {} bytes of weights",
           n.offset, n.bytes, weights_bytes);
    if (width_of(n.dtype) == 0 || n.exponent < kLeastExponent || n.exponent > kMostExponent)
      fail(ErrorCode::data_loss, "narrow weights at {} are of {} times 2^{}", n.offset,
           dtype_name(n.dtype), n.exponent);
    end = n.offset + n.bytes;
  }
}

std::vector<StoredPiece> stored_pieces(std::span<const NarrowWeights> table,
                                       uint64_t weights_bytes) {
  std::vector<StoredPiece> pieces;
  uint64_t at = 0, stored = 0;
  const auto add = [&](uint64_t bytes, uint64_t narrow_bytes, const NarrowWeights* narrow) {
    if (bytes == 0) return;
    pieces.push_back({at, bytes, stored, narrow_bytes, narrow});
    at += bytes;
    stored = align_up(checked_add(stored, narrow_bytes, "stored weights"), kAlignment);
  };
  for (const NarrowWeights& n : table) {
    add(n.offset - at, n.offset - at, nullptr);
    add(n.bytes, n.count() * static_cast<uint64_t>(width_of(n.dtype)), &n);
  }
  add(weights_bytes - at, weights_bytes - at, nullptr);
  return pieces;
}

uint64_t stored_bytes(std::span<const StoredPiece> pieces) {
  return pieces.empty() ? 0 : pieces.back().stored + pieces.back().stored_bytes;
}

void narrow(const NarrowWeights& form, std::span<const float> from, std::span<std::byte> to) {
  POPRT_ASSERT(to.size() == from.size() * static_cast<size_t>(width_of(form.dtype)));
  if (form.dtype == DType::f16 || form.dtype == DType::bf16) {
    for (size_t i = 0; i < from.size(); i++) {
      const uint16_t bits = form.dtype == DType::f16 ? to_f16(from[i]).bits : to_bf16(from[i]).bits;
      std::memcpy(to.data() + 2 * i, &bits, sizeof bits);
    }
    return;
  }
  encode_quarters(form.dtype, form.exponent, from,
                  {reinterpret_cast<uint8_t*>(to.data()), to.size()});
}

void widen(const NarrowWeights& form, std::span<const std::byte> from, std::span<float> to) {
  POPRT_ASSERT(from.size() == to.size() * static_cast<size_t>(width_of(form.dtype)));
  switch (form.dtype) {
    case DType::f16:
    case DType::bf16:
      for (size_t i = 0; i < to.size(); i++) {
        uint16_t bits;
        std::memcpy(&bits, from.data() + 2 * i, sizeof bits);
        to[i] = form.dtype == DType::f16 ? widen_half(bits) : to_float(bf16_t{bits});
      }
      break;
    default:
      decode_quarters(form.dtype, form.exponent,
                      {reinterpret_cast<const uint8_t*>(from.data()), from.size()}, to);
  }
}

namespace {

// The unit of work of a thread: bytes [begin, end) of a piece.
struct Part {
  const StoredPiece* piece;
  uint64_t begin, end;
};

std::vector<Part> parts_of(std::span<const StoredPiece> pieces) {
  constexpr uint64_t kPart = uint64_t{1} << 20;  // fits a cache
  std::vector<Part> parts;
  for (const StoredPiece& p : pieces) {
    for (uint64_t at = 0; at < p.bytes; at += kPart)
      parts.push_back({&p, at, std::min(p.bytes, at + kPart)});
  }
  return parts;
}

}  // namespace

void widen_all(std::span<const StoredPiece> pieces, std::span<const std::byte> stored,
               std::span<std::byte> weights) {
  const std::vector<Part> parts = parts_of(pieces);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < parts.size();
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      const StoredPiece& p = *parts[i].piece;
      const auto from = stored.subspan(p.stored, p.stored_bytes);
      std::byte* const to = weights.data() + p.offset;
      const uint64_t begin = parts[i].begin, bytes = parts[i].end - begin;
      const std::span floats(reinterpret_cast<float*>(to + begin), bytes / sizeof(float));
      if (p.narrow) {
        const uint64_t ratio = p.bytes / p.stored_bytes;
        widen(*p.narrow, from.subspan(begin / ratio, bytes / ratio), floats);
      } else {
        std::memcpy(to + begin, from.data() + begin, bytes);
      }
    }
  };
  constexpr size_t kMostThreads = 16;  // more do not write faster
  const size_t threads =
      std::min({kMostThreads, parts.size(), size_t{std::thread::hardware_concurrency()}});
  work_on_threads(threads, work);
}

}  // namespace poprt::program

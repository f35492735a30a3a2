// SHA-256 (FIPS 180-4), for names that are derived from contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace poprt {

// Adds whole blocks of 64 bytes. `portable` avoids the SHA instructions of the processor; the
// result is the same.
void sha256_blocks(std::array<uint32_t, 8>& state, const std::byte* bytes, size_t count,
                   bool portable = false);

class Sha256 {
 public:
  Sha256& add(std::span<const std::byte> bytes);
  Sha256& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
  // Adds the length before the bytes, so that they cannot be confused with the bytes that follow.
  Sha256& add_sized(std::span<const std::byte> bytes);
  Sha256& add_sized(std::string_view text) { return add_sized(std::as_bytes(std::span(text))); }

  // Returns 64 lower-case hexadecimal digits. Nothing may be added afterwards.
  std::string finish();

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  uint64_t size_ = 0;
};

}  // namespace poprt

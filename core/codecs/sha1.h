// SHA-1 (FIPS 180-4), the checksum of ONNX's external data. It detects damage, not forgery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace poprt {

class Sha1 {
 public:
  Sha1& add(std::span<const std::byte> bytes);
  // Returns 40 lower-case hexadecimal digits. May be called once.
  std::string finish();

 private:
  static constexpr size_t kBlock = 64;
  std::array<uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<std::byte, kBlock> rest_{};  // the beginning of a block
  uint64_t bytes_ = 0;
};

std::string sha1_of(std::span<const std::byte> bytes);

}  // namespace poprt

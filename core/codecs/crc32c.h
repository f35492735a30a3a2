// CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720), ext4 and SSE 4.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace poprt {

// The checksum of some bytes, which is updated with the bytes that follow. For "123456789" the
// value is 0xe3069283. It finds every change of one bit and every burst of up to 32 bits.
class Crc32c {
 public:
  void update(std::span<const std::byte> bytes);
  uint32_t value() const { return ~state_; }

 private:
  uint32_t state_ = ~uint32_t{0};
};

// The two ways to compute it, for tests: with a table, and with the instruction of SSE 4.2 if the
// CPU has it (otherwise with the table). `state` is the complement of the value so far.
uint32_t crc32c_with_table(uint32_t state, std::span<const std::byte> bytes);
uint32_t crc32c_with_instruction(uint32_t state, std::span<const std::byte> bytes);

}  // namespace poprt

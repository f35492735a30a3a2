// SHA-1 (FIPS 180-4), the checksum of ONNX's external data. It detects damage, not forgery.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace poprt {

// Returns 40 lower-case hexadecimal digits.
std::string sha1_of(std::span<const std::byte> bytes);

}  // namespace poprt

// Encodes and decodes the payload of a METADATA blob (metadata.capnp).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "popef/types.h"

namespace poprt::popef {

// Equal metadata gives equal bytes. Throws SizeError for a shape whose size overflows or is
// negative, and LinkError for anchors and options without a name, and for two anchors of one type
// with the same name.
std::vector<std::byte> encode_metadata(const Metadata& metadata);

// `bytes` are not trusted and need no alignment. Throws FormatError. Allocates less than 64 times
// their size plus 256 KiB.
Metadata decode_metadata(std::span<const std::byte> bytes);

}  // namespace poprt::popef

// Parses untrusted protobuf messages, with limits and with exact errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace google::protobuf {
class MessageLite;
}

namespace poprt::onnx {

// Reads a varint of at most ten bytes at position `at` (protobuf encoding, "Base 128 Varints") and
// moves `at` to its end. Returns nullopt if it does not end within ten bytes or within `bytes`.
std::optional<uint64_t> read_varint(std::span<const std::byte> bytes, size_t& at);

// The top-level fields with which a message may begin, as (number << 3 | wire type). They
// distinguish a damaged file from a file of another kind.
using KnownTags = std::span<const uint32_t>;

// Field numbers and wire types of ModelProto, including the device configurations of IR 11 (26).
inline constexpr uint32_t kModelTags[] = {1 << 3,      2 << 3 | 2,  3 << 3 | 2,  4 << 3 | 2,
                                          5 << 3,      6 << 3 | 2,  7 << 3 | 2,  8 << 3 | 2,
                                          14 << 3 | 2, 20 << 3 | 2, 25 << 3 | 2, 26 << 3 | 2};

// Checks the top-level fields and the size of a message without reading the contents of fields.
// `what` is the kind for messages, such as "ONNX model". Throws invalid_argument if the bytes are
// of another kind, data_loss if they are truncated or damaged, and resource_exhausted beyond
// protobuf's limit of 2 GiB.
void check_message(std::span<const std::byte> bytes, KnownTags known, std::string_view what);

// Fills `message`; all of `bytes` must be one message. Throws like check_message(), and data_loss
// if a nested message is damaged.
void parse_message(std::span<const std::byte> bytes, KnownTags known, std::string_view what,
                   google::protobuf::MessageLite& message);

// Returns the bytes of a message. Throws resource_exhausted if it has more than `most` bytes. For a
// message of more than kMostMessageBytes, protobuf would return no bytes and no error.
inline constexpr uint64_t kMostMessageBytes = INT32_MAX;
std::string serialize_message(const google::protobuf::MessageLite& message, std::string_view what,
                              uint64_t most = kMostMessageBytes);

}  // namespace poprt::onnx

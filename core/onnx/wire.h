// Parsing of protobuf messages from outside, with limits and with errors that say what is wrong.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace google::protobuf {
class MessageLite;
}

namespace poprt::onnx {

// Top-level fields that a message may start with, as (number << 3 | wire type), to tell a damaged
// file from one of another kind.
using KnownTags = std::span<const uint32_t>;

// Field numbers of ModelProto with their wire types, device configurations of IR 11 (26) included.
inline constexpr uint32_t kModelTags[] = {1 << 3,      2 << 3 | 2,  3 << 3 | 2,  4 << 3 | 2,
                                          5 << 3,      6 << 3 | 2,  7 << 3 | 2,  8 << 3 | 2,
                                          14 << 3 | 2, 20 << 3 | 2, 25 << 3 | 2, 26 << 3 | 2};

// Fills `message`; the whole of `bytes` must be one message. `what` names the kind ("ONNX model").
// Throws invalid_argument when the bytes are something else, data_loss when they are truncated or
// damaged, resource_exhausted past protobuf's 2 GiB.
void parse_message(std::span<const std::byte> bytes, KnownTags known, std::string_view what,
                   google::protobuf::MessageLite& message);

}  // namespace poprt::onnx

#include "onnx/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <climits>

#include "base/error.h"
#include "onnx/limits.h"

namespace poprt::onnx {

std::optional<uint64_t> read_varint(std::span<const std::byte> bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && at < bytes.size(); shift += 7) {
    const auto b = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(b & 0x7f) << (shift < 64 ? shift : 63);
    if (!(b & 0x80)) return value;
  }
  return std::nullopt;
}

namespace {

// Returns the kind of a file that is often given in place of a model, for messages, or "".
std::string_view kind_of(std::span<const std::byte> bytes) {
  struct Kind {
    std::string_view begin, text;
  };
  static constexpr Kind kKinds[] = {
      {"version https://git-lfs", ", it is a pointer of Git LFS: git lfs pull fetches the model"},
      {"PK\x03\x04", ", it is a ZIP archive, such as .zip, .npz, or .pt of PyTorch"},
      {"\x1f\x8b", ", it is a gzip file"},
      {"\x93NUMPY", ", it is an array of NumPy"},
      {"\x89HDF", ", it is an HDF5 file, such as .h5 of Keras"},
      {"<!DOCTYPE", ", it is an HTML page"},
      {"<!doctype", ", it is an HTML page"},
      {"<html", ", it is an HTML page"}};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Kind& kind : kKinds)
    if (text.starts_with(kind.begin)) return kind.text;
  return "";
}

// Checks the top-level fields, so that an error can contain the position of the first invalid one.
void check_top_level(std::span<const std::byte> bytes, KnownTags known, std::string_view what) {
  size_t at = 0;
  bool known_seen = false;
  auto damaged = [&](size_t start, std::string_view why) {
    if (!known_seen) fail(ErrorCode::invalid_argument, "not an {}: {}", what, why);
    fail(ErrorCode::data_loss, "the {} is truncated or damaged at byte {}: {}", what, start, why);
  };
  while (at < bytes.size()) {
    const size_t start = at;
    const auto tag = read_varint(bytes, at);
    if (!tag || *tag >> 3 == 0 || *tag > UINT32_MAX)
      damaged(start, "no protobuf field starts here");
    if (std::find(known.begin(), known.end(), static_cast<uint32_t>(*tag)) != known.end())
      known_seen = true;
    else if (!known_seen)
      damaged(start, fmt::format("it starts with protobuf field {}{}", *tag >> 3, kind_of(bytes)));
    uint64_t need = 0;
    switch (*tag & 7) {
      case 0:
        if (!read_varint(bytes, at)) damaged(start, "a number does not end");
        break;
      case 1: need = 8; break;
      case 2: {
        const auto length = read_varint(bytes, at);
        if (!length) damaged(start, "a length does not end");
        need = *length;
        break;
      }
      case 5: need = 4; break;
      default: damaged(start, "a protobuf group, which ONNX does not use");
    }
    if (need > bytes.size() - at)
      damaged(start, fmt::format("field {} needs {} bytes, {} are left", *tag >> 3, need,
                                 bytes.size() - at));
    at += need;
  }
}

}  // namespace

void check_message(std::span<const std::byte> bytes, KnownTags known, std::string_view what) {
  if (bytes.empty()) fail(ErrorCode::invalid_argument, "not an {}: it is empty", what);
  // Checked before protobuf's size limit, so that a large file of another kind gets the right
  // message.
  check_top_level(bytes, known, what);
  if (bytes.size() > INT_MAX)
    fail(ErrorCode::resource_exhausted,
         "the {} has {} bytes and protobuf reads 2 GiB at most; store its weights as external data",
         what, bytes.size());
}

void parse_message(std::span<const std::byte> bytes, KnownTags known, std::string_view what,
                   google::protobuf::MessageLite& message) {
  check_message(bytes, known, what);
  // Without this object, protobuf writes its errors to stderr.
  const google::protobuf::LogSilencer silence;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  in.SetTotalBytesLimit(INT_MAX);
  in.SetRecursionLimit(kMaxMessageDepth);
  if (!message.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage())
    fail(ErrorCode::data_loss,
         "the {} is truncated or damaged: a nested message does not parse (or is nested deeper "
         "than {})",
         what, kMaxMessageDepth);
}

std::string serialize_message(const google::protobuf::MessageLite& message, std::string_view what,
                              uint64_t most) {
  if (const uint64_t bytes = message.ByteSizeLong(); bytes > most)
    fail(ErrorCode::resource_exhausted, "{} needs {} bytes and protobuf writes {} at most", what,
         bytes, most);
  return message.SerializeAsString();
}

}  // namespace poprt::onnx

// The Cap'n Proto library, an independent reference for our own reader and writer. Include before
// any generated header.
#pragma once

#include <kj/string.h>

// Cap'n Proto 0.9 compares `const char*` with kj::StringPtr and relies on the compiler swapping
// the operands, which C++20 as of P2468 (clang 16) does not do for this class.
namespace kj {
inline bool operator==(const char* a, const StringPtr& b) { return StringPtr(a) == b; }
}  // namespace kj

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace poprt::capnp_library {

// The canonical form of a message according to the library.
template <class Root>
std::vector<std::byte> canonical_bytes(Root root) {
  const kj::Array<capnp::word> words = capnp::canonicalize(root);
  const auto bytes = std::as_bytes(std::span(words.begin(), words.size()));
  return {bytes.begin(), bytes.end()};
}

// The single segment of a message that is not canonical: its structs are padded, and its objects
// are in the order of their construction.
inline std::vector<std::byte> segment_bytes(capnp::MallocMessageBuilder& message) {
  const auto segments = message.getSegmentsForOutput();
  if (segments.size() != 1) return {};
  const auto bytes = std::as_bytes(std::span(segments[0].begin(), segments[0].size()));
  return {bytes.begin(), bytes.end()};
}

// A message of one segment without a segment table. It keeps a copy of the bytes.
class Message {
 public:
  explicit Message(std::span<const std::byte> bytes)
      : words_(kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word))) {
    std::memcpy(words_.begin(), bytes.data(), words_.size() * sizeof(capnp::word));
  }
  template <class Root>
  typename Root::Reader root() {
    return reader_.getRoot<Root>();
  }
  bool is_canonical() { return reader_.isCanonical(); }

 private:
  kj::Array<capnp::word> words_;
  const kj::ArrayPtr<const capnp::word> segments_[1] = {words_.asPtr()};
  capnp::SegmentArrayMessageReader reader_{segments_};
};

inline std::string text(capnp::Text::Reader s) { return {s.begin(), s.size()}; }
template <class List, class T>
void fill(List list, const std::vector<T>& values) {
  for (size_t i = 0; i < values.size(); i++) list.set(static_cast<unsigned>(i), values[i]);
}
template <class List>
auto values(List list) {
  std::vector<std::decay_t<decltype(list[0])>> result;
  for (const auto v : list) result.push_back(v);
  return result;
}

}  // namespace poprt::capnp_library

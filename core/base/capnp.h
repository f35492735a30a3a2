// Include before any Cap'n Proto header, generated ones too; and what both of our schemas need.
#pragma once

#include <kj/string.h>

// Cap'n Proto 0.9 compares `const char*` with kj::StringPtr and relies on the compiler turning the
// operands round, which C++20 as of P2468 (clang 16) does not do for this class.
namespace kj {
inline bool operator==(const char* a, const StringPtr& b) { return StringPtr(a) == b; }
}  // namespace kj

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace poprt::capnproto {

inline capnp::Text::Reader text(const std::string& s) { return {s.c_str(), s.size()}; }
inline std::string text(capnp::Text::Reader s) { return {s.begin(), s.size()}; }

// Copies a list of numbers, both ways.
template <class List, class T>
void fill(List list, const std::vector<T>& values) {
  for (size_t i = 0; i < values.size(); i++) list.set(static_cast<unsigned>(i), values[i]);
}
template <class List>
auto values(List list) {
  using T = std::decay_t<decltype(list[0])>;
  std::vector<T> result(list.size());
  for (unsigned i = 0; i < list.size(); i++) result[i] = list[i];
  return result;
}

// A list length; throws invalid_argument past what a message can hold.
inline unsigned count(size_t n, const char* what) {
  constexpr size_t kMost = 1u << 24;
  if (n > kMost) fail(ErrorCode::invalid_argument, "{} {}, at most {}", n, what, kMost);
  return static_cast<unsigned>(n);
}

// The message's canonical form: equal content gives equal bytes.
template <class Root>
std::vector<std::byte> canonical_bytes(Root root) {
  const kj::Array<capnp::word> words = capnp::canonicalize(root);
  const auto bytes = std::as_bytes(std::span(words.begin(), words.size()));
  return {bytes.begin(), bytes.end()};
}

// Reads a canonical message from hostile bytes of any alignment with `decode(Root::Reader)`. Throws
// data_loss. A message may point several times at the same bytes; what it can make us traverse is
// bounded by twice its size (and 8 KiB, for list elements that take no bytes); an honest one is
// traversed once.
template <class Root, class Decode>
auto decode_canonical(std::span<const std::byte> bytes, const char* what, Decode decode) {
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0)
    fail(ErrorCode::data_loss, "{}: {} bytes is not a whole number of 8-byte words", what,
         bytes.size());
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  capnp::ReaderOptions options;
  options.traversalLimitInWords = words.size() * 2 + 1024;
  options.nestingLimit = 16;
  const kj::ArrayPtr<const capnp::word> segments[] = {words.asPtr()};
  try {
    capnp::SegmentArrayMessageReader message(segments, options);
    return decode(message.getRoot<Root>());
  } catch (const kj::Exception& e) {
    fail(ErrorCode::data_loss, "{}: {}", what, e.getDescription().cStr());
  }
}

}  // namespace poprt::capnproto

// The source of the decisions of random graphs: a seed, or the bytes of a fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>

namespace poprt::test {

class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed) {}
  // A decision between two or more consumes one to eight bytes; after the last byte all are zero.
  explicit Choices(std::span<const uint8_t> bytes) : from_bytes_(true), bytes_(bytes) {}

  // All bytes are used: further decisions are all zero.
  bool exhausted() const { return from_bytes_ && bytes_.empty(); }

  // A number in [0, n).
  uint64_t below(uint64_t n) {
    if (n < 2) return 0;
    if (!from_bytes_) return next() % n;
    uint64_t value = 0;
    for (uint64_t reach = 1; reach < n && !bytes_.empty(); bytes_ = bytes_.subspan(1)) {
      value = value << 8 | bytes_[0];
      reach = reach > UINT64_MAX >> 8 ? UINT64_MAX : reach << 8;
    }
    return value % n;
  }
  // A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  bool chance(int percent) { return below(100) >= 100 - static_cast<uint64_t>(percent); }

  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  template <class C>
  const auto& pick_of(const C& from) {
    return *(std::begin(from) + static_cast<std::ptrdiff_t>(below(std::size(from))));
  }

 private:
  // splitmix64
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  bool from_bytes_ = false;
  uint64_t state_ = 0;
  std::span<const uint8_t> bytes_;
};

}  // namespace poprt::test

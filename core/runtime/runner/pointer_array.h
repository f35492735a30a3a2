// The pointers of a request, by anchor.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace poprt::runtime {

// Pointers of type T, whose values are unspecified at first. A few of them need no allocation.
template <class T>
class PointerArray {
 public:
  explicit PointerArray(size_t count) : many_(count > few_.size() ? count : 0) {}
  PointerArray(const PointerArray&) = delete;
  PointerArray& operator=(const PointerArray&) = delete;

  T* data() noexcept { return many_.empty() ? few_.data() : many_.data(); }
  T& operator[](size_t i) noexcept { return data()[i]; }

 private:
  std::array<T, 16> few_;
  std::vector<T> many_;
};

}  // namespace poprt::runtime

// The form of a constant among a program's weights: the tensors that it is made from, and the
// function that makes it. Equal forms make equal bytes, so a program stores one copy of a weight
// that many layers pack in the same way. The layouts of packed weights of products and convolutions
// are in kernels/common/pack_*.h and kernels/common/winograd_weights.h. Operators choose one when
// they are lowered, and serialize.cpp writes the bytes to the payload.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/tensor.h"

namespace poprt::program {

// The bytes of a tensor that a form reads.
inline std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
}
// The bytes that a form writes, as elements of type T.
template <class T>
std::span<T> as_array(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

class WeightForm {
 public:
  using Sources = std::span<const Tensor>;
  using Bytes = std::span<std::byte>;

  // `make(from, to)` writes all bytes of `to`. The result must depend only on `from` and `make`, so
  // `make` is a struct that compares its members or a lambda without captures.
  template <class Make>
  WeightForm(std::vector<Tensor> from, Make make)
      : from_(std::move(from)), make_(std::make_shared<const MakerOf<Make>>(std::move(make))) {
    static_assert(std::is_empty_v<Make> || std::equality_comparable<Make>);
  }

  // The unchanged bytes of `tensor`, of any shape and any type that has bytes (not string).
  static WeightForm plain(const Tensor& tensor);

  void fill(Bytes to) const { make_->fill(from_, to); }
  // Whether both are made in the same way from tensors of the same type, shape and contents.
  bool operator==(const WeightForm& other) const;
  // Equal for equal forms of one process. It reads only a part of each large tensor.
  uint64_t fingerprint() const;

 private:
  struct Maker {
    explicit Maker(std::type_index t) : type(t) {}
    virtual ~Maker() = default;
    virtual void fill(Sources from, Bytes to) const = 0;
    virtual bool equals(const Maker& other) const = 0;
    const std::type_index type;
  };
  template <class Make>
  struct MakerOf final : Maker {
    explicit MakerOf(Make m) : Maker(typeid(Make)), make(std::move(m)) {}
    void fill(Sources from, Bytes to) const override { make(from, to); }
    bool equals(const Maker& other) const override {
      if (type != other.type) return false;
      if constexpr (std::is_empty_v<Make>)
        return true;
      else
        return make == static_cast<const MakerOf&>(other).make;
    }
    const Make make;
  };

  std::vector<Tensor> from_;
  std::shared_ptr<const Maker> make_;
};

}  // namespace poprt::program

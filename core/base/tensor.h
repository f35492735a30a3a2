// A tensor in host memory: element type, static shape and shared bytes, dense and row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "base/shape.h"

namespace poprt {

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<f16_t>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<bf16_t>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::s8;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::s16;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::s32;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::s64;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

// Copies share their bytes. Bytes that the tensor allocated are aligned to 64; a view keeps its
// owner alive. Only the code that allocated a tensor writes to it, through mutable_data() and
// before it passes the tensor on; afterwards any thread may read it.
class Tensor {
 public:
  Tensor() = default;

  // Allocates zeroed memory; for DType::string, use strings(). Throws out_of_range if the shape is
  // not static or its size overflows, and resource_exhausted or std::bad_alloc if memory is
  // exhausted.
  static Tensor zeros(DType dtype, Shape shape);
  // Refers to existing bytes; `owner` is kept alive as long as any copy exists. Throws data_loss if
  // `bytes` is not the size that the type and the shape need, and out_of_range like zeros().
  static Tensor view(DType dtype, Shape shape, const void* data, uint64_t bytes,
                     std::shared_ptr<const void> owner);
  // strings() and of() throw invalid_argument if the shape needs another number of values.
  static Tensor strings(Shape shape, std::vector<std::string> values);

  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor t = zeros(dtype_of<T>(), std::move(shape));
    t.check_count(values.size());
    if (!values.empty()) std::memcpy(t.mutable_data(), values.data(), values.size_bytes());
    return t;
  }
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }

  bool defined() const { return dtype_ != DType::undefined; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return element_count(shape_); }
  uint64_t bytes() const { return bytes_; }
  const void* data() const { return data_.get(); }
  void* mutable_data() { return const_cast<void*>(data_.get()); }
  const std::vector<std::string>& string_values() const { return *strings_; }

  // The same bytes with another shape of the same element count. Throws invalid_argument if the
  // count differs.
  Tensor reshaped(Shape shape) const;

  // Typed access. Throws internal if T is not the element type.
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>());
    return {static_cast<const T*>(data_.get()), static_cast<size_t>(count())};
  }
  template <class T>
  std::span<T> mutable_values() {
    check_dtype(dtype_of<T>());
    return {static_cast<T*>(mutable_data()), static_cast<size_t>(count())};
  }

  // Any tensor of bool or integers as int64; u64 from 2^63 becomes negative. Throws
  // invalid_argument for other types.
  std::vector<int64_t> to_int64s() const;
  // Any tensor of bool, integers or floats, including sub-byte and f8 types, as doubles. Throws
  // invalid_argument for other types.
  std::vector<double> to_doubles() const;

  // Whether type, shape and bytes are equal.
  bool same_as(const Tensor& other) const;

 private:
  void check_dtype(DType wanted) const;
  void check_count(size_t given) const;

  DType dtype_ = DType::undefined;
  Shape shape_;
  uint64_t bytes_ = 0;
  std::shared_ptr<const void> data_;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

}  // namespace poprt

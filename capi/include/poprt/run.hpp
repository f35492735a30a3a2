// Typed tensors, and runs that allocate their outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif

#include "poprt/error.hpp"
#include "poprt/runner.hpp"
#include "poprt/tensor.h"

namespace model_runtime {

// A view of consecutive elements, owned by an Outputs. Converts to std::span if that exists.
template <class T>
class Span {
 public:
  Span() = default;
  Span(T* data, size_t size) : data_(data), size_(size) {}
  T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

namespace impl {

// The element type of a C++ type. Types that C++ lacks are passed as unsigned integers.
template <class T>
constexpr poprt_dtype dtypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) return POPRT_DTYPE_F32;
  if constexpr (std::is_same_v<U, double>) return POPRT_DTYPE_F64;
  if constexpr (std::is_same_v<U, bool>) return POPRT_DTYPE_BOOL;
  if constexpr (std::is_integral_v<U> && !std::is_same_v<U, bool>) {
    constexpr poprt_dtype kSigned[] = {0, POPRT_DTYPE_S8, POPRT_DTYPE_S16, 0, POPRT_DTYPE_S32, 0, 0,
                                       0, POPRT_DTYPE_S64};
    return std::is_signed_v<U> ? kSigned[sizeof(U)] : kSigned[sizeof(U)] + 1;
  }
  return POPRT_DTYPE_UNDEFINED;
}

// Returns whether memory of type `given` may be used for type `anchor`.
inline bool holds(poprt_dtype given, poprt_dtype anchor) {
  if (given == POPRT_DTYPE_U16 && (anchor == POPRT_DTYPE_F16 || anchor == POPRT_DTYPE_BF16))
    return true;
  return given == anchor || (given == POPRT_DTYPE_U8 && poprt_dtype_bits(anchor) <= 8 &&
                             anchor != POPRT_DTYPE_S8 && anchor != POPRT_DTYPE_BOOL);
}

}  // namespace impl

// Memory of one input with type and shape. It is not copied and must stay valid until the end of
// the run.
class TypedTensor {
 public:
  // F16 and BF16 are passed as uint16_t, and types of at most 8 bits that C++ lacks as uint8_t.
  template <class T>
  TypedTensor(std::string tensorName, const T* data, std::vector<int64_t> tensorShape)
      : name(std::move(tensorName)),
        shape(std::move(tensorShape)),
        memory(data),
        dtype(impl::dtypeOf<T>()) {
    static_assert(impl::dtypeOf<T>() != POPRT_DTYPE_UNDEFINED, "not a type of tensor elements");
  }
  // Refers to the elements of an object with data() and size(). size() must be the number of
  // elements of the shape, or the number of bytes for types of less than 8 bits.
  template <class Range, class T = std::remove_pointer_t<decltype(std::declval<Range&>().data())>>
  TypedTensor(std::string tensorName, const Range& range, std::vector<int64_t> tensorShape)
      : TypedTensor(std::move(tensorName), static_cast<const T*>(range.data()),
                    std::move(tensorShape)) {
    elements = range.size();
    given = true;
  }

  std::string name;
  std::vector<int64_t> shape;
  const void* memory;
  poprt_dtype dtype;
  size_t elements = 0;
  bool given = false;  // whether the number of elements is given
};

// One output of a run, in memory of its Outputs.
class OutputTensor {
 public:
  OutputTensor(std::shared_ptr<poprt_outputs> owner, const poprt_tensor& tensor)
      : name(tensor.name),
        shape(tensor.shape, tensor.shape + tensor.rank),
        dtype(tensor.dtype),
        owner_(std::move(owner)),
        data_(tensor.data),
        bytes_(tensor.bytes) {}

  // Throws invalid_argument if the elements have another type.
  template <class T>
  Span<T> as() const {
    if (!impl::holds(impl::dtypeOf<T>(), dtype))
      throw Error(ErrorCode::invalid_argument, "output '" + name + "' holds elements of " +
                                                   poprt_dtype_name(dtype) + ", requested " +
                                                   poprt_dtype_name(impl::dtypeOf<T>()));
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  size_t bytes() const { return bytes_; }
  void* data() const { return data_; }

  std::string name;
  std::vector<int64_t> shape;
  poprt_dtype dtype;

 private:
  std::shared_ptr<poprt_outputs> owner_;
  void* data_;
  size_t bytes_;
};

// Outputs in the model's order.
class Outputs : public std::vector<OutputTensor> {
 public:
  // Throws not_found.
  const OutputTensor& at(const std::string& name) const {
    std::string names;
    for (const OutputTensor& o : *this) {
      if (o.name == name) return o;
      names += (names.empty() ? "'" : ", '") + o.name + "'";
    }
    throw Error(ErrorCode::not_found, "there is no output '" + name + "'; outputs are: " + names);
  }
};

// Runs the model into new memory, for as many rows as the inputs have. If there is an output
// NAME:shape, output NAME only contains the real part (see poprt/tensor.h). dtypes and shapes
// are checked. Throws the errors of execute(). Since 1.0.
template <class AnyRunner>
Outputs run(const AnyRunner& runner, const std::vector<TypedTensor>& inputs) {
  std::vector<poprt_tensor> tensors;
  for (const TypedTensor& t : inputs) {
    poprt_dtype dtype = t.dtype;
    for (size_t i = 0; i < poprt_runner_input_count(runner.handle()); i++) {
      const poprt_anchor* a = poprt_runner_input(runner.handle(), i);
      if (t.name == poprt_anchor_name(a) && impl::holds(dtype, poprt_anchor_dtype(a)))
        dtype = poprt_anchor_dtype(a);
    }
    // The library would take 0 bytes as a size that it has to compute from the shape.
    if (t.given && t.elements == 0 && std::find(t.shape.begin(), t.shape.end(), 0) == t.shape.end())
      throw Error(ErrorCode::invalid_argument,
                  "input '" + t.name + "': the range is empty, and the shape is not");
    const size_t bytes =
        t.given ? t.elements * static_cast<size_t>(poprt_dtype_bits(t.dtype)) / 8 : 0;
    tensors.push_back({detail::text(t.name, "name"), 0, const_cast<void*>(t.memory), bytes, dtype,
                       0, t.shape.data(), t.shape.size()});
  }
  poprt_outputs* made = nullptr;
  detail::check(poprt_runner_run(runner.handle(), tensors.data(), tensors.size(), &made));
  const std::shared_ptr<poprt_outputs> owner(made, poprt_outputs_free);
  Outputs outputs;
  for (size_t i = 0; i < poprt_outputs_count(made); i++)
    outputs.emplace_back(owner, *poprt_outputs_at(made, i));
  return outputs;
}

}  // namespace model_runtime

#ifdef __cpp_lib_span
// Its iterators outlive the object, so a temporary converts as well.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<poprt::runtime::Span<T>> = true;
#endif

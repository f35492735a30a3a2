#include "base/tensor.h"

#include <cstdlib>
#include <new>

#include "base/block_memory.h"
#include "base/checked.h"
#include "base/quarter.h"

namespace poprt {

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.bytes_ = dtype_bytes(dtype, element_count(t.shape_));
  const uint64_t room = align_up(t.bytes_ ? t.bytes_ : 1, 64);
  if (room >= 2 * kHugePageBytes) {
    auto block = allocate_block(room);
    std::memset(block.get(), 0, room);
    t.data_ = std::move(block);
    return t;
  }
  void* p = std::aligned_alloc(64, room);
  if (!p)
    fail(ErrorCode::resource_exhausted, "cannot allocate {} bytes for a tensor {}", room,
         shape_string(t.shape_));
  std::memset(p, 0, room);
  t.data_ = std::shared_ptr<const void>(p, [](const void* q) { std::free(const_cast<void*>(q)); });
  return t;
}

Tensor Tensor::view(DType dtype, Shape shape, const void* data, uint64_t bytes,
                    std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.bytes_ = dtype_bytes(dtype, element_count(t.shape_));
  if (bytes != t.bytes_)
    fail(ErrorCode::data_loss, "a {} tensor {} needs {} bytes, found {}", dtype_name(dtype),
         shape_string(t.shape_), t.bytes_, bytes);
  t.data_ = std::shared_ptr<const void>(std::move(owner), data);
  return t;
}

Tensor Tensor::strings(Shape shape, std::vector<std::string> values) {
  Tensor t;
  t.dtype_ = DType::string;
  t.shape_ = std::move(shape);
  t.check_count(values.size());
  t.strings_ = std::make_shared<const std::vector<std::string>>(std::move(values));
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (element_count(shape) != count())
    fail(ErrorCode::invalid_argument, "cannot view {} as {}: {} elements against {}",
         shape_string(shape_), shape_string(shape), count(), element_count(shape));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

std::vector<int64_t> Tensor::to_int64s() const {
  std::vector<int64_t> out(static_cast<size_t>(count()));
  auto fill = [&]<class T>(std::span<const T> from) {
    for (size_t i = 0; i < out.size(); i++) out[i] = static_cast<int64_t>(from[i]);
  };
  switch (dtype_) {
    case DType::s8: fill(values<int8_t>()); break;
    case DType::u8: fill(values<uint8_t>()); break;
    case DType::s16: fill(values<int16_t>()); break;
    case DType::u16: fill(values<uint16_t>()); break;
    case DType::s32: fill(values<int32_t>()); break;
    case DType::u32: fill(values<uint32_t>()); break;
    case DType::s64: fill(values<int64_t>()); break;
    case DType::u64: fill(values<uint64_t>()); break;
    case DType::boolean: {
      const auto* p = static_cast<const uint8_t*>(data());
      for (size_t i = 0; i < out.size(); i++) out[i] = p[i] != 0;
      break;
    }
    case DType::s4:
    case DType::u4: {
      const auto* p = static_cast<const uint8_t*>(data());
      for (size_t i = 0; i < out.size(); i++) {
        const int v = (p[i / 2] >> (i % 2 * 4)) & 15;
        out[i] = dtype_ == DType::s4 && v > 7 ? v - 16 : v;
      }
      break;
    }
    case DType::s2:
    case DType::u2: {
      const auto* p = static_cast<const uint8_t*>(data());
      for (size_t i = 0; i < out.size(); i++) {
        const int v = (p[i / 4] >> (i % 4 * 2)) & 3;
        out[i] = dtype_ == DType::s2 && v > 1 ? v - 4 : v;
      }
      break;
    }
    default:
      fail(ErrorCode::invalid_argument, "expected an integer tensor, found {}", dtype_name(dtype_));
  }
  return out;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> out(static_cast<size_t>(count()));
  const auto* bytes = static_cast<const uint8_t*>(data());
  const auto convert = [&](auto from, auto&& to_double) {
    for (size_t i = 0; i < out.size(); i++) out[i] = to_double(from[i]);
  };
  const auto widen = [](auto x) { return static_cast<double>(x); };
  const auto widen_half = [](auto x) { return static_cast<double>(to_float(x)); };
  switch (dtype_) {
    case DType::f32: convert(values<float>(), widen); break;
    case DType::f64: convert(values<double>(), widen); break;
    case DType::f16: convert(values<f16_t>(), widen_half); break;
    case DType::bf16: convert(values<bf16_t>(), widen_half); break;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8_143:
    case DType::f8_152:
    case DType::f8e8m0:
      for (size_t i = 0; i < out.size(); i++)
        out[i] = static_cast<double>(quarter_to_float(dtype_, bytes[i]));
      break;
    case DType::f4e2m1:
      for (size_t i = 0; i < out.size(); i++)
        out[i] = static_cast<double>(quarter_to_float(dtype_, (bytes[i / 2] >> (i % 2 * 4)) & 15));
      break;
    case DType::u64:
      convert(values<uint64_t>(), widen);
      break;  // half of its range does not fit int64
    default: convert(to_int64s(), widen);
  }
  return out;
}

bool Tensor::same_as(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_ || bytes_ != other.bytes_) return false;
  if (dtype_ == DType::string) return *strings_ == *other.strings_;
  return bytes_ == 0 || data() == other.data() || std::memcmp(data(), other.data(), bytes_) == 0;
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype_ != wanted)
    fail(ErrorCode::internal, "tensor is {}, read as {}", dtype_name(dtype_), dtype_name(wanted));
}

void Tensor::check_count(size_t given) const {
  if (given != static_cast<size_t>(element_count(shape_)))
    fail(ErrorCode::invalid_argument, "shape {} needs {} values, found {}", shape_string(shape_),
         element_count(shape_), given);
}

}  // namespace poprt

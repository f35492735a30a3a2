#include "onnx/tensor_proto.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "onnx/elem_type.h"
#include "onnx/limits.h"

namespace poprt::onnx {
namespace {

template <class Dims>
Shape shape_of(const Dims& dims) {
  if (dims.size() > kMaxRank)
    fail(ErrorCode::invalid_argument, "it has {} dimensions, at most {} are supported", dims.size(),
         kMaxRank);
  Shape shape(dims.begin(), dims.end());
  int64_t product = 1;
  for (const int64_t d : shape) {
    if (d < 0)
      fail(ErrorCode::invalid_argument, "dims {} has a negative dimension {}", shape_string(shape),
           d);
    // The product must fit even if another dimension is zero, because strides are products of the
    // other dimensions.
    if (d > 0) product = checked_mul(product, d, "shape");
  }
  return shape;
}

size_t element_alignment(DType dtype) {
  switch (dtype) {
    case DType::c64: return 4;
    case DType::c128: return 8;
    default: return static_cast<size_t>(std::max(1, dtype_bits(dtype) / 8));
  }
}

// Returns a view of the data, or a copy if the data is not aligned, or has bools other than 0 and
// 1.
Tensor from_bytes(DType dtype, Shape shape, const void* data, uint64_t bytes,
                  std::shared_ptr<const void> owner) {
  static const char kNothing[16] = {};
  Tensor view =
      Tensor::view(dtype, std::move(shape), data ? data : kNothing, bytes, std::move(owner));
  const bool aligned = reinterpret_cast<uintptr_t>(view.data()) % element_alignment(dtype) == 0;
  const auto* p = static_cast<const uint8_t*>(view.data());
  const bool plain =
      dtype != DType::boolean || std::all_of(p, p + bytes, [](uint8_t b) { return b <= 1; });
  if (aligned && plain) return view;
  Tensor copy = Tensor::zeros(dtype, view.shape());
  if (bytes) std::memcpy(copy.mutable_data(), p, bytes);
  if (!plain) {
    auto* q = static_cast<uint8_t*>(copy.mutable_data());
    for (uint64_t i = 0; i < bytes; i++) q[i] = q[i] != 0;
  }
  return copy;
}

void check_field_size(std::string_view field, DType dtype, const Shape& shape, uint64_t expected,
                      uint64_t found) {
  if (expected != found)
    fail(ErrorCode::data_loss, "a {} tensor {} needs {} values in {}, found {}", dtype_name(dtype),
         shape_string(shape), expected, field, found);
}

// Takes a field that has the memory layout of the tensor.
template <class T>
Tensor take_field(google::protobuf::RepeatedField<T>& field, std::string_view name, DType dtype,
                  Shape shape) {
  const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
  check_field_size(name, dtype, shape, bytes / sizeof(T), static_cast<uint64_t>(field.size()));
  auto owner = std::make_shared<google::protobuf::RepeatedField<T>>();
  owner->Swap(&field);
  const void* data = owner->data();
  return from_bytes(dtype, std::move(shape), data, bytes, std::move(owner));
}

// Takes a field with one storage unit per entry: an element, or a byte of packed elements. The
// number of an entry may be signed or unsigned: that of a byte is -128 to 255.
template <class Unit, class T>
Tensor narrow_field(const google::protobuf::RepeatedField<T>& field, std::string_view name,
                    DType dtype, Shape shape) {
  const uint64_t units = dtype_bytes(dtype, element_count(shape)) / sizeof(Unit);
  check_field_size(name, dtype, shape, units, static_cast<uint64_t>(field.size()));
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  auto* out = static_cast<Unit*>(tensor.mutable_data());
  const bool is_bool = dtype == DType::boolean;
  constexpr auto kLow = static_cast<int64_t>(std::numeric_limits<std::make_signed_t<Unit>>::min());
  constexpr auto kHigh = std::numeric_limits<Unit>::max();
  for (uint64_t i = 0; i < units; i++) {
    const T v = field.Get(static_cast<int>(i));
    if constexpr (std::is_signed_v<T>) {
      if (v < kLow || v > static_cast<int64_t>(kHigh))
        fail(ErrorCode::invalid_argument, "value {} in {} does not fit into {}", v, name,
             dtype_name(dtype));
    } else if (v > kHigh) {
      fail(ErrorCode::invalid_argument, "value {} in {} does not fit into {}", v, name,
           dtype_name(dtype));
    }
    out[i] = is_bool ? static_cast<Unit>(v != 0) : static_cast<Unit>(v);
  }
  return tensor;
}

uint64_t parse_number(std::string_view key, const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorCode::invalid_argument, "external_data {} {} is not a non-negative integer", key,
         quote_name(text));
  return value;
}

Tensor read_external(const ::onnx::TensorProto& proto, DType dtype, Shape shape,
                     ExternalFiles& files) {
  if (dtype == DType::string)
    fail(ErrorCode::invalid_argument, "a string tensor cannot have external data");
  std::optional<std::string> location, checksum;
  std::optional<uint64_t> offset, length;
  for (const auto& entry : proto.external_data()) {
    auto refuse_repeated = [&](const auto& slot) {
      if (slot) fail(ErrorCode::invalid_argument, "external_data has '{}' twice", entry.key());
    };
    if (entry.key() == "location") {
      refuse_repeated(location);
      location = entry.value();
    } else if (entry.key() == "offset") {
      refuse_repeated(offset);
      offset = parse_number("offset", entry.value());
    } else if (entry.key() == "length") {
      refuse_repeated(length);
      length = parse_number("length", entry.value());
    } else if (entry.key() == "checksum") {
      refuse_repeated(checksum);
      checksum = entry.value();
    }
  }
  if (!location) fail(ErrorCode::invalid_argument, "external_data has no location");
  if (checksum) files.check_sha1(*location, *checksum);
  const uint64_t expected = dtype_bytes(dtype, element_count(shape));
  const ExternalFiles::Bytes bytes = files.read(*location, offset.value_or(0), length, expected);
  return from_bytes(dtype, std::move(shape), bytes.bytes.data(), bytes.bytes.size(), bytes.owner);
}

struct Payload {
  std::string_view field;
  int64_t entries;
};

// The payload fields that are not empty. `raw_bytes` is the size of raw_data.
std::vector<Payload> payloads(const ::onnx::TensorProto& proto, uint64_t raw_bytes) {
  std::vector<Payload> found;
  auto note = [&](std::string_view field, uint64_t entries) {
    if (entries) found.push_back({field, static_cast<int64_t>(entries)});
  };
  note("raw_data", raw_bytes);
  note("float_data", static_cast<uint64_t>(proto.float_data_size()));
  note("int32_data", static_cast<uint64_t>(proto.int32_data_size()));
  note("int64_data", static_cast<uint64_t>(proto.int64_data_size()));
  note("double_data", static_cast<uint64_t>(proto.double_data_size()));
  note("uint64_data", static_cast<uint64_t>(proto.uint64_data_size()));
  note("string_data", static_cast<uint64_t>(proto.string_data_size()));
  return found;
}

std::string_view typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64: return "float_data";
    case DType::f64:
    case DType::c128: return "double_data";
    case DType::s64: return "int64_data";
    case DType::u32:
    case DType::u64: return "uint64_data";
    case DType::string: return "string_data";
    default: return "int32_data";
  }
}

}  // namespace

Tensor take_tensor(::onnx::TensorProto& proto, ExternalFiles& files) {
  const DType dtype = dtype_from_elem_type(proto.data_type());
  Shape shape = shape_of(proto.dims());
  if (proto.has_segment())
    fail(ErrorCode::unimplemented, "it is stored in segments, which is not supported");
  const int64_t count = element_count(shape);
  const uint64_t bytes = dtype_bytes(dtype, count);

  const ExternalFiles::Bytes* const cut = files.cut_of(proto);
  const uint64_t raw_bytes = cut ? cut->bytes.size() : proto.raw_data().size();
  const std::vector<Payload> found = payloads(proto, raw_bytes);
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    if (!found.empty())
      fail(ErrorCode::invalid_argument, "it has external data and {} too", found[0].field);
    return read_external(proto, dtype, std::move(shape), files);
  }
  if (found.size() > 1)
    fail(ErrorCode::invalid_argument, "it has both {} and {}", found[0].field, found[1].field);
  if (found.empty()) {
    if (count != 0)
      fail(ErrorCode::data_loss, "a {} tensor {} needs {} elements, it has no data",
           dtype_name(dtype), shape_string(shape), count);
    return dtype == DType::string ? Tensor::strings(std::move(shape), {})
                                  : Tensor::zeros(dtype, std::move(shape));
  }
  const std::string_view field = found[0].field;
  if (field == "raw_data" && dtype != DType::string) {
    if (raw_bytes != bytes)
      fail(ErrorCode::data_loss, "a {} tensor {} needs {} bytes in raw_data, found {}",
           dtype_name(dtype), shape_string(shape), bytes, raw_bytes);
    if (cut) return from_bytes(dtype, std::move(shape), cut->bytes.data(), bytes, cut->owner);
    const std::shared_ptr<const std::string> owner(proto.release_raw_data());
    return from_bytes(dtype, std::move(shape), owner->data(), bytes, owner);
  }
  if (field != typed_field(dtype))
    fail(ErrorCode::invalid_argument, "a {} tensor keeps its values in {}, found {}",
         dtype_name(dtype), typed_field(dtype), field);
  switch (dtype) {
    case DType::f32:
    case DType::c64: return take_field(*proto.mutable_float_data(), field, dtype, std::move(shape));
    case DType::f64:
    case DType::c128:
      return take_field(*proto.mutable_double_data(), field, dtype, std::move(shape));
    case DType::s64: return take_field(*proto.mutable_int64_data(), field, dtype, std::move(shape));
    case DType::u64:
      return take_field(*proto.mutable_uint64_data(), field, dtype, std::move(shape));
    case DType::s32: return take_field(*proto.mutable_int32_data(), field, dtype, std::move(shape));
    case DType::u32:
      return narrow_field<uint32_t>(proto.uint64_data(), field, dtype, std::move(shape));
    case DType::string: {
      check_field_size(field, dtype, shape, static_cast<uint64_t>(count),
                       static_cast<uint64_t>(proto.string_data_size()));
      std::vector<std::string> values(proto.string_data().begin(), proto.string_data().end());
      return Tensor::strings(std::move(shape), std::move(values));
    }
    default:
      if (dtype_bits(dtype) == 16)
        return narrow_field<uint16_t>(proto.int32_data(), field, dtype, std::move(shape));
      return narrow_field<uint8_t>(proto.int32_data(), field, dtype, std::move(shape));
  }
}

Tensor take_sparse_tensor(::onnx::SparseTensorProto& proto, ExternalFiles& files) {
  const Shape shape = shape_of(proto.dims());
  const int64_t count = element_count(shape);
  const Tensor values = take_tensor(*proto.mutable_values(), files);
  if (dtype_bits(values.dtype()) % 8 != 0 || values.dtype() == DType::string)
    fail(ErrorCode::unimplemented, "sparse tensors of {} are not supported",
         dtype_name(values.dtype()));
  const uint64_t bytes = dtype_bytes(values.dtype(), count);
  if (bytes > kMaxDensifiedBytes)
    fail(ErrorCode::resource_exhausted,
         "a sparse tensor {} needs {} bytes when dense, more than {}", shape_string(shape), bytes,
         kMaxDensifiedBytes);
  if (values.shape().size() != 1)
    fail(ErrorCode::invalid_argument, "sparse values should have one dimension, found {}",
         shape_string(values.shape()));
  const int64_t stored = values.shape()[0];

  const auto rank = static_cast<int64_t>(shape.size());
  Tensor indices = Tensor::zeros(DType::s64, {0});
  if (proto.has_indices() || stored) indices = take_tensor(*proto.mutable_indices(), files);
  const bool linear = indices.shape().size() == 1 && indices.shape()[0] == stored;
  if (indices.dtype() != DType::s64 || (!linear && indices.shape() != Shape{stored, rank}))
    fail(ErrorCode::invalid_argument,
         "sparse indices should be s64[{0}] or s64[{0},{1}], found {2}{3}", stored, rank,
         dtype_name(indices.dtype()), shape_string(indices.shape()));

  Tensor dense = Tensor::zeros(values.dtype(), shape);
  const auto size = static_cast<size_t>(dtype_bits(values.dtype()) / 8);
  const std::span<const int64_t> at = indices.values<int64_t>();
  int64_t previous = -1;
  for (int64_t i = 0; i < stored; i++) {
    int64_t position = 0;
    if (linear) {
      position = at[i];
    } else {
      for (int64_t d = 0; d < rank; d++) {
        const int64_t x = at[i * rank + d];
        if (x < 0 || x >= shape[d])
          fail(ErrorCode::invalid_argument, "sparse index {} is outside of dimension {} of {}", x,
               d, shape_string(shape));
        position = position * shape[d] + x;
      }
    }
    if (position <= previous || position >= count)
      fail(ErrorCode::invalid_argument,
           "sparse indices should ascend within {} elements, found {} after {}", count, position,
           previous);
    previous = position;
    std::memcpy(
        static_cast<std::byte*>(dense.mutable_data()) + static_cast<size_t>(position) * size,
        static_cast<const std::byte*>(values.data()) + static_cast<size_t>(i) * size, size);
  }
  return dense;
}

::onnx::TensorProto tensor_header(const std::string& name, const Tensor& tensor) {
  ::onnx::TensorProto proto;
  proto.set_data_type(elem_type_from_dtype(tensor.dtype()));
  if (!name.empty()) proto.set_name(name);
  for (const int64_t d : tensor.shape()) proto.add_dims(d);
  if (tensor.dtype() == DType::string)
    for (const std::string& s : tensor.string_values()) proto.add_string_data(s);
  return proto;
}

::onnx::TensorProto make_tensor_proto(const std::string& name, const Tensor& tensor) {
  ::onnx::TensorProto proto = tensor_header(name, tensor);
  if (tensor.dtype() != DType::string) proto.set_raw_data(tensor.data(), tensor.bytes());
  return proto;
}

}  // namespace poprt::onnx

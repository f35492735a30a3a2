#include "popef/types.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

struct TypeRow {
  std::string_view name;
  uint64_t bytes;
  DType dtype;
};

constexpr std::array<TypeRow, kDataTypeCount> kTypes = {{
    {"BOOL", 1, DType::boolean},
    {"F8", 1, DType::f8_143},
    {"F16", 2, DType::f16},
    {"F32", 4, DType::f32},
    {"F64", 8, DType::f64},
    {"S8", 1, DType::s8},
    {"U8", 1, DType::u8},
    {"S16", 2, DType::s16},
    {"U16", 2, DType::u16},
    {"S32", 4, DType::s32},
    {"U32", 4, DType::u32},
    {"S64", 8, DType::s64},
    {"U64", 8, DType::u64},
    {"F8143", 1, DType::f8_143},
    {"F8152", 1, DType::f8_152},
}};

const TypeRow& row(DataType type) {
  const auto i = static_cast<size_t>(type);
  if (i >= kTypes.size()) raise<FormatError>("data type {} is unknown", i);
  return kTypes[i];
}

}  // namespace

std::string_view data_type_name(DataType type) {
  const auto i = static_cast<size_t>(type);
  return i < kTypes.size() ? kTypes[i].name : "INVALID";
}

std::string_view tensor_type_name(TensorType type) {
  switch (type) {
    case TensorType::UNKNOWN: return "UNKNOWN";
    case TensorType::INPUT: return "INPUT";
    case TensorType::OUTPUT: return "OUTPUT";
  }
  return "INVALID";
}

std::string_view blob_type_name(BlobType type) {
  switch (type) {
    case BlobType::POPLAR_EXECUTABLE: return "POPLAR_EXECUTABLE";
    case BlobType::METADATA: return "METADATA";
    case BlobType::DATA_TENSOR: return "DATA_TENSOR";
    case BlobType::DATA_FEED: return "DATA_FEED";
    case BlobType::OPAQUE: return "OPAQUE";
  }
  return "INVALID";
}

uint64_t data_type_bytes(DataType type) { return row(type).bytes; }

DataType data_type_of(DType dtype) {
  // These are the quarter formats of the IPU, bit for bit.
  if (dtype == DType::f8e4m3fnuz) return DataType::F8143;
  if (dtype == DType::f8e5m2fnuz) return DataType::F8152;
  for (size_t i = kTypes.size(); i-- > 0;)
    if (kTypes[i].dtype == dtype) return static_cast<DataType>(i);
  raise<SizeError>("PopEF has no data type for {}; convert the tensor first", dtype_name(dtype));
}

DType dtype_of(DataType type) { return row(type).dtype; }

uint64_t TensorInfo::sizeInBytes() const {
  uint64_t bytes = data_type_bytes(type_);
  for (const int64_t dim : shape_) {
    if (dim < 0) raise<SizeError>("tensor dimension {} is negative", dim);
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes))
      raise<SizeError>("tensor size overflows 64 bits");
  }
  return bytes;
}

uint64_t FeedDataInfo::sizeInBytes() const {
  uint64_t bytes = tensorInfo().sizeInBytes();
  if (__builtin_mul_overflow(bytes, num_tensors_, &bytes))
    raise<SizeError>("feed '{}': size overflows 64 bits", name());
  return bytes;
}

bool Anchor::usedBy(const std::vector<uint32_t>& indices) const {
  return std::any_of(programs_.begin(), programs_.end(), [&](uint32_t p) {
    return std::find(indices.begin(), indices.end(), p) != indices.end();
  });
}

}  // namespace poprt::popef

// Element types, and the descriptions of inputs and outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poprt/anchor.h"

namespace poprt {
inline namespace v1 {

enum class DataType : int32_t {
  UNDEFINED = POPRT_DTYPE_UNDEFINED,
  F32 = POPRT_DTYPE_F32,
  F64 = POPRT_DTYPE_F64,
  F16 = POPRT_DTYPE_F16,
  BF16 = POPRT_DTYPE_BF16,
  S8 = POPRT_DTYPE_S8,
  U8 = POPRT_DTYPE_U8,
  S16 = POPRT_DTYPE_S16,
  U16 = POPRT_DTYPE_U16,
  S32 = POPRT_DTYPE_S32,
  U32 = POPRT_DTYPE_U32,
  S64 = POPRT_DTYPE_S64,
  U64 = POPRT_DTYPE_U64,
  BOOL = POPRT_DTYPE_BOOL,
  F8143 = POPRT_DTYPE_F8143,
  F8152 = POPRT_DTYPE_F8152,
  F8 = POPRT_DTYPE_F8,  // PopEF's generic one-byte float
};

// Each union contains one value under two names: PopRT's and Model Runtime's.
struct DataDesc {
  std::string name;
  union {
    int64_t sizeInBytes = 0;
    int64_t size_in_bytes;
  };
  std::vector<int64_t> shape;
  union {
    DataType dataType = DataType::UNDEFINED;
    DataType data_type;
  };
  union {
    bool popefContainsTensorData = false;
    bool popef_contains_tensor_data;
  };
};
using InputDesc = DataDesc;
using OutputDesc = DataDesc;

namespace detail {

inline DataDesc describe(const poprt_anchor* anchor) {
  const int64_t* shape = poprt_anchor_shape(anchor);
  DataDesc desc;
  desc.name = poprt_anchor_name(anchor);
  desc.sizeInBytes = static_cast<int64_t>(poprt_anchor_bytes(anchor));
  desc.shape.assign(shape, shape + poprt_anchor_rank(anchor));
  desc.dataType = static_cast<DataType>(poprt_anchor_dtype(anchor));
  return desc;
}

}  // namespace detail

}  // namespace v1
}  // namespace poprt

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

struct DataDesc {
  std::string name;
  int64_t sizeInBytes = 0;
  std::vector<int64_t> shape;
  DataType dataType = DataType::UNDEFINED;
  bool popefContainsTensorData = false;
};
using InputDesc = DataDesc;
using OutputDesc = DataDesc;

namespace detail {

inline DataDesc describe(const poprt_anchor* anchor) {
  const int64_t* shape = poprt_anchor_shape(anchor);
  return {poprt_anchor_name(anchor), static_cast<int64_t>(poprt_anchor_bytes(anchor)),
          std::vector<int64_t>(shape, shape + poprt_anchor_rank(anchor)),
          static_cast<DataType>(poprt_anchor_dtype(anchor)), false};
}

}  // namespace detail

}  // namespace v1
}  // namespace poprt

#include "poprt/anchor.h"

#include "base/dtype.h"
#include "handles.h"

using namespace poprt;

static_assert(POPRT_DTYPE_C128 == static_cast<int>(DType::c128));
static_assert(POPRT_DTYPE_F8152 == static_cast<int>(DType::f8_152));
static_assert(POPRT_DTYPE_F8E8M0 == static_cast<int>(DType::f8e8m0));
static_assert(POPRT_DTYPE_F8E8M0 + 1 == kDTypeCount);
static_assert(POPRT_DTYPE_F8 == kDTypeCount);  // only in PopEF files: executables have no such type

namespace {

DType dtype_of(poprt_dtype dtype) {
  return dtype >= 0 && dtype < kDTypeCount ? static_cast<DType>(dtype) : DType::undefined;
}

}  // namespace

const char* poprt_dtype_name(poprt_dtype dtype) {
  if (dtype == POPRT_DTYPE_F8) return "f8";
  return dtype_name(dtype_of(dtype)).data();  // a string literal
}

int32_t poprt_dtype_bits(poprt_dtype dtype) {
  return dtype == POPRT_DTYPE_F8 ? 8 : dtype_bits(dtype_of(dtype));
}

const char* poprt_anchor_name(const poprt_anchor* anchor) {
  return anchor ? capi::from_handle(anchor)->name.c_str() : "";
}

poprt_dtype poprt_anchor_dtype(const poprt_anchor* anchor) {
  return anchor ? static_cast<poprt_dtype>(capi::from_handle(anchor)->dtype)
                : POPRT_DTYPE_UNDEFINED;
}

size_t poprt_anchor_rank(const poprt_anchor* anchor) {
  return anchor ? capi::from_handle(anchor)->shape.size() : 0;
}

const int64_t* poprt_anchor_shape(const poprt_anchor* anchor) {
  if (!anchor || capi::from_handle(anchor)->shape.empty()) return nullptr;
  return capi::from_handle(anchor)->shape.data();
}

size_t poprt_anchor_bytes(const poprt_anchor* anchor) {
  // The shape was verified, unless a size is open, so bytes() does not throw.
  return anchor && is_static(capi::from_handle(anchor)->shape) ? capi::from_handle(anchor)->bytes()
                                                               : 0;
}

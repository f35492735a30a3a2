// The interface between the compiler and libpoprt_images.so, which decodes image files. It has C
// types only; no exception and no ownership crosses it.
//
// The library is separate and loaded for the first image, so that other compilations do not load
// its dozen codec libraries.
#pragma once

#include <cstddef>
#include <cstdint>

// Increase with every change of this file.
#define POPRT_IMAGES_VERSION 1

extern "C" {

struct poprt_images_library {
  int32_t version;  // POPRT_IMAGES_VERSION; must be equal
  // Decodes an image file to RGB. When the size is known, it calls `allocate` for [height, width,
  // 3] bytes, never more than `limit`; a null result stops it. Returns 0 on success; otherwise
  // `error` contains one line without a final period. Thread-safe.
  int (*decode)(const uint8_t* data, size_t size, uint64_t limit,
                uint8_t* (*allocate)(void* context, int64_t height, int64_t width), void* context,
                char* error, size_t error_size);
};

// The only symbol that the library exports. The table has static storage.
__attribute__((visibility("default"))) const poprt_images_library* poprt_images_library_table(void);
}

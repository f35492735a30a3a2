// NumPy's .npy files, format versions 1 to 3:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <poprt/poprt.h>

#include <cstddef>
#include <string>
#include <vector>

namespace poprt::cli {

struct Array {
  poprt_dtype dtype = POPRT_DTYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // row-major, little-endian
};

// Throws Failure naming file and reason: not found, not .npy, truncated, Fortran order, big-endian,
// or a dtype that has no poprt name.
Array read_npy(const std::string& path);

// bf16 and the 8-bit floats, which NumPy lacks, are written as unsigned integers of the same width.
// Writes a temporary file and renames it.
void write_npy(const std::string& path, poprt_dtype dtype, const std::vector<int64_t>& shape,
               const void* data, size_t bytes);

}  // namespace poprt::cli

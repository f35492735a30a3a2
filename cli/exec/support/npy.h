// Reads and writes NumPy's .npy and .npz files with the C ABI's element types.
#pragma once

#include <poprt/poprt.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::cli {

struct Array {
  poprt_dtype dtype = POPRT_DTYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // row-major, little-endian
  // UTF-8 elements for POPRT_DTYPE_STRING (NumPy's "U"); `data` is then empty.
  std::vector<std::string> strings;
};

Array array_of(const Tensor& tensor);
Tensor tensor_of(Array array);
// Throws like poprt::read_npy (codecs/npy.h).
Array read_npy(const std::string& path);
// Returns the arrays of a .npz archive in its order.
std::vector<Array> read_npz(const std::string& path);

// NumPy has no bf16, no 8-bit floats and no types smaller than a byte. Files contain their bits:
// u16 for bf16, u8 for 8-bit floats, and one byte for each smaller element, s8 for signed integers
// and u8 otherwise.

// Returns `array` with type `wanted` if its type is the one that stores the bits of `wanted` in
// files, else unchanged. Throws Failure, with `what` as prefix, if an element does not fit.
Array as_stored_type(Array array, poprt_dtype wanted, const std::string& what);
// Returns dense elements as an array that write_npy can write.
Array to_npy_type(poprt_dtype dtype, const std::vector<int64_t>& shape, const void* data,
                  size_t bytes);

// Writes the complete file or none. Throws poprt::Error.
void write_npy(const std::string& path, const Array& array);
// The members are 000000.npy, 000001.npy ...
void write_npz(const std::string& path, const std::vector<Array>& arrays);

}  // namespace poprt::cli

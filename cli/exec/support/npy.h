// NumPy's .npy and .npz files as the C ABI's types name what is in them.
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
  std::vector<std::byte> data;       // row-major, little-endian
  std::vector<std::string> strings;  // UTF-8, of POPRT_DTYPE_STRING (NumPy's "U"), without data
};

Array array_of(const Tensor& tensor);
Tensor tensor_of(Array array);
// Throws as poprt::read_npy (base/npy.h).
Array read_npy(const std::string& path);
// The arrays of a .npz archive, in its order.
std::vector<Array> read_npz(const std::string& path);

// NumPy lacks bf16, the 8-bit floats and everything smaller. A file holds their bits: u16, u8, and
// for elements of less than a byte s8 (signed integers) or u8, one for each.

// `array` as `wanted` when it may be its bits, else as it is. Throws Failure, beginning with
// `what`, when an element does not fit.
Array from_bits(Array array, poprt_dtype wanted, const std::string& what);
// Dense elements as an array that write_npy can write.
Array to_bits(poprt_dtype dtype, const std::vector<int64_t>& shape, const void* data, size_t bytes);

// The file appears complete or not at all. Throws poprt::Error.
void write_npy(const std::string& path, const Array& array);
// Members are 000000.npy, 000001.npy ...
void write_npz(const std::string& path, const std::vector<Array>& arrays);

}  // namespace poprt::cli

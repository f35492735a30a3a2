// Reads NumPy's .npy files, format versions 1 to 3:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/tensor.h"

namespace poprt {

// NumPy's code of a type without its byte order, such as "f4"; empty if NumPy does not have the
// type.
std::string_view npy_code(DType dtype);

// Text ("U") is converted to UTF-8. Throws with the file name in the message: not_found or
// permission_denied if the file cannot be opened, invalid_argument if it is a folder, no regular
// file or not a .npy file, has fewer or more bytes than its shape needs, is in Fortran order, is
// big-endian or has a type without a DType, data_loss if it becomes shorter while it is read.
Tensor read_npy(const std::string& path);

// Parses a file of `size` bytes, which consecutive calls of `read(to, bytes)` supply. Messages
// begin with `path`. Throws like read_npy().
Tensor parse_npy(uint64_t size, const std::function<void(void*, size_t)>& read,
                 const std::string& path);

}  // namespace poprt

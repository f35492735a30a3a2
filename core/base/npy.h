// Reads NumPy's .npy files, format versions 1 to 3:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/tensor.h"

namespace poprt {

// NumPy's name of a type without its byte order ("f4"); empty when it has none.
std::string_view npy_code(DType dtype);

// Text ("U") becomes UTF-8. Throws naming the file: not_found or permission_denied when it cannot
// be opened, invalid_argument for what is no .npy file, Fortran order, big-endian, or of a type
// that has no name here, data_loss when it is cut off.
Tensor read_npy(const std::string& path);

// The same from `size` bytes that `read(to, bytes)` gives one after the other; messages begin with
// `path`.
Tensor parse_npy(uint64_t size, const std::function<void(void*, size_t)>& read,
                 const std::string& path);

}  // namespace poprt

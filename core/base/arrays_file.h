// Named arrays from files of Python: a pickle of a dict of NumPy arrays, as PopRT's
// --data_preprocess takes it, and .npz archives.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/tensor.h"

namespace poprt {

// By the file's contents, not its name. A pickle is read, never run: what it may name are the
// functions by which NumPy rebuilds arrays, and anything else is refused by name. Throws naming the
// path: not_found / permission_denied, invalid_argument for what is neither, or holds something
// else than arrays by name, data_loss when it is cut off.
std::map<std::string, Tensor> read_arrays(const std::string& path);

// The same of bytes; messages begin with `what`.
std::map<std::string, Tensor> parse_pickled_arrays(std::span<const std::byte> bytes,
                                                   const std::string& what);
std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, const std::string& what);

}  // namespace poprt

// Named arrays from files that Python wrote: a pickle of a dict of NumPy arrays, as PopRT's
// --data_preprocess reads it, and .npz archives.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/tensor.h"

namespace poprt {

// Reads either kind of file; its contents, not its name, determine the kind. A pickle is parsed,
// never executed: it may name only the functions with which NumPy rebuilds arrays, and any other
// name is refused. Throws with the path in the message: the errors of MappedFile::open(),
// invalid_argument if the file is of neither kind, contains anything but named arrays, makes many
// arrays from the same bytes, or has an array that is compressed, big-endian or, in an archive, in
// Fortran order or of 4 GiB or more, data_loss if it is truncated or damaged, or if arrays of an
// archive share bytes.
std::map<std::string, Tensor> read_arrays(const std::string& path);

// The same for bytes in memory; messages begin with `what`.
std::map<std::string, Tensor> parse_pickled_arrays(std::span<const std::byte> bytes,
                                                   const std::string& what);
std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, const std::string& what);

}  // namespace poprt

// Writes data blobs as NumPy .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::popef {

// Copies the data of the last tensor (feed) blob `name` of the PopEF file `path` to `npy_path`,
// through a buffer of constant size. If `executable` is not empty, the blobs of other executables
// do not count. The first dimension of a feed is its number of tensors; F8 types become uint8. The
// file is written completely or not at all. Throws FileError if there is no such blob (not_found,
// with the existing names in the message) or `npy_path` cannot be written, and the errors of
// Reader::parseFile(). The format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
void export_tensor(const std::string& path, const std::string& name, const std::string& executable,
                   const std::string& npy_path);
void export_feed(const std::string& path, const std::string& name, const std::string& executable,
                 const std::string& npy_path);

// The header before the data of a .npy file. `descr` is NumPy's type, such as "<f4".
std::string npy_head(std::string_view descr, const std::vector<int64_t>& shape);

}  // namespace poprt::popef

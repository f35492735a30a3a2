// Data blobs as NumPy .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::popef {

// Copy the data of the last tensor (feed) blob called `name` of the PopEF file `path`, of those for
// `executable` when it is not empty, to `npy_path`, through a buffer of constant size. A feed gets
// its number of tensors as first dimension; F8 types become uint8. The file appears complete or not
// at all. Throw FileError (not_found) listing the names that there are, and as Reader::parseFile().
// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
void export_tensor(const std::string& path, const std::string& name, const std::string& executable,
                   const std::string& npy_path);
void export_feed(const std::string& path, const std::string& name, const std::string& executable,
                 const std::string& npy_path);

// What stands in front of the data of a .npy file: `descr` is NumPy's, such as "<f4".
std::string npy_head(std::string_view descr, const std::vector<int64_t>& shape);

}  // namespace poprt::popef

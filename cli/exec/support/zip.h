// ZIP archives in memory for .npz files, using libzip.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace poprt::cli {

struct ZipMember {
  std::string name;
  std::vector<std::byte> data;
};

// Returns the members of `archive` in its order, including compressed ones. Throws Failure with
// `path` and the reason. Before it unpacks anything, it refuses archives whose members have more
// than 256 MiB plus 16 times the bytes of the archive.
std::vector<ZipMember> read_zip(std::span<const std::byte> archive, const std::string& path);

// Creates an uncompressed archive. Equal members give equal bytes.
std::vector<std::byte> make_zip(const std::vector<ZipMember>& members);

}  // namespace poprt::cli

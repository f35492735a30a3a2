// ZIP archives in memory, for .npz files; libzip does the work.
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

// The members of `archive` in its order, compressed ones too (at most some 1000 bytes for each of
// the archive). Throws Failure naming `path` and the reason.
std::vector<ZipMember> read_zip(std::span<const std::byte> archive, const std::string& path);

// An archive of these members, not compressed; the same members give the same bytes.
std::vector<std::byte> make_zip(const std::vector<ZipMember>& members);

}  // namespace poprt::cli

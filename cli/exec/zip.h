// ZIP archives without compression, as numpy.savez writes them:
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace poprt::cli {

struct ZipMember {
  std::string name;
  std::span<const std::byte> data;
};

// The members of `archive` in its order; they borrow its bytes. Throws Failure naming `path` and
// the reason: no archive, damaged, compressed, or of 4 GiB and more.
std::vector<ZipMember> read_zip(std::span<const std::byte> archive, const std::string& path);

// An archive of these members. Throws Failure when it would need 4 GiB.
std::vector<std::byte> make_zip(const std::vector<ZipMember>& members);

}  // namespace poprt::cli

#include "exec/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "common/abi.h"

namespace poprt::cli {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kLongestComment = 0xffff;
constexpr uint32_t kWide = 0xffffffff;  // the number stands in a ZIP64 field

uint32_t crc32(std::span<const std::byte> data) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; i++) {
      t[i] = i;
      for (int k = 0; k < 8; k++) t[i] = t[i] & 1 ? 0xedb88320u ^ t[i] >> 1 : t[i] >> 1;
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (const std::byte b : data) crc = table[(crc ^ static_cast<uint8_t>(b)) & 0xff] ^ crc >> 8;
  return ~crc;
}

uint32_t number(std::span<const std::byte> bytes, size_t at, size_t size) {
  uint32_t n = 0;
  for (size_t i = 0; i < size; i++) n |= static_cast<uint32_t>(bytes[at + i]) << 8 * i;
  return n;
}

void put(std::vector<std::byte>& to, std::initializer_list<std::pair<size_t, uint64_t>> fields) {
  for (const auto& [size, value] : fields)
    for (size_t i = 0; i < size; i++) to.push_back(static_cast<std::byte>(value >> 8 * i));
}

void put(std::vector<std::byte>& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

}  // namespace

std::vector<ZipMember> read_zip(std::span<const std::byte> archive, const std::string& path) {
  const auto bad = [&](const std::string& why) {
    return Failure(fmt::format("'{}' is no usable .npz file: {}", path, why));
  };
  const size_t size = archive.size();
  if (size < kEndBytes) throw bad("it is too short");
  size_t end = size - kEndBytes;
  const size_t first = end > kLongestComment ? end - kLongestComment : 0;
  while (end > first && number(archive, end, 4) != kEnd) end--;
  if (number(archive, end, 4) != kEnd) throw bad("the end record is missing");
  const size_t count = number(archive, end + 10, 2);
  size_t at = number(archive, end + 16, 4);
  std::vector<ZipMember> members;
  for (size_t i = 0; i < count; i++) {
    if (at > end || end - at < kCentralBytes || number(archive, at, 4) != kCentral)
      throw bad("its directory is damaged");
    const uint32_t method = number(archive, at + 10, 2), crc = number(archive, at + 16, 4);
    const uint32_t bytes = number(archive, at + 24, 4), local = number(archive, at + 42, 4);
    const size_t name = number(archive, at + 28, 2);
    const size_t rest = number(archive, at + 30, 2) + number(archive, at + 32, 2);
    if (end - at - kCentralBytes < name + rest) throw bad("its directory is damaged");
    ZipMember m;
    m.name.assign(reinterpret_cast<const char*>(archive.data() + at + kCentralBytes), name);
    if (method != 0)
      throw bad(fmt::format("member '{}' is compressed; save it with numpy.savez", m.name));
    if (bytes == kWide || local == kWide)
      throw bad(fmt::format("member '{}' has 4 GiB or more", m.name));
    if (local > size || size - local < kLocalBytes || number(archive, local, 4) != kLocal)
      throw bad(fmt::format("member '{}' is not where the directory says", m.name));
    const size_t data = size_t{local} + kLocalBytes + number(archive, local + 26, 2) +
                        number(archive, local + 28, 2);
    if (data > size || size - data < bytes)
      throw bad(fmt::format("member '{}' is truncated", m.name));
    m.data = archive.subspan(data, bytes);
    if (crc32(m.data) != crc) throw bad(fmt::format("member '{}' is damaged", m.name));
    members.push_back(std::move(m));
    at += kCentralBytes + name + rest;
  }
  return members;
}

std::vector<std::byte> make_zip(const std::vector<ZipMember>& members) {
  constexpr uint64_t kVersion = 20, kDate = 0x21;  // 1980-01-01: the same data, the same bytes
  std::vector<std::byte> out, directory;
  for (const ZipMember& m : members) {
    const uint64_t local = out.size(), crc = crc32(m.data), n = m.data.size();
    put(out, {{4, kLocal}, {2, kVersion}, {2, 0}, {2, 0}, {2, 0}, {2, kDate}});
    put(out, {{4, crc}, {4, n}, {4, n}, {2, m.name.size()}, {2, 0}});
    put(out, m.name);
    out.insert(out.end(), m.data.begin(), m.data.end());
    put(directory, {{4, kCentral}, {2, kVersion}, {2, kVersion}, {2, 0}, {2, 0}, {2, 0}});
    put(directory, {{2, kDate}, {4, crc}, {4, n}, {4, n}, {2, m.name.size()}, {2, 0}, {2, 0}});
    put(directory, {{2, 0}, {2, 0}, {4, 0}, {4, local}});
    put(directory, m.name);
  }
  const uint64_t start = out.size(), count = members.size();
  if (start + directory.size() >= kWide || count >= std::numeric_limits<uint16_t>::max())
    throw Failure("an archive of 4 GiB or more, or of 65535 tensors");
  out.insert(out.end(), directory.begin(), directory.end());
  put(out, {{4, kEnd}, {2, 0}, {2, 0}, {2, count}, {2, count}, {4, directory.size()}});
  put(out, {{4, start}, {2, 0}});
  return out;
}

}  // namespace poprt::cli

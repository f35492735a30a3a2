#include "codecs/arrays_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "codecs/npy.h"

namespace poprt {
namespace {

// Sizes and signatures of ZIP's records,
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT.
constexpr size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30;
constexpr uint32_t kEndTag = 0x06054b50, kEntryTag = 0x02014b50, kLocalTag = 0x04034b50;

class ZipBytes {
 public:
  ZipBytes(std::span<const std::byte> bytes, const std::string& what)
      : bytes_(bytes), what_(what) {}

  template <class T>
  T at(size_t place) const {
    T value;
    std::memcpy(&value, part(place, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> part(size_t place, size_t size) const {
    if (place > bytes_.size() || size > bytes_.size() - place)
      fail(ErrorCode::data_loss, "'{}' is no usable .npz file: it is cut off", what_);
    return bytes_.subspan(place, size);
  }
  std::string text(size_t place, size_t size) const {
    const auto p = part(place, size);
    return {reinterpret_cast<const char*>(p.data()), p.size()};
  }
  // The end record of the directory is followed only by a comment.
  size_t end_record() const {
    constexpr size_t kMostComment = 65535;
    for (size_t back = kEndBytes; back <= std::min(bytes_.size(), kEndBytes + kMostComment); back++)
      if (at<uint32_t>(bytes_.size() - back) == kEndTag) return bytes_.size() - back;
    fail(ErrorCode::data_loss, "'{}' is no usable .npz file: it has no directory", what_);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& what_;
};

// The parts of the file that belong to members. An archive whose members share bytes could describe
// arrays that are together much larger than the file.
class MemberRanges {
 public:
  // Returns false if the range contains bytes of another one.
  bool add(size_t begin, size_t end) {
    const auto after = ends_.lower_bound(begin);
    if (after != ends_.end() && after->first < end) return false;
    if (after != ends_.begin() && std::prev(after)->second > begin) return false;
    ends_.emplace_hint(after, begin, end);
    return true;
  }

 private:
  std::map<size_t, size_t> ends_;  // by beginning
};

Tensor parse_member(std::span<const std::byte> data, const std::string& what) {
  size_t at = 0;
  return parse_npy(
      data.size(),
      [&](void* to, size_t bytes) {
        if (bytes > data.size() - at) fail(ErrorCode::data_loss, "'{}' ended early", what);
        if (bytes) std::memcpy(to, data.data() + at, bytes);
        at += bytes;
      },
      what);
}

}  // namespace

std::map<std::string, Tensor> parse_npz(std::span<const std::byte> bytes, const std::string& what) {
  const ZipBytes zip(bytes, what);
  const size_t end = zip.end_record();
  size_t entry = zip.at<uint32_t>(end + 16);
  std::map<std::string, Tensor> arrays;
  MemberRanges members;
  for (size_t left = zip.at<uint16_t>(end + 10); left > 0; left--) {
    if (zip.at<uint32_t>(entry) != kEntryTag)
      fail(ErrorCode::data_loss, "'{}' is no usable .npz file: its directory is damaged", what);
    const size_t name_size = zip.at<uint16_t>(entry + 28);
    std::string name = zip.text(entry + kEntryBytes, name_size);
    const std::string member = what + "/" + name;
    if (zip.at<uint16_t>(entry + 10) != 0)
      fail(ErrorCode::invalid_argument, "'{}' is compressed; save it with numpy.savez", member);
    size_t size = zip.at<uint32_t>(entry + 24);
    const size_t local = zip.at<uint32_t>(entry + 42);
    if (size == 0xffffffffu || local == 0xffffffffu)
      fail(ErrorCode::invalid_argument, "'{}' is larger than 4 GiB; save it as a pickle", member);
    if (zip.at<uint32_t>(local) != kLocalTag)
      fail(ErrorCode::data_loss, "'{}' is no usable .npz file: its directory is damaged", what);
    const size_t data =
        local + kLocalBytes + zip.at<uint16_t>(local + 26) + zip.at<uint16_t>(local + 28);
    const auto bytes_of_member = zip.part(data, size);
    if (!members.add(local, data + size))
      fail(ErrorCode::data_loss,
           "'{}' is no usable .npz file: '{}' shares bytes with another array", what, name);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays[name] = parse_member(bytes_of_member, member);
    entry += kEntryBytes + name_size + zip.at<uint16_t>(entry + 30) + zip.at<uint16_t>(entry + 32);
  }
  return arrays;
}

std::map<std::string, Tensor> read_arrays(const std::string& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const bool zip = bytes.size() >= 4 && std::memcmp(bytes.data(), "PK", 2) == 0;
  if (bytes.size() >= 6 && std::memcmp(bytes.data() + 1, "NUMPY", 5) == 0)
    fail(
        ErrorCode::invalid_argument,
        "'{}' is one array without a name; expected a pickle of {{'input': array}} or an .npz file",
        path);
  return zip ? parse_npz(bytes, path) : parse_pickled_arrays(bytes, path);
}

}  // namespace poprt

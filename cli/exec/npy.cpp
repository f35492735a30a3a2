#include "exec/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/file.h"
#include "common/abi.h"
#include "exec/zip.h"
#include "popef/export_npy.h"

namespace poprt::cli {
namespace {

struct Code {
  poprt_dtype dtype;
  const char* npy;
};
constexpr Code kCodes[] = {
    {POPRT_DTYPE_F32, "f4"}, {POPRT_DTYPE_F64, "f8"},   {POPRT_DTYPE_F16, "f2"},
    {POPRT_DTYPE_S8, "i1"},  {POPRT_DTYPE_U8, "u1"},    {POPRT_DTYPE_S16, "i2"},
    {POPRT_DTYPE_U16, "u2"}, {POPRT_DTYPE_S32, "i4"},   {POPRT_DTYPE_U32, "u4"},
    {POPRT_DTYPE_S64, "i8"}, {POPRT_DTYPE_U64, "u8"},   {POPRT_DTYPE_BOOL, "b1"},
    {POPRT_DTYPE_C64, "c8"}, {POPRT_DTYPE_C128, "c16"},
};

// The type whose elements hold the bits of a type that NumPy lacks; else that type.
poprt_dtype carrier(poprt_dtype dtype) {
  for (const Code& c : kCodes)
    if (c.dtype == dtype) return dtype;
  if (dtype == POPRT_DTYPE_S4 || dtype == POPRT_DTYPE_S2) return POPRT_DTYPE_S8;
  return poprt_dtype_bits(dtype) == 16 ? POPRT_DTYPE_U16 : POPRT_DTYPE_U8;
}

FILE* fdopen_or_null(int fd) { return fd < 0 ? nullptr : ::fdopen(fd, "rb"); }
int fclose_or_nothing(FILE* file) { return file ? std::fclose(file) : 0; }

// What stands behind 'KEY': in the header, up to a comma or brace outside of parentheses.
std::string_view entry(std::string_view header, std::string_view key) {
  size_t at = header.find(fmt::format("'{}'", key));
  if (at == header.npos) return {};
  at = header.find_first_not_of(' ', at + key.size() + 2);
  if (at == header.npos || header[at] != ':') return {};
  at = header.find_first_not_of(' ', at + 1);
  if (at == header.npos) return {};
  size_t end = header[at] == '(' ? header.find(')', at) : header.find_first_of(",}", at);
  if (end == header.npos) return {};
  end += header[at] == '(';
  while (end > at && header[end - 1] == ' ') end--;
  return header.substr(at, end - at);
}

// NumPy's "U": elements of `width` UTF-32 characters, filled up with zeros. What is no character
// becomes U+FFFD.
std::vector<std::string> text_of(std::span<const std::byte> data, size_t width) {
  std::vector<std::string> out;
  const size_t bytes = width * sizeof(char32_t);
  if (bytes == 0) return out;
  for (size_t at = 0; at + bytes <= data.size(); at += bytes) {
    std::u32string s(width, U'\0');
    std::memcpy(s.data(), data.data() + at, bytes);
    while (!s.empty() && s.back() == U'\0') s.pop_back();
    std::string& to = out.emplace_back();
    for (char32_t c : s) {
      if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = U'\ufffd';  // no character
      const auto tail = [&](int shift) { to += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
      if (c < 0x80) {
        to += static_cast<char>(c);
      } else if (c < 0x800) {
        to += static_cast<char>(0xc0 | c >> 6);
        tail(0);
      } else if (c < 0x10000) {
        to += static_cast<char>(0xe0 | c >> 12);
        tail(6);
        tail(0);
      } else {
        to += static_cast<char>(0xf0 | (c >> 18 & 7));
        tail(12);
        tail(6);
        tail(0);
      }
    }
  }
  return out;
}

// Bytes that are no UTF-8 become U+FFFD.
std::u32string utf32_of(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
    const uint8_t head = byte(i);
    const size_t more = head < 0x80 ? 0 : head >> 5 == 6 ? 1 : head >> 4 == 14 ? 2 : 3;
    char32_t c = more == 0 ? head : head & (0x3f >> more);
    bool good = head < 0x80 || (head >= 0xc2 && head < 0xf5);
    for (size_t k = 1; good && k <= more; k++) {
      good = i + k < text.size() && byte(i + k) >> 6 == 2;
      if (good) c = c << 6 | (byte(i + k) & 0x3f);
    }
    out += good ? c : U'\ufffd';
    i += good ? more + 1 : 1;
  }
  return out;
}

// Takes a .npy file of `size` bytes from `read(to, bytes)`.
template <class Read>
Array parse_npy(uint64_t size, const Read& read, const std::string& path) {
  const auto bad = [&](const std::string& why) {
    return Failure(fmt::format("'{}' is no usable .npy file: {}", path, why));
  };
  unsigned char head[12] = {};
  if (size >= 10) read(head, 10);
  if (std::memcmp(head, "\x93NUMPY", 6) != 0) throw bad("the magic bytes are missing");
  const bool wide = head[6] >= 2;
  if (head[6] < 1 || head[6] > 3 || (wide && size < 12))
    throw bad(fmt::format("unknown format version {}", head[6]));
  if (wide) read(head + 10, 2);
  const size_t start = wide ? 12 : 10;
  const size_t length =
      head[8] | size_t{head[9]} << 8 | size_t{head[10]} << 16 | size_t{head[11]} << 24;
  if (length > size - start) throw bad("the header is truncated");
  constexpr size_t kLongest = 1 << 16;
  if (length > kLongest) throw bad(fmt::format("a header of {} bytes", length));
  std::string header(length, ' ');
  read(header.data(), length);

  std::string_view descr = entry(header, "descr");
  if (descr.size() < 4 || descr.front() != '\'' || descr.back() != '\'')
    throw bad("no simple 'descr'");
  descr = descr.substr(1, descr.size() - 2);
  const char order = descr[0];
  if (order == '<' || order == '|' || order == '>' || order == '=') descr.remove_prefix(1);
  if (order == '>') throw bad("it is big-endian; save it with .astype(a.dtype.newbyteorder('<'))");
  Array array;
  for (const Code& c : kCodes)
    if (descr == c.npy) array.dtype = c.dtype;
  uint64_t width = 0;  // characters of a text element
  if (descr[0] == 'U' && descr.size() <= 9 &&
      descr.find_first_not_of("0123456789", 1) == descr.npos) {
    width = std::strtoull(std::string(descr.substr(1)).c_str(), nullptr, 10);
    array.dtype = POPRT_DTYPE_STRING;
  }
  if (array.dtype == POPRT_DTYPE_UNDEFINED)
    throw bad(fmt::format("dtype '{}' is not supported", descr));
  if (entry(header, "fortran_order") != "False")
    throw bad("it is in Fortran order; save numpy.ascontiguousarray(a)");
  const std::string dims(entry(header, "shape"));
  if (dims.size() < 2 || dims.find_first_not_of("(), 0123456789") != dims.npos)
    throw bad("no 'shape'");
  uint64_t count = 1;
  for (const char* p = dims.c_str(); *p;) {
    char* end = nullptr;
    const auto d = std::strtoll(p, &end, 10);
    if (end == p) {
      p++;
      continue;
    }
    array.shape.push_back(d);
    if (array.shape.size() > 64) throw bad("more than 64 dimensions");
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(d), &count))
      throw bad("the shape overflows");
    p = end;
  }
  uint64_t need = 0;
  const bool text = array.dtype == POPRT_DTYPE_STRING;
  const uint64_t element =
      text ? width * sizeof(char32_t) : static_cast<uint64_t>(poprt_dtype_bits(array.dtype) / 8);
  if (__builtin_mul_overflow(count, element, &need)) throw bad("the shape overflows");
  const uint64_t have = size - start - length;
  if (have != need)
    throw bad(fmt::format("its shape needs {} bytes of data, found {}", need, have));
  array.data.resize(need);
  read(array.data.data(), need);
  if (text) {
    if (width == 0 && count > 0) throw bad("its text elements have no size");
    array.strings = text_of(array.data, width);
    array.data.clear();
  }
  return array;
}

}  // namespace

Array read_npy(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const std::unique_ptr<FILE, int (*)(FILE*)> file(
      fdopen_or_null(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), fclose_or_nothing);
  if (!file) throw Failure(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  struct stat info{};
  if (::fstat(fileno(file.get()), &info) != 0 || S_ISDIR(info.st_mode))
    throw Failure(fmt::format("cannot read '{}': it is a folder", path));
  if (!S_ISREG(info.st_mode))
    throw Failure(fmt::format("cannot read '{}': it is no regular file", path));
  const auto size = static_cast<uint64_t>(info.st_size);
  const auto read = [&](void* to, size_t bytes) {
    if (std::fread(to, 1, bytes, file.get()) != bytes)
      throw Failure(fmt::format("cannot read '{}': it ended early", path));
  };
  return parse_npy(size, read, path);
}

std::vector<Array> read_npz(const std::string& path) {
  const auto file = MappedFile::open(path);
  std::vector<Array> arrays;
  for (const ZipMember& m : read_zip(file->bytes(), path)) {
    const std::string what = path + "/" + m.name;
    size_t at = 0;
    const auto read = [&](void* to, size_t bytes) {
      if (bytes > m.data.size() - at)
        throw Failure(fmt::format("cannot read '{}': it ended early", what));
      if (bytes) std::memcpy(to, m.data.data() + at, bytes);
      at += bytes;
    };
    arrays.push_back(parse_npy(m.data.size(), read, what));
  }
  return arrays;
}

Array from_bits(Array array, poprt_dtype wanted, const std::string& what) {
  const int bits = poprt_dtype_bits(wanted);
  if (array.dtype == wanted || bits == 0 || array.dtype != carrier(wanted)) return array;
  array.dtype = wanted;
  if (bits >= 8) return array;
  const bool is_signed = carrier(wanted) == POPRT_DTYPE_S8;
  const int low = is_signed ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  std::vector<std::byte> packed((array.data.size() + per_byte - 1) / per_byte);
  for (size_t i = 0; i < array.data.size(); i++) {
    const auto byte = static_cast<uint8_t>(array.data[i]);
    const int value = is_signed ? static_cast<int8_t>(byte) : byte;
    if (value < low || value > high)
      throw Failure(fmt::format("{}: element {} is {}, {} holds {} to {}", what, i, value,
                                poprt_dtype_name(wanted), low, high));
    const int code = value & ((1 << bits) - 1);
    packed[i / per_byte] |=
        static_cast<std::byte>(code << (i % per_byte * static_cast<size_t>(bits)));
  }
  array.data = std::move(packed);
  return array;
}

Array to_bits(poprt_dtype dtype, const std::vector<int64_t>& shape, const void* data,
              size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  Array array{carrier(dtype), shape, {}};
  const int bits = poprt_dtype_bits(dtype);
  if (bits >= 8) {
    array.data.assign(from, from + bytes);
    return array;
  }
  size_t count = 1;
  for (const int64_t d : shape) count *= static_cast<size_t>(d);
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  for (size_t i = 0; i < count; i++) {
    const int shift = static_cast<int>(i % per_byte) * bits;
    int code = static_cast<int>(from[i / per_byte]) >> shift & ((1 << bits) - 1);
    if (array.dtype == POPRT_DTYPE_S8 && code >> (bits - 1)) code -= 1 << bits;
    array.data.push_back(static_cast<std::byte>(code));
  }
  return array;
}

std::vector<std::byte> npy_of(const Array& array) {
  std::string code;
  for (const Code& c : kCodes)
    if (c.dtype == array.dtype)
      code = (c.npy[1] == '1' && !c.npy[2] ? "|" : "<") + std::string(c.npy);
  std::vector<std::byte> text;
  if (array.dtype == POPRT_DTYPE_STRING) {
    std::vector<std::u32string> elements;
    size_t width = 1;
    for (const std::string& s : array.strings)
      width = std::max(width, elements.emplace_back(utf32_of(s)).size());
    code = fmt::format("<U{}", width);
    text.resize(array.strings.size() * width * sizeof(char32_t));
    for (size_t i = 0; i < elements.size(); i++)
      if (!elements[i].empty())
        std::memcpy(text.data() + i * width * sizeof(char32_t), elements[i].data(),
                    elements[i].size() * sizeof(char32_t));
  }
  const std::string head = popef::npy_head(code, array.shape);
  const auto bytes = std::as_bytes(std::span(head));
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  const auto& data = array.dtype == POPRT_DTYPE_STRING ? text : array.data;
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

void write_npy(const std::string& path, const Array& array) {
  AtomicFile file(path);
  file.write(npy_of(array));
  file.commit();
}

void write_npz(const std::string& path, const std::vector<Array>& arrays) {
  std::vector<ZipMember> members;
  for (const Array& a : arrays)
    members.push_back({fmt::format("{:06}.npy", members.size()), npy_of(a)});
  AtomicFile file(path);
  file.write(make_zip(members));
  file.commit();
}

}  // namespace poprt::cli

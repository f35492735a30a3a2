#include "codecs/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"

namespace poprt {
namespace {

struct Code {
  DType dtype;
  std::string_view npy;
};
constexpr Code kCodes[] = {
    {DType::f32, "f4"}, {DType::f64, "f8"},   {DType::f16, "f2"}, {DType::s8, "i1"},
    {DType::u8, "u1"},  {DType::s16, "i2"},   {DType::u16, "u2"}, {DType::s32, "i4"},
    {DType::u32, "u4"}, {DType::s64, "i8"},   {DType::u64, "u8"}, {DType::boolean, "b1"},
    {DType::c64, "c8"}, {DType::c128, "c16"},
};

FILE* fdopen_or_null(int fd) { return fd < 0 ? nullptr : ::fdopen(fd, "rb"); }
int fclose_or_nothing(FILE* file) { return file ? std::fclose(file) : 0; }

// The value of 'KEY' in the header, up to a comma or brace outside of parentheses.
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

// The keys of the dictionary, in their order; nested ones are left out.
std::vector<std::string_view> header_keys(std::string_view header) {
  std::vector<std::string_view> keys;
  int depth = 0;
  for (size_t at = 0; at < header.size(); at++) {
    const char c = header[at];
    if (c == '{' || c == '(' || c == '[') depth++;
    if (c == '}' || c == ')' || c == ']') depth--;
    if (c != '\'' && c != '"') continue;
    const size_t end = header.find(c, at + 1);
    if (end == header.npos) return keys;
    const size_t next = header.find_first_not_of(' ', end + 1);
    if (depth == 1 && next != header.npos && header[next] == ':')
      keys.push_back(header.substr(at + 1, end - at - 1));
    at = end;
  }
  return keys;
}

// NumPy's "U": elements of `width` UTF-32 characters, padded with zeros. Invalid characters become
// U+FFFD.
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
      if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = U'\ufffd';  // not a character
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

// The description of the data that follows the header.
struct Header {
  DType dtype = DType::undefined;
  uint64_t width = 0;  // characters of a text element
  Shape shape;
  uint64_t count = 1, bytes = 0;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  fail(ErrorCode::invalid_argument, "'{}' is no usable .npy file: {}", path, why);
}

// Refuses unknown and repeated keys, as NumPy does. A missing key is refused where its value is
// needed.
void check_keys(std::string_view header, const std::string& path) {
  std::vector<std::string_view> left = {"descr", "fortran_order", "shape"};
  for (const std::string_view key : header_keys(header)) {
    const auto known = std::ranges::find(left, key);
    if (known == left.end())
      refuse(path, fmt::format("key '{}' of its header is unknown or repeated", key));
    left.erase(known);
  }
}

void read_type(std::string_view descr, Header& h, const std::string& path) {
  if (descr.size() < 4 || descr.front() != '\'' || descr.back() != '\'')
    refuse(path, "no simple 'descr'");
  descr = descr.substr(1, descr.size() - 2);
  const char order = descr[0];
  if (order == '<' || order == '|' || order == '>' || order == '=') descr.remove_prefix(1);
  if (order == '>')
    refuse(path, "it is big-endian; save it with .astype(a.dtype.newbyteorder('<'))");
  for (const Code& c : kCodes)
    if (descr == c.npy) h.dtype = c.dtype;
  constexpr size_t kMostDigits = 8;
  if (!descr.empty() && descr[0] == 'U' && descr.size() <= 1 + kMostDigits &&
      descr.find_first_not_of("0123456789", 1) == descr.npos) {
    h.width = std::strtoull(std::string(descr.substr(1)).c_str(), nullptr, 10);
    h.dtype = DType::string;
  }
  if (h.dtype == DType::undefined) refuse(path, fmt::format("dtype '{}' is not supported", descr));
}

void read_shape(const std::string& dims, Header& h, const std::string& path) {
  if (dims.size() < 2 || dims.find_first_not_of("(), 0123456789") != dims.npos)
    refuse(path, "no 'shape'");
  constexpr size_t kMostDimensions = 64;
  for (const char* p = dims.c_str(); *p;) {
    char* end = nullptr;
    const int64_t d = std::strtoll(p, &end, 10);
    if (end == p) {
      p++;
      continue;
    }
    h.shape.push_back(d);
    if (h.shape.size() > kMostDimensions) refuse(path, "more than 64 dimensions");
    if (__builtin_mul_overflow(h.count, static_cast<uint64_t>(d), &h.count))
      refuse(path, "the shape overflows");
    p = end;
  }
  const uint64_t element = h.dtype == DType::string
                               ? h.width * sizeof(char32_t)
                               : static_cast<uint64_t>(dtype_bits(h.dtype)) / 8;
  if (__builtin_mul_overflow(h.count, element, &h.bytes)) refuse(path, "the shape overflows");
}

}  // namespace

std::string_view npy_code(DType dtype) {
  for (const Code& c : kCodes)
    if (c.dtype == dtype) return c.npy;
  return {};
}

Tensor parse_npy(uint64_t size, const std::function<void(void*, size_t)>& read,
                 const std::string& path) {
  unsigned char head[12] = {};
  if (size >= 10) read(head, 10);
  if (std::memcmp(head, "\x93NUMPY", 6) != 0) refuse(path, "the magic bytes are missing");
  const bool wide = head[6] >= 2;
  if (head[6] < 1 || head[6] > 3 || (wide && size < 12))
    refuse(path, fmt::format("unknown format version {}", head[6]));
  if (wide) read(head + 10, 2);
  const size_t start = wide ? 12 : 10;
  const size_t length =
      head[8] | size_t{head[9]} << 8 | size_t{head[10]} << 16 | size_t{head[11]} << 24;
  if (length > size - start) refuse(path, "the header is truncated");
  constexpr size_t kLongest = 1 << 16;
  if (length > kLongest) refuse(path, fmt::format("a header of {} bytes", length));
  std::string header(length, ' ');
  read(header.data(), length);

  check_keys(header, path);
  Header h;
  read_type(entry(header, "descr"), h, path);
  if (entry(header, "fortran_order") != "False")
    refuse(path, "it is in Fortran order; save numpy.ascontiguousarray(a)");
  read_shape(std::string(entry(header, "shape")), h, path);
  const uint64_t have = size - start - length;
  if (have != h.bytes)
    refuse(path, fmt::format("its shape needs {} bytes of data, found {}", h.bytes, have));
  if (h.dtype != DType::string) {
    Tensor t = Tensor::zeros(h.dtype, h.shape);
    if (h.bytes) read(t.mutable_data(), h.bytes);
    return t;
  }
  std::vector<std::byte> data(h.bytes);
  read(data.data(), h.bytes);
  if (h.width == 0 && h.count > 0) refuse(path, "its text elements have no size");
  return Tensor::strings(h.shape, text_of(data, h.width));
}

Tensor read_npy(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const std::unique_ptr<FILE, int (*)(FILE*)> file(
      fdopen_or_null(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), fclose_or_nothing);
  if (!file)
    fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied,
         "cannot read '{}': {}", path, std::strerror(errno));
  struct stat info{};
  if (::fstat(fileno(file.get()), &info) != 0 || S_ISDIR(info.st_mode))
    fail(ErrorCode::invalid_argument, "cannot read '{}': it is a folder", path);
  if (!S_ISREG(info.st_mode))
    fail(ErrorCode::invalid_argument, "cannot read '{}': it is no regular file", path);
  const auto read = [&](void* to, size_t bytes) {
    if (std::fread(to, 1, bytes, file.get()) != bytes)
      fail(ErrorCode::data_loss, "cannot read '{}': it ended early", path);
  };
  return parse_npy(static_cast<uint64_t>(info.st_size), read, path);
}

}  // namespace poprt

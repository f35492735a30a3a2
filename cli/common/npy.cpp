#include "common/npy.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>

#include "common/abi.h"

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

}  // namespace

Array read_npy(const std::string& path) {
  std::error_code folder;
  if (std::filesystem::is_directory(path, folder))
    throw Failure(fmt::format("cannot read '{}': it is a folder", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  const auto bad = [&](const std::string& why) {
    return Failure(fmt::format("'{}' is no usable .npy file: {}", path, why));
  };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    throw bad("the magic bytes are missing");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const bool wide = bytes[6] >= 2;
  if (bytes[6] < 1 || bytes[6] > 3 || (wide && bytes.size() < 12))
    throw bad(fmt::format("unknown format version {}", byte(6)));
  const size_t start = wide ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > bytes.size() - start) throw bad("the header is truncated");
  const std::string header(bytes.data() + start, length);

  std::smatch m;
  if (!std::regex_search(header, m, std::regex("'descr':\\s*'([<|>=]?)([a-z][0-9]+)'")))
    throw bad("no simple 'descr'");
  const std::string order = m[1], code = m[2];
  if (order == ">") throw bad("it is big-endian; save it with .astype(a.dtype.newbyteorder('<'))");
  Array array;
  for (const Code& c : kCodes)
    if (code == c.npy) array.dtype = c.dtype;
  if (array.dtype == POPRT_DTYPE_UNDEFINED)
    throw bad(fmt::format("dtype '{}' is not supported", code));
  if (!std::regex_search(header, std::regex("'fortran_order':\\s*False")))
    throw bad("it is in Fortran order; save numpy.ascontiguousarray(a)");
  if (!std::regex_search(header, m, std::regex("'shape':\\s*\\(([0-9, ]*)\\)")))
    throw bad("no 'shape'");
  uint64_t count = 1;
  const std::string dims = m[1];
  for (const char* p = dims.c_str(); *p;) {
    char* end = nullptr;
    const auto d = std::strtoll(p, &end, 10);
    if (end == p) {
      p++;
      continue;
    }
    array.shape.push_back(d);
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(d), &count))
      throw bad("the shape overflows");
    p = end;
  }
  uint64_t need = 0;
  if (__builtin_mul_overflow(count, static_cast<uint64_t>(poprt_dtype_bits(array.dtype) / 8),
                             &need))
    throw bad("the shape overflows");
  const size_t have = bytes.size() - start - length;
  if (have != need)
    throw bad(fmt::format("its shape needs {} bytes of data, found {}", need, have));
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data() + start + length);
  array.data.assign(data, data + need);
  return array;
}

void write_npy(const std::string& path, poprt_dtype dtype, const std::vector<int64_t>& shape,
               const void* data, size_t bytes) {
  std::string code;
  for (const Code& c : kCodes)
    if (c.dtype == dtype) code = c.npy;
  if (code.empty()) code = poprt_dtype_bits(dtype) == 16 ? "u2" : "u1";
  std::string dims;
  for (const int64_t d : shape) dims += fmt::format("{},", d);
  if (shape.size() > 1) dims.pop_back();
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   code.back() == '1' ? '|' : '<', code, dims);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string head = "\x93NUMPY";
  head += '\x01';
  head += '\0';
  head += static_cast<char>(header.size() & 255);
  head += static_cast<char>(header.size() >> 8);
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  if (!file) throw Failure(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  file << head << header;
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  std::error_code error;
  if (!file) {
    std::filesystem::remove(temporary, error);
    throw Failure(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  }
  std::filesystem::rename(temporary, path, error);
  if (error) {
    const std::string why = error.message();
    std::filesystem::remove(temporary, error);
    throw Failure(fmt::format("cannot write '{}': {}", path, why));
  }
}

}  // namespace poprt::cli

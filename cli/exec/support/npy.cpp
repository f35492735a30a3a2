#include "exec/support/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "base/file.h"
#include "codecs/npy.h"
#include "common/abi.h"
#include "common/utf8.h"
#include "exec/support/zip.h"
#include "popef/export_npy.h"

namespace poprt::cli {
namespace {

// Returns the NumPy type that stores the bits of a type that NumPy does not have; else the type
// itself.
poprt_dtype storage_dtype(poprt_dtype dtype) {
  if (!npy_code(static_cast<DType>(dtype)).empty()) return dtype;
  if (dtype == POPRT_DTYPE_S4 || dtype == POPRT_DTYPE_S2) return POPRT_DTYPE_S8;
  return poprt_dtype_bits(dtype) == 16 ? POPRT_DTYPE_U16 : POPRT_DTYPE_U8;
}

// Bytes that do not form a character become U+FFFD, because NumPy does not load a text with an
// invalid code point.
std::u32string utf32_of(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const Character c = first_character(text).value_or(Character{U'\ufffd', 1});
    out += c.code;
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

Array array_of(const Tensor& t) {
  Array a{static_cast<poprt_dtype>(t.dtype()), t.shape(), {}, {}};
  if (t.dtype() == DType::string) {
    a.strings = t.string_values();
    return a;
  }
  const auto* p = static_cast<const std::byte*>(t.data());
  a.data.assign(p, p + t.bytes());
  return a;
}

Tensor tensor_of(Array a) {
  if (a.dtype == POPRT_DTYPE_STRING) return Tensor::strings(a.shape, std::move(a.strings));
  Tensor t = Tensor::zeros(static_cast<DType>(a.dtype), a.shape);
  if (!a.data.empty()) std::memcpy(t.mutable_data(), a.data.data(), a.data.size());
  return t;
}

Array read_npy(const std::string& path) { return array_of(poprt::read_npy(path)); }

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
    arrays.push_back(array_of(parse_npy(m.data.size(), read, what)));
  }
  return arrays;
}

Array as_stored_type(Array array, poprt_dtype wanted, const std::string& what) {
  const int bits = poprt_dtype_bits(wanted);
  if (array.dtype == wanted || bits == 0 || array.dtype != storage_dtype(wanted)) return array;
  array.dtype = wanted;
  if (bits >= 8) return array;
  const bool is_signed = storage_dtype(wanted) == POPRT_DTYPE_S8;
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

Array to_npy_type(poprt_dtype dtype, const std::vector<int64_t>& shape, const void* data,
                  size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  Array array{storage_dtype(dtype), shape, {}};
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
  std::string code(npy_code(static_cast<DType>(array.dtype)));
  code = (code.ends_with("1") ? "|" : "<") + code;
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

#include "ir/text_element.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_odd.h"
#include "base/half.h"
#include "base/quarter.h"

namespace poprt::ir {
namespace {

uint64_t mask_of(DType dtype) {
  const int bits = dtype_bits(dtype);
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// The value of a float element. f64 represents the values of all other types exactly.
double float_value(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::f64: return std::bit_cast<double>(bits);
    case DType::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::f16: return to_float(f16_t{static_cast<uint16_t>(bits)});
    case DType::bf16: return to_float(bf16_t{static_cast<uint16_t>(bits)});
    default: return quarter_to_float(dtype, static_cast<uint8_t>(bits));
  }
}

uint64_t float_bits(DType dtype, float value) {
  switch (dtype) {
    case DType::f32: return std::bit_cast<uint32_t>(value);
    case DType::f16: return to_f16(value).bits;
    case DType::bf16: return to_bf16(value).bits;
    default: return float_to_quarter(dtype, value, false);
  }
}

uint64_t standard_nan(DType dtype) {
  if (dtype == DType::f64) return std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return float_bits(dtype, std::numeric_limits<float>::quiet_NaN());
}

template <class T>
std::optional<T> number(std::string_view token, int base = 10) {
  T value{};
  const char* end = token.data() + token.size();
  std::from_chars_result r{};
  if constexpr (std::is_floating_point_v<T>)
    r = std::from_chars(token.data(), end, value);
  else
    r = std::from_chars(token.data(), end, value, base);
  if (r.ec != std::errc() || r.ptr != end) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_float(DType dtype, std::string_view token) {
  constexpr std::string_view kNan = "nan:0x";
  if (token == "nan") {
    const uint64_t bits = standard_nan(dtype);
    return std::isnan(float_value(dtype, bits)) ? std::optional(bits) : std::nullopt;
  }
  if (token.starts_with(kNan)) {
    const auto bits = number<uint64_t>(token.substr(kNan.size()), 16);
    if (!bits || *bits > mask_of(dtype) || !std::isnan(float_value(dtype, *bits)))
      return std::nullopt;
    return bits;
  }
  // from_chars also accepts "infinity" and "nan(...)"; the text form has one spelling only.
  const std::string_view digits = token.starts_with('-') ? token.substr(1) : token;
  if (digits != "inf" &&
      (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos))
    return std::nullopt;
  if (dtype == DType::f64) {
    const auto v = number<double>(token);
    return v ? std::optional(std::bit_cast<uint64_t>(*v)) : std::nullopt;
  }
  const auto v = number<float>(token);
  if (!v) return std::nullopt;
  // A number is rounded to a narrow format only once, from the double. f8e8m0 is defined from the
  // nearest float: it rounds up, so the odd neighbour of a power of two would become the next
  // power.
  const bool from_nearest = dtype == DType::f32 || dtype == DType::f8e8m0;
  const auto wide = number<double>(token);
  const uint64_t bits = float_bits(dtype, from_nearest || !wide ? *v : to_float_odd(*wide));
  // Refuses overflow of a narrow format, and infinity in a format without it.
  if (std::isfinite(*v) != std::isfinite(float_value(dtype, bits)) ||
      (std::isinf(*v) && !std::isinf(float_value(dtype, bits))))
    return std::nullopt;
  return bits;
}

bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i++]);
    const int more = c < 0x80                ? 0
                     : c >= 0xc2 && c < 0xe0 ? 1
                     : (c & 0xf0) == 0xe0    ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : -1;
    if (more < 0) return false;
    for (int k = 0; k < more; k++, i++)
      if (i >= s.size() || (static_cast<unsigned char>(s[i]) & 0xc0) != 0x80) return false;
  }
  return true;
}

}  // namespace

bool has_element_text(DType dtype) {
  return is_float(dtype) || is_integer(dtype) || dtype == DType::boolean;
}

uint64_t load_element(DType dtype, const void* data, int64_t i) {
  const auto bits = static_cast<uint64_t>(dtype_bits(dtype));
  const uint64_t at = static_cast<uint64_t>(i) * bits;
  uint64_t v = 0;
  std::memcpy(&v, static_cast<const uint8_t*>(data) + at / 8, bits < 8 ? 1 : bits / 8);
  return (v >> (at % 8)) & mask_of(dtype);
}

void store_element(DType dtype, void* data, int64_t i, uint64_t value) {
  const auto bits = static_cast<uint64_t>(dtype_bits(dtype));
  const uint64_t at = static_cast<uint64_t>(i) * bits;
  uint8_t* p = static_cast<uint8_t*>(data) + at / 8;
  if (bits < 8)
    *p = static_cast<uint8_t>(*p | ((value & mask_of(dtype)) << (at % 8)));
  else
    std::memcpy(p, &value, bits / 8);
}

std::string element_text(DType dtype, uint64_t bits) {
  if (dtype == DType::boolean) return bits ? "true" : "false";
  if (is_integer(dtype)) {
    if (!is_signed(dtype)) return fmt::format("{}", bits);
    const int shift = 64 - dtype_bits(dtype);
    return fmt::format("{}", static_cast<int64_t>(bits << shift) >> shift);
  }
  const double v = float_value(dtype, bits);
  if (std::isnan(v)) return bits == standard_nan(dtype) ? "nan" : fmt::format("nan:{:#x}", bits);
  // A value of a narrow format prints as the shortest decimal that identifies it among the floats.
  // It parses back to the same bits, although a shorter decimal may identify it within its format.
  std::string s =
      dtype == DType::f64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
  if (s.find_first_of(".ei") == std::string::npos) s += ".0";
  return s;
}

std::optional<uint64_t> parse_element(DType dtype, std::string_view token) {
  if (dtype == DType::boolean) {
    if (token == "true") return 1;
    if (token == "false") return 0;
    return std::nullopt;
  }
  if (is_float(dtype)) return parse_float(dtype, token);
  if (!is_integer(dtype)) return std::nullopt;
  if (!is_signed(dtype)) {
    const auto v = number<uint64_t>(token);
    return v && *v <= mask_of(dtype) ? v : std::nullopt;
  }
  const auto v = number<int64_t>(token);
  const int shift = 64 - dtype_bits(dtype);
  if (!v || *v < std::numeric_limits<int64_t>::min() >> shift ||
      *v > std::numeric_limits<int64_t>::max() >> shift)
    return std::nullopt;
  return static_cast<uint64_t>(*v) & mask_of(dtype);
}

std::string quoted(std::string_view s) {
  const bool readable = is_utf8(s);
  std::string out = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (u < 0x20 || u == 0x7f || (u >= 0x80 && !readable))
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  return out + '"';
}

bool is_identifier(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (const char c : s)
    if (!is_name_char(c) || c == '.' || c == '/' || c == '-') return false;
  return true;
}

bool is_plain_name(std::string_view s) {
  for (const char c : s)
    if (!is_name_char(c)) return false;
  return !s.empty();
}

}  // namespace poprt::ir

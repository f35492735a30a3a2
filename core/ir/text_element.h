// Tensor elements, strings and names of the text form, for the printer and the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/tensor.h"

namespace poprt::ir {

// Whether elements of the type have a text form; false for undefined, string and complex types.
bool has_element_text(DType dtype);

// load_element returns the bits of element `i` of dense data in its low bits. store_element writes
// them; the destination bits must be zero.
uint64_t load_element(DType dtype, const void* data, int64_t i);
void store_element(DType dtype, void* data, int64_t i, uint64_t bits);

// For example "1.5", "-inf", "nan:0x7e01", "-3" or "true".
std::string element_text(DType dtype, uint64_t bits);

// The inverse of element_text. Floats may have any decimal form and are rounded to the nearest
// value once; f8e8m0 is computed from the nearest f32. Returns nullopt if the token is not an
// element of the type or is out of range.
std::optional<uint64_t> parse_element(DType dtype, std::string_view token);

// Adds quotes and escapes. UTF-8 stays readable.
std::string quoted(std::string_view s);

// Letters, digits and _, not starting with a digit: printed without quotes if one word is expected.
bool is_identifier(std::string_view s);
// Letters, digits and _ . / -: a value name that needs no quotes.
bool is_plain_name(std::string_view s);
inline bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-';
}

}  // namespace poprt::ir

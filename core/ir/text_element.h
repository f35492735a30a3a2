// Tensor elements, strings and names of the text form: what printer and parser share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/tensor.h"

namespace poprt::ir {

// True when one element has a spelling (not for undefined, string and complex types).
bool has_element_text(DType dtype);

// The bits of element `i` of dense data, in the low bits of the result, and the reverse (the
// destination bits must be zero).
uint64_t load_element(DType dtype, const void* data, int64_t i);
void store_element(DType dtype, void* data, int64_t i, uint64_t bits);

// "1.5", "-inf", "nan:0x7e01", "-3", "true" ...
std::string element_text(DType dtype, uint64_t bits);

// The reverse. Floats take any decimal spelling and round to nearest; absent when the token is no
// element of that type or out of its range.
std::optional<uint64_t> parse_element(DType dtype, std::string_view token);

// With quotes and escapes; UTF-8 stays readable.
std::string quoted(std::string_view s);

// Letters, digits and _, not starting with a digit: written without quotes where one word is due.
bool is_identifier(std::string_view s);
// Letters, digits and _ . / -: a value name that needs no quotes.
bool is_plain_name(std::string_view s);
inline bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-';
}

}  // namespace poprt::ir

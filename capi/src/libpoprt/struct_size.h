// Structs of the C ABI grow at their end. struct_size is the size that the caller was compiled
// with; these functions copy the fields that the caller and this library both have (capi/ABI.md).
#pragma once

#include <algorithm>
#include <cstring>

#include "guard.h"

namespace poprt::capi {

// Checks a caller's struct_size. Throws invalid_argument.
inline void check_struct_size(size_t size, const char* type) {
  if (size < sizeof(size_t))
    fail(ErrorCode::invalid_argument, "{}: struct_size is {}, set it to sizeof({})", type, size,
         type);
}

// Reads those fields of an option struct of any version that this library knows, and ignores
// others. Fields that the caller does not know are zero. Throws invalid_argument if struct_size is
// too small.
template <class T>
T known_options(const T* given, const char* type) {
  check_struct_size(given->struct_size, type);
  T options{};
  std::memcpy(&options, given, std::min(given->struct_size, sizeof(T)));
  return options;
}

// Reads an option struct of any version. Fields that the caller does not know are zero. Fields that
// this library does not know must be zero. Null means all defaults. Throws invalid_argument.
template <class T>
T read_options(const T* given, const char* type) {
  if (!given) return {};
  const T options = known_options(given, type);
  const size_t size = given->struct_size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < size; i++)
    if (bytes[i])
      fail(ErrorCode::invalid_argument,
           "{}: a field past byte {} is set, which this version ({}) does not have", type,
           sizeof(T), POPRT_VERSION);
  return options;
}

// Reserved fields may get a meaning later, so they must be zero until then.
inline void check_reserved(int32_t value, const char* type) {
  if (value)
    fail(ErrorCode::invalid_argument, "{}: a reserved field is {}, must be 0", type, value);
}

// Fills the part of a struct that the caller knows. Fields that this library does not know are
// zero.
template <class T>
void write_struct(T* out, T values, const char* name, const char* type) {
  values.struct_size = required(out, name).struct_size;
  check_struct_size(values.struct_size, type);
  if (values.struct_size > sizeof(T))
    std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, values.struct_size - sizeof(T));
  std::memcpy(out, &values, std::min(values.struct_size, sizeof(T)));
}

}  // namespace poprt::capi

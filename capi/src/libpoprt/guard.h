// Converts exceptions to error objects, and checks arguments of the C ABI.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "handles.h"

namespace poprt::capi {

// Never returns null: if memory is exhausted, it returns a static object.
poprt_error* make_error(ErrorCode code, std::string_view message) noexcept;
poprt_error* make_error(const Error& error) noexcept;

// Calls `body` and turns its exceptions into errors. Every function of the C ABI that can fail uses
// it.
template <class F>
poprt_error* guard(F&& body) noexcept {
  try {
    std::forward<F>(body)();
    return nullptr;
  } catch (const Error& e) {
    return make_error(e);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::resource_exhausted, "out of memory");
  } catch (const std::exception& e) {
    return make_error(ErrorCode::internal, e.what());
  } catch (...) {
    return make_error(ErrorCode::internal, "unknown exception");
  }
}

// Throws invalid_argument with the name of the argument.
template <class T>
T& required(T* pointer, const char* name) {
  if (!pointer) fail(ErrorCode::invalid_argument, "argument '{}' is null", name);
  return *pointer;
}

// Checks a caller's struct_size. Throws invalid_argument.
inline void check_struct_size(size_t size, const char* type) {
  if (size < sizeof(size_t))
    fail(ErrorCode::invalid_argument, "{}: struct_size is {}, set it to sizeof({})", type, size,
         type);
}

// Reads an option struct of any version. Fields that the caller does not know are zero. Fields that
// this library does not know must be zero. Null means all defaults. Throws invalid_argument.
template <class T>
T read_options(const T* given, const char* type) {
  T options{};
  if (!given) return options;
  const size_t size = given->struct_size;
  check_struct_size(size, type);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < size; i++)
    if (bytes[i])
      fail(ErrorCode::invalid_argument,
           "{}: a field past byte {} is set, which this version ({}) does not have", type,
           sizeof(T), POPRT_VERSION);
  std::memcpy(&options, given, std::min(size, sizeof(T)));
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

inline poprt_string* make_string(std::string text) { return new poprt_string{std::move(text)}; }

}  // namespace poprt::capi

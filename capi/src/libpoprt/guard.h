// Converts exceptions of functions of the C ABI to error objects.
#pragma once

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

// Returns the object. Throws invalid_argument with the name of the argument if the pointer is null.
template <class T>
T& required(T* pointer, const char* name) {
  if (!pointer) fail(ErrorCode::invalid_argument, "argument '{}' is null", name);
  return *pointer;
}

inline poprt_string* make_string(std::string text) { return new poprt_string{std::move(text)}; }

}  // namespace poprt::capi

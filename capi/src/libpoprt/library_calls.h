// Calls functions of the compiler library.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler_library.h"
#include "compiler_loader.h"
#include "guard.h"
#include "runtime/queue/payload_buffer.h"

namespace poprt::capi {

// Calls a function of the compiler library and throws its error.
template <class F>
void call(F&& f) {
  const CompilerCall in_progress;
  poprt_library_error error{POPRT_OK, nullptr};
  f(&error);
  if (error.code == POPRT_OK) return;
  const std::unique_ptr<char, void (*)(void*)> message(error.message, std::free);
  throw Error(static_cast<ErrorCode>(error.code), message ? message.get() : "out of memory");
}

// Like call(), for library functions that write into a sink. `take` and `extend` may throw.
template <class Take, class Extend, class F>
void call_with_sink(Take&& take, Extend&& extend, F&& f) {
  constexpr bool kExtends = !std::is_null_pointer_v<std::remove_cvref_t<Extend>>;
  struct Context {
    Take& take;
    Extend& extend;
    std::exception_ptr failure;
  } context{take, extend, nullptr};
  poprt_library_sink sink{[](void* c, const void* data, size_t size) noexcept {
                            auto& to = *static_cast<Context*>(c);
                            try {
                              to.take({static_cast<const std::byte*>(data), size});
                              return 0;
                            } catch (...) {
                              to.failure = std::current_exception();
                              return 1;
                            }
                          },
                          &context, nullptr};
  if constexpr (kExtends)
    sink.extend = [](void* c, size_t size) noexcept -> void* {
      auto& to = *static_cast<Context*>(c);
      try {
        return to.extend(size);
      } catch (...) {
        to.failure = std::current_exception();
        return nullptr;
      }
    };
  try {
    call([&](poprt_library_error* error) { f(&sink, error); });
  } catch (const std::exception&) {
    if (context.failure) std::rethrow_exception(context.failure);
    throw;
  }
}

template <class Take, class F>
void call_with_sink(Take&& take, F&& f) {
  call_with_sink(take, nullptr, f);
}

// Collects the warnings that the compiler library passes to a sink, each once: the compilations of
// many shapes give the same ones.
class NotedWarnings {
 public:
  // A copy of the sink that also notes warnings, valid while this object exists.
  poprt_library_sink with(const poprt_library_sink& sink) {
    poprt_library_sink noting = sink;
    noting.warn = [](void* to, const char* text) {
      auto& texts = static_cast<NotedWarnings*>(to)->texts_;
      if (std::ranges::count(texts, text) == 0) texts.emplace_back(text);
    };
    noting.warn_context = this;
    return noting;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

// The same for functions that write the payload of an executable.
template <class F>
void call_with_payload(runtime::PayloadBuffer& payload, F&& f) {
  call_with_sink([&](std::span<const std::byte> bytes) { payload.append(bytes); },
                 [&](size_t bytes) { return payload.extend(bytes).data(); }, f);
}

template <class F>
poprt_error* text(poprt_string** out_text, F&& f) {
  return guard([&] {
    auto& out = required(out_text, "out_text");
    std::string s;
    call_with_sink(
        [&](std::span<const std::byte> bytes) {
          s.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        },
        f);
    out = make_string(std::move(s));
  });
}

}  // namespace poprt::capi

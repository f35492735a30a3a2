// Shared by the recorded tests of the C ABI: calls, their errors, and the record.
#pragma once

#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/recorded_lines.h"

namespace poprt::test {

// Frees an object that a call has created.
inline void drop(poprt_compiler* p) { poprt_compiler_free(p); }
inline void drop(poprt_executable* p) { poprt_executable_free(p); }
inline void drop(poprt_string* p) { poprt_string_free(p); }
inline void drop(poprt_device_manager* p) { poprt_device_manager_free(p); }
inline void drop(poprt_device* p) { poprt_device_free(p); }
inline void drop(poprt_runner* p) { poprt_runner_free(p); }
inline void drop(poprt_session* p) { poprt_session_free(p); }
inline void drop(poprt_request* p) { poprt_request_free(p); }
inline void drop(poprt_outputs* p) { poprt_outputs_free(p); }
inline void drop(poprt_popef_reader* p) { poprt_popef_reader_free(p); }
inline void drop(poprt_popef_model* p) { poprt_popef_model_free(p); }
inline void drop(poprt_popef_metadata* p) { poprt_popef_metadata_free(p); }
inline void drop(poprt_popef_payload* p) { poprt_popef_payload_free(p); }
inline void drop(poprt_popef_writer* p) { poprt_popef_writer_free(p); }
inline void drop(poprt_popef_blob_writer* p) { poprt_popef_blob_writer_free(p); }
inline void drop(const void*) {}  // borrowed

class Recorded : public testing::Test {
 protected:
  Recorded() {
    char pattern[] = "/tmp/poprt_recorded_XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  ~Recorded() override { std::filesystem::remove_all(folder); }

  // Returns code and message, with DATA, FOLDER and VERSION in place of values that may differ.
  std::string message_for(poprt_error* error) const {
    if (!error) return "ok";
    std::string text = std::string(poprt_error_code_name(poprt_error_get_code(error))) + ": " +
                       poprt_error_message(error);
    poprt_error_free(error);
    for (const auto& [path, name] : {std::pair<std::string, std::string>{DATA, "DATA"},
                                     {folder, "FOLDER"},
                                     {std::to_string(POPRT_VERSION), "VERSION"}})
      for (size_t at = 0; (at = text.find(path, at)) != text.npos;)
        text.replace(at, path.size(), name);
    return text;
  }
  std::string message_for(const char* text) const {
    return text ? std::string("'") + text + "'" : "null";
  }
  template <class T>
  std::string message_for(T value) const {
    if constexpr (std::is_pointer_v<T>)
      return value ? "there" : "null";
    else
      return std::to_string(value);
  }

  void line(const std::string& heading, const std::string& what, const std::string& answer) {
    found[heading].insert(what + ": " + answer);
  }

  // Repeats the call with each of its pointers null in turn. The last argument receives the result.
  template <class R, class... P, class... A>
  void nulls(const char* name, R (*f)(P...), A... arguments) {
    each_null(name, f, std::tuple<P...>(arguments...), std::index_sequence_for<P...>());
  }

  // Repeats the call with unusual values of each of these fields, and with other sizes of the
  // struct.
  template <class S, class... F>
  void altered(const std::string& name, const S& good,
               const std::function<poprt_error*(const S*)>& call,
               const std::pair<const char*, F S::*>&... fields) {
    line(name, "as it is", message_for(call(&good)));
    struct Longer {
      S options;
      unsigned char tail[16];
    } longer = {good, {}};
    for (const size_t size : {size_t{0}, size_t{1}, sizeof(size_t), sizeof(Longer)}) {
      longer.options.struct_size = size;
      longer.tail[3] = 0;
      line(name, size == sizeof(Longer) ? "longer" : "of size " + std::to_string(size),
           message_for(call(&longer.options)));
    }
    longer.tail[3] = 1;
    line(name, "longer and set", message_for(call(&longer.options)));
    (altered_field(name, good, call, fields.first, fields.second), ...);
  }

  void expect(const char* file) const {
    poprt::test::expect_recorded(found, std::string(POPRT_TEST_DATA "/capi_") + file + ".txt",
                                 "Errors of wrong calls of the C ABI: recorded_test.cpp.");
  }
  void expect_digests(const char* file) const {
    poprt::test::expect_digests(found, std::string(POPRT_TEST_DATA "/capi_") + file + ".txt",
                                "Errors of wrong calls of the C ABI: recorded_test.cpp.");
  }

  poprt_executable* executable(const char* file = DATA "/copies.popef") const {
    poprt_executable* e = nullptr;
    EXPECT_EQ(message_for(poprt_executable_open(file, &e)), "ok");
    return e;
  }

  std::string folder;
  RecordedLines found;

 private:
  template <class R, class... P, size_t... I>
  void each_null(const char* name, R (*f)(P...), const std::tuple<P...>& arguments,
                 std::index_sequence<I...>) {
    (one_null<I>(name, f, arguments), ...);
  }
  template <size_t I, class R, class... P>
  void one_null(const char* name, R (*f)(P...), std::tuple<P...> arguments) {
    using T = std::tuple_element_t<I, std::tuple<P...>>;
    if constexpr (std::is_pointer_v<T>) {
      std::get<I>(arguments) = nullptr;
      auto out = std::get<sizeof...(P) - 1>(arguments);
      const std::string answer = message_for(std::apply(f, arguments));
      line(name, "argument " + std::to_string(I) + " null", answer);
      using Out = decltype(out);
      if constexpr (std::is_pointer_v<Out> && std::is_pointer_v<std::remove_pointer_t<Out>>) {
        if (answer == "ok" && out) {
          drop(*out);
          *out = nullptr;
        }
      }
    }
  }
  template <class S, class T>
  void altered_field(const std::string& name, const S& good,
                     const std::function<poprt_error*(const S*)>& call, const char* field,
                     T S::* member) {
    const auto with = [&](T value, const std::string& shown) {
      S options = good;
      options.*member = value;
      line(name, std::string(field) + " = " + shown, message_for(call(&options)));
    };
    if constexpr (std::is_integral_v<T>) {
      for (const int64_t v : {-1, 1, 2, 7, 100000})
        with(static_cast<T>(v), std::to_string(static_cast<T>(v)));
    } else if constexpr (std::is_floating_point_v<T>) {
      for (const char* v : {"-0.1", "0.2", "0.91", "inf", "nan"}) with(std::strtod(v, nullptr), v);
    } else if constexpr (std::is_same_v<T, const char*>) {
      for (const char* v : {"", "?", "x"}) with(v, std::string("'") + v + "'");
    }
  }
};

#define FIELD(type, name) std::pair<const char*, decltype(type::name) type::*>(#name, &type::name)

template <class S>
S sized() {
  S s = {};
  s.struct_size = sizeof s;
  return s;
}

}  // namespace poprt::test

#include "poprt/show.h"

#include <fmt/format.h>

namespace poprt::cli {
namespace {

using TextOfFile = poprt_error* (*)(const poprt_compiler*, const char*, poprt_string**);

void print(TextOfFile function, const poprt_compiler* compiler, const std::string& input) {
  poprt_string* text = nullptr;
  check(function(compiler, input.c_str(), &text));
  fmt::print("{}", take(text));
}

}  // namespace

void show_model(const GivenOptions& given, const poprt_compiler* compiler,
                const std::string& input) {
  if (given.has("show")) print(poprt_compiler_show_file, compiler, input);
  if (given.has("show_io_stat")) print(poprt_compiler_io_stat_file, compiler, input);
}

}  // namespace poprt::cli

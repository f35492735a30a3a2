#include "shapes.h"

#include <span>
#include <string_view>

#include "base/error.h"
#include "option_lists.h"

namespace poprt::capi {

std::vector<compiler::ShapeSet> shape_sets(const poprt_compile_options& o) {
  std::map<std::string, std::vector<Shape>> given;
  for (const auto& s : std::span(o.input_shapes, o.input_shape_count))
    given[s.name].emplace_back(s.shape, s.shape + s.rank);
  return compiler::shape_sets_of(given);
}

std::map<std::string, compiler::Padding> paddings(const poprt_compile_options& o) {
  std::map<std::string, compiler::Padding> list;
  const char* given = named_option(o, "pad_values");
  if (!given) return list;
  for (const std::string_view word : split_lines(given, "pad_values")) {
    const auto [name, value] = parse_padding(word);
    if (!list.emplace(name, compiler::Padding{value.value_or(0), !value}).second)
      fail(ErrorCode::invalid_argument, "`pad_values`: '{}' is given twice", name);
  }
  return list;
}

std::map<std::string, int64_t> max_sizes(const poprt_compile_options& o) {
  std::map<std::string, int64_t> list;
  const char* given = named_option(o, "max_size");
  if (!given) return list;
  for (const std::string_view word : split_lines(given, "max_size")) {
    auto [name, size] = parse_max_size(word);
    if (!list.emplace(name, size).second)
      fail(ErrorCode::invalid_argument, "`max_size`: '{}' is given twice", name);
  }
  return list;
}

}  // namespace poprt::capi

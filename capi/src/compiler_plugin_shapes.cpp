#include "compiler_plugin_shapes.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "option_lists.h"

namespace poprt::capi {

std::vector<compiler::ShapeSet> given_shapes(const poprt_compile_options& o) {
  std::map<std::string, std::vector<Shape>> given;
  for (const auto& s : std::span(o.input_shapes, o.input_shape_count))
    given[s.name].emplace_back(s.shape, s.shape + s.rank);
  size_t count = 1;
  for (const auto& [name, shapes] : given) count = std::max(count, shapes.size());
  std::vector<compiler::ShapeSet> sets(count);
  for (size_t i = 0; i < count; i++)
    for (const auto& [name, shapes] : given) sets[i][name] = shapes[shapes.size() == 1 ? 0 : i];
  compiler::sort_by_size(sets);
  return sets;
}

std::vector<compiler::ShapeSet> shape_sets(const poprt_compile_options& o) {
  std::vector<compiler::ShapeSet> sets = given_shapes(o);
  if (o.max_padding == 0) return sets;
  if (sets.size() == 1) {
    log().warn("`max_padding` has no effect: `input_shape` gives one shape, nothing is padded");
    return sets;
  }
  std::vector<compiler::ShapeSet> all = compiler::with_steps(sets, o.max_padding);
  log().info("`max_padding` {}: {} shapes of the {} that `input_shape` gives", o.max_padding,
             all.size(), sets.size());
  return all;
}

std::map<std::string, compiler::Padding> paddings(const poprt_compile_options& o, bool used) {
  std::map<std::string, compiler::Padding> list;
  const char* given = named_option(o, "pad_values");
  if (!given) return list;
  if (!used)
    log().warn("`pad_values` has no effect: `input_shape` gives one shape, nothing is padded");
  for (const std::string_view word : split_lines(given, "pad_values")) {
    const auto [name, value] = parse_padding(word);
    if (!list.emplace(name, compiler::Padding{value.value_or(0), !value}).second)
      fail(ErrorCode::invalid_argument, "`pad_values`: '{}' is given twice", name);
  }
  return list;
}

}  // namespace poprt::capi

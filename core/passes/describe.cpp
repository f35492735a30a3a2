#include "passes/describe.h"

#include <algorithm>
#include <cstdio>

namespace poprt::passes {

std::string describe_type(const ir::Value& v) {
  std::string shape;
  for (const int64_t d : v.shape())
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", std::max<int64_t>(d, 0));
  return fmt::format("dtype - {}, shape - {}", dtype_name(v.dtype()),
                     v.type.has_shape ? "[" + shape + "]" : "unknown");
}

std::string io_statistics(const ir::Graph& graph) {
  std::string text;
  const auto add = [&](const char* direction, const std::vector<ir::Value*>& values) {
    std::vector<std::pair<std::string, size_t>> counts;
    for (const ir::Value* v : values) {
      const std::string type = describe_type(*v);
      const auto found = std::ranges::find(counts, type, &std::pair<std::string, size_t>::first);
      if (found == counts.end())
        counts.emplace_back(type, 1);
      else
        found->second++;
    }
    text += fmt::format("{}s: {}\n", direction, values.size());
    for (const auto& [type, count] : counts) text += fmt::format("  {} x {}\n", count, type);
  };
  add("input", graph.inputs());
  add("output", graph.outputs());
  return text;
}

void tell(const PassContext& context, const std::string& text) {
  if (context.say)
    context.say(text);
  else
    fmt::print("{}", text);
}

}  // namespace poprt::passes

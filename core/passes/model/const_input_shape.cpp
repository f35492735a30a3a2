#include <charconv>

#include "passes/common/fix_input_shapes.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::const_input_shape_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

std::pair<std::string, Shape> parse(std::string_view word, std::string_view parameter) {
  const size_t at = word.rfind('=');
  const auto refuse = [&] {
    fail(ErrorCode::invalid_argument, "{}: expected NAME=d0,d1,..., found '{}'", parameter, word);
  };
  if (at == std::string_view::npos || at == 0) refuse();
  Shape shape;
  for (const std::string& part : split_text(word.substr(at + 1), ',')) {
    int64_t d = -1;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, d);
    if (stop != end || error != std::errc() || part.empty() || d < 0) refuse();
    shape.push_back(d);
  }
  return {std::string(word.substr(0, at)), shape};
}

void run(Graph& graph, PassContext& context) {
  InputShapes wanted;
  for (const char* parameter : {"input_shape", "map"})
    for (const std::string& word : context.words(parameter)) {
      auto [input, shape] = parse(word, parameter);
      if (const auto [same, added] = wanted.shapes.emplace(input, shape);
          !added && same->second != shape)
        fail(ErrorCode::invalid_argument, "const_input_shape: input '{}' has two shapes, {} and {}",
             input, shape_string(same->second), shape_string(shape));
    }
  wanted.batch_size = context.integer("batch_size");
  wanted.batch_axis = wanted.batch_size > 0 ? context.integer("batch_axis") : -1;
  if (!context.allow()) return;
  if (fix_input_shapes(graph, wanted)) pass_of("shape_inference").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "const_input_shape",
    .summary =
        "makes the variable dimensions of inputs static, like --input_shape and --batch_size",
    .condition = "the dimension is unknown or already has that size; other sizes are an error",
    .run = run,
    .parameters = {
        {"input_shape", ParameterKind::words, "NAME=d0,d1,..., one per line"},
        {"batch_size", ParameterKind::integer, "for all inputs; 0: not given", "0"},
        {"batch_axis", ParameterKind::integer, "the axis of inputs that batch_size is for", "0"},
        {"map", ParameterKind::words, "PopRT's name of input_shape"}}};

}  // namespace poprt::passes::const_input_shape_pass

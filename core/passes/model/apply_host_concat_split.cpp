#include <algorithm>

#include "base/log.h"
#include "ops/op.h"
#include "passes/common/build.h"

namespace poprt::passes::apply_host_concat_split_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr std::string_view kConfig = "prop.HostConcatRunnerConfig";

// A parsed "DTYPE,[SHAPE][,COUNT]".
struct Group {
  DType dtype = DType::undefined;
  Shape shape;
  size_t most = SIZE_MAX;
};

std::optional<DType> dtype_of_word(std::string_view word) {
  constexpr std::pair<std::string_view, DType> kWords[] = {
      {"fp32", DType::f32},  {"float32", DType::f32}, {"float", DType::f32},
      {"fp16", DType::f16},  {"float16", DType::f16}, {"half", DType::f16},
      {"int32", DType::s32}, {"int64", DType::s64},   {"uint32", DType::u32},
      {"int8", DType::s8},   {"uint8", DType::u8},    {"bool", DType::boolean}};
  for (const auto& [name, dtype] : kWords)
    if (name == word) return dtype;
  return dtype_from_name(word);
}

std::optional<int64_t> size_of(const std::string& text) {
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) ||
      text.size() > 18)
    return std::nullopt;
  return std::stoll(text);
}

Group parse(const std::string& word) {
  const size_t open = word.find(",["), close = word.find(']');
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::invalid_argument, "expected DTYPE,[SHAPE][,COUNT], found '{}': {}", word, why);
  };
  if (open == std::string::npos || close == std::string::npos || close < open)
    refuse("the shape in brackets is missing");
  Group g;
  const auto dtype = dtype_of_word(without_blanks(std::string_view(word).substr(0, open)));
  if (!dtype)
    refuse("the type is unknown; types are fp32, fp16, int32, int64, uint32, int8, uint8 and bool");
  g.dtype = *dtype;
  for (const std::string& d : split_text(word.substr(open + 2, close - open - 2), ',')) {
    const auto size = size_of(d);
    if (!size) refuse("a dimension is not a whole number");
    g.shape.push_back(*size);
  }
  if (close + 1 < word.size()) {
    const auto count = word[close + 1] == ',' ? size_of(word.substr(close + 2)) : std::nullopt;
    if (!count || *count < 2) refuse("the count is not a whole number of at least 2");
    g.most = static_cast<size_t>(*count);
  }
  return g;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

// One entry of the description that HostConcatRunner reads, without the enclosing braces.
std::string entry(const Value& joined_input, const std::vector<std::string>& names) {
  std::string list, shape;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + quoted(n);
  for (const int64_t d : joined_input.shape())
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", d);
  return fmt::format("{}: {{\"tensor_name\": {}, \"input_tensor_names\": [{}], \"shape\": [{}]}}",
                     quoted(joined_input.name()), quoted(joined_input.name()), list, shape);
}

void merge(Graph& graph, const std::vector<Value*>& inputs, bool remap, std::string& config) {
  Shape shape = inputs[0]->shape();
  shape.insert(shape.begin(), static_cast<int64_t>(inputs.size()));
  Value* host =
      graph.add_input("hcsr_" + inputs[0]->name(), ir::ValueType::of(inputs[0]->dtype(), shape));
  graph.opsets.emplace(kGraphcore, 1);
  const std::vector<Node*> nodes = graph.nodes();
  Node* first = nodes.empty() ? nullptr : nodes.front();
  Node* split = graph.add_node("HCSR", std::string(kGraphcore), {host}, inputs.size(), first);
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); i++) {
    const std::string name = inputs[i]->name();
    names.push_back(name);
    Value* by = split->output(i);
    by->type = inputs[i]->type;
    if (remap) {
      Node* moved = graph.add_node("Remap", std::string(kGraphcore), {by}, 1, first);
      moved->output()->type = by->type;
      by = moved->output();
    }
    graph.replace_all_uses(inputs[i], by);
    graph.erase_value(inputs[i]);
    if (!graph.is_output(by)) graph.rename(by, name);
  }
  config += (config.empty() ? "" : ", ") + entry(*host, names);
}

void run(Graph& graph, PassContext& context) {
  std::string config;
  for (const std::string& word : context.words("merged_inputs")) {
    const Group group = parse(word);
    std::vector<Value*> found;
    for (Value* v : graph.inputs())
      if (v->dtype() == group.dtype && v->type.is_static() && v->shape() == group.shape &&
          !v->is_constant() && found.size() < group.most)
        found.push_back(v);
    if (found.empty())
      fail(ErrorCode::not_found, "the model has no input of type {}{}", dtype_name(group.dtype),
           shape_string(group.shape));
    if (found.size() == 1)
      log().warn(
          "apply_host_concat_split: '{}' is the only input of {}{}, so there is no input to join "
          "it with",
          found[0]->name(), dtype_name(group.dtype), shape_string(group.shape));
    else if (context.allow())
      merge(graph, found, context.flag("remap"), config);
  }
  if (!config.empty()) graph.metadata[std::string(kConfig)] = "{" + config + "}";
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "apply_host_concat_split",
    .summary =
        "joins inputs of one type and shape into one, which ai.graphcore.HCSR splits; the metadata "
        "of the model describes it for HostConcatRunner",
    .condition = "static shapes; all inputs of the type and shape, up to the count",
    .numerics = Numerics::exact,
    .run = run,
    .parameters = {
        {"merged_inputs", ParameterKind::words, "DTYPE,[SHAPE][,COUNT], one per line", "", true},
        {"remap", ParameterKind::flag, "adds ai.graphcore.Remap after each part", "False"}}};

}  // namespace poprt::passes::apply_host_concat_split_pass

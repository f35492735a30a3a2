#include "compiler/generation_states.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/shape.h"
#include "ir/newest.h"
#include "passes/common/decoder_caches.h"

namespace poprt::compiler {
namespace {

// Words that mark the state before or after a run.
constexpr std::array<std::string_view, 7> kPastWords = {"past", "in",      "input",   "prev",
                                                        "old",  "initial", "previous"};
constexpr std::array<std::string_view, 7> kPresentWords = {"present", "out",   "output", "next",
                                                           "new",     "final", "updated"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Splits a name into words of letters and numbers. "instate" and "outstate" are two words each.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  char last = 0;
  for (const char c : name) {
    if (is_letter(c) || is_digit(c)) {
      if (!(is_letter(last) && is_letter(c)) && !(is_digit(last) && is_digit(c)))
        words.emplace_back();
      words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    last = c;
  }
  for (size_t i = 0; i < words.size(); i++)
    for (const std::string_view mark : {"in", "out"})
      if (words[i] == std::string(mark) + "state") {
        words[i] = mark;
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(++i), "state");
      }
  return words;
}

// The words of a name without those that mark a past or present state, and whether it had one.
struct UnmarkedName {
  std::vector<std::string> words;
  bool marked = false;
};

UnmarkedName unmarked(const std::string& name, std::span<const std::string_view> marks) {
  UnmarkedName result;
  const std::vector<std::string> words = words_of(name);
  for (size_t i = 0; i < words.size(); i++) {
    if (std::ranges::find(marks, words[i]) == marks.end()) {
      result.words.push_back(words[i]);
      continue;
    }
    result.marked = true;
    // Some exporters write past_key_values.0.conv_state and present.0.conv_state.
    if (i + 2 < words.size() && words[i + 1] == "key" && words[i + 2] == "values") i += 2;
  }
  return result;
}

bool may_be_state(const ir::Value& past, const ir::Value& present) {
  if (past.dtype() != present.dtype() && present.dtype() != DType::undefined) return false;
  if (!past.type.has_shape || !present.type.has_shape) return true;
  if (past.shape().size() != present.shape().size()) return false;
  for (size_t i = 0; i < past.shape().size(); i++)
    if (past.shape()[i] >= 0 && present.shape()[i] >= 0 && past.shape()[i] != present.shape()[i])
      return false;
  return true;
}

// Returns the number in the name at the place of "%d" in the pattern: "" if the pattern has no
// "%d", and nothing if the name does not match.
std::optional<std::string> match_pattern(const std::string& pattern, const std::string& name) {
  const size_t at = pattern.find("%d");
  if (at == std::string::npos)
    return pattern == name ? std::optional<std::string>("") : std::nullopt;
  const std::string_view head = std::string_view(pattern).substr(0, at);
  const std::string_view end = std::string_view(pattern).substr(at + 2);
  if (name.size() <= head.size() + end.size() || !name.starts_with(head) || !name.ends_with(end))
    return std::nullopt;
  std::string number = name.substr(at, name.size() - head.size() - end.size());
  if (!std::ranges::all_of(number, is_digit)) return std::nullopt;
  return number;
}

ir::Value* input_named(const ir::Graph& graph, const std::string& name) {
  for (ir::Value* v : graph.inputs())
    if (v->name() == name) return v;
  return nullptr;
}

ir::Value* by_given_name(const ir::Graph& graph, const std::string& output,
                         const std::vector<StateNames>& named) {
  for (const StateNames& pair : named) {
    const auto number = match_pattern(pair.present, output);
    if (!number) continue;
    std::string past = pair.past;
    if (const size_t at = past.find("%d"); at != std::string::npos) past.replace(at, 2, *number);
    ir::Value* v = input_named(graph, past);
    if (!v)
      fail(ErrorCode::not_found,
           "generation: output '{}' is a state by its name, and the model has no input '{}'",
           output, past);
    return v;
  }
  return nullptr;
}

ir::Value* by_similar_name(const ir::Graph& graph, const ir::Value* output) {
  const UnmarkedName present = unmarked(output->name(), kPresentWords);
  ir::Value* found = nullptr;
  for (ir::Value* v : graph.inputs()) {
    const UnmarkedName past = unmarked(v->name(), kPastWords);
    if (past.words != present.words || past.words.empty() || (!past.marked && !present.marked) ||
        !may_be_state(*v, *output))
      continue;
    if (found) return nullptr;
    found = v;
  }
  return found;
}

// Returns the axis of the batch: the one with the symbol of the batch of the tokens, or the only
// one with an open size. If all sizes are fixed, it is the first axis, which must have the size 1.
size_t batch_axis(const ir::Value& past, const ir::Value& ids, int64_t slots) {
  const Shape& shape = past.shape();
  const auto symbol_of = [](const ir::Value& v, size_t axis) {
    return axis < v.type.symbols.size() ? v.type.symbols[axis] : std::string();
  };
  const std::string batch = symbol_of(ids, 0);
  std::vector<size_t> open;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] >= 0) continue;
    if (!batch.empty() && symbol_of(past, i) == batch) return i;
    open.push_back(i);
  }
  if (open.size() == 1) return open[0];
  if (!open.empty() || shape.empty() || shape[0] != 1)
    fail(ErrorCode::unimplemented,
         "generation: state '{}' is {}: one axis must be the batch, as '{}' {} has it first",
         past.name(), type_string(past.type), ids.name(), type_string(ids.type));
  if (slots > 1)
    fail(
        ErrorCode::unimplemented,
        "generation: state '{}' is {}: the model has a batch of 1, and slots is {}; export it with "
        "an open batch",
        past.name(), type_string(past.type), slots);
  return 0;
}

ir::Value* transposed(ir::Value* x, std::vector<int64_t> perm, ir::Node* before) {
  ir::Value* const operands[] = {x};
  ir::Node* n =
      x->graph().add_node("Transpose", std::string(ir::kNewestDomain), operands, 1, before);
  n->attributes["perm"] = std::move(perm);
  return n->output();
}

void put_batch_first(ir::Graph& graph, ir::Value* past, size_t output, size_t axis) {
  const size_t rank = past->shape().size();
  std::vector<int64_t> first = {static_cast<int64_t>(axis)}, back(rank);
  for (size_t i = 0; i < rank; i++)
    if (i != axis) first.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; i < rank; i++) back[static_cast<size_t>(first[i])] = static_cast<int64_t>(i);

  const std::string name = past->name();
  graph.rename(past, graph.fresh_name(name));
  ir::ValueType moved = past->type;
  for (size_t i = 0; i < rank; i++) {
    const auto from = static_cast<size_t>(first[i]);
    moved.shape[i] = past->shape()[from];
    if (moved.symbols.size() == rank) moved.symbols[i] = past->type.symbols[from];
  }
  ir::Value* input = graph.add_input(name, std::move(moved));
  const auto nodes = graph.nodes();
  ir::Value* inner = transposed(input, back, nodes.empty() ? nullptr : nodes.front());
  inner->type = past->type;
  graph.replace_all_uses(past, inner);
  graph.erase_value(past);

  ir::Value* present = graph.outputs()[output];
  const std::string present_name = present->name();
  ir::Value* result = transposed(present, first, nullptr);
  graph.set_output(output, result);
  graph.rename(present, graph.fresh_name(present_name));
  graph.rename(result, present_name);
}

}  // namespace

ir::Value* past_state_of(const ir::Graph& graph, const ir::Value* output,
                         const std::vector<StateNames>& named) {
  if (ir::Value* v = by_given_name(graph, output->name(), named)) return v;
  if (ir::Value* v = passes::operator_state_of(output)) return v;
  return by_similar_name(graph, output);
}

void check_named(const ir::Graph& graph, const std::vector<StateNames>& named) {
  for (const StateNames& names : named)
    if (names.required && std::ranges::none_of(graph.outputs(), [&](const ir::Value* v) {
          return match_pattern(names.present, v->name()).has_value();
        }))
      fail(ErrorCode::not_found,
           "generation: the model has no output '{}', which is given as a state", names.present);
}

RecurrentState take_state(ir::Graph& graph, ir::Value* past, size_t output, const ir::Value& ids,
                          int64_t slots) {
  if (!past->type.has_shape)
    fail(ErrorCode::unimplemented, "generation: the rank of state '{}' is unknown", past->name());
  const size_t axis = batch_axis(*past, ids, slots);
  RecurrentState state{past->name(), graph.outputs()[output]->name(), past->shape()};
  state.tail.erase(state.tail.begin() + static_cast<std::ptrdiff_t>(axis));
  if (!is_static(state.tail))
    fail(ErrorCode::unimplemented, "generation: state '{}' is {}: only its batch may be open",
         past->name(), type_string(past->type));
  if (axis != 0) put_batch_first(graph, past, output, axis);
  return state;
}

}  // namespace poprt::compiler

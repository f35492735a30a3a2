#include "model/graph_query.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "model/format.h"
#include "model/stable_order.h"

namespace poprt::inspector {
namespace {

struct Word {
  std::string field, text;
};

constexpr std::string_view kFields[] = {"op",    "name", "dtype", "attr",
                                        "shape", "in",   "out",   "weight"};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) {
      const std::string_view word = text.substr(begin, end - begin);
      const size_t colon = word.find(':');
      const std::string_view field = word.substr(0, colon == std::string_view::npos ? 0 : colon);
      if (std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields))
        words.push_back({std::string(field), std::string(word.substr(colon + 1))});
      else
        words.push_back({"", std::string(word)});
    }
    begin = end + 1;
  }
  for (Word& w : words)
    if (w.field == "shape" || w.field == "in" || w.field == "out" || w.field == "weight")
      for (size_t at = w.text.find('x'); at != std::string::npos; at = w.text.find('x', at))
        w.text.replace(at, 1, "×");
  return words;
}

// Matches a part of the shape's text. With a *, matches the whole shape, dimension by dimension.
bool has_shape(const GraphValue& value, std::string_view text) {
  if (!value.has_shape) return false;
  if (text.find('*') == text.npos) return contains_text(dimensions_text(value.shape), text);
  constexpr std::string_view kTimes = "×";
  for (size_t i = 0; i < value.shape.size(); i++) {
    const size_t end = std::min(text.find(kTimes), text.size());
    const std::string_view part = text.substr(0, end);
    if (part != "*" && part != dimensions_text({&value.shape[i], 1})) return false;
    const bool last = end == text.size();
    if (last != (i + 1 == value.shape.size())) return false;
    if (!last) text.remove_prefix(end + kTimes.size());
  }
  return !value.shape.empty();
}

bool any_of(const GraphModel& graph, const std::vector<int>& values, auto&& matches) {
  return std::any_of(values.begin(), values.end(),
                     [&](int v) { return v != kNone && matches(graph.value(v)); });
}

bool any_value(const GraphModel& graph, const GraphNode& node, auto&& matches) {
  return any_of(graph, node.inputs, matches) || any_of(graph, node.outputs, matches);
}

bool matches(const GraphModel& graph, const GraphNode& node, const Word& word) {
  const auto shaped = [&](const GraphValue& v) { return has_shape(v, word.text); };
  if (word.field == "op") return contains_text(node.op, word.text);
  if (word.field == "name") return contains_text(node.name, word.text);
  if (word.field == "dtype")
    return any_value(graph, node,
                     [&](const GraphValue& v) { return dtype_name(v.dtype) == word.text; });
  if (word.field == "attr")
    return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& a) {
      return contains_text(a.first + "=" + a.second, word.text);
    });
  if (word.field == "shape") return any_value(graph, node, shaped);
  if (word.field == "out") return any_of(graph, node.outputs, shaped);
  if (word.field == "in" || word.field == "weight")
    return any_of(graph, node.inputs, [&](const GraphValue& v) {
      return v.constant.defined() == (word.field == "weight") && shaped(v);
    });
  return contains_text(node.op, word.text) || contains_text(node.name, word.text) ||
         any_value(graph, node,
                   [&](const GraphValue& v) {
                     return contains_text(v.name, word.text) || contains_text(v.type, word.text);
                   }) ||
         std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& a) {
           return contains_text(a.first, word.text) || contains_text(a.second, word.text);
         });
}

std::vector<int> walk(const GraphModel& graph, int from, int to) {
  std::vector<int> before(graph.nodes().size(), kNone);
  std::deque<int> waiting = {from};
  before[static_cast<size_t>(from)] = from;
  while (!waiting.empty() && before[static_cast<size_t>(to)] == kNone) {
    const int at = waiting.front();
    waiting.pop_front();
    for (const int next : graph.successors(at)) {
      if (before[static_cast<size_t>(next)] != kNone) continue;
      before[static_cast<size_t>(next)] = at;
      waiting.push_back(next);
    }
  }
  if (before[static_cast<size_t>(to)] == kNone) return {};
  std::vector<int> path = {to};
  while (path.back() != from) path.push_back(before[static_cast<size_t>(path.back())]);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

std::vector<int> search_nodes(const GraphModel& graph, std::string_view text) {
  const std::vector<Word> words = words_of(text);
  std::vector<int> found;
  if (words.empty()) return found;
  for (size_t i = 0; i < graph.nodes().size(); i++)
    if (std::all_of(words.begin(), words.end(),
                    [&](const Word& w) { return matches(graph, graph.nodes()[i], w); }))
      found.push_back(static_cast<int>(i));
  return found;
}

std::vector<int> neighbourhood(const GraphModel& graph, int node, int distance) {
  std::vector<int> found = {node}, edge = {node};
  std::vector<bool> seen(graph.nodes().size());
  seen[static_cast<size_t>(node)] = true;
  for (int step = 0; step < distance; step++) {
    std::vector<int> next;
    for (const int n : edge)
      for (const auto& side : {graph.predecessors(n), graph.successors(n)})
        for (const int m : side)
          if (!seen[static_cast<size_t>(m)]) {
            seen[static_cast<size_t>(m)] = true;
            next.push_back(m);
          }
    found.insert(found.end(), next.begin(), next.end());
    edge = std::move(next);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int> path_between(const GraphModel& graph, int from, int to) {
  auto path = walk(graph, from, to);
  return path.empty() ? walk(graph, to, from) : path;
}

std::vector<int> largest_weights(const GraphModel& graph, size_t most) {
  std::vector<int> found;
  for (size_t i = 0; i < graph.values().size(); i++)
    if (const GraphValue& v = graph.values()[i]; v.constant.defined() && !v.consumers.empty())
      found.push_back(static_cast<int>(i));
  stable_order(found, [&](int a, int b) { return graph.value(a).bytes > graph.value(b).bytes; });
  found.resize(std::min(found.size(), most));
  return found;
}

}  // namespace poprt::inspector

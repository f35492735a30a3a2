#include "passes/common/chains.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

struct Pattern {
  std::map<std::string, std::string> types;  // by key; "s" and "e" are not included
  std::vector<std::pair<std::string, std::string>> edges;
};

bool is_open(std::string_view type) { return type == "s" || type == "e"; }

void read_chain(Pattern& pattern, std::string_view label, std::string_view chain) {
  const auto refuse = [&](std::string_view element) {
    fail(ErrorCode::invalid_argument,
         "{}: expected OpType:key joined by ->, s:key at the start and e:key at the end, found "
         "'{}' in '{}'",
         label, element, chain);
  };
  std::string before;
  for (std::string_view rest = chain; !rest.empty();) {
    const size_t arrow = rest.find("->");
    const std::string_view element = without_blanks(rest.substr(0, arrow));
    const bool last = arrow == std::string_view::npos;
    const bool first = rest.data() == chain.data();
    rest = last ? std::string_view() : rest.substr(arrow + 2);
    const size_t colon = element.find(':');
    if (colon == std::string_view::npos || (!last && rest.empty())) refuse(element);
    const std::string type(without_blanks(element.substr(0, colon)));
    const std::string key(without_blanks(element.substr(colon + 1)));
    if (type.empty() || key.empty() || (type == "s" && !first) || (type == "e" && !last))
      refuse(element);
    if (is_open(type)) {
      before.clear();
      continue;
    }
    const auto [at, added] = pattern.types.emplace(key, type);
    if (!added && at->second != type) refuse(element);
    if (!before.empty()) pattern.edges.emplace_back(before, key);
    before = key;
  }
}

bool reads(const Node& reader, const Node& maker) {
  return std::ranges::any_of(reader.inputs(),
                             [&](const ir::Value* v) { return v && v->producer() == &maker; });
}

class Search {
 public:
  Search(const Pattern& pattern, std::vector<Node*> nodes)
      : pattern_(pattern), nodes_(std::move(nodes)) {
    // Orders the keys so that each is next to an earlier one if possible.
    std::vector<std::string> rest;
    for (const auto& [key, type] : pattern.types) rest.push_back(key);
    while (!rest.empty()) {
      const auto touches = [&](const std::string& key) {
        return std::ranges::any_of(pattern.edges, [&](const auto& e) {
          return (e.first == key && std::ranges::count(order_, e.second)) ||
                 (e.second == key && std::ranges::count(order_, e.first));
        });
      };
      auto next = std::ranges::find_if(rest, touches);
      if (next == rest.end()) next = rest.begin();
      order_.push_back(*next);
      rest.erase(next);
    }
  }

  std::unordered_set<const Node*> all_matches() {
    assign(0);
    return found_;
  }

 private:
  bool fits(const std::string& key, Node* node) const {
    if (node->op_type != pattern_.types.at(key)) return false;
    for (const auto& [other, at] : chosen_)
      if (at == node) return false;
    return std::ranges::all_of(pattern_.edges, [&](const auto& e) {
      const auto from = chosen_.find(e.first), to = chosen_.find(e.second);
      if (e.first == key && to != chosen_.end()) return reads(*to->second, *node);
      if (e.second == key && from != chosen_.end()) return reads(*node, *from->second);
      return true;
    });
  }
  // Nodes that fit `key`, given the neighbours that are already assigned.
  std::vector<Node*> candidates(const std::string& key) const {
    for (const auto& [from, to] : pattern_.edges) {
      std::vector<Node*> near;
      if (to == key && chosen_.contains(from)) {
        for (const ir::Value* v : chosen_.at(from)->outputs())
          for (const ir::Use& use : v->uses()) near.push_back(use.node);
        return near;
      }
      if (from == key && chosen_.contains(to)) {
        for (const ir::Value* v : chosen_.at(to)->inputs())
          if (v && v->producer()) near.push_back(v->producer());
        return near;
      }
    }
    return nodes_;
  }
  void assign(size_t at) {
    if (at == order_.size()) {
      for (const auto& [key, node] : chosen_) found_.insert(node);
      return;
    }
    const std::string& key = order_[at];
    for (Node* n : candidates(key)) {
      if (!fits(key, n)) continue;
      chosen_[key] = n;
      assign(at + 1);
      chosen_.erase(key);
    }
  }

  const Pattern& pattern_;
  std::vector<Node*> nodes_;
  std::vector<std::string> order_;
  std::map<std::string, Node*> chosen_;
  std::unordered_set<const Node*> found_;
};

}  // namespace

std::unordered_set<const Node*> nodes_of_chains(Graph& graph, std::string_view label,
                                                const std::string& text) {
  if (text.empty()) return {};
  Pattern pattern;
  for (const std::string& part : split_text(text, ',')) {
    std::string chain;
    std::ranges::copy_if(part, std::back_inserter(chain),
                         [](char c) { return c != '\'' && c != '"' && c != '[' && c != ']'; });
    if (without_blanks(chain).empty())
      fail(ErrorCode::invalid_argument, "{}: a chain of '{}' is empty", label, text);
    read_chain(pattern, label, chain);
  }
  if (pattern.types.empty())
    fail(ErrorCode::invalid_argument, "{}: '{}' contains no operator", label, text);
  auto found = Search(pattern, graph.nodes()).all_matches();
  if (found.empty())
    fail(ErrorCode::not_found, "{}: no nodes of the model match '{}'", label, text);
  return found;
}

}  // namespace poprt::passes

#include "exec/support/shard_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "common/arguments.h"
#include "ops/common/flops.h"
#include "ops/facts.h"

namespace poprt::cli {
namespace {

using ir::Node;
using ir::Value;

std::vector<std::vector<size_t>> producers_of(const std::vector<Node*>& nodes) {
  std::unordered_map<const Node*, size_t> position;
  for (size_t i = 0; i < nodes.size(); i++) position[nodes[i]] = i;
  std::vector<std::vector<size_t>> producers(nodes.size());
  for (const Node* n : nodes)
    for (const Value* v : n->outputs())
      for (const ir::Use& use : v->uses()) {
        const Node* reader = use.node;
        if (const auto r = position.find(reader); r != position.end())
          producers[r->second].push_back(position[n]);
      }
  return producers;
}

bool is_static(const Node& n) {
  const auto known = [](const Value* v) { return !v || v->type.is_static(); };
  return std::ranges::all_of(n.inputs(), known) && std::ranges::all_of(n.outputs(), known);
}

}  // namespace

std::vector<SubGraph> sub_graphs(const ir::Graph& graph) {
  const std::vector<Node*> nodes = graph.nodes();
  const auto producers = producers_of(nodes);
  std::vector<size_t> candidates;
  for (size_t i = 0; i < nodes.size(); i++) {
    const auto given = std::ranges::count_if(nodes[i]->inputs(),
                                             [](const Value* v) { return v && !v->is_constant(); });
    if (given > 1) candidates.push_back(i);
  }
  if (candidates.empty())
    for (size_t i = 0; i < nodes.size(); i++) candidates.push_back(i);
  std::vector<SubGraph> parts;
  std::vector<bool> taken(nodes.size());
  const auto take = [&](SubGraph& part, size_t first) {
    std::vector<size_t> open{first};
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      if (taken[i]) continue;
      taken[i] = true;
      part.nodes.push_back(i);
      open.insert(open.end(), producers[i].begin(), producers[i].end());
    }
  };
  for (const size_t c : candidates) {
    if (taken[c]) continue;
    SubGraph& part = parts.emplace_back();
    part.cut = nodes[c]->name;
    take(part, c);
  }
  SubGraph rest;
  for (size_t i = 0; i < nodes.size(); i++)
    if (!taken[i]) rest.nodes.push_back(i);
  if (!rest.nodes.empty()) {
    rest.cut = nodes[rest.nodes.back()]->name;
    parts.push_back(std::move(rest));
  }
  for (SubGraph& part : parts)
    for (const size_t i : part.nodes) {
      if (is_static(*nodes[i])) part.flops += static_cast<double>(ops::flops_of(*nodes[i]));
      // Constant inputs that are shapes, axes or indices do not count as data.
      const uint32_t parameters = ops::constant_inputs(*nodes[i]);
      for (size_t at = 0; at < nodes[i]->inputs().size(); at++)
        if (const Value* v = nodes[i]->input(at);
            v && v->is_constant() && !ops::in_mask(parameters, at))
          part.bytes += v->constant().bytes();
    }
  return parts;
}

Plan balanced(const std::vector<double>& amounts, size_t parts) {
  const size_t n = amounts.size();
  if (n < parts)
    throw Usage(fmt::format("--num_ipus: the model has {} places for cuts, found {}", n, parts));
  std::vector<double> sum(n + 1);
  for (size_t i = 0; i < n; i++) sum[i + 1] = sum[i] + amounts[i];
  // best[p][e] is the least possible size of the largest of p parts of the first e sub-graphs, and
  // from[p][e] is the sub-graph at which the last of these parts begins.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector best(parts + 1, std::vector<double>(n + 1, kNone));
  std::vector from(parts + 1, std::vector<size_t>(n + 1));
  best[0][0] = 0;
  for (size_t p = 1; p <= parts; p++)
    for (size_t e = p; e <= n; e++)
      for (size_t b = p - 1; b < e; b++) {
        const double largest = std::max(best[p - 1][b], sum[e] - sum[b]);
        if (largest < best[p][e]) {
          best[p][e] = largest;
          from[p][e] = b;
        }
      }
  Plan plan(parts);
  for (size_t p = parts, e = n; p > 0; e = from[p][e], p--) plan[p - 1] = e;
  return plan;
}

std::vector<std::vector<std::string>> cuts_of(const ir::Graph& graph,
                                              const std::vector<SubGraph>& parts,
                                              const Plan& plan) {
  const std::vector<Node*> nodes = graph.nodes();
  const auto producers = producers_of(nodes);
  std::unordered_map<std::string, size_t> position;
  for (size_t i = 0; i < nodes.size(); i++) position[nodes[i]->name] = i;
  std::vector<std::vector<std::string>> cuts;
  for (size_t ipu = 0; ipu < plan.size(); ipu++) {
    std::vector<std::string>& list = cuts.emplace_back();
    if (ipu + 1 == plan.size()) break;
    // The loop starts at the last part, because nodes that a named node depends on need no name.
    std::vector<bool> reached(nodes.size());
    for (size_t p = plan[ipu]; p-- > (ipu ? plan[ipu - 1] : 0);) {
      const size_t at = position.at(parts[p].cut);
      if (reached[at]) continue;
      list.insert(list.begin(), parts[p].cut);
      std::vector<size_t> open{at};
      while (!open.empty()) {
        const size_t i = open.back();
        open.pop_back();
        if (reached[i]) continue;
        reached[i] = true;
        open.insert(open.end(), producers[i].begin(), producers[i].end());
      }
    }
  }
  return cuts;
}

void set_times(const ir::Graph& graph, const std::map<std::string, double>& by_node,
               std::vector<SubGraph>& parts) {
  const std::vector<Node*> nodes = graph.nodes();
  for (SubGraph& part : parts) {
    part.nanoseconds = 0;
    for (const size_t i : part.nodes)
      if (const auto t = by_node.find(nodes[i]->name); t != by_node.end())
        part.nanoseconds += t->second;
  }
}

}  // namespace poprt::cli

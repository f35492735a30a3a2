#include "onnx/node_order.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "onnx/elem_type.h"

namespace poprt::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

void node_reads(const ::onnx::NodeProto& node, Names& out);

// The names that a graph reads and does not define.
void free_names(const ::onnx::GraphProto& graph, Names& out) {
  Names defined, read;
  for (const auto& v : graph.input()) defined.insert(v.name());
  for (const auto& t : graph.initializer()) defined.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) defined.insert(t.values().name());
  for (const auto& n : graph.node()) {
    for (const auto& o : n.output()) defined.insert(o);
    node_reads(n, read);
  }
  for (const auto& v : graph.output()) read.insert(v.name());
  for (const std::string_view name : read)
    if (!defined.contains(name)) out.insert(name);
}

void node_reads(const ::onnx::NodeProto& node, Names& out) {
  for (const auto& i : node.input())
    if (!i.empty()) out.insert(i);
  for (const auto& a : node.attribute()) {
    if (a.has_g()) free_names(a.g(), out);
    for (const auto& g : a.graphs()) free_names(g, out);
  }
}

}  // namespace

std::vector<int> node_order(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes) {
  const int count = nodes.size();
  std::unordered_map<std::string_view, int> producer;
  producer.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; i++)
    for (const auto& o : nodes[i].output())
      if (!o.empty() && !producer.emplace(o, i).second)
        fail(ErrorCode::invalid_argument, "value {} is made twice: a name may be assigned once",
             quote_name(o));

  // waits_for[i] has the (producer, value) pairs of node i.
  std::vector<std::vector<std::pair<int, std::string_view>>> waits_for(static_cast<size_t>(count));
  bool sorted = true;
  for (int i = 0; i < count; i++) {
    Names reads;
    node_reads(nodes[i], reads);
    for (const std::string_view name : reads)
      if (const auto it = producer.find(name); it != producer.end()) {
        waits_for[i].emplace_back(it->second, name);
        sorted = sorted && it->second < i;
      }
  }
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (sorted) return order;

  std::vector<std::vector<int>> readers(static_cast<size_t>(count));
  std::vector<size_t> missing(static_cast<size_t>(count));
  std::set<int> ready;
  for (int i = 0; i < count; i++) {
    missing[i] = waits_for[i].size();
    for (const auto& [p, name] : waits_for[i]) readers[p].push_back(i);
    if (!missing[i]) ready.insert(i);
  }
  order.clear();
  std::vector<bool> placed(static_cast<size_t>(count));
  while (!ready.empty()) {
    const int i = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(i);
    placed[i] = true;
    for (const int r : readers[i])
      if (--missing[r] == 0) ready.insert(r);
  }
  if (static_cast<int>(order.size()) == count) return order;

  // Each remaining node depends on a remaining node (another one or itself), so following the
  // dependencies ends in a cycle.
  int at = static_cast<int>(std::find(placed.begin(), placed.end(), false) - placed.begin());
  std::vector<int> seen_at(static_cast<size_t>(count), -1);
  std::vector<std::string_view> walked;
  while (seen_at[at] < 0) {
    seen_at[at] = static_cast<int>(walked.size());
    const auto next = std::find_if(waits_for[at].begin(), waits_for[at].end(),
                                   [&](const auto& w) { return !placed[w.first]; });
    walked.push_back(next->second);
    at = next->first;
  }
  constexpr size_t kShown = 6;
  const std::span<const std::string_view> loop(walked.begin() + seen_at[at], walked.end());
  std::string names;
  for (size_t i = 0; i < std::min(loop.size(), kShown); i++) {
    if (i) names += " <- ";
    names += quote_name(loop[i]);
  }
  if (loop.size() > kShown) names += " <- ...";
  fail(ErrorCode::invalid_argument, "the graph has a cycle of {} nodes: {}", loop.size(), names);
}

}  // namespace poprt::onnx

#include "model/graph_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>

#include "model/format.h"
#include "model/node_names.h"
#include "model/repeated_layers.h"
#include "model/stable_order.h"
#include "ops/common/body_scope.h"

namespace poprt::inspector {
namespace {

// A smaller group would add a level without making the graph clearer.
constexpr size_t kSmallestGroup = 2;
constexpr int kDeepestPrefix = 8;
// Smaller graphs are clear as a whole.
constexpr size_t kLeastToFold = 24;
constexpr size_t kLongestAttribute = 400;

std::string list_text(const auto& items, size_t most = 64) {
  std::vector<std::string> words;
  for (const auto& item : items) {
    if (words.size() == most) {
      words.push_back(fmt::format("… {} in all", items.size()));
      break;
    }
    words.push_back(fmt::format("{}", item));
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

std::string attribute_text(const Tensor& t) {
  return fmt::format("{} {}", dtype_name(t.dtype()), dimensions_text(t.shape()));
}

std::string attribute_text(const ir::Attribute& attribute) {
  struct Visitor {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(float v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const {
      return fmt::format("\"{}\"", printable(v));
    }
    std::string operator()(const Tensor& v) const { return attribute_text(v); }
    std::string operator()(const std::vector<int64_t>& v) const { return list_text(v); }
    std::string operator()(const std::vector<float>& v) const { return list_text(v); }
    std::string operator()(const std::vector<std::string>& v) const {
      return printable(list_text(v));
    }
    std::string operator()(const std::vector<Tensor>& v) const {
      return fmt::format("{} tensors", v.size());
    }
    std::string operator()(const std::shared_ptr<ir::Graph>& v) const {
      return fmt::format("graph of {} nodes", v->node_count());
    }
    std::string operator()(const std::vector<std::shared_ptr<ir::Graph>>& v) const {
      return fmt::format("{} graphs", v.size());
    }
  };
  std::string text = std::visit(Visitor{}, attribute);
  if (text.size() > kLongestAttribute) text = shortened(text, kLongestAttribute);
  return text;
}

// Compares without case, because exporters write "batch_normalization" for BatchNormalization.
bool is_operator(std::string_view part, std::string_view op_type) {
  size_t at = 0;
  for (const char c : part) {
    if (c == '_') continue;
    if (at == op_type.size() || std::tolower(static_cast<unsigned char>(c)) !=
                                    std::tolower(static_cast<unsigned char>(op_type[at])))
      return false;
    at++;
  }
  return at == op_type.size();
}

// Returns the parts of a name that may be groups: "/encoder/layer.0/Add" has "encoder" and
// "layer.0". Names with numbered operators ("p2o.Conv.17") do not describe layers, and a group of
// all convolutions would not be useful.
std::vector<std::string> prefixes_of(std::string_view name, std::string_view op_type) {
  std::vector<std::string> parts;
  const char separator = name.find('/') != std::string_view::npos ? '/' : '.';
  size_t begin = 0;
  for (size_t end = name.find(separator); end != std::string_view::npos;
       end = name.find(separator, begin)) {
    if (end > begin) parts.push_back(printable(name.substr(begin, end - begin)));
    begin = end + 1;
    if (parts.size() == kDeepestPrefix) break;
  }
  while (!parts.empty() && is_operator(parts.back(), op_type)) parts.pop_back();
  return parts;
}

}  // namespace

class GraphModelMaker {
 public:
  explicit GraphModelMaker(GraphModel& m) : model_(m) {}

  void make(const ir::Graph& graph) {
    model_.name_ = printable(graph.name);
    model_.opsets_ = graph.opsets;
    model_.groups_.push_back({});
    keys_ = unique_names(graph);
    add_graph(graph, kRoot);
    move_constants_to_readers();
    dissolve_small_groups();
    fold_repeated_layers();
    sum_groups();
  }

 private:
  GraphNode& node(int i) { return model_.nodes_[static_cast<size_t>(i)]; }
  GraphValue& value(int i) { return model_.values_[static_cast<size_t>(i)]; }
  GraphGroup& group(int i) { return model_.groups_[static_cast<size_t>(i)]; }

  int value_of(const ir::Value* v) {
    if (!v) return kNone;
    const auto [found, fresh] = values_.try_emplace(v, static_cast<int>(model_.values_.size()));
    if (!fresh) return found->second;
    GraphValue shown;
    shown.name = printable(v->name());
    shown.type = ir::type_string(v->type);
    shown.dtype = v->dtype();
    shown.has_shape = v->type.has_shape;
    shown.shape = v->shape();
    if (v->type.is_static() && dtype_bits(v->dtype()) > 0) {
      try {
        shown.bytes = dtype_bytes(v->dtype(), element_count(v->shape()));
      } catch (const Error&) {  // the size of a huge type overflows
      }
    }
    if (v->is_constant()) {
      shown.constant = v->constant();
      shown.bytes = v->constant().bytes();
    }
    model_.values_.push_back(std::move(shown));
    return found->second;
  }

  int add_node(GraphNode shown) {
    const int id = static_cast<int>(model_.nodes_.size());
    for (const int v : shown.inputs)
      if (v != kNone) value(v).consumers.push_back(id);
    for (const int v : shown.outputs)
      if (v != kNone) {
        value(v).producer = id;
        shown.output_bytes += value(v).bytes;
      }
    group(shown.group).nodes.push_back(id);
    model_.nodes_.push_back(std::move(shown));
    return id;
  }

  int child_group(int parent, const std::string& name, bool is_subgraph) {
    const auto [found, fresh] =
        children_.try_emplace({parent, name}, static_cast<int>(model_.groups_.size()));
    if (!fresh) return found->second;
    GraphGroup g;
    g.name = name;
    g.path = parent == kRoot ? name : group(parent).path + "/" + name;
    g.is_subgraph = is_subgraph;
    g.parent = parent;
    g.depth = group(parent).depth + 1;
    group(parent).groups.push_back(found->second);
    model_.groups_.push_back(std::move(g));
    return found->second;
  }

  void add_terminals(const ir::Graph& graph, int in_group, NodeKind kind) {
    const bool is_input = kind == NodeKind::input;
    for (const ir::Value* v : is_input ? graph.inputs() : graph.outputs()) {
      GraphNode shown;
      shown.kind = kind;
      shown.op = is_input ? "input" : "output";
      shown.name = printable(v->name());
      shown.group = in_group;
      const int id = value_of(v);
      shown.detail = value(id).type;
      (is_input ? shown.outputs : shown.inputs).push_back(id);
      add_node(std::move(shown));
    }
  }

  void add_op(const ir::Node& n, int in_group) {
    GraphNode shown;
    shown.op = printable(n.domain.empty() ? n.op_type : n.domain + "." + n.op_type);
    shown.name = printable(n.name.empty() && n.output() ? n.output()->name() : n.name);
    shown.key = printable(keys_.at(&n));
    int place = in_group;
    const auto parts =
        prefixes_of(n.name.empty() && n.output() ? n.output()->name() : n.name, n.op_type);
    for (const std::string& part : parts) place = child_group(place, part, false);
    shown.group = place;
    for (const ir::Value* v : n.inputs()) {
      const int id = value_of(v);
      shown.inputs.push_back(id);
      if (id == kNone || !value(id).constant.defined()) continue;
      shown.weight_bytes += value(id).bytes;
      if (shown.detail.size() < 48)
        shown.detail +=
            fmt::format("{}{}", shown.detail.empty() ? "" : "  ", dimensions_text(value(id).shape));
    }
    for (const ir::Value* v : n.outputs()) shown.outputs.push_back(value_of(v));
    for (const auto& [key, attribute] : n.attributes)
      shown.attributes.emplace_back(printable(key), attribute_text(attribute));
    const int id = add_node(std::move(shown));
    const std::string title = node(id).name;
    int count = 0;
    ir::for_each_subgraph(n, [&](const ir::Graph& sub) {
      const std::string name = fmt::format(
          "{} {}", title, sub.name.empty() ? std::to_string(count) : printable(sub.name));
      const int body = child_group(place, fmt::format("{}#{}", name, count), true);
      group(body).owner = id;
      group(body).scope = printable(ops::body_scope_name(sub.name));
      // The group of the body is inside the groups of the node, so its name omits their names.
      group(body).name = place == in_group ? name : name.substr(title.rfind('/') + 1);
      add_graph(sub, body);
      count++;
    });
  }

  void add_graph(const ir::Graph& graph, int in_group) {
    add_terminals(graph, in_group, NodeKind::input);
    for (const ir::Node* n : graph.nodes()) add_op(*n, in_group);
    add_terminals(graph, in_group, NodeKind::output);
  }

  bool is_inside(int inner, int outer) const {
    while (inner != outer && inner != kNone)
      inner = model_.groups_[static_cast<size_t>(inner)].parent;
    return inner == outer;
  }

  // Returns the innermost group that contains both.
  int common_group(int a, int b) const {
    while (!is_inside(b, a)) a = model_.groups_[static_cast<size_t>(a)].parent;
    return a;
  }

  // Nodes that compute on weights only are moved to the innermost group with all their readers, if
  // it is inside of their own group and not in the body of a node. Some exporters write hundreds of
  // such Identity nodes, which would all be at the top level.
  void move_constants_to_readers() {
    const size_t count = model_.nodes_.size();
    std::vector<bool> constant(count, false);
    for (size_t n = 0; n < count; n++) {
      const GraphNode& it = model_.nodes_[n];
      if (it.kind != NodeKind::op) continue;
      constant[n] = std::all_of(it.inputs.begin(), it.inputs.end(), [&](int v) {
        if (v == kNone || value(v).constant.defined()) return true;
        const int producer = value(v).producer;
        return producer != kNone && constant[static_cast<size_t>(producer)];
      });
    }
    for (size_t n = count; n-- > 0;) {
      if (!constant[n]) continue;
      GraphNode& it = model_.nodes_[n];
      int place = kNone;
      for (const int v : it.outputs)
        if (v != kNone)
          for (const int reader : value(v).consumers)
            place = place == kNone ? node(reader).group : common_group(place, node(reader).group);
      if (place == kNone || place == it.group || !is_inside(place, it.group)) continue;
      bool enters_body = false;
      for (int g = place; g != it.group; g = group(g).parent) enters_body |= group(g).is_subgraph;
      if (enters_body) continue;
      std::erase(group(it.group).nodes, static_cast<int>(n));
      auto& members = group(place).nodes;
      members.insert(std::lower_bound(members.begin(), members.end(), static_cast<int>(n)),
                     static_cast<int>(n));
      it.group = place;
    }
  }

  // Whether the group contains all nodes except graph inputs and outputs. Its name is then a prefix
  // of every name.
  bool holds_all(int g) {
    const GraphGroup& root = group(kRoot);
    return root.groups == std::vector<int>{g} &&
           std::all_of(root.nodes.begin(), root.nodes.end(),
                       [&](int n) { return node(n).kind != NodeKind::op; });
  }

  // Removes groups with one member, and groups that are the only member of their parent.
  void dissolve_small_groups() {
    for (int g = static_cast<int>(model_.groups_.size()) - 1; g > kRoot; g--) {
      GraphGroup& it = group(g);
      GraphGroup& parent = group(it.parent);
      const size_t members = it.nodes.size() + it.groups.size();
      const bool small = members < kSmallestGroup;
      const bool wraps = it.parent == kRoot && holds_all(g);
      const bool alone =
          wraps || (parent.nodes.empty() && parent.groups.size() == 1 && it.parent != kRoot);
      if (it.is_subgraph || (!small && !alone)) continue;
      if (alone && parent.is_subgraph) continue;
      for (const int n : it.nodes) node(n).group = it.parent;
      for (const int c : it.groups) {
        group(c).parent = it.parent;
        if (!wraps && !group(c).is_subgraph) group(c).name = it.name + "/" + group(c).name;
      }
      parent.nodes.insert(parent.nodes.end(), it.nodes.begin(), it.nodes.end());
      std::erase(parent.groups, g);
      parent.groups.insert(parent.groups.end(), it.groups.begin(), it.groups.end());
      if (!small && !wraps) parent.name += "/" + it.name, parent.path = it.path;
      it.nodes.clear();
      it.groups.clear();
      it.parent = kNone;
    }
    compact_groups();
  }

  void compact_groups() {
    std::vector<int> moved(model_.groups_.size(), kNone);
    std::vector<GraphGroup> kept;
    for (size_t g = 0; g < model_.groups_.size(); g++) {
      if (g != kRoot && model_.groups_[g].parent == kNone) continue;
      moved[g] = static_cast<int>(kept.size());
      kept.push_back(std::move(model_.groups_[g]));
    }
    for (GraphGroup& g : kept) {
      if (g.parent != kNone) g.parent = moved[static_cast<size_t>(g.parent)];
      for (int& c : g.groups) c = moved[static_cast<size_t>(c)];
      std::sort(g.nodes.begin(), g.nodes.end());
      g.depth = g.parent == kNone ? 0 : kept[static_cast<size_t>(g.parent)].depth + 1;
    }
    for (GraphNode& n : model_.nodes_) n.group = moved[static_cast<size_t>(n.group)];
    model_.groups_ = std::move(kept);
  }

  // Nodes with equal labels compute the same on other weights and inputs.
  std::string label_of(const GraphNode& n) {
    std::string label = n.op;
    for (const auto& [key, text] : n.attributes) label += ";" + key + "=" + text;
    for (const int v : n.inputs)
      if (v != kNone && value(v).constant.defined()) label += ";" + value(v).type;
    for (const int v : n.outputs)
      if (v != kNone) label += ">" + value(v).type;
    return label;
  }

  int add_group(int parent, std::string name, std::string path, size_t repeats) {
    GraphGroup g;
    g.name = std::move(name);
    g.path = std::move(path);
    g.repeats = repeats;
    g.parent = parent;
    g.depth = group(parent).depth + 1;
    const int id = static_cast<int>(model_.groups_.size());
    model_.groups_.push_back(std::move(g));
    group(parent).groups.push_back(id);
    return id;
  }

  // Makes a group of each repetition of layers, and one of each of its layers, if no names of nodes
  // make groups.
  void fold_repeated_layers() {
    for (const GraphGroup& g : model_.groups_)
      if (g.parent == kRoot && !g.is_subgraph) return;
    std::vector<int> nodes;  // of the sequence
    std::vector<int> place(model_.nodes_.size(), -1);
    std::vector<SequenceNode> sequence;
    for (const int n : group(kRoot).nodes) {
      if (node(n).kind != NodeKind::op) continue;
      SequenceNode shown{label_of(node(n)), {}};
      for (const int v : node(n).inputs)
        shown.producers.push_back(v == kNone || value(v).producer == kNone
                                      ? -1
                                      : place[static_cast<size_t>(value(v).producer)]);
      place[static_cast<size_t>(n)] = static_cast<int>(nodes.size());
      nodes.push_back(n);
      sequence.push_back(std::move(shown));
    }
    if (nodes.size() < kLeastToFold) return;
    const auto runs = repeated_layers(sequence);
    for (size_t r = 0; r < runs.size(); r++) {
      const std::string kind = runs.size() == 1 ? "layer" : fmt::format("layer {}", r + 1);
      const std::string name = fmt::format("{} \u00d7 {}", kind, runs[r].count);
      const int all = add_group(kRoot, name, name, runs[r].count);
      for (size_t k = 0; k < runs[r].count; k++) {
        const std::string one = fmt::format("{} of {}", k + 1, runs[r].count);
        const int layer = add_group(all, one, name + "/" + one, 0);
        for (size_t i = 0; i < runs[r].length; i++) {
          const int n = nodes[runs[r].first + k * runs[r].length + i];
          node(n).group = layer;
          group(layer).nodes.push_back(n);
        }
      }
    }
    std::erase_if(group(kRoot).nodes, [&](int n) { return node(n).group != kRoot; });
  }

  void sum_groups() {
    for (GraphGroup& g : model_.groups_) g.all_nodes = g.nodes.size();
    for (size_t i = model_.groups_.size(); i-- > 1;)
      group(model_.groups_[i].parent).all_nodes += model_.groups_[i].all_nodes;
    // Several nodes of a group may read one weight.
    std::vector<const GraphValue*> counted(model_.groups_.size(), nullptr);
    for (const GraphValue& v : model_.values_) {
      if (!v.constant.defined()) continue;
      for (const int reader : v.consumers) {
        if (node(reader).kind != NodeKind::op) continue;
        for (int g = node(reader).group; g != kNone && counted[static_cast<size_t>(g)] != &v;
             g = group(g).parent) {
          counted[static_cast<size_t>(g)] = &v;
          group(g).weight_bytes += v.bytes;
        }
      }
    }
  }

  GraphModel& model_;
  std::unordered_map<const ir::Value*, int> values_;
  std::unordered_map<const ir::Node*, std::string> keys_;
  std::map<std::pair<int, std::string>, int> children_;
};

GraphModel::GraphModel(const ir::Graph& graph) {
  GraphModelMaker(*this).make(graph);
  instructions_ = std::make_shared<NodeNames>(*this);
}

int GraphModel::node_of_instruction(std::string_view name) const {
  return instructions_->find(name);
}

int GraphModel::find(std::string_view name) const {
  const auto first = [&](const auto& matches) {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), matches);
    return found == nodes_.end() ? kNone : static_cast<int>(found - nodes_.begin());
  };
  // The name of an output is often the key of the node that computes it.
  for (const int found :
       {first([&](const GraphNode& n) { return n.kind != NodeKind::output && n.name == name; }),
        first([&](const GraphNode& n) { return n.key == name; }),
        first([&](const GraphNode& n) { return n.name == name; })})
    if (found != kNone) return found;
  for (const GraphValue& v : values_)
    if (v.name == name)
      return v.producer != kNone ? v.producer : v.consumers.empty() ? kNone : v.consumers[0];
  return kNone;
}

std::vector<int> GraphModel::predecessors(int i) const {
  std::vector<int> found;
  for (const int v : node(i).inputs)
    if (v != kNone && value(v).producer != kNone) found.push_back(value(v).producer);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<int> GraphModel::successors(int i) const {
  std::vector<int> found;
  for (const int v : node(i).outputs)
    if (v != kNone) found.insert(found.end(), value(v).consumers.begin(), value(v).consumers.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::pair<std::string, size_t>> GraphModel::operator_counts() const {
  std::map<std::string, size_t> counts;
  for (const GraphNode& n : nodes_)
    if (n.kind == NodeKind::op) counts[n.op]++;
  std::vector<std::pair<std::string, size_t>> rows(counts.begin(), counts.end());
  stable_order(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

size_t GraphModel::operator_count() const {
  return static_cast<size_t>(std::count_if(
      nodes_.begin(), nodes_.end(), [](const GraphNode& n) { return n.kind == NodeKind::op; }));
}

size_t GraphModel::edge_count() const {
  size_t edges = 0;
  for (const GraphValue& v : values_)
    if (v.producer != kNone) edges += v.consumers.size();
  return edges;
}

std::optional<onnx::OperatorDoc> GraphModel::documentation(int id) const {
  const std::string& op = node(id).op;
  if (node(id).kind != NodeKind::op) return std::nullopt;
  const size_t dot = op.rfind('.');
  const std::string domain = dot == std::string::npos ? "" : op.substr(0, dot);
  const auto version = opsets_.find(domain);
  return onnx::operator_doc(domain, dot == std::string::npos ? op : op.substr(dot + 1),
                            version == opsets_.end() ? 0 : version->second);
}

}  // namespace poprt::inspector

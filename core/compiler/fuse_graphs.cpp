#include "compiler/fuse_graphs.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <unordered_map>

#include "base/json.h"
#include "compiler/flow/class_labels.h"
#include "compiler/onnx_metadata.h"
#include "program/link.h"

namespace poprt::compiler {
namespace {

// The key of the metadata with the names of the fused models as a JSON array.
constexpr const char* kFused = "prop.poprt.model_fusion";

void add_prefix(ir::Graph& graph, const std::string& prefix) {
  // Long names are changed first, because the new name of a value may be the old name of another
  // one.
  std::vector<ir::Value*> values = graph.values();
  std::ranges::sort(values, std::greater(), [](const ir::Value* v) { return v->name().size(); });
  for (ir::Value* v : values) graph.rename(v, prefix + v->name());
  for (ir::Node* n : graph.nodes()) {
    if (!n->name.empty()) n->name = prefix + n->name;
    ir::for_each_subgraph(*n, [&](ir::Graph& sub) { add_prefix(sub, prefix); });
  }
}

// Moves the contents of `from` to the end of `to`; inputs and outputs follow those of `to`. An
// input with a value becomes a constant. All names are unique.
class Move {
 public:
  Move(ir::Graph& from, ir::Graph& to) : from_(from), to_(to) {}

  void run() {
    for (ir::Value* v : from_.values()) {
      if (v->is_constant())
        moved_[v] = to_.add_constant(v->name(), v->constant());
      else if (from_.is_input(v))
        moved_[v] = to_.add_input(v->name(), v->type);
    }
    for (ir::Node* n : from_.nodes()) move(*n);
    for (const ir::Value* v : from_.outputs()) to_.add_output(moved_.at(v));
    // Nodes of subgraphs still read the old values.
    while (!from_.outputs().empty()) from_.remove_output(from_.outputs().size() - 1);
    for (ir::Value* v : from_.values()) from_.replace_all_uses(v, moved_.at(v));
  }

 private:
  void move(ir::Node& n) {
    std::vector<ir::Value*> inputs;
    for (ir::Value* v : n.inputs()) inputs.push_back(v ? moved_.at(v) : nullptr);
    std::vector<std::string> names;
    for (const ir::Value* v : n.outputs()) names.push_back(v->name());
    ir::Node* made = to_.add_node(n.op_type, n.domain, inputs, names.size(), nullptr, names);
    made->name = n.name;
    made->attributes = std::move(n.attributes);
    n.attributes.clear();
    ir::for_each_subgraph(*made, [&](ir::Graph& sub) { sub.parent = &to_; });
    for (size_t i = 0; i < names.size(); i++) {
      made->output(i)->type = n.output(i)->type;
      moved_[n.output(i)] = made->output(i);
    }
    n.set_inputs({});
  }

  ir::Graph &from_, &to_;
  std::unordered_map<const ir::Value*, ir::Value*> moved_;
};

void merge_opsets(const ir::Graph& from, ir::Graph& to, const std::string& name) {
  for (const auto& [domain, version] : from.opsets) {
    // The standard domain has two names.
    std::string key = domain;
    if (domain.empty() || domain == "ai.onnx") key = to.opsets.contains("ai.onnx") ? "ai.onnx" : "";
    const auto [it, added] = to.opsets.emplace(key, version);
    if (!added && it->second != version)
      fail(ErrorCode::invalid_argument,
           "model '{}' imports version {} of domain '{}', the models before it version {}: convert "
           "them to one (convert_version) before they are fused",
           name, version, domain.empty() ? "ai.onnx" : domain, it->second);
  }
}

void merge_metadata(const ir::Graph& from, ir::Graph& to, const std::string& prefix) {
  const std::string labels = std::string(kOwnProperty) + std::string(kClassLabels);
  for (const auto& [key, value] : from.metadata) {
    if (key == "ir_version") {
      std::string& version = to.metadata[key];
      if (version.size() < value.size() || (version.size() == value.size() && version < value))
        version = value;
    } else if (key.starts_with(labels)) {
      to.metadata[labels + prefix + key.substr(labels.size())] = value;
    } else if (!key.starts_with(kOwnProperty)) {
      const bool property = key.starts_with("prop.");
      to.metadata["prop." + prefix + (property ? key.substr(5) : key)] = value;
    }
  }
}

}  // namespace

std::string graph_prefix(size_t k) { return fmt::format("graph{}/", k); }

std::unique_ptr<ir::Graph> fuse_graphs(std::vector<std::unique_ptr<ir::Graph>> graphs,
                                       const std::vector<std::string>& names) {
  if (graphs.empty()) fail(ErrorCode::invalid_argument, "there are no models to fuse");
  auto fused = std::make_unique<ir::Graph>("model_fusion");
  for (size_t k = 0; k < graphs.size(); k++) {
    ir::Graph& g = *graphs[k];
    if (fused_graph_count(g))
      fail(ErrorCode::invalid_argument, "model '{}' is already fused", names.at(k));
    merge_opsets(g, *fused, names.at(k));
    merge_metadata(g, *fused, graph_prefix(k));
    add_prefix(g, graph_prefix(k));
    Move(g, *fused).run();
  }
  fused->add_input(program::kGraphIndex, ir::ValueType::of(DType::u32, {1}));
  fused->metadata["producer_name"] = "poprt";
  fused->metadata[kFused] = json_text(nlohmann::json(names));
  return fused;
}

void append_graph(ir::Graph& to, ir::Graph& from, const std::string& prefix) {
  merge_opsets(from, to, from.name);
  add_prefix(from, prefix);
  Move(from, to).run();
}

std::vector<std::string> fused_names(const ir::Graph& graph) {
  const auto found = graph.metadata.find(kFused);
  if (found == graph.metadata.end()) return {};
  const auto json = try_parse_json(found->second);
  constexpr size_t kMost = 1024;
  if (!json.is_array() || json.empty() || json.size() > kMost ||
      !std::ranges::all_of(json, [](const auto& name) { return name.is_string(); }))
    fail(
        ErrorCode::invalid_argument,
        "metadata 'poprt.model_fusion' is not a JSON array of 1 to {} names; fuse the models again",
        kMost);
  return json.get<std::vector<std::string>>();
}

size_t fused_graph_count(const ir::Graph& graph) { return fused_names(graph).size(); }

std::unique_ptr<ir::Graph> split_graph(const ir::Graph& graph, size_t k) {
  auto part = graph.clone();
  const std::string prefix = graph_prefix(k);
  const auto is_mine = [&](const ir::Value* v) { return v->name().starts_with(prefix); };
  for (size_t i = part->outputs().size(); i-- > 0;)
    if (!is_mine(part->outputs()[i])) part->remove_output(i);
  if (part->outputs().empty())
    fail(ErrorCode::invalid_argument, "the fused model has no output '{}...'", prefix);
  const std::vector<ir::Node*> nodes = part->nodes();
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n)
    if (std::ranges::all_of((*n)->outputs(), [&](const ir::Value* v) {
          return v->uses().empty() && !part->is_output(v);
        }))
      part->erase_node(*n);
  for (ir::Value* v : part->values()) {
    if (v->producer() || !v->uses().empty() || part->is_output(v)) continue;
    if (v->is_constant() || !is_mine(v)) part->erase_value(v);
  }
  for (const ir::Value* v : part->inputs())
    if (!is_mine(v))
      fail(ErrorCode::invalid_argument,
           "the fused model's graph {} reads input '{}', which is not its own", k, v->name());
  part->metadata.erase(kFused);
  return part;
}

}  // namespace poprt::compiler

#include "model/rename.h"

#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/types_agree.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

// Renames the values of one graph after another, from outer to inner ones.
class Renamer {
 public:
  explicit Renamer(const Renames& names) : names_(names) {
    for (const auto* list : {&names.nodes, &names.values})
      for (const auto& [from, to] : *list)
        if (to.empty())
          fail(ErrorCode::invalid_argument, "the new name of '{}' is empty; give a name", from);
  }

  // `outer`: the names of values in the graphs around this one. `fresh`: those that are new.
  void rename_values(ir::Graph& graph, std::set<std::string> outer, std::set<std::string> fresh) {
    std::vector<std::pair<ir::Value*, std::string>> changes;
    for (ir::Value* v : graph.values())
      if (const auto it = names_.values.find(printable(v->name())); it != names_.values.end()) {
        changes.emplace_back(v, it->second);
        found_.insert(it->first);
      } else {
        if (fresh.contains(v->name())) fail_because_taken("value", v->name());
        outer.insert(v->name());
      }
    move_declarations(graph, changes);
    // A value may get the former name of another value, so all of them first get temporary names.
    for (const auto& [value, to] : changes) graph.rename(value, graph.fresh_name("renamed"));
    for (const auto& [value, to] : changes) {
      if (!outer.insert(to).second) fail_because_taken("value", to);
      fresh.insert(to);
      graph.rename(value, to);
    }
    for (ir::Node* n : graph.nodes())
      ir::for_each_subgraph(*n, [&](ir::Graph& inner) { rename_values(inner, outer, fresh); });
  }

  // Must precede rename_values(), because a node is found by the former name of its result.
  void rename_nodes(ir::Graph& graph) {
    for (ir::Node* n : graph.nodes()) {
      const auto it = n->outputs().empty()
                          ? names_.nodes.end()
                          : names_.nodes.find(printable(n->outputs().front()->name()));
      if (it != names_.nodes.end()) {
        n->name = it->second;
        found_nodes_[it->first]++;
      }
      if (!n->name.empty()) node_names_.insert(n->name);
      ir::for_each_subgraph(*n, [&](ir::Graph& inner) { rename_nodes(inner); });
    }
  }

  void check_all_found() const {
    for (const auto& [from, to] : names_.nodes) {
      const auto found = found_nodes_.find(from);
      if (found == found_nodes_.end())
        fail(ErrorCode::not_found, "no node computes '{}', so no node can be renamed to '{}'", from,
             printable(to));
      // Several nodes may be renamed: both branches of an If may compute a value named `from`.
      if (node_names_.count(to) > found->second) fail_because_taken("node", to);
    }
    for (const auto& [from, to] : names_.values)
      if (!found_.contains(from)) fail(ErrorCode::not_found, "the graph has no value '{}'", from);
  }

 private:
  [[noreturn]] static void fail_because_taken(const char* kind, const std::string& name) {
    fail(ErrorCode::invalid_argument,
         "another {} has the name '{}'; choose a name that the model does not have", kind,
         printable(name));
  }
  // The importer stores the declared types of sequences and optionals under the names of values.
  static void move_declarations(ir::Graph& graph,
                                const std::vector<std::pair<ir::Value*, std::string>>& changes) {
    std::map<std::string, std::string> moved;
    for (const auto& [value, to] : changes)
      if (auto entry = graph.metadata.extract(ir::kDeclaredContainer + value->name())) {
        entry.key() = ir::kDeclaredContainer + to;
        moved.insert(std::move(entry));
      }
    graph.metadata.merge(moved);
  }

  const Renames& names_;
  std::set<std::string> found_;
  std::map<std::string, size_t> found_nodes_;  // renamed nodes by their first result
  std::multiset<std::string> node_names_;
};

}  // namespace

std::unique_ptr<ir::Graph> renamed(const ir::Graph& graph, const Renames& names) {
  auto copy = graph.clone();
  Renamer renamer(names);
  renamer.rename_nodes(*copy);
  renamer.rename_values(*copy, {}, {});
  renamer.check_all_found();
  return copy;
}

}  // namespace poprt::inspector

// A pass that replaces Add by Sub. `--passes replace_add_with_sub` runs it when a model is
// converted.
#include <cstring>
#include <vector>

#include "poprt/plugin.h"

namespace {

int32_t run(const poprt_graph_host* host, poprt_graph* graph, void*) {
  std::vector<poprt_node*> nodes(host->graph_nodes(graph, nullptr, 0));
  host->graph_nodes(graph, nodes.data(), nodes.size());
  for (poprt_node* node : nodes)
    if (!std::strcmp(host->node_type(node), "Add") && !*host->node_domain(node))
      if (const int32_t code = host->set_type(node, "", "Sub")) return code;
  return POPRT_OK;
}

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  poprt_pass pass{};
  pass.struct_size = sizeof pass;
  pass.name = "replace_add_with_sub";
  pass.summary = "puts Sub in the place of Add";
  pass.run = run;
  return host->add_pass(registry, &pass);
}

}  // namespace

POPRT_PLUGIN("replace_add_with_sub", "1.0", init)

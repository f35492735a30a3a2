// A pattern that replaces Relu by Neg, as in PopRT's manual. It is disabled unless custom_patterns
// names it.
#include "poprt/plugin.h"

namespace {

int32_t matches(const poprt_graph_host* host, poprt_node* node, void*) {
  const char* type = host->node_type(node);
  const char* domain = host->node_domain(node);
  const char relu[] = "Relu";
  for (int i = 0; i < 5; i++)
    if (type[i] != relu[i]) return 0;
  return domain[0] == 0;
}

// Adds a new node and removes the old one. Here, changing only the type (set_type) would suffice.
int32_t apply(const poprt_graph_host* host, poprt_node* node, void*) {
  poprt_value* x = host->node_input(node, 0);
  poprt_node* neg = host->add_node(host->node_graph(node), "", "Neg", &x, 1, 1, node);
  if (!neg) return POPRT_INTERNAL;
  if (const int32_t code = host->infer(neg)) return code;
  if (const int32_t code =
          host->replace_value(host->node_output(node, 0), host->node_output(neg, 0)))
    return code;
  return host->erase_node(node);
}

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  poprt_pattern pattern{};
  pattern.struct_size = sizeof pattern;
  pattern.name = "ReplaceReluWithNeg";
  pattern.summary = "puts Neg in the place of Relu";
  pattern.matches = matches;
  pattern.apply = apply;
  return host->add_pattern(registry, &pattern);
}

}  // namespace

POPRT_PLUGIN("replace_relu_with_neg", "1.0", init)

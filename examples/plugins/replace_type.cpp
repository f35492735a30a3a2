// A pass with parameters: changes the type of at most `most` nodes. --passes replace_type
// --pass_args replace_type.types=Add,Mul replace_type.to=Sub replace_type.most=3
#include <cstdlib>
#include <string>
#include <vector>

#include "poprt/plugin.h"

namespace {

// Returns whether `names`, separated by commas, contains `name`.
bool has(const std::string& names, const std::string& name) {
  return ("," + names + ",").find("," + name + ",") != std::string::npos;
}

int32_t run(const poprt_graph_host* host, poprt_graph* graph, void*) {
  const std::string types = host->get_parameter(graph, "types");
  const std::string to = host->get_parameter(graph, "to");
  const long long most = std::strtoll(host->get_parameter(graph, "most"), nullptr, 10);
  const bool verbose = std::string(host->get_parameter(graph, "verbose")) == "True";
  std::vector<poprt_node*> nodes(host->graph_nodes(graph, nullptr, 0));
  host->graph_nodes(graph, nodes.data(), nodes.size());
  long long done = 0;
  for (poprt_node* node : nodes) {
    if (*host->node_domain(node) || !has(types, host->node_type(node)) || done == most) continue;
    if (const int32_t code = host->set_type(node, "", to.c_str())) return code;
    done++;
  }
  if (verbose) host->log(3, (std::to_string(done) + " nodes are " + to + " now").c_str());
  return POPRT_OK;
}

const poprt_pass_parameter kTypes = {sizeof kTypes,         "types", "types of operators",
                                     POPRT_PARAMETER_NAMES, 0,       "Add"};
const poprt_pass_parameter kTo = {sizeof kTo,           "to", "what they become",
                                  POPRT_PARAMETER_TEXT, 1,    nullptr};
const poprt_pass_parameter kMost = {
    sizeof kMost, "most", "how many of them; -1: all", POPRT_PARAMETER_INTEGER, 0, "-1"};
const poprt_pass_parameter kVerbose = {sizeof kVerbose,      "verbose", "says how many",
                                       POPRT_PARAMETER_FLAG, 0,         "False"};
const poprt_pass_parameter* const kParameters[] = {&kTypes, &kTo, &kMost, &kVerbose};

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  poprt_pass pass{};
  pass.struct_size = sizeof pass;
  pass.name = "replace_type";
  pass.summary = "puts another operator in the place of some";
  pass.run = run;
  pass.parameters = kParameters;
  pass.parameter_count = sizeof kParameters / sizeof *kParameters;
  return host->add_pass(registry, &pass);
}

}  // namespace

POPRT_PLUGIN("replace_type", "1.0", init)

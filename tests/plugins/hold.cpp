// A plug-in for tests of requests that arrive during a compilation: its pattern changes nothing.
// While the FIFO that POPRT_TEST_HOLD names exists, it holds back every compilation of a shape of
// 30 or more rows. A test makes the FIFO and starts such a request; opening the FIFO for writing
// returns when the compilation has begun; then the test removes the FIFO from its folder, so that
// later nodes and compilations do not wait; closing it continues the compilation.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "poprt/plugin.h"

namespace {

constexpr int64_t kHeldRows = 30;

int32_t matches(const poprt_graph_host* host, poprt_node* node, void*) {
  const char* fifo = std::getenv("POPRT_TEST_HOLD");
  poprt_value* x = fifo && host->node_input_count(node) > 0 ? host->node_input(node, 0) : nullptr;
  if (!x) return 0;
  poprt_op_tensor type{};
  type.struct_size = sizeof type;
  host->value_type(x, &type);
  if (type.rank < 1 || type.shape[0] < kHeldRows) return 0;
  const int file = open(fifo, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char byte = 0;
  while (read(file, &byte, 1) > 0) {
  }
  close(file);
  return 0;
}

int32_t apply(const poprt_graph_host*, poprt_node*, void*) { return POPRT_OK; }

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  poprt_pattern pattern{};
  pattern.struct_size = sizeof pattern;
  pattern.name = "Hold";
  pattern.summary = "holds a compilation back";
  pattern.enabled = 1;
  pattern.matches = matches;
  pattern.apply = apply;
  return host->add_pattern(registry, &pattern);
}

}  // namespace

POPRT_PLUGIN("hold", "1.0", init)

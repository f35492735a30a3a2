// Libraries that cannot be loaded, each wrong in the way that BROKEN_... names. The one of
// BROKEN_SLOW can be loaded, but its init() fails if it is called more than once.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "poprt/plugin.h"

namespace {

[[maybe_unused]] int32_t compute(const poprt_op_call*, void*, void*) { return POPRT_OK; }

[[maybe_unused]] poprt_operator make_operator(const char* domain, const char* name) {
  poprt_operator op{};
  op.struct_size = sizeof op;
  op.domain = domain;
  op.name = name;
  op.version = 1;
  op.compute = compute;
  return op;
}

[[maybe_unused]] int32_t add_parameter(const poprt_plugin_host* host,
                                       poprt_plugin_registry* registry,
                                       poprt_pass_parameter parameter) {
  parameter.struct_size = sizeof parameter;
  const poprt_pass_parameter* const list[] = {&parameter, &parameter};
  poprt_pass pass{};
  pass.struct_size = sizeof pass;
  pass.name = "broken_pass";
  pass.run = [](const poprt_graph_host*, poprt_graph*, void*) -> int32_t { return POPRT_OK; };
  pass.parameters = list;
  pass.parameter_count = 1;
#if defined(BROKEN_TWO_PARAMETERS)
  pass.parameter_count = 2;
#endif
  return host->add_pass(registry, &pass);
}

[[maybe_unused]] int32_t init([[maybe_unused]] const poprt_plugin_host* host,
                              [[maybe_unused]] poprt_plugin_registry* registry) {
#if defined(BROKEN_THROWS)
  throw std::runtime_error("the licence has expired");
#elif defined(BROKEN_THROWS_NUMBER)
  throw 7;
#elif defined(BROKEN_FAILS)
  return host->fail(registry, POPRT_UNAVAILABLE, "needs %d accelerators, found %d", 2, 0);
#elif defined(BROKEN_CODE)
  return POPRT_PERMISSION_DENIED;
#elif defined(BROKEN_TWICE)
  const poprt_operator op = make_operator("org.example", "Twice");
  host->add_operator(registry, &op);
  return host->add_operator(registry, &op);
#elif defined(BROKEN_TAKEN)
  const poprt_operator op = make_operator("org.example", "LeakyRelu");
  return host->add_operator(registry, &op);
#elif defined(BROKEN_DOMAIN)
  const poprt_operator op = make_operator("ai.onnx", "Relu");
  return host->add_operator(registry, &op);
#elif defined(BROKEN_NEWER)
  struct Newer {
    poprt_operator op;
    void* more;
  } newer{make_operator("org.example", "Newer"), &newer};
  newer.op.struct_size = sizeof newer;
  return host->add_operator(registry, &newer.op);
#elif defined(BROKEN_PASS)
  poprt_pass pass{};
  pass.struct_size = sizeof pass;
  pass.name = "constant_folding";
  pass.run = [](const poprt_graph_host*, poprt_graph*, void*) -> int32_t { return POPRT_OK; };
  return host->add_pass(registry, &pass);
#elif defined(BROKEN_DEFAULT)
  return add_parameter(host, registry, {0, "count", "", POPRT_PARAMETER_INTEGER, 0, "many"});
#elif defined(BROKEN_KIND)
  return add_parameter(host, registry, {0, "count", "", 99, 0, nullptr});
#elif defined(BROKEN_REQUIRED)
  return add_parameter(host, registry, {0, "count", "", POPRT_PARAMETER_INTEGER, 1, "3"});
#elif defined(BROKEN_TWO_PARAMETERS)
  return add_parameter(host, registry, {0, "count", "", POPRT_PARAMETER_TEXT, 0, nullptr});
#elif defined(BROKEN_PARAMETER)
  return add_parameter(host, registry, {0, "two words", "", POPRT_PARAMETER_TEXT, 0, nullptr});
#elif defined(BROKEN_SLOW)
  static std::atomic<int> calls{0};
  if (calls++) return host->fail(registry, POPRT_ALREADY_EXISTS, "init is called again");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const poprt_operator op = make_operator("org.example", "Slow");
  return host->add_operator(registry, &op);
#else
  return POPRT_OK;
#endif
}

}  // namespace

#if defined(BROKEN_ABI)
POPRT_PLUGIN_EXPORT const poprt_plugin* poprt_plugin_entry(void) {
  static const poprt_plugin self = {99, 0, sizeof(poprt_plugin), "later", "1.0", init};
  return &self;
}
#elif defined(BROKEN_NULL)
POPRT_PLUGIN_EXPORT const poprt_plugin* poprt_plugin_entry(void) { return nullptr; }
#elif !defined(BROKEN_ENTRY)
POPRT_PLUGIN("broken", "1.0", init)
#endif

// A plug-in for tests: operators that take attributes of all kinds, keep a state, have several
// outputs, compute halves, fail, throw and break their contract; patterns and passes that edit
// graphs, or fail.
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "poprt/plugin.h"

namespace {

const float* floats(const poprt_op_tensor* t) { return static_cast<const float*>(t->data); }
float* result(const poprt_op_call* call, size_t i) {
  return static_cast<float*>(call->outputs[i]->data);
}
uint64_t count(const poprt_op_tensor* t) { return t->bytes / sizeof(float); }

int32_t infer_same(const poprt_op_call* call, void*) {
  const poprt_op_tensor* x = call->inputs[0];
  for (size_t i = 0; i < call->output_count; i++)
    if (const int32_t code = call->host->set_output(call, i, x->dtype, x->rank, x->shape))
      return code;
  return POPRT_OK;
}

// Attributes(x): y = i + f + ints + floats + length of text + sum of tensor, for each element.
int32_t compute_attributes(const poprt_op_call* call, void*, void*) {
  const poprt_op_host& h = *call->host;
  int64_t i = 0;
  float f = 0;
  const char* text = "";
  size_t text_size = 0, int_count = 0, float_count = 0;
  const int64_t* ints = nullptr;
  const float* reals = nullptr;
  const poprt_op_tensor* tensor = nullptr;
  h.get_int(call, "i", &i);
  h.get_float(call, "f", &f);
  h.get_string(call, "text", &text, &text_size);
  h.get_ints(call, "ints", &ints, &int_count);
  h.get_floats(call, "floats", &reals, &float_count);
  h.get_tensor(call, "tensor", &tensor);
  float sum = static_cast<float>(i) + f + static_cast<float>(std::strlen(text) + text_size);
  for (size_t k = 0; k < int_count; k++) sum += static_cast<float>(ints[k]);
  for (size_t k = 0; k < float_count; k++) sum += reals[k];
  if (tensor)
    for (uint64_t k = 0; k < count(tensor); k++) sum += floats(tensor)[k];
  for (uint64_t k = 0; k < count(call->outputs[0]); k++)
    result(call, 0)[k] = floats(call->inputs[0])[k] + sum;
  return POPRT_OK;
}

// SplitSign(x): (positive part, negative part), with a state that counts.
struct State {
  int64_t elements;
};
std::atomic<int64_t> states{0};

int32_t prepare_split(const poprt_op_call* call, void** out_state, void*) {
  *out_state = new State{static_cast<int64_t>(count(call->outputs[0]))};
  states++;
  return POPRT_OK;
}
int32_t compute_split(const poprt_op_call* call, void* state, void*) {
  const int64_t n = static_cast<State*>(state)->elements;
  for (int64_t i = 0; i < n; i++) {
    const float x = floats(call->inputs[0])[i];
    result(call, 0)[i] = x > 0 ? x : 0;
    result(call, 1)[i] = x < 0 ? x : 0;
  }
  return POPRT_OK;
}
void release_split(void* state, void*) {
  delete static_cast<State*>(state);
  states--;
}

// RepeatRows(x, times): times comes as a constant, which decides the shape.
int32_t infer_repeat(const poprt_op_call* call, void*) {
  const poprt_op_tensor *x = call->inputs[0], *times = call->inputs[1];
  if (!times || !times->data)
    return call->host->fail(call, POPRT_INVALID_ARGUMENT, "input times must be a constant");
  if (x->rank < 1) return call->host->set_output(call, 0, x->dtype, -1, nullptr);
  std::vector<int64_t> shape(x->shape, x->shape + x->rank);
  if (shape[0] >= 0) shape[0] *= *static_cast<const int64_t*>(times->data);
  return call->host->set_output(call, 0, x->dtype, x->rank, shape.data());
}
int32_t compute_repeat(const poprt_op_call* call, void*, void*) {
  auto* to = static_cast<char*>(call->outputs[0]->data);
  const uint64_t bytes = call->inputs[0]->bytes;
  for (uint64_t at = 0; bytes && at < call->outputs[0]->bytes; at += bytes)
    std::memcpy(to + at, call->inputs[0]->data, bytes);
  return POPRT_OK;
}

// RefuseNegative(x): x, and an error when an element is negative.
int32_t compute_refuse(const poprt_op_call* call, void*, void*) {
  const float* x = floats(call->inputs[0]);
  for (uint64_t i = 0; i < count(call->inputs[0]); i++) {
    if (x[i] < -1000) throw std::runtime_error("the number is far too small");
    if (x[i] < -100) return POPRT_ABORTED;
    if (x[i] < 0)
      return call->host->fail(call, POPRT_OUT_OF_RANGE, "element %d is %g, expected at least 0",
                              static_cast<int>(i), static_cast<double>(x[i]));
    result(call, 0)[i] = x[i];
  }
  return POPRT_OK;
}

// WritesTooMuch(x): writes one element more than it declared.
int32_t compute_writes_too_much(const poprt_op_call* call, void*, void*) {
  for (uint64_t i = 0; i <= count(call->outputs[0]); i++) result(call, 0)[i] = 1;
  return POPRT_OK;
}

// HalfBits(x): the stored bits of each element with the sign bit inverted.
int32_t compute_half(const poprt_op_call* call, void*, void*) {
  if (call->inputs[0]->dtype != POPRT_DTYPE_F16)
    return call->host->fail(call, POPRT_UNIMPLEMENTED, "expected f16, found type %d",
                            static_cast<int>(call->inputs[0]->dtype));
  const auto* x = static_cast<const uint16_t*>(call->inputs[0]->data);
  auto* y = static_cast<uint16_t*>(call->outputs[0]->data);
  for (uint64_t i = 0; i < call->inputs[0]->bytes / 2; i++) y[i] = x[i] ^ 0x8000;
  return POPRT_OK;
}

// Counter(x): x + how many runs there were in the process; impure.
int32_t compute_counter(const poprt_op_call* call, void*, void* user_data) {
  const auto runs = static_cast<float>(++*static_cast<std::atomic<int64_t>*>(user_data));
  for (uint64_t i = 0; i < count(call->outputs[0]); i++)
    result(call, 0)[i] = floats(call->inputs[0])[i] + runs;
  return POPRT_OK;
}
std::atomic<int64_t> runs{0};

// Parts(x): each row is a part, y = x + the row's number; attribute fail_at names a row that fails,
// and parts sets another number of them.
int32_t count_parts(const poprt_op_call* call, void*, int64_t* out, void*) {
  int64_t wrong = 0;
  *out = call->inputs[0]->shape[0];
  if (call->host->get_int(call, "parts", &wrong) == POPRT_OK) *out = wrong;
  return POPRT_OK;
}
int32_t compute_part(const poprt_op_call* call, void*, int64_t begin, int64_t end, void*) {
  int64_t fail_at = -1;
  call->host->get_int(call, "fail_at", &fail_at);
  const auto width = static_cast<int64_t>(count(call->inputs[0])) / call->inputs[0]->shape[0];
  for (int64_t row = begin; row < end; row++) {
    if (row == fail_at)
      return call->host->fail(call, POPRT_INVALID_ARGUMENT, "row %d is not wanted",
                              static_cast<int>(row));
    for (int64_t i = row * width; i < (row + 1) * width; i++)
      result(call, 0)[i] = floats(call->inputs[0])[i] + static_cast<float>(row);
  }
  return POPRT_OK;
}
int32_t compute_all_parts(const poprt_op_call* call, void* state, void* user_data) {
  return compute_part(call, state, 0, call->inputs[0]->shape[0], user_data);
}

int32_t infer_throws(const poprt_op_call*, void*) { throw std::runtime_error("no shape today"); }

int32_t add_operators(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  const auto add = [&](const char* name, auto compute, auto infer, uint32_t flags = 0,
                       void* user = nullptr) {
    poprt_operator op{};
    op.struct_size = sizeof op;
    op.domain = "ai.graphcore";  // as in PopRT's manual
    op.name = name;
    op.version = 3;
    op.flags = flags;
    op.infer = infer;
    op.compute = compute;
    op.user_data = user;
    if (!std::strcmp(name, "SplitSign")) {
      op.prepare = prepare_split;
      op.release = release_split;
    }
    if (!std::strcmp(name, "Parts")) {
      op.parts = count_parts;
      op.compute_part = compute_part;
    }
    return host->add_operator(registry, &op);
  };
  add("Attributes", compute_attributes, infer_same);
  add("SplitSign", compute_split, infer_same);
  add("RepeatRows", compute_repeat, infer_repeat);
  add("RefuseNegative", compute_refuse, infer_same);
  add("Declared", compute_refuse, decltype(&infer_same){});
  add("WritesTooMuch", compute_writes_too_much, infer_same);
  add("HalfBits", compute_half, infer_same, POPRT_OPERATOR_HALF);
  add("Parts", compute_all_parts, infer_same);
  add("Counter", compute_counter, infer_same, POPRT_OPERATOR_IMPURE, &runs);
  return add("InferThrows", compute_refuse, infer_throws);
}

bool is(const poprt_graph_host* host, const poprt_node* node, const char* type) {
  return !std::strcmp(host->node_type(node), type);
}

// Replaces Sin(x) by x * 2 + 1, with new nodes, constants and names.
int32_t expand_sin(const poprt_graph_host* h, poprt_node* node, void*) {
  poprt_graph* graph = h->node_graph(node);
  const float two = 2, one = 1;
  poprt_value* factors[] = {h->node_input(node, 0),
                            h->add_constant(graph, "two", POPRT_DTYPE_F32, 0, nullptr, &two, 4)};
  poprt_node* mul = h->add_node(graph, "", "Mul", factors, 2, 1, node);
  if (!mul) return POPRT_INTERNAL;
  poprt_value* terms[] = {h->node_output(mul, 0),
                          h->add_constant(graph, "one", POPRT_DTYPE_F32, 0, nullptr, &one, 4)};
  poprt_node* add = h->add_node(graph, "", "Add", terms, 2, 1, node);
  if (!add) return POPRT_INTERNAL;
  h->set_name(mul, "twice");
  if (const int32_t code = h->replace_value(h->node_output(node, 0), h->node_output(add, 0)))
    return code;
  return h->erase_node(node);
}

// The input of a Cos replaces its result, also if that is an output.
int32_t skip_cos(const poprt_graph_host* h, poprt_node* node, void*) {
  if (const int32_t code = h->replace_value(h->node_output(node, 0), h->node_input(node, 0)))
    return code;
  return h->erase_node(node);
}

int32_t add_patterns(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  const auto add = [&](const char* name, const char* type, auto apply, int32_t enabled,
                       int32_t mandatory) {
    poprt_pattern pattern{};
    pattern.struct_size = sizeof pattern;
    pattern.name = name;
    pattern.enabled = enabled;
    pattern.mandatory = mandatory;
    pattern.matches = [](const poprt_graph_host* h, poprt_node* node, void* user) -> int32_t {
      return is(h, node, static_cast<const char*>(user)) && !*h->node_domain(node);
    };
    pattern.apply = apply;
    pattern.user_data = const_cast<char*>(type);
    return host->add_pattern(registry, &pattern);
  };
  add("ExpandSin", "Sin", expand_sin, 1, 0);
  add("SkipCos", "Cos", skip_cos, 1, 1);
  add(
      "Endless", "Tan",
      [](const poprt_graph_host*, poprt_node*, void*) -> int32_t { return POPRT_OK; }, 0, 0);
  add(
      "EraseUsed", "Tan",
      [](const poprt_graph_host* h, poprt_node* node, void*) -> int32_t {
        return h->erase_node(node);
      },
      0, 0);
  return add(
      "Throwing", "Tan",
      [](const poprt_graph_host*, poprt_node*, void*) -> int32_t {
        throw std::runtime_error("nothing rhymes with it");
      },
      0, 0);
}

// Sets attributes of every kind, and reads some.
int32_t run_attributes(const poprt_graph_host* h, poprt_graph* graph, void*) {
  std::vector<poprt_node*> nodes(h->graph_nodes(graph, nullptr, 0));
  h->graph_nodes(graph, nodes.data(), nodes.size());
  const int64_t ints[] = {3, 4};
  const float reals[] = {0.5f};
  for (poprt_node* node : nodes) {
    if (!is(h, node, "Attributes")) continue;
    h->set_int(node, "i", 2);
    h->set_float(node, "f", 0.25f);
    h->set_string(node, "text", "four");
    h->set_ints(node, "ints", ints, 2);
    h->set_floats(node, "floats", reals, 1);
    if (h->remove_attribute(node, "tensor") != POPRT_NOT_FOUND)
      return h->fail(graph, POPRT_INTERNAL, "there was no tensor to remove");
    int64_t i = 0;
    if (h->get_int(node, "i", &i) != POPRT_OK || i != 2)
      return h->fail(graph, POPRT_INTERNAL, "i is %d", static_cast<int>(i));
    h->get_float(node, "i", nullptr);  // fails, because the attribute has another kind
  }
  return POPRT_OK;
}

// Gives nodes of a type the name in the words TYPE=NAME, after the prefix in the user data.
int32_t run_words(const poprt_graph_host* h, poprt_graph* graph, void* prefix) {
  std::vector<poprt_node*> nodes(h->graph_nodes(graph, nullptr, 0));
  h->graph_nodes(graph, nodes.data(), nodes.size());
  std::istringstream words(h->get_parameter(graph, "words"));
  for (std::string word; std::getline(words, word);)
    for (poprt_node* node : nodes)
      if (const size_t at = word.find('='); word.substr(0, at) == h->node_type(node))
        h->set_name(node, (static_cast<const char*>(prefix) + word.substr(at + 1)).c_str());
  return POPRT_OK;
}

int32_t add_words(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  // The host copies the parameter, because it is destroyed when this function returns.
  const auto parameter = std::make_unique<poprt_pass_parameter>();
  *parameter = {sizeof *parameter, "words", "TYPE=NAME", POPRT_PARAMETER_WORDS, 0, "Relu=none"};
  const poprt_pass_parameter* const list[] = {parameter.get()};
  static char prefix[] = "my_";
  poprt_pass pass{};
  pass.struct_size = sizeof pass;
  pass.name = "trial_words";
  pass.run = run_words;
  pass.user_data = prefix;
  pass.parameters = list;
  pass.parameter_count = 1;
  return host->add_pass(registry, &pass);
}

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  if (const int32_t code = add_operators(host, registry)) return code;
  if (const int32_t code = add_patterns(host, registry)) return code;
  const auto add_pass = [&](const char* name, auto run) {
    poprt_pass pass{};
    pass.struct_size = sizeof pass;
    pass.name = name;
    pass.summary = "tests";
    pass.run = run;
    return host->add_pass(registry, &pass);
  };
  add_pass("trial_attributes", run_attributes);
  add_pass("trial_cycle", [](const poprt_graph_host* h, poprt_graph* graph, void*) -> int32_t {
    poprt_node* first = nullptr;
    h->graph_nodes(graph, &first, 1);
    return h->set_input(first, 0, h->node_output(first, 0));
  });
  // "from" is a keyword of Python.
  static const poprt_pass_parameter keyword = {sizeof keyword,       "from", "nothing",
                                               POPRT_PARAMETER_TEXT, 0,      nullptr};
  static const poprt_pass_parameter* const parameters[] = {&keyword};
  poprt_pass asks{};
  asks.struct_size = sizeof asks;
  asks.name = "trial_parameter";
  asks.run = [](const poprt_graph_host* h, poprt_graph* graph, void*) -> int32_t {
    if (!*h->get_parameter(graph, "from")) h->get_parameter(graph, "undeclared");
    return POPRT_OK;
  };
  asks.parameters = parameters;
  asks.parameter_count = 1;
  host->add_pass(registry, &asks);
  if (const int32_t code = add_words(host, registry)) return code;
  poprt_transform transform{};
  transform.struct_size = sizeof transform;
  transform.name = "Refuse";
  transform.apply = [](const poprt_graph_host* h, poprt_graph* graph, const char* checkpoint,
                       void*) -> int32_t {
    return h->fail(graph, POPRT_FAILED_PRECONDITION, "refused at %s with %zu nodes", checkpoint,
                   h->graph_nodes(graph, nullptr, 0));
  };
  return host->add_transform(registry, &transform);
}

}  // namespace

POPRT_PLUGIN("trial", "2.5", init)

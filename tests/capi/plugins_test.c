/* Plug-ins by the C ABI: loading, and runners whose operators fail. */
#include <stdlib.h>

#include "common.h"

static void loading_and_listing(void** state) {
  (void)state;
  FAILS(poprt_plugin_load(NULL), POPRT_INVALID_ARGUMENT, "'path'");
  FAILS(poprt_plugin_load("missing.so"), POPRT_NOT_FOUND, "missing.so");
  FAILS(poprt_plugin_load(DATA "/identity.onnx"), POPRT_FAILED_PRECONDITION, "no shared library");
  FAILS(poprt_plugin_load(PLUGINS "/libbroken_abi.so"), POPRT_FAILED_PRECONDITION, "version 99");
  FAILS(poprt_plugin_load(PLUGINS "/libbroken_throws.so"), POPRT_INTERNAL, "licence");
  FAILS(poprt_plugin_load(PLUGINS "/libbroken_fails.so"), POPRT_UNAVAILABLE, "needs 2");
  FAILS(poprt_plugin_load(PLUGINS "/libbroken_twice.so"), POPRT_ALREADY_EXISTS, "added twice");
  /* The compiler is not loaded yet, and a name of its own passes is refused all the same. */
  FAILS(poprt_plugin_load(PLUGINS "/libbroken_pass.so"), POPRT_ALREADY_EXISTS,
        "'constant_folding' is one of poprt's own");
  FAILS(poprt_plugin_list(NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  poprt_string* text = NULL;
  OK(poprt_plugin_list(&text));
  assert_string_equal(poprt_string_data(text), "[]\n");
  poprt_string_free(text);
  OK(poprt_plugin_load(PLUGINS "/libtrial.so"));
  OK(poprt_plugin_load(PLUGINS "/libtrial.so"));
  OK(poprt_plugin_load(PLUGINS "/libleaky_relu.so"));
  OK(poprt_plugin_list(&text));
  assert_non_null(strstr(poprt_string_data(text), "\"name\": \"trial\", \"version\": \"2.5\""));
  assert_non_null(strstr(poprt_string_data(text),
                         "{\"domain\": \"org.example\", \"name\": \"LeakyRelu\", \"version\": 1}"));
  assert_null(strstr(poprt_string_data(text), "broken"));
  assert_null(strstr(poprt_string_data(text), "constant_folding"));
  poprt_string_free(text);
  OK(poprt_compiler_list_ops(&text));
  assert_non_null(strstr(poprt_string_data(text), "org.example.LeakyRelu"));
  poprt_string_free(text);
  FAILS(poprt_plugin_load(PLUGINS "/libbroken_taken.so"), POPRT_ALREADY_EXISTS, "leaky_relu");
}

/* A field of a protobuf message, of less than 128 bytes. */
static size_t field(char* to, int number, const char* data, size_t size) {
  to[0] = (char)(number << 3 | 2);
  to[1] = (char)size;
  memcpy(to + 2, data, size);
  return size + 2;
}

/* y = ai.graphcore.RefuseNegative(x), f32 [4]. */
static size_t make_model(char* model) {
  char node[100], value[2][60], graph[400], opsets[2][40];
  size_t n = field(node, 1, "x", 1);
  n += field(node + n, 2, "y", 1);
  n += field(node + n, 3, "refuse", 6);
  n += field(node + n, 4, "RefuseNegative", 14);
  n += field(node + n, 7, "ai.graphcore", 12);
  size_t size = field(graph, 1, node, n);
  size += field(graph + size, 2, "g", 1);
  for (int i = 0; i < 2; i++) {
    /* type: tensor_type {elem_type 1, shape {dim {dim_value 4}}} */
    static const char kType[] = {0x0a, 8, 0x08, 1, 0x12, 4, 0x0a, 2, 0x08, 4};
    size_t v = field(value[i], 1, i ? "y" : "x", 1);
    v += field(value[i] + v, 2, kType, sizeof kType);
    size += field(graph + size, i ? 12 : 11, value[i], v);
  }
  size_t at = 0;
  model[at++] = 0x08, model[at++] = 8; /* ir_version */
  model[at++] = 7 << 3 | 2;
  model[at++] = (char)((size & 127) | 128), model[at++] = (char)(size >> 7);
  memcpy(model + at, graph, size);
  at += size;
  static const char kSeventeen[] = {0x10, 17}, kOne[] = {0x10, 1};
  size_t o = field(opsets[0], 1, "", 0);
  memcpy(opsets[0] + o, kSeventeen, 2);
  at += field(model + at, 8, opsets[0], o + 2);
  o = field(opsets[1], 1, "ai.graphcore", 12);
  memcpy(opsets[1] + o, kOne, 2);
  at += field(model + at, 8, opsets[1], o + 2);
  return at;
}

static void a_request_that_fails_fails_alone(void** state) {
  (void)state;
  OK(poprt_plugin_load(PLUGINS "/libtrial.so"));
  char model[1000];
  const size_t size = make_model(model);
  poprt_compiler* compiler = NULL;
  poprt_executable* executable = NULL;
  poprt_runner* runner = NULL;
  OK(poprt_compiler_create(NULL, &compiler));
  OK(poprt_compiler_compile_bytes(compiler, model, size, NULL, &executable));
  OK(poprt_runner_create(executable, NULL, &runner));
  float y[4];
  const float good[] = {1, 2, 3, 4}, bad[] = {1, 2, -3, 4}, worse[] = {1, -5000, 3, 4};
  const poprt_output out[] = {{"y", 0, y, sizeof y}};
  for (int round = 0; round < 3; round++) {
    const poprt_input in[] = {{"x", 0, good, sizeof good}}, wrong[] = {{"x", 0, bad, sizeof bad}},
                      throws[] = {{"x", 0, worse, sizeof worse}};
    OK(poprt_runner_execute(runner, in, 1, out, 1));
    assert_memory_equal(y, good, sizeof y);
    FAILS(poprt_runner_execute(runner, wrong, 1, out, 1), POPRT_OUT_OF_RANGE,
          "operator ai.graphcore.RefuseNegative of node 'refuse': element 2 is -3");
    FAILS(poprt_runner_execute(runner, throws, 1, out, 1), POPRT_INTERNAL, "far too small");
  }
  /* Failed requests do not affect those that wait. */
  poprt_request* requests[8];
  float results[8][4];
  for (int i = 0; i < 8; i++) {
    const poprt_input in[] = {{"x", 0, i % 2 ? bad : good, sizeof good}};
    const poprt_output to[] = {{"y", 0, results[i], sizeof results[i]}};
    OK(poprt_runner_execute_async(runner, in, 1, to, 1, NULL, NULL, &requests[i]));
  }
  for (int i = 0; i < 8; i++) {
    poprt_error* error = poprt_request_wait(requests[i], -1);
    if (i % 2)
      FAILS(error, POPRT_OUT_OF_RANGE, "element 2 is -3");
    else
      OK(error);
    poprt_request_free(requests[i]);
  }
  poprt_runner_free(runner);
  poprt_executable_free(executable);
  poprt_compiler_free(compiler);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loading_and_listing),
      cmocka_unit_test(a_request_that_fails_fails_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

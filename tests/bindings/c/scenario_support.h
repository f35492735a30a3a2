/* Helpers that the scenarios share. */
#ifndef POPRT_TESTS_BINDINGS_C_SCENARIO_SUPPORT_H
#define POPRT_TESTS_BINDINGS_C_SCENARIO_SUPPORT_H

#include <stdlib.h>

#include "capi/common.h"

enum { SLOW = 512 * 512 };

/* Compiles a model of data/; `rank` 0 leaves the shape of `name` alone. */
static inline poprt_executable* compile(const char* file, const char* name, const int64_t* shape,
                                        size_t rank) {
  const poprt_input_shape inputs[] = {{name, shape, rank}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.input_shapes = inputs;
  o.input_shape_count = rank ? 1 : 0;
  char path[512];
  snprintf(path, sizeof path, DATA "/%s", file);
  poprt_compiler* compiler = NULL;
  poprt_executable* executable = NULL;
  OK(poprt_compiler_create(&o, &compiler));
  OK(poprt_compiler_compile_file(compiler, path, &executable));
  poprt_compiler_free(compiler);
  return executable;
}

static const int64_t kShape[] = {2, 4};

static inline poprt_executable* affine(void) { return compile("affine.onnx", "x", kShape, 2); }

static inline poprt_runner* runner_of(poprt_executable* executable, poprt_device* device) {
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  o.device = device;
  poprt_runner* r = NULL;
  OK(poprt_runner_create(executable, &o, &r));
  return r;
}

typedef struct bytes {
  char* data;
  size_t size;
} bytes;

static inline int32_t append(const void* data, size_t size, void* user_data) {
  bytes* b = user_data;
  char* grown = realloc(b->data, b->size + size);
  if (!grown) return 1;
  memcpy(grown + b->size, data, size);
  b->data = grown;
  b->size += size;
  return 0;
}

static inline bytes read_file(const char* path) {
  bytes b = {0};
  char block[4096];
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
    assert_int_equal(append(block, n, &b), 0);
  fclose(file);
  return b;
}

/* The scenarios of scenario_models_test.c. */
void scenario_51_read_a_popef_file(void** state);
void scenario_74_options_by_name(void** state);
void scenario_54_log_messages(void** state);
void scenario_63_several_ipus(void** state);
void scenario_90_estimate(void** state);
void scenario_91_an_estimate_in_the_executable(void** state);
void scenario_125_an_estimate_of_the_command(void** state);
void scenario_126_names_of_options_in_errors(void** state);
void scenario_65_packed_sequences(void** state);
void scenario_80_any_shape(void** state);
void scenario_81_batch_compiled_ahead(void** state);
void scenario_82_warm_up(void** state);
void scenario_83_shape_sets(void** state);
void scenario_112_open_dimensions(void** state);
void scenario_84_shapes_are_removed(void** state);
void scenario_123_memory_of_shapes(void** state);
void scenario_93_precision_of_a_runner(void** state);
void scenario_68_replicas_with_caches(void** state);
/* The scenarios of generator_test.c. */
void scenario_85_generate(void** state);
void scenario_86_wrong_generators(void** state);
void scenario_87_logits(void** state);
void scenario_88_ends(void** state);
void scenario_95_encoder(void** state);
void scenario_96_features(void** state);
void scenario_97_beams(void** state);
void scenario_98_saved_text(void** state);
void scenario_99_named_states(void** state);
void scenario_109_saved_text_in_memory(void** state);
void scenario_110_byte_caches(void** state);
void callbacks_of_sequences(void** state);

#endif

#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static void anchors_describe_the_model(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  assert_string_equal(poprt_executable_name(e), "copies");
  assert_int_equal(poprt_executable_input_count(e), 1);
  assert_int_equal(poprt_executable_output_count(e), 2);
  const poprt_anchor* x = poprt_executable_input(e, 0);
  assert_string_equal(poprt_anchor_name(x), "x");
  assert_int_equal(poprt_anchor_dtype(x), POPRT_DTYPE_F32);
  assert_int_equal(poprt_anchor_rank(x), 1);
  assert_int_equal(poprt_anchor_shape(x)[0], COUNT);
  assert_int_equal(poprt_anchor_bytes(x), COUNT * 4);
  assert_string_equal(poprt_anchor_name(poprt_executable_output(e, 1)), "c");
  assert_null(poprt_executable_input(e, 1));
  assert_null(poprt_executable_output(e, 2));
  assert_int_equal(poprt_executable_weights_bytes(e), 64);
  assert_int_equal(poprt_executable_arena_bytes(e), 64);
  poprt_executable_free(e);
}

static void the_listing_names_kernels(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  poprt_string* text = NULL;
  OK(poprt_executable_listing(e, &text));
  assert_non_null(strstr(poprt_string_data(text), "copy"));
  assert_int_equal(poprt_string_size(text), strlen(poprt_string_data(text)));
  poprt_string_free(text);
  FAILS(poprt_executable_listing(e, NULL), POPRT_INVALID_ARGUMENT, "'out_text' is null");
  FAILS(poprt_executable_listing(NULL, &text), POPRT_INVALID_ARGUMENT, "'executable' is null");
  poprt_executable_free(e);
}

/* The softmax of the rows of x, compiled for these shapes [2, N]. */
static poprt_executable* compile_softmax(const int64_t* sizes, size_t count) {
  int64_t dimensions[2][2];
  poprt_input_shape shapes[2];
  for (size_t i = 0; i < count; i++) {
    dimensions[i][0] = 2;
    dimensions[i][1] = sizes[i];
    shapes[i] = (poprt_input_shape){"x", dimensions[i], 2};
  }
  poprt_compile_options options = {.struct_size = sizeof options};
  options.input_shapes = shapes;
  options.input_shape_count = count;
  poprt_compiler* compiler = NULL;
  poprt_executable* e = NULL;
  OK(poprt_compiler_create(&options, &compiler));
  OK(poprt_compiler_compile_file(compiler, SCENARIOS "/softmax.onnx", &e));
  poprt_compiler_free(compiler);
  return e;
}

static void assert_refusal(const poprt_executable* e, size_t dimension, const char* expected) {
  poprt_string* text = NULL;
  OK(poprt_executable_batching_refusal(e, dimension, &text));
  if (*expected)
    assert_non_null(strstr(poprt_string_data(text), expected));
  else
    assert_string_equal(poprt_string_data(text), "");
  poprt_string_free(text);
}

static void batching_dimensions_that_mix_rows_are_refused(void** state) {
  (void)state;
  const int64_t sizes[] = {4, 8};
  poprt_string* text = UNTOUCHED(poprt_string);
  poprt_executable* e = compile_softmax(sizes, 1);
  assert_refusal(e, 0, "");
  assert_refusal(e, 1, "Softmax");
  /* A runner agrees. */
  poprt_runner_options options = {.struct_size = sizeof options, .use_batching_dim = 1};
  poprt_runner* runner = NULL;
  OK(poprt_runner_create(e, &options, &runner));
  poprt_runner_free(runner);
  options.batching_dim = 1;
  FAILS(poprt_runner_create(e, &options, &runner), POPRT_FAILED_PRECONDITION, "Softmax");
  FAILS(poprt_executable_batching_refusal(e, 2, &text), POPRT_INVALID_ARGUMENT,
        "'x' has shape [2,4]");
  FAILS(poprt_executable_batching_refusal(e, 0, NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  FAILS(poprt_executable_batching_refusal(NULL, 0, &text), POPRT_INVALID_ARGUMENT, "'executable'");
  poprt_executable_free(e);
  e = compile_softmax(sizes, 2);
  assert_refusal(e, 0, "several shapes");
  poprt_executable_free(e);
  e = open_copies(); /* no compiler has made this executable */
  FAILS(poprt_executable_batching_refusal(e, 0, &text), POPRT_FAILED_PRECONDITION,
        "compile the model again");
  assert_ptr_equal(text, UNTOUCHED(poprt_string));
  poprt_executable_free(e);
}

static char* read_file(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char* bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  fclose(f);
  return bytes;
}

static void opens_from_memory_and_saves(void** state) {
  (void)state;
  size_t size, saved_size;
  char* bytes = read_file(DATA "/copies.popef", &size);
  poprt_executable* e = NULL;
  OK(poprt_executable_open_bytes(bytes, size, &e));
  char path[] = "/tmp/poprt_capi_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  OK(poprt_executable_save(e, path));
  char* saved = read_file(path, &saved_size);
  assert_int_equal(size, saved_size);
  assert_memory_equal(bytes, saved, size);
  unlink(path);
  free(saved);

  poprt_executable* bad = UNTOUCHED(poprt_executable);
  FAILS(poprt_executable_open_bytes(bytes, size - 1, &bad), POPRT_DATA_LOSS, "");
  FAILS(poprt_executable_open_bytes(NULL, 0, &bad), POPRT_DATA_LOSS, "empty");
  FAILS(poprt_executable_open_bytes(NULL, 5, &bad), POPRT_INVALID_ARGUMENT, "'data' is null");
  FAILS(poprt_executable_open_bytes("not popef at all", 16, &bad), POPRT_DATA_LOSS, "");
  assert_ptr_equal(bad, UNTOUCHED(poprt_executable));
  poprt_executable_free(e);
  free(bytes);
}

static void save_errors(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  FAILS(poprt_executable_save(e, "/no/such/folder/x.popef"), POPRT_NOT_FOUND, "/no/such/folder");
  FAILS(poprt_executable_save(e, NULL), POPRT_INVALID_ARGUMENT, "'path' is null");
  FAILS(poprt_executable_save(NULL, "x"), POPRT_INVALID_ARGUMENT, "'executable' is null");
  poprt_executable_free(e);
}

static void open_errors(void** state) {
  (void)state;
  poprt_executable* e = UNTOUCHED(poprt_executable);
  FAILS(poprt_executable_open(NULL, &e), POPRT_INVALID_ARGUMENT, "'path' is null");
  FAILS(poprt_executable_open("x", NULL), POPRT_INVALID_ARGUMENT, "'out_executable' is null");
  FAILS(poprt_executable_open("/tmp", &e), POPRT_INVALID_ARGUMENT, "/tmp");
  FAILS(poprt_executable_open(DATA "/identity.onnx", &e), POPRT_INVALID_ARGUMENT, "identity.onnx");
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
}

static void null_is_harmless(void** state) {
  (void)state;
  assert_int_equal(poprt_executable_input_count(NULL), 0);
  assert_int_equal(poprt_executable_output_count(NULL), 0);
  assert_null(poprt_executable_input(NULL, 0));
  assert_null(poprt_executable_output(NULL, 0));
  assert_string_equal(poprt_executable_name(NULL), "");
  assert_int_equal(poprt_executable_weights_bytes(NULL), 0);
  assert_int_equal(poprt_executable_arena_bytes(NULL), 0);
  poprt_executable_free(NULL);
  assert_string_equal(poprt_anchor_name(NULL), "");
  assert_int_equal(poprt_anchor_dtype(NULL), POPRT_DTYPE_UNDEFINED);
  assert_int_equal(poprt_anchor_rank(NULL), 0);
  assert_null(poprt_anchor_shape(NULL));
  assert_int_equal(poprt_anchor_bytes(NULL), 0);
}

static void dtypes_have_names_and_sizes(void** state) {
  (void)state;
  assert_string_equal(poprt_dtype_name(POPRT_DTYPE_F32), "f32");
  assert_string_equal(poprt_dtype_name(POPRT_DTYPE_BOOL), "bool");
  assert_string_equal(poprt_dtype_name(POPRT_DTYPE_F8), "f8");
  assert_int_equal(poprt_dtype_bits(POPRT_DTYPE_F8), 8);
  assert_string_equal(poprt_dtype_name(99), poprt_dtype_name(POPRT_DTYPE_UNDEFINED));
  assert_string_equal(poprt_dtype_name(-1), poprt_dtype_name(POPRT_DTYPE_UNDEFINED));
  assert_int_equal(poprt_dtype_bits(POPRT_DTYPE_F64), 64);
  assert_int_equal(poprt_dtype_bits(POPRT_DTYPE_U4), 4);
  assert_int_equal(poprt_dtype_bits(POPRT_DTYPE_STRING), 0);
  assert_int_equal(poprt_dtype_bits(99), 0);
}

static void dump_formats(void** state) {
  (void)state;
  for (poprt_popef_format format = POPRT_POPEF_SUMMARY; format <= POPRT_POPEF_JSON; format++) {
    poprt_string* text = NULL;
    OK(poprt_popef_dump(DATA "/copies.popef", format, &text));
    assert_non_null(strstr(poprt_string_data(text), "copies"));
    poprt_string_free(text);
  }
  poprt_string* text = UNTOUCHED(poprt_string);
  FAILS(poprt_popef_dump(DATA "/copies.popef", 9, &text), POPRT_INVALID_ARGUMENT, "format 9");
  FAILS(poprt_popef_dump("/no/such", 0, &text), POPRT_NOT_FOUND, "/no/such");
  FAILS(poprt_popef_dump(DATA "/identity.onnx", 0, &text), POPRT_INVALID_ARGUMENT, "");
  FAILS(poprt_popef_dump(NULL, 0, &text), POPRT_INVALID_ARGUMENT, "'path' is null");
  FAILS(poprt_popef_dump("x", 0, NULL), POPRT_INVALID_ARGUMENT, "'out_text' is null");
  assert_ptr_equal(text, UNTOUCHED(poprt_string));
}

typedef struct sink {
  char bytes[1 << 16];
  size_t size, limit;
} sink;

static int32_t take(const void* data, size_t size, void* user_data) {
  sink* s = user_data;
  if (s->size + size > s->limit) return 1;
  memcpy(s->bytes + s->size, data, size);
  s->size += size;
  return 0;
}

static void saves_to_a_stream(void** state) {
  (void)state;
  size_t size;
  char* bytes = read_file(DATA "/copies.popef", &size);
  poprt_executable *e = open_copies(), *again = NULL;
  static sink s;
  s.limit = sizeof s.bytes;
  OK(poprt_executable_save_bytes(e, take, &s));
  assert_int_equal(s.size, size);
  assert_memory_equal(s.bytes, bytes, size);
  OK(poprt_executable_open_bytes(s.bytes, s.size, &again));
  assert_string_equal(poprt_executable_name(again), "copies");
  s.size = 0;
  s.limit = 10;
  FAILS(poprt_executable_save_bytes(e, take, &s), POPRT_CANCELLED, "'copies' stopped");
  FAILS(poprt_executable_save_bytes(e, NULL, &s), POPRT_INVALID_ARGUMENT, "'write'");
  FAILS(poprt_executable_save_bytes(NULL, take, &s), POPRT_INVALID_ARGUMENT, "'executable'");
  poprt_executable_free(again);
  poprt_executable_free(e);
  free(bytes);
}

static void executable_and_variables_are_two_files(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX", exe[64], variables[64];
  assert_non_null(mkdtemp(folder));
  snprintf(exe, sizeof exe, "%s/executable.popef", folder);
  snprintf(variables, sizeof variables, "%s/variables.popef", folder);
  poprt_executable *e = open_copies(), *both = UNTOUCHED(poprt_executable);
  OK(poprt_executable_save_parts(e, exe, variables));
  FAILS(poprt_executable_open(exe, &both), POPRT_DATA_LOSS, "weights");
  const char* const paths[] = {variables, exe, NULL};
  poprt_open_options o = {0};
  FAILS(poprt_executable_open_files(paths, 2, &o, &both), POPRT_INVALID_ARGUMENT, "struct_size");
  o.struct_size = sizeof o;
  o.executable = "nope";
  FAILS(poprt_executable_open_files(paths, 2, &o, &both), POPRT_FAILED_PRECONDITION, "'nope'");
  FAILS(poprt_executable_open_files(paths, 3, NULL, &both), POPRT_INVALID_ARGUMENT, "'paths[]'");
  FAILS(poprt_executable_open_files(NULL, 1, NULL, &both), POPRT_INVALID_ARGUMENT, "'paths'");
  FAILS(poprt_executable_open_files(paths, 0, NULL, &both), POPRT_INVALID_ARGUMENT, "no PopEF");
  assert_ptr_equal(both, UNTOUCHED(poprt_executable));
  OK(poprt_executable_open_files(paths, 2, NULL, &both));
  assert_int_equal(poprt_executable_weights_bytes(both), poprt_executable_weights_bytes(e));
  poprt_runner* r = NULL;
  OK(poprt_runner_create(both, NULL, &r));
  const float x[COUNT] = {1, 2, 3};
  float y[COUNT], c[COUNT];
  const void* inputs[] = {x};
  void* outputs[] = {y, c};
  OK(poprt_runner_execute_indexed(r, inputs, outputs));
  assert_memory_equal(x, y, sizeof x);
  poprt_runner_free(r);
  poprt_executable_free(both);
  poprt_executable_free(e);
  unlink(exe);
  unlink(variables);
  rmdir(folder);
}

static void models_and_executables_are_made_from_each_other(void** state) {
  (void)state;
  poprt_executable *e = open_copies(), *again = UNTOUCHED(poprt_executable);
  poprt_popef_model* m = UNTOUCHED(poprt_popef_model);
  FAILS(poprt_executable_popef_model(NULL, &m), POPRT_INVALID_ARGUMENT, "'executable'");
  assert_ptr_equal(m, UNTOUCHED(poprt_popef_model));
  FAILS(poprt_executable_popef_model(e, NULL), POPRT_INVALID_ARGUMENT, "'out_model'");
  OK(poprt_executable_popef_model(e, &m));
  poprt_popef_metadata* metadata = UNTOUCHED(poprt_popef_metadata);
  FAILS(poprt_executable_popef_metadata(NULL, &metadata), POPRT_INVALID_ARGUMENT, "'executable'");
  assert_ptr_equal(metadata, UNTOUCHED(poprt_popef_metadata));
  FAILS(poprt_executable_popef_metadata(e, NULL), POPRT_INVALID_ARGUMENT, "'out_metadata'");
  OK(poprt_executable_popef_metadata(e, &metadata));
  assert_string_equal(poprt_popef_metadata_executable(metadata), "copies");
  assert_int_equal(poprt_popef_metadata_anchor_count(metadata),
                   poprt_popef_metadata_anchor_count(poprt_popef_model_metadata(m)));
  poprt_popef_metadata_free(metadata);
  assert_string_equal(poprt_popef_metadata_executable(poprt_popef_model_metadata(m)), "copies");
  poprt_executable_free(e);
  poprt_open_options o = {0};
  FAILS(poprt_executable_open_model(m, &o, &again), POPRT_INVALID_ARGUMENT, "struct_size");
  o.struct_size = sizeof o;
  o.reserved = 1;
  FAILS(poprt_executable_open_model(m, &o, &again), POPRT_INVALID_ARGUMENT, "reserved");
  FAILS(poprt_executable_open_model(NULL, NULL, &again), POPRT_INVALID_ARGUMENT, "'model'");
  assert_ptr_equal(again, UNTOUCHED(poprt_executable));
  FAILS(poprt_executable_open_model(m, NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_executable'");
  OK(poprt_executable_open_model(m, NULL, &again));
  poprt_popef_model_free(m);
  poprt_runner* r = NULL;
  OK(poprt_runner_create(again, NULL, &r));
  poprt_executable_free(again);
  const float x[COUNT] = {1, 2, 3};
  float y[COUNT], c[COUNT];
  const void* inputs[] = {x};
  void* outputs[] = {y, c};
  OK(poprt_runner_execute_indexed(r, inputs, outputs));
  assert_memory_equal(x, y, sizeof x);
  poprt_runner_free(r);
}

static void another_package_hash_needs_an_option(void** state) {
  (void)state;
  size_t size;
  char* bytes = read_file(DATA "/copies.popef", &size);
  size_t at = 0;
  while (at + 7 < size && memcmp(bytes + at, "poprt 1", 7) != 0) at++;
  assert_true(at + 7 < size);
  bytes[at + 6] = '9';
  char path[] = "/tmp/poprt_capi_XXXXXX";
  FILE* f = fdopen(mkstemp(path), "wb");
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
  poprt_executable* e = NULL;
  FAILS(poprt_executable_open(path, &e), POPRT_FAILED_PRECONDITION, "compile the model again");
  const char* const paths[] = {path};
  poprt_open_options o = {0};
  o.struct_size = sizeof o;
  FAILS(poprt_executable_open_files(paths, 1, &o, &e), POPRT_FAILED_PRECONDITION,
        "differs from poprt hash");
  o.ignore_package_hash = 1;
  OK(poprt_executable_open_files(paths, 1, &o, &e));
  poprt_executable_free(e);
  unlink(path);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(anchors_describe_the_model),
      cmocka_unit_test(the_listing_names_kernels),
      cmocka_unit_test(batching_dimensions_that_mix_rows_are_refused),
      cmocka_unit_test(opens_from_memory_and_saves),
      cmocka_unit_test(save_errors),
      cmocka_unit_test(open_errors),
      cmocka_unit_test(null_is_harmless),
      cmocka_unit_test(dtypes_have_names_and_sizes),
      cmocka_unit_test(dump_formats),
      cmocka_unit_test(saves_to_a_stream),
      cmocka_unit_test(executable_and_variables_are_two_files),
      cmocka_unit_test(models_and_executables_are_made_from_each_other),
      cmocka_unit_test(another_package_hash_needs_an_option),
  };
  return cmocka_run_group_tests_name("executable", tests, NULL, NULL);
}

#include <stdlib.h>

#include "common.h"

/* Returns the bytes of a file, which the caller frees, and their number. */
static char* read_file(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  char* bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  return bytes;
}

static poprt_apply_options defaults(void) {
  poprt_apply_options o = {0};
  o.struct_size = sizeof o;
  return o;
}

static void count_pass(const char* pass, int64_t rewrites, double milliseconds, int64_t before,
                       int64_t after, void* user_data) {
  (void)milliseconds, (void)before, (void)after;
  char* log = user_data;
  snprintf(log + strlen(log), 200 - strlen(log), "%s:%d ", pass, (int)rewrites);
}

static void keep_text(const char* pass, const char* text, void* user_data) {
  char* log = user_data;
  snprintf(log + strlen(log), 200 - strlen(log), "[%s] %.40s", pass, text);
}

/* Fixes the variable batch of identity.onnx, and compiles the result without other passes. */
static void arguments_reach_their_pass(void** state) {
  (void)state;
  size_t size = 0;
  char* model = read_file(DATA "/identity.onnx", &size);
  const poprt_option batch[] = {{"const_batch_size", "3"}};
  const poprt_pass_call calls[] = {{"const_batch_size", batch, 1}, {"shape_inference", NULL, 0}};
  char log[200] = "";
  poprt_apply_options o = defaults();
  o.after_pass = count_pass;
  o.user_data = log;
  poprt_string* made = NULL;
  OK(poprt_model_apply_passes(model, size, NULL, calls, 2, &o, &made));
  assert_string_equal(log, "const_batch_size:1 shape_inference:0 ");
  poprt_compiler* compiler = NULL;
  OK(poprt_compiler_create(NULL, &compiler));
  poprt_executable* executable = NULL;
  OK(poprt_compiler_compile_bytes(compiler, poprt_string_data(made), poprt_string_size(made), NULL,
                                  &executable));
  assert_int_equal(poprt_anchor_shape(poprt_executable_input(executable, 0))[0], 3);
  poprt_executable_free(executable);
  poprt_compiler_free(compiler);
  poprt_string_free(made);
  free(model);
}

static void what_a_pass_says_goes_to_the_callback(void** state) {
  (void)state;
  size_t size = 0;
  char* model = read_file(DATA "/identity.onnx", &size);
  const poprt_pass_call calls[] = {{"model_io_info_stat", NULL, 0}};
  char log[200] = "";
  poprt_apply_options o = defaults();
  o.text = keep_text;
  o.user_data = log;
  poprt_string* made = NULL;
  OK(poprt_model_apply_passes(model, size, NULL, calls, 1, &o, &made));
  assert_non_null(strstr(log, "[model_io_info_stat] inputs: 1\n"));
  poprt_string_free(made);
  free(model);
}

static void operators_that_nobody_knows_stay(void** state) {
  (void)state;
  size_t size = 0;
  char* model = read_file(MODELS "/unknown_op.onnx", &size);
  const poprt_pass_call calls[] = {{"sort_graph", NULL, 0}, {"eliminate_identity", NULL, 0}};
  poprt_string *made = NULL, *again = NULL;
  OK(poprt_model_apply_passes(model, size, NULL, calls, 2, NULL, &made));
  OK(poprt_model_apply_passes(poprt_string_data(made), poprt_string_size(made), NULL, calls, 2,
                              NULL, &again));
  assert_int_equal(poprt_string_size(again), poprt_string_size(made));
  assert_memory_equal(poprt_string_data(again), poprt_string_data(made), poprt_string_size(made));
  poprt_string_free(again);
  poprt_string_free(made);
  free(model);
}

static void wrong_calls_are_refused_before_any_work(void** state) {
  (void)state;
  poprt_string* out = UNTOUCHED(poprt_string);
  const poprt_pass_call unknown[] = {{"shape_inferense", NULL, 0}};
  FAILS(poprt_model_apply_passes(NULL, 0, NULL, unknown, 1, NULL, &out), POPRT_NOT_FOUND,
        "did you mean shape_inference");
  const poprt_option word[] = {{"const_batch_size", "three"}}, other[] = {{"batch", "3"}};
  const poprt_pass_call text[] = {{"const_batch_size", word, 1}};
  FAILS(poprt_model_apply_passes(NULL, 0, NULL, text, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "expected a whole number, found 'three'");
  const poprt_pass_call no_such[] = {{"const_batch_size", other, 1}};
  FAILS(poprt_model_apply_passes(NULL, 0, NULL, no_such, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "no parameter 'batch'");
  const poprt_pass_call missing[] = {{"merge_matmul", NULL, 0}};
  FAILS(poprt_model_apply_passes(NULL, 0, NULL, missing, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "needs its parameter 'names'");
  const poprt_pass_call twice[] = {
      {"const_batch_size",
       (const poprt_option[]){{"const_batch_size", "1"}, {"const_batch_size", "2"}}, 2}};
  FAILS(poprt_model_apply_passes(NULL, 0, NULL, twice, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "given twice");
  const poprt_pass_call fine[] = {{"shape_inference", NULL, 0}};
  OK(poprt_model_apply_passes(NULL, 0, NULL, fine, 1, NULL, &out));
  FAILS(poprt_model_apply_passes("no model", 8, NULL, fine, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "");
  FAILS(poprt_model_apply_passes(NULL, 8, NULL, fine, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "'model'");
  FAILS(poprt_model_apply_passes(NULL, 0, NULL, NULL, 1, NULL, &out), POPRT_INVALID_ARGUMENT,
        "'passes'");
  FAILS(poprt_model_apply_passes("x", 1, NULL, fine, 1, NULL, NULL), POPRT_INVALID_ARGUMENT,
        "'out_model'");
  assert_ptr_equal(out, UNTOUCHED(poprt_string));
}

static void the_listing_says_kind_and_parameters(void** state) {
  (void)state;
  poprt_string* json = NULL;
  OK(poprt_compiler_list_passes_json(&json));
  const char* text = poprt_string_data(json);
  assert_non_null(strstr(text, "\"name\": \"merge_matmul\""));
  assert_non_null(strstr(text, "\"kind\": \"inspect\""));
  assert_non_null(strstr(text, "\"default\": \"1\""));
  poprt_string_free(json);
}

static void sorting_adds_what_must_run_before(void** state) {
  (void)state;
  const char* names[] = {"sort_graph", "fuse_bn_into_conv"};
  poprt_string* text = NULL;
  OK(poprt_passes_sort(names, 2, &text));
  assert_string_equal(poprt_string_data(text), "sort_graph\nfuse_bn_into_conv\n");
  poprt_string_free(text);
  const char* wrong[] = {"no_such_pass_at_all"};
  text = UNTOUCHED(poprt_string);
  FAILS(poprt_passes_sort(wrong, 1, &text), POPRT_NOT_FOUND, "no_such_pass_at_all");
  assert_ptr_equal(text, UNTOUCHED(poprt_string));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arguments_reach_their_pass),
      cmocka_unit_test(what_a_pass_says_goes_to_the_callback),
      cmocka_unit_test(operators_that_nobody_knows_stay),
      cmocka_unit_test(wrong_calls_are_refused_before_any_work),
      cmocka_unit_test(the_listing_says_kind_and_parameters),
      cmocka_unit_test(sorting_adds_what_must_run_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

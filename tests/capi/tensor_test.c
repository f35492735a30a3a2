/* Tensors with dtype and shape, outputs that the library makes, and models that it loads. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static poprt_runner* runner_of(const char* path, const poprt_runner_options* options) {
  poprt_executable* e = NULL;
  poprt_runner* r = NULL;
  OK(poprt_executable_load(path, NULL, &e));
  OK(poprt_runner_create(e, options, &r));
  poprt_executable_free(e);
  return r;
}

/* y = x for f32[first,3,4]; `first` is usually 2. */
static poprt_tensor tensor(const char* name, void* data, const int64_t* shape, size_t rank) {
  return (poprt_tensor){name, 0, data, 0, POPRT_DTYPE_F32, 0, shape, rank};
}

static const int64_t kFlat[] = {COUNT};

static void right_types_run(void** state) {
  (void)state;
  poprt_runner* r = runner_of(DATA "/copies.popef", NULL);
  float x[COUNT], y[COUNT], c[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = (float)i;
  memset(y, 0, sizeof y);
  const poprt_tensor in[] = {tensor("x", x, kFlat, 1)};
  const poprt_tensor out[] = {tensor("y", y, kFlat, 1), {"c", 0, c, sizeof c, 0, 0, NULL, 0}};
  OK(poprt_runner_execute_tensors(r, in, 1, out, 2));
  assert_memory_equal(x, y, sizeof x);
  memset(y, 0, sizeof y);
  poprt_request* q = NULL;
  OK(poprt_runner_submit_tensors(r, in, 1, out, 2, NULL, &q));
  OK(poprt_request_wait(q, -1));
  poprt_request_free(q);
  assert_memory_equal(x, y, sizeof x);
  poprt_runner_free(r);
}

static void wrong_types_are_refused_by_name(void** state) {
  (void)state;
  poprt_runner* r = runner_of(DATA "/copies.popef", NULL);
  float x[COUNT] = {0}, y[COUNT], c[COUNT];
  const int64_t square[] = {4, 4}, minus[] = {-16};
  poprt_tensor in[] = {tensor("x", x, square, 2)};
  poprt_tensor out[] = {tensor("y", y, kFlat, 1), tensor("c", c, kFlat, 1)};
  poprt_outputs* made = UNTOUCHED(poprt_outputs);
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT,
        "input 'x': expected f32[16], given f32[4,4]");
  FAILS(poprt_runner_run(r, in, 1, &made), POPRT_INVALID_ARGUMENT, "given f32[4,4]");
  assert_ptr_equal(made, UNTOUCHED(poprt_outputs));
  in[0].shape = kFlat, in[0].rank = 1, in[0].dtype = POPRT_DTYPE_S32;
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT,
        "input 'x': expected f32[16], given s32[16]");
  in[0].dtype = POPRT_DTYPE_F32, in[0].bytes = 60;
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT,
        "input 'x': f32[16] are 64 bytes, given 60 bytes");
  in[0].bytes = 0, in[0].shape = minus;
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT,
        "input 'x': a dimension is -16");
  in[0].shape = NULL;
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT, "'shape'");
  in[0].shape = kFlat, in[0].reserved = 1;
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT, "reserved");
  in[0].reserved = 0, in[0].name = "z";
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_NOT_FOUND, "inputs are: 'x'");
  in[0].name = "x", out[1].shape = square, out[1].rank = 2;
  FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT,
        "output 'c': expected f32[16], given f32[4,4]");
  const int32_t unknown[] = {99, 256 + POPRT_DTYPE_F32, -255, INT32_MIN};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    in[0].dtype = unknown[i];
    FAILS(poprt_runner_execute_tensors(r, in, 1, out, 2), POPRT_INVALID_ARGUMENT, "has no size");
  }
  poprt_runner_free(r);
}

static void run_makes_outputs_for_any_number_of_rows(void** state) {
  (void)state;
  /* The input of relu.onnx is f32[2,3]. */
  float x[15];
  for (int i = 0; i < 15; i++) x[i] = (float)(i - 7);
  for (int dynamic = 0; dynamic < 2; dynamic++) {
    poprt_runner_options o = {0};
    o.struct_size = sizeof o;
    o.use_batching_dim = dynamic;
    o.timeout_ns = 1000;
    poprt_runner* r = runner_of(MODELS "/relu.onnx", &o);
    const int64_t batch = poprt_anchor_shape(poprt_runner_input(r, 0))[0];
    const int64_t columns = poprt_anchor_shape(poprt_runner_input(r, 0))[1];
    const int64_t rows = dynamic ? 3 : 2 * batch;
    const int64_t shape[] = {rows, columns};
    assert_true(rows * columns <= 15);
    const poprt_tensor in[] = {tensor(poprt_anchor_name(poprt_runner_input(r, 0)), x, shape, 2)};
    poprt_outputs* out = NULL;
    OK(poprt_runner_run(r, in, 1, &out));
    assert_int_equal(poprt_outputs_count(out), 1);
    const poprt_tensor* y = poprt_outputs_at(out, 0);
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->shape[0], rows);
    assert_int_equal(y->dtype, POPRT_DTYPE_F32);
    assert_int_equal(y->bytes, (size_t)(rows * columns) * sizeof(float));
    for (int i = 0; i < rows * columns; i++)
      assert_true(((const float*)y->data)[i] == (x[i] > 0 ? x[i] : 0));
    poprt_outputs_free(out);
    const int64_t wrong[] = {rows, columns + 1};
    const poprt_tensor bad[] = {tensor(in[0].name, x, wrong, 2)};
    FAILS(poprt_runner_run(r, bad, 1, &out), POPRT_INVALID_ARGUMENT,
          dynamic ? "(any number along dimension 0)" : "expected f32[");
    poprt_runner_free(r);
  }
}

static void run_crops_what_is_padded(void** state) {
  (void)state;
  poprt_runner* r = runner_of(MODELS "/nonzero.onnx", NULL);
  const poprt_anchor* a = poprt_runner_input(r, 0);
  assert_true(poprt_anchor_rank(a) == 2);
  const int64_t rows = poprt_anchor_shape(a)[0], columns = poprt_anchor_shape(a)[1];
  float x[64] = {0};
  assert_true(rows * columns <= 64 && rows * columns > 4);
  x[1] = 1, x[rows * columns - 1] = 2;
  const poprt_tensor in[] = {tensor(poprt_anchor_name(a), x, poprt_anchor_shape(a), 2)};
  poprt_outputs* out = NULL;
  OK(poprt_runner_run(r, in, 1, &out));
  assert_int_equal(poprt_outputs_count(out), 1);
  const poprt_tensor* y = poprt_outputs_at(out, 0);
  assert_int_equal(y->rank, 2);
  assert_int_equal(y->shape[0], 2);
  assert_int_equal(y->shape[1], 2);
  const int64_t expected[] = {0, rows - 1, 1, columns - 1};
  assert_memory_equal(y->data, expected, sizeof expected);
  poprt_outputs_free(out);

  /* The same run in three steps, of which the middle one is asynchronous. */
  OK(poprt_outputs_create(r, in, 1, &out));
  assert_int_equal(poprt_outputs_count(out), 2);
  poprt_request* q = NULL;
  OK(poprt_runner_submit_tensors(r, in, 1, poprt_outputs_at(out, 0), 2, NULL, &q));
  OK(poprt_request_wait(q, -1));
  poprt_request_free(q);
  OK(poprt_outputs_crop(out));
  OK(poprt_outputs_crop(out)); /* nothing is left to do */
  assert_int_equal(poprt_outputs_count(out), 1);
  assert_memory_equal(poprt_outputs_at(out, 0)->data, expected, sizeof expected);
  assert_null(poprt_outputs_at(out, 1));
  poprt_outputs_free(out);
  poprt_outputs_free(NULL);
  assert_int_equal(poprt_outputs_count(NULL), 0);
  assert_null(poprt_outputs_at(NULL, 0));
  FAILS(poprt_outputs_crop(NULL), POPRT_INVALID_ARGUMENT, "'outputs'");
  poprt_runner_free(r);
}

static void load_takes_both_kinds_of_file(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_load_XXXXXX", command[128];
  assert_non_null(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
  poprt_executable* e = NULL;
  for (int i = 0; i < 2; i++) {
    OK(poprt_executable_load(MODELS "/relu.onnx", NULL, &e));
    poprt_executable_free(e);
  }
  snprintf(command, sizeof command, "test $(ls %s/poprt | wc -l) = 1", folder);
  assert_int_equal(system(command), 0);
  OK(poprt_executable_load(DATA "/copies.popef", NULL, &e));
  poprt_executable_free(e);
  e = UNTOUCHED(poprt_executable);
  FAILS(poprt_executable_load("/nowhere/model.onnx", NULL, &e), POPRT_NOT_FOUND, "/nowhere");
  FAILS(poprt_executable_load("/nowhere/model.popef", NULL, &e), POPRT_NOT_FOUND, "/nowhere");
  FAILS(poprt_executable_load(NULL, NULL, &e), POPRT_INVALID_ARGUMENT, "'path'");
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void the_wrong_kind_of_file_says_what_to_do(void** state) {
  (void)state;
  poprt_executable* e = UNTOUCHED(poprt_executable);
  poprt_compiler* c = NULL;
  OK(poprt_compiler_create(NULL, &c));
  FAILS(poprt_compiler_compile_file(c, DATA "/copies.popef", &e), POPRT_INVALID_ARGUMENT,
        "a PopEF file, not an ONNX model: it is compiled already, give it to a runner");
  FAILS(poprt_executable_open(MODELS "/relu.onnx", &e), POPRT_INVALID_ARGUMENT,
        "an ONNX model, not a PopEF file: compile it first");
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
  poprt_compiler_free(c);
}

static void options_are_named_without_dashes(void** state) {
  (void)state;
  poprt_executable* e = NULL;
  poprt_compile_options fixed = {0};
  fixed.struct_size = sizeof fixed;
  fixed.shapes = "fixed";
  FAILS(poprt_executable_load(MODELS "/dynamic.onnx", &fixed, &e), POPRT_INVALID_ARGUMENT,
        "give `input_shapes` x=... or `batch_size`");
}

static void metadata_travels_with_the_executable(void** state) {
  (void)state;
  poprt_executable *e = NULL, *opened = NULL;
  OK(poprt_executable_load(
      DIGITS,
      &(poprt_compile_options){.struct_size = sizeof(poprt_compile_options), .batch_size = 1}, &e));
  OK(poprt_executable_save(e, "metadata_test.popef"));
  OK(poprt_executable_open("metadata_test.popef", &opened));
  const size_t count = poprt_executable_metadata_count(e);
  assert_true(count > 1);
  assert_int_equal(poprt_executable_metadata_count(opened), count);
  int producer = 0;
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(poprt_executable_metadata_key(opened, i),
                        poprt_executable_metadata_key(e, i));
    assert_string_equal(poprt_executable_metadata_value(opened, i),
                        poprt_executable_metadata_value(e, i));
    producer += strcmp(poprt_executable_metadata_key(e, i), "producer_name") == 0;
  }
  assert_int_equal(producer, 1);
  assert_null(poprt_executable_metadata_key(e, count));
  assert_null(poprt_executable_metadata_value(NULL, 0));
  assert_int_equal(poprt_executable_metadata_count(NULL), 0);
  poprt_executable_free(e);
  poprt_executable_free(opened);
  unlink("metadata_test.popef");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_types_run),
      cmocka_unit_test(wrong_types_are_refused_by_name),
      cmocka_unit_test(run_makes_outputs_for_any_number_of_rows),
      cmocka_unit_test(run_crops_what_is_padded),
      cmocka_unit_test(load_takes_both_kinds_of_file),
      cmocka_unit_test(the_wrong_kind_of_file_says_what_to_do),
      cmocka_unit_test(options_are_named_without_dashes),
      cmocka_unit_test(metadata_travels_with_the_executable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The chapters of docs/languages/c.md. Runs in a folder with digits.onnx and language_model/. */
#include <poprt/poprt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "guide: %s\n", poprt_error_message(error));
  poprt_error_free(error);
  exit(1);
}

/* [load] */
static poprt_runner* load(void) {
  poprt_executable* model = NULL;
  poprt_runner* runner = NULL;
  /* Each shape is compiled when it first arrives. */
  check(poprt_executable_load("digits.onnx", NULL, &model));
  check(poprt_runner_create(model, NULL, &runner));
  poprt_executable_free(model); /* the runner keeps what it needs */
  printf("load: %s\n", poprt_anchor_name(poprt_runner_input(runner, 0)));
  printf("load: %s\n", poprt_anchor_name(poprt_runner_output(runner, 0)));

  poprt_compile_options options = {0}; /* zero is the default of every option */
  options.struct_size = sizeof options;
  options.batch_size = 8;
  poprt_compiler* compiler = NULL;
  check(poprt_compiler_create(&options, &compiler));
  /* Ahead of time; poprt_executable_open() maps the file and compiles nothing. */
  check(poprt_compiler_compile_to_popef(compiler, "digits.onnx", "digits.popef"));
  poprt_compiler_free(compiler);
  return runner;
}
/* [run] */
static void run(poprt_runner* runner) {
  static float image[64], scores[10];
  const int64_t shape[] = {1, 1, 8, 8};
  const poprt_tensor in[] = {{"image", 0, image, sizeof image, POPRT_DTYPE_F32, 0, shape, 4}};
  poprt_outputs* outputs = NULL;
  check(poprt_runner_run(runner, in, 1, &outputs)); /* allocates the results */
  const poprt_tensor* out = poprt_outputs_at(outputs, 0);
  printf("run: %d %d\n", (int)out->shape[0], (int)out->shape[1]);
  poprt_outputs_free(outputs);

  /* Writes into memory of the caller. */
  const poprt_input input = {"image", 0, image, sizeof image};
  const poprt_output output = {"scores", 0, scores, sizeof scores};
  check(poprt_runner_execute(runner, &input, 1, &output, 1));
}
/* [async] */
static void async(poprt_runner* runner) {
  static float image[64], scores[10];
  const poprt_input input = {"image", 0, image, sizeof image};
  const poprt_output output = {"scores", 0, scores, sizeof scores};
  poprt_request* request = NULL;
  /* The two nulls are a callback and its argument. */
  check(poprt_runner_execute_async(runner, &input, 1, &output, 1, NULL, NULL, &request));
  check(poprt_request_wait(request, -1));
  poprt_request_free(request);
  printf("async: 1\n");
}
/* [batch] */
static void batch(void) {
  poprt_executable* model = NULL;
  poprt_runner* runner = NULL;
  poprt_runner_options options = {0};
  options.struct_size = sizeof options;
  options.use_batching_dim = 1; /* dimension 0; see also is_batch_size_timeout_enabled */
  check(poprt_executable_open("digits.popef", &model)); /* compiled for 8 rows */
  check(poprt_runner_create(model, &options, &runner));
  static float images[20 * 64];
  const int64_t shape[] = {20, 1, 8, 8};
  const poprt_tensor in[] = {{"image", 0, images, sizeof images, POPRT_DTYPE_F32, 0, shape, 4}};
  poprt_outputs* outputs = NULL;
  check(poprt_runner_run(runner, in, 1, &outputs)); /* three runs of 8 rows, the last one padded */
  const poprt_tensor* out = poprt_outputs_at(outputs, 0);
  printf("batch: %d %d\n", (int)out->shape[0], (int)out->shape[1]);
  poprt_outputs_free(outputs);
  poprt_runner_free(runner);
  poprt_executable_free(model);
}
/* [shapes] */
static void shapes(poprt_runner* runner) {
  check(poprt_runner_warm_up(runner, "image=2,1,8,8/4,1,8,8")); /* before the first request */
  static float images[4 * 64];
  const int64_t shape[] = {4, 1, 8, 8};
  const poprt_tensor in[] = {{"image", 0, images, sizeof images, POPRT_DTYPE_F32, 0, shape, 4}};
  poprt_outputs* outputs = NULL;
  check(poprt_runner_run(runner, in, 1, &outputs));
  const poprt_tensor* out = poprt_outputs_at(outputs, 0);
  printf("shapes: %d %d\n", (int)out->shape[0], (int)out->shape[1]);
  poprt_outputs_free(outputs);
}
/* [state] */
static void state(void) {
  static const int64_t prompt[] = {6, 42, 26};
  poprt_generator_options options = {0};
  options.struct_size = sizeof options;
  options.slots = 2; /* the caches of two sequences are on the device */
  poprt_generator* generator = NULL;
  poprt_sequence* text = NULL;
  check(poprt_generator_create("language_model", &options, &generator));
  check(poprt_generator_new_sequence(generator, &text));
  for (int i = 0; i < 3; i++) check(poprt_sequence_append(text, prompt[i]));
  check(poprt_sequence_set_option(text, "max_new_tokens", 8));
  check(poprt_sequence_set_option(text, "ignore_stop", 1));
  check(poprt_sequence_start(text));
  printf("state:");
  int64_t token = 0;
  for (;;) {
    check(poprt_sequence_next(text, -1, &token));
    if (token < 0) break; /* the text has ended */
    printf(" %d", (int)token);
  }
  printf("\n");
  poprt_sequence_free(text);
  poprt_generator_free(generator);
}
/* [serve] */
static void* client(void* runner) { /* any number of threads may share a runner */
  float image[64] = {0}, scores[10];
  const void* inputs[] = {image};
  void* outputs[] = {scores};
  uintptr_t answers = 0;
  for (int i = 0; i < 10; i++, answers++)
    check(poprt_runner_execute_indexed(runner, inputs, outputs)); /* allocates nothing */
  return (void*)answers;
}

static void serve(void) {
  poprt_executable* model = NULL;
  poprt_runner* runner = NULL;
  poprt_compile_options options = {0};
  options.struct_size = sizeof options;
  options.batch_size = 1;
  check(poprt_executable_load("digits.onnx", &options, &model));
  check(poprt_runner_create(model, NULL, &runner));
  pthread_t threads[4];
  uintptr_t answers = 0;
  for (int c = 0; c < 4; c++)
    if (pthread_create(&threads[c], NULL, client, runner)) exit(1);
  for (int c = 0; c < 4; c++) {
    void* count = NULL;
    pthread_join(threads[c], &count);
    answers += (uintptr_t)count;
  }
  printf("serve: %d\n", (int)answers);
  poprt_runner_counters counters = {0};
  counters.struct_size = sizeof counters;
  check(poprt_runner_get_counters(runner, POPRT_ALL_REPLICAS, &counters));
  printf("%d us at the 99th percentile\n", (int)(counters.latency_p99_ns / 1000));
  poprt_runner_free(runner);
  poprt_executable_free(model);
}
/* [errors] */
static void errors(void) {
  poprt_executable* model = NULL;
  poprt_error* error = poprt_executable_load("missing.onnx", NULL, &model);
  if (poprt_error_get_code(error) == POPRT_NOT_FOUND) /* null is success, code POPRT_OK */
    printf("errors: %s\n", poprt_error_message(error));
  poprt_error_free(error);
}
/* [end] */

int main(void) {
  poprt_runner* runner = load();
  run(runner);
  async(runner);
  batch();
  shapes(runner);
  state();
  serve();
  errors();
  poprt_runner_free(runner);
  return 0;
}

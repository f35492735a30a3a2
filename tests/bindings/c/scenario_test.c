/* The scenario list of tests/bindings/README.md in C. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bindings/c/scenario_support.h"

static char* program; /* argv[0] */

static poprt_runner* affine_runner(void) {
  poprt_executable* e = affine();
  poprt_runner* r = runner_of(e, NULL);
  poprt_executable_free(e);
  return r;
}

/* One client's memory. */
typedef struct client {
  float x[8], y[8];
  poprt_input in;
  poprt_output out;
} client;

static void client_init(client* k, float first) {
  memset(k, 0, sizeof *k);
  for (int i = 0; i < 8; i++) k->x[i] = first + (float)i;
  k->in = (poprt_input){"x", 0, k->x, sizeof k->x};
  k->out = (poprt_output){"y", 0, k->y, sizeof k->y};
}

static void expect_affine(const client* k) {
  for (int i = 0; i < 8; i++) assert_true(k->y[i] == 2 * k->x[i] + 1);
}

static void expect_anchor(const poprt_anchor* a, const char* name) {
  assert_string_equal(poprt_anchor_name(a), name);
  assert_int_equal(poprt_anchor_dtype(a), POPRT_DTYPE_F32);
  assert_int_equal(poprt_anchor_rank(a), 2);
  assert_int_equal(poprt_anchor_shape(a)[0], 2);
  assert_int_equal(poprt_anchor_shape(a)[1], 4);
  assert_int_equal(poprt_anchor_bytes(a), 32);
}

static void expect_anchors(poprt_executable* e) {
  assert_int_equal(poprt_executable_input_count(e), 1);
  assert_int_equal(poprt_executable_output_count(e), 1);
  expect_anchor(poprt_executable_input(e, 0), "x");
  expect_anchor(poprt_executable_output(e, 0), "y");
  poprt_executable_free(e);
}

typedef struct report {
  double done;
  int fell, passes;
} report;

static void on_progress(double done, const char* what, void* user_data) {
  report* r = user_data;
  r->fell |= done < r->done || !what;
  r->done = done;
}

static void on_pass(const char* pass, int64_t rewrites, double ms, int64_t before, int64_t after,
                    void* user_data) {
  (void)rewrites, (void)ms, (void)before, (void)after;
  ((report*)user_data)->passes += pass && *pass;
}

static void scenario_01_compile(void** state) {
  (void)state;
  report r = {0};
  const poprt_input_shape inputs[] = {{"x", kShape, 2}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.input_shapes = inputs;
  o.input_shape_count = 1;
  o.progress = on_progress;
  o.after_pass = on_pass;
  o.user_data = &r;
  poprt_compiler* compiler = NULL;
  poprt_executable *first = NULL, *second = NULL;
  OK(poprt_compiler_create(&o, &compiler));
  OK(poprt_compiler_compile_file(compiler, DATA "/affine.onnx", &first));
  assert_int_equal(r.fell, 0);
  assert_true(r.done == 1.0);
  assert_true(r.passes > 0);

  OK(poprt_executable_save(first, "c_affine.popef"));
  OK(poprt_executable_open("c_affine.popef", &second));
  expect_anchors(second);
  bytes saved = {0};
  OK(poprt_executable_save_bytes(first, append, &saved));
  OK(poprt_executable_open_bytes(saved.data, saved.size, &second));
  expect_anchors(second);
  bytes onnx = read_file(DATA "/affine.onnx");
  OK(poprt_compiler_compile_bytes(compiler, onnx.data, onnx.size, NULL, &second));
  expect_anchors(second);
  expect_anchors(first);
  poprt_compiler_free(compiler);
  free(saved.data);
  free(onnx.data);
  remove("c_affine.popef");
}

static void scenario_02_run(void** state) {
  (void)state;
  poprt_runner* r = affine_runner();
  client k;
  client_init(&k, 0);
  OK(poprt_runner_execute(r, &k.in, 1, &k.out, 1));
  expect_affine(&k);
  client_init(&k, 1);
  k.in.name = k.out.name = NULL;
  OK(poprt_runner_execute(r, &k.in, 1, &k.out, 1));
  expect_affine(&k);
  const void* in[] = {k.x};
  void* out[] = {k.y};
  for (int i = 0; i < 3; i++) {
    k.x[0] = (float)i;
    OK(poprt_runner_execute_indexed(r, in, out));
    expect_affine(&k);
  }
  poprt_runner_free(r);
}

static void scenario_03_run_several_types(void** state) {
  (void)state;
  poprt_executable* e = compile("lookup.onnx", "", NULL, 0);
  poprt_runner* r = runner_of(e, NULL);
  const float table[] = {0, 1, 2, 3, 4, 5}, expected[] = {4, 5, 0, 1, 2, 3, 4, 5};
  const int64_t ids[] = {2, 0, 1, 2}, expected_next[] = {3, 1, 2, 3};
  float rows[8] = {0};
  int64_t next[4] = {0};
  const poprt_input in[] = {{"table", 0, table, sizeof table}, {"ids", 0, ids, sizeof ids}};
  const poprt_output out[] = {{"next", 0, next, sizeof next}, {"rows", 0, rows, sizeof rows}};
  OK(poprt_runner_execute(r, in, 2, out, 2));
  assert_memory_equal(rows, expected, sizeof rows);
  assert_memory_equal(next, expected_next, sizeof next);
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void scenario_04_half_precision(void** state) {
  (void)state;
  poprt_executable* e = compile("half.onnx", "x", kShape, 2);
  poprt_runner* r = runner_of(e, NULL);
  _Float16 x[8], y[8]; /* the compiler's own half precision */
  for (int i = 0; i < 8; i++) x[i] = (_Float16)(float)i;
  const void* in[] = {x};
  void* out[] = {y};
  OK(poprt_runner_execute_indexed(r, in, out));
  for (int i = 0; i < 8; i++) assert_true((float)y[i] == (float)(2 * i + 1));
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void scenario_05_asynchronous(void** state) {
  (void)state;
  enum { N = 100 };
  poprt_runner* r = affine_runner();
  client* k = malloc(N * sizeof *k);
  poprt_request* q[N];
  for (int i = 0; i < N; i++) {
    client_init(&k[i], (float)i);
    OK(poprt_runner_execute_async(r, &k[i].in, 1, &k[i].out, 1, NULL, NULL, &q[i]));
  }
  for (int i = 0; i < N; i++) {
    OK(poprt_request_wait(q[i], -1));
    expect_affine(&k[i]);
    poprt_request_free(q[i]);
  }
  free(k);
  poprt_runner_free(r);
}

static void scenario_06_unicode(void** state) {
  (void)state;
  const char* path = "st\xc3\xb8rrelse \xf0\x9f\x9a\x80.popef";
  poprt_executable* e = compile("unicode.onnx", "st\xc3\xb8rrelse", kShape, 2);
  OK(poprt_executable_save(e, path));
  poprt_executable_free(e);
  OK(poprt_executable_open(path, &e));
  remove(path);
  assert_string_equal(poprt_anchor_name(poprt_executable_input(e, 0)), "st\xc3\xb8rrelse");
  assert_string_equal(poprt_anchor_name(poprt_executable_output(e, 0)), "ut_\xf0\x9f\x9a\x80");
  poprt_runner* r = runner_of(e, NULL);
  client k;
  client_init(&k, 0);
  k.in.name = "st\xc3\xb8rrelse";
  k.out.name = "ut_\xf0\x9f\x9a\x80";
  OK(poprt_runner_execute(r, &k.in, 1, &k.out, 1));
  expect_affine(&k);
  poprt_executable* never = NULL;
  FAILS(poprt_executable_open(path, &never), POPRT_NOT_FOUND, path);
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void scenario_07_08_10_wrong_requests(void** state) {
  (void)state;
  poprt_runner* r = affine_runner();
  client k;
  client_init(&k, 0);
  k.in.name = "nope";
  FAILS(poprt_runner_execute(r, &k.in, 1, &k.out, 1), POPRT_NOT_FOUND,
        "there is no input 'nope'; inputs are: 'x'");
  client_init(&k, 0);
  k.in.bytes = 28;
  FAILS(poprt_runner_execute(r, &k.in, 1, &k.out, 1), POPRT_INVALID_ARGUMENT,
        "input 'x': expected 32 bytes (f32 [2,4]), given 28 bytes");
  k.in.bytes = 36;
  FAILS(poprt_runner_execute(r, &k.in, 1, &k.out, 1), POPRT_INVALID_ARGUMENT, "given 36 bytes");
  client_init(&k, 0);
  FAILS(poprt_runner_execute(r, NULL, 0, &k.out, 1), POPRT_INVALID_ARGUMENT, "'x'");
  FAILS(poprt_runner_execute(r, &k.in, 1, NULL, 0), POPRT_INVALID_ARGUMENT, "'y'");
  const poprt_input twice[] = {{NULL, 0, k.x, sizeof k.x}, k.in};
  FAILS(poprt_runner_execute(r, twice, 2, &k.out, 1), POPRT_INVALID_ARGUMENT, "'x'");
  poprt_runner_free(r);
}

/* Memory in C is bytes: a wrong type is noticed only by its size. */
static void scenario_09_wrong_type(void** state) {
  (void)state;
  poprt_runner* r = affine_runner();
  client k;
  client_init(&k, 0);
  const double x[8] = {0};
  k.in.data = x;
  k.in.bytes = sizeof x;
  FAILS(poprt_runner_execute(r, &k.in, 1, &k.out, 1), POPRT_INVALID_ARGUMENT, "f32 [2,4]");
  poprt_runner_free(r);
}

static void scenario_11_12_13_wrong_files(void** state) {
  (void)state;
  poprt_executable* e = UNTOUCHED(poprt_executable);
  poprt_compiler* compiler = NULL;
  OK(poprt_compiler_create(NULL, &compiler));
  FAILS(poprt_executable_open("missing.popef", &e), POPRT_NOT_FOUND, "missing.popef");
  FAILS(poprt_compiler_compile_file(compiler, "missing.onnx", &e), POPRT_NOT_FOUND, "missing.onnx");
  FAILS(poprt_executable_open(DATA "/affine.onnx", &e), POPRT_INVALID_ARGUMENT, "affine.onnx");
  FAILS(poprt_compiler_compile_file(compiler, DATA "/unknown_op.onnx", &e), POPRT_UNIMPLEMENTED,
        "Frobnicate");
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
  poprt_compiler_free(compiler);
}

static void scenario_14_free_in_odd_order(void** state) {
  (void)state;
  poprt_executable* e = affine();
  poprt_device_manager* m = NULL;
  poprt_device* d = NULL;
  OK(poprt_device_manager_create(NULL, &m));
  OK(poprt_device_manager_get_device(m, 1, &d));
  poprt_runner* r = runner_of(e, d);
  client k;
  client_init(&k, 0);
  poprt_request* q = NULL;
  OK(poprt_runner_execute_async(r, &k.in, 1, &k.out, 1, NULL, NULL, &q));
  poprt_executable_free(e);
  poprt_device_manager_free(m);
  poprt_device_free(d);
  poprt_runner_free(r);
  poprt_error* error = poprt_request_wait(q, -1); /* a run that had not begun is cancelled */
  if (error)
    assert_int_equal(poprt_error_get_code(error), POPRT_CANCELLED);
  else
    expect_affine(&k);
  poprt_error_free(error);
  poprt_request_free(q);
}

/* Use after free is the caller's fault in C; the library only has to accept null. */
static void scenario_15_use_after_close(void** state) {
  (void)state;
  client k;
  client_init(&k, 0);
  FAILS(poprt_runner_execute(NULL, &k.in, 1, &k.out, 1), POPRT_INVALID_ARGUMENT, "'runner'");
  assert_int_equal(poprt_runner_input_count(NULL), 0);
  assert_null(poprt_executable_input(NULL, 0));
  assert_string_equal(poprt_anchor_name(NULL), "");
  poprt_runner_free(NULL);
  poprt_executable_free(NULL);
  poprt_request_free(NULL);
}

typedef struct slow_client {
  poprt_runner* runner;
  float *x, *y;
  atomic_int runs;
  poprt_error_code code;
} slow_client;

static slow_client slow_client_make(poprt_runner* r) {
  slow_client s = {r, calloc(SLOW, sizeof(float)), calloc(SLOW, sizeof(float)), 0, POPRT_OK};
  return s;
}

static void slow_client_free(slow_client* s) {
  free(s->x);
  free(s->y);
}

static void* run_until_it_fails(void* user_data) {
  slow_client* s = user_data;
  const void* in[] = {s->x};
  void* out[] = {s->y};
  poprt_error* error = NULL;
  while (!error) {
    atomic_fetch_add(&s->runs, 1);
    error = poprt_runner_execute_indexed(s->runner, in, out);
  }
  s->code = poprt_error_get_code(error);
  poprt_error_free(error);
  return NULL;
}

/* Returns all devices of `m` in an array that the caller frees; their number is in `*n`. */
static poprt_device** take_all_devices(poprt_device_manager* m, size_t* n) {
  *n = poprt_device_manager_device_count(m);
  poprt_device** d = calloc(*n, sizeof *d);
  assert_non_null(d);
  for (size_t i = 0; i < *n; i++) OK(poprt_device_manager_get_device(m, 1, &d[i]));
  return d;
}

static void expect_all_devices_free(void) {
  poprt_device_manager* m = NULL;
  OK(poprt_device_manager_create(NULL, &m));
  size_t n = 0;
  poprt_device** d = take_all_devices(m, &n);
  for (size_t i = 0; i < n; i++) poprt_device_free(d[i]);
  free(d);
  poprt_device_manager_free(m);
}

/* In C, a runner that other threads use is closed by poprt_runner_stop, and freed after their
 * calls. */
static void scenario_16_close_during_a_run(void** state) {
  (void)state;
  poprt_executable* e = compile("slow.onnx", "", NULL, 0);
  poprt_runner* r = runner_of(e, NULL);
  poprt_executable_free(e);
  slow_client s = slow_client_make(r);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_until_it_fails, &s), 0);
  while (atomic_load(&s.runs) < 2) sched_yield();
  poprt_runner_stop(r);
  pthread_join(thread, NULL);
  assert_int_equal(s.code, POPRT_CANCELLED);
  poprt_runner_free(r);
  slow_client_free(&s);
  expect_all_devices_free();
}

static void* run_200_times(void* user_data) {
  poprt_runner* r = user_data;
  size_t wrong = 0;
  for (int i = 0; i < 200; i++) {
    client k;
    client_init(&k, (float)i);
    poprt_error* error = poprt_runner_execute(r, &k.in, 1, &k.out, 1);
    wrong += error != NULL;
    poprt_error_free(error);
    for (int j = 0; j < 8; j++) wrong += k.y[j] != 2 * k.x[j] + 1;
  }
  return (void*)(uintptr_t)wrong;
}

static void scenario_17_two_threads(void** state) {
  (void)state;
  poprt_runner* r = affine_runner();
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_200_times, r), 0);
  for (int i = 0; i < 2; i++) {
    void* wrong = threads;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  poprt_runner_free(r);
}

typedef struct chain {
  poprt_runner* runner;
  client first, second;
  pthread_t thread;
  poprt_request* again;
  atomic_int calls;
  poprt_error_code code;
} chain;

static void on_second(poprt_error_code code, void* user_data) {
  chain* c = user_data;
  c->code |= code;
  atomic_fetch_add(&c->calls, 1);
}

static void on_first(poprt_error_code code, void* user_data) {
  chain* c = user_data;
  c->thread = pthread_self();
  c->code = code;
  poprt_error* error = poprt_runner_execute_async(c->runner, &c->second.in, 1, &c->second.out, 1,
                                                  on_second, c, NULL);
  if (error) c->code = poprt_error_get_code(error);
  poprt_error_free(error);
  atomic_fetch_add(&c->calls, 1);
}

static void scenario_18_callback(void** state) {
  (void)state;
  chain c = {.runner = affine_runner()};
  client_init(&c.first, 0);
  client_init(&c.second, 5);
  OK(poprt_runner_execute_async(c.runner, &c.first.in, 1, &c.first.out, 1, on_first, &c, NULL));
  while (atomic_load(&c.calls) < 2) sched_yield();
  assert_int_equal(c.code, POPRT_OK);
  assert_false(pthread_equal(c.thread, pthread_self()));
  expect_affine(&c.first);
  expect_affine(&c.second);
  poprt_runner_free(c.runner);
}

/* 19: C has no exceptions. */

static void scenario_20_large_tensor(void** state) {
  (void)state;
  enum { N = 4 * 4194304 };
  const int64_t shape[] = {N / 4, 4};
  poprt_executable* e = compile("affine.onnx", "x", shape, 2);
  poprt_runner* r = runner_of(e, NULL);
  float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  assert_true(x && y);
  for (int i = 0; i < N; i++) x[i] = (float)(i % 1000);
  const void* in[] = {x};
  void* out[] = {y};
  OK(poprt_runner_execute_indexed(r, in, out));
  int wrong = 0;
  for (int i = 0; i < N; i++) wrong += y[i] != 2 * x[i] + 1;
  assert_int_equal(wrong, 0);
  free(x);
  free(y);
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void scenario_21_zero_size_tensor(void** state) {
  (void)state;
  const int64_t shape[] = {0, 4};
  poprt_executable* e = compile("affine.onnx", "x", shape, 2);
  assert_int_equal(poprt_anchor_bytes(poprt_executable_input(e, 0)), 0);
  assert_int_equal(poprt_anchor_bytes(poprt_executable_output(e, 0)), 0);
  poprt_runner* r = runner_of(e, NULL);
  client k;
  client_init(&k, 0);
  k.in.bytes = k.out.bytes = 0;
  OK(poprt_runner_execute(r, &k.in, 1, &k.out, 1));
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void scenario_22_cancellation(void** state) {
  (void)state;
  enum { N = 8 };
  poprt_executable* e = compile("slow.onnx", "", NULL, 0);
  poprt_runner* r = runner_of(e, NULL);
  poprt_executable_free(e);
  slow_client s[N];
  poprt_request* q[N];
  for (int i = 0; i < N; i++) {
    s[i] = slow_client_make(r);
    const poprt_input in = {"x", 0, s[i].x, SLOW * sizeof(float)};
    const poprt_output out = {"y", 0, s[i].y, SLOW * sizeof(float)};
    OK(poprt_runner_execute_async(r, &in, 1, &out, 1, NULL, NULL, &q[i]));
  }
  poprt_runner_stop(r);
  int cancelled = 0;
  for (int i = 0; i < N; i++) {
    poprt_error* error = poprt_request_wait(q[i], -1);
    if (error) assert_int_equal(poprt_error_get_code(error), POPRT_CANCELLED);
    cancelled += error != NULL;
    poprt_error_free(error);
    poprt_request_free(q[i]);
  }
  assert_true(cancelled >= N - 2);
  const void* in[] = {s[0].x};
  void* out[] = {s[0].y};
  FAILS(poprt_runner_execute_indexed(r, in, out), POPRT_CANCELLED, "");
  poprt_runner_free(r);
  for (int i = 0; i < N; i++) slow_client_free(&s[i]);
}

static void scenario_23_waiting_with_a_limit(void** state) {
  (void)state;
  poprt_executable* e = compile("slow.onnx", "", NULL, 0);
  poprt_runner* r = runner_of(e, NULL);
  poprt_executable_free(e);
  slow_client s = slow_client_make(r);
  const poprt_input in = {"x", 0, s.x, SLOW * sizeof(float)};
  const poprt_output out = {"y", 0, s.y, SLOW * sizeof(float)};
  poprt_request* q = NULL;
  OK(poprt_runner_execute_async(r, &in, 1, &out, 1, NULL, NULL, &q));
  poprt_error* error = poprt_request_wait(q, 1);
  if (error) assert_int_equal(poprt_error_get_code(error), POPRT_DEADLINE_EXCEEDED);
  poprt_error_free(error);
  OK(poprt_request_wait(q, -1));
  poprt_request_free(q);
  poprt_runner_free(r);
  slow_client_free(&s);
}

static void scenario_24_device_busy(void** state) {
  (void)state;
  poprt_device_manager* m = NULL;
  poprt_device* never = UNTOUCHED(poprt_device);
  OK(poprt_device_manager_create(NULL, &m));
  size_t n = 0;
  poprt_device** d = take_all_devices(m, &n);
  FAILS(poprt_device_manager_get_device(m, 1, &never), POPRT_UNAVAILABLE, "");
  poprt_executable* e = affine();
  poprt_runner *r = NULL, *none = UNTOUCHED(poprt_runner);
  FAILS(poprt_runner_create(e, NULL, &none), POPRT_UNAVAILABLE, "");
  const int64_t id = poprt_device_id(d[0]);
  poprt_device_free(d[0]);
  OK(poprt_device_manager_get_specific_device(m, id, &d[0]));
  r = runner_of(e, d[0]);
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.device = d[0];
  FAILS(poprt_runner_create(e, &o, &none), POPRT_FAILED_PRECONDITION, "");
  poprt_runner_free(r);
  for (size_t i = 0; i < n; i++) poprt_device_free(d[i]);
  free(d);
  poprt_device_manager_free(m);
  poprt_executable_free(e);
}

static void scenario_25_statistics(void** state) {
  (void)state;
  poprt_executable* e = affine();
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  o.profile = 1;
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, &o, &r));
  client k;
  client_init(&k, 0);
  for (int i = 0; i < 3; i++) OK(poprt_runner_execute(r, &k.in, 1, &k.out, 1));
  poprt_string* json = NULL;
  OK(poprt_runner_profile(r, &json));
  const char* runs = strstr(poprt_string_data(json), "\"runs\":");
  assert_non_null(runs);
  assert_int_equal(strtol(runs + strlen("\"runs\":"), NULL, 10), 3);
  assert_non_null(strstr(poprt_string_data(json), "instructions"));
  poprt_string_free(json);
  poprt_runner_free(r);
  r = runner_of(e, NULL);
  FAILS(poprt_runner_profile(r, &json), POPRT_FAILED_PRECONDITION, "");
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static long resident_bytes(void) {
  long size = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

/* C frees objects explicitly, so each cycle frees them. */
static void scenario_26_ten_thousand_cycles(void** state) {
  (void)state;
  poprt_executable* e = affine();
  client k;
  client_init(&k, 0);
  long after_1000 = 0;
  for (int i = 0; i < 10000; i++) {
    poprt_runner* r = runner_of(e, NULL);
    OK(poprt_runner_execute(r, &k.in, 1, &k.out, 1));
    poprt_runner_free(r);
    if (i == 1000) after_1000 = resident_bytes();
  }
  expect_affine(&k);
  assert_true(resident_bytes() - after_1000 < 32L << 20);
  expect_all_devices_free();
  poprt_executable_free(e);
}

static int exit_in_flight(void) {
  poprt_executable* e = NULL;
  poprt_runner* r = NULL;
  poprt_compiler* compiler = NULL;
  static float x[SLOW], y[8][SLOW];
  poprt_error* error = poprt_compiler_create(NULL, &compiler);
  if (!error) error = poprt_compiler_compile_file(compiler, DATA "/slow.onnx", &e);
  if (!error) error = poprt_runner_create(e, NULL, &r);
  for (int i = 0; i < 8 && !error; i++) {
    const poprt_input in = {"x", 0, x, sizeof x};
    const poprt_output out = {"y", 0, y[i], sizeof y[i]};
    poprt_request* q = NULL;
    error = poprt_runner_execute_async(r, &in, 1, &out, 1, NULL, NULL, &q);
  }
  if (error) puts(poprt_error_message(error));
  return error != NULL; /* everything is still in flight */
}

static void scenario_27_exit_with_runs_in_flight(void** state) {
  (void)state;
  char command[1024];
  /* Runs in flight are never freed, so the leak checker is off. */
  snprintf(command, sizeof command,
           "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" '%s' exit-in-flight 2>&1", program);
  FILE* output = popen(command, "r"); /* NOLINT: our own program */
  assert_non_null(output);
  assert_int_equal(fgetc(output), EOF);
  const int status = pclose(output);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void scenario_28_version(void** state) {
  (void)state;
  assert_int_equal(poprt_version(), POPRT_VERSION);
}

int main(int argc, char** argv) {
  program = argv[0];
  if (argc > 1) return exit_in_flight();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scenario_01_compile),
      cmocka_unit_test(scenario_02_run),
      cmocka_unit_test(scenario_03_run_several_types),
      cmocka_unit_test(scenario_04_half_precision),
      cmocka_unit_test(scenario_05_asynchronous),
      cmocka_unit_test(scenario_06_unicode),
      cmocka_unit_test(scenario_07_08_10_wrong_requests),
      cmocka_unit_test(scenario_09_wrong_type),
      cmocka_unit_test(scenario_11_12_13_wrong_files),
      cmocka_unit_test(scenario_14_free_in_odd_order),
      cmocka_unit_test(scenario_15_use_after_close),
      cmocka_unit_test(scenario_16_close_during_a_run),
      cmocka_unit_test(scenario_17_two_threads),
      cmocka_unit_test(scenario_18_callback),
      cmocka_unit_test(scenario_20_large_tensor),
      cmocka_unit_test(scenario_21_zero_size_tensor),
      cmocka_unit_test(scenario_22_cancellation),
      cmocka_unit_test(scenario_23_waiting_with_a_limit),
      cmocka_unit_test(scenario_24_device_busy),
      cmocka_unit_test(scenario_25_statistics),
      cmocka_unit_test(scenario_26_ten_thousand_cycles),
      cmocka_unit_test(scenario_27_exit_with_runs_in_flight),
      cmocka_unit_test(scenario_28_version),
      cmocka_unit_test(scenario_51_read_a_popef_file),
      cmocka_unit_test(scenario_74_options_by_name),
      cmocka_unit_test(scenario_54_log_messages),
      cmocka_unit_test(scenario_63_several_ipus),
      cmocka_unit_test(scenario_65_packed_sequences),
      cmocka_unit_test(scenario_68_replicas_with_caches),
      cmocka_unit_test(scenario_80_any_shape),
      cmocka_unit_test(scenario_81_batch_compiled_ahead),
      cmocka_unit_test(scenario_82_warm_up),
      cmocka_unit_test(scenario_83_shape_sets),
      cmocka_unit_test(scenario_112_open_dimensions),
      cmocka_unit_test(scenario_84_shapes_are_removed),
      cmocka_unit_test(scenario_123_memory_of_shapes),
      cmocka_unit_test(scenario_93_precision_of_a_runner),
      cmocka_unit_test(scenario_90_estimate),
      cmocka_unit_test(scenario_91_an_estimate_in_the_executable),
      cmocka_unit_test(scenario_125_an_estimate_of_the_command),
      cmocka_unit_test(scenario_126_names_of_options_in_errors),
      cmocka_unit_test(scenario_85_generate),
      cmocka_unit_test(scenario_86_wrong_generators),
      cmocka_unit_test(scenario_87_logits),
      cmocka_unit_test(scenario_88_ends),
      cmocka_unit_test(scenario_95_encoder),
      cmocka_unit_test(scenario_96_features),
      cmocka_unit_test(scenario_97_beams),
      cmocka_unit_test(scenario_98_saved_text),
      cmocka_unit_test(scenario_99_named_states),
      cmocka_unit_test(scenario_109_saved_text_in_memory),
      cmocka_unit_test(scenario_110_byte_caches),
      cmocka_unit_test(callbacks_of_sequences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common.h"

/* One client's memory. */
typedef struct client {
  float x[COUNT], y[COUNT], c[COUNT];
  poprt_input in[1];
  poprt_output out[2];
} client;

static void client_init(client* k, float first) {
  memset(k, 0, sizeof *k);
  for (int i = 0; i < COUNT; i++) k->x[i] = first + (float)i;
  k->in[0] = (poprt_input){"x", 0, k->x, sizeof k->x};
  k->out[0] = (poprt_output){"y", 0, k->y, sizeof k->y};
  k->out[1] = (poprt_output){"c", 0, k->c, sizeof k->c};
}

static poprt_runner* make_runner(void) {
  poprt_executable* e = open_copies();
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, NULL, &r));
  poprt_executable_free(e);
  return r;
}

static void executes_by_name_index_and_position(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  client k;
  client_init(&k, 1);
  OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
  assert_memory_equal(k.x, k.y, sizeof k.x);

  client_init(&k, 2);
  poprt_input in = {NULL, 0, k.x, sizeof k.x};
  poprt_output out[2] = {{NULL, 1, k.c, sizeof k.c}, {NULL, 0, k.y, sizeof k.y}};
  OK(poprt_runner_execute(r, &in, 1, out, 2));
  assert_memory_equal(k.x, k.y, sizeof k.x);

  client_init(&k, 3);
  const void* inputs[] = {k.x};
  void* outputs[] = {k.y, k.c};
  OK(poprt_runner_execute_indexed(r, inputs, outputs));
  assert_memory_equal(k.x, k.y, sizeof k.x);
  poprt_runner_free(r);
}

static void anchors_come_in_order(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  assert_int_equal(poprt_runner_input_count(r), 1);
  assert_int_equal(poprt_runner_output_count(r), 2);
  assert_string_equal(poprt_anchor_name(poprt_runner_input(r, 0)), "x");
  assert_string_equal(poprt_anchor_name(poprt_runner_output(r, 1)), "c");
  assert_null(poprt_runner_input(r, 1));
  assert_null(poprt_runner_output(r, 2));
  poprt_runner_free(r);
}

static void anchors_are_found_by_name(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  size_t index = 7;
  OK(poprt_runner_input_index(r, "x", &index));
  assert_int_equal(index, 0);
  OK(poprt_runner_output_index(r, "c", &index));
  assert_int_equal(index, 1);
  assert_string_equal(poprt_anchor_name(poprt_runner_output(r, index)), "c");
  FAILS(poprt_runner_input_index(r, "c", &index), POPRT_NOT_FOUND,
        "there is no input 'c'; inputs are: 'x'");
  FAILS(poprt_runner_output_index(r, "", &index), POPRT_NOT_FOUND, "outputs are: 'y', 'c'");
  FAILS(poprt_runner_input_index(r, NULL, &index), POPRT_INVALID_ARGUMENT, "'name'");
  FAILS(poprt_runner_input_index(NULL, "x", &index), POPRT_INVALID_ARGUMENT, "'runner'");
  FAILS(poprt_runner_output_index(r, "y", NULL), POPRT_INVALID_ARGUMENT, "'out_index'");
  assert_int_equal(index, 1); /* a call that fails leaves it alone */
  poprt_runner_free(r);
}

static void requests_that_are_wrong(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  client k;
  client_init(&k, 1);
  FAILS(poprt_runner_execute(NULL, k.in, 1, k.out, 2), POPRT_INVALID_ARGUMENT, "'runner'");
  FAILS(poprt_runner_execute(r, NULL, 1, k.out, 2), POPRT_INVALID_ARGUMENT, "'inputs'");
  FAILS(poprt_runner_execute(r, k.in, 1, NULL, 2), POPRT_INVALID_ARGUMENT, "'outputs'");
  FAILS(poprt_runner_execute(r, NULL, 0, k.out, 2), POPRT_INVALID_ARGUMENT, "input 'x' is missing");
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 1), POPRT_INVALID_ARGUMENT,
        "output 'c' is missing");
  k.in[0].name = "image";
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_NOT_FOUND,
        "there is no input 'image'; inputs are: 'x'");
  k.in[0].name = NULL;
  k.in[0].index = 7;
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_NOT_FOUND, "there is no input 7");
  client_init(&k, 1);
  k.in[0].bytes = 63;
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_INVALID_ARGUMENT,
        "input 'x': expected 64 bytes (f32 [16]), given 63 bytes");
  client_init(&k, 1);
  k.in[0].data = NULL;
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_INVALID_ARGUMENT, "pointer is null");
  client_init(&k, 1);
  k.out[1].name = "y";
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_INVALID_ARGUMENT,
        "output 'y' is given twice");

  const void* inputs[] = {k.x};
  void* outputs[] = {k.y, NULL};
  FAILS(poprt_runner_execute_indexed(r, inputs, outputs), POPRT_INVALID_ARGUMENT,
        "output 'c': the pointer is null");
  FAILS(poprt_runner_execute_indexed(r, NULL, outputs), POPRT_INVALID_ARGUMENT, "input 'x'");
  FAILS(poprt_runner_execute_indexed(NULL, inputs, outputs), POPRT_INVALID_ARGUMENT, "'runner'");

  client_init(&k, 1);
  poprt_request* q = UNTOUCHED(poprt_request);
  FAILS(poprt_runner_execute_async(r, k.in, 0, k.out, 2, NULL, NULL, &q), POPRT_INVALID_ARGUMENT,
        "input 'x' is missing");
  FAILS(poprt_runner_execute_async(r, k.in, 1, k.out, 2, NULL, NULL, NULL), POPRT_INVALID_ARGUMENT,
        "'out_request'");
  FAILS(poprt_runner_execute_async(NULL, k.in, 1, k.out, 2, NULL, NULL, &q), POPRT_INVALID_ARGUMENT,
        "'runner'");
  assert_ptr_equal(q, UNTOUCHED(poprt_request));
  FAILS(poprt_request_wait(NULL, 0), POPRT_INVALID_ARGUMENT, "'request'");
  poprt_runner_free(r);
}

/* A run may write an output before it reads the input. */
static void outputs_may_share_memory_with_inputs(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  client k;
  client_init(&k, 1);
  float memory[3 * COUNT] = {0};
  float* const x = memory + COUNT;
  k.in[0].data = x;
  for (int at = 0; at <= 2 * COUNT; at++) {
    float* const y = memory + at;
    k.out[0].data = y;
    const void* inputs[] = {x};
    void* outputs[] = {y, k.c};
    const int64_t shape[] = {COUNT};
    const poprt_tensor in = {NULL, 0, x, 0, POPRT_DTYPE_F32, 0, shape, 1};
    const poprt_tensor out[] = {{NULL, 1, k.c, 0, POPRT_DTYPE_F32, 0, shape, 1},
                                {NULL, 0, y, 0, POPRT_DTYPE_F32, 0, shape, 1}};
    for (int call = 0; call < 5; call++) {
      poprt_request* q = NULL;
      memcpy(x, k.x, sizeof k.x);
      if (call == 0) OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
      if (call == 1) OK(poprt_runner_execute_indexed(r, inputs, outputs));
      if (call == 2) OK(poprt_runner_execute_tensors(r, &in, 1, out, 2));
      if (call == 3) OK(poprt_runner_execute_async(r, k.in, 1, k.out, 2, NULL, NULL, &q));
      if (call == 4) OK(poprt_runner_submit_tensors(r, &in, 1, out, 2, NULL, &q));
      if (q) OK(poprt_request_wait(q, -1));
      poprt_request_free(q);
      assert_memory_equal(y, k.x, sizeof k.x);
    }
  }
  poprt_runner_free(r);
}

static void many_bindings_are_checked_too(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  client k;
  client_init(&k, 1);
  poprt_input in[40];
  for (int i = 0; i < 40; i++) in[i] = k.in[0];
  FAILS(poprt_runner_execute(r, in, 40, k.out, 2), POPRT_INVALID_ARGUMENT, "given twice");
  poprt_runner_free(r);
}

static void options_are_checked(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  poprt_runner* r = UNTOUCHED(poprt_runner);
  poprt_runner_options o = {0};
  FAILS(poprt_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "struct_size is 0");
  o.struct_size = sizeof o;
  o.threads = -1;
  FAILS(poprt_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "threads must be 1 to 1024");
  o.threads = 0;
  o.queue_depth = -5;
  FAILS(poprt_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "`queue_depth`");
  o.queue_depth = 0;
  int64_t* times[] = {&o.batch_size_timeout_ns, &o.data_parallel_timeout_ns,
                      &o.device_wait_sleep_ns};
  const char* names[] = {"`batch_size_timeout_ns` is -5", "`data_parallel_timeout_ns` is -5",
                         "`device_wait_sleep_ns` is -5"};
  for (int i = 0; i < 3; i++) {
    *times[i] = -5;
    FAILS(poprt_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, names[i]);
    *times[i] = 0;
  }
  FAILS(poprt_runner_create(NULL, NULL, &r), POPRT_INVALID_ARGUMENT, "'executable'");
  FAILS(poprt_runner_create(e, NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_runner'");
  assert_ptr_equal(r, UNTOUCHED(poprt_runner));
  poprt_executable_free(e);
}

static void devices_run_out(void** state) {
  (void)state;
  setenv("POPRT_DEVICES", "1", 1);
  poprt_executable* e = open_copies();
  poprt_runner *a = NULL, *b = UNTOUCHED(poprt_runner);
  OK(poprt_runner_create(e, NULL, &a));
  FAILS(poprt_runner_create(e, NULL, &b), POPRT_UNAVAILABLE, "POPRT_DEVICES");
  poprt_runner_free(a);
  OK(poprt_runner_create(e, NULL, &a)); /* free again at once */
  poprt_runner_free(a);

  poprt_device_manager* m = NULL;
  poprt_device* d = NULL;
  OK(poprt_device_manager_create(NULL, &m));
  OK(poprt_device_manager_get_device(m, 1, &d));
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.device = d;
  OK(poprt_runner_create(e, &o, &a));
  FAILS(poprt_runner_create(e, &o, &b), POPRT_FAILED_PRECONDITION, "in use by another session");
  poprt_device_free(d);
  poprt_device_manager_free(m);
  poprt_executable_free(e);
  client k;
  client_init(&k, 1);
  OK(poprt_runner_execute(a, k.in, 1, k.out, 2)); /* keeps the objects that it needs */
  assert_memory_equal(k.x, k.y, sizeof k.x);
  poprt_runner_free(a);
  unsetenv("POPRT_DEVICES");
}

static void requests_complete(void** state) {
  (void)state;
  enum { N = 100 };
  poprt_runner* r = make_runner();
  client* k = malloc(N * sizeof *k);
  poprt_request* q[N];
  for (int i = 0; i < N; i++) {
    client_init(&k[i], (float)i);
    OK(poprt_runner_execute_async(r, k[i].in, 1, k[i].out, 2, NULL, NULL, &q[i]));
  }
  for (int i = 0; i < N; i++) {
    OK(poprt_request_wait(q[i], -1));
    OK(poprt_request_wait(q[i], 0)); /* again */
    assert_int_equal(poprt_request_done(q[i]), 1);
    assert_memory_equal(k[i].x, k[i].y, sizeof k[i].x);
    poprt_request_free(q[i]);
  }
  free(k);
  assert_int_equal(poprt_request_done(NULL), 1);
  poprt_request_free(NULL);
  poprt_runner_free(r);
}

/* Requests that are not freed would take about 10 MB. */
static void freed_requests_are_used_again(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  client k;
  client_init(&k, 1);
  size_t before = 0;
  for (int i = 0; i < 20100; i++) {
    poprt_request* q = NULL;
    if (i == 100) before = mallinfo2().uordblks;
    OK(poprt_runner_execute_async(r, k.in, 1, k.out, 2, NULL, NULL, &q));
    OK(poprt_request_wait(q, -1));
    poprt_request_free(q);
  }
  assert_in_range(mallinfo2().uordblks, 0, before + (1 << 20));
  poprt_runner_free(r);
}

typedef struct gate {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int calls, open;
  poprt_error_code code;
} gate;
#define GATE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, -1}

static void count_call(poprt_error_code code, void* user_data) {
  gate* g = user_data;
  pthread_mutex_lock(&g->mutex);
  g->calls++;
  g->code = code;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->mutex);
}

/* Holds the runner's thread, so that tests can see requests that wait. */
static void hold(poprt_error_code code, void* user_data) {
  gate* g = user_data;
  count_call(code, user_data);
  pthread_mutex_lock(&g->mutex);
  while (!g->open) pthread_cond_wait(&g->changed, &g->mutex);
  pthread_mutex_unlock(&g->mutex);
}

static void await_calls(gate* g, int calls) {
  pthread_mutex_lock(&g->mutex);
  while (g->calls < calls) pthread_cond_wait(&g->changed, &g->mutex);
  pthread_mutex_unlock(&g->mutex);
}

static void* open_gate(void* user_data) {
  gate* g = user_data;
  pthread_mutex_lock(&g->mutex);
  g->open = 1;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->mutex);
  return NULL;
}

static void callbacks_are_called_once(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  gate g = GATE;
  client k;
  client_init(&k, 1);
  OK(poprt_runner_execute_async(r, k.in, 1, k.out, 2, count_call, &g, NULL));
  await_calls(&g, 1);
  assert_int_equal(g.code, POPRT_OK);
  assert_memory_equal(k.x, k.y, sizeof k.x);
  k.in[0].bytes = 1;
  FAILS(poprt_runner_execute_async(r, k.in, 1, k.out, 2, count_call, &g, NULL),
        POPRT_INVALID_ARGUMENT, "expected 64 bytes");
  poprt_runner_free(r);
  assert_int_equal(g.calls, 1); /* not for a request that was refused */
}

static void waiting_has_a_timeout_and_stop_cancels(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  gate g = GATE, h = GATE;
  client a, b;
  client_init(&a, 1);
  client_init(&b, 2);
  poprt_request* q = NULL;
  OK(poprt_runner_execute_async(r, a.in, 1, a.out, 2, hold, &g, NULL));
  await_calls(&g, 1);
  OK(poprt_runner_execute_async(r, b.in, 1, b.out, 2, count_call, &h, &q));
  assert_int_equal(poprt_request_done(q), 0);
  FAILS(poprt_request_wait(q, 0), POPRT_DEADLINE_EXCEEDED, "not done after 0 ns");
  FAILS(poprt_request_wait(q, 1000000), POPRT_DEADLINE_EXCEEDED, "not done");

  /* stop() waits for the runner's thread, so another thread opens the gate. */
  pthread_t opener;
  assert_int_equal(pthread_create(&opener, NULL, open_gate, &g), 0);
  poprt_runner_stop(r);
  pthread_join(opener, NULL);
  poprt_error* error = poprt_request_wait(q, -1); /* it may have run before the stop */
  const poprt_error_code code = poprt_error_get_code(error);
  poprt_error_free(error);
  assert_true(code == POPRT_OK || code == POPRT_CANCELLED);
  assert_int_equal(h.calls, 1);
  assert_int_equal(h.code, code);

  FAILS(poprt_runner_execute(r, a.in, 1, a.out, 2), POPRT_CANCELLED, "stopped");
  FAILS(poprt_runner_execute_async(r, a.in, 1, a.out, 2, NULL, NULL, &q), POPRT_CANCELLED,
        "stopped");
  poprt_runner_stop(r);
  poprt_runner_stop(NULL);
  poprt_request_free(q);
  poprt_runner_free(r);
}

static void everything_may_be_freed_in_any_order(void** state) {
  (void)state;
  for (int order = 0; order < 6; order++) {
    poprt_device_manager* m = NULL;
    poprt_device* d = NULL;
    poprt_request* q = NULL;
    OK(poprt_device_manager_create(NULL, &m));
    OK(poprt_device_manager_get_device(m, 1, &d));
    poprt_executable* e = open_copies();
    poprt_runner_options o = {0};
    o.struct_size = sizeof o;
    o.device = d;
    poprt_runner* r = NULL;
    OK(poprt_runner_create(e, &o, &r));
    client k;
    client_init(&k, (float)order);
    gate g = GATE;
    OK(poprt_runner_execute_async(r, k.in, 1, k.out, 2, count_call, &g, &q));
    static const int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 3; i++) switch (kOrders[order][i]) {
        case 0: poprt_executable_free(e); break;
        case 1: poprt_runner_free(r); break;
        case 2:
          poprt_device_free(d);
          poprt_device_manager_free(m);
          poprt_request_free(q);
          break;
      }
    assert_int_equal(g.calls, 1); /* answered: run, or not begun when the runner went */
    assert_true(g.code == POPRT_OK || g.code == POPRT_CANCELLED);
    if (g.code == POPRT_OK) assert_memory_equal(k.x, k.y, sizeof k.x);
  }
}

typedef struct worker {
  poprt_runner* runner;
  int seed;
  atomic_int* failures;
} worker;

static void* serve(void* argument) {
  worker* w = argument;
  client k;
  for (int i = 0; i < 300; i++) {
    client_init(&k, (float)(w->seed * 1000 + i));
    poprt_error* error = NULL;
    if (i % 3) {
      error = poprt_runner_execute(w->runner, k.in, 1, k.out, 2);
    } else {
      poprt_request* q = NULL;
      error = poprt_runner_execute_async(w->runner, k.in, 1, k.out, 2, NULL, NULL, &q);
      if (!error) error = poprt_request_wait(q, -1);
      poprt_request_free(q);
    }
    if (error || memcmp(k.x, k.y, sizeof k.x) != 0) atomic_fetch_add(w->failures, 1);
    poprt_error_free(error);
  }
  return NULL;
}

static void threads_share_a_runner(void** state) {
  (void)state;
  poprt_runner* r = make_runner();
  atomic_int failures = 0;
  pthread_t threads[2];
  worker workers[2];
  for (int i = 0; i < 2; i++) {
    workers[i] = (worker){r, i, &failures};
    assert_int_equal(pthread_create(&threads[i], NULL, serve, &workers[i]), 0);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_int_equal(failures, 0);
  poprt_runner_free(r);
}

static void profiles_are_json(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.profile = 1;
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, &o, &r));
  client k;
  client_init(&k, 1);
  for (int i = 0; i < 3; i++) OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
  poprt_string* json = NULL;
  OK(poprt_runner_profile(r, &json));
  assert_non_null(strstr(poprt_string_data(json), "\"runs\": 3"));
  assert_non_null(strstr(poprt_string_data(json), "\"kernel\": \"copy\""));
  poprt_string_free(json);
  FAILS(poprt_runner_profile(r, NULL), POPRT_INVALID_ARGUMENT, "'out_json'");
  FAILS(poprt_runner_profile(NULL, &json), POPRT_INVALID_ARGUMENT, "'runner'");
  poprt_runner_free(r);
  OK(poprt_runner_create(e, NULL, &r));
  FAILS(poprt_runner_profile(r, &json), POPRT_FAILED_PRECONDITION, "without profiling");
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void a_runner_publishes_telemetry(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX";
  assert_non_null(mkdtemp(folder));
  setenv("POPRT_TELEMETRY_DIR", folder, 1);
  poprt_executable* e = open_copies();
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  poprt_string* json = NULL;
  for (int32_t on = 0; on < 2; on++) {
    o.telemetry = on;
    poprt_runner* r = NULL;
    OK(poprt_runner_create(e, &o, &r));
    client k;
    client_init(&k, 1);
    OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
    OK(poprt_telemetry_read(folder, &json));
    assert_int_equal(strstr(poprt_string_data(json), "\"runs\": 1") != NULL, on);
    poprt_string_free(json);
    poprt_runner_free(r);
  }
  poprt_executable_free(e);
  unsetenv("POPRT_TELEMETRY_DIR");
  remove(folder);
}

static void null_is_harmless(void** state) {
  (void)state;
  assert_int_equal(poprt_runner_input_count(NULL), 0);
  assert_int_equal(poprt_runner_output_count(NULL), 0);
  assert_null(poprt_runner_input(NULL, 0));
  assert_null(poprt_runner_output(NULL, 0));
  poprt_runner_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(executes_by_name_index_and_position),
      cmocka_unit_test(anchors_come_in_order),
      cmocka_unit_test(anchors_are_found_by_name),
      cmocka_unit_test(requests_that_are_wrong),
      cmocka_unit_test(outputs_may_share_memory_with_inputs),
      cmocka_unit_test(many_bindings_are_checked_too),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(devices_run_out),
      cmocka_unit_test(requests_complete),
      cmocka_unit_test(freed_requests_are_used_again),
      cmocka_unit_test(callbacks_are_called_once),
      cmocka_unit_test(waiting_has_a_timeout_and_stop_cancels),
      cmocka_unit_test(everything_may_be_freed_in_any_order),
      cmocka_unit_test(threads_share_a_runner),
      cmocka_unit_test(profiles_are_json),
      cmocka_unit_test(a_runner_publishes_telemetry),
      cmocka_unit_test(null_is_harmless),
  };
  return cmocka_run_group_tests_name("runner", tests, NULL, NULL);
}

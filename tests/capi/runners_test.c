/* Runner options, requests, and the further kinds of runners. */
#include <stdatomic.h>
#include <stdlib.h>

#include "common.h"

typedef struct client {
  float x[3 * COUNT], y[3 * COUNT], c[3 * COUNT];
  poprt_input in[1];
  poprt_output out[2];
} client;

/* Makes buffers of `rows` floats. */
static void client_init(client* k, size_t rows, float first) {
  memset(k, 0, sizeof *k);
  for (size_t i = 0; i < rows; i++) k->x[i] = first + (float)i;
  k->in[0] = (poprt_input){"x", 0, k->x, rows * 4};
  k->out[0] = (poprt_output){"y", 0, k->y, rows * 4};
  k->out[1] = (poprt_output){"c", 0, k->c, rows * 4};
}

static poprt_runner* make_runner(const poprt_runner_options* options) {
  poprt_executable* e = open_copies();
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, options, &r));
  poprt_executable_free(e);
  return r;
}

static poprt_runner_options options(void) {
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  return o;
}

static void refused(poprt_runner_options o, poprt_error_code code, const char* part) {
  poprt_executable* e = open_copies();
  poprt_runner* r = UNTOUCHED(poprt_runner);
  FAILS(poprt_runner_create(e, &o, &r), code, part);
  assert_ptr_equal(r, UNTOUCHED(poprt_runner));
  poprt_executable_free(e);
}

static void options_are_checked(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.replication_factor = -1;
  refused(o, POPRT_INVALID_ARGUMENT, "replication factor");
  o = options();
  o.ring_buffer_size_multiplier = -1;
  refused(o, POPRT_INVALID_ARGUMENT, "`ring_buffer_size_multiplier`");
  o = options();
  o.batching_dim = 3;
  refused(o, POPRT_INVALID_ARGUMENT, "`use_batching_dim`");
  o.use_batching_dim = 1;
  refused(o, POPRT_FAILED_PRECONDITION, "batching_dim 3");
  o = options();
  o.replica_device_count = 1;
  refused(o, POPRT_INVALID_ARGUMENT, "'replica_devices'");
  o = options();
  o.frozen_input_count = 1;
  refused(o, POPRT_INVALID_ARGUMENT, "'frozen_inputs'");
  const poprt_input nothing = {"nothing", 0, &o, 8};
  o.frozen_inputs = &nothing;
  refused(o, POPRT_NOT_FOUND, "no input 'nothing'");
  o = options();
  o.faults = "warp";
  refused(o, POPRT_INVALID_ARGUMENT, "warp");
  poprt_executable* e = open_copies();
  poprt_runner_options old = {0}; /* of the first version: 32 bytes */
  old.struct_size = 32;
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, &old, &r));
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void batches_of_any_size(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.use_batching_dim = 1;
  o.timeout_ns = 1000;
  poprt_runner* r = make_runner(&o);
  for (size_t rows = 1; rows <= 3 * COUNT; rows += 5) {
    client k;
    client_init(&k, rows, (float)rows);
    OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
    assert_memory_equal(k.x, k.y, rows * 4);
  }
  poprt_string* json = NULL;
  OK(poprt_runner_statistics(r, &json));
  assert_non_null(strstr(poprt_string_data(json), "\"completed\": 10"));
  assert_non_null(strstr(poprt_string_data(json), "\"replicas\""));
  poprt_string_free(json);
  FAILS(poprt_runner_statistics(NULL, &json), POPRT_INVALID_ARGUMENT, "'runner'");
  FAILS(poprt_runner_tracepoints(r, NULL), POPRT_INVALID_ARGUMENT, "'out_json'");
  poprt_runner_free(r);
}

static void frozen_inputs_are_left_out(void** state) {
  (void)state;
  client k;
  client_init(&k, COUNT, 5);
  poprt_runner_options o = options();
  o.frozen_inputs = k.in;
  o.frozen_input_count = 1;
  poprt_runner* r = make_runner(&o);
  assert_int_equal(poprt_runner_input_has_data(r, 0), 1);
  assert_int_equal(poprt_runner_input_has_data(r, 1), 0);
  assert_int_equal(poprt_runner_input_has_data(NULL, 0), 0);
  OK(poprt_runner_execute(r, NULL, 0, k.out, 2));
  assert_memory_equal(k.x, k.y, COUNT * 4);
  FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_INVALID_ARGUMENT, "leave it out");
  void* outputs[] = {k.c, k.y}; /* the memory of the two outputs is exchanged */
  OK(poprt_runner_execute_indexed(r, NULL, outputs));
  assert_memory_equal(k.x, k.c, COUNT * 4);
  FAILS(poprt_runner_execute_indexed(r, NULL, NULL), POPRT_INVALID_ARGUMENT,
        "output 'y': the pointer is null");
  poprt_runner_free(r);
}

static void device_errors_have_codes(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.faults = "recoverable_runtime_error:IPU_RESET@2";
  for (o.auto_reset = 0; o.auto_reset < 2; o.auto_reset++) {
    poprt_runner* r = make_runner(&o);
    client k;
    client_init(&k, COUNT, 1);
    OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
    FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_UNAVAILABLE,
          "recoverable_runtime_error (IPU_RESET)");
    if (o.auto_reset)
      OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
    else
      FAILS(poprt_runner_execute(r, k.in, 1, k.out, 2), POPRT_UNAVAILABLE, "IPU_RESET");
    poprt_runner_free(r);
  }
}

typedef struct calls {
  atomic_int n, code;
} calls;

static void count(poprt_error_code code, void* user_data) {
  calls* c = user_data;
  c->code = code;
  c->n++;
}

static void requests_are_cancelled_and_time_out(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.use_batching_dim = 1;
  o.timeout_ns = -1; /* one row waits for ever */
  poprt_runner* r = make_runner(&o);
  client k;
  client_init(&k, 1, 1);
  calls c = {0, -1};
  poprt_request_options q = {sizeof q, 0, count, &c};
  poprt_request* request = NULL;
  OK(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &request));
  assert_int_equal(poprt_request_done(request), 0);
  assert_int_equal(poprt_request_cancel(request), 1);
  assert_int_equal(poprt_request_cancel(request), 0);
  assert_int_equal(poprt_request_cancel(NULL), 0);
  FAILS(poprt_request_wait(request, -1), POPRT_CANCELLED, "cancelled");
  assert_int_equal(c.n, 1);
  assert_int_equal(c.code, POPRT_CANCELLED);
  poprt_request_free(request);

  q.timeout_ns = 1000000;
  OK(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &request));
  FAILS(poprt_request_wait(request, -1), POPRT_DEADLINE_EXCEEDED, "its time was over");
  poprt_request_free(request);
  q.timeout_ns = -1;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &request), POPRT_INVALID_ARGUMENT,
        "timeout_ns");
  q.struct_size = 0;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &request), POPRT_INVALID_ARGUMENT,
        "poprt_request_options");
  /* Freeing the runner answers the last one, which waits for rows. */
  q = (poprt_request_options){sizeof q, 0, count, &c};
  c.n = 0;
  OK(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &request));
  poprt_runner_free(r);
  assert_int_equal(poprt_request_done(request), 1);
  assert_int_equal(c.n, 1);
  FAILS(poprt_request_wait(request, -1), POPRT_CANCELLED, "stopped");
  poprt_request_free(request);
}

static void a_full_queue_is_the_callers_choice(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.use_batching_dim = 1;
  o.timeout_ns = -1; /* one row waits for ever */
  o.queue_depth = 2;
  poprt_runner* r = make_runner(&o);
  client k;
  client_init(&k, 1, 1);
  calls c = {0, -1};
  poprt_request_options q = {.struct_size = sizeof q, .callback = count, .user_data = &c};
  poprt_request* requests[6] = {NULL};
  q.when_full = POPRT_WHEN_FULL_FAIL;
  for (int i = 0; i < 2; i++) OK(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[i]));
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[2]), POPRT_UNAVAILABLE,
        "the queue is full: 2 requests are in flight");
  assert_null(requests[2]);
  q.when_full = POPRT_WHEN_FULL_WAIT;
  q.timeout_ns = 1000000;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[2]), POPRT_DEADLINE_EXCEEDED,
        "while 2 others were in flight");
  assert_int_equal(c.n, 0); /* a submission that fails does not call the callback */
  q.when_full = POPRT_WHEN_FULL_LINE;
  for (int i = 2; i < 4; i++) OK(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[i]));
  for (int i = 2; i < 4; i++)
    FAILS(poprt_request_wait(requests[i], -1), POPRT_DEADLINE_EXCEEDED, "its time was over");
  assert_int_equal(c.n, 2);
  q.timeout_ns = 0;
  OK(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[4]));
  q.when_full = 3;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[5]), POPRT_INVALID_ARGUMENT,
        "when_full must be 0 (wait), 1 (fail) or 2 (line), given 3");
  q.when_full = 0;
  q.replica = 1;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[5]), POPRT_INVALID_ARGUMENT,
        "without use_replica");
  q.use_replica = 1;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[5]), POPRT_NOT_FOUND,
        "no replica 1");
  q.use_replica = 0;
  q.replica = 0;
  q.reserved = 1;
  FAILS(poprt_runner_submit(r, k.in, 1, k.out, 2, &q, &requests[5]), POPRT_INVALID_ARGUMENT,
        "reserved");
  poprt_runner_free(r);
  assert_int_equal(c.n, 5);
  for (int i = 0; i < 5; i++) poprt_request_free(requests[i]);
}

static void free_runner(poprt_error_code code, void* user_data) {
  calls* c = ((void**)user_data)[0];
  poprt_runner_free(((void**)user_data)[1]);
  c->code = code;
  c->n++;
}

static void a_callback_may_free_the_runner(void** state) {
  (void)state;
  poprt_runner* r = make_runner(NULL);
  calls c = {0, -1};
  void* both[] = {&c, r};
  client k;
  client_init(&k, COUNT, 1);
  OK(poprt_runner_execute_async(r, k.in, 1, k.out, 2, free_runner, both, NULL));
  while (c.n == 0) continue;
  assert_int_equal(c.code, POPRT_OK);
}

static void tracepoints_are_json(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.flush_on_waiting_outputs = 1;
  o.request_tracepoints_buffer_size = 2;
  poprt_runner* r = make_runner(&o);
  client k;
  client_init(&k, COUNT, 1);
  for (int i = 0; i < 5; i++) OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
  poprt_string* json = NULL;
  OK(poprt_runner_tracepoints(r, &json));
  int n = 0;
  for (const char* at = poprt_string_data(json); (at = strstr(at, "compute_begin")); at++) n++;
  assert_int_equal(n, 2);
  poprt_string_free(json);
  poprt_runner_free(r);
}

static void replicas_run_on_their_devices(void** state) {
  (void)state;
  poprt_device_manager* m = NULL;
  poprt_device* d = NULL;
  OK(poprt_device_manager_create(NULL, &m));
  OK(poprt_device_manager_get_device(m, 1, &d));
  const poprt_replica_device pin = {1, d};
  poprt_runner_options o = options();
  o.replication_factor = 2;
  o.replica_devices = &pin;
  o.replica_device_count = 1;
  poprt_runner* r = make_runner(&o);
  poprt_device_free(d);
  poprt_device_manager_free(m);
  client k;
  client_init(&k, COUNT, 1);
  for (int i = 0; i < 4; i++) OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
  assert_memory_equal(k.x, k.y, COUNT * 4);
  poprt_runner_free(r);
}

static poprt_runner_counters counters_of(poprt_runner* r, int64_t replica) {
  poprt_runner_counters c;
  memset(&c, 0xff, sizeof c);
  c.struct_size = sizeof c;
  OK(poprt_runner_get_counters(r, replica, &c));
  assert_int_equal(c.struct_size, sizeof c);
  return c;
}

static void counters_are_numbers(void** state) {
  (void)state;
  poprt_runner_options o = options();
  o.replication_factor = 2;
  o.queue_depth = 5;
  poprt_runner* r = make_runner(&o);
  client k;
  client_init(&k, COUNT, 1);
  for (int i = 0; i < 3; i++) OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
  const poprt_runner_counters all = counters_of(r, POPRT_ALL_REPLICAS);
  assert_int_equal(all.submitted, 3);
  assert_int_equal(all.completed, 3);
  assert_int_equal(all.failed + all.cancelled + all.timed_out + all.in_flight, 0);
  assert_int_equal(all.batches, 3);
  assert_int_equal(all.queue_capacity, 10);
  assert_int_equal(all.replicas, 2);
  assert_int_equal(all.latency_count, 3);
  assert_in_range(all.latency_max_ns, 1, all.latency_total_ns);
  assert_in_range(all.latency_p50_ns, 1, all.latency_p99_ns);
  assert_true(all.latency_p99_ns > all.latency_max_ns); /* of three, the 99th is the longest */
  uint64_t in_buckets = 0;
  for (int i = 0; i < POPRT_LATENCY_BUCKETS; i++) in_buckets += all.latency_buckets[i];
  assert_int_equal(in_buckets, 3);

  const poprt_runner_counters first = counters_of(r, 0), second = counters_of(r, 1);
  assert_int_equal(first.completed + second.completed, 3);
  assert_int_equal(first.rows + second.rows, all.rows);
  assert_int_equal(first.latency_total_ns + second.latency_total_ns, all.latency_total_ns);
  assert_int_equal(first.queue_capacity, 5);
  assert_int_equal(second.replicas, 1);

  poprt_runner_counters c = all;
  FAILS(poprt_runner_get_counters(r, 2, &c), POPRT_NOT_FOUND,
        "there is no replica 2: the runner has 2, counted from 0");
  FAILS(poprt_runner_get_counters(r, -2, &c), POPRT_INVALID_ARGUMENT, "-1 for all");
  FAILS(poprt_runner_get_counters(NULL, 0, &c), POPRT_INVALID_ARGUMENT, "'runner'");
  FAILS(poprt_runner_get_counters(r, 0, NULL), POPRT_INVALID_ARGUMENT, "'out_counters'");
  assert_memory_equal(&c, &all, sizeof c);
  c.struct_size = 0;
  FAILS(poprt_runner_get_counters(r, 0, &c), POPRT_INVALID_ARGUMENT, "struct_size");
  poprt_runner_free(r);
}

/* Programs that were built against a shorter struct, or against a longer one of a later version. */
static void counters_of_another_age(void** state) {
  (void)state;
  poprt_runner* r = make_runner(NULL);
  client k;
  client_init(&k, COUNT, 1);
  OK(poprt_runner_execute(r, k.in, 1, k.out, 2));
  struct {
    poprt_runner_counters c;
    uint64_t later;
  } mine;
  memset(&mine, 0xff, sizeof mine);
  mine.c.struct_size = offsetof(poprt_runner_counters, failed);
  OK(poprt_runner_get_counters(r, POPRT_ALL_REPLICAS, &mine.c));
  assert_int_equal(mine.c.completed, 1);
  assert_true(mine.c.failed == UINT64_MAX);
  mine.c.struct_size = sizeof mine;
  OK(poprt_runner_get_counters(r, POPRT_ALL_REPLICAS, &mine.c));
  assert_int_equal(mine.c.failed, 0);
  assert_int_equal(mine.later, 0);
  poprt_runner_free(r);
}

static void fusion_runner_selects_by_name(void** state) {
  (void)state;
  poprt_executable* e = NULL;
  poprt_runner* r = NULL;
  OK(poprt_executable_open(DATA "/fused.popef", &e));
  OK(poprt_fusion_runner_create(e, NULL, &r));
  assert_int_equal(poprt_runner_input_count(r), 2);
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  uint32_t k = 9;
  const poprt_input in = {"graph1/x", 0, x, 16};
  const poprt_output out[] = {{"graph1/y", 0, y, 16}, {"graph1/k", 0, &k, 4}};
  OK(poprt_runner_execute(r, &in, 1, out, 2));
  assert_int_equal(k, 1);
  assert_memory_equal(x, y, 16);
  assert_int_equal(counters_of(r, POPRT_ALL_REPLICAS).replicas, 1);
  assert_int_equal(counters_of(r, 0).completed, 1);
  const poprt_output mixed[] = {{"graph0/y", 0, y, 16}, {"graph1/k", 0, &k, 4}};
  FAILS(poprt_runner_execute(r, &in, 1, mixed, 2), POPRT_INVALID_ARGUMENT, "different graphs");
  FAILS(poprt_runner_execute_indexed(r, NULL, NULL), POPRT_UNIMPLEMENTED, "model runner");
  poprt_string* json = NULL;
  FAILS(poprt_runner_profile(r, &json), POPRT_UNIMPLEMENTED, "model runner");
  poprt_runner_free(r);
  poprt_executable_free(e);
  e = open_copies();
  FAILS(poprt_fusion_runner_create(e, NULL, &r), POPRT_FAILED_PRECONDITION, "not a fused model");
  poprt_executable_free(e);
}

static void pack_runner_packs(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  poprt_pack_runner_options o = {0};
  o.struct_size = sizeof o;
  poprt_runner* r = UNTOUCHED(poprt_runner);
  FAILS(poprt_pack_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "timeout");
  o.timeout_microseconds = 100;
  o.algorithm = 7;
  FAILS(poprt_pack_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "pack algorithm 7");
  o.algorithm = POPRT_PACK_FIRST_FIT;
  o.disable_data_across_rows = 1;
  o.compile_batch_size = 2;
  o.max_valid_num = 2;
  o.dynamic_input_name = "nope";
  FAILS(poprt_pack_runner_create(e, &o, &r), POPRT_NOT_FOUND, "'nope'");
  o.dynamic_input_name = NULL; /* the first input */
  OK(poprt_pack_runner_create(e, &o, &r));
  poprt_executable_free(e);
  assert_int_equal(poprt_anchor_bytes(poprt_runner_input(r, 0)), COUNT / 2 * 4);
  client a, b;
  client_init(&a, 5, 1);
  client_init(&b, 7, 100);
  poprt_request *p = NULL, *q = NULL;
  OK(poprt_runner_execute_async(r, a.in, 1, a.out, 2, NULL, NULL, &p));
  OK(poprt_runner_execute_async(r, b.in, 1, b.out, 2, NULL, NULL, &q));
  OK(poprt_request_wait(p, -1));
  OK(poprt_request_wait(q, -1));
  assert_memory_equal(a.x, a.y, 20);
  assert_memory_equal(b.x, b.y, 28);
  assert_int_equal(counters_of(r, POPRT_ALL_REPLICAS).completed, 2);
  assert_int_equal(counters_of(r, POPRT_ALL_REPLICAS).replicas, 0);
  poprt_runner_counters none = {0};
  none.struct_size = sizeof none;
  FAILS(poprt_runner_get_counters(r, 0, &none), POPRT_UNIMPLEMENTED, "all its replicas together");
  client_init(&a, 9, 1);
  FAILS(poprt_runner_execute(r, a.in, 1, a.out, 2), POPRT_INVALID_ARGUMENT, "longer than 8");
  poprt_request_free(p);
  poprt_runner_free(r);
  poprt_request_free(q);
}

static void host_concat_runner_joins(void** state) {
  (void)state;
  poprt_executable* e = open_copies();
  const char* const names[] = {"a", "b"};
  const uint64_t sizes[] = {20, 44};
  const int64_t shape[] = {COUNT};
  poprt_host_concat join = {"x", names, 2, shape, 1, COUNT * 4, sizes};
  poprt_host_concat_runner_options o = {0};
  o.struct_size = sizeof o;
  poprt_runner* r = UNTOUCHED(poprt_runner);
  FAILS(poprt_host_concat_runner_create(e, &o, &r), POPRT_NOT_FOUND, "HostConcatRunnerConfig");
  o.host_concat_count = 1;
  FAILS(poprt_host_concat_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "'host_concat'");
  o.host_concat = &join;
  join.tensor_name = "z";
  FAILS(poprt_host_concat_runner_create(e, &o, &r), POPRT_NOT_FOUND, "no input 'z'");
  join.tensor_name = "x";
  const poprt_host_concat twice[] = {join, join};
  o.host_concat = twice;
  o.host_concat_count = 2;
  FAILS(poprt_host_concat_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT,
        "input 'x' is joined twice");
  o.host_concat = &join;
  o.host_concat_count = 1;
  OK(poprt_host_concat_runner_create(e, &o, &r));
  poprt_executable_free(e);
  client k;
  client_init(&k, COUNT, 1);
  const poprt_input in[] = {{"b", 0, k.x + 5, 44}, {"a", 0, k.x, 20}};
  OK(poprt_runner_execute(r, in, 2, k.out, 2));
  assert_memory_equal(k.x, k.y, COUNT * 4);
  poprt_request* q = NULL;
  client_init(&k, COUNT, 3);
  OK(poprt_runner_execute_async(r, in, 2, k.out, 2, NULL, NULL, &q));
  poprt_runner_stop(r);
  poprt_error_free(poprt_request_wait(q, -1));
  poprt_request_free(q);
  poprt_runner_free(r);
}

static void light_runner_takes_new_weights(void** state) {
  (void)state;
  poprt_executable* e = NULL;
  poprt_runner *r = NULL, *other = NULL;
  OK(poprt_executable_open(DATA "/weights.popef", &e));
  setenv("POPRT_DEVICES", "1", 1);
  OK(poprt_light_runner_create(e, NULL, &r));
  assert_int_equal(poprt_runner_input_count(r), 0);
  assert_int_equal(poprt_light_runner_model_input_count(r), 1);
  assert_string_equal(poprt_anchor_name(poprt_light_runner_model_input(r, 0)), "x");
  assert_int_equal(poprt_light_runner_model_input_has_data(r, 0), 1);
  assert_null(poprt_light_runner_model_input(r, 1));
  client k;
  client_init(&k, COUNT, 50);
  OK(poprt_runner_execute(r, NULL, 0, k.out, 2));
  assert_memory_equal(k.c, k.y, COUNT * 4); /* its value is the constants */
  OK(poprt_light_runner_set_input_anchor(r, "x", k.x, COUNT * 4));
  OK(poprt_light_runner_update_weights(r));
  OK(poprt_runner_execute(r, NULL, 0, k.out, 2));
  assert_memory_equal(k.x, k.y, COUNT * 4);
  FAILS(poprt_light_runner_set_input_anchor(r, "x", k.x, 3), POPRT_INVALID_ARGUMENT, "64 bytes");
  FAILS(poprt_light_runner_set_input_anchor(r, "z", k.x, 3), POPRT_NOT_FOUND, "'z'");
  FAILS(poprt_light_runner_set_input_anchor(r, NULL, k.x, 3), POPRT_INVALID_ARGUMENT, "'name'");

  assert_int_equal(counters_of(r, 0).completed, 2);
  poprt_runner_stop(r);
  assert_int_equal(counters_of(r, POPRT_ALL_REPLICAS).replicas, 0);
  poprt_runner_counters none = {0};
  none.struct_size = sizeof none;
  FAILS(poprt_runner_get_counters(r, 0, &none), POPRT_NOT_FOUND, "the runner is stopped");
  FAILS(poprt_runner_execute(r, NULL, 0, k.out, 2), POPRT_CANCELLED, "reload()");
  OK(poprt_runner_create(e, NULL, &other)); /* the device is free */
  FAILS(poprt_light_runner_reload(r), POPRT_UNAVAILABLE, "busy");
  FAILS(poprt_light_runner_update_weights(other), POPRT_INVALID_ARGUMENT, "light runner");
  assert_int_equal(poprt_light_runner_model_input_count(other), 0);
  poprt_runner_free(other);
  OK(poprt_light_runner_reload(r));
  memset(k.y, 0, sizeof k.y);
  OK(poprt_runner_execute(r, NULL, 0, k.out, 2));
  assert_memory_equal(k.x, k.y, COUNT * 4);
  unsetenv("POPRT_DEVICES");
  poprt_executable_free(e);
  poprt_runner_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(batches_of_any_size),
      cmocka_unit_test(frozen_inputs_are_left_out),
      cmocka_unit_test(device_errors_have_codes),
      cmocka_unit_test(requests_are_cancelled_and_time_out),
      cmocka_unit_test(a_full_queue_is_the_callers_choice),
      cmocka_unit_test(a_callback_may_free_the_runner),
      cmocka_unit_test(tracepoints_are_json),
      cmocka_unit_test(replicas_run_on_their_devices),
      cmocka_unit_test(counters_are_numbers),
      cmocka_unit_test(counters_of_another_age),
      cmocka_unit_test(fusion_runner_selects_by_name),
      cmocka_unit_test(pack_runner_packs),
      cmocka_unit_test(host_concat_runner_joins),
      cmocka_unit_test(light_runner_takes_new_weights),
  };
  return cmocka_run_group_tests_name("runners", tests, NULL, NULL);
}

#include <pthread.h>
#include <stdlib.h>

#include "common.h"

/* A device that no other test competes for. */
static poprt_device* a_device(void) {
  poprt_device_manager* manager = NULL;
  poprt_device* device = NULL;
  OK(poprt_device_manager_create(NULL, &manager));
  OK(poprt_device_manager_create_ipu_model_device(manager, 1, 21, 0, &device));
  poprt_device_manager_free(manager);
  return device;
}

static poprt_session* session_of(const char* file, poprt_session_options* options) {
  poprt_executable* executable = NULL;
  poprt_session* session = NULL;
  OK(poprt_executable_open(file, &executable));
  OK(poprt_session_create(executable, options, &session));
  poprt_executable_free(executable); /* the session keeps it */
  return session;
}

typedef struct {
  float next, taken[8];
  int fetches, completes, prefetches, invalidations, prefetch, refuse;
  size_t bytes;
} stream;

static int32_t fetch_input(void* data, size_t bytes, void* user) {
  stream* s = user;
  s->fetches++;
  s->bytes = bytes;
  if (s->refuse) return 1;
  for (size_t i = 0; i < bytes / 4; i++) ((float*)data)[i] = s->next;
  return 0;
}
static int32_t prefetch_input(void* data, size_t bytes, void* user) {
  stream* s = user;
  s->prefetches++;
  if (!s->prefetch) return 1;
  for (size_t i = 0; i < bytes / 4; i++) ((float*)data)[i] = s->next;
  return 0;
}
static int32_t fetch_output(void* data, size_t bytes, void* user) {
  stream* s = user;
  (void)bytes;
  s->taken[s->fetches++ % 8] = *(float*)data;
  return 0;
}
static void complete(void* user) {
  stream* s = user;
  s->completes++;
  s->next++;
}
static void invalidate(void* user) { ((stream*)user)->invalidations++; }

static void connect(poprt_session* session, stream* x, stream* y, stream* c) {
  poprt_stream_callbacks in = {sizeof in, prefetch_input, fetch_input, complete, invalidate, NULL,
                               x};
  OK(poprt_session_set_user_input_handler(session, "x", &in));
  poprt_stream_callbacks out = {sizeof out, NULL, fetch_output, complete, NULL, NULL, y};
  OK(poprt_session_set_user_output_handler(session, "y", &out));
  out.user_data = c;
  OK(poprt_session_set_user_output_handler(session, "c", &out));
}

static void handlers_serve_the_streams(void** state) {
  (void)state;
  poprt_session* session = session_of(DATA "/copies.popef", NULL);
  assert_int_equal(poprt_session_is_loaded(session), 1);
  assert_int_equal(poprt_session_user_input_count(session), 1);
  assert_int_equal(poprt_session_user_output_count(session), 2);
  assert_string_equal(poprt_anchor_name(poprt_session_user_output(session, 1)), "c");
  assert_null(poprt_session_user_input(session, 1));
  FAILS(poprt_session_verify_connected(session), POPRT_FAILED_PRECONDITION, "'x', 'y', 'c'");
  FAILS(poprt_session_run_main_programs(session), POPRT_FAILED_PRECONDITION, "'x', 'y', 'c'");
  stream x = {.next = 1}, y = {0}, c = {0};
  connect(session, &x, &y, &c);
  OK(poprt_session_verify_connected(session));
  OK(poprt_session_run_load_programs(session));
  OK(poprt_session_run_main_programs(session));
  x.prefetch = 1;
  OK(poprt_session_run_main_programs(session)); /* fetches, then prefetches the next */
  OK(poprt_session_run_main_programs(session));
  const uint32_t main_program = 1;
  OK(poprt_session_run_programs(session, &main_program, 1));
  OK(poprt_session_run_save_programs(session));
  assert_int_equal(x.fetches, 2);
  assert_int_equal(x.completes, 4);
  assert_int_equal(x.bytes, COUNT * 4);
  for (int i = 0; i < 4; i++) assert_true(y.taken[i] == (float)(i + 1));
  assert_int_equal(c.completes, 4);
  poprt_session_unload_from_device(session);
  assert_int_equal(x.invalidations, 1);
  assert_int_equal(poprt_session_is_loaded(session), 0);
  FAILS(poprt_session_run_main_programs(session), POPRT_FAILED_PRECONDITION, "on no device");
  OK(poprt_session_reload(session));
  OK(poprt_session_run_main_programs(session));
  poprt_session_free(session);
}

static void a_stream_without_data_ends_the_run(void** state) {
  (void)state;
  poprt_session* session = session_of(DATA "/copies.popef", NULL);
  stream x = {.refuse = 1}, y = {0}, c = {0};
  connect(session, &x, &y, &c);
  int32_t ran = 2;
  FAILS(poprt_session_run_main_programs(session), POPRT_CANCELLED, "");
  FAILS(poprt_session_run_main_programs_unless_stopped(session, &ran), POPRT_CANCELLED, "'x'");
  x.refuse = 0;
  OK(poprt_session_run_main_programs(session));
  OK(poprt_session_run_main_programs_unless_stopped(session, &ran));
  assert_int_equal(ran, 1);
  poprt_session_stop(session);
  FAILS(poprt_session_run_main_programs(session), POPRT_CANCELLED, "stopped");
  OK(poprt_session_run_main_programs_unless_stopped(session, &ran));
  assert_int_equal(ran, 0);
  poprt_session_free(session);
}

static int32_t only_y(const char* name, int32_t is_output, const uint32_t* programs, size_t count,
                      void* user) {
  ++*(int*)user;
  return is_output && strcmp(name, "y") == 0 && count == 1 && programs[0] == 1;
}

static void predicates_choose_the_anchors(void** state) {
  (void)state;
  int calls = 0;
  poprt_session_options options = {.struct_size = sizeof options};
  options.predicate = only_y;
  options.predicate_data = &calls;
  poprt_session* session = session_of(DATA "/copies.popef", &options);
  assert_int_equal(calls, 3);
  assert_int_equal(poprt_session_user_input_count(session), 0);
  assert_int_equal(poprt_session_user_output_count(session), 1);
  stream y = {0};
  y.taken[0] = 5;
  poprt_stream_callbacks out = {sizeof out, NULL, fetch_output, NULL, NULL, NULL, &y};
  OK(poprt_session_set_user_output_handler(session, "y", &out));
  OK(poprt_session_run_main_programs(session)); /* rejected anchors do not hang */
  assert_true(y.taken[0] == 0);
  poprt_session_free(session);
}

static void the_next_session_takes_the_device(void** state) {
  (void)state;
  poprt_device* device = a_device();
  poprt_session_options options = {.struct_size = sizeof options};
  options.device = device;
  options.telemetry = 0;
  poprt_session* first = session_of(DATA "/copies.popef", &options);
  options.exclusive = 1;
  poprt_session* second = session_of(DATA "/copies.popef", &options);
  assert_int_equal(poprt_session_is_loaded(first), 0);
  assert_int_equal(poprt_session_is_loaded(second), 1);
  FAILS(poprt_session_bind_to_device(first, device), POPRT_FAILED_PRECONDITION, "another session");
  poprt_session_free(second);
  OK(poprt_session_bind_to_device(first, device));
  assert_int_equal(poprt_session_is_loaded(first), 1);
  poprt_session_free(first);

  options.exclusive = 0;
  options.deferred = 1;
  options.device = NULL;
  first = session_of(DATA "/copies.popef", &options);
  assert_int_equal(poprt_session_is_loaded(first), 0);
  OK(poprt_session_bind_to_device(first, device));
  assert_int_equal(poprt_session_is_loaded(first), 1);
  poprt_session_free(first);
  poprt_device_free(device);
}

static void weights_are_updated(void** state) {
  (void)state;
  poprt_session* session = session_of(DATA "/weights.popef", NULL);
  assert_int_equal(poprt_session_user_input_count(session), 0);
  stream y = {0}, c = {0};
  poprt_stream_callbacks out = {sizeof out, NULL, fetch_output, NULL, NULL, NULL, &y};
  OK(poprt_session_set_user_output_handler(session, "y", &out));
  out.user_data = &c;
  OK(poprt_session_set_user_output_handler(session, "c", &out));
  float value[COUNT], back[COUNT] = {0};
  for (int i = 0; i < COUNT; i++) value[i] = (float)(i + 10);
  OK(poprt_session_run_main_programs(session));
  assert_true(y.taken[0] == c.taken[0]);
  OK(poprt_session_update_weights(session, "x", value, sizeof value));
  OK(poprt_session_run_main_programs(session));
  assert_true(y.taken[1] == 10);
  OK(poprt_session_read_weights(session, "x", back, sizeof back));
  assert_memory_equal(back, value, sizeof value);
  FAILS(poprt_session_update_weights(session, "x", value, 4), POPRT_INVALID_ARGUMENT, "64 bytes");
  FAILS(poprt_session_update_weights(session, "x", NULL, 64), POPRT_INVALID_ARGUMENT, "'data'");
  FAILS(poprt_session_update_weights(session, "w", value, 64), POPRT_NOT_FOUND, "'x'");
  FAILS(poprt_session_read_weights(session, "x", back, 4), POPRT_INVALID_ARGUMENT, "64 bytes");
  FAILS(poprt_session_read_weights(session, "w", back, 64), POPRT_NOT_FOUND, "'x'");
  poprt_session_free(session);
}

static void* update_often(void* session) {
  float value[COUNT];
  for (int round = 0; round < 20000; round++) {
    for (int i = 0; i < COUNT; i++) value[i] = (float)(round + 100);
    OK(poprt_session_update_weights(session, "x", value, sizeof value));
  }
  return NULL;
}

/* A read returns all elements of one update, also while another thread updates. */
static void weights_are_read_during_updates(void** state) {
  (void)state;
  poprt_session* session = session_of(DATA "/weights.popef", NULL);
  float value[COUNT] = {0};
  OK(poprt_session_update_weights(session, "x", value, sizeof value));
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, update_often, session), 0);
  for (int round = 0; round < 20000; round++) {
    OK(poprt_session_read_weights(session, "x", value, sizeof value));
    for (int i = 1; i < COUNT; i++) assert_true(value[i] == value[0]);
    assert_true(value[0] == 0 || (value[0] >= 100 && value[0] < 20100));
  }
  pthread_join(thread, NULL);
  poprt_session_free(session);
}

typedef struct {
  int ok, cancelled;
} answers;
static void answer(poprt_error_code code, void* user) {
  answers* a = user;
  if (code == POPRT_OK)
    a->ok++;
  else
    a->cancelled++;
}

static float padding[COUNT / 2];
static void pad(poprt_queue* queue, void* user) {
  ++*(int*)user;
  OK(poprt_queue_enqueue_input(queue, padding, sizeof padding, NULL, NULL));
}

static void queues_serve_the_streams(void** state) {
  (void)state;
  poprt_session* session = session_of(DATA "/copies.popef", NULL);
  int timeouts = 0;
  int32_t ran = 2;
  poprt_queue_options options = {.struct_size = sizeof options};
  options.buffers = 3;
  options.timeout_ns = 1000000;
  options.timeout = pad;
  options.timeout_data = &timeouts;
  poprt_queue_manager* queues = NULL;
  OK(poprt_session_create_queue_manager(session, &options, &queues));
  poprt_queue *x = NULL, *y = NULL, *c = NULL;
  OK(poprt_queue_manager_input_queue(queues, "x", &x));
  OK(poprt_queue_manager_output_queue(queues, "y", &y));
  OK(poprt_queue_manager_output_queue(queues, "c", &c));
  FAILS(poprt_queue_manager_input_queue(queues, "y", &x), POPRT_NOT_FOUND, "'x'");
  FAILS(poprt_queue_manager_output_queue(queues, "x", &y), POPRT_NOT_FOUND, "'y', 'c'");
  assert_int_equal(poprt_queue_capacity(x), 4);
  assert_string_equal(poprt_anchor_name(poprt_queue_anchor(y)), "y");

  float in[COUNT], out[COUNT], constant[COUNT];
  for (int i = 0; i < COUNT; i++) in[i] = (float)i;
  answers a = {0, 0};
  OK(poprt_queue_enqueue_input(x, in, sizeof in, answer, &a));
  OK(poprt_queue_enqueue_output(y, out, sizeof out, answer, &a));
  OK(poprt_queue_enqueue_output(c, constant, sizeof constant, answer, &a));
  assert_int_equal(poprt_queue_read_available(x), 1);
  OK(poprt_session_run_main_programs(session));
  assert_memory_equal(in, out, sizeof in);
  assert_int_equal(a.ok, 3);

  /* Half of an input is enqueued; the timeout adds the rest. */
  OK(poprt_queue_enqueue_input(x, in, sizeof in / 2, answer, &a));
  OK(poprt_queue_enqueue_output(y, out, sizeof out, NULL, NULL));
  OK(poprt_queue_enqueue_output(c, constant, sizeof constant, NULL, NULL));
  OK(poprt_session_run_main_programs(session));
  assert_int_equal(timeouts, 1);
  assert_true(out[COUNT - 1] == 0);
  assert_int_equal(a.ok, 4);

  OK(poprt_queue_enqueue_input(x, in, sizeof in, answer, &a));
  poprt_queue_manager_flush_all(queues);
  assert_int_equal(a.cancelled, 1);
  FAILS(poprt_queue_enqueue_input(x, NULL, 4, NULL, NULL), POPRT_INVALID_ARGUMENT, "memory");
  FAILS(poprt_queue_enqueue_input(y, in, 4, NULL, NULL), POPRT_INVALID_ARGUMENT, "output queue");
  FAILS(poprt_queue_enqueue_output(x, in, 4, NULL, NULL), POPRT_INVALID_ARGUMENT, "input queue");
  OK(poprt_queue_enqueue_input(x, in, sizeof in, answer, &a));
  poprt_queue_manager_disconnect_all(queues);
  assert_int_equal(a.cancelled, 2);
  FAILS(poprt_queue_enqueue_input(x, in, 4, answer, &a), POPRT_CANCELLED, "disconnected");
  FAILS(poprt_session_run_main_programs(session), POPRT_CANCELLED, "'x' was disconnected");
  OK(poprt_session_run_main_programs_unless_stopped(session, &ran));
  assert_int_equal(ran, 0);
  poprt_session_free(session);
}

static void* run_main(void* session) { return (void*)poprt_session_run_main_programs(session); }

static void stop_ends_a_blocked_run(void** state) {
  (void)state;
  poprt_session* session = session_of(DATA "/copies.popef", NULL);
  poprt_queue_manager* queues = NULL;
  OK(poprt_session_create_queue_manager(session, NULL, &queues));
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_main, session), 0);
  poprt_session_stop(session);
  void* error = NULL;
  pthread_join(thread, &error);
  FAILS(error, POPRT_CANCELLED, "stopped");
  poprt_session_free(session);
}

static void profiles_are_json(void** state) {
  (void)state;
  poprt_session_options options = {.struct_size = sizeof options};
  options.profile = 1;
  poprt_session* session = session_of(DATA "/copies.popef", &options);
  stream x = {0}, y = {0}, c = {0};
  connect(session, &x, &y, &c);
  for (int i = 0; i < 3; i++) OK(poprt_session_run_main_programs(session));
  poprt_string* json = NULL;
  OK(poprt_session_profile(session, &json));
  assert_non_null(strstr(poprt_string_data(json), "\"runs\": 3"));
  assert_non_null(strstr(poprt_string_data(json), "\"kernel\": \"copy\""));
  poprt_string_free(json);
  json = UNTOUCHED(poprt_string);
  FAILS(poprt_session_profile(session, NULL), POPRT_INVALID_ARGUMENT, "'out_json'");
  FAILS(poprt_session_profile(NULL, &json), POPRT_INVALID_ARGUMENT, "'session'");
  poprt_session_unload_from_device(session);
  FAILS(poprt_session_profile(session, &json), POPRT_FAILED_PRECONDITION, "device");
  poprt_session_free(session);
  session = session_of(DATA "/copies.popef", NULL);
  FAILS(poprt_session_profile(session, &json), POPRT_FAILED_PRECONDITION, "without profiling");
  assert_ptr_equal(json, UNTOUCHED(poprt_string));
  poprt_session_free(session);
}

static void telemetry_is_read(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX";
  assert_non_null(mkdtemp(folder));
  setenv("POPRT_TELEMETRY_DIR", folder, 1);
  poprt_session_options options = {.struct_size = sizeof options};
  options.telemetry = 1;
  poprt_session* session = session_of(DATA "/copies.popef", &options);
  poprt_string* json = NULL;
  OK(poprt_telemetry_read(NULL, &json));
  assert_non_null(strstr(poprt_string_data(json), "\"name\": \"copies\""));
  assert_non_null(strstr(poprt_string_data(json), "\"alive\": true"));
  poprt_string_free(json);
  poprt_session_free(session);
  OK(poprt_telemetry_read(folder, &json));
  assert_string_equal(poprt_string_data(json), "[]");
  poprt_string_free(json);
  OK(poprt_telemetry_read("/no/such/folder", &json));
  assert_string_equal(poprt_string_data(json), "[]");
  poprt_string_free(json);
  FAILS(poprt_telemetry_read(folder, NULL), POPRT_INVALID_ARGUMENT, "'out_json'");
  setenv("POPRT_TELEMETRY_DIR", "relative", 1);
  FAILS(poprt_telemetry_read(NULL, &json), POPRT_INVALID_ARGUMENT, "absolute");
  unsetenv("POPRT_TELEMETRY_DIR");
  remove(folder);
}

typedef struct {
  uint32_t bucket;
  float x[8], y[8];
  uint8_t real[4];
  int calls;
} softmax;

static int32_t fetch_bucket(void* data, size_t bytes, void* user) {
  memcpy(data, &((softmax*)user)->bucket, bytes);
  return 0;
}
static int32_t fetch_x(void* data, size_t bytes, void* user) {
  memcpy(data, ((softmax*)user)->x, bytes);
  return 0;
}
static int32_t fetch_mask(void* data, size_t bytes, void* user) {
  softmax* s = user;
  s->calls++;
  memcpy(data, s->real, bytes);
  return 0;
}
static int32_t take_y(void* data, size_t bytes, void* user) {
  memcpy(((softmax*)user)->y, data, bytes);
  return 0;
}
static int32_t all_anchors(const char* name, int32_t is_output, const uint32_t* programs,
                           size_t program_count, void* user) {
  (void)is_output, (void)programs, (void)program_count;
  if (!strncmp(name, "poprt.real.", 11)) ++*(int*)user;
  return 1;
}

/* y = softmax of the rows of x [2, N], compiled for N = 2 and N = 4. */
static poprt_session* softmax_session(softmax* s, int* calls) {
  const int64_t two[] = {2, 2}, four[] = {2, 4};
  const poprt_input_shape shapes[] = {{"x", two, 2}, {"x", four, 2}};
  poprt_compile_options options = {.struct_size = sizeof options};
  options.input_shapes = shapes;
  options.input_shape_count = 2;
  poprt_compiler* compiler = NULL;
  poprt_executable* executable = NULL;
  OK(poprt_compiler_create(&options, &compiler));
  OK(poprt_compiler_compile_file(compiler, SCENARIOS "/softmax.onnx", &executable));
  poprt_session_options how = {.struct_size = sizeof how};
  how.predicate = all_anchors;
  how.predicate_data = calls;
  poprt_session* session = NULL;
  OK(poprt_session_create(executable, &how, &session));
  poprt_stream_callbacks stream = {sizeof stream, NULL, fetch_bucket, NULL, NULL, NULL, s};
  OK(poprt_session_set_user_input_handler(session, "poprt.bucket", &stream));
  stream.fetch = fetch_x;
  OK(poprt_session_set_user_input_handler(session, "x", &stream));
  stream.fetch = take_y;
  OK(poprt_session_set_user_output_handler(session, "y", &stream));
  poprt_compiler_free(compiler);
  poprt_executable_free(executable);
  return session;
}

/* Expects the softmax of 0 .. n - 1. */
static void assert_softmax(const float* y, int n) {
  static const double powers[] = {1, 2.718281828459045, 7.38905609893065, 20.085536923187668};
  double sum = 0;
  for (int i = 0; i < n; i++) sum += powers[i];
  for (int i = 0; i < n; i++) assert_float_equal(y[i], (float)(powers[i] / sum), 1e-6);
}

static void masks_of_several_shapes_are_made(void** state) {
  (void)state;
  softmax s = {.bucket = 1, .x = {0, 1, 2, 3, 0, 1, 2, 3}};
  int calls = 0;
  poprt_session* session = softmax_session(&s, &calls);
  assert_int_equal(calls, 0); /* the caller cannot reject a mask */
  assert_int_equal(poprt_session_user_input_count(session), 2);
  const char* mask = NULL;
  poprt_queue_manager* queues = NULL;
  OK(poprt_session_verify_connected(session));
  OK(poprt_session_run_main_programs(session)); /* without a handler all places are real */
  assert_softmax(s.y, 4);
  assert_softmax(s.y + 4, 4);
  s.bucket = 0;
  s.x[2] = 0, s.x[3] = 1; /* dense in the shape of the bucket */
  OK(poprt_session_run_main_programs(session));
  assert_softmax(s.y, 2);
  assert_softmax(s.y + 2, 2);
  /* A caller that pads its inputs sets the mask of real places. */
  mask = "poprt.real.N";
  poprt_stream_callbacks stream = {sizeof stream, NULL, fetch_mask, NULL, NULL, NULL, &s};
  OK(poprt_session_set_user_input_handler(session, mask, &stream));
  s.bucket = 1;
  memcpy(s.real, (uint8_t[]){1, 1, 1, 0}, 4);
  memcpy(s.x, (float[]){0, 1, 2, 1e30f, 0, 1, 2, 1e30f}, sizeof s.x);
  OK(poprt_session_run_main_programs(session));
  assert_int_equal(s.calls, 1);
  assert_softmax(s.y, 3);
  assert_softmax(s.y + 4, 3);
  /* Without the handler all places are real again. */
  OK(poprt_session_set_user_input_handler(session, mask, NULL));
  s.x[3] = s.x[7] = 3;
  OK(poprt_session_run_main_programs(session));
  assert_softmax(s.y, 4);
  /* Queues serve the model's anchors. */
  OK(poprt_session_create_queue_manager(session, NULL, &queues));
  poprt_queue* queue = NULL;
  OK(poprt_queue_manager_input_queue(queues, "x", &queue));
  FAILS(poprt_queue_manager_input_queue(queues, mask, &queue), POPRT_NOT_FOUND, "poprt.real.N");
  poprt_session_free(session);
}

static void bad_arguments(void** state) {
  (void)state;
  poprt_executable* executable = open_copies();
  poprt_session* session = UNTOUCHED(poprt_session);
  poprt_session_options options = {.struct_size = sizeof options};
  FAILS(poprt_session_create(NULL, NULL, &session), POPRT_INVALID_ARGUMENT, "'executable'");
  FAILS(poprt_session_create(executable, NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_session'");
  options.wait_strategy = -1;
  FAILS(poprt_session_create(executable, &options, &session), POPRT_INVALID_ARGUMENT, "wait");
  options.wait_strategy = 0;
  options.threads = -3;
  FAILS(poprt_session_create(executable, &options, &session), POPRT_INVALID_ARGUMENT, "threads");
  assert_ptr_equal(session, UNTOUCHED(poprt_session));
  OK(poprt_session_create(executable, NULL, &session));
  FAILS(poprt_session_set_user_input_handler(session, "q", NULL), POPRT_NOT_FOUND, "'x'");
  FAILS(poprt_session_set_user_output_handler(session, NULL, NULL), POPRT_INVALID_ARGUMENT,
        "'name'");
  poprt_stream_callbacks none = {.struct_size = sizeof none};
  FAILS(poprt_session_set_user_input_handler(session, "x", &none), POPRT_INVALID_ARGUMENT, "fetch");
  const uint32_t nine = 9;
  FAILS(poprt_session_run_programs(session, &nine, 1), POPRT_NOT_FOUND, "programs are 0, 1, 2");
  FAILS(poprt_session_run_programs(session, NULL, 1), POPRT_INVALID_ARGUMENT, "'indices'");
  poprt_queue_options queue = {.struct_size = sizeof queue};
  poprt_queue_manager* queues = NULL;
  queue.timeout_ns = -1;
  FAILS(poprt_session_create_queue_manager(session, &queue, &queues), POPRT_INVALID_ARGUMENT,
        "timeout_ns");
  queue.timeout_ns = 0;
  queue.buffers = (size_t)1 << 30;
  FAILS(poprt_session_create_queue_manager(session, &queue, &queues), POPRT_INVALID_ARGUMENT,
        "buffers");
  FAILS(poprt_session_create_queue_manager(session, NULL, NULL), POPRT_INVALID_ARGUMENT,
        "'out_manager'");
  poprt_popef_model* model = UNTOUCHED(poprt_popef_model);
  FAILS(poprt_session_popef_model(session, NULL), POPRT_INVALID_ARGUMENT, "'out_model'");
  FAILS(poprt_session_popef_model(NULL, &model), POPRT_INVALID_ARGUMENT, "'session'");
  assert_ptr_equal(model, UNTOUCHED(poprt_popef_model));
  OK(poprt_session_popef_model(session, &model));
  assert_string_equal(poprt_popef_metadata_executable(poprt_popef_model_metadata(model)),
                      poprt_executable_name(executable));
  poprt_popef_model_free(model);
  poprt_session_free(session);
  poprt_executable_free(executable);
}

static void null_is_harmless(void** state) {
  (void)state;
  poprt_session_free(NULL);
  poprt_session_stop(NULL);
  poprt_session_unload_from_device(NULL);
  assert_int_equal(poprt_session_is_loaded(NULL), 0);
  assert_int_equal(poprt_session_user_input_count(NULL), 0);
  assert_int_equal(poprt_session_user_output_count(NULL), 0);
  assert_null(poprt_session_user_input(NULL, 0));
  assert_null(poprt_session_user_output(NULL, 0));
  FAILS(poprt_session_verify_connected(NULL), POPRT_INVALID_ARGUMENT, "'session'");
  FAILS(poprt_session_run_main_programs(NULL), POPRT_INVALID_ARGUMENT, "'session'");
  FAILS(poprt_session_reload(NULL), POPRT_INVALID_ARGUMENT, "'session'");
  FAILS(poprt_session_bind_to_device(NULL, NULL), POPRT_INVALID_ARGUMENT, "'session'");
  poprt_queue_manager_flush_all(NULL);
  poprt_queue_manager_disconnect_all(NULL);
  assert_null(poprt_queue_anchor(NULL));
  assert_int_equal(poprt_queue_capacity(NULL), 0);
  assert_int_equal(poprt_queue_read_available(NULL), 0);
  FAILS(poprt_queue_enqueue_input(NULL, "", 1, NULL, NULL), POPRT_INVALID_ARGUMENT, "'queue'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handlers_serve_the_streams),
      cmocka_unit_test(a_stream_without_data_ends_the_run),
      cmocka_unit_test(predicates_choose_the_anchors),
      cmocka_unit_test(the_next_session_takes_the_device),
      cmocka_unit_test(weights_are_updated),
      cmocka_unit_test(weights_are_read_during_updates),
      cmocka_unit_test(queues_serve_the_streams),
      cmocka_unit_test(stop_ends_a_blocked_run),
      cmocka_unit_test(masks_of_several_shapes_are_made),
      cmocka_unit_test(profiles_are_json),
      cmocka_unit_test(telemetry_is_read),
      cmocka_unit_test(bad_arguments),
      cmocka_unit_test(null_is_harmless),
  };
  return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}

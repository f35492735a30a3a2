/* Scenarios about the content of files, options of compilers, and models on several IPUs or
 * replicas.
 */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "bindings/c/scenario_support.h"

/* Expects that the model has one user anchor of this type, with this name. */
static void expect_user_anchor(const poprt_popef_model* model, poprt_popef_anchor_type type,
                               const char* name) {
  size_t count = 0;
  const size_t* indices = poprt_popef_model_user_anchors(model, type, &count);
  assert_int_equal(count, 1);
  poprt_popef_anchor a = {0};
  a.struct_size = sizeof a;
  OK(poprt_popef_metadata_anchor(poprt_popef_model_metadata(model), indices[0], &a));
  assert_string_equal(a.name, name);
  assert_int_equal(a.type, type);
  assert_int_equal(a.dtype, POPRT_DTYPE_F32);
  assert_int_equal(a.rank, 2);
  assert_memory_equal(a.shape, kShape, sizeof kShape);
}

void scenario_51_read_a_popef_file(void** state) {
  (void)state;
  const char* path = "c_read.popef";
  poprt_executable* e = affine();
  OK(poprt_executable_save(e, path));
  poprt_popef_reader* reader = NULL;
  poprt_popef_model* model = NULL;
  poprt_popef_payload* payload = NULL;
  OK(poprt_popef_reader_create(&reader));
  OK(poprt_popef_reader_parse_file(reader, path));
  assert_int_equal(poprt_popef_reader_count(reader, POPRT_POPEF_EXECUTABLE), 1);
  const poprt_popef_blob* blob = poprt_popef_reader_blob(reader, POPRT_POPEF_EXECUTABLE, 0);
  poprt_popef_blob_info info = {0};
  info.struct_size = sizeof info;
  OK(poprt_popef_blob_get_info(blob, &info));
  assert_string_equal(info.name, poprt_executable_name(e));
  FAILS(poprt_popef_model_create(reader, "nope", &model), POPRT_FAILED_PRECONDITION, "nope");
  OK(poprt_popef_model_create(reader, NULL, &model));
  expect_user_anchor(model, POPRT_POPEF_INPUT, "x");
  expect_user_anchor(model, POPRT_POPEF_OUTPUT, "y");

  char part[10];
  const size_t size = info.bytes;
  OK(poprt_popef_blob_map(blob, &payload));
  OK(poprt_popef_blob_read(blob, 5, part, sizeof part));
  FAILS(poprt_popef_blob_read(blob, size - 9, part, sizeof part), POPRT_OUT_OF_RANGE, "");
  FAILS(poprt_popef_reader_parse_file(reader, "missing.popef"), POPRT_NOT_FOUND, "missing.popef");
  FAILS(poprt_popef_reader_parse_file(reader, DATA "/affine.onnx"), POPRT_INVALID_ARGUMENT,
        "affine.onnx");
  poprt_popef_reader_free(reader);
  poprt_popef_model_free(model);
  poprt_executable_free(e);

  const unsigned char* code = poprt_popef_payload_data(payload);
  assert_int_equal(poprt_popef_payload_size(payload), size);
  assert_memory_equal(part, code + 5, sizeof part);
  bytes file = read_file(path);
  size_t at = 0;
  while (at + size <= file.size && memcmp(file.data + at, code, size) != 0) at++;
  assert_true(at + size <= file.size);
  free(file.data);
  poprt_popef_payload_free(payload);
  remove(path);
}

void scenario_74_options_by_name(void** state) {
  (void)state;
  poprt_option list[] = {{"input_shape", "x=2,4"}, {"num_io_tiles", "32"}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = list;
  o.option_count = 2;
  poprt_compiler* c = NULL;
  poprt_executable* e = NULL;
  poprt_popef_metadata* m = NULL;
  poprt_string* text = NULL;
  OK(poprt_compiler_create(&o, &c));
  OK(poprt_compiler_compile_file(c, DATA "/affine.onnx", &e));
  assert_memory_equal(poprt_anchor_shape(poprt_executable_input(e, 0)), kShape, sizeof kShape);
  OK(poprt_executable_popef_metadata(e, &m));
  const char* value = NULL;
  assert_string_equal(poprt_popef_metadata_option(m, POPRT_POPEF_ENGINE_OPTIONS, 1, &value),
                      "num_io_tiles");
  assert_string_equal(value, "32");
  poprt_popef_metadata_free(m);
  poprt_executable_free(e);

  OK(poprt_compiler_list_options(&text));
  assert_non_null(strstr(poprt_string_data(text), "num_io_tiles"));
  poprt_string_free(text);
  OK(poprt_compiler_io_stat_file(c, DATA "/affine.onnx", &text));
  assert_non_null(strstr(poprt_string_data(text), "inputs: 1"));
  poprt_string_free(text);
  poprt_compiler_free(c);
  list[1].name = "nonsense";
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "nonsense");
  list[1] = (poprt_option){"compiler_options", "virtual_graph_mode=executionPhases"};
  FAILS(poprt_compiler_create(&o, &c), POPRT_UNIMPLEMENTED, "virtual_graph_mode");
}

typedef struct log_lines {
  int warnings, elsewhere;
  pthread_t here;
  const char* expected;
} log_lines;

static void take_line(poprt_log_level level, const char* message, void* user_data) {
  log_lines* lines = user_data;
  lines->warnings += level == POPRT_LOG_WARNING && strstr(message, lines->expected);
  lines->elsewhere += !pthread_equal(pthread_self(), lines->here);
}

/* Makes the compiler warn: the cache folder is a file. */
static void* warn(void* no_folder) {
  const poprt_input_shape inputs[] = {{"x", kShape, 2}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.input_shapes = inputs;
  o.input_shape_count = 1;
  o.enable_engine_caching = 1;
  o.cache_path = no_folder;
  poprt_compiler* compiler = NULL;
  poprt_executable* executable = NULL;
  OK(poprt_compiler_create(&o, &compiler));
  OK(poprt_compiler_compile_file(compiler, DATA "/affine.onnx", &executable));
  poprt_executable_free(executable);
  poprt_compiler_free(compiler);
  return NULL;
}

void scenario_54_log_messages(void** state) {
  (void)state;
  char no_folder[] = "/tmp/poprt_scenario_XXXXXX";
  close(mkstemp(no_folder));
  log_lines lines = {0, 0, pthread_self(), no_folder};
  poprt_log_set_callback(take_line, &lines);
  warn(no_folder);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, warn, no_folder), 0);
  pthread_join(thread, NULL);
  poprt_log_set_callback(NULL, NULL);
  assert_int_equal(lines.warnings, 2);
  assert_int_equal(lines.elsewhere, 1); /* called on the thread that logs */
  OK(poprt_log_set_level("OFF"));
  poprt_log_set_callback(take_line, &lines);
  warn(no_folder);
  poprt_log_set_callback(NULL, NULL);
  OK(poprt_log_set_level("WARNING"));
  assert_int_equal(lines.warnings, 2);
  remove(no_folder);
}

/* Compiles a model of data/ with an option by name, or without one if `name` is null. */
static poprt_error* compile_with(const char* file, const char* name, const char* value,
                                 poprt_executable** out) {
  const poprt_option option = {name, value};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = &option;
  o.option_count = name ? 1 : 0;
  char path[512];
  snprintf(path, sizeof path, DATA "/%s", file);
  poprt_compiler* compiler = NULL;
  poprt_error* error = poprt_compiler_create(&o, &compiler);
  if (!error) error = poprt_compiler_compile_file(compiler, path, out);
  poprt_compiler_free(compiler);
  return error;
}

void scenario_63_several_ipus(void** state) {
  (void)state;
  enum { REQUESTS = 6 };
  static float x[SLOW], expected[SLOW], y[REQUESTS][SLOW];
  for (int i = 0; i < SLOW; i++) x[i] = (float)(i % 7) / 7;
  const poprt_input in = {"x", 0, x, sizeof x};
  poprt_output out = {"y", 0, expected, sizeof expected};
  poprt_executable* e = NULL;
  OK(compile_with("slow.onnx", NULL, NULL, &e));
  poprt_runner* r = runner_of(e, NULL);
  poprt_executable_free(e);
  OK(poprt_runner_execute(r, &in, 1, &out, 1));
  poprt_runner_free(r);

  OK(compile_with("slow.onnx", "compiler_options",
                  "num_ipus=2\nvirtual_graph_mode=auto\nenable_pipelining=True\n"
                  "batches_per_step=2",
                  &e));
  poprt_popef_metadata* m = NULL;
  OK(poprt_executable_popef_metadata(e, &m));
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_NUM_IPUS), 2);
  poprt_popef_metadata_free(m);
  r = runner_of(e, NULL);
  poprt_executable_free(e);
  out = (poprt_output){"y", 0, y[0], sizeof y[0]};
  OK(poprt_runner_execute(r, &in, 1, &out, 1));
  assert_memory_equal(y[0], expected, sizeof expected);
  memset(y, 0, sizeof y);
  poprt_request* requests[REQUESTS];
  for (int i = 0; i < REQUESTS; i++) {
    out.data = y[i];
    OK(poprt_runner_execute_async(r, &in, 1, &out, 1, NULL, NULL, &requests[i]));
  }
  for (int i = 0; i < REQUESTS; i++) {
    OK(poprt_request_wait(requests[i], -1));
    poprt_request_free(requests[i]);
    assert_memory_equal(y[i], expected, sizeof expected);
  }
  poprt_runner_free(r);
  FAILS(compile_with("slow.onnx", "compiler_options", "num_ipus=2", &e), POPRT_INVALID_ARGUMENT,
        "virtual_graph_mode");
}

void scenario_65_packed_sequences(void** state) {
  (void)state;
  enum { REQUESTS = 6, PLACES = 8 };
  const size_t lengths[REQUESTS] = {1, 3, 5, 2, 8, 4};
  poprt_executable* e = NULL;
  OK(compile_with("sums.onnx", "pack_args", "max_valid_num=4\nsegment_max_size=8", &e));
  assert_int_equal(poprt_executable_input_count(e), 2);
  assert_string_equal(poprt_anchor_name(poprt_executable_input(e, 1)), "unpack_info");
  assert_int_equal(poprt_anchor_shape(poprt_executable_input(e, 1))[0], 4);
  assert_int_equal(poprt_anchor_shape(poprt_executable_output(e, 0))[0], 4);
  assert_int_equal(poprt_anchor_shape(poprt_executable_output(e, 0))[1], PLACES);
  poprt_pack_runner_options o = {0};
  o.struct_size = sizeof o;
  o.timeout_microseconds = 5000;
  poprt_runner* r = NULL;
  OK(poprt_pack_runner_create(e, &o, &r));
  poprt_executable_free(e);
  float x[REQUESTS][PLACES + 1], y[REQUESTS][PLACES];
  poprt_request* requests[REQUESTS];
  for (int k = 0; k < REQUESTS; k++) {
    for (int i = 0; i <= PLACES; i++) x[k][i] = (float)(i + 1);
    const poprt_input in = {"x", 0, x[k], lengths[k] * sizeof(float)};
    const poprt_output out = {"y", 0, y[k], sizeof y[k]};
    OK(poprt_runner_execute_async(r, &in, 1, &out, 1, NULL, NULL, &requests[k]));
  }
  for (int k = 0; k < REQUESTS; k++) {
    OK(poprt_request_wait(requests[k], -1));
    poprt_request_free(requests[k]);
    for (size_t i = 0; i < lengths[k]; i++)
      assert_true(y[k][i] == x[k][i] + (float)(lengths[k] * (lengths[k] + 1)) / 2);
  }
  const poprt_input longer = {"x", 0, x[0], sizeof x[0]};
  const poprt_output out = {"y", 0, y[0], sizeof y[0]};
  FAILS(poprt_runner_execute(r, &longer, 1, &out, 1), POPRT_INVALID_ARGUMENT, "longer than 8");
  poprt_runner_free(r);
  FAILS(compile_with("sums.onnx", "pack_args", "max_valid_num=4", &e), POPRT_INVALID_ARGUMENT,
        "segment_max_size");
}

/* Runs a step of cache.onnx on a replica. */
static poprt_error* keep(poprt_runner* r, uint32_t replica, int32_t step, float x, float y[3]) {
  const poprt_input in[] = {{"step", 0, &step, sizeof step}, {"x", 0, &x, sizeof x}};
  const poprt_output out = {"y", 0, y, 3 * sizeof *y};
  poprt_request_options o = {0};
  o.struct_size = sizeof o;
  o.use_replica = 1;
  o.replica = replica;
  poprt_request* request = NULL;
  poprt_error* error = poprt_runner_submit(r, in, 2, &out, 1, &o, &request);
  if (!error) error = poprt_request_wait(request, -1);
  poprt_request_free(request);
  return error;
}

void scenario_68_replicas_with_caches(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  assert_non_null(mkdtemp(folder));
  poprt_executable* e = NULL;
  OK(compile_with("cache.onnx", NULL, NULL, &e));
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  o.replication_factor = 2;
  o.shared_devices = folder;
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, &o, &r));
  poprt_executable_free(e);
  poprt_device_manager_options m = {0};
  m.struct_size = sizeof m;
  m.device_count = 2;
  m.shared = folder;
  poprt_device_manager* manager = NULL;
  OK(poprt_device_manager_create(&m, &manager));
  poprt_device* device = NULL;
  FAILS(poprt_device_manager_get_device(manager, 1, &device), POPRT_UNAVAILABLE, "busy");
  poprt_device_manager_free(manager);
  float y[3];
  for (int step = 0; step < 4; step++)
    for (uint32_t replica = 0; replica < 2; replica++) {
      OK(keep(r, replica, step, (float)(10 * replica + step + 1), y));
      for (int i = 0; i < 3; i++)
        assert_true(y[i] == (i > step ? 0.0f : (float)(10 * replica + step + 1 - i)));
    }
  FAILS(keep(r, 2, 0, 1, y), POPRT_NOT_FOUND, "no replica 2");
  poprt_runner_free(r);
  char lock[64];
  snprintf(lock, sizeof lock, "%s/devices.lock", folder);
  remove(lock);
  remove(folder);
}

/* A runner of affine whose shapes are compiled on demand, with a cache in `folder`. */
static poprt_runner* on_demand(char* folder, int64_t batch, int32_t max_shapes,
                               int64_t max_shape_memory) {
  assert_non_null(mkdtemp(folder));
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.enable_engine_caching = 1;
  o.cache_path = folder;
  o.batch_size = batch;
  poprt_executable* e = NULL;
  OK(poprt_executable_load(DATA "/affine.onnx", &o, &e));
  poprt_runner_options options = {0};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.max_shapes = max_shapes;
  options.max_shape_memory = max_shape_memory;
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, &options, &r));
  poprt_executable_free(e);
  return r;
}

static void remove_cache(poprt_runner* r, const char* folder) {
  poprt_runner_free(r);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void check_rows(poprt_runner* r, size_t rows) {
  float x[40], y[40];
  for (size_t i = 0; i < 4 * rows; i++) x[i] = (float)i;
  const poprt_input in = {"x", 0, x, 4 * rows * sizeof *x};
  const poprt_output out = {"y", 0, y, 4 * rows * sizeof *y};
  OK(poprt_runner_execute(r, &in, 1, &out, 1));
  for (size_t i = 0; i < 4 * rows; i++) assert_true(y[i] == 2 * x[i] + 1);
}

static void check_statistics(poprt_runner* r, const char* part) {
  poprt_string* json = NULL;
  OK(poprt_runner_statistics(r, &json));
  assert_non_null(strstr(poprt_string_data(json), part));
  poprt_string_free(json);
}

void scenario_80_any_shape(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  poprt_runner* r = on_demand(folder, 0, 0, 0);
  check_rows(r, 3);
  check_rows(r, 1);
  check_rows(r, 3);
  float x[15] = {0}, y[15];
  const poprt_input in = {"x", 0, x, sizeof x};
  const poprt_output out = {"y", 0, y, sizeof y};
  FAILS(poprt_runner_execute(r, &in, 1, &out, 1), POPRT_INVALID_ARGUMENT, "60 bytes");
  remove_cache(r, folder);
}

void scenario_81_batch_compiled_ahead(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  poprt_runner* r = on_demand(folder, 2, 0, 0);
  assert_int_equal(poprt_anchor_shape(poprt_runner_input(r, 0))[0], 2);
  check_rows(r, 2);
  check_rows(r, 5);
  check_rows(r, 1);
  remove_cache(r, folder);
}

void scenario_82_warm_up(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  poprt_runner* r = on_demand(folder, 0, 0, 0);
  OK(poprt_runner_warm_up(r, "x=8,4/9,4"));
  check_statistics(r, "\"compiled\": 2");
  FAILS(poprt_runner_warm_up(r, "z=2,4"), POPRT_NOT_FOUND, "z");
  remove_cache(r, folder);
  poprt_executable* e = affine();
  r = runner_of(e, NULL);
  FAILS(poprt_runner_warm_up(r, "x=2,4"), POPRT_UNIMPLEMENTED, "fixed");
  poprt_runner_free(r);
  poprt_executable_free(e);
}

static void check_dimensions(poprt_runner* r, const char* on_demand, const char* rows) {
  poprt_string* json = NULL;
  OK(poprt_runner_open_dimensions(r, &json));
  assert_non_null(strstr(poprt_string_data(json), on_demand));
  assert_non_null(strstr(poprt_string_data(json), rows));
  poprt_string_free(json);
}

void scenario_112_open_dimensions(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  poprt_runner* r = on_demand(folder, 2, 0, 0);
  check_dimensions(r, "\"on_demand\": true", "\"N\"");
  remove_cache(r, folder);
  poprt_executable* e = affine();
  r = runner_of(e, NULL);
  check_dimensions(r, "\"on_demand\": false", "2,");
  poprt_runner_free(r);
  poprt_executable_free(e);
}

void scenario_83_shape_sets(void** state) {
  (void)state;
  const int64_t small[] = {1, 4}, large[] = {4, 4};
  const poprt_input_shape shapes[] = {{"x", small, 2}, {"x", large, 2}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.input_shapes = shapes;
  o.input_shape_count = 2;
  poprt_compiler* compiler = NULL;
  poprt_executable* e = NULL;
  OK(poprt_compiler_create(&o, &compiler));
  OK(poprt_compiler_compile_file(compiler, DATA "/affine.onnx", &e));
  poprt_compiler_free(compiler);
  poprt_runner* r = runner_of(e, NULL);
  check_rows(r, 3);
  check_rows(r, 1);
  check_rows(r, 4);
  poprt_runner_free(r);
  poprt_executable_free(e);
}

void scenario_84_shapes_are_removed(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  poprt_runner* r = on_demand(folder, 0, 1, 0);
  check_rows(r, 1);
  check_rows(r, 2);
  check_rows(r, 3);
  check_rows(r, 4);
  check_statistics(r, "\"removed\": 3");
  remove_cache(r, folder);
}

void scenario_123_memory_of_shapes(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  poprt_runner* r = on_demand(folder, 0, 0, 4096);
  check_rows(r, 3);
  static float x[4000], y[4000];
  const poprt_input in = {"x", 0, x, sizeof x};
  const poprt_output out = {"y", 0, y, sizeof y};
  FAILS(poprt_runner_execute(r, &in, 1, &out, 1), POPRT_INVALID_ARGUMENT, "32000 bytes");
  check_rows(r, 3);
  remove_cache(r, folder);
}

/* A compiler of affine.onnx with x = [2,4] and further options by name. */
static poprt_compiler* affine_compiler(const char* name, const char* value) {
  poprt_option list[] = {{"input_shape", "x=2,4"}, {name, value}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = list;
  o.option_count = name ? 2 : 1;
  poprt_compiler* c = NULL;
  OK(poprt_compiler_create(&o, &c));
  return c;
}

static void starts_with(poprt_string* text, const char* start) {
  assert_memory_equal(poprt_string_data(text), start, strlen(start));
  poprt_string_free(text);
}

void scenario_90_estimate(void** state) {
  (void)state;
  poprt_compiler* c = affine_compiler(NULL, NULL);
  poprt_estimate* e = NULL;
  OK(poprt_compiler_estimate_file(c, DATA "/affine.onnx", &e));
  assert_true(poprt_estimate_cycles(e) > 0);
  const double cycles = (double)poprt_estimate_cycles(e);
  assert_true(fabs(poprt_estimate_milliseconds(e) - cycles / 1.5e6) < 1e-9);
  assert_true(poprt_estimate_throughput(e) > 0);
  assert_true(poprt_estimate_latency_milliseconds(e) >= poprt_estimate_period_milliseconds(e));
  assert_true(poprt_estimate_host_milliseconds(e) > 0);
  assert_true(poprt_estimate_utilization(e) >= 0);
  assert_int_equal(poprt_estimate_samples(e), 2);
  assert_int_equal(poprt_estimate_fits(e), 1);
  assert_int_equal(poprt_estimate_available_bytes(e), 638976);
  assert_true(poprt_estimate_tile_bytes(e) > 0);
  poprt_string* text = NULL;
  OK(poprt_estimate_json(e, &text));
  starts_with(text, "{\"cycles\":");
  OK(poprt_estimate_report(e, &text));
  starts_with(text, "Target: c600 (ipu21)");
  OK(poprt_estimate_target(e, &text));
  starts_with(text, "c600");
  OK(poprt_estimate_svg(e, &text));
  starts_with(text, "<svg");
  OK(poprt_estimate_cycle_quality(e, &text));
  starts_with(text, "unchecked");
  OK(poprt_estimate_memory_quality(e, &text));
  starts_with(text, "checked");
  OK(poprt_estimate_host_quality(e, &text));
  starts_with(text, "unchecked");
  poprt_estimate_free(e);
  e = NULL;
  FAILS(poprt_compiler_estimate_file(c, DATA "/missing.onnx", &e), POPRT_NOT_FOUND, "missing.onnx");
  assert_null(e);
  FAILS(poprt_estimate_json(NULL, &text), POPRT_INVALID_ARGUMENT, "estimate");
  assert_int_equal(poprt_estimate_cycles(NULL), 0);
  poprt_estimate_free(NULL);
  poprt_compiler_free(c);

  c = affine_compiler("estimate_target", "mk1");
  OK(poprt_compiler_estimate_file(c, DATA "/affine.onnx", &e));
  assert_int_equal(poprt_estimate_available_bytes(e), 262144);
  poprt_compiler_free(c);
  const double slow = (double)poprt_estimate_cycles(e);
  assert_true(fabs(poprt_estimate_milliseconds(e) - slow / 1.6e6) < 1e-9);
  poprt_estimate_free(e);
  poprt_option wrong = {"estimate_target", "ipu9"};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = &wrong;
  o.option_count = 1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "ipu9");
}

/* Expects that the library's text and the command's output are equal, except for white space. */
static void expect_output(const char* text, const char* command) {
  FILE* output = popen(command, "r");
  assert_non_null(output);
  size_t count = 0;
  for (int c = fgetc(output); c != EOF; c = fgetc(output)) {
    if (isspace(c)) continue;
    while (isspace((unsigned char)*text)) text++;
    assert_int_equal(*text++, c);
    count++;
  }
  assert_int_equal(pclose(output), 0);
  assert_int_equal(*text, 0);
  assert_true(count > 100);
}

void scenario_125_an_estimate_of_the_command(void** state) {
  (void)state;
  const char* names[][2] = {{"affine.onnx", "mk2"}, {"linear.onnx", "bow"}};
  for (size_t i = 0; i < 2; i++) {
    char path[1024], command[4096];
    snprintf(path, sizeof path, "%s/%s", DATA, names[i][0]);
    snprintf(command, sizeof command,
             "%s/poprt_exec estimate %s --input_shape x=2,4 --target %s --verbose --json",
             getenv("POPRT_BIN"), path, names[i][1]);
    poprt_compiler* c = affine_compiler("estimate_target", names[i][1]);
    poprt_estimate* e = NULL;
    OK(poprt_compiler_estimate_file(c, path, &e));
    poprt_string* text = NULL;
    OK(poprt_estimate_json(e, &text));
    expect_output(poprt_string_data(text), command);
    poprt_string_free(text);
    poprt_estimate_free(e);
    poprt_compiler_free(c);
  }
}

void scenario_126_names_of_options_in_errors(void** state) {
  (void)state;
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.batch_size = -1;
  poprt_compiler* c = NULL;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "`batch_size` is -1");
  poprt_executable* executable = affine();
  poprt_runner_options options = {0};
  options.struct_size = sizeof options;
  options.queue_depth = -1;
  poprt_runner* runner = NULL;
  FAILS(poprt_runner_create(executable, &options, &runner), POPRT_INVALID_ARGUMENT,
        "`queue_depth` is -1");
  poprt_executable_free(executable);
  const poprt_option by_name = {"calibration_with_data", "1"};
  o.batch_size = 0;
  o.options = &by_name;
  o.option_count = 1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT,
        "`calibration_with_data` needs `data_preprocess`");
}

void scenario_91_an_estimate_in_the_executable(void** state) {
  (void)state;
  const char* path = "scenario_91.popef";
  poprt_compiler* c = affine_compiler("estimate", "True");
  poprt_estimate* e = NULL;
  OK(poprt_compiler_estimate_file(c, DATA "/affine.onnx", &e));
  char start[64];
  snprintf(start, sizeof start, "{\"cycles\":%lld,", (long long)poprt_estimate_cycles(e));
  poprt_estimate_free(e);
  poprt_executable *made = NULL, *opened = NULL, *plain = NULL;
  poprt_string* text = NULL;
  OK(poprt_compiler_compile_file(c, DATA "/affine.onnx", &made));
  OK(poprt_executable_estimate(made, &text));
  starts_with(text, start);
  OK(poprt_executable_save(made, path));
  OK(poprt_executable_open(path, &opened));
  OK(poprt_executable_estimate(opened, &text));
  starts_with(text, start);
  poprt_compiler_free(c);
  c = affine_compiler(NULL, NULL);
  OK(poprt_compiler_compile_file(c, DATA "/affine.onnx", &plain));
  FAILS(poprt_executable_estimate(plain, &text), POPRT_NOT_FOUND, "`estimate`");
  poprt_compiler_free(c);
  poprt_executable_free(made);
  poprt_executable_free(opened);
  poprt_executable_free(plain);
  remove(path);
}

void scenario_93_precision_of_a_runner(void** state) {
  (void)state;
  static const struct {
    const char* precision;
    float factor;
  } cases[] = {{NULL, 1 + 0x1p-10f + 0x1p-12f},
               {"f32", 1 + 0x1p-10f + 0x1p-12f},
               {"auto", 1 + 0x1p-10f + 0x1p-12f},
               {"f16", 1 + 0x1p-10f},
               {"bf16", 1}};
  poprt_executable* e = compile("linear.onnx", "x", kShape, 2);
  poprt_runner_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  o.load = "copy";
  poprt_runner* r = NULL;
  float x[8], y[8];
  for (int i = 0; i < 8; i++) x[i] = (float)i;
  const poprt_input in = {"x", 0, x, sizeof x};
  const poprt_output out = {"y", 0, y, sizeof y};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    o.execution_precision = cases[c].precision;
    OK(poprt_runner_create(e, &o, &r));
    OK(poprt_runner_execute(r, &in, 1, &out, 1));
    for (int i = 0; i < 8; i++) assert_true(y[i] == x[i] * cases[c].factor);
    poprt_runner_free(r);
  }
  o.execution_precision = "int8";
  FAILS(poprt_runner_create(e, &o, &r), POPRT_INVALID_ARGUMENT, "int8");
  poprt_executable_free(e);
}

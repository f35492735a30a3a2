#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static const int64_t kShape[] = {2, 4};

/* identity.onnx with its batch fixed to 2. */
static poprt_compile_options fixed_shape(void) {
  static const poprt_input_shape shapes[] = {{"x", kShape, 2}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.input_shapes = shapes;
  o.input_shape_count = 1;
  return o;
}

static poprt_compiler* make_compiler(const poprt_compile_options* options) {
  poprt_compiler* c = NULL;
  OK(poprt_compiler_create(options, &c));
  return c;
}

static void run_identity(poprt_executable* e, size_t batch) {
  assert_int_equal(poprt_anchor_rank(poprt_executable_input(e, 0)), 2);
  assert_int_equal(poprt_anchor_shape(poprt_executable_input(e, 0))[0], batch);
  poprt_runner* r = NULL;
  OK(poprt_runner_create(e, NULL, &r));
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float y[8] = {0};
  const void* inputs[] = {x};
  void* outputs[] = {y};
  OK(poprt_runner_execute_indexed(r, inputs, outputs));
  assert_memory_equal(x, y, batch * 16);
  poprt_runner_free(r);
}

static void compiles_files(void** state) {
  (void)state;
  poprt_compile_options o = fixed_shape();
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e));
  poprt_compiler_free(c);
  assert_string_equal(poprt_executable_name(e), "identity");
  run_identity(e, 2);
  poprt_executable_free(e);
}

static void the_batch_size_fixes_shapes(void** state) {
  (void)state;
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.batch_size = 1;
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e));
  run_identity(e, 1);
  poprt_executable_free(e);
  poprt_compiler_free(c);
}

static void compiles_bytes(void** state) {
  (void)state;
  char bytes[4096];
  FILE* f = fopen(DATA "/identity.onnx", "rb");
  assert_non_null(f);
  const size_t size = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  poprt_compile_options o = fixed_shape();
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_bytes(c, bytes, size, NULL, &e));
  assert_string_equal(poprt_executable_name(e), "model");
  run_identity(e, 2);
  poprt_executable_free(e);
  e = UNTOUCHED(poprt_executable);
  FAILS(poprt_compiler_compile_bytes(c, NULL, 0, NULL, &e), POPRT_INVALID_ARGUMENT, "'data'");
  poprt_error* error = poprt_compiler_compile_bytes(c, bytes, size / 2, NULL, &e);
  assert_non_null(error);
  poprt_error_free(error);
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
  poprt_compiler_free(c);
}

static int files_in(const char* folder) {
  int count = 0;
  DIR* d = opendir(folder);
  assert_non_null(d);
  for (struct dirent* f; (f = readdir(d));) count += f->d_name[0] != '.' || strlen(f->d_name) > 2;
  closedir(d);
  return count;
}

static void write_file(const char* path, const void* bytes, size_t size) {
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The output would replace tensors of the model. */
static void does_not_write_over_external_data(void** state) {
  (void)state;
  /* y = x + w with f32[2]; w is in the file data.bin. */
  static const unsigned char kAdd[] = {
      0x08, 0x08, 0x3a, 0x56, 0x0a, 0x0e, 0x0a, 0x01, 0x78, 0x0a, 0x01, 0x77, 0x12, 0x01,
      0x79, 0x22, 0x03, 0x41, 0x64, 0x64, 0x12, 0x01, 0x67, 0x2a, 0x1f, 0x08, 0x02, 0x10,
      0x01, 0x42, 0x01, 0x77, 0x6a, 0x14, 0x0a, 0x08, 0x6c, 0x6f, 0x63, 0x61, 0x74, 0x69,
      0x6f, 0x6e, 0x12, 0x08, 0x64, 0x61, 0x74, 0x61, 0x2e, 0x62, 0x69, 0x6e, 0x70, 0x01,
      0x5a, 0x0f, 0x0a, 0x01, 0x78, 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x01, 0x12, 0x04, 0x0a,
      0x02, 0x08, 0x02, 0x62, 0x0f, 0x0a, 0x01, 0x79, 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x01,
      0x12, 0x04, 0x0a, 0x02, 0x08, 0x02, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11};
  char folder[] = "/tmp/poprt_capi_XXXXXX", model[64], data[64];
  assert_non_null(mkdtemp(folder));
  snprintf(model, sizeof model, "%s/external.onnx", folder);
  snprintf(data, sizeof data, "%s/data.bin", folder);
  write_file(model, kAdd, sizeof kAdd);
  write_file(data, "12345678", 8);
  poprt_compile_options plain = {.struct_size = sizeof plain}, cached = plain;
  char cache[64];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  cached.enable_engine_caching = 1;
  cached.cache_path = cache;
  const poprt_compile_options* const options[] = {&plain, &cached};
  const char* const inputs[] = {model};
  for (size_t i = 0; i < 2; i++) {
    poprt_compiler* c = make_compiler(options[i]);
    FAILS(poprt_compiler_compile_to_popef(c, model, data), POPRT_INVALID_ARGUMENT,
          "external.onnx', which would be overwritten");
    FAILS(poprt_compiler_convert_file(c, model, data), POPRT_INVALID_ARGUMENT,
          "external.onnx', which would be overwritten");
    poprt_executable* e = NULL;
    OK(poprt_compiler_compile_file(c, model, &e)); /* the tensors are unchanged */
    poprt_executable_free(e);
    poprt_compiler_free(c);
  }
  FAILS(poprt_compiler_fuse_files(inputs, 1, data), POPRT_INVALID_ARGUMENT,
        "external.onnx', which would be overwritten");
  unlink(model);
  unlink(data);
}

/* The output would replace the model, so that it could not be compiled again. */
static void does_not_write_over_its_input(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX", model[64], link_path[64], hard[64];
  assert_non_null(mkdtemp(folder));
  snprintf(model, sizeof model, "%s/m.onnx", folder);
  snprintf(link_path, sizeof link_path, "%s/link.onnx", folder);
  snprintf(hard, sizeof hard, "%s/hard.onnx", folder);
  poprt_compile_options o = fixed_shape();
  poprt_compiler* c = make_compiler(&o);
  OK(poprt_compiler_convert_file(c, DATA "/identity.onnx", model));
  assert_int_equal(symlink(model, link_path), 0);
  assert_int_equal(link(model, hard), 0);
  const char* const outputs[] = {model, link_path, hard};
  const char* const inputs[] = {model};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    FAILS(poprt_compiler_compile_to_popef(c, model, outputs[i]), POPRT_INVALID_ARGUMENT,
          "is the same file as");
    FAILS(poprt_compiler_convert_file(c, model, outputs[i]), POPRT_INVALID_ARGUMENT,
          "is the same file as");
    FAILS(poprt_compiler_fuse_files(inputs, 1, outputs[i]), POPRT_INVALID_ARGUMENT,
          "is the same file as");
    FAILS(poprt_popef_export_tensor(model, "x", NULL, outputs[i]), POPRT_INVALID_ARGUMENT,
          "is the same file as");
    FAILS(poprt_popef_export_feed(model, "x", NULL, outputs[i]), POPRT_INVALID_ARGUMENT,
          "is the same file as");
  }
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_file(c, model, &e)); /* the model is unchanged */
  FAILS(poprt_executable_save_parts(e, hard, link_path), POPRT_INVALID_ARGUMENT,
        "is the same file as");
  char missing[64];
  snprintf(missing, sizeof missing, "%s/new.popef", folder);
  FAILS(poprt_executable_save_parts(e, missing, missing), POPRT_INVALID_ARGUMENT,
        "is the same file as");
  poprt_executable_free(e);
  poprt_compiler_free(c);
  unlink(model);
  unlink(link_path);
  unlink(hard);
  assert_int_equal(files_in(folder), 0);
  rmdir(folder);
}

static void writes_popef_and_onnx_files_or_nothing(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  poprt_compile_options o = fixed_shape();
  poprt_compiler* c = make_compiler(&o);

  snprintf(path, sizeof path, "%s/identity.popef", folder);
  OK(poprt_compiler_compile_to_popef(c, DATA "/identity.onnx", path));
  poprt_executable *direct = NULL, *memory = NULL;
  OK(poprt_executable_open(path, &direct));
  run_identity(direct, 2);
  /* Compiling in memory and saving gives the same bytes. */
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &memory));
  char other[64];
  snprintf(other, sizeof other, "%s/other.popef", folder);
  OK(poprt_executable_save(memory, other));
  char a[8192], b[8192];
  FILE *fa = fopen(path, "rb"), *fb = fopen(other, "rb");
  const size_t na = fread(a, 1, sizeof a, fa), nb = fread(b, 1, sizeof b, fb);
  fclose(fa);
  fclose(fb);
  assert_int_equal(na, nb);
  assert_memory_equal(a, b, na);
  poprt_executable_free(direct);
  poprt_executable_free(memory);
  unlink(path);
  unlink(other);

  snprintf(path, sizeof path, "%s/out.onnx", folder);
  OK(poprt_compiler_convert_file(c, DATA "/identity.onnx", path));
  poprt_string* text = NULL;
  OK(poprt_compiler_show_file(c, path, &text));
  assert_string_equal(poprt_string_data(text),
                      "input x: dtype - f32, shape - [2, 4]\n"
                      "output y: dtype - f32, shape - [2, 4]\n");
  poprt_string_free(text);
  unlink(path);

  snprintf(path, sizeof path, "%s/none/x.popef", folder);
  FAILS(poprt_compiler_compile_to_popef(c, DATA "/identity.onnx", path), POPRT_NOT_FOUND, folder);
  FAILS(poprt_compiler_convert_file(c, DATA "/identity.onnx", path), POPRT_NOT_FOUND, folder);
  poprt_compiler_free(c);

  c = make_compiler(NULL); /* shape still open: fails after the import */
  snprintf(path, sizeof path, "%s/x.popef", folder);
  FAILS(poprt_compiler_compile_to_popef(c, DATA "/identity.onnx", path), POPRT_INVALID_ARGUMENT,
        "'x'");
  poprt_compiler_free(c);
  assert_int_equal(files_in(folder), 0);
  rmdir(folder);
}

static void shows_models_as_they_are(void** state) {
  (void)state;
  poprt_compiler* c = make_compiler(NULL);
  poprt_string* text = NULL;
  OK(poprt_compiler_show_file(c, DATA "/identity.onnx", &text));
  assert_string_equal(poprt_string_data(text),
                      "input x: dtype - f32, shape - [N, 4]\n"
                      "output y: dtype - f32, shape - [N, 4]\n");
  poprt_string_free(text);
  FAILS(poprt_compiler_show_file(c, "/no/such.onnx", &text), POPRT_NOT_FOUND, "/no/such.onnx");
  FAILS(poprt_compiler_show_file(NULL, "x", &text), POPRT_INVALID_ARGUMENT, "'compiler'");
  FAILS(poprt_compiler_show_file(c, NULL, &text), POPRT_INVALID_ARGUMENT, "'onnx_path'");
  FAILS(poprt_compiler_show_file(c, "x", NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  poprt_compiler_free(c);
}

static void lists_passes_and_operators(void** state) {
  (void)state;
  poprt_string* text = NULL;
  OK(poprt_compiler_list_ops(&text));
  assert_non_null(strstr(poprt_string_data(text), "\nIdentity 1+\n"));
  assert_non_null(strstr(poprt_string_data(text), "\nai.onnx.ml.LinearRegressor 1+\n"));
  poprt_string_free(text);
  OK(poprt_compiler_list_passes(&text));
  assert_true(poprt_string_size(text) > 0);
  poprt_string_free(text);
  FAILS(poprt_compiler_list_ops(NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  FAILS(poprt_compiler_list_passes(NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
}

static void refuses_bad_options(void** state) {
  (void)state;
  poprt_compiler* c = UNTOUCHED(poprt_compiler);
  poprt_compile_options o = {0};
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "struct_size is 0");
  FAILS(poprt_compiler_create(NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_compiler'");

  o = fixed_shape();
  o.precision = 9;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "`precision` 9");
  o = fixed_shape();
  o.winograd = 4;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "`winograd` 4");
  o = fixed_shape();
  o.batch_size = -1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "`batch_size` is -1");
  o = fixed_shape();
  o.batch_axis = -1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "`batch_axis` is -1");
  o = fixed_shape();
  o.max_tensor_size = -1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "max_tensor_size");
  o = fixed_shape();
  o.rewrite_limit = -1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "rewrite_limit");

  const int64_t negative[] = {-1, 4};
  const poprt_input_shape bad[] = {
      {"x", kShape, 2}, {"x", kShape, 2}, {NULL, kShape, 2}, {"z", NULL, 2}, {"z", negative, 2}};
  const char* const said[] = {"'x' is given twice", "name' is null", "shape' is null",
                              "'z' has a dimension -1"};
  for (int i = 0; i < 4; i++) {
    o = fixed_shape();
    o.input_shapes = i == 0 ? bad : &bad[i + 1];
    o.input_shape_count = i == 0 ? 2 : 1;
    FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, said[i]);
  }
  o.input_shapes = NULL;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'input_shapes' is null");

  const char* const names[] = {"no_such_pass", NULL};
  o = fixed_shape();
  o.passes = names;
  o.pass_count = 1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_NOT_FOUND, "no_such_pass");
  o.pass_count = 2;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'passes' is null");
  o = fixed_shape();
  o.skip_passes = names;
  o.skip_pass_count = 1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_NOT_FOUND, "no_such_pass");
  o = fixed_shape();
  o.stop_after = names[0];
  FAILS(poprt_compiler_create(&o, &c), POPRT_NOT_FOUND, "no_such_pass");
  assert_ptr_equal(c, UNTOUCHED(poprt_compiler));
}

static void compile_errors(void** state) {
  (void)state;
  poprt_executable* e = UNTOUCHED(poprt_executable);
  poprt_compiler* c = make_compiler(NULL);
  FAILS(poprt_compiler_compile_file(NULL, "x", &e), POPRT_INVALID_ARGUMENT, "'compiler'");
  FAILS(poprt_compiler_compile_file(c, NULL, &e), POPRT_INVALID_ARGUMENT, "'onnx_path'");
  FAILS(poprt_compiler_compile_file(c, "x", NULL), POPRT_INVALID_ARGUMENT, "'out_executable'");
  FAILS(poprt_compiler_compile_file(c, "/no/such.onnx", &e), POPRT_NOT_FOUND, "/no/such.onnx");
  FAILS(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e), POPRT_INVALID_ARGUMENT, "'x'");
  FAILS(poprt_compiler_compile_to_popef(c, NULL, "x"), POPRT_INVALID_ARGUMENT, "'onnx_path'");
  FAILS(poprt_compiler_compile_to_popef(c, "x", NULL), POPRT_INVALID_ARGUMENT, "'popef_path'");
  FAILS(poprt_compiler_compile_to_popef(NULL, "x", "x"), POPRT_INVALID_ARGUMENT, "'compiler'");
  FAILS(poprt_compiler_convert_file(c, NULL, "x"), POPRT_INVALID_ARGUMENT, "'onnx_path'");
  FAILS(poprt_compiler_convert_file(c, "x", NULL), POPRT_INVALID_ARGUMENT, "'out_onnx_path'");
  FAILS(poprt_compiler_convert_file(NULL, "x", "x"), POPRT_INVALID_ARGUMENT, "'compiler'");
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
  poprt_compiler_free(c);
  poprt_compiler_free(NULL);
}

static void outputs_are_selected_by_name(void** state) {
  (void)state;
  const char* const outputs[] = {"y", "z"};
  poprt_compile_options o = fixed_shape();
  o.outputs = outputs;
  o.output_count = 1;
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e));
  assert_int_equal(poprt_executable_output_count(e), 1);
  poprt_executable_free(e);
  poprt_compiler_free(c);
  o.output_count = 2;
  c = make_compiler(&o);
  FAILS(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e), POPRT_NOT_FOUND,
        "there is no output 'z'; outputs are: 'y'");
  poprt_compiler_free(c);
}

static void sequences_have_a_length(void** state) {
  (void)state;
  const poprt_input_length lengths[] = {{"s", 2}, {"s", 1}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.batch_size = 2;
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = NULL;
  FAILS(poprt_compiler_compile_file(c, MODELS "/sequence.onnx", &e), POPRT_INVALID_ARGUMENT,
        "'s' is a sequence");
  poprt_compiler_free(c);
  o.input_lengths = lengths;
  o.input_length_count = 1;
  c = make_compiler(&o);
  OK(poprt_compiler_compile_file(c, MODELS "/sequence.onnx", &e));
  assert_int_equal(poprt_executable_input_count(e), 2);
  assert_string_equal(poprt_anchor_name(poprt_executable_input(e, 1)), "s[1]");
  assert_int_equal(poprt_anchor_shape(poprt_executable_output(e, 0))[0], 4);
  poprt_executable_free(e);
  poprt_compiler_free(c);

  c = UNTOUCHED(poprt_compiler);
  o.input_length_count = 2;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'s' is given twice");
  const poprt_input_length negative = {"s", -1}, nameless = {NULL, 1};
  o.input_length_count = 1;
  o.input_lengths = &negative;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'s' has a length -1");
  o.input_lengths = &nameless;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'input_lengths[].name'");
  o.input_lengths = NULL;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'input_lengths'");
  o.input_length_count = 0;
  o.reserved_2 = 1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "reserved");
}

/* Whether the file has a blob "notes" with 3 bytes, and one of the compiler. */
static void has_notes(const char* path) {
  poprt_popef_reader* reader = NULL;
  poprt_popef_payload* payload = NULL;
  poprt_popef_blob_info info = {0};
  info.struct_size = sizeof info;
  OK(poprt_popef_reader_create(&reader));
  OK(poprt_popef_reader_parse_file(reader, path));
  assert_int_equal(poprt_popef_reader_count(reader, POPRT_POPEF_OPAQUE), 2);
  const poprt_popef_blob* blob = poprt_popef_reader_blob(reader, POPRT_POPEF_OPAQUE, 0);
  OK(poprt_popef_blob_get_info(blob, &info));
  assert_string_equal(info.name, "notes");
  assert_string_equal(info.executable, "identity");
  OK(poprt_popef_blob_map(blob, &payload));
  assert_int_equal(poprt_popef_payload_size(payload), 3);
  assert_memory_equal(poprt_popef_payload_data(payload), "a\0b", 3);
  poprt_popef_payload_free(payload);
  poprt_popef_reader_free(reader);
}

static int32_t append(const void* data, size_t size, void* file) {
  return fwrite(data, 1, size, file) != size;
}

static void opaque_blobs_lie_in_the_file(void** state) {
  (void)state;
  char path[] = "/tmp/poprt_capi_XXXXXX", weights[] = "/tmp/poprt_capi_XXXXXX";
  close(mkstemp(path));
  close(mkstemp(weights));
  poprt_opaque_blob blobs[] = {{"notes", "a\0b", 3}, {"notes", NULL, 0}};
  poprt_compile_options o = fixed_shape();
  o.opaque_blobs = blobs;
  o.opaque_blob_count = 1;
  poprt_compiler* c = make_compiler(&o);
  OK(poprt_compiler_compile_to_popef(c, DATA "/identity.onnx", path));
  has_notes(path);
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e));
  OK(poprt_executable_save(e, path));
  has_notes(path);
  OK(poprt_executable_save_parts(e, path, weights));
  has_notes(path);
  FILE* file = fopen(path, "wb");
  OK(poprt_executable_save_bytes(e, append, file));
  fclose(file);
  has_notes(path);
  poprt_executable_free(e);
  poprt_compiler_free(c);
  unlink(path);
  unlink(weights);

  c = UNTOUCHED(poprt_compiler);
  o.opaque_blob_count = 2;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'notes' is given twice");
  blobs[1].name = "";
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'' is empty");
  blobs[1].name = NULL;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'opaque_blobs[].name'");
  blobs[1].name = "more";
  blobs[1].bytes = 1;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'opaque_blobs[].data'");
  assert_ptr_equal(c, UNTOUCHED(poprt_compiler));
}

typedef struct progress_log {
  double last;
  int calls, backwards, passes;
} progress_log;

static void on_progress(double done, const char* what, void* user_data) {
  progress_log* log = user_data;
  assert_non_null(what);
  log->calls++;
  if (done < log->last) log->backwards++;
  log->last = done;
}

static void on_pass(const char* pass, int64_t rewrites, double milliseconds, int64_t before,
                    int64_t after, void* user_data) {
  (void)rewrites, (void)before, (void)after;
  assert_true(pass[0] != 0 && milliseconds >= 0);
  ((progress_log*)user_data)->passes++;
}

static void progress_runs_from_zero_to_one(void** state) {
  (void)state;
  progress_log log = {0};
  poprt_compile_options o = fixed_shape();
  o.progress = on_progress;
  o.after_pass = on_pass;
  o.user_data = &log;
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = NULL;
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e));
  assert_true(log.calls >= 3);
  assert_int_equal(log.backwards, 0);
  assert_true(log.last == 1.0);
  assert_true(log.passes > 0);
  poprt_executable_free(e);
  poprt_compiler_free(c);
}

static int32_t stop_after_three_calls(void* user_data) {
  return ((progress_log*)user_data)->calls >= 3;
}

static void a_compilation_is_stopped_between_steps(void** state) {
  (void)state;
  progress_log log = {0};
  poprt_compile_options o = fixed_shape();
  o.progress = on_progress;
  o.stop = stop_after_three_calls;
  o.user_data = &log;
  poprt_compiler* c = make_compiler(&o);
  poprt_executable* e = UNTOUCHED(poprt_executable);
  FAILS(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e), POPRT_CANCELLED, "stopped");
  assert_ptr_equal(e, UNTOUCHED(poprt_executable));
  assert_int_equal(log.calls, 3);
  char path[200];
  snprintf(path, sizeof path, "%s/poprt_stopped_%d", "/tmp", (int)getpid());
  log.calls = 0;
  FAILS(poprt_compiler_compile_to_popef(c, DATA "/identity.onnx", path), POPRT_CANCELLED,
        "stopped");
  assert_int_not_equal(access(path, F_OK), 0);
  log.calls = 0;
  FAILS(poprt_compiler_convert_file(c, DATA "/identity.onnx", path), POPRT_CANCELLED, "stopped");
  assert_int_not_equal(access(path, F_OK), 0);
  poprt_compiler_free(c);
}

/* Compiles identity.onnx, and returns how often passes ran. */
static int passes_run(poprt_compile_options o, poprt_executable** out) {
  progress_log log = {0};
  o.after_pass = on_pass;
  o.progress = on_progress;
  o.user_data = &log;
  poprt_compiler* c = make_compiler(&o);
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", out));
  assert_true(log.last == 1.0);
  poprt_compiler_free(c);
  return log.passes;
}

/* Changes a byte in the middle of the only file of the folder, or removes it. */
static void touch_only_file(const char* folder, int damage) {
  DIR* d = opendir(folder);
  for (struct dirent* f; (f = readdir(d));) {
    if (f->d_name[0] == '.') continue;
    assert_int_equal(strlen(f->d_name), 64 + strlen(".popef"));
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
    if (damage) {
      FILE* file = fopen(path, "r+b");
      fseek(file, 4096 + 200, SEEK_SET);
      fputs("damage", file);
      fclose(file);
    } else {
      unlink(path);
    }
  }
  closedir(d);
}

static void caching_compiles_once(void** state) {
  (void)state;
  OK(poprt_log_set_level("OFF"));
  char folder[] = "/tmp/poprt_capi_XXXXXX", cache[64];
  assert_non_null(mkdtemp(folder));
  snprintf(cache, sizeof cache, "%s/cache", folder);
  poprt_compile_options o = fixed_shape();
  o.enable_engine_caching = 1;
  o.cache_path = cache;
  poprt_executable* e = NULL;
  assert_true(passes_run(o, &e) > 0);
  poprt_executable_free(e);
  assert_int_equal(files_in(cache), 1);
  assert_int_equal(passes_run(o, &e), 0);
  run_identity(e, 2);
  assert_string_equal(poprt_executable_name(e), "identity");
  poprt_executable_free(e);

  touch_only_file(cache, 1); /* damaged: compiled again, and repaired */
  assert_true(passes_run(o, &e) > 0);
  poprt_executable_free(e);
  assert_int_equal(passes_run(o, &e), 0);
  poprt_executable_free(e);

  poprt_compile_options off = fixed_shape();
  off.cache_path = cache; /* alone it does nothing */
  assert_true(passes_run(off, &e) > 0);
  poprt_executable_free(e);
  assert_int_equal(setenv("POPART_CACHE_DIR", cache, 1), 0);
  assert_int_equal(passes_run(fixed_shape(), &e), 0);
  poprt_executable_free(e);
  /* PopXL's variable takes precedence. */
  assert_int_equal(setenv("POPART_CACHE_DIR", "/nowhere", 1), 0);
  assert_int_equal(setenv("POPXL_CACHE_DIR", cache, 1), 0);
  assert_int_equal(passes_run(fixed_shape(), &e), 0);
  unsetenv("POPXL_CACHE_DIR");
  unsetenv("POPART_CACHE_DIR");
  run_identity(e, 2);
  poprt_executable_free(e);

  /* An executable can still be used after its cache is removed. */
  assert_int_equal(passes_run(o, &e), 0);
  touch_only_file(cache, 0);
  run_identity(e, 2);
  poprt_executable_free(e);
  rmdir(cache);

  /* If the cache cannot be written, the compilation succeeds nevertheless. */
  fclose(fopen(cache, "w"));
  assert_true(passes_run(o, &e) > 0);
  poprt_executable_free(e);
  unlink(cache);
  rmdir(folder);
  o.allow_links = 2;
  poprt_compiler* c = NULL;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "allow_links");
  o.allow_links = 0;
  o.strict = 2;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "strict");
  o.strict = 0;
  o.embed_source = 2;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "embed_source");
  OK(poprt_log_set_level("WARNING"));
}

typedef struct log_lines {
  int count;
  poprt_log_level level;
  char last[500];
} log_lines;

static void take_line(poprt_log_level level, const char* message, void* user_data) {
  log_lines* lines = user_data;
  lines->count++;
  lines->level = level;
  snprintf(lines->last, sizeof lines->last, "%s", message);
}

/* The compiler, a separate library, warns of clipping; this library warns of the cache. */
static void messages_go_to_a_callback(void** state) {
  (void)state;
  log_lines first = {0}, second = {0};
  poprt_log_set_callback(take_line, &first);
  char cache[] = "/tmp/poprt_capi_XXXXXX";
  close(mkstemp(cache)); /* a file: there can be no folder of that name */
  poprt_compile_options o = fixed_shape();
  o.enable_engine_caching = 1;
  o.cache_path = cache;
  poprt_executable* e = NULL;
  passes_run(o, &e);
  poprt_executable_free(e);
  assert_int_equal(first.count, 1);
  assert_int_equal(first.level, POPRT_LOG_WARNING);
  assert_non_null(strstr(first.last, cache));
  assert_null(strchr(first.last, '\n'));

  poprt_log_set_callback(take_line, &second);
  o = fixed_shape();
  o.precision = POPRT_PRECISION_FP16;
  o.input_shapes = NULL;
  o.input_shape_count = 0;
  poprt_compiler* c = make_compiler(&o);
  OK(poprt_compiler_compile_file(c, DATA "/beyond_f16.onnx", &e));
  poprt_compiler_free(c);
  poprt_executable_free(e);
  assert_int_equal(first.count, 1);
  assert_int_equal(second.count, 1);
  assert_non_null(strstr(second.last, "float_to_half: 1 element of 1 constant was"));

  poprt_log_set_callback(NULL, NULL);
  OK(poprt_log_set_level("OFF"));
  o = fixed_shape();
  o.enable_engine_caching = 1;
  o.cache_path = cache;
  passes_run(o, &e);
  poprt_executable_free(e);
  poprt_log_set_callback(take_line, &second);
  passes_run(o, &e); /* the level is read first */
  poprt_executable_free(e);
  assert_int_equal(second.count, 1);
  poprt_log_set_callback(NULL, NULL);
  OK(poprt_log_set_level("WARNING"));
  unlink(cache);
}

/* Offline: no device is requested, and none must exist. */
static void compiling_needs_no_device(void** state) {
  (void)state;
  setenv("POPRT_DEVICES", "0", 1);
  char path[] = "/tmp/poprt_capi_XXXXXX";
  close(mkstemp(path));
  poprt_compile_options o = fixed_shape();
  poprt_compiler* c = make_compiler(&o);
  OK(poprt_compiler_compile_to_popef(c, DATA "/identity.onnx", path));
  poprt_executable* e = NULL;
  OK(poprt_executable_open(path, &e));
  poprt_executable_free(e);
  poprt_compiler_free(c);
  unsetenv("POPRT_DEVICES");
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compiles_files),
      cmocka_unit_test(the_batch_size_fixes_shapes),
      cmocka_unit_test(compiles_bytes),
      cmocka_unit_test(does_not_write_over_its_input),
      cmocka_unit_test(does_not_write_over_external_data),
      cmocka_unit_test(writes_popef_and_onnx_files_or_nothing),
      cmocka_unit_test(shows_models_as_they_are),
      cmocka_unit_test(lists_passes_and_operators),
      cmocka_unit_test(refuses_bad_options),
      cmocka_unit_test(compile_errors),
      cmocka_unit_test(outputs_are_selected_by_name),
      cmocka_unit_test(progress_runs_from_zero_to_one),
      cmocka_unit_test(a_compilation_is_stopped_between_steps),
      cmocka_unit_test(caching_compiles_once),
      cmocka_unit_test(compiling_needs_no_device),
      cmocka_unit_test(sequences_have_a_length),
      cmocka_unit_test(opaque_blobs_lie_in_the_file),
      cmocka_unit_test(messages_go_to_a_callback),
  };
  return cmocka_run_group_tests_name("compiler", tests, NULL, NULL);
}

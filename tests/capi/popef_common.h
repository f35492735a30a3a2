/* A PopEF file with blobs of every kind, made through the C ABI. */
#ifndef POPRT_TESTS_CAPI_POPEF_COMMON_H
#define POPRT_TESTS_CAPI_POPEF_COMMON_H

#include <stdlib.h>

#include "common.h"

#define CODE_BYTES 100000

typedef struct bytes {
  unsigned char* data;
  size_t size;
} bytes;

/* Receives the bytes of a stream writer, up to a limit. */
typedef struct sink {
  bytes file;
  size_t limit; /* 0: none */
} sink;

static inline int32_t take(const void* data, size_t size, void* user_data) {
  sink* s = user_data;
  if (s->limit && s->file.size + size > s->limit) return 1;
  s->file.data = realloc(s->file.data, s->file.size + size + 1);
  memcpy(s->file.data + s->file.size, data, size);
  s->file.size += size;
  return 0;
}

static inline const unsigned char* sample_code(void) {
  static unsigned char code[CODE_BYTES];
  uint32_t seed = 1;
  for (size_t i = 0; i < CODE_BYTES; i++) {
    seed = seed * 1664525 + 1013904223;
    code[i] = (unsigned char)((seed >> 24) & 3);
  }
  return code;
}

static inline poprt_popef_anchor anchor(const char* name, const char* handle,
                                        poprt_popef_anchor_type type, poprt_dtype dtype,
                                        const int64_t* shape, size_t rank) {
  static const uint32_t programs[] = {5, 7};
  poprt_popef_anchor a = {0};
  a.struct_size = sizeof a;
  a.name = name;
  a.handle = handle;
  a.type = type;
  a.dtype = dtype;
  a.shape = shape;
  a.rank = rank;
  a.programs = programs;
  a.program_count = 2;
  return a;
}

static inline poprt_popef_metadata* sample_metadata(const char* executable) {
  poprt_popef_metadata* m = NULL;
  const uint32_t load[] = {0, 2}, programs[] = {5}, save[] = {7, 3, 6};
  const int64_t four[] = {4}, two_three[] = {2, 3}, replicas[] = {2, 4};
  OK(poprt_popef_metadata_create(NULL, &m));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_REPLICATION_FACTOR, 2));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_NUM_IPUS, 4));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_IPU_VERSION, 21));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_IS_POD, 1));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_NUM_PROCESSES, 3));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_IS_INFERENCE, 0));
  OK(poprt_popef_metadata_set(m, POPRT_POPEF_DEVICE_ITERATIONS, INT64_C(1) << 40));
  OK(poprt_popef_metadata_set_executable(m, executable));
  OK(poprt_popef_metadata_set_seed_handle(m, "h2d_seed"));
  OK(poprt_popef_metadata_add_option(m, POPRT_POPEF_ENGINE_OPTIONS, "b", "1"));
  OK(poprt_popef_metadata_add_option(m, POPRT_POPEF_ENGINE_OPTIONS, "a", ""));
  OK(poprt_popef_metadata_add_option(m, POPRT_POPEF_DEVICE_OPTIONS, "tiles", "16"));
  OK(poprt_popef_metadata_set_flow(m, POPRT_POPEF_LOAD, load, 2));
  OK(poprt_popef_metadata_set_flow(m, POPRT_POPEF_MAIN, programs, 1));
  OK(poprt_popef_metadata_set_flow(m, POPRT_POPEF_SAVE, save, 3));
  OK(poprt_popef_metadata_set_program(m, 7, "WeightsToHost"));
  OK(poprt_popef_metadata_set_program(m, 0, "WeightsFromHost"));
  OK(poprt_popef_metadata_set_program(m, 5, "st\xc3\xb8rrelse"));
  poprt_popef_anchor x = anchor("x", "h2d_x", POPRT_POPEF_INPUT, POPRT_DTYPE_F32, replicas, 2);
  x.is_per_replica = 1;
  poprt_popef_anchor w = anchor("w", NULL, POPRT_POPEF_UNKNOWN, POPRT_DTYPE_F16, two_three, 2);
  w.program_count = 0;
  poprt_popef_anchor fed = anchor("fed", "h2d_fed", POPRT_POPEF_INPUT, POPRT_DTYPE_F32, four, 1);
  poprt_popef_anchor y = anchor("y", "d2h_y", POPRT_POPEF_OUTPUT, POPRT_DTYPE_F8143, NULL, 0);
  OK(poprt_popef_metadata_add_anchor(m, &x));
  OK(poprt_popef_metadata_add_anchor(m, &w));
  OK(poprt_popef_metadata_add_anchor(m, &fed));
  OK(poprt_popef_metadata_add_anchor(m, &y));
  return m;
}

static inline void check_flow(const poprt_popef_metadata* m, poprt_popef_flow flow, size_t count,
                              const uint32_t* programs) {
  size_t found = 0;
  const uint32_t* given = poprt_popef_metadata_flow(m, flow, &found);
  assert_int_equal(found, count);
  assert_memory_equal(given, programs, count * sizeof *programs);
}

static inline void check_sample_metadata(const poprt_popef_metadata* m, const char* executable) {
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_REPLICATION_FACTOR), 2);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_NUM_IPUS), 4);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_IPU_VERSION), 21);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_IS_POD), 1);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_NUM_PROCESSES), 3);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_IS_INFERENCE), 0);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_DEVICE_ITERATIONS), INT64_C(1) << 40);
  assert_int_equal(poprt_popef_metadata_get(m, 0), 0);
  assert_string_equal(poprt_popef_metadata_executable(m), executable);
  assert_string_equal(poprt_popef_metadata_seed_handle(m), "h2d_seed");

  const char* value = NULL;
  assert_int_equal(poprt_popef_metadata_option_count(m, POPRT_POPEF_ENGINE_OPTIONS), 2);
  assert_string_equal(poprt_popef_metadata_option(m, POPRT_POPEF_ENGINE_OPTIONS, 0, &value), "b");
  assert_string_equal(value, "1");
  assert_string_equal(poprt_popef_metadata_option(m, POPRT_POPEF_ENGINE_OPTIONS, 1, NULL), "a");
  assert_null(poprt_popef_metadata_option(m, POPRT_POPEF_ENGINE_OPTIONS, 2, &value));
  assert_string_equal(value, "1");
  assert_int_equal(poprt_popef_metadata_option_count(m, POPRT_POPEF_DEVICE_OPTIONS), 1);
  assert_string_equal(poprt_popef_metadata_option(m, POPRT_POPEF_DEVICE_OPTIONS, 0, &value),
                      "tiles");
  assert_string_equal(value, "16");
  assert_int_equal(poprt_popef_metadata_option_count(m, 3), 0);

  check_flow(m, POPRT_POPEF_LOAD, 2, (const uint32_t[]){0, 2});
  check_flow(m, POPRT_POPEF_MAIN, 1, (const uint32_t[]){5});
  check_flow(m, POPRT_POPEF_SAVE, 3, (const uint32_t[]){7, 3, 6});
  assert_null(poprt_popef_metadata_flow(m, 4, NULL));

  uint32_t program = 99;
  assert_int_equal(poprt_popef_metadata_program_count(m), 3);
  assert_string_equal(poprt_popef_metadata_program(m, 0, &program), "WeightsFromHost");
  assert_int_equal(program, 0);
  assert_string_equal(poprt_popef_metadata_program(m, 1, &program), "st\xc3\xb8rrelse");
  assert_int_equal(program, 5);
  assert_string_equal(poprt_popef_metadata_program(m, 2, &program), "WeightsToHost");
  assert_null(poprt_popef_metadata_program(m, 3, &program));
  assert_int_equal(program, 7);

  assert_int_equal(poprt_popef_metadata_anchor_count(m), 4);
  poprt_popef_anchor a = {0};
  a.struct_size = sizeof a;
  OK(poprt_popef_metadata_anchor(m, 0, &a));
  assert_string_equal(a.name, "x");
  assert_string_equal(a.handle, "h2d_x");
  assert_int_equal(a.type, POPRT_POPEF_INPUT);
  assert_int_equal(a.dtype, POPRT_DTYPE_F32);
  assert_int_equal(a.rank, 2);
  assert_int_equal(a.shape[0], 2);
  assert_int_equal(a.shape[1], 4);
  assert_int_equal(a.program_count, 2);
  assert_int_equal(a.programs[1], 7);
  assert_int_equal(a.is_per_replica, 1);
  OK(poprt_popef_metadata_anchor(m, 1, &a));
  assert_string_equal(a.handle, "");
  assert_int_equal(a.type, POPRT_POPEF_UNKNOWN);
  assert_int_equal(a.program_count, 0);
  assert_null(a.programs);
  assert_int_equal(a.is_per_replica, 0);
  OK(poprt_popef_metadata_anchor(m, 3, &a));
  assert_int_equal(a.type, POPRT_POPEF_OUTPUT);
  assert_int_equal(a.dtype, POPRT_DTYPE_F8143);
  assert_int_equal(a.rank, 0);
  assert_null(a.shape);
}

static inline poprt_popef_blob_info blob_info(poprt_popef_blob_type type, const char* name,
                                              const char* executable) {
  poprt_popef_blob_info i = {0};
  i.struct_size = sizeof i;
  i.type = type;
  i.name = name;
  i.executable = executable;
  return i;
}

static inline poprt_popef_blob_info data_info(poprt_popef_blob_type type, const char* name,
                                              const char* executable, poprt_dtype dtype,
                                              const int64_t* shape, size_t rank, int64_t tensors) {
  poprt_popef_blob_info i = blob_info(type, name, executable);
  i.dtype = dtype;
  i.shape = shape;
  i.rank = rank;
  i.tensor_count = tensors;
  return i;
}

static inline void write_blob(poprt_popef_writer* w, const poprt_popef_blob_info* info,
                              const void* data, size_t size) {
  poprt_popef_blob_writer* blob = NULL;
  OK(poprt_popef_writer_begin(w, info, &blob));
  OK(poprt_popef_blob_writer_write(blob, 0, data, size));
  OK(poprt_popef_blob_writer_close(blob));
  poprt_popef_blob_writer_free(blob);
}

/* Writes metadata, a compressed executable, an opaque blob, the tensors "w" and "scalar", and the
 * feed "fed". */
static inline void write_sample(poprt_popef_writer* w) {
  const int64_t four[] = {4}, two_three[] = {2, 3};
  poprt_popef_metadata* m = sample_metadata("model");
  OK(poprt_popef_writer_add_metadata(w, m));
  poprt_popef_metadata_free(m);
  poprt_popef_blob_info i = blob_info(POPRT_POPEF_EXECUTABLE, "model", NULL);
  i.compressed = 1;
  write_blob(w, &i, sample_code(), CODE_BYTES);
  i = blob_info(POPRT_POPEF_OPAQUE, "notes", "model");
  write_blob(w, &i, "free text", 9);
  i = data_info(POPRT_POPEF_TENSOR, "w", "model", POPRT_DTYPE_F16, two_three, 2, 0);
  write_blob(w, &i, "123456789abc", 12);
  i = data_info(POPRT_POPEF_TENSOR, "scalar", NULL, POPRT_DTYPE_S64, NULL, 0, 0);
  write_blob(w, &i, "8 bytes!", 8);
  const float steps[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  i = data_info(POPRT_POPEF_FEED, "fed", NULL, POPRT_DTYPE_F32, four, 1, 3);
  write_blob(w, &i, steps, sizeof steps);
}

static inline bytes sample_file(void) {
  sink s = {0};
  poprt_popef_writer* w = NULL;
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  write_sample(w);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  return s.file;
}

static inline poprt_popef_reader* read_bytes(const bytes* file) {
  poprt_popef_reader* r = NULL;
  OK(poprt_popef_reader_create(&r));
  OK(poprt_popef_reader_parse_bytes(r, file->data, file->size));
  return r;
}

static inline poprt_popef_blob_info info_of(const poprt_popef_blob* blob) {
  poprt_popef_blob_info i = {0};
  i.struct_size = sizeof i;
  OK(poprt_popef_blob_get_info(blob, &i));
  return i;
}

#endif

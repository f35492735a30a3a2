/* PopEF files through the C ABI: metadata, reader, models. popef_writer_test.c has the writer. */
#include "popef_common.h"

static void metadata_has_defaults(void** state) {
  (void)state;
  poprt_popef_metadata* m = NULL;
  OK(poprt_popef_metadata_create(NULL, &m));
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_REPLICATION_FACTOR), 1);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_NUM_IPUS), 1);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_IPU_VERSION), 2);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_IS_POD), 0);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_NUM_PROCESSES), 1);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_IS_INFERENCE), 1);
  assert_int_equal(poprt_popef_metadata_get(m, POPRT_POPEF_DEVICE_ITERATIONS), 1);
  assert_string_equal(poprt_popef_metadata_executable(m), "");
  assert_string_equal(poprt_popef_metadata_seed_handle(m), "");
  assert_int_equal(poprt_popef_metadata_option_count(m, POPRT_POPEF_ENGINE_OPTIONS), 0);
  assert_int_equal(poprt_popef_metadata_option_count(m, POPRT_POPEF_DEVICE_OPTIONS), 0);
  assert_int_equal(poprt_popef_metadata_program_count(m), 0);
  assert_int_equal(poprt_popef_metadata_anchor_count(m), 0);
  size_t count = 9;
  assert_null(poprt_popef_metadata_flow(m, POPRT_POPEF_MAIN, &count));
  assert_int_equal(count, 0);
  poprt_popef_metadata_free(m);
}

static void metadata_keeps_every_field(void** state) {
  (void)state;
  poprt_popef_metadata* made = sample_metadata("model");
  check_sample_metadata(made, "model");
  poprt_popef_metadata* copy = NULL;
  OK(poprt_popef_metadata_create(made, &copy));
  poprt_popef_metadata_free(made);
  check_sample_metadata(copy, "model");
  OK(poprt_popef_metadata_set_program(copy, 7, "again"));
  assert_int_equal(poprt_popef_metadata_program_count(copy), 3);
  assert_string_equal(poprt_popef_metadata_program(copy, 2, NULL), "again");
  OK(poprt_popef_metadata_set_flow(copy, POPRT_POPEF_MAIN, NULL, 0));
  assert_null(poprt_popef_metadata_flow(copy, POPRT_POPEF_MAIN, NULL));
  poprt_popef_metadata_free(copy);
}

static void metadata_refuses_what_cannot_be(void** state) {
  (void)state;
  poprt_popef_metadata* m = NULL;
  FAILS(poprt_popef_metadata_create(NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_metadata'");
  OK(poprt_popef_metadata_create(NULL, &m));
  FAILS(poprt_popef_metadata_set(m, 99, 1), POPRT_INVALID_ARGUMENT, "field 99");
  FAILS(poprt_popef_metadata_set(m, POPRT_POPEF_NUM_IPUS, -1), POPRT_INVALID_ARGUMENT, "-1");
  FAILS(poprt_popef_metadata_set(m, POPRT_POPEF_NUM_IPUS, INT64_C(1) << 32), POPRT_INVALID_ARGUMENT,
        "4294967296");
  FAILS(poprt_popef_metadata_set(m, POPRT_POPEF_IS_POD, 2), POPRT_INVALID_ARGUMENT, "from 0 to 1");
  FAILS(poprt_popef_metadata_set(NULL, POPRT_POPEF_IS_POD, 1), POPRT_INVALID_ARGUMENT,
        "'metadata'");
  FAILS(poprt_popef_metadata_set_executable(m, NULL), POPRT_INVALID_ARGUMENT, "'name'");
  FAILS(poprt_popef_metadata_set_executable(NULL, "x"), POPRT_INVALID_ARGUMENT, "'metadata'");
  FAILS(poprt_popef_metadata_set_seed_handle(m, NULL), POPRT_INVALID_ARGUMENT, "'handle'");
  FAILS(poprt_popef_metadata_add_option(m, 3, "a", "b"), POPRT_INVALID_ARGUMENT, "list 3");
  FAILS(poprt_popef_metadata_add_option(m, POPRT_POPEF_ENGINE_OPTIONS, NULL, "b"),
        POPRT_INVALID_ARGUMENT, "'name'");
  FAILS(poprt_popef_metadata_add_option(m, POPRT_POPEF_ENGINE_OPTIONS, "a", NULL),
        POPRT_INVALID_ARGUMENT, "'value'");
  FAILS(poprt_popef_metadata_set_flow(m, 0, NULL, 0), POPRT_INVALID_ARGUMENT, "flow 0");
  FAILS(poprt_popef_metadata_set_flow(m, POPRT_POPEF_MAIN, NULL, 1), POPRT_INVALID_ARGUMENT,
        "'programs'");
  FAILS(poprt_popef_metadata_set_program(m, 0, NULL), POPRT_INVALID_ARGUMENT, "'name'");

  poprt_popef_anchor a = {0};
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "struct_size");
  a.struct_size = sizeof a;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "needs a name");
  a.name = "a";
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "no data type");
  a.dtype = POPRT_DTYPE_BF16;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "bf16");
  a.dtype = 99;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "dtype 99");
  a.dtype = POPRT_DTYPE_F32;
  a.rank = 1;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "'shape'");
  const int64_t negative[] = {-1}, huge[] = {INT64_MAX};
  a.shape = negative;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "negative");
  a.shape = huge;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "overflow");
  a.rank = 0;
  a.type = 3;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "type 3");
  a.type = POPRT_POPEF_INPUT;
  a.reserved = 1;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "reserved");
  a.reserved = 0;
  a.program_count = 1;
  FAILS(poprt_popef_metadata_add_anchor(m, &a), POPRT_INVALID_ARGUMENT, "'programs'");
  FAILS(poprt_popef_metadata_add_anchor(m, NULL), POPRT_INVALID_ARGUMENT, "'anchor'");
  assert_int_equal(poprt_popef_metadata_anchor_count(m), 0);
  a.program_count = 0;
  OK(poprt_popef_metadata_add_anchor(m, &a));

  FAILS(poprt_popef_metadata_anchor(m, 1, &a), POPRT_OUT_OF_RANGE, "1 anchors, number 1");
  FAILS(poprt_popef_metadata_anchor(m, 0, NULL), POPRT_INVALID_ARGUMENT, "'out_anchor'");
  FAILS(poprt_popef_metadata_anchor(NULL, 0, &a), POPRT_INVALID_ARGUMENT, "'metadata'");
  a.struct_size = 4;
  FAILS(poprt_popef_metadata_anchor(m, 0, &a), POPRT_INVALID_ARGUMENT, "struct_size");
  poprt_popef_metadata_free(m);
}

static void structs_of_other_ages_are_filled(void** state) {
  (void)state;
  poprt_popef_metadata* m = sample_metadata("model");
  struct {
    poprt_popef_anchor known;
    uint64_t newer;
  } later;
  memset(&later, 0xff, sizeof later);
  later.known.struct_size = sizeof later;
  OK(poprt_popef_metadata_anchor(m, 0, &later.known));
  assert_int_equal(later.known.struct_size, sizeof later);
  assert_string_equal(later.known.name, "x");
  assert_int_equal(later.newer, 0);
  later.newer = 1;
  FAILS(poprt_popef_metadata_add_anchor(m, &later.known), POPRT_INVALID_ARGUMENT, "past byte");
  poprt_popef_anchor earlier;
  memset(&earlier, 0x5a, sizeof earlier);
  earlier.struct_size = offsetof(poprt_popef_anchor, type);
  OK(poprt_popef_metadata_anchor(m, 0, &earlier));
  assert_string_equal(earlier.handle, "h2d_x");
  assert_int_equal(earlier.type, 0x5a5a5a5a);
  poprt_popef_metadata_free(m);
}

static void null_is_harmless(void** state) {
  (void)state;
  poprt_popef_metadata_free(NULL);
  poprt_popef_reader_free(NULL);
  poprt_popef_payload_free(NULL);
  poprt_popef_model_free(NULL);
  assert_int_equal(poprt_popef_metadata_get(NULL, POPRT_POPEF_NUM_IPUS), 0);
  assert_string_equal(poprt_popef_metadata_executable(NULL), "");
  assert_string_equal(poprt_popef_metadata_seed_handle(NULL), "");
  assert_int_equal(poprt_popef_metadata_option_count(NULL, POPRT_POPEF_ENGINE_OPTIONS), 0);
  assert_null(poprt_popef_metadata_option(NULL, POPRT_POPEF_ENGINE_OPTIONS, 0, NULL));
  assert_null(poprt_popef_metadata_flow(NULL, POPRT_POPEF_MAIN, NULL));
  assert_int_equal(poprt_popef_metadata_program_count(NULL), 0);
  assert_null(poprt_popef_metadata_program(NULL, 0, NULL));
  assert_int_equal(poprt_popef_metadata_anchor_count(NULL), 0);
  assert_int_equal(poprt_popef_reader_count(NULL, POPRT_POPEF_TENSOR), 0);
  assert_null(poprt_popef_reader_blob(NULL, POPRT_POPEF_TENSOR, 0));
  assert_null(poprt_popef_reader_metadata(NULL, 0));
  assert_null(poprt_popef_payload_data(NULL));
  assert_int_equal(poprt_popef_payload_size(NULL), 0);
  assert_null(poprt_popef_model_metadata(NULL));
  assert_int_equal(poprt_popef_model_count(NULL, POPRT_POPEF_TENSOR), 0);
  assert_null(poprt_popef_model_blob(NULL, POPRT_POPEF_TENSOR, 0));
  size_t count = 9;
  assert_null(poprt_popef_model_user_anchors(NULL, POPRT_POPEF_INPUT, &count));
  assert_int_equal(count, 0);
}

static void blobs_are_found_with_what_they_are(void** state) {
  (void)state;
  bytes file = sample_file();
  poprt_popef_reader* r = read_bytes(&file);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_EXECUTABLE), 1);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_METADATA_BLOB), 1);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_TENSOR), 2);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_FEED), 1);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_OPAQUE), 1);
  assert_int_equal(poprt_popef_reader_count(r, 0), 0);
  assert_int_equal(poprt_popef_reader_count(r, 6), 0);
  assert_int_equal(poprt_popef_reader_count(r, -1), 0);
  assert_null(poprt_popef_reader_blob(r, POPRT_POPEF_METADATA_BLOB, 0));
  assert_null(poprt_popef_reader_blob(r, POPRT_POPEF_TENSOR, 2));
  assert_null(poprt_popef_reader_metadata(r, 1));
  check_sample_metadata(poprt_popef_reader_metadata(r, 0), "model");

  poprt_popef_blob_info i = info_of(poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0));
  assert_int_equal(i.type, POPRT_POPEF_EXECUTABLE);
  assert_string_equal(i.name, "model");
  assert_int_equal(i.compressed, 1);
  assert_int_equal(i.bytes, CODE_BYTES);
  i = info_of(poprt_popef_reader_blob(r, POPRT_POPEF_TENSOR, 0));
  assert_int_equal(i.type, POPRT_POPEF_TENSOR);
  assert_string_equal(i.name, "w");
  assert_string_equal(i.executable, "model");
  assert_int_equal(i.dtype, POPRT_DTYPE_F16);
  assert_int_equal(i.rank, 2);
  assert_int_equal(i.shape[0], 2);
  assert_int_equal(i.shape[1], 3);
  assert_int_equal(i.bytes, 12);
  assert_int_equal(i.compressed, 0);
  i = info_of(poprt_popef_reader_blob(r, POPRT_POPEF_TENSOR, 1));
  assert_string_equal(i.name, "scalar");
  assert_string_equal(i.executable, "");
  assert_int_equal(i.rank, 0);
  assert_null(i.shape);
  assert_int_equal(i.bytes, 8);
  i = info_of(poprt_popef_reader_blob(r, POPRT_POPEF_FEED, 0));
  assert_string_equal(i.name, "fed");
  assert_int_equal(i.tensor_count, 3);
  assert_int_equal(i.bytes, 3 * 16);
  i = info_of(poprt_popef_reader_blob(r, POPRT_POPEF_OPAQUE, 0));
  assert_string_equal(i.name, "notes");
  assert_string_equal(i.executable, "model");
  assert_int_equal(i.bytes, 9);

  poprt_string* warnings = NULL;
  OK(poprt_popef_reader_warnings(r, &warnings));
  assert_string_equal(poprt_string_data(warnings), "");
  poprt_string_free(warnings);
  poprt_popef_reader_free(r);
  free(file.data);
}

static void payloads_outlive_everything(void** state) {
  (void)state;
  bytes file = sample_file();
  poprt_popef_reader* r = read_bytes(&file);
  memset(file.data, 0, file.size); /* it was copied */
  poprt_popef_payload *code = NULL, *w = NULL;
  OK(poprt_popef_blob_map(poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0), &code));
  OK(poprt_popef_blob_map(poprt_popef_reader_blob(r, POPRT_POPEF_TENSOR, 0), &w));
  poprt_popef_reader_free(r);
  free(file.data);
  assert_int_equal(poprt_popef_payload_size(code), CODE_BYTES);
  assert_memory_equal(poprt_popef_payload_data(code), sample_code(), CODE_BYTES);
  assert_memory_equal(poprt_popef_payload_data(w), "123456789abc", 12);
  poprt_popef_payload_free(code);
  poprt_popef_payload_free(w);
}

static void files_are_mapped_and_not_copied(void** state) {
  (void)state;
  poprt_popef_reader* r = NULL;
  OK(poprt_popef_reader_create(&r));
  OK(poprt_popef_reader_parse_file(r, DATA "/copies.popef"));
  const poprt_popef_blob* blob = poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0);
  poprt_popef_payload *a = NULL, *b = NULL;
  OK(poprt_popef_blob_map(blob, &a));
  OK(poprt_popef_blob_map(blob, &b));
  assert_ptr_equal(poprt_popef_payload_data(a), poprt_popef_payload_data(b));
  assert_int_equal((uintptr_t)poprt_popef_payload_data(a) % 4096, 0);
  poprt_popef_payload_free(a);
  poprt_popef_payload_free(b);
  poprt_popef_reader_free(r);
}

static void parts_are_read_where_they_lie(void** state) {
  (void)state;
  bytes file = sample_file();
  poprt_popef_reader* r = read_bytes(&file);
  const poprt_popef_blob* code = poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0);
  const poprt_popef_blob* feed = poprt_popef_reader_blob(r, POPRT_POPEF_FEED, 0);
  unsigned char part[100];
  OK(poprt_popef_blob_read(code, 70000, part, sizeof part)); /* it is compressed */
  assert_memory_equal(part, sample_code() + 70000, sizeof part);
  OK(poprt_popef_blob_read(code, 5, part, sizeof part));
  assert_memory_equal(part, sample_code() + 5, sizeof part);
  const float second[] = {4, 5, 6, 7};
  OK(poprt_popef_blob_read(feed, 16, part, 16));
  assert_memory_equal(part, second, 16);
  OK(poprt_popef_blob_read(feed, 48, NULL, 0));
  FAILS(poprt_popef_blob_read(feed, 33, part, 16), POPRT_OUT_OF_RANGE, "48 bytes, 16 from 33");
  FAILS(poprt_popef_blob_read(feed, SIZE_MAX, part, 2), POPRT_OUT_OF_RANGE, "'fed'");
  FAILS(poprt_popef_blob_read(feed, 0, NULL, 1), POPRT_INVALID_ARGUMENT, "'data'");
  FAILS(poprt_popef_blob_read(NULL, 0, part, 1), POPRT_INVALID_ARGUMENT, "'blob'");
  poprt_popef_reader_free(r);
  free(file.data);
}

static void reader_errors(void** state) {
  (void)state;
  poprt_popef_reader* r = NULL;
  FAILS(poprt_popef_reader_create(NULL), POPRT_INVALID_ARGUMENT, "'out_reader'");
  OK(poprt_popef_reader_create(&r));
  FAILS(poprt_popef_reader_parse_file(r, "/no/such.popef"), POPRT_NOT_FOUND, "/no/such.popef");
  FAILS(poprt_popef_reader_parse_file(r, DATA "/identity.onnx"), POPRT_INVALID_ARGUMENT,
        "identity.onnx");
  FAILS(poprt_popef_reader_parse_file(r, NULL), POPRT_INVALID_ARGUMENT, "'path'");
  FAILS(poprt_popef_reader_parse_file(NULL, "x"), POPRT_INVALID_ARGUMENT, "'reader'");
  FAILS(poprt_popef_reader_parse_bytes(r, NULL, 3), POPRT_INVALID_ARGUMENT, "'data'");
  FAILS(poprt_popef_reader_parse_bytes(r, NULL, 0), POPRT_DATA_LOSS, "empty");
  FAILS(poprt_popef_reader_parse_bytes(r, "not PopEF", 9), POPRT_DATA_LOSS, "");
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_EXECUTABLE), 0);
  OK(poprt_popef_reader_parse_file(r, DATA "/copies.popef"));
  const poprt_popef_blob* blob = poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0);
  FAILS(poprt_popef_reader_parse_file(r, DATA "/copies.popef"), POPRT_FAILED_PRECONDITION,
        "'copies' is there twice");
  bytes file = sample_file();
  OK(poprt_popef_reader_parse_bytes(r, file.data, file.size));
  free(file.data);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_EXECUTABLE), 2);
  assert_ptr_equal(poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0), blob);
  assert_string_equal(info_of(blob).name, "copies");

  poprt_popef_blob_info i = {0};
  FAILS(poprt_popef_blob_get_info(blob, &i), POPRT_INVALID_ARGUMENT, "struct_size");
  FAILS(poprt_popef_blob_get_info(blob, NULL), POPRT_INVALID_ARGUMENT, "'out_info'");
  FAILS(poprt_popef_blob_get_info(NULL, &i), POPRT_INVALID_ARGUMENT, "'blob'");
  FAILS(poprt_popef_blob_map(blob, NULL), POPRT_INVALID_ARGUMENT, "'out_payload'");
  poprt_popef_payload* p = UNTOUCHED(poprt_popef_payload);
  FAILS(poprt_popef_blob_map(NULL, &p), POPRT_INVALID_ARGUMENT, "'blob'");
  assert_ptr_equal(p, UNTOUCHED(poprt_popef_payload));
  FAILS(poprt_popef_reader_warnings(r, NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  poprt_popef_reader_free(r);
}

typedef struct part {
  bytes file;
  int reads, released, broken;
  size_t most; /* read at once */
} part;

static int32_t read_part(uint64_t offset, void* data, size_t size, void* user_data) {
  part* p = user_data;
  p->reads++;
  if (size > p->most) p->most = size;
  assert_true(size > 0);
  assert_non_null(data);
  assert_true(offset + size <= p->file.size);
  if (p->broken) return 1;
  memcpy(data, p->file.data + offset, size);
  return 0;
}

static void release_part(void* user_data) { ((part*)user_data)->released++; }

static void sources_are_read_when_payloads_are(void** state) {
  (void)state;
  part p = {0};
  p.file = sample_file();
  poprt_popef_source s = {0};
  poprt_popef_reader* r = NULL;
  OK(poprt_popef_reader_create(&r));
  FAILS(poprt_popef_reader_parse_source(r, NULL), POPRT_INVALID_ARGUMENT, "'source'");
  FAILS(poprt_popef_reader_parse_source(r, &s), POPRT_INVALID_ARGUMENT, "struct_size");
  s.struct_size = sizeof s;
  FAILS(poprt_popef_reader_parse_source(r, &s), POPRT_INVALID_ARGUMENT, "read is null");
  s.read = read_part;
  s.release = release_part;
  s.user_data = &p;
  FAILS(poprt_popef_reader_parse_source(NULL, &s), POPRT_INVALID_ARGUMENT, "'reader'");
  assert_int_equal(p.released, 1);
  FAILS(poprt_popef_reader_parse_source(r, &s), POPRT_DATA_LOSS, "empty");
  assert_int_equal(p.released, 2);
  s.size = p.file.size - 1;
  FAILS(poprt_popef_reader_parse_source(r, &s), POPRT_DATA_LOSS, "truncated");
  assert_int_equal(p.released, 3);
  struct {
    poprt_popef_source known;
    int newer;
  } newer = {s, 1};
  newer.known.struct_size = sizeof newer;
  FAILS(poprt_popef_reader_parse_source(r, &newer.known), POPRT_INVALID_ARGUMENT, "past byte");
  assert_int_equal(p.released, 4);

  s.size = p.file.size;
  p.most = 0;
  OK(poprt_popef_reader_parse_source(r, &s));
  assert_true(p.most < 4096); /* headers and metadata */
  const poprt_popef_blob* feed = poprt_popef_reader_blob(r, POPRT_POPEF_FEED, 0);
  const poprt_popef_blob* code = poprt_popef_reader_blob(r, POPRT_POPEF_EXECUTABLE, 0);
  float step[4];
  OK(poprt_popef_blob_read(feed, 32, step, 16));
  assert_true(step[0] == 8 && step[3] == 11);
  poprt_popef_payload *payload = NULL, *none = UNTOUCHED(poprt_popef_payload);
  OK(poprt_popef_blob_map(code, &payload));
  assert_int_equal(poprt_popef_payload_size(payload), CODE_BYTES);
  assert_memory_equal(poprt_popef_payload_data(payload), sample_code(), CODE_BYTES);
  p.broken = 1;
  FAILS(poprt_popef_blob_map(feed, &none), POPRT_DATA_LOSS, "cannot read");
  assert_ptr_equal(none, UNTOUCHED(poprt_popef_payload));
  p.broken = 0;

  poprt_popef_model* m = NULL;
  OK(poprt_popef_model_create(r, NULL, &m));
  poprt_popef_reader_free(r);
  OK(poprt_popef_blob_read(poprt_popef_model_blob(m, POPRT_POPEF_FEED, 0), 0, step, 16));
  assert_true(step[3] == 3);
  assert_int_equal(p.released, 4);
  poprt_popef_model_free(m);
  poprt_popef_payload_free(payload);
  assert_int_equal(p.released, 5);
  free(p.file.data);
}

/* A copy through reader and writer has the types of the file. */
static void every_data_type_is_kept(void** state) {
  (void)state;
  const poprt_dtype types[] = {
      POPRT_DTYPE_BOOL, POPRT_DTYPE_F8,  POPRT_DTYPE_F16, POPRT_DTYPE_F32,   POPRT_DTYPE_F64,
      POPRT_DTYPE_S8,   POPRT_DTYPE_U8,  POPRT_DTYPE_S16, POPRT_DTYPE_U16,   POPRT_DTYPE_S32,
      POPRT_DTYPE_U32,  POPRT_DTYPE_S64, POPRT_DTYPE_U64, POPRT_DTYPE_F8143, POPRT_DTYPE_F8152};
  enum { TYPES = sizeof types / sizeof *types };
  const char* const names[TYPES] = {"0", "1", "2",  "3",  "4",  "5",  "6", "7",
                                    "8", "9", "10", "11", "12", "13", "14"};
  sink s = {0};
  poprt_popef_writer* w = NULL;
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  poprt_popef_metadata* m = NULL;
  OK(poprt_popef_metadata_create(NULL, &m));
  for (size_t k = 0; k < TYPES; k++) {
    const poprt_popef_anchor a = anchor(names[k], "", POPRT_POPEF_UNKNOWN, types[k], NULL, 0);
    OK(poprt_popef_metadata_add_anchor(m, &a));
    const poprt_popef_blob_info i =
        data_info(POPRT_POPEF_TENSOR, names[k], NULL, types[k], NULL, 0, 0);
    write_blob(w, &i, "12345678", (size_t)poprt_dtype_bits(types[k]) / 8);
  }
  OK(poprt_popef_writer_add_metadata(w, m));
  poprt_popef_metadata_free(m);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);

  poprt_popef_reader* r = read_bytes(&s.file);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_TENSOR), TYPES);
  for (size_t k = 0; k < TYPES; k++) {
    poprt_popef_anchor a = {0};
    a.struct_size = sizeof a;
    OK(poprt_popef_metadata_anchor(poprt_popef_reader_metadata(r, 0), k, &a));
    assert_int_equal(a.dtype, types[k]);
    assert_int_equal(info_of(poprt_popef_reader_blob(r, POPRT_POPEF_TENSOR, k)).dtype, types[k]);
  }
  poprt_popef_reader_free(r);
  free(s.file.data);
}

static void is_class(poprt_error* error, poprt_popef_error_class wanted) {
  assert_non_null(error);
  assert_int_equal(poprt_popef_error_get_class(error), wanted);
  poprt_error_free(error);
}

static void errors_have_classes(void** state) {
  (void)state;
  poprt_popef_reader* r = NULL;
  poprt_popef_model* m = NULL;
  poprt_popef_blob_writer* blob = NULL;
  poprt_popef_writer* w = NULL;
  sink s = {0};
  bytes file = sample_file();
  assert_int_equal(poprt_popef_error_get_class(NULL), POPRT_POPEF_NO_CLASS);
  OK(poprt_popef_reader_create(&r));
  is_class(poprt_popef_reader_parse_file(r, NULL), POPRT_POPEF_NO_CLASS);
  is_class(poprt_popef_reader_parse_file(r, "/no/such.popef"), POPRT_POPEF_FILE_ERROR);
  is_class(poprt_popef_reader_parse_bytes(r, file.data, file.size - 1), POPRT_POPEF_FORMAT_ERROR);
  file.data[6] = '9';
  is_class(poprt_popef_reader_parse_bytes(r, file.data, file.size), POPRT_POPEF_VERSION_ERROR);
  is_class(poprt_popef_model_create(r, "none", &m), POPRT_POPEF_LINK_ERROR);
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  const int64_t two[] = {2};
  poprt_popef_blob_info i = data_info(POPRT_POPEF_TENSOR, "t", NULL, POPRT_DTYPE_U8, two, 1, 0);
  OK(poprt_popef_writer_begin(w, &i, &blob));
  is_class(poprt_popef_blob_writer_write(blob, 0, "123", 3), POPRT_POPEF_SIZE_ERROR);
  is_class(poprt_popef_writer_close(w), POPRT_POPEF_INACTIVE_WRITER);
  poprt_popef_blob_writer_free(blob);
  poprt_popef_writer_free(w);
  poprt_popef_reader_free(r);
  free(s.file.data);
  free(file.data);
}

/* Any bytes give an error, or a file that can be read to its end. */
static void hostile_bytes_are_refused_or_read(void** state) {
  (void)state;
  bytes file = sample_file();
  uint32_t seed = 12345, refused = 0;
  for (int round = 0; round < 2000; round++) {
    unsigned char* broken = malloc(file.size);
    memcpy(broken, file.data, file.size);
    size_t size = file.size;
    for (int flips = 0; flips < 3; flips++) {
      seed = seed * 1664525 + 1013904223;
      /* most changes affect headers and descriptors, because the compressed code is small */
      broken[(seed >> 8) % file.size] = (unsigned char)(seed >> 24);
    }
    if (round % 4 == 0) size = (seed >> 8) % file.size;
    poprt_popef_reader* r = NULL;
    OK(poprt_popef_reader_create(&r));
    poprt_error* error = poprt_popef_reader_parse_bytes(r, broken, size);
    free(broken);
    if (error) {
      refused++;
      assert_true(poprt_error_get_code(error) == POPRT_DATA_LOSS ||
                  poprt_error_get_code(error) == POPRT_FAILED_PRECONDITION);
      poprt_error_free(error);
    }
    for (poprt_popef_blob_type t = POPRT_POPEF_EXECUTABLE; t <= POPRT_POPEF_OPAQUE; t++)
      for (size_t i = 0; i < poprt_popef_reader_count(r, t); i++) {
        const poprt_popef_blob* blob = poprt_popef_reader_blob(r, t, i);
        poprt_popef_payload* p = NULL;
        error = blob ? poprt_popef_blob_map(blob, &p) : NULL;
        if (error) assert_int_equal(poprt_error_get_code(error), POPRT_DATA_LOSS);
        poprt_error_free(error);
        const unsigned char* data = poprt_popef_payload_data(p);
        unsigned sum = 0;
        for (size_t k = 0; k < poprt_popef_payload_size(p); k++) sum += data[k];
        assert_true(sum < UINT32_MAX);
        poprt_popef_payload_free(p);
      }
    poprt_popef_model* m = NULL;
    poprt_error_free(poprt_popef_model_create(r, NULL, &m));
    poprt_popef_model_free(m);
    poprt_popef_reader_free(r);
  }
  assert_true(refused > 500);
  free(file.data);
}

static void models_link_blobs_by_name(void** state) {
  (void)state;
  bytes file = sample_file();
  poprt_popef_reader* r = read_bytes(&file);
  poprt_popef_model *m = NULL, *same = NULL;
  OK(poprt_popef_model_create(r, NULL, &m));
  OK(poprt_popef_model_create(r, "model", &same));
  poprt_popef_model_free(same);
  poprt_popef_reader_free(r);
  free(file.data);

  check_sample_metadata(poprt_popef_model_metadata(m), "model");
  assert_int_equal(poprt_popef_model_count(m, POPRT_POPEF_EXECUTABLE), 1);
  assert_int_equal(poprt_popef_model_count(m, POPRT_POPEF_METADATA_BLOB), 1);
  assert_int_equal(poprt_popef_model_count(m, POPRT_POPEF_TENSOR), 1); /* no anchor "scalar" */
  assert_int_equal(poprt_popef_model_count(m, POPRT_POPEF_FEED), 1);
  assert_int_equal(poprt_popef_model_count(m, POPRT_POPEF_OPAQUE), 1);
  assert_int_equal(poprt_popef_model_count(m, 9), 0);
  assert_string_equal(info_of(poprt_popef_model_blob(m, POPRT_POPEF_TENSOR, 0)).name, "w");
  assert_null(poprt_popef_model_blob(m, POPRT_POPEF_TENSOR, 1));

  size_t count = 0;
  const size_t* inputs = poprt_popef_model_user_anchors(m, POPRT_POPEF_INPUT, &count);
  assert_int_equal(count, 1); /* "w" and "fed" have data */
  assert_int_equal(inputs[0], 0);
  const size_t* outputs = poprt_popef_model_user_anchors(m, POPRT_POPEF_OUTPUT, &count);
  assert_int_equal(count, 1);
  assert_int_equal(outputs[0], 3);
  assert_null(poprt_popef_model_user_anchors(m, POPRT_POPEF_UNKNOWN, &count));
  assert_int_equal(count, 0);

  poprt_string* text = NULL;
  OK(poprt_popef_model_warnings(m, &text));
  assert_non_null(strstr(poprt_string_data(text), "'scalar'"));
  poprt_string_free(text);
  FAILS(poprt_popef_model_warnings(m, NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  FAILS(poprt_popef_model_warnings(NULL, &text), POPRT_INVALID_ARGUMENT, "'model'");

  poprt_popef_payload* p = NULL;
  OK(poprt_popef_blob_map(poprt_popef_model_blob(m, POPRT_POPEF_OPAQUE, 0), &p));
  poprt_popef_model_free(m);
  assert_memory_equal(poprt_popef_payload_data(p), "free text", 9);
  poprt_popef_payload_free(p);
}

static void model_errors(void** state) {
  (void)state;
  poprt_popef_model *m = UNTOUCHED(poprt_popef_model), *all[2] = {m, m};
  poprt_popef_reader* r = NULL;
  OK(poprt_popef_reader_create(&r));
  FAILS(poprt_popef_model_create(NULL, NULL, &m), POPRT_INVALID_ARGUMENT, "'reader'");
  FAILS(poprt_popef_model_create(r, NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_model'");
  FAILS(poprt_popef_model_create(r, NULL, &m), POPRT_FAILED_PRECONDITION, "no executable");
  OK(poprt_popef_model_create_all(r, NULL, 0));
  bytes file = sample_file();
  OK(poprt_popef_reader_parse_bytes(r, file.data, file.size));
  OK(poprt_popef_reader_parse_file(r, DATA "/copies.popef"));
  FAILS(poprt_popef_model_create(r, NULL, &m), POPRT_FAILED_PRECONDITION, "'copies'");
  FAILS(poprt_popef_model_create(r, "none", &m), POPRT_FAILED_PRECONDITION, "'none'");
  FAILS(poprt_popef_model_create_all(r, all, 1), POPRT_INVALID_ARGUMENT, "2 executables");
  FAILS(poprt_popef_model_create_all(r, NULL, 2), POPRT_INVALID_ARGUMENT, "'out_models'");
  assert_ptr_equal(m, UNTOUCHED(poprt_popef_model));
  assert_ptr_equal(all[0], UNTOUCHED(poprt_popef_model));
  OK(poprt_popef_model_create_all(r, all, 2));
  assert_string_equal(poprt_popef_metadata_executable(poprt_popef_model_metadata(all[0])), "model");
  assert_string_equal(poprt_popef_metadata_executable(poprt_popef_model_metadata(all[1])),
                      "copies");
  poprt_popef_model_free(all[0]);
  poprt_popef_model_free(all[1]);
  poprt_popef_reader_free(r);

  /* metadata without an executable is an error if no name is given */
  sink s = {0};
  poprt_popef_writer* w = NULL;
  poprt_popef_metadata* lost = sample_metadata("lost");
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  OK(poprt_popef_writer_add_metadata(w, lost));
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  poprt_popef_metadata_free(lost);
  r = read_bytes(&file);
  OK(poprt_popef_reader_parse_bytes(r, s.file.data, s.file.size));
  FAILS(poprt_popef_model_create(r, NULL, &m), POPRT_FAILED_PRECONDITION, "'lost'");
  FAILS(poprt_popef_model_create_all(r, all, 1), POPRT_FAILED_PRECONDITION, "'lost'");
  OK(poprt_popef_model_create(r, "model", &m));
  poprt_popef_model_free(m);
  poprt_popef_reader_free(r);
  free(s.file.data);
  free(file.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(metadata_has_defaults),
      cmocka_unit_test(metadata_keeps_every_field),
      cmocka_unit_test(metadata_refuses_what_cannot_be),
      cmocka_unit_test(structs_of_other_ages_are_filled),
      cmocka_unit_test(null_is_harmless),
      cmocka_unit_test(blobs_are_found_with_what_they_are),
      cmocka_unit_test(payloads_outlive_everything),
      cmocka_unit_test(files_are_mapped_and_not_copied),
      cmocka_unit_test(parts_are_read_where_they_lie),
      cmocka_unit_test(reader_errors),
      cmocka_unit_test(sources_are_read_when_payloads_are),
      cmocka_unit_test(every_data_type_is_kept),
      cmocka_unit_test(errors_have_classes),
      cmocka_unit_test(hostile_bytes_are_refused_or_read),
      cmocka_unit_test(models_link_blobs_by_name),
      cmocka_unit_test(model_errors),
  };
  return cmocka_run_group_tests_name("popef", tests, NULL, NULL);
}

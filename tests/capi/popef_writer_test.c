/* Writing PopEF files through the C ABI. */
#include <unistd.h>

#include "popef_common.h"

static char folder[64], path[128];

static int make_folder(void** state) {
  (void)state;
  strcpy(folder, "/tmp/poprt_capi_XXXXXX");
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/x.popef", folder);
  return 0;
}

static int remove_folder(void** state) {
  (void)state;
  unlink(path);
  return rmdir(folder); /* fails when something else was left there */
}

static bytes read_path(void) {
  bytes b = {malloc(1 << 20), 0};
  FILE* f = fopen(path, "rb");
  if (f) {
    b.size = fread(b.data, 1, 1 << 20, f);
    fclose(f);
  }
  return b;
}

static poprt_popef_writer* open_path(poprt_popef_mode mode) {
  poprt_popef_writer* w = NULL;
  OK(poprt_popef_writer_create(path, mode, &w));
  return w;
}

static void expect_path(const bytes* file) {
  bytes now = read_path();
  assert_int_equal(now.size, file->size);
  assert_memory_equal(now.data, file->data, file->size);
  free(now.data);
}

static void files_and_streams_get_the_same_bytes(void** state) {
  (void)state;
  poprt_popef_writer* w = open_path(POPRT_POPEF_TRUNCATE);
  write_sample(w);
  assert_int_not_equal(access(path, F_OK), 0); /* it is not there yet */
  OK(poprt_popef_writer_close(w));
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  bytes file = sample_file();
  expect_path(&file);
  free(file.data);
}

static void blobs_are_copied_as_a_reader_describes_them(void** state) {
  (void)state;
  bytes file = sample_file();
  poprt_popef_reader* r = read_bytes(&file);
  sink s = {0};
  poprt_popef_writer* w = NULL;
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  OK(poprt_popef_writer_add_metadata(w, poprt_popef_reader_metadata(r, 0)));
  const poprt_popef_blob_type order[] = {POPRT_POPEF_EXECUTABLE, POPRT_POPEF_OPAQUE,
                                         POPRT_POPEF_TENSOR, POPRT_POPEF_FEED};
  for (size_t t = 0; t < 4; t++)
    for (size_t i = 0; i < poprt_popef_reader_count(r, order[t]); i++) {
      const poprt_popef_blob* blob = poprt_popef_reader_blob(r, order[t], i);
      const poprt_popef_blob_info info = info_of(blob);
      poprt_popef_payload* p = NULL;
      OK(poprt_popef_blob_map(blob, &p));
      write_blob(w, &info, poprt_popef_payload_data(p), poprt_popef_payload_size(p));
      poprt_popef_payload_free(p);
    }
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  assert_int_equal(s.file.size, file.size);
  assert_memory_equal(s.file.data, file.data, file.size);
  poprt_popef_reader_free(r);
  free(s.file.data);
  free(file.data);
}

static void appending_keeps_the_old_bytes(void** state) {
  (void)state;
  poprt_popef_writer* w = open_path(POPRT_POPEF_APPEND); /* makes a new one */
  write_sample(w);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  bytes before = read_path();

  w = open_path(POPRT_POPEF_APPEND);
  poprt_popef_writer* second = UNTOUCHED(poprt_popef_writer);
  FAILS(poprt_popef_writer_create(path, POPRT_POPEF_APPEND, &second), POPRT_UNAVAILABLE, path);
  const poprt_popef_blob_info again = blob_info(POPRT_POPEF_EXECUTABLE, "model", NULL);
  poprt_popef_blob_writer* blob = NULL;
  FAILS(poprt_popef_writer_begin(w, &again, &blob), POPRT_FAILED_PRECONDITION, "'model'");
  const poprt_popef_blob_info more = blob_info(POPRT_POPEF_OPAQUE, "more", "model");
  write_blob(w, &more, "bytes", 5);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);

  bytes after = read_path();
  assert_true(after.size > before.size);
  assert_memory_equal(after.data, before.data, before.size);
  poprt_popef_reader* r = read_bytes(&after);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_OPAQUE), 2);
  poprt_popef_reader_free(r);

  w = open_path(POPRT_POPEF_APPEND);
  write_blob(w, &more, "dropped", 7);
  poprt_popef_writer_free(w);
  expect_path(&after);
  free(before.data);
  free(after.data);
}

static void without_close_the_old_file_stays(void** state) {
  (void)state;
  poprt_popef_writer* w = open_path(POPRT_POPEF_TRUNCATE);
  write_sample(w);
  poprt_popef_writer_free(w);
  assert_int_not_equal(access(path, F_OK), 0);

  w = open_path(POPRT_POPEF_TRUNCATE);
  write_sample(w);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  bytes file = read_path();
  w = open_path(POPRT_POPEF_TRUNCATE);
  const poprt_popef_blob_info other = blob_info(POPRT_POPEF_OPAQUE, "other", NULL);
  write_blob(w, &other, "bytes", 5);
  poprt_popef_writer_free(w);
  expect_path(&file);

  /* a stream receives no more bytes */
  sink s = {0};
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  poprt_popef_blob_writer* blob = NULL;
  OK(poprt_popef_writer_begin(w, &other, &blob));
  OK(poprt_popef_blob_writer_write(blob, 0, "bytes", 5));
  poprt_popef_writer_free(w);
  FAILS(poprt_popef_blob_writer_write(blob, 0, "bytes", 5), POPRT_FAILED_PRECONDITION, "'other'");
  OK(poprt_popef_blob_writer_close(blob));
  poprt_popef_blob_writer_free(blob);
  assert_int_equal(s.file.size, 0);
  free(file.data);
}

static void a_blob_writer_that_is_dropped_fails_the_writer(void** state) {
  (void)state;
  poprt_popef_writer* w = open_path(POPRT_POPEF_TRUNCATE);
  const poprt_popef_blob_info info = blob_info(POPRT_POPEF_OPAQUE, "notes", NULL);
  poprt_popef_blob_writer* blob = NULL;
  OK(poprt_popef_writer_begin(w, &info, &blob));
  OK(poprt_popef_blob_writer_write(blob, 0, "half", 4));
  poprt_popef_blob_writer_free(blob);
  FAILS(poprt_popef_writer_begin(w, &info, &blob), POPRT_FAILED_PRECONDITION, "given up");
  FAILS(poprt_popef_writer_close(w), POPRT_FAILED_PRECONDITION, "'notes' was given up");
  poprt_popef_writer_free(w);
  assert_int_not_equal(access(path, F_OK), 0);
}

static void beginning_the_next_blob_finishes_the_last(void** state) {
  (void)state;
  sink s = {0};
  poprt_popef_writer* w = NULL;
  poprt_popef_blob_writer *a = NULL, *b = NULL;
  const poprt_popef_blob_info info = blob_info(POPRT_POPEF_OPAQUE, "notes", NULL);
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  OK(poprt_popef_writer_begin(w, &info, &a));
  OK(poprt_popef_blob_writer_write(a, 0, "one", 3));
  OK(poprt_popef_writer_begin(w, &info, &b));
  FAILS(poprt_popef_blob_writer_write(a, 0, "x", 1), POPRT_FAILED_PRECONDITION, "no longer active");
  poprt_popef_blob_writer_free(a); /* finished: nothing is lost */
  OK(poprt_popef_blob_writer_write(b, 0, NULL, 0));
  OK(poprt_popef_writer_close(w));
  FAILS(poprt_popef_writer_begin(w, &info, &a), POPRT_FAILED_PRECONDITION, "closed");
  FAILS(poprt_popef_blob_writer_write(b, 0, "x", 1), POPRT_FAILED_PRECONDITION, "'notes'");
  poprt_popef_writer_free(w);
  poprt_popef_blob_writer_free(b);
  poprt_popef_reader* r = read_bytes(&s.file);
  assert_int_equal(info_of(poprt_popef_reader_blob(r, POPRT_POPEF_OPAQUE, 0)).bytes, 3);
  assert_int_equal(info_of(poprt_popef_reader_blob(r, POPRT_POPEF_OPAQUE, 1)).bytes, 0);
  poprt_popef_reader_free(r);
  free(s.file.data);
}

static void sizes_are_those_that_were_announced(void** state) {
  (void)state;
  const int64_t two[] = {2};
  const poprt_popef_blob_info info =
      data_info(POPRT_POPEF_TENSOR, "t", NULL, POPRT_DTYPE_F32, two, 1, 0);
  for (int much = 0; much < 2; much++) {
    sink s = {0};
    poprt_popef_writer* w = NULL;
    poprt_popef_blob_writer* blob = NULL;
    OK(poprt_popef_writer_create_stream(take, &s, &w));
    OK(poprt_popef_writer_begin(w, &info, &blob));
    if (much) {
      FAILS(poprt_popef_blob_writer_write(blob, 0, "123456789", 9), POPRT_INVALID_ARGUMENT,
            "takes 8 bytes of data, got 9");
    } else {
      OK(poprt_popef_blob_writer_write(blob, 0, "1234", 4));
      FAILS(poprt_popef_blob_writer_close(blob), POPRT_INVALID_ARGUMENT,
            "needs 8 bytes of data, got 4");
    }
    FAILS(poprt_popef_writer_close(w), POPRT_FAILED_PRECONDITION, "8 bytes");
    poprt_popef_blob_writer_free(blob);
    poprt_popef_writer_free(w);
    assert_int_equal(s.file.size, 0);
  }
}

static void several_feeds_are_filled_side_by_side(void** state) {
  (void)state;
  const int64_t two[] = {2};
  const poprt_popef_blob_info image =
      data_info(POPRT_POPEF_FEED, "image", "model", POPRT_DTYPE_F32, two, 1, 3);
  const poprt_popef_blob_info label =
      data_info(POPRT_POPEF_FEED, "label", "model", POPRT_DTYPE_U8, NULL, 0, 3);
  const float images[] = {1, 2, 3, 4, 5, 6};
  const unsigned char labels[] = {7, 8, 9};
  sink together = {0}, apart = {0};
  poprt_popef_writer* w = NULL;
  poprt_popef_blob_writer* feeds = NULL;
  const poprt_popef_blob_info* const infos[] = {&image, &label, NULL};
  OK(poprt_popef_writer_create_stream(take, &together, &w));
  FAILS(poprt_popef_writer_begin_feeds(w, infos, 0, &feeds), POPRT_INVALID_ARGUMENT, "at least");
  FAILS(poprt_popef_writer_begin_feeds(w, infos, 3, &feeds), POPRT_INVALID_ARGUMENT, "'info'");
  FAILS(poprt_popef_writer_begin_feeds(w, NULL, 1, &feeds), POPRT_INVALID_ARGUMENT, "'feeds'");
  FAILS(poprt_popef_writer_begin_feeds(w, infos, 2, NULL), POPRT_INVALID_ARGUMENT, "'out_blob'");
  const poprt_popef_blob_info tensor =
      data_info(POPRT_POPEF_TENSOR, "t", NULL, POPRT_DTYPE_F32, two, 1, 0);
  const poprt_popef_blob_info* const tensors[] = {&tensor};
  FAILS(poprt_popef_writer_begin_feeds(w, tensors, 1, &feeds), POPRT_INVALID_ARGUMENT, "'t'");
  OK(poprt_popef_writer_begin_feeds(w, infos, 2, &feeds));
  for (size_t i = 0; i < 3; i++) {
    OK(poprt_popef_blob_writer_write(feeds, 0, images + 2 * i, 8));
    OK(poprt_popef_blob_writer_write(feeds, 1, labels + i, 1));
  }
  OK(poprt_popef_blob_writer_close(feeds));
  FAILS(poprt_popef_blob_writer_write(feeds, 0, images, 8), POPRT_FAILED_PRECONDITION, "closed");
  poprt_popef_blob_writer_free(feeds);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);

  OK(poprt_popef_writer_create_stream(take, &apart, &w));
  write_blob(w, &image, images, sizeof images);
  write_blob(w, &label, labels, sizeof labels);
  OK(poprt_popef_writer_close(w));
  poprt_popef_writer_free(w);
  assert_int_equal(together.file.size, apart.file.size);
  assert_memory_equal(together.file.data, apart.file.data, apart.file.size);
  free(together.file.data);
  free(apart.file.data);

  sink s = {0};
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  OK(poprt_popef_writer_begin_feeds(w, infos, 2, &feeds));
  FAILS(poprt_popef_blob_writer_write(feeds, 2, images, 8), POPRT_INVALID_ARGUMENT, "2 feeds");
  poprt_popef_blob_writer_free(feeds);
  poprt_popef_writer_free(w);
}

static void a_receiver_may_stop(void** state) {
  (void)state;
  sink s = {0};
  s.limit = 100;
  poprt_popef_writer* w = NULL;
  poprt_popef_blob_writer* blob = NULL;
  const poprt_popef_blob_info info = blob_info(POPRT_POPEF_OPAQUE, "notes", NULL);
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  OK(poprt_popef_writer_begin(w, &info, &blob));
  OK(poprt_popef_blob_writer_write(blob, 0, sample_code(), 1000));
  FAILS(poprt_popef_blob_writer_close(blob), POPRT_CANCELLED, "receiver stopped");
  FAILS(poprt_popef_writer_close(w), POPRT_CANCELLED, "receiver stopped");
  poprt_popef_writer_free(w);
  poprt_popef_blob_writer_free(blob);
  assert_int_equal(s.file.size, 0);
}

static void writer_errors(void** state) {
  (void)state;
  poprt_popef_writer* w = UNTOUCHED(poprt_popef_writer);
  FAILS(poprt_popef_writer_create(NULL, 0, &w), POPRT_INVALID_ARGUMENT, "'path'");
  FAILS(poprt_popef_writer_create(path, 0, NULL), POPRT_INVALID_ARGUMENT, "'out_writer'");
  FAILS(poprt_popef_writer_create(path, 2, &w), POPRT_INVALID_ARGUMENT, "mode 2");
  FAILS(poprt_popef_writer_create("/no/such/x.popef", 0, &w), POPRT_NOT_FOUND, "/no/such");
  FAILS(poprt_popef_writer_create(DATA "/identity.onnx", POPRT_POPEF_APPEND, &w),
        POPRT_INVALID_ARGUMENT, "identity.onnx");
  FAILS(poprt_popef_writer_create_stream(NULL, NULL, &w), POPRT_INVALID_ARGUMENT, "'write'");
  FAILS(poprt_popef_writer_create_stream(take, NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_writer'");
  assert_ptr_equal(w, UNTOUCHED(poprt_popef_writer));
  FAILS(poprt_popef_writer_close(NULL), POPRT_INVALID_ARGUMENT, "'writer'");
  poprt_popef_writer_free(NULL);
  poprt_popef_blob_writer_free(NULL);
  FAILS(poprt_popef_blob_writer_write(NULL, 0, "x", 1), POPRT_INVALID_ARGUMENT, "'blob'");
  FAILS(poprt_popef_blob_writer_close(NULL), POPRT_INVALID_ARGUMENT, "'blob'");

  sink s = {0};
  OK(poprt_popef_writer_create_stream(take, &s, &w));
  FAILS(poprt_popef_writer_add_metadata(w, NULL), POPRT_INVALID_ARGUMENT, "'metadata'");
  FAILS(poprt_popef_writer_add_metadata(NULL, NULL), POPRT_INVALID_ARGUMENT, "'writer'");
  poprt_popef_blob_writer* blob = UNTOUCHED(poprt_popef_blob_writer);
  poprt_popef_blob_info i = {0};
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "struct_size");
  i = blob_info(POPRT_POPEF_OPAQUE, NULL, NULL);
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_FAILED_PRECONDITION, "needs a name");
  i.name = "n";
  FAILS(poprt_popef_writer_begin(w, &i, NULL), POPRT_INVALID_ARGUMENT, "'out_blob'");
  FAILS(poprt_popef_writer_begin(NULL, &i, &blob), POPRT_INVALID_ARGUMENT, "'writer'");
  FAILS(poprt_popef_writer_begin(w, NULL, &blob), POPRT_INVALID_ARGUMENT, "'info'");
  i.compressed = 1;
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "only executables");
  i.compressed = 0;
  i.reserved = 1;
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "reserved");
  i.reserved = 0;
  i.type = POPRT_POPEF_METADATA_BLOB;
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "type 2");
  i.type = POPRT_POPEF_TENSOR;
  i.dtype = POPRT_DTYPE_STRING;
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "string");
  i.type = POPRT_POPEF_FEED;
  i.dtype = POPRT_DTYPE_F64;
  i.tensor_count = -1;
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "tensor_count");
  i.tensor_count = INT64_MAX;
  FAILS(poprt_popef_writer_begin(w, &i, &blob), POPRT_INVALID_ARGUMENT, "overflow");
  assert_ptr_equal(blob, UNTOUCHED(poprt_popef_blob_writer));
  /* the writer still works after these errors */
  i = blob_info(POPRT_POPEF_OPAQUE, "n", NULL);
  OK(poprt_popef_writer_begin(w, &i, &blob));
  FAILS(poprt_popef_blob_writer_write(blob, 1, "x", 1), POPRT_INVALID_ARGUMENT, "number 1");
  FAILS(poprt_popef_blob_writer_write(blob, 0, NULL, 1), POPRT_INVALID_ARGUMENT, "'data'");
  OK(poprt_popef_blob_writer_write(blob, 0, "x", 1));
  OK(poprt_popef_writer_close(w));
  poprt_popef_blob_writer_free(blob);
  poprt_popef_writer_free(w);
  poprt_popef_reader* r = read_bytes(&s.file);
  assert_int_equal(poprt_popef_reader_count(r, POPRT_POPEF_OPAQUE), 1);
  poprt_popef_reader_free(r);
  free(s.file.data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(files_and_streams_get_the_same_bytes),
      cmocka_unit_test(blobs_are_copied_as_a_reader_describes_them),
      IN_FOLDER(appending_keeps_the_old_bytes),
      IN_FOLDER(without_close_the_old_file_stays),
      IN_FOLDER(a_blob_writer_that_is_dropped_fails_the_writer),
      cmocka_unit_test(beginning_the_next_blob_finishes_the_last),
      cmocka_unit_test(sizes_are_those_that_were_announced),
      cmocka_unit_test(several_feeds_are_filled_side_by_side),
      cmocka_unit_test(a_receiver_may_stop),
      IN_FOLDER(writer_errors),
  };
  return cmocka_run_group_tests_name("popef_writer", tests, NULL, NULL);
}

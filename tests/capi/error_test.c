#include "common.h"

static void null_is_success(void** state) {
  (void)state;
  assert_int_equal(poprt_error_get_code(NULL), POPRT_OK);
  assert_string_equal(poprt_error_message(NULL), "");
  poprt_error_free(NULL);
}

static void an_error_has_code_and_message(void** state) {
  (void)state;
  poprt_executable* out = UNTOUCHED(poprt_executable);
  poprt_error* error = poprt_executable_open("/no/such/file.popef", &out);
  assert_int_equal(poprt_error_get_code(error), POPRT_NOT_FOUND);
  assert_non_null(strstr(poprt_error_message(error), "/no/such/file.popef"));
  assert_null(strchr(poprt_error_message(error), '\n'));
  assert_ptr_equal(out, UNTOUCHED(poprt_executable));
  poprt_error_free(error);
}

/* The message of a path of `length` characters that does not exist; the caller frees the error. */
static poprt_error* error_of_path(size_t length) {
  static char path[4000];
  memset(path, 0, sizeof path);
  for (size_t i = 0; i < length; i++) path[i] = i % 2 ? 'q' : '/';
  path[length - 1] = 'Z';
  poprt_executable* out = NULL;
  return poprt_executable_open(path, &out);
}

/* The subject and the cause are kept: the first 500 characters and the last 900. */
static void long_messages_lose_their_middle(void** state) {
  (void)state;
  poprt_error* error = error_of_path(200);
  const size_t around = strlen(poprt_error_message(error)) - 200;
  assert_null(strstr(poprt_error_message(error), " ... "));
  poprt_error_free(error);
  error = error_of_path(1400 - around); /* as long as may be */
  assert_int_equal(strlen(poprt_error_message(error)), 1400);
  assert_null(strstr(poprt_error_message(error), " ... "));
  poprt_error_free(error);
  for (size_t length = 1401 - around; length < 3000; length += 700) {
    error = error_of_path(length);
    const char* message = poprt_error_message(error);
    assert_int_equal(strlen(message), 500 + 5 + 900);
    assert_memory_equal(message + 500, " ... ", 5);
    assert_non_null(strchr(message + 505, 'Z'));
    poprt_error_free(error);
  }
}

/* Returns whether the bytes are UTF-8 whose characters have one byte or three. */
static int is_utf8(const char* s) {
  for (const unsigned char* p = (const unsigned char*)s; *p; p++) {
    if (*p < 0x80) continue;
    if ((*p & 0xf0) != 0xe0 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80) return 0;
    p += 2;
  }
  return 1;
}

/* A character is kept completely or not at all, and bytes that are not UTF-8 are shown. */
static void messages_are_utf8(void** state) {
  (void)state;
  for (int before = 0; before < 3; before++)
    for (int after = 0; after < 3; after++) {
      char path[4000] = "/";
      for (int i = 0; i < before; i++) strcat(path, "a");
      for (int i = 0; i < 1000; i++) strcat(path, "\xe2\x82\xac");
      for (int i = 0; i < after; i++) strcat(path, "z");
      poprt_executable* out = NULL;
      poprt_error* error = poprt_executable_open(path, &out);
      const char* message = poprt_error_message(error);
      const size_t size = strlen(message);
      assert_true(is_utf8(message));
      assert_non_null(strstr(message, "\xe2\x82\xac ... \xe2\x82\xac"));
      assert_true(size > 1405 - 6 && size <= 1405);
      poprt_error_free(error);
    }
  const struct {
    const char *given, *shown;
  } cases[] = {{"/\xff.", "/\\xff."},
               {"/\xe2\x82.", "/\\xe2\\x82."},
               {"/\xc0\xaf.", "/\\xc0\\xaf."},
               {"/\xed\xa0\x80.", "/\\xed\\xa0\\x80."},
               {"/\xf4\x90\x80\x80.", "/\\xf4\\x90\\x80\\x80."},
               {"/\xc3\xa9\xf0\x9f\x98\x80.", "/\xc3\xa9\xf0\x9f\x98\x80."}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    poprt_executable* out = NULL;
    poprt_error* error = poprt_executable_open(cases[i].given, &out);
    assert_non_null(strstr(poprt_error_message(error), cases[i].shown));
    poprt_error_free(error);
  }
}

static void control_characters_are_shown(void** state) {
  (void)state;
  poprt_executable* out = NULL;
  poprt_error* error = poprt_executable_open("/no\n\x1fsuch\x7f\x20", &out);
  assert_non_null(strstr(poprt_error_message(error), "/no\\x0a\\x1fsuch\\x7f "));
  poprt_error_free(error);
}

static void codes_have_names(void** state) {
  (void)state;
  assert_string_equal(poprt_error_code_name(POPRT_OK), "ok");
  assert_string_equal(poprt_error_code_name(POPRT_INVALID_ARGUMENT), "invalid_argument");
  assert_string_equal(poprt_error_code_name(POPRT_DATA_LOSS), "data_loss");
  assert_string_equal(poprt_error_code_name(77), "unknown");
  assert_string_equal(poprt_error_code_name(-1), "unknown");
}

static void strings_accept_null(void** state) {
  (void)state;
  assert_string_equal(poprt_string_data(NULL), "");
  assert_int_equal(poprt_string_size(NULL), 0);
  poprt_string_free(NULL);
}

static void log_levels(void** state) {
  (void)state;
  OK(poprt_log_set_level("debug"));
  OK(poprt_log_set_level("OFF"));
  FAILS(poprt_log_set_level("loud"), POPRT_INVALID_ARGUMENT, "log level 'loud' is unknown");
  FAILS(poprt_log_set_level(NULL), POPRT_INVALID_ARGUMENT, "'level' is null");
}

static void version_is_that_of_the_headers(void** state) {
  (void)state;
  assert_int_equal(poprt_version(), POPRT_VERSION);
  assert_string_equal(poprt_version_string(), "1.0.0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_is_success),
      cmocka_unit_test(an_error_has_code_and_message),
      cmocka_unit_test(long_messages_lose_their_middle),
      cmocka_unit_test(messages_are_utf8),
      cmocka_unit_test(control_characters_are_shown),
      cmocka_unit_test(codes_have_names),
      cmocka_unit_test(strings_accept_null),
      cmocka_unit_test(log_levels),
      cmocka_unit_test(version_is_that_of_the_headers),
  };
  return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}

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
      cmocka_unit_test(null_is_success),  cmocka_unit_test(an_error_has_code_and_message),
      cmocka_unit_test(codes_have_names), cmocka_unit_test(strings_accept_null),
      cmocka_unit_test(log_levels),       cmocka_unit_test(version_is_that_of_the_headers),
  };
  return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}

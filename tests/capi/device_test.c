#include <stdlib.h>

#include "common.h"

static poprt_device_manager* manager_of(int32_t count) {
  poprt_device_manager_options options = {sizeof options, count, 0};
  poprt_device_manager* manager = NULL;
  OK(poprt_device_manager_create(&options, &manager));
  return manager;
}

static void the_environment_says_how_many(void** state) {
  (void)state;
  poprt_device_manager* manager = NULL;
  unsetenv("POPRT_DEVICES");
  OK(poprt_device_manager_create(NULL, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 4);
  assert_string_equal(poprt_device_manager_ipu_hardware_version(manager), "ipu21");
  poprt_device_manager_free(manager);
  setenv("POPRT_DEVICES", "2", 1);
  OK(poprt_device_manager_create(NULL, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 2);
  poprt_device_manager_free(manager);
  setenv("POPRT_DEVICES", "two", 1);
  FAILS(poprt_device_manager_create(NULL, &manager), POPRT_INVALID_ARGUMENT, "POPRT_DEVICES='two'");
  unsetenv("POPRT_DEVICES");
}

static void devices_are_handed_out_once(void** state) {
  (void)state;
  poprt_device_manager* manager = manager_of(2);
  poprt_device *a = NULL, *b = NULL, *c = UNTOUCHED(poprt_device);
  OK(poprt_device_manager_get_device(manager, 1, &a));
  OK(poprt_device_manager_get_specific_device(manager, 1, &b));
  assert_int_equal(poprt_device_id(a), 0);
  assert_int_equal(poprt_device_id(b), 1);
  assert_int_equal(poprt_device_ipu_version(a), 21);
  FAILS(poprt_device_manager_get_device(manager, 1, &c), POPRT_UNAVAILABLE, "all 2 devices");
  FAILS(poprt_device_manager_get_specific_device(manager, 1, &c), POPRT_UNAVAILABLE, "device 1");
  FAILS(poprt_device_manager_get_specific_device(manager, 2, &c), POPRT_NOT_FOUND, "0 to 1");
  assert_ptr_equal(c, UNTOUCHED(poprt_device));
  poprt_device_manager_free(manager);
  assert_int_equal(poprt_device_id(a), 0); /* lives on */
  poprt_device_free(a);
  manager = manager_of(2);
  OK(poprt_device_manager_get_device(manager, 1, &a));
  poprt_device_free(b);
  poprt_device_free(a);
  poprt_device_manager_free(manager);
}

static void bad_arguments(void** state) {
  (void)state;
  poprt_device_manager* manager = manager_of(1);
  poprt_device* d = UNTOUCHED(poprt_device);
  FAILS(poprt_device_manager_get_device(manager, 0, &d), POPRT_INVALID_ARGUMENT, "1 IPU");
  FAILS(poprt_device_manager_get_device(manager, 2, &d), POPRT_UNIMPLEMENTED, "1 IPU");
  FAILS(poprt_device_manager_get_device(NULL, 1, &d), POPRT_INVALID_ARGUMENT, "'manager'");
  FAILS(poprt_device_manager_get_device(manager, 1, NULL), POPRT_INVALID_ARGUMENT, "'out_device'");
  FAILS(poprt_device_manager_get_specific_device(NULL, 0, &d), POPRT_INVALID_ARGUMENT, "'manager'");
  FAILS(poprt_device_manager_get_specific_device(manager, 0, NULL), POPRT_INVALID_ARGUMENT,
        "'out_device'");
  FAILS(poprt_device_manager_create(NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_manager'");
  poprt_device_manager_options options = {sizeof options, -1, 0};
  poprt_device_manager* m = UNTOUCHED(poprt_device_manager);
  FAILS(poprt_device_manager_create(&options, &m), POPRT_INVALID_ARGUMENT, "1 to 1024");
  assert_ptr_equal(m, UNTOUCHED(poprt_device_manager));
  poprt_device_manager_free(manager);
}

static void option_structs_may_be_older_or_newer(void** state) {
  (void)state;
  struct {
    poprt_device_manager_options options;
    int64_t tail;
  } newer = {{0}, 0};
  newer.options.struct_size = sizeof newer;
  newer.options.device_count = 3;
  poprt_device_manager* manager = NULL;
  OK(poprt_device_manager_create(&newer.options, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 3);
  poprt_device_manager_free(manager);
  newer.tail = 1;
  FAILS(poprt_device_manager_create(&newer.options, &manager), POPRT_INVALID_ARGUMENT,
        "a field past byte 16 is set");

  poprt_device_manager_options older = {sizeof(size_t), 3, 0};
  unsetenv("POPRT_DEVICES");
  OK(poprt_device_manager_create(&older, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 4); /* the field is not there */
  poprt_device_manager_free(manager);
  older.struct_size = 0;
  FAILS(poprt_device_manager_create(&older, &manager), POPRT_INVALID_ARGUMENT, "struct_size is 0");
}

static void null_is_harmless(void** state) {
  (void)state;
  assert_int_equal(poprt_device_manager_device_count(NULL), 0);
  assert_int_equal(poprt_device_id(NULL), -1);
  assert_int_equal(poprt_device_ipu_version(NULL), 0);
  poprt_device_manager_free(NULL);
  poprt_device_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_environment_says_how_many),
      cmocka_unit_test(devices_are_handed_out_once),
      cmocka_unit_test(bad_arguments),
      cmocka_unit_test(option_structs_may_be_older_or_newer),
      cmocka_unit_test(null_is_harmless),
  };
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}

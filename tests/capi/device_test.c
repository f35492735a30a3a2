#include <stdlib.h>

#include "common.h"

static poprt_device_manager* manager_of(int32_t count) {
  poprt_device_manager_options options = {sizeof options, count, 0, NULL, NULL};
  poprt_device_manager* manager = NULL;
  OK(poprt_device_manager_create(&options, &manager));
  return manager;
}

static void the_environment_says_how_many(void** state) {
  (void)state;
  poprt_device_manager* manager = NULL;
  unsetenv("POPRT_DEVICES");
  OK(poprt_device_manager_create(NULL, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 16384);
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
  FAILS(poprt_device_manager_get_device(manager, 0, &d), POPRT_INVALID_ARGUMENT, "1 to 1024 IPUs");
  FAILS(poprt_device_manager_get_device(manager, 2, &d), POPRT_NOT_FOUND, "1 IPUs are visible");
  FAILS(poprt_device_manager_get_device(NULL, 1, &d), POPRT_INVALID_ARGUMENT, "'manager'");
  FAILS(poprt_device_manager_get_device(manager, 1, NULL), POPRT_INVALID_ARGUMENT, "'out_device'");
  FAILS(poprt_device_manager_get_specific_device(NULL, 0, &d), POPRT_INVALID_ARGUMENT, "'manager'");
  FAILS(poprt_device_manager_get_specific_device(manager, 0, NULL), POPRT_INVALID_ARGUMENT,
        "'out_device'");
  FAILS(poprt_device_manager_create(NULL, NULL), POPRT_INVALID_ARGUMENT, "'out_manager'");
  poprt_device_manager_options options = {sizeof options, -1, 0, NULL, NULL};
  poprt_device_manager* m = UNTOUCHED(poprt_device_manager);
  FAILS(poprt_device_manager_create(&options, &m), POPRT_INVALID_ARGUMENT, "1 to 1048576");
  options.device_count = 1;
  options.reserved = 1;
  FAILS(poprt_device_manager_create(&options, &m), POPRT_INVALID_ARGUMENT, "reserved");
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
        "a field past byte 32 is set");

  poprt_device_manager_options older = {sizeof(size_t), 3, 0, NULL, NULL};
  unsetenv("POPRT_DEVICES");
  OK(poprt_device_manager_create(&older, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 16384); /* the field is not there */
  poprt_device_manager_free(manager);
  older.struct_size = 0;
  FAILS(poprt_device_manager_create(&older, &manager), POPRT_INVALID_ARGUMENT, "struct_size is 0");
}

static void devices_are_acquired_as_requested(void** state) {
  (void)state;
  poprt_device_manager_options options = {sizeof options, 6, 0, NULL, "1,4-5"};
  poprt_device_manager* manager = NULL;
  OK(poprt_device_manager_create(&options, &manager));
  assert_int_equal(poprt_device_manager_device_count(manager), 3);
  assert_int_equal(poprt_device_manager_device_id(manager, 1), 4);
  assert_int_equal(poprt_device_manager_device_id(manager, 3), -1);
  assert_int_equal(poprt_device_manager_device_id(NULL, 0), -1);

  poprt_device_request request = {0};
  request.struct_size = sizeof request;
  request.num_ipus = 2;
  request.ipu_version = 21;
  request.min_tiles = 1472;
  request.remote_buffers = 1;
  poprt_device *two = NULL, *one = NULL, *none = UNTOUCHED(poprt_device);
  OK(poprt_device_manager_acquire(manager, &request, NULL, 4, &two));
  assert_int_equal(poprt_device_id(two), 4);
  assert_int_equal(poprt_device_num_ipus(two), 2);
  assert_int_equal(poprt_device_tiles_per_ipu(two), 1472);
  assert_int_equal(poprt_device_is_ipu_model(two), 0);
  OK(poprt_device_manager_acquire(manager, NULL, NULL, -1, &one));
  assert_int_equal(poprt_device_id(one), 1);
  request.wait_strategy = POPRT_WAIT_WITH_TIMEOUT;
  request.wait_timeout_ns = 2000000;
  request.wait_sleep_ns = 1000000;
  FAILS(poprt_device_manager_acquire(manager, &request, NULL, -1, &none), POPRT_UNAVAILABLE,
        "after 0.002 s");
  request.ipu_version = 2;
  request.wait_strategy = POPRT_WAIT_FOREVER;
  FAILS(poprt_device_manager_acquire(manager, &request, NULL, -1, &none), POPRT_NOT_FOUND, "ipu2");
  request.wait_strategy = 3;
  FAILS(poprt_device_manager_acquire(manager, &request, NULL, -1, &none), POPRT_INVALID_ARGUMENT,
        "wait_strategy");
  request.reserved = 1;
  request.wait_strategy = 0;
  FAILS(poprt_device_manager_acquire(manager, &request, NULL, -1, &none), POPRT_INVALID_ARGUMENT,
        "reserved");
  request.reserved = 0;
  request.wait_sleep_ns = -1;
  FAILS(poprt_device_manager_acquire(manager, &request, NULL, -1, &none), POPRT_INVALID_ARGUMENT,
        "must not be negative");
  FAILS(poprt_device_manager_acquire(manager, NULL, NULL, 0, &none), POPRT_NOT_FOUND,
        "ids are 1, 4, 5");
  poprt_device_free(one);
  poprt_device_free(two);
  poprt_executable* executable = NULL;
  OK(poprt_executable_open(DATA "/copies.popef", &executable));
  OK(poprt_device_manager_acquire(manager, NULL, executable, -1, &one));
  assert_int_equal(poprt_device_num_ipus(one), 1);
  poprt_device_free(one);
  poprt_executable_free(executable);
  poprt_device_manager_free(manager);
  options.visible = "7";
  FAILS(poprt_device_manager_create(&options, &manager), POPRT_INVALID_ARGUMENT, "0 to 5");
  options.visible = NULL;
  options.shared = "here";
  FAILS(poprt_device_manager_create(&options, &manager), POPRT_INVALID_ARGUMENT, "absolute path");
}

static void ipu_models_are_devices_of_their_own(void** state) {
  (void)state;
  poprt_device_manager* manager = manager_of(1);
  poprt_device *busy = NULL, *model = NULL, *small = NULL;
  OK(poprt_device_manager_get_device(manager, 1, &busy));
  OK(poprt_device_manager_create_ipu_model_device(manager, 2, 0, 0, &model));
  OK(poprt_device_manager_create_small_ipu_model_device(manager, 1, 21, &small));
  assert_int_equal(poprt_device_ipu_version(model), 2);
  assert_int_equal(poprt_device_num_ipus(model), 2);
  assert_int_equal(poprt_device_tiles_per_ipu(small), 4);
  assert_int_equal(poprt_device_is_ipu_model(small), 1);
  assert_int_equal(poprt_device_id(small), -1);
  poprt_device* none = UNTOUCHED(poprt_device);
  FAILS(poprt_device_manager_create_ipu_model_device(manager, 1, 7, 0, &none),
        POPRT_INVALID_ARGUMENT, "1, 2 and 21");
  poprt_device_free(busy);
  poprt_device_free(model);
  poprt_device_free(small);
  poprt_device_manager_free(manager);
}

static void null_is_harmless(void** state) {
  (void)state;
  assert_int_equal(poprt_device_num_ipus(NULL), 0);
  assert_int_equal(poprt_device_tiles_per_ipu(NULL), 0);
  assert_int_equal(poprt_device_is_ipu_model(NULL), 0);
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
      cmocka_unit_test(devices_are_acquired_as_requested),
      cmocka_unit_test(ipu_models_are_devices_of_their_own),
      cmocka_unit_test(null_is_harmless),
  };
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}

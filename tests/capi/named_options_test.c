/* Options by name: poprt_compile_options.options. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

/* Options by name: the input shape of identity.onnx with batch 2, and `name`. */
static poprt_compile_options with(poprt_option* list, const char* name, const char* value) {
  list[0] = (poprt_option){"input_shape", "x=2,4"};
  list[1] = (poprt_option){name, value};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = list;
  o.option_count = 2;
  return o;
}

static poprt_executable* compile(const poprt_compile_options* o) {
  poprt_compiler* c = NULL;
  poprt_executable* e = NULL;
  OK(poprt_compiler_create(o, &c));
  OK(poprt_compiler_compile_file(c, DATA "/identity.onnx", &e));
  poprt_compiler_free(c);
  return e;
}

/* The value of an option in the metadata, which the caller frees; or null. */
static char* recorded(const poprt_executable* e, const char* name) {
  poprt_popef_metadata* m = NULL;
  OK(poprt_executable_popef_metadata(e, &m));
  char* found = NULL;
  for (size_t i = 0; i < poprt_popef_metadata_option_count(m, POPRT_POPEF_ENGINE_OPTIONS); i++) {
    const char* value = NULL;
    const char* key = poprt_popef_metadata_option(m, POPRT_POPEF_ENGINE_OPTIONS, i, &value);
    if (strcmp(key, name) == 0) found = strdup(value);
  }
  poprt_popef_metadata_free(m);
  return found;
}

static void expect_recorded(const poprt_compile_options* o, const char* name, const char* value) {
  poprt_executable* e = compile(o);
  char* found = recorded(e, name);
  if (value)
    assert_string_equal(found, value);
  else
    assert_null(found);
  free(found);
  poprt_executable_free(e);
}

static void names_stand_for_fields(void** state) {
  (void)state;
  poprt_option list[2];
  poprt_compile_options o = with(list, "precision", "fp16");
  poprt_executable* e = compile(&o);
  assert_int_equal(poprt_anchor_shape(poprt_executable_input(e, 0))[0], 2);
  assert_int_equal(poprt_anchor_dtype(poprt_executable_input(e, 0)), POPRT_DTYPE_F16);
  poprt_executable_free(e);
  o.precision = POPRT_PRECISION_FP32;
  poprt_compiler* c = UNTOUCHED(poprt_compiler);
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "`precision` is given twice");
  assert_ptr_equal(c, UNTOUCHED(poprt_compiler));
}

static void what_tunes_a_chip_is_recorded(void** state) {
  (void)state;
  poprt_option list[2];
  poprt_compile_options o = with(list, "num_io_tiles", "32");
  expect_recorded(&o, "num_io_tiles", "32");
  o = with(list, "compiler_options", "num_io_tiles=64\nenable_outlining=0");
  expect_recorded(&o, "num_io_tiles", "64");
  expect_recorded(&o, "enable_outlining", "False");
  o = with(list, "popart_options", "outlineThreshold=2");
  expect_recorded(&o, "popart.outlineThreshold", "2");
  o = with(list, "popart_options", "numIOTiles=3\noutlineThreshold=2");
  expect_recorded(&o, "popart.numIOTiles", "3");
  o = with(list, "disable_fast_norm", "False"); /* as good as none */
  expect_recorded(&o, "disable_fast_norm", NULL);
}

static void refuses_what_is_wrong_or_not_there(void** state) {
  (void)state;
  static const struct {
    const char *name, *value, *said;
    poprt_error_code code;
  } wrong[] = {
      {"nonsense", "1", "there is no option 'nonsense'", POPRT_INVALID_ARGUMENT},
      {"precisoin", "1", "there is no option 'precisoin'; did you mean 'precision'?",
       POPRT_INVALID_ARGUMENT},
      {"export_popef", "1", "of the command poprt", POPRT_INVALID_ARGUMENT},
      {"input_shape", "x=2,4", "`input_shape` is given twice", POPRT_INVALID_ARGUMENT},
      {"batch_size", "2", "`batch_size` needs `batch_axis`", POPRT_INVALID_ARGUMENT},
      {"convert_version", "0", "at least 11 and at most 28, found '0'", POPRT_INVALID_ARGUMENT},
      {"convert_version", "9999999999999999999", "whole number", POPRT_INVALID_ARGUMENT},
      {"strict", "maybe", "True or False, found 'maybe'", POPRT_INVALID_ARGUMENT},
      {"passes", "", "the value is empty", POPRT_INVALID_ARGUMENT},
      {"passes", "a,,b", "an empty name in 'a,,b'", POPRT_INVALID_ARGUMENT},
      {"passes", "no_such_pass", "no_such_pass", POPRT_NOT_FOUND},
      {"passes", "merge_matmul", "needs its parameter 'names'", POPRT_INVALID_ARGUMENT},
      {"pass_args", "sort_graph", "expected PASS.PARAMETER=TEXT", POPRT_INVALID_ARGUMENT},
      {"pass_args", "sort_graph.x=1", "no parameter 'x'", POPRT_INVALID_ARGUMENT},
      {"compiler_options", "num_io_tiles=1\n", "an empty word", POPRT_INVALID_ARGUMENT},
      {"compiler_options", "=1", "KEY=VAL, found '=1'", POPRT_INVALID_ARGUMENT},
      {"compiler_options", "virtual_graph_mode=executionPhases", "is for training",
       POPRT_UNIMPLEMENTED},
      {"remap_mode", "around_add", "before_TYPE, after_TYPE or both", POPRT_INVALID_ARGUMENT},
      {"remap_mode", "before_", "found 'before_'", POPRT_INVALID_ARGUMENT},
      {"remap_mode", "after_", "found 'after_'", POPRT_INVALID_ARGUMENT},
      {"remap_mode", "both,after_", "found 'after_'", POPRT_INVALID_ARGUMENT},
      {"pass_args", "sort_graph.=1", "expected PASS.PARAMETER=TEXT", POPRT_INVALID_ARGUMENT},
      {"pass_args", ".x=1", "expected PASS.PARAMETER=TEXT", POPRT_INVALID_ARGUMENT},
      {"lowest_opset", "10", "0 or an opset from 11 to 28, found '10'", POPRT_INVALID_ARGUMENT},
      {"max_tensor_size", "0", "-1 for no limit or at least 1, found '0'", POPRT_INVALID_ARGUMENT},
      {"fp8_params", "F143", "`fp8_params`: expected INPUT_FORMAT", POPRT_INVALID_ARGUMENT},
      {"precision", "fp8", "needs `ipu_version` ipu21", POPRT_INVALID_ARGUMENT},
  };
  poprt_compiler* c = UNTOUCHED(poprt_compiler);
  poprt_option list[2];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const poprt_compile_options o = with(list, wrong[i].name, wrong[i].value);
    FAILS(poprt_compiler_create(&o, &c), wrong[i].code, wrong[i].said);
  }
  poprt_compile_options o = with(list, NULL, "x");
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'options[].name' is null");
  o = with(list, "passes", NULL);
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'options[].value' is null");
  o.options = NULL;
  FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, "'options' is null");
  assert_ptr_equal(c, UNTOUCHED(poprt_compiler));
}

/* A field with another value than the option of its name is refused. */
static void a_field_and_its_name_are_one_option(void** state) {
  (void)state;
  const char* const name = "sort_graph";
  poprt_option list[2];
  poprt_compiler* c = UNTOUCHED(poprt_compiler);
  for (int i = 0; i < 12; i++) {
    static const struct {
      const char *name, *value;
    } options[] = {
        {"batch_size", "2"},        {"batch_axis", "1"},      {"precision", "fp16"},
        {"winograd", "off"},        {"strict", "True"},       {"embed_source", "True"},
        {"allow_symlinks", "True"}, {"passes", "sort_graph"}, {"skip_passes", "sort_graph"},
        {"convert_version", "17"},  {"max_tensor_size", "5"}, {"max_padding", "0.2"}};
    poprt_compile_options o = with(list, options[i].name, options[i].value);
    if (i == 0) list[0] = (poprt_option){"batch_axis", "0"}; /* batch_size needs it */
    switch (i) {
      case 0: o.batch_size = 1; break;
      case 1: o.batch_size = o.batch_axis = 1; break;
      case 2: o.precision = 1; break;
      case 3: o.winograd = 1; break;
      case 4: o.strict = 1; break;
      case 5: o.embed_source = 1; break;
      case 6: o.allow_links = 1; break;
      case 7:
        o.passes = &name;
        o.pass_count = 1;
        break;
      case 8:
        o.skip_passes = &name;
        o.skip_pass_count = 1;
        break;
      case 9: o.convert_version = 1; break;
      case 10: o.max_tensor_size = 1; break;
      default: o.max_padding = 0.5; break;
    }
    char said[64];
    snprintf(said, sizeof said, "`%s` is given twice", options[i].name);
    FAILS(poprt_compiler_create(&o, &c), POPRT_INVALID_ARGUMENT, said);
    /* the option alone is accepted, or fails for another reason */
    o = with(list, options[i].name, options[i].value);
    poprt_compiler* made = NULL;
    poprt_error* error = poprt_compiler_create(&o, &made);
    assert_null(strstr(poprt_error_message(error), "given twice"));
    poprt_error_free(error);
    poprt_compiler_free(made);
  }
}

static void keep_message(poprt_log_level level, const char* message, void* to) {
  (void)level;
  snprintf(to, 400, "%s", message);
}

static void what_has_no_effect_is_said(void** state) {
  (void)state;
  char warning[400] = "";
  poprt_log_set_callback(keep_message, warning);
  poprt_option list[2];
  const poprt_compile_options o = with(list, "data_preprocess", "x.npz");
  poprt_compiler* c = NULL;
  poprt_error_free(poprt_compiler_create(&o, &c));
  poprt_compiler_free(c);
  poprt_log_set_callback(NULL, NULL);
  assert_non_null(strstr(warning, "`data_preprocess` has no effect without"));
}

static size_t files_in(const char* folder) {
  DIR* d = opendir(folder);
  assert_non_null(d);
  size_t count = 0;
  for (const struct dirent* f = readdir(d); f; f = readdir(d)) count += f->d_name[0] != '.';
  closedir(d);
  return count;
}

/* Options that decide the result are part of the key of the cache; recorded options are not. */
static void a_cache_tells_them_apart(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX", command[64];
  assert_non_null(mkdtemp(folder));
  poprt_option list[3];
  poprt_compile_options o = with(list, "checkpoints", "y");
  o.enable_engine_caching = 1;
  o.cache_path = folder;
  poprt_executable_free(compile(&o));
  assert_int_equal(files_in(folder), 1);
  list[1] = (poprt_option){"num_io_tiles", "32"};
  expect_recorded(&o, "num_io_tiles", "32");
  assert_int_equal(files_in(folder), 2);
  list[1].value = "64";
  expect_recorded(&o, "num_io_tiles", "64");
  assert_int_equal(files_in(folder), 2);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

// The report of a check next to the model, which this function removes.
static void read_report(const char* folder, char* text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "%s/check.json", folder);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
  assert_int_equal(unlink(path), 0);
}

static void a_check_fails_before_anything_is_written(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/c.onnx", folder);
  poprt_option list[] = {{"check", "True"}, {"precision_compare", "True"}, {"precision", "fp16"}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = list;
  o.option_count = 3;
  poprt_compiler* c = NULL;
  OK(poprt_log_set_level("ERROR"));
  OK(poprt_compiler_create(&o, &c));
  poprt_error* error = poprt_compiler_convert_file(c, DATA "/beyond_f16.onnx", path);
  assert_int_equal(poprt_error_get_code(error), POPRT_DATA_LOSS);
  static const char* const parts[] = {"`check`: output '", "; largest absolute difference: ",
                                      " (inputs: ", "; tolerance: fp16: 2 %", "no converted model"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    assert_non_null(strstr(poprt_error_message(error), parts[i]));
  assert_null(strchr(poprt_error_message(error), '\n'));
  poprt_error_free(error);
  assert_int_equal(files_in(folder), 0);
  poprt_compiler_free(c);
  o.option_count = 2;
  OK(poprt_compiler_create(&o, &c));
  OK(poprt_compiler_convert_file(c, DATA "/beyond_f16.onnx", path));
  assert_int_equal(files_in(folder), 3);
  poprt_compiler_free(c);
  OK(poprt_log_set_level("WARNING"));
  char report[4096];
  read_report(folder, report, sizeof report);
  assert_non_null(strstr(report, "\"the outputs are those of the original\""));
  assert_non_null(strstr(report, "\"equal\": true"));
  assert_non_null(strstr(report, "\"precision\": \"fp32\""));
  unlink(path);
  snprintf(path, sizeof path, "%s/precision_compare.log", folder);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void count_checks(poprt_log_level level, const char* message, void* user_data) {
  (void)level;
  *(int*)user_data += strstr(message, "without being converted") != NULL;
}

static void a_check_that_nobody_makes_is_said(void** state) {
  (void)state;
  char folder[] = "/tmp/poprt_capi_XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/c.onnx", folder);
  poprt_option list[] = {
      {"input_shape", "x=2,4"}, {"check", "True"}, {"precision_compare", "True"}};
  poprt_compile_options o = {0};
  o.struct_size = sizeof o;
  o.options = list;
  o.option_count = 3;
  int said = 0;
  poprt_log_set_callback(count_checks, &said);
  poprt_executable_free(compile(&o));
  assert_int_equal(said, 2);
  poprt_compiler* c = NULL;
  poprt_executable* e = NULL;
  OK(poprt_compiler_create(&o, &c));
  OK(poprt_compiler_convert_file(c, DATA "/identity.onnx", path));
  OK(poprt_compiler_compile_file(c, path, &e));
  assert_int_equal(said, 2);
  poprt_log_set_callback(NULL, NULL);
  poprt_executable_free(e);
  poprt_compiler_free(c);
  char report[4096];
  read_report(folder, report, sizeof report);
  unlink(path);
  snprintf(path, sizeof path, "%s/precision_compare.log", folder);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void lists_options_and_counts_of_types(void** state) {
  (void)state;
  poprt_string* text = NULL;
  OK(poprt_compiler_list_options(&text));
  assert_non_null(strstr(poprt_string_data(text), "\"name\":\"num_io_tiles\""));
  poprt_string_free(text);
  FAILS(poprt_compiler_list_options(NULL), POPRT_INVALID_ARGUMENT, "'out_text'");
  poprt_compiler* c = NULL;
  OK(poprt_compiler_create(NULL, &c));
  OK(poprt_compiler_io_stat_file(c, DATA "/identity.onnx", &text));
  assert_string_equal(poprt_string_data(text),
                      "inputs: 1\n  1 x dtype - f32, shape - [N, 4]\n"
                      "outputs: 1\n  1 x dtype - f32, shape - [N, 4]\n");
  poprt_string_free(text);
  FAILS(poprt_compiler_io_stat_file(c, NULL, &text), POPRT_INVALID_ARGUMENT, "'onnx_path'");
  FAILS(poprt_compiler_io_stat_file(NULL, "x", &text), POPRT_INVALID_ARGUMENT, "'compiler'");
  poprt_compiler_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_stand_for_fields),
      cmocka_unit_test(what_tunes_a_chip_is_recorded),
      cmocka_unit_test(refuses_what_is_wrong_or_not_there),
      cmocka_unit_test(a_field_and_its_name_are_one_option),
      cmocka_unit_test(what_has_no_effect_is_said),
      cmocka_unit_test(a_cache_tells_them_apart),
      cmocka_unit_test(a_check_fails_before_anything_is_written),
      cmocka_unit_test(a_check_that_nobody_makes_is_said),
      cmocka_unit_test(lists_options_and_counts_of_types),
  };
  return cmocka_run_group_tests_name("named_options", tests, NULL, NULL);
}

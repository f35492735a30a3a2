/* Helpers of all C tests. */
#ifndef POPRT_TESTS_CAPI_COMMON_H
#define POPRT_TESTS_CAPI_COMMON_H

/* CMocka needs these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* CMocka itself */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "poprt/poprt.h"

#define COUNT 16 /* floats of every anchor of copies.popef */

static inline void check_ok(poprt_error* error, const char* file, int line) {
  if (!error) return;
  print_error("%s\n", poprt_error_message(error));
  poprt_error_free(error);
  _fail(file, line);
}

/* Fails unless it is an error with that code whose message contains `part`. */
static inline void check_error(poprt_error* error, poprt_error_code code, const char* part,
                               const char* file, int line) {
  if (poprt_error_get_code(error) != code || !strstr(poprt_error_message(error), part)) {
    print_error("expected %s with '%s', got %s: %s\n", poprt_error_code_name(code), part,
                poprt_error_code_name(poprt_error_get_code(error)), poprt_error_message(error));
    poprt_error_free(error);
    _fail(file, line);
  }
  poprt_error_free(error);
}

#define OK(call) check_ok(call, __FILE__, __LINE__)
#define FAILS(call, code, part) check_error(call, code, part, __FILE__, __LINE__)

/* For outputs that a failing function must leave alone. */
#define UNTOUCHED(type) ((type*)(uintptr_t)0x5a5a5a5a)

static inline poprt_executable* open_copies(void) {
  poprt_executable* executable = NULL;
  OK(poprt_executable_open(DATA "/copies.popef", &executable));
  return executable;
}

#endif

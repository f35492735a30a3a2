/* Errors. A function that can fail returns `poprt_error *`. Null is success. After an error, the
 * out-parameters of the function are unchanged. The caller frees the error.
 *
 * Example:
 *     static void check_or_exit(poprt_error* error) {
 *       if (!error) return;
 *       fprintf(stderr, "%s: %s\n", poprt_error_code_name(poprt_error_get_code(error)),
 *               poprt_error_message(error));
 *       poprt_error_free(error);
 *       exit(1);
 *     }
 */
#ifndef POPRT_ERROR_H
#define POPRT_ERROR_H

#include "poprt/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The canonical codes of absl and gRPC. Treat unknown numbers as POPRT_UNKNOWN. */
typedef int32_t poprt_error_code;
enum {
  POPRT_OK = 0,
  POPRT_CANCELLED = 1,
  POPRT_UNKNOWN = 2,
  POPRT_INVALID_ARGUMENT = 3,
  POPRT_DEADLINE_EXCEEDED = 4,
  POPRT_NOT_FOUND = 5,
  POPRT_ALREADY_EXISTS = 6,
  POPRT_PERMISSION_DENIED = 7,
  POPRT_RESOURCE_EXHAUSTED = 8,
  POPRT_FAILED_PRECONDITION = 9,
  POPRT_ABORTED = 10,
  POPRT_OUT_OF_RANGE = 11,
  POPRT_UNIMPLEMENTED = 12,
  POPRT_INTERNAL = 13,
  POPRT_UNAVAILABLE = 14,
  POPRT_DATA_LOSS = 15
};

/* Immutable; may be read by several threads. */
typedef struct poprt_error poprt_error;

/* POPRT_OK for null. Since 0.1. */
POPRT_API poprt_error_code poprt_error_get_code(const poprt_error* error);
/* The message, one line of UTF-8, borrowed from `error`; "" for null. Since 0.1. */
POPRT_API const char* poprt_error_message(const poprt_error* error);
/* Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_error_free(poprt_error* error);
/* The name of a code, such as "invalid_argument" for POPRT_INVALID_ARGUMENT; "unknown" for
 * unknown numbers. Static storage. Since 0.1. */
POPRT_API const char* poprt_error_code_name(poprt_error_code code);

#ifdef __cplusplus
}
#endif
#endif

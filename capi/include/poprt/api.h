/* Export macros and strings, which every poprt header uses.
 *
 * Example:
 *     poprt_string* text = NULL;
 *     check(poprt_compiler_list_ops(&text));
 *     fwrite(poprt_string_data(text), 1, poprt_string_size(text), stdout);
 *     poprt_string_free(text);
 */
#ifndef POPRT_API_H
#define POPRT_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define POPRT_API __attribute__((visibility("default")))
#define POPRT_MUST_USE __attribute__((warn_unused_result))
#else
#define POPRT_API
#define POPRT_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Text that the library allocated and the caller owns: UTF-8, zero-terminated, immutable. */
typedef struct poprt_string poprt_string;

/* The bytes with a terminating zero, borrowed from `string`; "" for null. Since 0.1. */
POPRT_API const char* poprt_string_data(const poprt_string* string);
/* The size in bytes without the terminating zero; 0 for null. Since 0.1. */
POPRT_API size_t poprt_string_size(const poprt_string* string);
/* Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_string_free(poprt_string* string);

#ifdef __cplusplus
}
#endif
#endif

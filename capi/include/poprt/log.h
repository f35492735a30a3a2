/* Logging to stderr or to a callback. The level is POPRT_LOG_LEVEL or MODEL_RUNTIME_LOG_LEVEL from
 * the environment, by default WARNING. (Messages about PopEF files have their own settings:
 * POPEF_LOG_LEVEL and POPEF_LOG_DEST.)
 *
 * Example:
 *     static void take(poprt_log_level level, const char* message, void* user_data) {
 *       if (level >= POPRT_LOG_WARNING) fprintf((FILE*)user_data, "poprt: %s\n", message);
 *     }
 *     static void log_to(FILE* file) {
 *       check(poprt_log_set_level("info"));
 *       poprt_log_set_callback(take, file);
 *     }
 */
#ifndef POPRT_LOG_H
#define POPRT_LOG_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the level, including the compiler's: TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF,
 * in upper or lower case. Errors: invalid_argument for another name. Any thread. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_log_set_level(const char* level);

/* In order of increasing severity. */
typedef int32_t poprt_log_level;
enum {
  POPRT_LOG_TRACE = 0,
  POPRT_LOG_DEBUG = 1,
  POPRT_LOG_INFO = 2,
  POPRT_LOG_WARNING = 3,
  POPRT_LOG_ERROR = 4,
  POPRT_LOG_CRITICAL = 5
};

/* Receives a message of at least the level: UTF-8, without time and line end, valid during the
 * call. Called on the thread that logs, which may be a library thread, by one thread at a time.
 * Must not call the library, must not throw and should not block. */
typedef void (*poprt_log_fn)(poprt_log_level level, const char* message, void* user_data);

/* Redirects messages, including the compiler's, from stderr to `callback`; null restores stderr.
 * After the function has returned, the previous callback is not called again. Any thread except
 * that of a callback. Since 1.0. */
POPRT_API void poprt_log_set_callback(poprt_log_fn callback, void* user_data);

/* Writes a message of the program into the log, if the level of the log allows it. `message` is
 * UTF-8 without a line end; null writes nothing. POPRT_LOG_CRITICAL and unknown levels are written
 * as POPRT_LOG_ERROR. Any thread except that of a callback. Since 1.0. */
POPRT_API void poprt_log_write(poprt_log_level level, const char* message);

#ifdef __cplusplus
}
#endif
#endif

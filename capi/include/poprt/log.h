/* Logging on stderr. The level is POPRT_LOG_LEVEL from the environment, WARNING without it.
 *
 * Example:
 *     check(poprt_log_set_level("info"));
 */
#ifndef POPRT_LOG_H
#define POPRT_LOG_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF, in any case; compiler included.
 * Errors: invalid_argument for another name. Any thread. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_log_set_level(const char* level);

#ifdef __cplusplus
}
#endif
#endif

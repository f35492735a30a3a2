/* The activity of sessions and runners of other processes. They publish it if POPRT_TELEMETRY=1 is
 * in their environment or their options enable it. core/runtime/telemetry/README.md describes the
 * format.
 *
 * Example:
 *     poprt_string* json = NULL;
 *     check(poprt_telemetry_read(NULL, &json));
 *     puts(poprt_string_data(json));
 *     poprt_string_free(json);
 */
#ifndef POPRT_TELEMETRY_H
#define POPRT_TELEMETRY_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns a JSON array with an object for each segment in `folder` (null: POPRT_TELEMETRY_DIR,
 * else $XDG_RUNTIME_DIR/poprt, else /dev/shm/poprt-UID): name, pid, replica, alive, consistent,
 * started_ns, sampled_ns, requests {submitted, completed, failed, in_flight},
 * requests_per_second (completed ones, on average since the start), runs, busy_ns, latency_ns
 * {mean, p50, p90, p99, p99.9, max, histogram [[from, count]...]}, queues [{name, direction,
 * capacity, fill, high_water, enqueued, finished, stalls}...]. The queues of a runner's anchors
 * describe its ring of requests, and stalls counts how often it was empty. An executable with
 * several models or shapes also has branches [{name, runs, busy_ns}...]. Reading does not
 * disturb the publishers. If the folder is missing, the array is empty. Any thread. Errors:
 * permission_denied and invalid_argument for the default folder. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_telemetry_read(const char* folder,
                                                           poprt_string** out_json);

#ifdef __cplusplus
}
#endif
#endif

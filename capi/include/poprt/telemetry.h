/* Reads the activity that the sessions and runners of all processes publish, and publishes spans of
 * a program's own work. Sessions and runners publish their activity if POPRT_TELEMETRY=1 is in the
 * environment of their process or their options enable it. core/runtime/telemetry/README.md
 * describes the format.
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
 * several models or shapes also has branches [{name, runs, busy_ns}...], and a generator has an
 * object generator. Reading does not disturb the publishers. If the folder is missing, the array is
 * empty. Any thread. Errors: permission_denied and invalid_argument for the default folder.
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_telemetry_read(const char* folder,
                                                           poprt_string** out_json);

/* A channel publishes the spans of a program's own work next to its sessions and runners, if
 * POPRT_TELEMETRY=1 or PVTI_OPTIONS={"enable":"true"} is in the environment when it is created.
 * Otherwise its functions do nothing. poprt_telemetry_read() returns a channel as an object with
 * its name. Each span is a request with its latency, and each of the first 256 labels is an entry
 * {name, runs, busy_ns} of "branches". */
typedef struct poprt_trace_channel poprt_trace_channel;

/* If the segment cannot be created, the log has a warning and the channel does nothing. Any thread.
 * Errors: invalid_argument (null). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_trace_channel_create(const char* name,
                                                                 poprt_trace_channel** out_channel);
/* Null is allowed. The segment disappears. No other call on the channel may be in progress or
 * follow. Any thread. Since 1.0. */
POPRT_API void poprt_trace_channel_free(poprt_trace_channel* channel);

/* Begin and end a span with a label of `label_bytes` bytes of UTF-8. The end belongs to the last
 * span with this label that this thread began, else to the last one of any thread; without any, it
 * is ignored, the first time with a warning in the log. Null is allowed. Any thread. Since 1.0. */
POPRT_API void poprt_trace_begin(poprt_trace_channel* channel, const char* label,
                                 size_t label_bytes);
/* Since 1.0. */
POPRT_API void poprt_trace_end(poprt_trace_channel* channel, const char* label, size_t label_bytes);

#ifdef __cplusplus
}
#endif
#endif

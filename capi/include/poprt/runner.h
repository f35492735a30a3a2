/* Runner: an executable loaded on a device, served to any number of threads.
 *
 * Memory of inputs and outputs is the caller's, is used in place, and must stay valid and untouched
 * until the call returns or the request is done. Any alignment works; 64 bytes is fastest. Inputs
 * and outputs must not overlap.
 *
 * Example:
 *     static void run_twice(const poprt_executable* model, const float* image, float* scores) {
 *       poprt_runner* runner = NULL;
 *       poprt_request* request = NULL;
 *       check(poprt_runner_create(model, NULL, &runner));
 *       const poprt_input in[] = {{"image", 0, image, 8 * 64 * sizeof *image}};
 *       const poprt_output out[] = {{"scores", 0, scores, 8 * 10 * sizeof *scores}};
 *       check(poprt_runner_execute(runner, in, 1, out, 1));
 *
 *       check(poprt_runner_execute_async(runner, in, 1, out, 1, NULL, NULL, &request));
 *       check(poprt_request_wait(request, -1));
 *       poprt_request_free(request);
 *       poprt_runner_free(runner);
 *     }
 */
#ifndef POPRT_RUNNER_H
#define POPRT_RUNNER_H

#include "poprt/anchor.h"
#include "poprt/device.h"
#include "poprt/error.h"
#include "poprt/executable.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_runner poprt_runner;
typedef struct poprt_request poprt_request;

/* Set struct_size to sizeof(poprt_runner_options) and the rest to zero; zero means default. */
typedef struct poprt_runner_options {
  size_t struct_size;
  int32_t threads;      /* compute threads; 0: POPRT_THREADS from the environment, or all CPUs.
                           Results are bit-equal for any number. */
  int32_t profile;      /* non-zero: time every instruction (slower), see poprt_runner_profile */
  poprt_device* device; /* null: any free one */
  int32_t queue_depth;  /* requests in flight before execute_async blocks; 0: 64 */
  int32_t reserved;     /* zero */
} poprt_runner_options;

/* One input of a request. By name, or by anchor index when `name` is null. */
typedef struct poprt_input {
  const char* name;
  size_t index;
  const void* data;
  size_t bytes;
} poprt_input;

/* One output of a request: same, for memory that is written. */
typedef struct poprt_output {
  const char* name;
  size_t index;
  void* data;
  size_t bytes;
} poprt_output;

/* Acquires a device, loads the executable and runs its load programs. `options` may be null.
 * Errors: unavailable (no free device), failed_precondition (the executable needs a kernel that
 * this version does not have; or the device is in use by another runner), invalid_argument
 * (options), resource_exhausted (memory, threads). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_create(const poprt_executable* executable,
                                                          const poprt_runner_options* options,
                                                          poprt_runner** out_runner);

/* Anchors in the model's order; borrowed from the runner; null when out of range. Since 0.1. */
POPRT_API size_t poprt_runner_input_count(const poprt_runner* runner);
POPRT_API size_t poprt_runner_output_count(const poprt_runner* runner);
POPRT_API const poprt_anchor* poprt_runner_input(const poprt_runner* runner, size_t index);
POPRT_API const poprt_anchor* poprt_runner_output(const poprt_runner* runner, size_t index);

/* Runs the model once; outputs are written when it returns. Every input and output must be given
 * once. Thread-safe: calls take turns. Nothing is allocated.
 * Errors: not_found (unknown name; lists those there are), invalid_argument (missing, given twice,
 * null or a wrong size; says expected and found), cancelled (the runner was stopped). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute(poprt_runner* runner,
                                                           const poprt_input* inputs,
                                                           size_t input_count,
                                                           const poprt_output* outputs,
                                                           size_t output_count);

/* The fast way: one pointer for each anchor, in anchor order, sizes as the anchors say (not
 * checked). Thread-safe. Errors: invalid_argument (a null pointer), cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute_indexed(poprt_runner* runner,
                                                                   const void* const* inputs,
                                                                   void* const* outputs);

/* Called once, on a thread of the runner, when the outputs are written or the request failed
 * (`code` is not POPRT_OK). Must not block, must not throw, may submit further requests but not
 * wait for them. */
typedef void (*poprt_request_fn)(poprt_error_code code, void* user_data);

/* Submits a run and returns; requests run in the order of submission. Arguments are checked and
 * copied, memory is not. Blocks while queue_depth requests are in flight. `callback` may be null;
 * `out_request` may be null when there is a callback. Thread-safe.
 * Errors: as poprt_runner_execute. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute_async(
    poprt_runner* runner, const poprt_input* inputs, size_t input_count,
    const poprt_output* outputs, size_t output_count, poprt_request_fn callback, void* user_data,
    poprt_request** out_request);

/* Waits until the request is done: at most `timeout_ns`, for ever when negative. Returns the
 * request's own error, each time, or deadline_exceeded. Thread-safe. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_request_wait(poprt_request* request,
                                                         int64_t timeout_ns);
/* 1 when done, else 0; 1 for null. Thread-safe. Since 0.1. */
POPRT_API int32_t poprt_request_done(const poprt_request* request);
/* Null is allowed; a run in flight goes on, its memory must stay valid. Any thread. Since 0.1. */
POPRT_API void poprt_request_free(poprt_request* request);

/* Ends the runner: requests that wait fail with cancelled, so do later calls; a run on the device
 * is finished first. Safe to call twice and from any thread but a callback's. Since 0.1. */
POPRT_API void poprt_runner_stop(poprt_runner* runner);

/* JSON object: {"runs": N, "instructions": [{"name", "kernel", "runs", "total_ns", "min_ns",
 * "parallel"}...]} since the runner was made. Errors: failed_precondition unless made with
 * `profile`. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_profile(poprt_runner* runner,
                                                           poprt_string** out_json);

/* Null is allowed. Requests in flight are still run; the device is released after the last one.
 * No call on the runner may be under way or follow. Never blocks. Any thread. Since 0.1. */
POPRT_API void poprt_runner_free(poprt_runner* runner);

#ifdef __cplusplus
}
#endif
#endif

/* Session: an executable on a device whose streams use callbacks or queues. A runner (runner.h) is
 * simpler. A session gives control over programs and streams.
 *
 * All functions may be called from any thread. Functions that run programs, load, unload or change
 * handlers wait for each other. Callbacks must not call the session, except poprt_session_stop.
 *
 * Example:
 *     static int32_t zeros(void* data, size_t bytes, void* user) {
 *       (void)user;
 *       memset(data, 0, bytes);
 *       return 0;
 *     }
 *     static void run_once(const poprt_executable* model) {
 *       poprt_session* session = NULL;
 *       poprt_stream_callbacks input = {0};
 *       input.struct_size = sizeof input;
 *       input.fetch = zeros;
 *       check(poprt_session_create(model, NULL, &session));
 *       check(poprt_session_set_user_input_handler(session, "image", &input));
 *       check(poprt_session_verify_connected(session)); // names what is missing
 *       check(poprt_session_run_load_programs(session));
 *       check(poprt_session_run_main_programs(session));
 *       poprt_session_free(session);
 *     }
 */
#ifndef POPRT_SESSION_H
#define POPRT_SESSION_H

#include "poprt/anchor.h"
#include "poprt/device.h"
#include "poprt/error.h"
#include "poprt/executable.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_session poprt_session;

/* Selects the anchors without data that the user serves: non-zero accepts. `programs` are
 * PopEF's indices, valid during the call. Rejected inputs are zeros, and rejected outputs are
 * discarded. */
typedef int32_t (*poprt_anchor_predicate_fn)(const char* name, int32_t is_output,
                                             const uint32_t* programs, size_t program_count,
                                             void* user_data);

/* Set struct_size to sizeof(poprt_session_options) and the rest to zero; zero means default. */
typedef struct poprt_session_options {
  size_t struct_size;
  /* <options:session> made from capi/option_fields.toml by tests/lint/option_fields.py --write */
  /* Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment,
   * or all CPUs. Since 0.1. */
  int32_t threads;
  /* Whether to measure the time of every instruction, which poprt_session_profile returns. Runs are
   * slower. Non-zero: yes. Since 0.1. */
  int32_t profile;
  /* The device to run on. Null: any free device that fits the executable. Since 0.1. */
  poprt_device* device;
  /* Whether poprt_session_bind_to_device or the first run acquires the device, instead of the
   * creation of the session. Non-zero: yes. Since 0.1. */
  int32_t deferred;
  /* Whether other sessions are refused the device. Otherwise the next session that binds the device
   * unloads this one. Non-zero: yes. Since 0.1. */
  int32_t exclusive;
  /* Whether to publish the session's activity, as POPRT_TELEMETRY=1 does; see telemetry.h.
   * Non-zero: yes. Since 0.1. */
  int32_t telemetry;
  /* What to do while every device that fits is busy, as in poprt_device_request. Since 0.1. */
  poprt_wait_strategy wait_strategy;
  /* How long to wait for a device when none is free. 0: fail at once. Nanoseconds. With
   * POPRT_WAIT_WITH_TIMEOUT. Since 0.1. */
  int64_t wait_timeout_ns;
  /* How long to sleep between two checks of devices that other processes use. 0: 15 s. Nanoseconds.
   * Since 0.1. */
  int64_t wait_sleep_ns;
  /* A function that chooses the anchors that handlers or queues serve. Other inputs are zeros,
   * other outputs are dropped. Null: the anchors without data that belong to a main program or to
   * no program. Since 0.1. */
  poprt_anchor_predicate_fn predicate;
  void* predicate_data;
  /* </options:session> */
} poprt_session_options;

/* `options` may be null. Errors: unavailable (no free device), not_found (no suitable device
 * exists), failed_precondition (another session uses the device exclusively; the device does not
 * suit the executable; a kernel is missing), invalid_argument, resource_exhausted,
 * permission_denied (the folder or the locks of shared devices). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_create(const poprt_executable* executable,
                                                           const poprt_session_options* options,
                                                           poprt_session** out_session);
/* Null is allowed. Ends running programs. Queues and borrowed pointers become invalid.
 * Since 0.1. */
POPRT_API void poprt_session_free(poprt_session* session);

/* Returns the blobs of the model, as poprt_executable_popef_model does. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_popef_model(const poprt_session* session,
                                                                poprt_popef_model** out_model);

/* Loads the session on a device (null: its current one, else that of the options, else a free
 * one), and unloads the session that uses the device. Errors: as poprt_session_create. Since 0.1.
 */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_bind_to_device(poprt_session* session,
                                                                   poprt_device* device);
/* Loads again: the state is the initial one, and the session is no longer stopped. Updated
 * weights are kept. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_reload(poprt_session* session);
/* Running programs end with cancelled. Null is allowed. Since 0.1. */
POPRT_API void poprt_session_unload_from_device(poprt_session* session);
/* 0 for null, before a device was acquired, after unloading, and if another session uses the
 * device. Since 0.1. */
POPRT_API int32_t poprt_session_is_loaded(const poprt_session* session);
/* Running programs end with cancelled, and so do later ones until reload or bind. They end at
 * the next callback or instruction, or after about 5 ms of a long instruction, but not within a
 * kernel that computes in one piece (a TopK of one row, a matrix inverse). Any thread, also in
 * callbacks. Since 0.1. */
POPRT_API void poprt_session_stop(poprt_session* session);

/* Callbacks for one anchor. Functions return 0 for success. Another value means that there is no
 * data and ends the run. They are called on the running thread, except for `interrupt` (any thread)
 * and `invalidate_prefetched` (also the thread that unloads the session or replaces the callbacks).
 * Set struct_size. */
typedef struct poprt_stream_callbacks {
  size_t struct_size;
  /* Inputs: write the next transfer to `data` if it is available, else return non-zero. Repeated
   * calls return the same transfer until complete. May be null. */
  int32_t (*prefetch)(void* data, size_t bytes, void* user_data);
  /* Inputs: wait for the transfer and write it. Outputs: receive it. */
  int32_t (*fetch)(void* data, size_t bytes, void* user_data);
  /* Continue with the next transfer. May be null. */
  void (*complete)(void* user_data);
  /* The prefetched transfer will not be used. May be null. */
  void (*invalidate_prefetched)(void* user_data);
  /* Make a waiting fetch return non-zero. May be null. */
  void (*interrupt)(void* user_data);
  void* user_data;
} poprt_stream_callbacks;

/* Null callbacks remove the handler. Errors: not_found (lists the names), invalid_argument (no
 * fetch), failed_precondition (the metadata has no handle for the anchor). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_set_user_input_handler(
    poprt_session* session, const char* name, const poprt_stream_callbacks* callbacks);
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_set_user_output_handler(
    poprt_session* session, const char* name, const poprt_stream_callbacks* callbacks);

/* Anchors that the user must serve, in the model's order; borrowed; null when out of range. A mask
 * "poprt.real.DIM" of a model at several shapes is not one of them, and no predicate or queue
 * manager receives it: the session fills it with ones, so that every place of the shape that
 * "poprt.bucket" selects is real. A caller that pads its inputs serves the mask with
 * poprt_session_set_user_input_handler. Since 0.1. */
POPRT_API size_t poprt_session_user_input_count(const poprt_session* session);
POPRT_API size_t poprt_session_user_output_count(const poprt_session* session);
POPRT_API const poprt_anchor* poprt_session_user_input(const poprt_session* session, size_t index);
POPRT_API const poprt_anchor* poprt_session_user_output(const poprt_session* session, size_t index);

/* Block until the programs have run. The main programs transfer each stream once for each device
 * iteration and replica of the executable. If the executable was compiled with num_io_tiles, for
 * one replica and at least 3 iterations, and there are no handlers, threads of the session serve
 * queues without timeouts while another transfer computes. Errors: cancelled (stopped, or no data),
 * failed_precondition (anchors are not connected, or the session is on no device), and those of
 * operators. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_run_load_programs(poprt_session* session);
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_run_main_programs(poprt_session* session);
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_run_save_programs(poprt_session* session);
/* Runs programs by PopEF's indices (of the flows and the programs map), in this order. Consecutive
 * programs of one flow are one run of it, which serves the anchors that they use. A repeated index
 * begins another run. A program of no flow has no effect. Errors: not_found (lists the existing
 * ones), and those of the functions above. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_run_programs(poprt_session* session,
                                                                 const uint32_t* indices,
                                                                 size_t index_count);

/* <functions:session> made from capi/functions.toml by tests/lint/functions.py --write */
/* Checks that every anchor that the user serves has a handler or a queue. Errors:
 * failed_precondition (some have none; the message names them). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_verify_connected(const poprt_session* session);
/* Runs the main programs once. The result is false if a stop of the session or `disconnect_all` of
 * its queues ended the programs or prevented them from running, so that a thread which calls it in
 * a loop ends without an error. Errors: cancelled (a handler had no data, or the session left its
 * device); failed_precondition (anchors are not connected, or the session is on no device).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_run_main_programs_unless_stopped(
    poprt_session* session, int32_t* out_ran);
/* A JSON object with the times of every instruction since the session was last loaded on a device,
 * in the format of the runner's profile. Errors: failed_precondition (the session was created
 * without the option `profile`, or is on no device). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_profile(poprt_session* session,
                                                            poprt_string** out_json);
/* </functions:session> */

/* For inputs that have data in the executable (compiled with variable_weights, or in tensor and
 * feed blobs): replaces the value of one, by copy, for later runs. Errors: not_found (lists those
 * that can be updated), invalid_argument (size). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_update_weights(poprt_session* session,
                                                                   const char* name,
                                                                   const void* data, size_t bytes);
/* Copies the value to `data`. Errors: as poprt_session_update_weights. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_read_weights(const poprt_session* session,
                                                                 const char* name, void* data,
                                                                 size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

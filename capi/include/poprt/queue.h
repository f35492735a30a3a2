/* Queues of pointers to user memory, one for each anchor of a session.
 *
 * Example:
 *     static void serve(poprt_session* session, const float* image, float* scores) {
 *       poprt_queue_manager* queues = NULL;
 *       poprt_queue *in = NULL, *out = NULL;
 *       check(poprt_session_create_queue_manager(session, NULL, &queues));
 *       check(poprt_queue_manager_input_queue(queues, "image", &in));
 *       check(poprt_queue_manager_output_queue(queues, "scores", &out));
 *       check(poprt_queue_enqueue_input(in, image, 64 * sizeof *image, NULL, NULL));
 *       check(poprt_queue_enqueue_output(out, scores, 10 * sizeof *scores, NULL, NULL));
 *       check(poprt_session_run_main_programs(session)); // usually on a separate thread
 *       poprt_queue_manager_disconnect_all(queues);
 *     }
 */
#ifndef POPRT_QUEUE_H
#define POPRT_QUEUE_H

#include "poprt/anchor.h"
#include "poprt/error.h"
#include "poprt/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed from the session until it is freed or creates queues again. */
typedef struct poprt_queue_manager poprt_queue_manager;
typedef struct poprt_queue poprt_queue;

/* Called repeatedly, on the running thread, when an input has waited for `timeout_ns`. It may
 * enqueue to the queue (for example padding). */
typedef void (*poprt_queue_timeout_fn)(poprt_queue* queue, void* user_data);

/* Set struct_size to sizeof(poprt_queue_options) and the rest to zero. */
typedef struct poprt_queue_options {
  size_t struct_size;
  size_t buffers;     /* capacity of a queue in elements, rounded up to a power of two; 0: 16 */
  int64_t timeout_ns; /* 0: never */
  poprt_queue_timeout_fn timeout; /* null: never */
  void* timeout_data;
  poprt_anchor_predicate_fn predicate; /* null: the session's */
  void* predicate_data;
} poprt_queue_options;

/* Creates and connects one queue for each anchor that the predicate accepts. `options` may be
 * null. Errors: invalid_argument (buffers beyond 2^20, a negative time). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_create_queue_manager(
    poprt_session* session, const poprt_queue_options* options, poprt_queue_manager** out_manager);

/* Return the queue of an anchor by its name. Errors: not_found (lists the names). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_manager_input_queue(poprt_queue_manager* manager,
                                                                      const char* name,
                                                                      poprt_queue** out_queue);
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_manager_output_queue(poprt_queue_manager* manager,
                                                                       const char* name,
                                                                       poprt_queue** out_queue);
/* Returns every waiting element with `cancelled`, except for memory that the device is using. The
 * queues stay in use. Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_queue_manager_flush_all(poprt_queue_manager* manager);
/* The same permanently: enqueue fails from now on, and runs find no data. Since 0.1. */
POPRT_API void poprt_queue_manager_disconnect_all(poprt_queue_manager* manager);

/* Called exactly once for each element: with POPRT_OK when it was consumed or filled, with
 * POPRT_CANCELLED when it was discarded. Must not block. */
typedef void (*poprt_queue_fn)(poprt_error_code code, void* user_data);

/* An element is memory of any size: a part of a transfer, one, or several. It is not copied
 * before the device requests it, and must stay valid until the callback (which may be null). The
 * call blocks while the queue is full. Only one thread at a time may use a queue. For an output,
 * `data` is written. Errors: cancelled (disconnected, or full while the session was stopped: the
 * callback is not called), invalid_argument (null, 0 bytes). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_enqueue_input(poprt_queue* queue,
                                                                const void* data, size_t bytes,
                                                                poprt_queue_fn callback,
                                                                void* user_data);
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_enqueue_output(poprt_queue* queue, void* data,
                                                                 size_t bytes,
                                                                 poprt_queue_fn callback,
                                                                 void* user_data);

/* The anchor of the queue; borrowed. Since 0.1. */
POPRT_API const poprt_anchor* poprt_queue_anchor(const poprt_queue* queue);
/* The capacity, and the number of waiting elements; 0 for null. Any thread. Since 0.1. */
POPRT_API size_t poprt_queue_capacity(const poprt_queue* queue);
POPRT_API size_t poprt_queue_read_available(const poprt_queue* queue);

#ifdef __cplusplus
}
#endif
#endif

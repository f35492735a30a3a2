/* Queues of pointers to user memory, one for each anchor that a session serves.
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
 *       check(poprt_session_run_main_programs(session)); // usually a thread of its own
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

/* Borrowed from the session, until it goes or makes queues again. */
typedef struct poprt_queue_manager poprt_queue_manager;
typedef struct poprt_queue poprt_queue;

/* An input waited for `timeout_ns`; may enqueue to the queue (for example padding). Called on the
 * running thread, again and again. */
typedef void (*poprt_queue_timeout_fn)(poprt_queue* queue, void* user_data);

/* Set struct_size to sizeof(poprt_queue_options) and the rest to zero. */
typedef struct poprt_queue_options {
  size_t struct_size;
  size_t buffers;     /* elements that fit into a queue, rounded up to a power of two; 0: 16 */
  int64_t timeout_ns; /* 0: never */
  poprt_queue_timeout_fn timeout; /* null: never */
  void* timeout_data;
  poprt_anchor_predicate_fn predicate; /* null: the session's */
  void* predicate_data;
} poprt_queue_options;

/* Makes one queue for each anchor that the predicate accepts and connects it. `options` may be
 * null. Errors: invalid_argument (buffers beyond 2^20, a negative time). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_session_create_queue_manager(
    poprt_session* session, const poprt_queue_options* options, poprt_queue_manager** out_manager);

/* By the anchor's name. Errors: not_found (lists the names). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_manager_input_queue(poprt_queue_manager* manager,
                                                                      const char* name,
                                                                      poprt_queue** out_queue);
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_manager_output_queue(poprt_queue_manager* manager,
                                                                       const char* name,
                                                                       poprt_queue** out_queue);
/* Gives back every element that waits (`cancelled`); the queues stay in use. Null is allowed; any
 * thread. Since 0.1. */
POPRT_API void poprt_queue_manager_flush_all(poprt_queue_manager* manager);
/* The same for good: enqueue fails from now on, and runs find no data. Since 0.1. */
POPRT_API void poprt_queue_manager_disconnect_all(poprt_queue_manager* manager);

/* Called exactly once for each element: POPRT_OK when it was consumed or filled, POPRT_CANCELLED
 * when it never will be. Must not block. */
typedef void (*poprt_queue_fn)(poprt_error_code code, void* user_data);

/* An element is memory of any size: a part of a transfer, one, or several. It is not copied before
 * the device asks for it and must stay valid until the callback (may be null). Blocks while the
 * queue is full. One thread at a time per queue. For an output `data` is written. Errors: cancelled
 * (disconnected; or full and the session was stopped: the callback is not called), invalid_argument
 * (null, 0 bytes). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_enqueue_input(poprt_queue* queue,
                                                                const void* data, size_t bytes,
                                                                poprt_queue_fn callback,
                                                                void* user_data);
POPRT_API POPRT_MUST_USE poprt_error* poprt_queue_enqueue_output(poprt_queue* queue, void* data,
                                                                 size_t bytes,
                                                                 poprt_queue_fn callback,
                                                                 void* user_data);

/* Of the queue; borrowed. Since 0.1. */
POPRT_API const poprt_anchor* poprt_queue_anchor(const poprt_queue* queue);
/* Elements that fit, and that wait. 0 for null; any thread. Since 0.1. */
POPRT_API size_t poprt_queue_capacity(const poprt_queue* queue);
POPRT_API size_t poprt_queue_read_available(const poprt_queue* queue);

#ifdef __cplusplus
}
#endif
#endif

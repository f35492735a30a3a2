/* Runner: an executable loaded on a device, for use by any number of threads.
 *
 * Memory of inputs and outputs belongs to the caller and is used in place. It must stay valid and
 * unchanged until the call returns or the request is done. Any alignment works; 64 bytes is
 * fastest. An output may be in the memory of an input, wholly or in part: the call copies such an
 * input before it runs or returns. Two outputs in the same memory are invalid_argument.
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

/* One input of a request, identified by name, or by anchor index if `name` is null. */
typedef struct poprt_input {
  const char* name;
  size_t index;
  const void* data;
  size_t bytes;
} poprt_input;

/* One output of a request, with memory that is written. */
typedef struct poprt_output {
  const char* name;
  size_t index;
  void* data;
  size_t bytes;
} poprt_output;

/* Pins a replica to a device. */
typedef struct poprt_replica_device {
  int64_t replica;
  poprt_device* device;
} poprt_replica_device;

/* For device_wait_timeout_ns: fail at once if no device is free. Since 1.0. */
#define POPRT_DO_NOT_WAIT INT64_MIN

/* `max_shapes` of runner options if it is 0. Since 1.0. */
#define POPRT_DEFAULT_MAX_SHAPES 16

/* Set struct_size to sizeof(poprt_runner_options) and the rest to zero; zero means default. The
 * comment of RuntimeConfig in runner.hpp names the fields that PopRT does not have. */
typedef struct poprt_runner_options {
  size_t struct_size;
  /* <options:runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write */
  /* Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment,
   * or all CPUs. Since 0.1. */
  int32_t threads;
  /* Whether to measure the time of every instruction, which poprt_runner_profile returns. Runs are
   * slower. Non-zero: yes. Since 0.1. */
  int32_t profile;
  /* The device to run on. Null: any free device. Since 0.1. */
  poprt_device* device;
  /* How many requests per replica may be in the queue; see poprt_runner_execute_async, which blocks
   * when the queue is full. 0: the size of the ring. Since 0.1. */
  int32_t queue_depth;
  /* Whether to publish the runner's activity, as POPRT_TELEMETRY=1 does; see telemetry.h. Non-zero:
   * yes. Since 1.0. */
  int32_t telemetry;
  /* How long a batch that has some rows waits for more before it is padded with zeros. 0: it does
   * not wait: it runs as soon as the device is idle, and rows are gathered while the device is
   * busy; negative: without limit. Nanoseconds. Since 0.1. */
  int64_t timeout_ns;
  /* Whether to omit the lock; then only one thread at a time may use the runner. Non-zero: yes.
   * Since 0.1. */
  int32_t not_thread_safe;
  /* Whether runs omit the checks of names and sizes. Then unknown names are ignored, missing inputs
   * are zeros, missing outputs are dropped, the size of the first binding determines the number of
   * rows, and others may be larger. Fused and conditional models need this. Non-zero: yes. Since
   * 0.1. */
  int32_t no_validate_io_params;
  /* Whether requests may have any size along the batching dimension. A batch then contains rows of
   * several requests, and padding. The compiler proves that no row changes the results of another;
   * if it cannot, the runner is refused as a failed precondition, and the message names the node.
   * Without it, a request has a whole number of compiled batches. Non-zero: yes. Since 0.1. */
  int32_t use_batching_dim;
  /* The dimension along which requests may have any size. A value other than 0 is refused without
   * `use_batching_dim`. Since 0.1. */
  uint32_t batching_dim;
  /* The ring has places for this number times the rows of a step; without a batching dimension a
   * row is a batch. With 2, the ring has at least 64 places. 0: 2. Since 0.1. */
  int32_t ring_buffer_size_multiplier;
  /* Whether the device is reset after an error that a reset repairs. Non-zero: yes. Since 0.1. */
  int32_t auto_reset;
  /* Whether a batch is padded only while a caller waits for one of its requests or has given a
   * callback for it. Without a limit by the timeout, a batch is then padded at once. This also
   * records tracepoints. Non-zero: yes. Since 0.1. */
  int32_t flush_on_waiting_outputs;
  /* Whether the timeouts of batches and of steps are used. Non-zero: yes. Since 0.1. */
  int32_t is_batch_size_timeout_enabled;
  /* How long a batch waits, from its first row until it is padded. With it, the default of timeout
   * has no effect. 0: never. Nanoseconds. Since 0.1. */
  int64_t batch_size_timeout_ns;
  /* How long a step waits, from its first complete batch until it runs without the missing batches.
   * 0: never. Nanoseconds. Since 0.1. */
  int64_t data_parallel_timeout_ns;
  /* How many of the last requests poprt_runner_tracepoints reports. 0: 1000; negative: all. Since
   * 0.1. */
  int64_t request_tracepoints_buffer_size;
  /* Number of copies of the model, each on a different device. 0: 1. Since 0.1. */
  int32_t replication_factor;
  /* Whether separate threads copy the inputs of the next step and the outputs of the last step
   * while a step computes. An executable that was compiled with num_io_tiles turns this on.
   * Non-zero: yes. Since 0.1. */
  int32_t overlap_io;
  /* Number of batches in a step. Submitted requests wait, within the timeouts, until a step is
   * full; whole batches of a call that waits for its result do not. 0: the executable's number.
   * Since 0.1. */
  int64_t batches_per_step;
  /* Devices of the replicas, which are counted from 0. None given: any free devices. Since 0.1. */
  const poprt_replica_device* replica_devices;
  size_t replica_device_count;
  /* Constant values of inputs, which requests then leave out. The values are copied. Since 0.1. */
  const struct poprt_input* frozen_inputs;
  size_t frozen_input_count;
  /* Rows that pad batches instead of zeros, by name, for all inputs of requests. The memory must
   * stay valid while the runner exists. None given: zeros. Since 0.1. */
  const struct poprt_input* flush_inputs;
  size_t flush_input_count;
  /* Memory for the results of the padding rows, by name, for all outputs. The memory must stay
   * valid while the runner exists. None given: the results are dropped. Since 0.1. */
  const struct poprt_output* flush_outputs;
  size_t flush_output_count;
  /* How long to try again when no device is free. 0: 1 s; negative: without limit. Nanoseconds.
   * POPRT_DO_NOT_WAIT: fail at once. Since 0.1. */
  int64_t device_wait_timeout_ns;
  /* How long to sleep between two attempts to acquire a device. 0: 6 s. Nanoseconds. Since 0.1. */
  int64_t device_wait_sleep_ns;
  /* Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see
   * capi/ABI.md. Null: POPRT_INJECT_FAULTS from the environment. Since 1.0. */
  const char* faults;
  /* The arithmetic: "fast"; "faithful", which rounds as the chip does and gives NaN when a half
   * overflows; or "saturating", which differs from faithful in that an overflow gives the greatest
   * half. With a seed, as in "faithful:7", halves are rounded stochastically, and equal runs have
   * equal results. The last two are slow and need an executable that was compiled with the option
   * numerics=faithful. Null: "fast". Since 1.0. */
  const char* numerics;
  /* Which processes share the devices of the replicas: "0": none; "1": all processes of the user;
   * an absolute path: all processes that give the same folder. Two replicas never have the same
   * device, even in different processes. Null: POPRT_SHARED_DEVICES from the environment, or none.
   * Since 1.0. */
  const char* shared_devices;
  /* How the runner uses a PopEF file: "map" uses weights in the memory map of the file; "copy"
   * copies them into memory, so that later changes of the file have no effect. If a mapped file is
   * truncated, the process receives SIGBUS. Null: "map". Since 1.0. */
  const char* load;
  /* Whether to check the checksums of the PopEF file, which reads all of it. If one differs, the
   * runner is refused with data_loss, and the message names the file and the blob. A file without
   * checksums causes a warning. Non-zero: yes. Since 1.0. */
  int32_t verify;
  /* How many shapes of a model whose shapes are compiled on demand are kept, without the one that
   * was compiled ahead. Beyond it, the least recently used shape is removed. 0: 16. Since 1.0. */
  int32_t max_shapes;
  /* The precision of products with constant weights: "f32"; "bf16", which rounds both factors;
   * "f16", which rounds the weights of MatMul and Gemm, and both factors on CPUs with AVX512-FP16;
   * or "auto", which is bf16 for weights that bf16 represents, and f16 for those that are stored as
   * f16. Weights are packed once and kept in the cache folder: POPXL_CACHE_DIR or POPART_CACHE_DIR,
   * else poprt in XDG_CACHE_HOME or ~/.cache. Null: that of the executable. Since 1.0. */
  const char* execution_precision;
  /* The largest number of bytes of memory that the shapes which are compiled on demand may need for
   * one run each, with the inputs and outputs of a request, without the shape that was compiled
   * ahead. A request whose shape needs more is refused with invalid_argument, and the message
   * contains the needed and the allowed bytes. To make room for a shape, the least recently used
   * ones are removed. 0: no limit; negative: half of the memory of the computer or, if that is
   * smaller, of the limit of the process's control group. Since 1.0. */
  int64_t max_shape_memory;
  /* </options:runner> */
} poprt_runner_options;

/* Acquires devices, loads the executable and runs its load programs. `options` may be null.
 * Errors: unavailable (no free device), not_found (no such replica, input, output or suitable
 * device), failed_precondition (the executable needs a kernel that this version lacks, the options
 * do not suit it, or the device is in use by another runner), invalid_argument (options), data_loss
 * (a damaged file, with `verify`), resource_exhausted (memory, threads), permission_denied (the
 * folder or the locks of shared devices). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_create(const poprt_executable* executable,
                                                          const poprt_runner_options* options,
                                                          poprt_runner** out_runner);

/* The inputs of requests and those that the executable contains or that are frozen, and the
 * outputs, in the order of indices. Borrowed from the runner; null if out of range. With
 * replicas in the program, the first dimension of shapes is their number. Since 0.1. */
POPRT_API size_t poprt_runner_input_count(const poprt_runner* runner);
POPRT_API size_t poprt_runner_output_count(const poprt_runner* runner);
POPRT_API const poprt_anchor* poprt_runner_input(const poprt_runner* runner, size_t index);
POPRT_API const poprt_anchor* poprt_runner_output(const poprt_runner* runner, size_t index);
/* Runs the model. Outputs are written when the call returns. Every input and output must be given
 * once, with a whole number of compiled batches (with batching_dim, any number of rows; the call
 * may then wait for other requests, see timeout_ns). Thread-safe. In a runner of one model at one
 * shape, a run of whole batches allocates nothing if there are at most 16 inputs and 16 outputs.
 * Errors: not_found (unknown name; lists the existing ones), invalid_argument (missing, given
 * twice, null or a wrong size; contains the expected and the given size), cancelled (the runner was
 * stopped), and device errors: aborted (application_runtime_error), unavailable
 * (recoverable_runtime_error), internal (unrecoverable_runtime_error), unknown
 * (unknown_runtime_error), failed_precondition (others). A runner that compiles shapes on demand
 * also fails with the errors of the compilation, and with resource_exhausted if 1024 shapes wait
 * for it. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute(poprt_runner* runner,
                                                           const poprt_input* inputs,
                                                           size_t input_count,
                                                           const poprt_output* outputs,
                                                           size_t output_count);

/* The fastest call: runs one batch with one pointer for each anchor, in anchor order, to memory of
 * the size of the anchor (not checked). Pointers of inputs that requests leave out are ignored. A
 * runner that compiles shapes on demand uses the shape that was compiled ahead. Thread-safe.
 * Errors: invalid_argument (a null pointer), cancelled, unimplemented (a runner of several models
 * or shapes without one that was compiled ahead, or of another kind), and device errors as for
 * poprt_runner_execute. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute_indexed(poprt_runner* runner,
                                                                   const void* const* inputs,
                                                                   void* const* outputs);

/* Called once, when the outputs are written or the request failed (`code` is not POPRT_OK), on a
 * thread of the runner, or on the thread that cancels the request, stops the runner or ends the
 * request after its time limit. Must not block and must not throw. It may submit further requests
 * but not wait for them. A thread that waits for the request may continue earlier: `user_data` must
 * stay valid until the callback was called. */
typedef void (*poprt_request_fn)(poprt_error_code code, void* user_data);

/* Submits a run and returns. Requests of one replica run in the order of submission, except that
 * whole steps do not wait for an incomplete batch. Arguments are checked and copied, memory is not.
 * Blocks while queue_depth requests are in flight. `callback` may be null. `out_request` may be
 * null if there is a callback. Thread-safe. Errors: as poprt_runner_execute, resource_exhausted (in
 * a callback while queue_depth requests are in flight). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute_async(
    poprt_runner* runner, const poprt_input* inputs, size_t input_count,
    const poprt_output* outputs, size_t output_count, poprt_request_fn callback, void* user_data,
    poprt_request** out_request);

/* The behaviour of poprt_runner_submit while queue_depth requests are in flight. Since 1.0. */
typedef enum poprt_when_full {
  POPRT_WHEN_FULL_WAIT = 0, /* wait for space, at most timeout_ns */
  POPRT_WHEN_FULL_FAIL = 1, /* fail with unavailable */
  POPRT_WHEN_FULL_LINE = 2  /* the request waits in a list without limit: for event loops and
                             * callers that limit their requests */
} poprt_when_full;

/* Set struct_size to sizeof(poprt_request_options) and the rest to zero. */
typedef struct poprt_request_options {
  size_t struct_size;
  /* <options:request> made from capi/option_fields.toml by tests/lint/option_fields.py --write */
  /* How long the request may wait, counted from the call. A request that has not begun by then
   * fails with deadline_exceeded. 0: without limit. Nanoseconds. Since 0.1. */
  int64_t timeout_ns;
  /* A function that is called with user_data when the request has ended. Null: none. Since 0.1. */
  poprt_request_fn callback;
  void* user_data;
  /* What happens while queue_depth requests are in flight, a poprt_when_full. The call waits only
   * with POPRT_WHEN_FULL_WAIT. 0: POPRT_WHEN_FULL_WAIT. Since 1.0. */
  int32_t when_full;
  int32_t reserved;
  /* The replica that runs the request, counted from 0. The request reads the state (caches) that
   * earlier requests left on this replica. A replica that the runner does not have fails with
   * not_found. 1: the replica in `replica`; 0: any. Since 1.0. */
  int32_t use_replica;
  uint32_t replica;
  /* Whether whole batches run at once, even if the step of batches_per_step batches is not full.
   * Batches of a call that waits for its result always do. 1: yes. Since 1.0. */
  int32_t at_once;
  int32_t reserved_2;
  /* </options:request> */
} poprt_request_options;

/* poprt_runner_execute_async with options (may be null). After an error, there is no request,
 * its callback is not called, and statistics do not count it. Errors: as poprt_runner_execute,
 * deadline_exceeded (no space in time), unavailable (POPRT_WHEN_FULL_FAIL), resource_exhausted
 * (in a callback, which must not wait). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_submit(
    poprt_runner* runner, const poprt_input* inputs, size_t input_count,
    const poprt_output* outputs, size_t output_count, const poprt_request_options* options,
    poprt_request** out_request);

/* Returns 1 if the request has failed with cancelled: its callback was called, and its memory is
 * no longer used. Returns 0 if it has begun or is done, or for null. Thread-safe, also in
 * callbacks. Since 0.1. */
POPRT_API int32_t poprt_request_cancel(poprt_request* request);

/* Waits until the request is done, at most `timeout_ns`, or without limit if negative. Each call
 * returns the request's own error, or deadline_exceeded. A request may fail with deadline_exceeded
 * itself; poprt_request_done distinguishes the two. Thread-safe. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_request_wait(poprt_request* request,
                                                         int64_t timeout_ns);
/* 1 if the request is done, else 0; 1 for null. Thread-safe. Since 0.1. */
POPRT_API int32_t poprt_request_done(const poprt_request* request);
/* Null is allowed. A run in flight continues, and its memory must stay valid until it is done or
 * the runner was freed. Any thread. Since 0.1. */
POPRT_API void poprt_request_free(poprt_request* request);

/* The size of poprt_runner_counters.latency_buckets. Since 1.0. */
#define POPRT_LATENCY_BUCKETS 40

/* For poprt_runner_get_counters: the sum of all replicas. Since 1.0. */
#define POPRT_ALL_REPLICAS (-1)

/* The counters of a runner or of one of its replicas since its creation. Set struct_size to
 * sizeof(poprt_runner_counters); the function writes the rest. Latencies are those of completed
 * requests, from submission to the written outputs. Since 1.0. */
typedef struct poprt_runner_counters {
  size_t struct_size;
  /* <counters:fields> made from capi/counters.toml by tests/lint/counter_fields.py --write */
  /* Requests that were accepted. Each of them ends up in one of the next four counters. */
  uint64_t submitted;
  /* Requests whose outputs were written. */
  uint64_t completed;
  /* Requests that failed. */
  uint64_t failed;
  /* Requests that were cancelled. */
  uint64_t cancelled;
  /* Requests that did not begin within their limit. */
  uint64_t timed_out;
  /* Rows of requests that were computed. A request of a model whose requests share no batches
   * counts as one row. */
  uint64_t rows;
  /* Rows that were computed only to fill batches. */
  uint64_t padded_rows;
  /* Runs of the device. */
  uint64_t batches;
  /* Groups of `batches_per_step` batches. */
  uint64_t steps;
  /* Errors of the device. */
  uint64_t device_errors;
  /* Resets of the device. */
  uint64_t resets;
  /* Requests that are submitted and have not ended yet. */
  uint64_t in_flight;
  /* Number of requests that fit into the queue. Further requests in flight wait in an unlimited
   * line. */
  uint64_t queue_capacity;
  /* Number of measured latencies. The latency of a completed request is the time from its
   * submission until its outputs are written. */
  uint64_t latency_count;
  /* The sum of all latencies. */
  uint64_t latency_total_ns;
  /* The longest latency. */
  uint64_t latency_max_ns;
  /* The median latency, rounded up to the end of its histogram bucket. */
  uint64_t latency_p50_ns;
  /* The 99th percentile of the latencies, rounded up to the end of its histogram bucket. */
  uint64_t latency_p99_ns;
  /* A histogram. Entry i counts the requests with a latency of 2^i to 2^(i+1) ns; the last entry
   * also counts longer ones. */
  uint64_t latency_buckets[POPRT_LATENCY_BUCKETS];
  /* Number of replicas whose counters are added up and are available separately. 0: the replicas do
   * not count separately (pack runners), or the runner is stopped (light runners). 1 for the
   * counters of a replica. */
  uint64_t replicas;
  /* </counters:fields> */
} poprt_runner_counters;

/* Returns the counters of a replica, from 0 on, or of all (POPRT_ALL_REPLICAS). Allocates
 * nothing. Thread-safe. Errors: not_found (no such replica; contains their number),
 * unimplemented (a replica of a pack runner), invalid_argument (struct_size, a negative number).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_get_counters(
    poprt_runner* runner, int64_t replica, poprt_runner_counters* out_counters);

/* <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write */
/* Whether an input comes with the executable or is frozen, so that requests leave it out. False if
 * there is no input at this position. PopEF calls this "contains tensor data". Since 0.1. */
POPRT_API int32_t poprt_runner_input_has_data(const poprt_runner* runner, size_t index);
/* The position of the input with a name, for bindings by position. Errors: not_found (no input of
 * requests has the name; the message lists the names). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_input_index(const poprt_runner* runner,
                                                               const char* name, size_t* out_index);
/* The position of the output with a name, for bindings by position. Errors: not_found (no output
 * has the name; the message lists the names). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_output_index(const poprt_runner* runner,
                                                                const char* name,
                                                                size_t* out_index);
/* A JSON object with the counters and latencies of the runner and of each replica, since the runner
 * was created. Bucket i of the histogram of latencies is 2^i to 2^(i+1) ns. The array "replicas"
 * contains the counters of each replica. Thread-safe. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_statistics(poprt_runner* runner,
                                                              poprt_string** out_json);
/* A JSON array of the times at which each of the last requests was submitted, began, computed and
 * ended. The array is empty without the option `flush_on_waiting_outputs`. An entry is {"request",
 * "rows", "replica", "code", "submitted", "begun", "loaded", "compute_begin", "compute_end",
 * "stored"}. Times are in ns of the monotonic clock. There are at most
 * request_tracepoints_buffer_size entries. Thread-safe. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_tracepoints(poprt_runner* runner,
                                                               poprt_string** out_json);
/* A JSON object with the times of every instruction on the first device of replica 0 since the
 * model was last loaded on it: when the runner was created, or by `auto_reset` after an error.
 * {"runs": N, "instructions": [{"name", "kernel", "runs", "total_ns", "min_ns", "parallel"}...]}.
 * Errors: failed_precondition (the runner was created without the option `profile`); unimplemented
 * (this kind of runner has no profile). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_profile(poprt_runner* runner,
                                                           poprt_string** out_json);
/* Compiles shapes of a model whose shapes are compiled on demand, and waits until they are ready.
 * The text has a line NAME=d0,d1,... for each input, for example "ids=1,16/1,64\nmask=1,16/1,64";
 * slashes separate several shapes, and an input with one shape has it in all of them. Inputs whose
 * sizes follow from the others may be left out. Thread-safe. Errors: invalid_argument (the text is
 * ill-formed, or a shape contradicts the model); unimplemented (the shapes of the runner are
 * fixed); failed_precondition (there is no compiler library). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_warm_up(poprt_runner* runner,
                                                           const char* shapes);
/* A JSON object with the dimensions of all inputs and outputs, which states the sizes that requests
 * decide. It is {"on_demand": true, "inputs": {"ids": ["batch", "length"]}, "outputs": {"scores":
 * ["batch", 10, null]}}. A text is the name of a size that may be any, because shapes are compiled
 * on demand; dimensions with the same name have the same size. Null is a size that is known when
 * the shape of a request is compiled. A number is a fixed size, or the largest one if the model was
 * compiled at several shapes. "on_demand" is false if no size is open. Thread-safe. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_open_dimensions(const poprt_runner* runner,
                                                                   poprt_string** out_json);
/* Ends the runner. Waiting requests are cancelled, and the request on the device ends early with
 * cancelled. Later requests fail with cancelled. The request on the device ends after at most about
 * 5 ms of work, unless a kernel computes longer in one piece (a TopK of one row, a matrix inverse).
 * The call returns when no request is left. It may be called twice, and from any thread but that of
 * a callback. Since 0.1. */
POPRT_API void poprt_runner_stop(poprt_runner* runner);
/* Lets incomplete batches run at once from now on: requests do not wait for others that would fill
 * their batch. Nothing changes for a runner that packs sequences, whose requests wait at most its
 * timeout. Call it before the last requests if `timeout_ns` has no limit. Thread-safe; also in
 * callbacks. Since 1.0. */
POPRT_API void poprt_runner_drain(poprt_runner* runner);
/* </functions:runner> */

/* Null is allowed. Requests that have not begun fail with cancelled, and the running ones are
 * completed. When the call returns, every request is complete, none of their memory is in use,
 * and the device is free (if called in a callback of the runner: soon after the callback has
 * returned). No other call on the runner may be in progress or follow. Any thread, also in
 * callbacks. Since 0.1. */
POPRT_API void poprt_runner_free(poprt_runner* runner);

#ifdef __cplusplus
}
#endif
#endif

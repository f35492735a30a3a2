/* Further kinds of runners. All have type poprt_runner, and the functions of poprt/runner.h apply.
 *
 * Example:
 *     static poprt_runner* pack(const poprt_executable* bert) {
 *       poprt_runner* runner = NULL;
 *       poprt_pack_runner_options options = {0};
 *       options.struct_size = sizeof options;
 *       options.timeout_microseconds = 15000;
 *       options.dynamic_input_name = "input_ids";
 *       check(poprt_pack_runner_create(bert, &options, &runner));
 *       return runner;
 *     }
 */
#ifndef POPRT_RUNNERS_H
#define POPRT_RUNNERS_H

#include "poprt/runner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a fused model, whose anchors are called "graphK/NAME". A request names anchors of one
 * graph, and the runner sets the input "index". Unless no_validate_io_params is set, names and
 * sizes are checked against that graph. Errors: failed_precondition (not a fused model), and
 * those of poprt_runner_create. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_fusion_runner_create(
    const poprt_executable* executable, const poprt_runner_options* options,
    poprt_runner** out_runner);

typedef int32_t poprt_pack_algorithm;
enum { POPRT_PACK_NEXT_FIT = 0, POPRT_PACK_FIRST_FIT = 1 };

/* Set struct_size to sizeof(poprt_pack_runner_options) and the rest to zero. */
typedef struct poprt_pack_runner_options {
  size_t struct_size;
  const poprt_runner_options* runner; /* options of the underlying runner; may be null */
  int64_t timeout_microseconds;       /* from the first item of a pack until its submission; must
                                       * be set */
  uint64_t max_valid_num;             /* items per pack; 0: as many as fit */
  const char* dynamic_input_name;     /* the variable-length input, [B, L, ...]; null: as
                                       * recorded in the model, the mask, or the first input */
  const char* unpack_info_input_name; /* s32 lengths; null: as recorded in the model, else input
                                       * "unpack_info" if it is s32, dynamic_input_name is null and
                                       * items may cross rows, else none */
  const char* mask_name;              /* null: none */
  const char* const* dynamic_group;   /* further inputs of the same length; inputs with the rows
                                       * and positions of the dynamic one can be omitted */
  size_t dynamic_group_count;
  poprt_pack_algorithm algorithm; /* the choice of rows if items do not cross them */
  int32_t disable_data_across_rows;
  int64_t compile_batch_size; /* rows; 0: the first of several dimensions of the dynamic input,
                               * else 1 */
  int32_t enable_padding_remove;
  int32_t disable_prefetch_datastreams;
  uint64_t delimiter_num; /* zeros between two items */
} poprt_pack_runner_options;

/* Packs requests of variable length into the compiled batches. The dynamic inputs of a request
 * have the same number of positions. Its outputs have as many, or with unpack_info one item of
 * the output's first dimension. A pack is submitted when it is full, when the next item does not
 * fit, or after the timeout. Errors: invalid_argument (options), failed_precondition (options
 * that do not fit the model), and those of poprt_runner_create. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_pack_runner_create(
    const poprt_executable* executable, const poprt_pack_runner_options* options,
    poprt_runner** out_runner);

/* `tensor_name` is an input of the model that consists of the bytes of several inputs in order. */
typedef struct poprt_host_concat {
  const char* tensor_name;
  const char* const* input_tensor_names;
  size_t input_tensor_count;
  const int64_t* shape; /* of the joined tensor; null: not checked */
  size_t rank;
  uint64_t data_size_bytes; /* of the joined tensor; 0: not checked */
  const uint64_t* sizes;    /* bytes of each input; null: equal parts */
} poprt_host_concat;

/* Set struct_size to sizeof(poprt_host_concat_runner_options) and the rest to zero. */
typedef struct poprt_host_concat_runner_options {
  size_t struct_size;
  const poprt_runner_options* runner;
  const poprt_host_concat* host_concat; /* null: the executable's opaque blob
                                           "HostConcatRunnerConfig" */
  size_t host_concat_count;
} poprt_host_concat_runner_options;

/* Takes the original inputs and joins them at submission. Inputs that are joined only need to be
 * valid until then, the others until the request is done. Errors: not_found (no such input, no
 * configuration), invalid_argument, data_loss (the blob), and those of poprt_runner_create.
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_host_concat_runner_create(
    const poprt_executable* executable, const poprt_host_concat_runner_options* options,
    poprt_runner** out_runner);

/* A runner that can release and reacquire its device, and whose weights can be replaced. It uses
 * only the options threads, device, replica_devices, telemetry, numerics, load, verify and
 * execution_precision; its queue has the default size. poprt_runner_stop frees the device; calls
 * then fail with cancelled. Not thread-safe. Errors: those of poprt_runner_create. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_light_runner_create(const poprt_executable* executable,
                                                                const poprt_runner_options* options,
                                                                poprt_runner** out_runner);
/* Acquires a device again after poprt_runner_stop; otherwise has no effect. Errors: as create,
 * and invalid_argument for a runner of another kind (also for the functions below). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_light_runner_reload(poprt_runner* runner);
/* Copies new bytes for an input that the executable contains. They take effect with
 * poprt_light_runner_update_weights. Errors: not_found, invalid_argument (size),
 * failed_precondition (an input of requests, or the random seed). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_light_runner_set_input_anchor(poprt_runner* runner,
                                                                          const char* name,
                                                                          const void* data,
                                                                          size_t bytes);
/* Makes the next run use the new inputs. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_light_runner_update_weights(poprt_runner* runner);
/* All inputs, including those that the executable contains. 0 and null for other kinds of
 * runners and out of range. Borrowed from the runner. Since 0.1. */
POPRT_API size_t poprt_light_runner_model_input_count(const poprt_runner* runner);
POPRT_API const poprt_anchor* poprt_light_runner_model_input(const poprt_runner* runner,
                                                             size_t index);
POPRT_API int32_t poprt_light_runner_model_input_has_data(const poprt_runner* runner, size_t index);

#ifdef __cplusplus
}
#endif
#endif

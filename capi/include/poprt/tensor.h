/* Tensors with type and shape, and outputs that the library allocates.
 *
 * Example:
 *     static void run_once(const poprt_executable* model, float* image) {
 *       const int64_t shape[] = {8, 1, 8, 8};
 *       const poprt_tensor in[] = {{"image", 0, image, 0, POPRT_DTYPE_F32, 0, shape, 4}};
 *       poprt_runner* runner = NULL;
 *       poprt_outputs* outputs = NULL;
 *       check(poprt_runner_create(model, NULL, &runner));
 *       check(poprt_runner_run(runner, in, 1, &outputs));
 *       const poprt_tensor* scores = poprt_outputs_at(outputs, 0);
 *       printf("%s: %g\n", scores->name, (double)((const float*)scores->data)[0]);
 *       poprt_outputs_free(outputs);
 *       poprt_runner_free(runner);
 *     }
 */
#ifndef POPRT_TENSOR_H
#define POPRT_TENSOR_H

#include "poprt/anchor.h"
#include "poprt/error.h"
#include "poprt/runner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of one input or output of a request with its type and shape. Inputs are only read. */
typedef struct poprt_tensor {
  const char* name; /* of the anchor; null: `index` */
  size_t index;
  void* data;
  size_t bytes;      /* 0: computed from dtype and shape */
  poprt_dtype dtype; /* POPRT_DTYPE_UNDEFINED: dtype and shape are not checked */
  int32_t reserved;  /* 0 */
  const int64_t* shape;
  size_t rank;
} poprt_tensor;

/* poprt_runner_execute with checks of dtypes and shapes, which must be the anchor's. A request of N
 * whole batches has shape [N, ...] before the anchor's own, or N times its first dimension. With
 * batching_dim, that dimension may have any size. A runner of several shapes, or one that compiles
 * shapes on demand, accepts all of its shapes. A pack runner only checks dtypes. Errors: as
 * poprt_runner_execute; invalid_argument contains the input or output, the expected and the given
 * type. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_execute_tensors(poprt_runner* runner,
                                                                   const poprt_tensor* inputs,
                                                                   size_t input_count,
                                                                   const poprt_tensor* outputs,
                                                                   size_t output_count);

/* poprt_runner_submit with the same checks. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_submit_tensors(
    poprt_runner* runner, const poprt_tensor* inputs, size_t input_count,
    const poprt_tensor* outputs, size_t output_count, const poprt_request_options* options,
    poprt_request** out_request);

/* Memory for the outputs of one request. Only one thread at a time may use it, except for free. */
typedef struct poprt_outputs poprt_outputs;

/* Runs the model, allocates outputs for as many rows as the inputs have, and crops them (see
 * poprt_outputs_crop). Errors: as poprt_runner_execute_tensors, resource_exhausted. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_runner_run(poprt_runner* runner,
                                                       const poprt_tensor* inputs,
                                                       size_t input_count,
                                                       poprt_outputs** out_outputs);

/* The first part of poprt_runner_run: checks the inputs and allocates memory, 64-byte aligned
 * and not initialised. Pass all of its tensors to poprt_runner_submit_tensors, and crop them
 * when the request is done. Errors: as poprt_runner_run. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_outputs_create(poprt_runner* runner,
                                                           const poprt_tensor* inputs,
                                                           size_t input_count,
                                                           poprt_outputs** out_outputs);

/* The last part of poprt_runner_run: if output NAME:shape contains the real size of output NAME,
 * NAME gets that shape with dense elements, and NAME:shape is removed. Both are unchanged if the
 * elements of NAME have less than 8 bits, or if the request is not exactly one run of the model.
 * Errors: invalid_argument (null), data_loss (an invalid size). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_outputs_crop(poprt_outputs* outputs);

/* The tensors in the model's order. Memory and strings are borrowed from `outputs`, and cropping
 * changes them. Null if out of range. Since 1.0. */
POPRT_API size_t poprt_outputs_count(const poprt_outputs* outputs);
POPRT_API const poprt_tensor* poprt_outputs_at(const poprt_outputs* outputs, size_t index);

/* Null is allowed. Must not be called while a request writes to the memory. Any thread.
 * Since 1.0. */
POPRT_API void poprt_outputs_free(poprt_outputs* outputs);

#ifdef __cplusplus
}
#endif
#endif

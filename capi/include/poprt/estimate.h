/* Estimates the cost of a model on a real IPU: cycles, memory of the tiles, and whether it fits. An
 * estimate is a function of shapes, types and options; it reads no value of a tensor and measures
 * nothing. docs/chip.md states its accuracy.
 *
 * Example:
 *     poprt_compiler* compiler = NULL;
 *     poprt_estimate* estimate = NULL;
 *     check(poprt_compiler_create(NULL, &compiler));
 *     check(poprt_compiler_estimate_file(compiler, "model.onnx", &estimate));
 *     printf("%lld cycles%s\n", (long long)poprt_estimate_cycles(estimate),
 *            poprt_estimate_fits(estimate) ? "" : ", does not fit");
 *     poprt_estimate_free(estimate);
 *     poprt_compiler_free(compiler);
 */
#ifndef POPRT_ESTIMATE_H
#define POPRT_ESTIMATE_H

#include "poprt/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The cost of a model on a chip. Immutable: several threads may use one. */
typedef struct poprt_estimate poprt_estimate;

/* Estimates an ONNX model with the options of the compiler. The option estimate_target selects the
 * chip, without it ipu_version, and without both the chip is c600. The options precision,
 * input_shape, batch_size, max_size (also the rounds of loops), num_io_tiles, batches_per_step,
 * available_memory_proportion, those of passes, replicatedGraphCount of popart_options, and these
 * lines of compiler_options act on the estimate: num_ipus (with virtual_graph_mode), partials_type,
 * use_128bit_conv_unit_load, enable_fast_reduce, enable_multi_stage_reduce, enable_pipelining,
 * enable_outlining, outline_threshold, stream_buffering_depth, enable_prefetch_datastreams,
 * group_host_sync, rearrange_streams_on_host, rearrange_anchors_on_host, enable_non_stable_softmax.
 * The precision fp8 needs the option estimate_target, or ipu_version ipu21. Files of external data
 * may be missing. With several shapes, the largest one is estimated. A model that does not fit is
 * no error. Errors: as poprt_compiler_compile_file. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_estimate_file(const poprt_compiler* compiler,
                                                                   const char* onnx_path,
                                                                   poprt_estimate** out_estimate);

/* <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write */
/* The name of the chip. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_target(const poprt_estimate* estimate,
                                                            poprt_string** out_text);
/* The cycles of the device for one batch. Since 1.0. */
POPRT_API int64_t poprt_estimate_cycles(const poprt_estimate* estimate);
/* The number of samples of one batch. Since 1.0. */
POPRT_API int64_t poprt_estimate_samples(const poprt_estimate* estimate);
/* The time of the device for one batch. Since 1.0. */
POPRT_API double poprt_estimate_milliseconds(const poprt_estimate* estimate);
/* The time from batch to batch in the steady state, with the transfers of the host. Since 1.0. */
POPRT_API double poprt_estimate_period_milliseconds(const poprt_estimate* estimate);
/* The time of a batch that runs alone, with the transfers of the host. Since 1.0. */
POPRT_API double poprt_estimate_latency_milliseconds(const poprt_estimate* estimate);
/* The time of the transfers of one batch between the host and the chip. Since 1.0. */
POPRT_API double poprt_estimate_host_milliseconds(const poprt_estimate* estimate);
/* The samples per second in the steady state. Since 1.0. */
POPRT_API double poprt_estimate_throughput(const poprt_estimate* estimate);
/* The fraction of the largest number of half-precision products that the chip could compute in the
 * same cycles. Since 1.0. */
POPRT_API double poprt_estimate_utilization(const poprt_estimate* estimate);
/* The bytes that the busiest tile needs, with gaps between its variables. Since 1.0. */
POPRT_API size_t poprt_estimate_tile_bytes(const poprt_estimate* estimate);
/* The bytes of a tile of the chip. Since 1.0. */
POPRT_API size_t poprt_estimate_available_bytes(const poprt_estimate* estimate);
/* Whether the memory of every tile suffices, and the host has room for the buffers of every stream.
 * Since 1.0. */
POPRT_API int32_t poprt_estimate_fits(const poprt_estimate* estimate);
/* How well the cycles are known: calibrated, checked or unchecked, and the error that was measured
 * for programs of this class. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_cycle_quality(const poprt_estimate* estimate,
                                                                   poprt_string** out_text);
/* How well the bytes are known: calibrated, checked or unchecked, and the error that was measured.
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_memory_quality(const poprt_estimate* estimate,
                                                                    poprt_string** out_text);
/* How well the times of the host are known: calibrated, checked or unchecked, and the error that
 * was measured. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_host_quality(const poprt_estimate* estimate,
                                                                  poprt_string** out_text);
/* All numbers of the estimate as a JSON object, the output of `poprt_exec estimate --json
 * --verbose`. Later versions may add keys. {"cycles", "milliseconds", "fits", "samples",
 * "throughput", "period_milliseconds", "latency_milliseconds", "host_milliseconds",
 * "fill_milliseconds", "wait_milliseconds", "stream_bytes", "input_bytes", "output_bytes", "flops",
 * "utilization", "tile_balance", "phases", "quality", "target", "options", "stage_cycles",
 * "stages", "pipeline_rounds", "memory": [{"ipu", "tile", "bytes", "bytes_with_gaps", "available",
 * "always_live", "total_bytes", "io_tile_bytes", "code_bytes", "fits", "by_category", "largest",
 * "errors", "by_tile", "liveness"}...], "remedies", "operators", "without_rule", "assumptions",
 * "operations": [{"name", "type", "ipu", "cycles", "flops", "temporary_bytes", "has_rule", "steps",
 * "plan"}...]}. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_json(const poprt_estimate* estimate,
                                                          poprt_string** out_text);
/* The estimate as text for people. The format may change. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_report(const poprt_estimate* estimate,
                                                            poprt_string** out_text);
/* A picture as SVG: memory by tile, memory over time, phases of the operations, and cycles by
 * operator. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_estimate_svg(const poprt_estimate* estimate,
                                                         poprt_string** out_text);
/* </functions:estimate> */

/* Null is allowed. Any thread. Since 1.0. */
POPRT_API void poprt_estimate_free(poprt_estimate* estimate);

#ifdef __cplusplus
}
#endif
#endif

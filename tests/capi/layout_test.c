/* Structs change only at their end: lines may be added here, and existing lines must not change. */
#include "common.h"

#define AT(type, field, offset) assert_int_equal(offsetof(type, field), offset)

static void structs_stay_as_they_are(void** state) {
  (void)state;
  if (sizeof(void*) != 8) skip();

  assert_int_equal(sizeof(poprt_input_shape), 24);
  AT(poprt_input_shape, name, 0);
  AT(poprt_input_shape, shape, 8);
  AT(poprt_input_shape, rank, 16);

  AT(poprt_compile_options, struct_size, 0);
  AT(poprt_compile_options, input_shapes, 8);
  AT(poprt_compile_options, input_shape_count, 16);
  AT(poprt_compile_options, batch_size, 24);
  AT(poprt_compile_options, batch_axis, 32);
  AT(poprt_compile_options, precision, 40);
  AT(poprt_compile_options, no_verify, 44);
  AT(poprt_compile_options, passes, 48);
  AT(poprt_compile_options, pass_count, 56);
  AT(poprt_compile_options, skip_passes, 64);
  AT(poprt_compile_options, skip_pass_count, 72);
  AT(poprt_compile_options, max_tensor_size, 80);
  AT(poprt_compile_options, rewrite_limit, 88);
  AT(poprt_compile_options, stop_after, 96);
  AT(poprt_compile_options, progress, 104);
  AT(poprt_compile_options, after_pass, 112);
  AT(poprt_compile_options, user_data, 120);
  AT(poprt_compile_options, outputs, 128);
  AT(poprt_compile_options, output_count, 136);
  AT(poprt_compile_options, convert_version, 144);
  AT(poprt_compile_options, enable_engine_caching, 152);
  AT(poprt_compile_options, allow_links, 156);
  AT(poprt_compile_options, cache_path, 160);
  AT(poprt_compile_options, variable_weights, 168);
  AT(poprt_compile_options, reserved_2, 172);
  AT(poprt_compile_options, input_lengths, 176);
  AT(poprt_compile_options, input_length_count, 184);
  AT(poprt_compile_options, opaque_blobs, 192);
  AT(poprt_compile_options, opaque_blob_count, 200);
  AT(poprt_compile_options, strict, 208);
  AT(poprt_compile_options, winograd, 212);
  AT(poprt_compile_options, options, 216);
  AT(poprt_compile_options, option_count, 224);
  AT(poprt_compile_options, embed_source, 232);
  AT(poprt_compile_options, reserved_3, 236);
  AT(poprt_compile_options, max_padding, 240);
  AT(poprt_compile_options, stop, 248);
  AT(poprt_compile_options, load, 256);
  AT(poprt_compile_options, shapes, 264);
  assert_int_equal(sizeof(poprt_compile_options), 272);

  AT(poprt_option, name, 0);
  AT(poprt_option, value, 8);
  assert_int_equal(sizeof(poprt_option), 16);

  AT(poprt_pass_call, name, 0);
  AT(poprt_pass_call, arguments, 8);
  AT(poprt_pass_call, argument_count, 16);
  assert_int_equal(sizeof(poprt_pass_call), 24);

  AT(poprt_apply_options, struct_size, 0);
  AT(poprt_apply_options, sort, 8);
  AT(poprt_apply_options, no_verify, 12);
  AT(poprt_apply_options, allow_links, 16);
  AT(poprt_apply_options, strict, 20);
  AT(poprt_apply_options, rewrite_limit, 24);
  AT(poprt_apply_options, after_pass, 32);
  AT(poprt_apply_options, text, 40);
  AT(poprt_apply_options, user_data, 48);
  assert_int_equal(sizeof(poprt_apply_options), 56);

  AT(poprt_opaque_blob, name, 0);
  AT(poprt_opaque_blob, data, 8);
  AT(poprt_opaque_blob, bytes, 16);
  assert_int_equal(sizeof(poprt_opaque_blob), 24);

  AT(poprt_input_length, name, 0);
  AT(poprt_input_length, length, 8);
  assert_int_equal(sizeof(poprt_input_length), 16);

  AT(poprt_open_options, struct_size, 0);
  AT(poprt_open_options, ignore_package_hash, 8);
  AT(poprt_open_options, reserved, 12);
  AT(poprt_open_options, executable, 16);
  assert_int_equal(sizeof(poprt_open_options), 24);

  AT(poprt_device_manager_options, struct_size, 0);
  AT(poprt_device_manager_options, device_count, 8);
  AT(poprt_device_manager_options, reserved, 12);
  AT(poprt_device_manager_options, shared, 16);
  AT(poprt_device_manager_options, visible, 24);
  assert_int_equal(sizeof(poprt_device_manager_options), 32);

  AT(poprt_device_request, num_ipus, 8);
  AT(poprt_device_request, min_tiles, 16);
  AT(poprt_device_request, ipu_version, 24);
  AT(poprt_device_request, remote_buffers, 28);
  AT(poprt_device_request, wait_strategy, 32);
  AT(poprt_device_request, reserved, 36);
  AT(poprt_device_request, wait_timeout_ns, 40);
  AT(poprt_device_request, wait_sleep_ns, 48);
  assert_int_equal(sizeof(poprt_device_request), 56);

  AT(poprt_session_options, threads, 8);
  AT(poprt_session_options, profile, 12);
  AT(poprt_session_options, device, 16);
  AT(poprt_session_options, deferred, 24);
  AT(poprt_session_options, exclusive, 28);
  AT(poprt_session_options, telemetry, 32);
  AT(poprt_session_options, wait_strategy, 36);
  AT(poprt_session_options, wait_timeout_ns, 40);
  AT(poprt_session_options, wait_sleep_ns, 48);
  AT(poprt_session_options, predicate, 56);
  AT(poprt_session_options, predicate_data, 64);
  assert_int_equal(sizeof(poprt_session_options), 72);

  AT(poprt_generator_options, max_length, 8);
  AT(poprt_generator_options, slots, 16);
  AT(poprt_generator_options, prefill, 24);
  AT(poprt_generator_options, threads, 32);
  AT(poprt_generator_options, reuse_prefixes, 36);
  AT(poprt_generator_options, compiler, 40);
  AT(poprt_generator_options, encoder_length, 48);
  AT(poprt_generator_options, states, 56);
  AT(poprt_generator_options, cache_precision, 64);
  assert_int_equal(sizeof(poprt_generator_options), 72);

  AT(poprt_stream_callbacks, prefetch, 8);
  AT(poprt_stream_callbacks, fetch, 16);
  AT(poprt_stream_callbacks, complete, 24);
  AT(poprt_stream_callbacks, invalidate_prefetched, 32);
  AT(poprt_stream_callbacks, interrupt, 40);
  AT(poprt_stream_callbacks, user_data, 48);
  assert_int_equal(sizeof(poprt_stream_callbacks), 56);

  AT(poprt_queue_options, buffers, 8);
  AT(poprt_queue_options, timeout_ns, 16);
  AT(poprt_queue_options, timeout, 24);
  AT(poprt_queue_options, timeout_data, 32);
  AT(poprt_queue_options, predicate, 40);
  AT(poprt_queue_options, predicate_data, 48);
  assert_int_equal(sizeof(poprt_queue_options), 56);

  AT(poprt_runner_options, struct_size, 0);
  AT(poprt_runner_options, threads, 8);
  AT(poprt_runner_options, profile, 12);
  AT(poprt_runner_options, device, 16);
  AT(poprt_runner_options, queue_depth, 24);
  AT(poprt_runner_options, telemetry, 28);
  AT(poprt_runner_options, timeout_ns, 32);
  AT(poprt_runner_options, not_thread_safe, 40);
  AT(poprt_runner_options, no_validate_io_params, 44);
  AT(poprt_runner_options, use_batching_dim, 48);
  AT(poprt_runner_options, batching_dim, 52);
  AT(poprt_runner_options, ring_buffer_size_multiplier, 56);
  AT(poprt_runner_options, auto_reset, 60);
  AT(poprt_runner_options, flush_on_waiting_outputs, 64);
  AT(poprt_runner_options, is_batch_size_timeout_enabled, 68);
  AT(poprt_runner_options, batch_size_timeout_ns, 72);
  AT(poprt_runner_options, data_parallel_timeout_ns, 80);
  AT(poprt_runner_options, request_tracepoints_buffer_size, 88);
  AT(poprt_runner_options, replication_factor, 96);
  AT(poprt_runner_options, overlap_io, 100);
  AT(poprt_runner_options, batches_per_step, 104);
  AT(poprt_runner_options, replica_devices, 112);
  AT(poprt_runner_options, replica_device_count, 120);
  AT(poprt_runner_options, frozen_inputs, 128);
  AT(poprt_runner_options, frozen_input_count, 136);
  AT(poprt_runner_options, flush_inputs, 144);
  AT(poprt_runner_options, flush_input_count, 152);
  AT(poprt_runner_options, flush_outputs, 160);
  AT(poprt_runner_options, flush_output_count, 168);
  AT(poprt_runner_options, device_wait_timeout_ns, 176);
  AT(poprt_runner_options, device_wait_sleep_ns, 184);
  AT(poprt_runner_options, faults, 192);
  AT(poprt_runner_options, numerics, 200);
  AT(poprt_runner_options, shared_devices, 208);
  AT(poprt_runner_options, load, 216);
  AT(poprt_runner_options, verify, 224);
  AT(poprt_runner_options, max_shapes, 228);
  AT(poprt_runner_options, execution_precision, 232);
  AT(poprt_runner_options, max_shape_memory, 240);
  assert_int_equal(sizeof(poprt_runner_options), 248);

  AT(poprt_replica_device, replica, 0);
  AT(poprt_replica_device, device, 8);
  assert_int_equal(sizeof(poprt_replica_device), 16);

  AT(poprt_runner_counters, struct_size, 0);
  AT(poprt_runner_counters, submitted, 8);
  AT(poprt_runner_counters, completed, 16);
  AT(poprt_runner_counters, failed, 24);
  AT(poprt_runner_counters, cancelled, 32);
  AT(poprt_runner_counters, timed_out, 40);
  AT(poprt_runner_counters, rows, 48);
  AT(poprt_runner_counters, padded_rows, 56);
  AT(poprt_runner_counters, batches, 64);
  AT(poprt_runner_counters, steps, 72);
  AT(poprt_runner_counters, device_errors, 80);
  AT(poprt_runner_counters, resets, 88);
  AT(poprt_runner_counters, in_flight, 96);
  AT(poprt_runner_counters, queue_capacity, 104);
  AT(poprt_runner_counters, latency_count, 112);
  AT(poprt_runner_counters, latency_total_ns, 120);
  AT(poprt_runner_counters, latency_max_ns, 128);
  AT(poprt_runner_counters, latency_p50_ns, 136);
  AT(poprt_runner_counters, latency_p99_ns, 144);
  AT(poprt_runner_counters, latency_buckets, 152);
  AT(poprt_runner_counters, replicas, 472);
  assert_int_equal(sizeof(poprt_runner_counters), 480);

  AT(poprt_request_options, struct_size, 0);
  AT(poprt_request_options, timeout_ns, 8);
  AT(poprt_request_options, callback, 16);
  AT(poprt_request_options, user_data, 24);
  AT(poprt_request_options, when_full, 32);
  AT(poprt_request_options, reserved, 36);
  AT(poprt_request_options, use_replica, 40);
  AT(poprt_request_options, replica, 44);
  AT(poprt_request_options, at_once, 48);
  AT(poprt_request_options, reserved_2, 52);
  assert_int_equal(sizeof(poprt_request_options), 56);

  AT(poprt_pack_runner_options, struct_size, 0);
  AT(poprt_pack_runner_options, runner, 8);
  AT(poprt_pack_runner_options, timeout_microseconds, 16);
  AT(poprt_pack_runner_options, max_valid_num, 24);
  AT(poprt_pack_runner_options, dynamic_input_name, 32);
  AT(poprt_pack_runner_options, unpack_info_input_name, 40);
  AT(poprt_pack_runner_options, mask_name, 48);
  AT(poprt_pack_runner_options, dynamic_group, 56);
  AT(poprt_pack_runner_options, dynamic_group_count, 64);
  AT(poprt_pack_runner_options, algorithm, 72);
  AT(poprt_pack_runner_options, disable_data_across_rows, 76);
  AT(poprt_pack_runner_options, compile_batch_size, 80);
  AT(poprt_pack_runner_options, enable_padding_remove, 88);
  AT(poprt_pack_runner_options, disable_prefetch_datastreams, 92);
  AT(poprt_pack_runner_options, delimiter_num, 96);
  assert_int_equal(sizeof(poprt_pack_runner_options), 104);

  AT(poprt_host_concat, tensor_name, 0);
  AT(poprt_host_concat, input_tensor_names, 8);
  AT(poprt_host_concat, input_tensor_count, 16);
  AT(poprt_host_concat, shape, 24);
  AT(poprt_host_concat, rank, 32);
  AT(poprt_host_concat, data_size_bytes, 40);
  AT(poprt_host_concat, sizes, 48);
  assert_int_equal(sizeof(poprt_host_concat), 56);

  AT(poprt_host_concat_runner_options, struct_size, 0);
  AT(poprt_host_concat_runner_options, runner, 8);
  AT(poprt_host_concat_runner_options, host_concat, 16);
  AT(poprt_host_concat_runner_options, host_concat_count, 24);
  assert_int_equal(sizeof(poprt_host_concat_runner_options), 32);

  AT(poprt_input, name, 0);
  AT(poprt_input, index, 8);
  AT(poprt_input, data, 16);
  AT(poprt_input, bytes, 24);
  assert_int_equal(sizeof(poprt_input), 32);

  AT(poprt_tensor, name, 0);
  AT(poprt_tensor, index, 8);
  AT(poprt_tensor, data, 16);
  AT(poprt_tensor, bytes, 24);
  AT(poprt_tensor, dtype, 32);
  AT(poprt_tensor, reserved, 36);
  AT(poprt_tensor, shape, 40);
  AT(poprt_tensor, rank, 48);
  assert_int_equal(sizeof(poprt_tensor), 56);

  AT(poprt_output, name, 0);
  AT(poprt_output, index, 8);
  AT(poprt_output, data, 16);
  AT(poprt_output, bytes, 24);
  assert_int_equal(sizeof(poprt_output), 32);

  AT(poprt_popef_anchor, struct_size, 0);
  AT(poprt_popef_anchor, name, 8);
  AT(poprt_popef_anchor, handle, 16);
  AT(poprt_popef_anchor, type, 24);
  AT(poprt_popef_anchor, dtype, 28);
  AT(poprt_popef_anchor, shape, 32);
  AT(poprt_popef_anchor, rank, 40);
  AT(poprt_popef_anchor, programs, 48);
  AT(poprt_popef_anchor, program_count, 56);
  AT(poprt_popef_anchor, is_per_replica, 64);
  AT(poprt_popef_anchor, reserved, 68);
  assert_int_equal(sizeof(poprt_popef_anchor), 72);

  AT(poprt_popef_blob_info, struct_size, 0);
  AT(poprt_popef_blob_info, type, 8);
  AT(poprt_popef_blob_info, compressed, 12);
  AT(poprt_popef_blob_info, name, 16);
  AT(poprt_popef_blob_info, executable, 24);
  AT(poprt_popef_blob_info, dtype, 32);
  AT(poprt_popef_blob_info, reserved, 36);
  AT(poprt_popef_blob_info, shape, 40);
  AT(poprt_popef_blob_info, rank, 48);
  AT(poprt_popef_blob_info, tensor_count, 56);
  AT(poprt_popef_blob_info, bytes, 64);
  assert_int_equal(sizeof(poprt_popef_blob_info), 72);

  AT(poprt_popef_source, struct_size, 0);
  AT(poprt_popef_source, size, 8);
  AT(poprt_popef_source, read, 16);
  AT(poprt_popef_source, release, 24);
  AT(poprt_popef_source, user_data, 32);
  assert_int_equal(sizeof(poprt_popef_source), 40);
}

static void what_plugins_see_stays_as_it_is(void** state) {
  (void)state;
  if (sizeof(void*) != 8) skip();

  AT(poprt_op_tensor, struct_size, 0);
  AT(poprt_op_tensor, dtype, 8);
  AT(poprt_op_tensor, rank, 12);
  AT(poprt_op_tensor, shape, 16);
  AT(poprt_op_tensor, data, 24);
  AT(poprt_op_tensor, bytes, 32);
  assert_int_equal(sizeof(poprt_op_tensor), 40);

  AT(poprt_op_call, struct_size, 0);
  AT(poprt_op_call, host, 8);
  AT(poprt_op_call, node, 16);
  AT(poprt_op_call, input_count, 24);
  AT(poprt_op_call, inputs, 32);
  AT(poprt_op_call, output_count, 40);
  AT(poprt_op_call, outputs, 48);
  assert_int_equal(sizeof(poprt_op_call), 56);

  AT(poprt_op_host, struct_size, 0);
  AT(poprt_op_host, get_int, 8);
  AT(poprt_op_host, get_tensor, 48);
  AT(poprt_op_host, set_output, 56);
  AT(poprt_op_host, fail, 64);
  AT(poprt_op_host, log, 72);
  assert_int_equal(sizeof(poprt_op_host), 80);

  AT(poprt_op_cost, cycles, 8);
  AT(poprt_op_cost, flops, 16);
  AT(poprt_op_cost, tile_bytes, 24);
  assert_int_equal(sizeof(poprt_op_cost), 32);

  AT(poprt_operator, domain, 8);
  AT(poprt_operator, name, 16);
  AT(poprt_operator, version, 24);
  AT(poprt_operator, flags, 28);
  AT(poprt_operator, infer, 32);
  AT(poprt_operator, prepare, 40);
  AT(poprt_operator, compute, 48);
  AT(poprt_operator, release, 56);
  AT(poprt_operator, cost, 64);
  AT(poprt_operator, user_data, 72);
  AT(poprt_operator, parts, 80);
  AT(poprt_operator, compute_part, 88);
  assert_int_equal(sizeof(poprt_operator), 96);

  AT(poprt_graph_host, graph_name, 8);
  AT(poprt_graph_host, node_graph, 48);
  AT(poprt_graph_host, attribute_count, 120);
  AT(poprt_graph_host, value_name, 200);
  AT(poprt_graph_host, add_node, 248);
  AT(poprt_graph_host, set_name, 264);
  AT(poprt_graph_host, remove_attribute, 328);
  AT(poprt_graph_host, replace_value, 336);
  AT(poprt_graph_host, erase_node, 344);
  AT(poprt_graph_host, infer, 352);
  AT(poprt_graph_host, fail, 360);
  AT(poprt_graph_host, log, 368);
  AT(poprt_graph_host, get_parameter, 376);
  assert_int_equal(sizeof(poprt_graph_host), 384);

  AT(poprt_pass, name, 8);
  AT(poprt_pass, summary, 16);
  AT(poprt_pass, condition, 24);
  AT(poprt_pass, run, 32);
  AT(poprt_pass, user_data, 40);
  AT(poprt_pass, parameters, 48);
  AT(poprt_pass, parameter_count, 56);
  assert_int_equal(sizeof(poprt_pass), 64);
  AT(poprt_pass_parameter, name, 8);
  AT(poprt_pass_parameter, summary, 16);
  AT(poprt_pass_parameter, kind, 24);
  AT(poprt_pass_parameter, required, 28);
  AT(poprt_pass_parameter, standard, 32);
  assert_int_equal(sizeof(poprt_pass_parameter), 40);

  AT(poprt_pattern, name, 8);
  AT(poprt_pattern, summary, 16);
  AT(poprt_pattern, enabled, 24);
  AT(poprt_pattern, mandatory, 28);
  AT(poprt_pattern, matches, 32);
  AT(poprt_pattern, apply, 40);
  AT(poprt_pattern, user_data, 48);
  assert_int_equal(sizeof(poprt_pattern), 56);

  AT(poprt_transform, name, 8);
  AT(poprt_transform, summary, 16);
  AT(poprt_transform, apply, 24);
  AT(poprt_transform, user_data, 32);
  assert_int_equal(sizeof(poprt_transform), 40);

  AT(poprt_plugin_host, poprt_version, 8);
  AT(poprt_plugin_host, add_operator, 16);
  AT(poprt_plugin_host, add_pass, 24);
  AT(poprt_plugin_host, add_pattern, 32);
  AT(poprt_plugin_host, add_transform, 40);
  AT(poprt_plugin_host, fail, 48);
  AT(poprt_plugin_host, log, 56);
  assert_int_equal(sizeof(poprt_plugin_host), 64);

  AT(poprt_plugin, abi, 0);
  AT(poprt_plugin, struct_size, 8);
  AT(poprt_plugin, name, 16);
  AT(poprt_plugin, version, 24);
  AT(poprt_plugin, init, 32);
  assert_int_equal(sizeof(poprt_plugin), 40);

  assert_int_equal(POPRT_PLUGIN_ABI, 1);
  assert_int_equal(POPRT_OPERATOR_HALF, 4);
  assert_int_equal(POPRT_OPERATOR_PER_SAMPLE, 8);
  assert_int_equal(POPRT_ATTRIBUTE_GRAPHS, 10);
}

static void numbers_stay_as_they_are(void** state) {
  (void)state;
  assert_int_equal(sizeof(poprt_error_code), 4);
  assert_int_equal(sizeof(poprt_dtype), 4);
  assert_int_equal(POPRT_CANCELLED, 1);
  assert_int_equal(POPRT_DATA_LOSS, 15);
  assert_int_equal(POPRT_DTYPE_F32, 1);
  assert_int_equal(POPRT_DTYPE_BOOL, 13);
  assert_int_equal(POPRT_DTYPE_C128, 27);
  assert_int_equal(POPRT_DTYPE_F8E8M0, 28);
  assert_int_equal(POPRT_DTYPE_F8, 29);
  assert_int_equal(POPRT_PRECISION_FP16, 2);
  assert_int_equal(POPRT_LATENCY_BUCKETS, 40);
  assert_int_equal(POPRT_ALL_REPLICAS, -1);
  assert_int_equal(POPRT_WINOGRAD_DEFAULT, 0);
  assert_int_equal(POPRT_WINOGRAD_OFF, 1);
  assert_int_equal(POPRT_WINOGRAD_EXACT, 2);
  assert_int_equal(POPRT_WINOGRAD_FAST, 3);
  assert_int_equal(POPRT_PACK_FIRST_FIT, 1);
  assert_int_equal(POPRT_POPEF_JSON, 3);
  assert_int_equal(POPRT_POPEF_USER_ANCHORS, 4);
  assert_int_equal(POPRT_POPEF_VERIFY, 5);
  assert_int_equal(POPRT_POPEF_DEVICE_ITERATIONS, 7);
  assert_int_equal(POPRT_POPEF_DEVICE_OPTIONS, 2);
  assert_int_equal(POPRT_POPEF_SAVE, 3);
  assert_int_equal(POPRT_POPEF_OUTPUT, 2);
  assert_int_equal(POPRT_POPEF_OPAQUE, 5);
  assert_int_equal(POPRT_POPEF_APPEND, 1);
  assert_int_equal(POPRT_POPEF_FILE_ERROR, 1);
  assert_int_equal(POPRT_POPEF_SIZE_ERROR, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(structs_stay_as_they_are),
      cmocka_unit_test(what_plugins_see_stays_as_it_is),
      cmocka_unit_test(numbers_stay_as_they_are),
  };
  return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}

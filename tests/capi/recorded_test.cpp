// Records the errors of the functions of the C ABI for wrong calls: null for each pointer, changes
// of each field of their option structs, invalid values of each option by name, and indices after
// the end. A lost check, or a check that refuses a valid call, changes a line.
//
//   POPRT_WRITE_RECORDS=1 capi_recorded_test   # writes the file; read the diff
#include "recorded_support.h"

namespace poprt::test {
namespace {

TEST_F(Recorded, NullsOfCompilersAndExecutables) {
  const int64_t shape[] = {2, 4};
  const poprt_input_shape shapes[] = {{"x", shape, 2}};
  auto options = sized<poprt_compile_options>();
  options.input_shapes = shapes;
  options.input_shape_count = 1;
  poprt_compiler *compiler = nullptr, *made = nullptr;
  poprt_executable *e = nullptr, *copies = executable();
  poprt_string* text = nullptr;
  poprt_popef_model* model = nullptr;
  poprt_popef_metadata* metadata = nullptr;
  ASSERT_EQ(message_for(poprt_compiler_create(&options, &compiler)), "ok");
  const char* onnx = DATA "/identity.onnx";
  const std::string out_text = folder + "/out", other_text = folder + "/other";
  const char *out = out_text.c_str(), *other = other_text.c_str();
  const char* const paths[] = {DATA "/copies.popef"};
  const poprt_executable* const list[] = {copies};
  const auto write = [](const void*, size_t, void*) -> int32_t { return 0; };
  nulls("poprt_compiler_create", poprt_compiler_create, &options, &made);
  nulls("poprt_compiler_compile_file", poprt_compiler_compile_file, compiler, onnx, &e);
  nulls("poprt_compiler_compile_bytes", poprt_compiler_compile_bytes, compiler, "bytes", 5, "/tmp",
        &e);
  nulls("poprt_compiler_compile_to_popef", poprt_compiler_compile_to_popef, compiler, onnx, out);
  nulls("poprt_compiler_convert_file", poprt_compiler_convert_file, compiler, onnx, out);
  nulls("poprt_compiler_fuse_files", poprt_compiler_fuse_files, &onnx, 1, out);
  nulls("poprt_compiler_show_file", poprt_compiler_show_file, compiler, onnx, &text);
  nulls("poprt_compiler_io_stat_file", poprt_compiler_io_stat_file, compiler, onnx, &text);
  nulls("poprt_compiler_list_passes", poprt_compiler_list_passes, &text);
  nulls("poprt_compiler_list_ops", poprt_compiler_list_ops, &text);
  nulls("poprt_compiler_list_options", poprt_compiler_list_options, &text);
  nulls("poprt_compiler_list_passes_json", poprt_compiler_list_passes_json, &text);
  nulls("poprt_executable_load", poprt_executable_load, onnx, &options, &e);
  nulls("poprt_executable_open", poprt_executable_open, paths[0], &e);
  nulls("poprt_executable_open_bytes", poprt_executable_open_bytes, "bytes", 5, &e);
  nulls("poprt_executable_open_files", poprt_executable_open_files, paths, 1, nullptr, &e);
  nulls("poprt_executable_fuse", poprt_executable_fuse, list, 1, &e);
  nulls("poprt_executable_popef_model", poprt_executable_popef_model, copies, &model);
  nulls("poprt_executable_popef_metadata", poprt_executable_popef_metadata, copies, &metadata);
  nulls("poprt_executable_save", poprt_executable_save, copies, out);
  nulls("poprt_executable_save_parts", poprt_executable_save_parts, copies, out, other);
  nulls("poprt_executable_save_bytes", poprt_executable_save_bytes, copies, write, nullptr);
  nulls("poprt_executable_listing", poprt_executable_listing, copies, &text);
  nulls("poprt_popef_dump", poprt_popef_dump, paths[0], POPRT_POPEF_SUMMARY, &text);
  nulls("poprt_popef_export_tensor", poprt_popef_export_tensor, paths[0], "x", nullptr, out);
  nulls("poprt_popef_export_feed", poprt_popef_export_feed, paths[0], "x", nullptr, out);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{99}, SIZE_MAX}) {
    const std::string at = "index " + (i == SIZE_MAX ? "most" : std::to_string(i));
    line("poprt_executable_input", at, message_for(poprt_executable_input(copies, i)));
    line("poprt_executable_output", at, message_for(poprt_executable_output(copies, i)));
    line("poprt_executable_metadata_key", at,
         message_for(poprt_executable_metadata_key(copies, i)));
    line("poprt_executable_metadata_value", at,
         message_for(poprt_executable_metadata_value(copies, i)));
  }
  poprt_compiler_free(compiler);
  poprt_executable_free(copies);
  expect("nulls_compiler");
}

TEST_F(Recorded, NullsOfRunners) {
  poprt_executable* copies = executable();
  poprt_runner *runner = nullptr, *made = nullptr;
  poprt_request* request = nullptr;
  poprt_outputs* outputs = nullptr;
  poprt_string* text = nullptr;
  ASSERT_EQ(message_for(poprt_runner_create(copies, nullptr, &runner)), "ok");
  const auto request_options = sized<poprt_request_options>();
  auto counters = sized<poprt_runner_counters>();
  float data[16] = {}, result[16] = {};
  const poprt_input in = {"x", 0, data, sizeof data};
  const poprt_output out = {"y", 0, result, sizeof result};
  const poprt_tensor tensor = {"x", 0, data, sizeof data, POPRT_DTYPE_F32, 0, nullptr, 0};
  nulls("poprt_runner_create", poprt_runner_create, copies, nullptr, &made);
  nulls("poprt_fusion_runner_create", poprt_fusion_runner_create, copies, nullptr, &made);
  nulls("poprt_pack_runner_create", poprt_pack_runner_create, copies, nullptr, &made);
  nulls("poprt_host_concat_runner_create", poprt_host_concat_runner_create, copies, nullptr, &made);
  nulls("poprt_light_runner_create", poprt_light_runner_create, copies, nullptr, &made);
  nulls("poprt_light_runner_reload", poprt_light_runner_reload, runner);
  nulls("poprt_light_runner_set_input_anchor", poprt_light_runner_set_input_anchor, runner, "x",
        data, sizeof data);
  nulls("poprt_light_runner_update_weights", poprt_light_runner_update_weights, runner);
  nulls("poprt_runner_execute", poprt_runner_execute, runner, &in, 1, &out, 1);
  nulls("poprt_runner_submit", poprt_runner_submit, runner, &in, 1, &out, 1, &request_options,
        &request);
  nulls("poprt_runner_execute_async", poprt_runner_execute_async, runner, &in, 1, &out, 1, nullptr,
        nullptr, &request);
  nulls("poprt_runner_execute_tensors", poprt_runner_execute_tensors, runner, &tensor, 1, &tensor,
        1);
  nulls("poprt_runner_submit_tensors", poprt_runner_submit_tensors, runner, &tensor, 1, &tensor, 1,
        &request_options, &request);
  nulls("poprt_runner_run", poprt_runner_run, runner, &tensor, 1, &outputs);
  nulls("poprt_outputs_create", poprt_outputs_create, runner, &tensor, 1, &outputs);
  nulls("poprt_outputs_crop", poprt_outputs_crop, outputs);
  nulls("poprt_runner_get_counters", poprt_runner_get_counters, runner, 0, &counters);
  nulls("poprt_runner_statistics", poprt_runner_statistics, runner, &text);
  nulls("poprt_runner_open_dimensions", poprt_runner_open_dimensions, runner, &text);
  nulls("poprt_runner_tracepoints", poprt_runner_tracepoints, runner, &text);
  nulls("poprt_runner_profile", poprt_runner_profile, runner, &text);
  for (const int64_t n : {-1, 0, 1, 2, 1024, 1025, 1 << 20})
    line("poprt_runner_get_counters, replica", std::to_string(n),
         message_for(poprt_runner_get_counters(runner, n, &counters)));
  for (const size_t i : {size_t{0}, size_t{1}, size_t{99}, SIZE_MAX}) {
    const std::string at = "index " + (i == SIZE_MAX ? "most" : std::to_string(i));
    line("poprt_runner_input", at, message_for(poprt_runner_input(runner, i)));
    line("poprt_runner_output", at, message_for(poprt_runner_output(runner, i)));
    line("poprt_runner_input_has_data", at, message_for(poprt_runner_input_has_data(runner, i)));
    line("poprt_light_runner_model_input", at,
         message_for(poprt_light_runner_model_input(runner, i)));
  }
  poprt_runner_free(runner);
  poprt_executable_free(copies);
  expect("nulls_runner");
}

TEST_F(Recorded, NullsOfSessions) {
  poprt_executable* copies = executable();
  poprt_session *session = nullptr, *made_session = nullptr;
  poprt_string* text = nullptr;
  poprt_popef_model* model = nullptr;
  poprt_queue_manager* queues = nullptr;
  poprt_queue* queue = nullptr;
  ASSERT_EQ(message_for(poprt_session_create(copies, nullptr, &session)), "ok");
  const auto callbacks = sized<poprt_stream_callbacks>();
  float data[16] = {};
  const uint32_t programs[] = {0};
  int32_t ran = 0;
  nulls("poprt_session_create", poprt_session_create, copies, nullptr, &made_session);
  nulls("poprt_session_popef_model", poprt_session_popef_model, session, &model);
  nulls("poprt_session_bind_to_device", poprt_session_bind_to_device, session, nullptr);
  nulls("poprt_session_reload", poprt_session_reload, session);
  nulls("poprt_session_set_user_input_handler", poprt_session_set_user_input_handler, session, "x",
        &callbacks);
  nulls("poprt_session_set_user_output_handler", poprt_session_set_user_output_handler, session,
        "y", &callbacks);
  nulls("poprt_session_verify_connected", poprt_session_verify_connected, session);
  nulls("poprt_session_run_load_programs", poprt_session_run_load_programs, session);
  nulls("poprt_session_run_main_programs", poprt_session_run_main_programs, session);
  nulls("poprt_session_run_main_programs_unless_stopped",
        poprt_session_run_main_programs_unless_stopped, session, &ran);
  nulls("poprt_session_run_save_programs", poprt_session_run_save_programs, session);
  nulls("poprt_session_run_programs", poprt_session_run_programs, session, programs, 1);
  nulls("poprt_session_profile", poprt_session_profile, session, &text);
  nulls("poprt_session_update_weights", poprt_session_update_weights, session, "w", data, 4);
  nulls("poprt_session_read_weights", poprt_session_read_weights, session, "w", data, 4);
  nulls("poprt_session_create_queue_manager", poprt_session_create_queue_manager, session, nullptr,
        &queues);
  nulls("poprt_queue_manager_input_queue", poprt_queue_manager_input_queue, nullptr, "x", &queue);
  nulls("poprt_queue_enqueue_input", poprt_queue_enqueue_input, nullptr, data, 4, nullptr, nullptr);
  nulls("poprt_queue_enqueue_output", poprt_queue_enqueue_output, nullptr, data, 4, nullptr,
        nullptr);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{99}, SIZE_MAX}) {
    const std::string at = "index " + (i == SIZE_MAX ? "most" : std::to_string(i));
    line("poprt_session_user_input", at, message_for(poprt_session_user_input(session, i)));
    line("poprt_session_user_output", at, message_for(poprt_session_user_output(session, i)));
  }
  poprt_session_free(session);
  poprt_executable_free(copies);
  expect("nulls_session");
}

TEST_F(Recorded, NullsAndNumbersOfDevices) {
  poprt_executable* copies = executable();
  poprt_device_manager *manager = nullptr, *made_manager = nullptr;
  poprt_device* device = nullptr;
  ASSERT_EQ(message_for(poprt_device_manager_create(nullptr, &manager)), "ok");
  const auto device_request = sized<poprt_device_request>();
  nulls("poprt_device_manager_create", poprt_device_manager_create, nullptr, &made_manager);
  nulls("poprt_device_manager_get_device", poprt_device_manager_get_device, manager, 1, &device);
  nulls("poprt_device_manager_get_specific_device", poprt_device_manager_get_specific_device,
        manager, 3, &device);
  nulls("poprt_device_manager_acquire", poprt_device_manager_acquire, manager, &device_request,
        copies, -1, &device);
  nulls("poprt_device_manager_create_ipu_model_device",
        poprt_device_manager_create_ipu_model_device, manager, 1, 21, 0, &device);
  nulls("poprt_device_manager_create_small_ipu_model_device",
        poprt_device_manager_create_small_ipu_model_device, manager, 1, 21, &device);
  for (const int64_t n : {-1, 0, 1, 2, 1024, 1025, 1 << 20}) {
    const std::string count = std::to_string(n);
    const auto with = [&](const char* name, poprt_error* error) {
      line(name, count, message_for(error));
      if (device) poprt_device_free(std::exchange(device, nullptr));
    };
    with("poprt_device_manager_get_device, IPUs",
         poprt_device_manager_get_device(manager, n, &device));
    with("poprt_device_manager_get_specific_device, id",
         poprt_device_manager_get_specific_device(manager, n, &device));
    with("poprt_device_manager_create_ipu_model_device, IPUs",
         poprt_device_manager_create_ipu_model_device(manager, n, 21, 0, &device));
    with("poprt_device_manager_create_ipu_model_device, version",
         poprt_device_manager_create_ipu_model_device(manager, 1, static_cast<int32_t>(n), 0,
                                                      &device));
    with("poprt_device_manager_create_ipu_model_device, tiles",
         poprt_device_manager_create_ipu_model_device(manager, 1, 2, n, &device));
    with("poprt_device_manager_create_small_ipu_model_device, version",
         poprt_device_manager_create_small_ipu_model_device(manager, 1, static_cast<int32_t>(n),
                                                            &device));
  }
  poprt_device_manager_free(manager);
  poprt_executable_free(copies);
  expect("nulls_device");
}

TEST_F(Recorded, NullsOfPopefFiles) {
  poprt_popef_reader *reader = nullptr, *copy = nullptr;
  poprt_popef_model *model = nullptr, *made_model = nullptr;
  poprt_popef_metadata *metadata = nullptr, *made_metadata = nullptr;
  poprt_popef_payload* payload = nullptr;
  poprt_popef_writer *writer = nullptr, *made_writer = nullptr;
  poprt_popef_blob_writer* blob_writer = nullptr;
  poprt_string* text = nullptr;
  ASSERT_EQ(message_for(poprt_popef_reader_create(&reader)), "ok");
  ASSERT_EQ(message_for(poprt_popef_reader_parse_file(reader, DATA "/copies.popef")), "ok");
  ASSERT_EQ(message_for(poprt_popef_model_create(reader, nullptr, &model)), "ok");
  ASSERT_EQ(message_for(poprt_popef_metadata_create(nullptr, &metadata)), "ok");
  const std::string out = folder + "/out.popef";
  ASSERT_EQ(message_for(poprt_popef_writer_create(out.c_str(), POPRT_POPEF_TRUNCATE, &writer)),
            "ok");
  const poprt_popef_blob* blob = poprt_popef_reader_blob(reader, POPRT_POPEF_EXECUTABLE, 0);
  auto info = sized<poprt_popef_blob_info>();
  info.type = POPRT_POPEF_OPAQUE;
  info.name = "notes";
  const poprt_popef_blob_info* const infos[] = {&info};
  auto anchor = sized<poprt_popef_anchor>();
  anchor.name = "a";
  const auto source = sized<poprt_popef_source>();
  const auto write = [](const void*, size_t, void*) -> int32_t { return 0; };
  const uint32_t programs[] = {1};
  char bytes[4] = {};
  nulls("poprt_popef_reader_create", poprt_popef_reader_create, &copy);
  nulls("poprt_popef_reader_copy", poprt_popef_reader_copy, reader, &copy);
  nulls("poprt_popef_reader_parse_file", poprt_popef_reader_parse_file, reader, "/nonexistent");
  nulls("poprt_popef_reader_parse_bytes", poprt_popef_reader_parse_bytes, reader, "bytes", 5);
  nulls("poprt_popef_reader_parse_source", poprt_popef_reader_parse_source, reader, &source);
  line("poprt_popef_reader_parse_source", "no function to read",
       message_for(poprt_popef_reader_parse_source(reader, &source)));
  nulls("poprt_popef_reader_warnings", poprt_popef_reader_warnings, reader, &text);
  nulls("poprt_popef_blob_get_info", poprt_popef_blob_get_info, blob, &info);
  info.type = POPRT_POPEF_OPAQUE;
  nulls("poprt_popef_blob_map", poprt_popef_blob_map, blob, &payload);
  nulls("poprt_popef_blob_read", poprt_popef_blob_read, blob, 0, bytes, 4);
  nulls("poprt_popef_writer_create", poprt_popef_writer_create, out.c_str(), POPRT_POPEF_TRUNCATE,
        &made_writer);
  nulls("poprt_popef_writer_create_stream", poprt_popef_writer_create_stream, write, nullptr,
        &made_writer);
  nulls("poprt_popef_writer_add_metadata", poprt_popef_writer_add_metadata, writer, metadata);
  nulls("poprt_popef_writer_begin", poprt_popef_writer_begin, writer, &info, &blob_writer);
  nulls("poprt_popef_writer_begin_feeds", poprt_popef_writer_begin_feeds, writer, infos, 1,
        &blob_writer);
  nulls("poprt_popef_writer_close", poprt_popef_writer_close, writer);
  nulls("poprt_popef_blob_writer_write", poprt_popef_blob_writer_write, nullptr, 0, bytes, 4);
  nulls("poprt_popef_blob_writer_close", poprt_popef_blob_writer_close, nullptr);
  nulls("poprt_popef_model_create", poprt_popef_model_create, reader, "copies", &made_model);
  nulls("poprt_popef_model_create_all", poprt_popef_model_create_all, reader, &made_model, 1);
  nulls("poprt_popef_model_warnings", poprt_popef_model_warnings, model, &text);
  nulls("poprt_popef_metadata_create", poprt_popef_metadata_create, metadata, &made_metadata);
  nulls("poprt_popef_metadata_set_executable", poprt_popef_metadata_set_executable, metadata, "e");
  nulls("poprt_popef_metadata_set_seed_handle", poprt_popef_metadata_set_seed_handle, metadata,
        "h");
  nulls("poprt_popef_metadata_add_option", poprt_popef_metadata_add_option, metadata,
        POPRT_POPEF_ENGINE_OPTIONS, "n", "v");
  nulls("poprt_popef_metadata_set_flow", poprt_popef_metadata_set_flow, metadata, 1, programs, 1);
  nulls("poprt_popef_metadata_set_program", poprt_popef_metadata_set_program, metadata, 1, "p");
  nulls("poprt_popef_metadata_add_anchor", poprt_popef_metadata_add_anchor, metadata, &anchor);
  nulls("poprt_popef_metadata_anchor", poprt_popef_metadata_anchor, metadata, 0, &anchor);
  poprt_popef_writer_free(writer);
  poprt_popef_metadata_free(metadata);
  poprt_popef_model_free(model);
  poprt_popef_reader_free(reader);
  expect("nulls_popef");
}

TEST_F(Recorded, NumbersOfPopefFiles) {
  poprt_popef_reader* reader = nullptr;
  poprt_popef_model* model = nullptr;
  poprt_popef_metadata* metadata = nullptr;
  poprt_popef_writer* made_writer = nullptr;
  poprt_string* text = nullptr;
  ASSERT_EQ(message_for(poprt_popef_reader_create(&reader)), "ok");
  ASSERT_EQ(message_for(poprt_popef_reader_parse_file(reader, DATA "/copies.popef")), "ok");
  ASSERT_EQ(message_for(poprt_popef_model_create(reader, nullptr, &model)), "ok");
  ASSERT_EQ(message_for(poprt_popef_metadata_create(nullptr, &metadata)), "ok");
  const std::string out = folder + "/out.popef";
  auto anchor = sized<poprt_popef_anchor>();
  const uint32_t programs[] = {1};
  for (const int64_t n : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99}) {
    const auto number = static_cast<int32_t>(n);
    const std::string shown = std::to_string(n);
    const size_t index = n < 0 ? SIZE_MAX : static_cast<size_t>(n);
    size_t count = 77;
    uint32_t program = 77;
    const char* value = nullptr;
    line("field", shown, message_for(poprt_popef_metadata_get(metadata, number)));
    line("field set to -1", shown, message_for(poprt_popef_metadata_set(metadata, number, -1)));
    line("field set to 2^40", shown,
         message_for(poprt_popef_metadata_set(metadata, number, int64_t{1} << 40)));
    line("options", shown, message_for(poprt_popef_metadata_option_count(metadata, number)));
    line("option of a list", shown,
         message_for(poprt_popef_metadata_option(metadata, number, 0, &value)));
    line("option", shown, message_for(poprt_popef_metadata_option(metadata, 1, index, &value)));
    line("option added to a list", shown,
         message_for(poprt_popef_metadata_add_option(metadata, number, "n", "v")));
    line("flow", shown, message_for(poprt_popef_metadata_flow(metadata, number, &count)));
    line("programs of a flow", shown, message_for(count));
    line("flow set", shown,
         message_for(poprt_popef_metadata_set_flow(metadata, number, programs, 1)));
    line("program", shown, message_for(poprt_popef_metadata_program(metadata, index, &program)));
    line("anchor", shown, message_for(poprt_popef_metadata_anchor(metadata, index, &anchor)));
    line("blobs of a type", shown, message_for(poprt_popef_reader_count(reader, number)));
    line("blob of a type", shown, message_for(poprt_popef_reader_blob(reader, number, 0)));
    line("blob", shown,
         message_for(poprt_popef_reader_blob(reader, POPRT_POPEF_EXECUTABLE, index)));
    line("metadata", shown, message_for(poprt_popef_reader_metadata(reader, index)));
    line("blobs of a model", shown, message_for(poprt_popef_model_count(model, number)));
    line("blob of a model", shown, message_for(poprt_popef_model_blob(model, number, 0)));
    line("anchors of a user", shown,
         message_for(poprt_popef_model_user_anchors(model, number, &count)));
    line("how many", shown, message_for(count));
    line("format", shown, message_for(poprt_popef_dump(DATA "/copies.popef", number, &text)));
    poprt_string_free(std::exchange(text, nullptr));
    line("mode", shown, message_for(poprt_popef_writer_create(out.c_str(), number, &made_writer)));
    poprt_popef_writer_free(std::exchange(made_writer, nullptr));
  }
  poprt_popef_metadata_free(metadata);
  poprt_popef_model_free(model);
  poprt_popef_reader_free(reader);
  expect("numbers_popef");
}

TEST_F(Recorded, FieldsOfRunnerOptions) {
  poprt_executable* copies = executable();
  using Runner = poprt_runner_options;
  const auto make_runner = [&](const Runner* o) {
    poprt_runner* r = nullptr;
    poprt_error* error = poprt_runner_create(copies, o, &r);
    poprt_runner_free(r);
    return error;
  };
  altered<Runner>("poprt_runner_create", sized<Runner>(), make_runner, FIELD(Runner, threads),
                  FIELD(Runner, profile), FIELD(Runner, queue_depth), FIELD(Runner, telemetry),
                  FIELD(Runner, timeout_ns), FIELD(Runner, not_thread_safe),
                  FIELD(Runner, no_validate_io_params), FIELD(Runner, use_batching_dim),
                  FIELD(Runner, batching_dim), FIELD(Runner, ring_buffer_size_multiplier),
                  FIELD(Runner, auto_reset), FIELD(Runner, flush_on_waiting_outputs),
                  FIELD(Runner, is_batch_size_timeout_enabled),
                  FIELD(Runner, batch_size_timeout_ns), FIELD(Runner, data_parallel_timeout_ns),
                  FIELD(Runner, request_tracepoints_buffer_size), FIELD(Runner, replication_factor),
                  FIELD(Runner, overlap_io), FIELD(Runner, batches_per_step),
                  FIELD(Runner, device_wait_timeout_ns), FIELD(Runner, device_wait_sleep_ns),
                  FIELD(Runner, faults), FIELD(Runner, numerics), FIELD(Runner, load),
                  FIELD(Runner, verify), FIELD(Runner, max_shapes),
                  FIELD(Runner, execution_precision), FIELD(Runner, max_shape_memory));
  Runner batching = sized<Runner>();
  batching.use_batching_dim = 1;
  altered<Runner>("poprt_runner_create, batching", batching, make_runner,
                  FIELD(Runner, batching_dim), FIELD(Runner, batch_size_timeout_ns),
                  FIELD(Runner, is_batch_size_timeout_enabled));
  poprt_executable_free(copies);
  expect("fields_runner");
}

TEST_F(Recorded, FieldsOfOtherOptions) {
  poprt_executable* copies = executable();
  using Session = poprt_session_options;
  altered<Session>(
      "poprt_session_create", sized<Session>(),
      [&](const Session* o) {
        poprt_session* s = nullptr;
        poprt_error* error = poprt_session_create(copies, o, &s);
        poprt_session_free(s);
        return error;
      },
      FIELD(Session, threads), FIELD(Session, profile), FIELD(Session, deferred),
      FIELD(Session, exclusive), FIELD(Session, telemetry), FIELD(Session, wait_strategy),
      FIELD(Session, wait_timeout_ns), FIELD(Session, wait_sleep_ns));
  using Queue = poprt_queue_options;
  altered<Queue>(
      "poprt_session_create_queue_manager", sized<Queue>(),
      [&](const Queue* o) {
        poprt_session* s = nullptr;
        poprt_queue_manager* q = nullptr;
        if (poprt_error* error = poprt_session_create(copies, nullptr, &s)) return error;
        poprt_error* error = poprt_session_create_queue_manager(s, o, &q);
        poprt_session_free(s);
        return error;
      },
      FIELD(Queue, buffers), FIELD(Queue, timeout_ns));
  using Manager = poprt_device_manager_options;
  altered<Manager>(
      "poprt_device_manager_create", sized<Manager>(),
      [&](const Manager* o) {
        poprt_device_manager* m = nullptr;
        poprt_error* error = poprt_device_manager_create(o, &m);
        poprt_device_manager_free(m);
        return error;
      },
      FIELD(Manager, device_count), FIELD(Manager, reserved), FIELD(Manager, visible));
  using Request = poprt_device_request;
  poprt_device_manager* manager = nullptr;
  ASSERT_EQ(message_for(poprt_device_manager_create(nullptr, &manager)), "ok");
  altered<Request>(
      "poprt_device_manager_acquire", sized<Request>(),
      [&](const Request* o) {
        poprt_device* d = nullptr;
        poprt_error* error = poprt_device_manager_acquire(manager, o, nullptr, -1, &d);
        poprt_device_free(d);
        return error;
      },
      FIELD(Request, num_ipus), FIELD(Request, min_tiles), FIELD(Request, ipu_version),
      FIELD(Request, remote_buffers), FIELD(Request, wait_strategy), FIELD(Request, reserved),
      FIELD(Request, wait_timeout_ns), FIELD(Request, wait_sleep_ns));
  using Open = poprt_open_options;
  const char* const paths[] = {DATA "/copies.popef"};
  altered<Open>(
      "poprt_executable_open_files", sized<Open>(),
      [&](const Open* o) {
        poprt_executable* e = nullptr;
        poprt_error* error = poprt_executable_open_files(paths, 1, o, &e);
        poprt_executable_free(e);
        return error;
      },
      FIELD(Open, ignore_package_hash), FIELD(Open, reserved), FIELD(Open, executable));
  poprt_device_manager_free(manager);
  poprt_executable_free(copies);
  expect("fields");
}

TEST_F(Recorded, FieldsOfPackAndCompileOptions) {
  poprt_executable* copies = executable();
  using Pack = poprt_pack_runner_options;
  Pack packed = sized<Pack>();
  packed.timeout_microseconds = 1000;
  altered<Pack>(
      "poprt_pack_runner_create", packed,
      [&](const Pack* o) {
        poprt_runner* r = nullptr;
        poprt_error* error = poprt_pack_runner_create(copies, o, &r);
        poprt_runner_free(r);
        return error;
      },
      FIELD(Pack, timeout_microseconds), FIELD(Pack, max_valid_num),
      FIELD(Pack, dynamic_input_name), FIELD(Pack, unpack_info_input_name), FIELD(Pack, mask_name),
      FIELD(Pack, algorithm), FIELD(Pack, disable_data_across_rows),
      FIELD(Pack, compile_batch_size), FIELD(Pack, enable_padding_remove),
      FIELD(Pack, disable_prefetch_datastreams), FIELD(Pack, delimiter_num));
  using Compile = poprt_compile_options;
  const int64_t shape[] = {2, 4};
  const poprt_input_shape shapes[] = {{"x", shape, 2}};
  Compile good = sized<Compile>();
  good.input_shapes = shapes;
  good.input_shape_count = 1;
  altered<Compile>(
      "poprt_compiler_create", good,
      [&](const Compile* o) {
        poprt_compiler* c = nullptr;
        poprt_executable* e = nullptr;
        poprt_error* error = poprt_compiler_create(o, &c);
        if (!error) error = poprt_compiler_compile_file(c, DATA "/identity.onnx", &e);
        poprt_compiler_free(c);
        poprt_executable_free(e);
        return error;
      },
      FIELD(Compile, batch_size), FIELD(Compile, batch_axis), FIELD(Compile, precision),
      FIELD(Compile, no_verify), FIELD(Compile, max_tensor_size), FIELD(Compile, rewrite_limit),
      FIELD(Compile, stop_after), FIELD(Compile, convert_version), FIELD(Compile, allow_links),
      FIELD(Compile, variable_weights), FIELD(Compile, reserved_2), FIELD(Compile, strict),
      FIELD(Compile, winograd), FIELD(Compile, embed_source), FIELD(Compile, reserved_3),
      FIELD(Compile, max_padding), FIELD(Compile, load));
  poprt_executable_free(copies);
  expect("fields_compile");
}

// Names in the JSON list of options, in their order.
std::vector<std::string> option_names() {
  poprt_string* text = nullptr;
  if (poprt_error* error = poprt_compiler_list_options(&text)) {
    ADD_FAILURE() << poprt_error_message(error);
    poprt_error_free(error);
    return {};
  }
  const std::string json = poprt_string_data(text);
  poprt_string_free(text);
  std::vector<std::string> names;
  const std::string key = "\"name\":";
  for (size_t at = 0; (at = json.find(key, at)) != json.npos;) {
    const size_t begin = json.find('"', at + key.size()) + 1;
    at = json.find('"', begin);
    names.push_back(json.substr(begin, at - begin));
  }
  return names;
}

TEST_F(Recorded, OptionsByName) {
  ASSERT_EQ(::chdir(folder.c_str()), 0);
  std::string warnings;
  poprt_log_set_callback(
      [](poprt_log_level level, const char* message, void* user_data) {
        if (level >= POPRT_LOG_WARNING)
          *static_cast<std::string*>(user_data) += std::string("; warning: ") + message;
      },
      &warnings);
  for (const std::string& name : option_names()) {
    for (const char* value : {"", "?", "-1", "0", "2", "1e99", "0.5", "True", "x=1", "a,b"}) {
      const poprt_option options[] = {{"input_shape", "x=2,4"}, {name.c_str(), value}};
      auto o = sized<poprt_compile_options>();
      o.options = options;
      o.option_count = 2;
      poprt_compiler* c = nullptr;
      poprt_error* error = poprt_compiler_create(&o, &c);
      poprt_compiler_free(c);
      line(name, std::string("'") + value + "'", message_for(error) + std::exchange(warnings, ""));
    }
  }
  poprt_log_set_callback(nullptr, nullptr);
  expect_digests("options");
}

}  // namespace
}  // namespace poprt::test

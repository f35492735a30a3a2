// Records the results of runs through the C ABI: with each option of a runner, with lists that are
// invalid in its options, and with buffers that do not fit.
//
//   POPRT_WRITE_RECORDS=1 capi_recorded_runs_test   # writes the files; read the diff
#include "recorded_support.h"

namespace poprt::test {
namespace {

// The effect of runner options on five successive requests: the answers, and the counters of the
// runner.
TEST_F(Recorded, RunsByOptions) {
  poprt_executable* copies = executable();
  using Runner = poprt_runner_options;
  const auto runs = [&](const std::string& what, size_t rows, auto&& set) {
    auto o = sized<Runner>();
    set(o);
    poprt_runner* r = nullptr;
    line(what, "runner", message_for(poprt_runner_create(copies, &o, &r)));
    if (!r) return;
    std::string last;
    for (int i = 0; i < 5; i++) {
      std::vector<float> x(rows), y(rows), c(rows);
      for (size_t k = 0; k < rows; k++) x[k] = static_cast<float>(100 * i) + static_cast<float>(k);
      const poprt_input in = {"x", 0, x.data(), 4 * rows};
      const poprt_output out[] = {{"y", 0, y.data(), 4 * rows}, {"c", 0, c.data(), 4 * rows}};
      std::string answer = message_for(poprt_runner_execute(r, &in, 1, out, 2));
      if (x == y) answer += ", copied";
      if (answer != last) line(what, "from run " + std::to_string(i) + " on", answer);
      last = answer;
    }
    auto n = sized<poprt_runner_counters>();
    ASSERT_EQ(message_for(poprt_runner_get_counters(r, POPRT_ALL_REPLICAS, &n)), "ok");
    std::string counts;
    for (const auto& [name, count] :
         {std::pair("submitted", n.submitted), std::pair("completed", n.completed),
          std::pair("failed", n.failed), std::pair("cancelled", n.cancelled),
          std::pair("timed out", n.timed_out), std::pair("rows", n.rows),
          std::pair("padded rows", n.padded_rows), std::pair("batches", n.batches),
          std::pair("steps", n.steps), std::pair("device errors", n.device_errors),
          std::pair("resets", n.resets), std::pair("in flight", n.in_flight),
          std::pair("queue capacity", n.queue_capacity), std::pair("replicas", n.replicas)})
      if (count != 0) counts += (counts.empty() ? "" : ", ") + message_for(count) + " " + name;
    poprt_string* text = nullptr;
    ASSERT_EQ(message_for(poprt_runner_tracepoints(r, &text)), "ok");
    size_t points = 0;
    for (const char* at = poprt_string_data(text); (at = std::strstr(at, "\"submitted\"")); at++)
      points++;
    line(what, "counts", counts + (points ? ", " + message_for(points) + " tracepoints" : ""));
    poprt_string_free(text);
    poprt_runner_free(r);
  };
  const auto rows = [](auto&& set) {
    return [set](Runner& o) {
      o.use_batching_dim = 1;
      o.timeout_ns = 1000;
      set(o);
    };
  };
  runs("none", 16, [](auto&) {});
  runs("two batches a request", 32, [](auto&) {});
  runs("half a batch a request", 8, [](auto&) {});
  runs("queue_depth 5", 16, [](auto& o) { o.queue_depth = 5; });
  runs("ring_buffer_size_multiplier 3", 16, [](auto& o) { o.ring_buffer_size_multiplier = 3; });
  runs("not_thread_safe", 16, [](auto& o) { o.not_thread_safe = 1; });
  runs("no_validate_io_params", 16, [](auto& o) { o.no_validate_io_params = 1; });
  runs("overlap_io", 16, [](auto& o) { o.overlap_io = 1; });
  runs("batches_per_step 3", 16, [](auto& o) { o.batches_per_step = 3; });
  runs("batches_per_step 3, two batches", 32, [](auto& o) { o.batches_per_step = 3; });
  runs("replication_factor 2", 16, [](auto& o) { o.replication_factor = 2; });
  runs("flush_on_waiting_outputs", 16, [](auto& o) { o.flush_on_waiting_outputs = 1; });
  runs("rows", 16, rows([](auto&) {}));
  runs("rows of more than a batch", 20, rows([](auto&) {}));
  runs("rows of less than a batch", 3, rows([](auto&) {}));
  runs("rows, flushed", 3, rows([](auto& o) { o.flush_on_waiting_outputs = 1; }));
  for (const char* faults :
       {"recoverable_runtime_error:IPU_RESET@2", "unrecoverable_runtime_error@3",
        "unknown_runtime_error@1", "application_runtime_error@4"})
    for (const int32_t reset : {0, 1})
      runs(std::string(faults) + (reset ? ", auto_reset" : ""), 16,
           [&](auto& o) { o.faults = faults, o.auto_reset = reset; });
  poprt_executable_free(copies);
  expect("runs");
}

// The requirements of lists in options of runners.
TEST_F(Recorded, ListsOfRunnerOptions) {
  poprt_executable* copies = executable();
  const auto answer = [&](const std::string& what, poprt_error* error, poprt_runner* r) {
    line(what.substr(0, what.find(':')), what.substr(what.find(':') + 2), message_for(error));
    poprt_runner_free(r);
  };
  const auto runner = [&](const std::string& what, auto&& set) {
    auto o = sized<poprt_runner_options>();
    set(o);
    poprt_runner* r = nullptr;
    poprt_error* error = poprt_runner_create(copies, &o, &r);
    answer(what, error, r);
  };
  float data[16] = {};
  const poprt_input good = {"x", 0, data, 64}, nameless = {nullptr, 0, data, 64},
                    empty = {"x", 0, nullptr, 0}, other = {"z", 0, data, 64},
                    twice[] = {good, good};
  const auto inputs = [&](const char* list, const poprt_input* poprt_runner_options::* items,
                          size_t poprt_runner_options::* count) {
    const auto with = [&](const char* what, const poprt_input* given, size_t n) {
      runner(std::string(list) + ": " + what, [&](auto& o) { o.*items = given, o.*count = n; });
    };
    with("one", &good, 1);
    with("none", &good, 0);
    with("null", nullptr, 1);
    with("without a name", &nameless, 1);
    with("without data", &empty, 1);
    with("another", &other, 1);
    with("twice", twice, 2);
  };
  inputs("frozen_inputs", &poprt_runner_options::frozen_inputs,
         &poprt_runner_options::frozen_input_count);
  inputs("flush_inputs", &poprt_runner_options::flush_inputs,
         &poprt_runner_options::flush_input_count);
  const poprt_output to = {"y", 0, data, 64}, unnamed = {nullptr, 0, data, 64}, both[] = {to, to};
  const auto outputs = [&](const char* what, const poprt_output* given, size_t n) {
    runner(std::string("flush_outputs: ") + what,
           [&](auto& o) { o.flush_outputs = given, o.flush_output_count = n; });
  };
  outputs("one", &to, 1);
  outputs("null", nullptr, 1);
  outputs("without a name", &unnamed, 1);
  outputs("twice", both, 2);
  poprt_device_manager* manager = nullptr;
  poprt_device* device = nullptr;
  ASSERT_EQ(message_for(poprt_device_manager_create(nullptr, &manager)), "ok");
  ASSERT_EQ(message_for(poprt_device_manager_create_ipu_model_device(manager, 1, 0, 0, &device)),
            "ok");
  for (const int64_t id : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1} << 31}) {
    const poprt_replica_device pin = {id, device}, without = {id, nullptr};
    for (const auto& [what, given] :
         {std::pair("", &pin), std::pair(" without a device", &without)})
      runner("replica_devices: replica " + std::to_string(id) + what, [&](auto& o) {
        o.replication_factor = 2;
        o.replica_devices = given;
        o.replica_device_count = 1;
      });
  }
  runner("batching_dim: the largest",
         [](auto& o) { o.use_batching_dim = 1, o.batching_dim = UINT32_MAX; });
  runner("batching_dim: the largest, unused", [](auto& o) { o.batching_dim = UINT32_MAX; });
  poprt_device_free(device);
  poprt_device_manager_free(manager);
  const char *const names[] = {"x", "w"}, *const holes[] = {"x", nullptr};
  const auto pack = [&](const std::string& what, auto&& set) {
    auto o = sized<poprt_pack_runner_options>();
    o.timeout_microseconds = 1000;
    set(o);
    poprt_runner* r = nullptr;
    poprt_error* error = poprt_pack_runner_create(copies, &o, &r);
    answer("pack runner: " + what, error, r);
  };
  pack("dynamic_group null", [](auto& o) { o.dynamic_group_count = 1; });
  pack("dynamic_group with a hole",
       [&](auto& o) { o.dynamic_group = holes, o.dynamic_group_count = 2; });
  pack("dynamic_group", [&](auto& o) { o.dynamic_group = names, o.dynamic_group_count = 2; });
  const auto concat = [&](const std::string& what, auto&& set) {
    const int64_t shape[] = {16};
    const uint64_t sizes[] = {24, 40};
    poprt_host_concat c = {"x", names, 2, shape, 1, 64, sizes};
    auto o = sized<poprt_host_concat_runner_options>();
    o.host_concat = &c;
    o.host_concat_count = 1;
    set(o, c);
    poprt_runner* r = nullptr;
    poprt_error* error = poprt_host_concat_runner_create(copies, &o, &r);
    std::string inputs;
    for (size_t i = 0; r && i < poprt_runner_input_count(r); i++)
      inputs += std::string(" ") + poprt_anchor_name(poprt_runner_input(r, i)) + " of " +
                std::to_string(poprt_anchor_bytes(poprt_runner_input(r, i)));
    if (r) line("host concat runner", what + ", its inputs", inputs);
    answer("host concat runner: " + what, error, r);
  };
  concat("as it is", [](auto&, auto&) {});
  concat("no list", [](auto& o, auto&) { o.host_concat = nullptr; });
  concat("an empty list", [](auto& o, auto&) { o.host_concat_count = 0; });
  concat("no name", [](auto&, auto& c) { c.tensor_name = nullptr; });
  concat("another name", [](auto&, auto& c) { c.tensor_name = "z"; });
  concat("no inputs", [](auto&, auto& c) { c.input_tensor_names = nullptr; });
  concat("a hole in the inputs", [&](auto&, auto& c) { c.input_tensor_names = holes; });
  concat("no shape", [](auto&, auto& c) { c.shape = nullptr; });
  concat("a shape of no dimensions", [](auto&, auto& c) { c.rank = 0; });
  concat("other bytes", [](auto&, auto& c) { c.data_size_bytes = 60; });
  concat("no bytes", [](auto&, auto& c) { c.data_size_bytes = 0; });
  concat("equal parts", [](auto&, auto& c) { c.sizes = nullptr; });
  concat("one input", [](auto&, auto& c) { c.input_tensor_count = 1; });
  poprt_executable_free(copies);
  expect("lists");
}

// Errors of runs for buffers that do not fit.
TEST_F(Recorded, BuffersOfRuns) {
  poprt_executable* copies = executable();
  poprt_runner* runner = nullptr;
  ASSERT_EQ(message_for(poprt_runner_create(copies, nullptr, &runner)), "ok");
  std::vector<std::vector<float>> memory;
  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;
  std::vector<poprt_tensor> in, out;
  const auto room = [&](const poprt_anchor* a) -> void* {
    return memory.emplace_back(poprt_anchor_bytes(a) / 4 + 4).data();
  };
  const auto tensor = [](const poprt_anchor* a, size_t i, void* data) {
    return poprt_tensor{poprt_anchor_name(a),
                        i,
                        data,
                        poprt_anchor_bytes(a),
                        poprt_anchor_dtype(a),
                        0,
                        poprt_anchor_shape(a),
                        poprt_anchor_rank(a)};
  };
  for (size_t i = 0; i < poprt_runner_input_count(runner); i++) {
    const poprt_anchor* a = poprt_runner_input(runner, i);
    void* data = room(a);
    inputs.push_back({poprt_anchor_name(a), i, data, poprt_anchor_bytes(a)});
    in.push_back(tensor(a, i, data));
  }
  for (size_t i = 0; i < poprt_runner_output_count(runner); i++) {
    const poprt_anchor* a = poprt_runner_output(runner, i);
    void* data = room(a);
    outputs.push_back({poprt_anchor_name(a), i, data, poprt_anchor_bytes(a)});
    out.push_back(tensor(a, i, data));
  }
  const int64_t other_shape[] = {1, 2, 3};
  const auto alter = [&](auto list, auto&& run) {
    using T = typename decltype(list)::value_type;
    const auto with = [&](const std::string& what, auto&& change) {
      auto altered_list = list;
      change(altered_list);
      run(altered_list, what);
    };
    with("as they are", [](auto&) {});
    with("one less", [](auto& l) { l.pop_back(); });
    with("none", [](auto& l) { l.clear(); });
    with("one twice", [](auto& l) { l.push_back(l[0]); });
    with("by place", [](auto& l) {
      for (auto& e : l) e.name = nullptr;
    });
    with("an index after the end", [](auto& l) { l[0].name = nullptr, l[0].index = 99; });
    with("another name", [](auto& l) { l[0].name = "?"; });
    with("no name", [](auto& l) { l[0].name = ""; });
    with("no data", [](auto& l) { l[0].data = nullptr; });
    with("a byte less", [](auto& l) { l[0].bytes -= 1; });
    with("a byte more", [](auto& l) { l[0].bytes += 1; });
    with("no bytes", [](auto& l) { l[0].bytes = 0; });
    if constexpr (std::is_same_v<T, poprt_tensor>) {
      with("another dtype", [](auto& l) { l[0].dtype = POPRT_DTYPE_S32; });
      with("a dtype that is none", [](auto& l) { l[0].dtype = 999; });
      with("another shape", [&](auto& l) { l[0].shape = other_shape, l[0].rank = 3; });
      with("a shape that is null", [](auto& l) { l[0].shape = nullptr; });
      with("a reserved field", [](auto& l) { l[0].reserved = 1; });
    }
  };
  alter(inputs, [&](auto& list, const std::string& what) {
    line("inputs", what,
         message_for(poprt_runner_execute(runner, list.data(), list.size(), outputs.data(),
                                          outputs.size())));
  });
  alter(outputs, [&](auto& list, const std::string& what) {
    line("outputs", what,
         message_for(
             poprt_runner_execute(runner, inputs.data(), inputs.size(), list.data(), list.size())));
  });
  alter(in, [&](auto& list, const std::string& what) {
    line("input tensors", what,
         message_for(poprt_runner_execute_tensors(runner, list.data(), list.size(), out.data(),
                                                  out.size())));
    poprt_outputs* made = nullptr;
    line("outputs for input tensors", what,
         message_for(poprt_runner_run(runner, list.data(), list.size(), &made)));
    poprt_outputs_free(made);
  });
  alter(out, [&](auto& list, const std::string& what) {
    line("output tensors", what,
         message_for(
             poprt_runner_execute_tensors(runner, in.data(), in.size(), list.data(), list.size())));
  });
  poprt_runner_free(runner);
  poprt_executable_free(copies);
  expect("buffers");
}

}  // namespace
}  // namespace poprt::test

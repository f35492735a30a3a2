// Answers of each kind of runner to requests and configurations, recorded: every anchor missing,
// given twice, without memory, smaller and larger, under other names, at other positions and with
// other shapes; every number of a configuration on both sides of its limits. Results and counters
// are recorded, too.
//
//   POPRT_WRITE_RECORDS=1 test_runtime --gtest_filter='RecordedRequests.*'   # then read the diff
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "program/link.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/runner/bucket_runner.h"
#include "runtime/runner/host_concat_runner.h"
#include "runtime/runner/light_runner.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/pack_runner.h"
#include "runtime/session/popef_file.h"
#include "support/function_device.h"
#include "support/recorded_lines.h"

namespace poprt::runtime {
namespace {

using test::FunctionDevice;
using test::RecordedLines;

std::string message_of_call(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return fmt::format("{}: {}", error_code_name(e.code()), e.what());
  } catch (const std::exception& e) {
    ADD_FAILURE() << "an exception of another kind: " << e.what();
    return "exception";
  }
  return "taken";
}

// Memory of one anchor, with room after it; numbers of four bytes.
struct Memory {
  std::string name;
  std::vector<int32_t> values;
  size_t count;
  Shape shape;
};

struct RecordedRequest {
  void add_input(std::string name, size_t count, Shape shape = {}, int first = 1) {
    Memory m{std::move(name), std::vector<int32_t>(count + 64), count, std::move(shape)};
    for (size_t i = 0; i < m.values.size(); i++) m.values[i] = first + static_cast<int>(i);
    inputs.push_back(std::move(m));
  }
  void add_output(std::string name, size_t count) {
    outputs.push_back({std::move(name), std::vector<int32_t>(count + 64, -7), count, {}});
  }
  std::vector<InputBinding> in() {
    std::vector<InputBinding> list;
    for (Memory& m : inputs)
      list.push_back({m.name, 0, m.values.data(), m.count * 4,
                      m.shape.empty() ? nullptr : m.shape.data(), m.shape.size()});
    return list;
  }
  std::vector<OutputBinding> out() {
    std::vector<OutputBinding> list;
    for (Memory& m : outputs) list.push_back({m.name, 0, m.values.data(), m.count * 4, nullptr, 0});
    return list;
  }
  // The outputs, up to the first unwritten number.
  std::string results() {
    std::string text;
    for (Memory& m : outputs) {
      size_t end = m.values.size();
      while (end > 0 && m.values[end - 1] == -7) end--;
      text += " " + m.name + " =";
      for (size_t i = 0; i < end; i++) text += fmt::format(" {}", m.values[i]);
      std::ranges::fill(m.values, -7);
    }
    return text;
  }
  std::vector<Memory> inputs, outputs;
};

// Changes the bindings of one direction in one fact each.
template <class Binding, class Use>
void alter(const std::vector<Binding>& good, const Use& use) {
  use(good, "as it is");
  use({}, "none");
  for (size_t i = 0; i < good.size(); i++) {
    const std::string name(good[i].name);
    const auto with = [&](const std::string& what, const std::function<void(Binding&)>& change) {
      std::vector<Binding> list = good;
      change(list[i]);
      use(list, name + " " + what);
    };
    std::vector<Binding> list = good;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    use(list, name + " missing");
    list = good;
    list.push_back(good[i]);
    use(list, name + " twice");
    with("without memory", [](Binding& b) { b.data = nullptr; });
    with("empty", [](Binding& b) { b.bytes = 0; });
    with("empty without memory", [](Binding& b) { b.bytes = 0, b.data = nullptr; });
    for (const int by : {-4, -1, 1, 4, 16})
      with(fmt::format("{:+} bytes", by),
           [by](Binding& b) { b.bytes += static_cast<uint64_t>(static_cast<int64_t>(by)); });
    with("half", [](Binding& b) { b.bytes /= 2; });
    with("double", [](Binding& b) { b.bytes *= 2; });
    with("of another name", [](Binding& b) { b.name = "nobody"; });
    with("of an empty name", [](Binding& b) { b.name = ""; });
    for (const size_t at : {size_t{0}, size_t{1}, size_t{2}, size_t{9}, SIZE_MAX})
      with(at == SIZE_MAX ? "at the last position of all" : fmt::format("at position {}", at),
           [at](Binding& b) { b.name = {}, b.index = at; });
    static constexpr int64_t kShapes[][3] = {{2, 4, 1}, {2, -1, 1}, {3, 0, 1}};
    for (const auto& shape : kShapes)
      for (const size_t rank : {size_t{0}, size_t{1}, size_t{2}, size_t{3}})
        with(fmt::format("of shape [{}]", fmt::join(shape, shape + rank, ",")),
             [&shape, rank](Binding& b) { b.shape = shape, b.rank = rank; });
  }
}

class RecordedRequests : public ::testing::Test {
 protected:
  void describe(const std::string& heading, const BaseRunner& runner) {
    const auto list = [&](const std::vector<DataDesc>& descs, const char* what) {
      for (size_t i = 0; i < descs.size(); i++)
        found[heading].insert(
            fmt::format("has {} {}: {} {} {} of {} bytes{}", what, i, descs[i].anchor.name,
                        dtype_name(descs[i].anchor.dtype), shape_string(descs[i].anchor.shape),
                        descs[i].size_in_bytes,
                        descs[i].popef_contains_tensor_data ? ", which the model has" : ""));
    };
    list(runner.execute_inputs(), "input");
    list(runner.execute_outputs(), "output");
    const RequestRows rows = runner.request_rows();
    found[heading].insert(fmt::format("has rows: kind {} dim {} left out {}",
                                      static_cast<int>(rows.kind), rows.dim, rows.left_out));
  }

  // The unchanged request.
  void request_once(const std::string& heading, BaseRunner& runner, RecordedRequest request) {
    describe(heading, runner);
    const std::string error_text =
        message_of_call([&] { runner.execute(request.in(), request.out()); });
    found[heading].insert(error_text + request.results());
    runner.stop();
  }

  void requests(const std::string& heading, BaseRunner& runner, RecordedRequest request) {
    describe(heading, runner);
    const auto send = [&](const std::vector<InputBinding>& in,
                          const std::vector<OutputBinding>& out, const std::string& what) {
      const std::string error_text = message_of_call([&] { runner.execute(in, out); });
      const std::string line = error_text == "taken" ? "taken," + request.results() : error_text;
      found[heading].insert(what + ": " + line);
      request.results();
      std::string later = message_of_call([&] {
        const RequestPtr r = runner.execute_async(in, out);
        r->wait();
        r->check();
      });
      if (later == "taken") later += "," + request.results();
      if (later != line) found[heading].insert(what + ", asynchronously: " + later);
      request.results();
      std::string shapes;
      const std::string answer = message_of_call([&] {
        for (const Shape& s : runner.output_shapes(in)) shapes += " " + shape_string(s);
      });
      if (shapes != usual_) found[heading].insert(what + " gives: " + answer + shapes);
      if (what == "input as it is") usual_ = shapes;
      std::string which;
      const std::string outputs = message_of_call([&] {
        for (const size_t i : runner.outputs_of(in)) which += fmt::format(" {}", i);
      });
      if (which != usual_outputs_) found[heading].insert(what + " has outputs: " + outputs + which);
      if (what == "input as it is") usual_outputs_ = which;
    };
    usual_ = usual_outputs_ = "?";
    alter<InputBinding>(request.in(),
                        [&](const std::vector<InputBinding>& in, const std::string& what) {
                          send(in, request.out(), "input " + what);
                        });
    alter<OutputBinding>(request.out(),
                         [&](const std::vector<OutputBinding>& out, const std::string& what) {
                           send(request.in(), out, "output " + what);
                         });
    const RunnerStatistics s = runner.statistics();
    found[heading].insert(fmt::format(
        "counts {} failed {} cancelled {} in flight, {} replicas; {} submitted like completed: {}",
        s.failed, s.cancelled, s.in_flight, runner.replicas(), s.submitted,
        s.submitted == s.completed + s.failed + s.cancelled + s.timed_out));
    runner.stop();
    found[heading].insert("stopped: " +
                          message_of_call([&] { runner.execute(request.in(), request.out()); }));
  }

  void expect(const char* name) {
    test::expect_digests(found, fmt::format("{}/runtime_{}.txt", POPRT_TEST_DATA, name),
                         "Answers of runners: recorded_requests_test.cpp.");
  }

  RecordedLines found;

 private:
  std::string usual_, usual_outputs_;
};

// y = x, z = w.
std::shared_ptr<Model> two_copies(int64_t rows = 2) {
  return test::anchors_only({{"x", DType::s32, {rows, 4}}, {"w", DType::s32, {rows}}},
                            {{"y", DType::s32, {rows, 4}}, {"z", DType::s32, {rows}}});
}
std::shared_ptr<device::Device> copying(size_t x_bytes, size_t w_bytes) {
  return std::make_shared<FunctionDevice>([=](const void* const* in, void* const* out) {
    std::memcpy(out[0], in[0], x_bytes);
    std::memcpy(out[1], in[1], w_bytes);
  });
}
RecordedRequest two_inputs(size_t rows = 2) {
  RecordedRequest r;
  r.add_input("x", rows * 4);
  r.add_input("w", rows, {}, 100);
  r.add_output("y", rows * 4);
  r.add_output("z", rows);
  return r;
}

TEST_F(RecordedRequests, OfModelRunners) {
  const auto with = [&](const std::string& heading,
                        const std::function<void(RunnerConfig&)>& change, size_t rows = 2) {
    RunnerConfig config;
    config.session.device = copying(32, 8);
    config.timeout = std::chrono::milliseconds(1);
    change(config);
    ModelRunner runner(two_copies(), std::move(config));
    requests(heading, runner, two_inputs(rows));
  };
  with("model", [](RunnerConfig&) {});
  with("model, two batches", [](RunnerConfig&) {}, 4);
  with("model, unchecked batching", [](RunnerConfig& c) { c.batching_dim = 0; }, 3);
  static const int32_t frozen[] = {5, 6};
  with("model, frozen", [](RunnerConfig& c) { c.frozen_inputs = {{"w", {frozen, 8}}}; });
  expect("model_requests");
}

// Two graphs that copy, and return their number.
std::shared_ptr<const Model> fused_copies() {
  program::Builder b;
  const auto copy = [&](program::BufferId from, program::BufferId to) {
    const program::BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, "copy");
  };
  const auto index = b.add_input({"index", DType::u32, {1}});
  for (const std::string graph : {"graph0/", "graph1/"}) {
    const auto x = b.add_input({graph + "x", DType::s32, {2}});
    const auto y = b.add_output({graph + "y", DType::s32, {2}});
    const auto s = b.add_output({graph + "s", DType::u32, {1}});
    copy(b.input(x, 0, 8, DType::s32, {2}), b.output(y, 0, 8, DType::s32, {2}));
    copy(b.input(index, 0, 4, DType::u32, {1}), b.output(s, 0, 4, DType::u32, {1}));
  }
  return make_model("fused_copies", {std::make_shared<program::Program>(b.program()), {}, {}});
}

TEST_F(RecordedRequests, OfFusionRunners) {
  for (const std::string graph : {"graph0/", "graph1/", "graph2/"}) {
    ModelFusionRunner runner(fused_copies());
    RecordedRequest r;
    r.add_input(graph + "x", 2);
    r.add_output(graph + "y", 2);
    r.add_output(graph + "s", 1);
    requests("fusion " + graph, runner, r);
  }
  for (const int index : {0, 1, 2}) {
    ModelFusionRunner runner(fused_copies());
    RecordedRequest r;
    r.add_input("graph1/x", 2);
    r.add_input("index", 1, {}, index);
    r.add_output("graph1/y", 2);
    requests(fmt::format("fusion, index {}", index), runner, r);
  }
  RunnerConfig unchecked;
  unchecked.validate_io_params = false;
  ModelFusionRunner runner(fused_copies(), unchecked);
  RecordedRequest r;
  r.add_input("graph1/x", 2);
  r.add_output("graph1/y", 2);
  requests("fusion, unchecked", runner, r);
  expect("fusion_requests");
}

constexpr const char* kShapeNotes = R"({"kind": "shapes", "dimensions": ["batch", "length"],
  "inputs": {"x": {"shape": ["batch", "length"], "pad": 7}, "mask": {"shape": ["batch", "length"], "pad": "mask"}},
  "outputs": {"y": {"shape": ["batch", "length"]}, "m": {"shape": ["batch", "length"]}},
  "buckets": [
    {"inputs": {"x": [1, 4], "mask": [1, 4]}, "outputs": {"y": [1, 4], "m": [1, 4]}},
    {"inputs": {"x": [2, 4], "mask": [2, 4]}, "outputs": {"y": [2, 4], "m": [2, 4]}},
    {"inputs": {"x": [2, 8], "mask": [2, 8]}, "outputs": {"y": [2, 8], "m": [2, 8]}}]})";

std::shared_ptr<const Model> bucketed(const std::string& notes) {
  std::vector<program::LoadedProgram> parts;
  for (const Shape& shape : {Shape{1, 4}, Shape{2, 4}, Shape{2, 8}}) {
    program::Builder b;
    const auto bytes = static_cast<uint64_t>(element_count(shape)) * 4;
    for (const auto& [in, out] : {std::pair("x", "y"), std::pair("mask", "m")}) {
      const program::BufferId operands[] = {
          b.input(b.add_input({in, DType::s32, shape}), 0, bytes, DType::s32, shape),
          b.output(b.add_output({out, DType::s32, shape}), 0, bytes, DType::s32, shape)};
      b.emit("copy", operands, {}, {}, out);
    }
    parts.push_back(program::load_in_memory(b.program(), b.weight_records()));
  }
  std::vector<program::Variant> variants;
  for (const auto& p : parts) variants.push_back({&p.program, p.weights, ""});
  const program::Linked linked = program::link_buckets(variants);
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            linked.program, linked.weights, {{kVariants, notes}});
  return open_payload("copies", payload->bytes(), payload);
}

TEST_F(RecordedRequests, OfBucketRunners) {
  for (const Shape& shape : {Shape{1, 4}, Shape{2, 3}, Shape{2, 8}, Shape{1, 5}, Shape{3, 4}})
    for (const bool with_shape : {true, false})
      for (const bool mask : {false, true}) {
        if (mask && shape != Shape{2, 3}) continue;
        BucketRunner runner(bucketed(kShapeNotes));
        const auto count = static_cast<size_t>(element_count(shape));
        RecordedRequest r;
        r.add_input("x", count, with_shape ? shape : Shape{});
        if (mask) r.add_input("mask", count, with_shape ? shape : Shape{}, 50);
        r.add_output("y", count);
        r.add_output("m", count);
        const std::string heading =
            fmt::format("buckets {}{}{}", shape_string(shape), with_shape ? "" : " by bytes",
                        mask ? ", with a mask" : "");
        requests(heading, runner, r);
        for (size_t k = 0; k < 3; k++) {
          const BucketStatistics s = runner.bucket_statistics(k);
          found[heading].insert(fmt::format("bucket {}: {} padded of {}, {} of {} elements", k,
                                            s.padded, s.requests, s.elements, s.room));
        }
      }
  expect("bucket_requests");
}

TEST_F(RecordedRequests, OfBucketsThatNotesDescribe) {
  std::string notes = kShapeNotes;
  std::vector<std::pair<std::string, std::string>> changes = {{"", ""}};
  for (const char* word : {"\"shapes\"", "\"dimensions\"", "\"batch\"", "\"length\"", "\"inputs\"",
                           "\"x\"", "\"mask\"", "\"pad\"", "\"outputs\"", "\"y\"", "\"buckets\"",
                           "7", "[1, 4]", "[2, 8]", "[\"batch\", \"length\"]"})
    for (const char* by : {"\"other\"", "3", "[]", "[1, 5]", "null", "-1", "{}"})
      changes.emplace_back(word, by);
  for (const auto& [word, by] : changes) {
    std::string text = kShapeNotes;
    if (!word.empty()) text.replace(text.find(word), word.size(), by);
    std::string error_text = message_of_call([&] { BucketRunner runner(bucketed(text)); });
    // The message for text that is no JSON is that of a library.
    if (const size_t at = error_text.find("[json"); at != error_text.npos) error_text.resize(at);
    found["buckets"].insert(word + " becomes " + by + ": " + error_text);
  }
  expect("bucket_notes");
}

TEST_F(RecordedRequests, OfPackRunners) {
  const auto with = [&](const std::string& heading, bool unpacks,
                        const std::function<void(PackRunnerConfig&)>& change, size_t items = 0) {
    std::vector<program::Anchor> in{{"ids", DType::s32, {2, 8}}, {"mask", DType::s32, {2, 8}}};
    if (unpacks) in.push_back({"info", DType::s32, {4, 1}});
    const std::vector<program::Anchor> out = {{"y", DType::s32, unpacks ? Shape{4} : Shape{2, 8}}};
    PackRunnerConfig config;
    config.timeout = std::chrono::microseconds(1);
    config.dynamic_input_name = "ids";
    config.dynamic_group = {"mask"};
    if (unpacks) config.unpack_info_input_name = "info";
    config.runner.session.device = std::make_shared<FunctionDevice>(
        [unpacks](const void* const* inputs, void* const* outputs) {
          std::memcpy(outputs[0], unpacks ? inputs[2] : inputs[0], unpacks ? 16 : 64);
        });
    change(config);
    std::unique_ptr<PackRunner> runner;
    const std::string error_text = message_of_call(
        [&] { runner = std::make_unique<PackRunner>(test::anchors_only(in, out), config); });
    if (!runner) {
      found[heading].insert(error_text);
      return;
    }
    RecordedRequest r;
    const size_t places = items ? items : 3;
    r.add_input("ids", places);
    r.add_input("mask", places, {}, 50);
    r.add_output("y", unpacks ? 1 : places);
    if (items)
      requests(heading, *runner, r);
    else
      request_once(heading, *runner, r);
  };
  with("pack", false, [](PackRunnerConfig&) {}, 3);
  with("pack, a whole row", false, [](PackRunnerConfig&) {}, 8);
  with("pack, all", false, [](PackRunnerConfig&) {}, 16);
  with("pack, more than all", false, [](PackRunnerConfig&) {}, 17);
  with("pack, that unpacks", true, [](PackRunnerConfig&) {}, 3);
  with("pack, first fit", false, [](PackRunnerConfig& c) { c.algo = PackAlgorithm::first_fit; });
  with("pack, rows", false, [](PackRunnerConfig& c) { c.disable_data_across_rows = true; }, 8);
  with(
      "pack, more than a row", false,
      [](PackRunnerConfig& c) { c.disable_data_across_rows = true; }, 9);
  with("pack, single rows", false, [](PackRunnerConfig& c) {
    c.dynamic_group.clear();
    c.enable_single_row_mode("mask");
  });
  with("pack, single rows with delimiters", false, [](PackRunnerConfig& c) {
    c.dynamic_group.clear();
    c.enable_single_row_mode("mask", "", 2);
  });
  with("pack, padding removed", false,
       [](PackRunnerConfig& c) { c.enable_padding_remove_pattern("mask", {"ids"}); });
  for (const char* name : {"", "ids", "mask", "info", "y", "nobody"}) {
    with(fmt::format("pack, dynamic input '{}'", name), true,
         [name](PackRunnerConfig& c) { c.dynamic_input_name = name; });
    with(fmt::format("pack, mask '{}'", name), true,
         [name](PackRunnerConfig& c) { c.mask_name = name; });
    with(fmt::format("pack, unpack info '{}'", name), true,
         [name](PackRunnerConfig& c) { c.unpack_info_input_name = name; });
    with(fmt::format("pack, group '{}'", name), true,
         [name](PackRunnerConfig& c) { c.dynamic_group = {name}; });
  }
  for (const int64_t n : {-2, -1, 0, 1, 2, 3, 16, 17}) {
    with(fmt::format("pack, batch of {}", n), false,
         [n](PackRunnerConfig& c) { c.compile_batch_size = n; });
    with(fmt::format("pack, at most {}", n), true,
         [n](PackRunnerConfig& c) { c.max_valid_num = static_cast<uint64_t>(n); });
    with(fmt::format("pack, {} delimiters", n), false, [n](PackRunnerConfig& c) {
      c.dynamic_group.clear();
      c.enable_single_row_mode("mask", "", static_cast<uint64_t>(n));
    });
    with(fmt::format("pack, waits {} microseconds", n), false,
         [n](PackRunnerConfig& c) { c.timeout = std::chrono::microseconds(n == 0 ? 1 : n); });
  }
  with("pack, batched", false, [](PackRunnerConfig& c) { c.runner.batching_dim = 0; });
  expect("pack_requests");
}

TEST_F(RecordedRequests, OfHostConcatRunners) {
  const auto with = [&](const std::string& heading,
                        const std::function<void(HostConcatConfig&)>& change) {
    HostConcatConfig join{"joined", {"a", "b", "c"}, {6}, 24, {4, 8, 12}};
    change(join);
    HostConcatRunnerConfig config;
    config.host_concat_config = {{join.tensor_name, join}};
    config.runner.session.device = copying(24, 4);
    const auto model = test::anchors_only({{"joined", DType::s32, {6}}, {"other", DType::s32, {1}}},
                                          {{"y", DType::s32, {6}}, {"z", DType::s32, {1}}});
    std::unique_ptr<HostConcatRunner> runner;
    const std::string error_text = message_of_call(
        [&] { runner = std::make_unique<HostConcatRunner>(model, std::move(config)); });
    if (!runner) {
      found[heading].insert(error_text);
      return;
    }
    RecordedRequest r;
    const size_t sizes[] = {1, 2, 3};
    for (size_t i = 0; i < join.input_tensor_names.size() && i < 3; i++)
      r.add_input(join.input_tensor_names[i], join.sizes.empty() ? 2 : sizes[i], {},
                  static_cast<int>(10 * i));
    r.add_input("other", 1, {}, 99);
    r.add_output("y", 6);
    r.add_output("z", 1);
    if (heading == "concat")
      requests(heading, *runner, r);
    else
      request_once(heading, *runner, r);
  };
  with("concat", [](HostConcatConfig&) {});
  with("concat, equal parts", [](HostConcatConfig& c) { c.sizes.clear(); });
  with("concat, sizes that are not checked", [](HostConcatConfig& c) {
    c.shape.clear();
    c.data_size_bytes = 0;
  });
  with("concat, of nobody", [](HostConcatConfig& c) { c.tensor_name = "nobody"; });
  with("concat, of an output", [](HostConcatConfig& c) { c.tensor_name = "y"; });
  with("concat, no inputs", [](HostConcatConfig& c) { c.input_tensor_names.clear(); });
  with("concat, one input", [](HostConcatConfig& c) { c.input_tensor_names = {"a"}; });
  with("concat, four inputs", [](HostConcatConfig& c) { c.input_tensor_names.push_back("d"); });
  with("concat, a name twice", [](HostConcatConfig& c) { c.input_tensor_names[1] = "a"; });
  with("concat, an empty name", [](HostConcatConfig& c) { c.input_tensor_names[1] = ""; });
  with("concat, the name of another input",
       [](HostConcatConfig& c) { c.input_tensor_names[1] = "other"; });
  with("concat, its own name", [](HostConcatConfig& c) { c.input_tensor_names[1] = "joined"; });
  for (const uint64_t n : {0, 1, 4, 5, 20, 23, 24, 25}) {
    with(fmt::format("concat, {} bytes", n), [n](HostConcatConfig& c) { c.data_size_bytes = n; });
    with(fmt::format("concat, first of {} bytes", n), [n](HostConcatConfig& c) { c.sizes[0] = n; });
    with(fmt::format("concat, shape [{}]", n),
         [n](HostConcatConfig& c) { c.shape = {static_cast<int64_t>(n)}; });
  }
  with("concat, shape [2,3]", [](HostConcatConfig& c) { c.shape = {2, 3}; });
  for (
      const char* text :
      {"", "{}", "[]", "[{}]", "{\"a\": 1}", R"({"joined": {}})", R"({"joined": []})",
       R"({"joined": {"tensor_name": "joined", "input_tensor_names": ["a"], "shape": [6], "data_size_bytes": 24}})",
       R"([{"tensor_name": "joined", "input_tensor_names": ["a"], "shape": [6], "data_size_bytes": 24}])",
       R"({"joined": {"input_tensor_names": "a", "shape": [6], "data_size_bytes": 24}})",
       R"({"joined": {"input_tensor_names": ["a"], "shape": [-6], "data_size_bytes": 24}})",
       R"({"joined": {"input_tensor_names": ["a"], "shape": [6], "data_size_bytes": -24}})",
       R"({"joined": {"input_tensor_names": [1], "shape": [6], "data_size_bytes": 24}})",
       R"({"joined": {"input_tensor_names": ["a"], "shape": "6", "data_size_bytes": 24}})"}) {
    std::string shown;
    std::string error_text = message_of_call([&] {
      for (const auto& [name, c] : parse_host_concat_config(text))
        shown += fmt::format(" {}: {} of {} {} {}", name, c.tensor_name,
                             fmt::join(c.input_tensor_names, "+"), shape_string(c.shape),
                             c.data_size_bytes);
    });
    if (const size_t at = error_text.find("[json"); at != error_text.npos) error_text.resize(at);
    found["concat, as text"].insert(std::string(text) + ": " + error_text + shown);
  }
  expect("concat_requests");
}

TEST_F(RecordedRequests, OfLightRunners) {
  Model m = *two_copies();
  const int32_t weights[] = {8, 9};
  m.input_data = {{}, std::as_bytes(std::span(weights))};
  LightRunnerConfig config;
  config.session.device = copying(32, 8);
  LightRunner runner(std::make_shared<Model>(m), config);
  const int32_t others[] = {3, 4, 5};
  auto& lines = found["light, weights"];
  for (const char* name : {"w", "x", "y", "nobody", ""})
    for (const uint64_t bytes : {0, 4, 7, 8, 9, 12})
      lines.insert(fmt::format("'{}' of {} bytes: {}", name, bytes, message_of_call([&] {
                                 runner.set_input_anchor(name, {others, bytes});
                               })));
  lines.insert("without memory: " +
               message_of_call([&] { runner.set_input_anchor("w", {nullptr, 8}); }));
  lines.insert("update: " + message_of_call([&] { runner.update_weights(); }));
  RecordedRequest r = two_inputs();
  r.inputs.pop_back();
  requests("light", runner, r);
  lines.insert("update of a stopped one: " + message_of_call([&] { runner.update_weights(); }));
  lines.insert("reload: " + message_of_call([&] { runner.reload(); }));
  requests("light, again", runner, r);
  expect("light_requests");
}

TEST_F(RecordedRequests, ConfigurationsOnBothSidesOfTheirLimits) {
  const auto with = [&](const std::string& what, int64_t value,
                        const std::function<void(RunnerConfig&, int64_t)>& set) {
    RunnerConfig config;
    config.session.device = copying(32, 8);
    set(config, value);
    std::string details;
    const std::string error_text = message_of_call([&] {
      const RunnerPlan plan(two_copies(), std::move(config));
      details = fmt::format(
          ": {} rows of chunks, {} replicas, {} chunks and {} rows a step, depth {}, dynamic {} "
          "flat {} tracing {} largest {}",
          plan.chunk_rows, plan.replicas, plan.step_chunks, plan.step_rows, plan.depth,
          plan.dynamic, plan.flat, plan.tracing, plan.largest_input);
    });
    found[what].insert(fmt::format("{}: {}{}", value, error_text, details));
  };
  const std::pair<const char*, std::function<void(RunnerConfig&, int64_t)>> fields[] = {
      {"queue_depth", [](auto& c, int64_t v) { c.queue_depth = static_cast<size_t>(v); }},
      {"timeout", [](auto& c, int64_t v) { c.timeout = std::chrono::nanoseconds(v); }},
      {"batching_dim", [](auto& c, int64_t v) { c.batching_dim = static_cast<uint32_t>(v); }},
      {"ring_buffer_size_multiplier",
       [](auto& c, int64_t v) { c.ring_buffer_size_multiplier = static_cast<size_t>(v); }},
      {"batch_size_timeout",
       [](auto& c, int64_t v) { c.batch_size_timeout = std::chrono::nanoseconds(v); }},
      {"data_parallel_timeout",
       [](auto& c, int64_t v) { c.data_parallel_timeout = std::chrono::nanoseconds(v); }},
      {"request_tracepoints_buffer_size",
       [](auto& c, int64_t v) { c.request_tracepoints_buffer_size = static_cast<size_t>(v); }},
      {"replication_factor",
       [](auto& c, int64_t v) { c.replication_factor = static_cast<int>(v); }},
      {"batches_per_step", [](auto& c, int64_t v) { c.batches_per_step = v; }},
      {"device_wait_timeout",
       [](auto& c, int64_t v) { c.device_wait_timeout = std::chrono::nanoseconds(v); }},
      {"device_wait_sleep",
       [](auto& c, int64_t v) { c.device_wait_sleep = std::chrono::nanoseconds(v); }},
      {"dynamic batches_per_step",
       [](auto& c, int64_t v) { c.batching_dim = 0, c.batches_per_step = v; }},
      {"dynamic ring_buffer_size_multiplier",
       [](auto& c, int64_t v) {
         c.batching_dim = 0;
         c.ring_buffer_size_multiplier = static_cast<size_t>(v);
       }},
      {"dynamic queue_depth",
       [](auto& c, int64_t v) { c.batching_dim = 0, c.queue_depth = static_cast<size_t>(v); }},
      {"frozen bytes",
       [](auto& c, int64_t v) {
         static const int32_t data[64] = {};
         c.frozen_inputs = {{"w", {data, static_cast<uint64_t>(v)}}};
       }},
      {"replica of the device",
       [](auto& c, int64_t v) {
         c.replica_id_to_device = {{static_cast<int>(v), copying(32, 8)}};
       }},
  };
  for (const auto& [name, set] : fields)
    for (const int64_t v : {-1000000,
                            -2,
                            -1,
                            0,
                            1,
                            2,
                            3,
                            8,
                            63,
                            64,
                            1023,
                            1024,
                            1025,
                            4096,
                            65535,
                            65536,
                            65537,
                            1 << 20,
                            (1 << 20) + 1,
                            INT32_MAX})
      with(name, v, set);
  for (const char* name : {"x", "w", "y", "nobody", ""})
    with(fmt::format("frozen '{}'", name), 8, [name](RunnerConfig& c, int64_t bytes) {
      static const int32_t data[64] = {};
      c.frozen_inputs = {{name, {data, static_cast<uint64_t>(bytes)}}};
    });
  expect("configurations");
}

}  // namespace
}  // namespace poprt::runtime

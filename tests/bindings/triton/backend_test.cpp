// The Triton backend in a small server (host.h).
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <thread>

#include "served.h"

namespace {

using namespace host;

TEST(TritonConfig, IsCompletedFromTheModel) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  EXPECT_EQ(served.model().times_set, 1);
  EXPECT_EQ(served.config(), Json::parse(R"({"max_batch_size": 8, "dynamic_batching": {},
                "input": [{"name": "image", "data_type": "TYPE_FP32", "dims": [1, 8, 8]}],
                "output": [{"name": "scores", "data_type": "TYPE_FP32", "dims": [10]}]})"));
}

TEST(TritonConfig, OfAModelAtSeveralShapesHasOpenDimensions) {
  Served served("buckets.popef");
  ASSERT_EQ(served.load(), "");
  EXPECT_EQ(served.config().value("max_batch_size", 0), 0);
  EXPECT_EQ(served.config()["input"][0]["dims"], Json({-1, 1, 8, 8}));
  EXPECT_EQ(served.config()["output"][0]["dims"], Json({-1, 10}));
}

TEST(TritonConfig, IsUnchangedIfTheServerCompletesNothing) {
  Served served("digits8.popef", {{"max_batch_size", 8}});
  served.model().complete = false;
  EXPECT_EQ(served.load(), "the configuration has no input 'image'; the model has 'image'");
  EXPECT_EQ(served.model().times_set, 0);
}

TEST(TritonConfig, ThatContradictsTheModelIsRefused) {
  const Json image = {{"name", "image"}, {"data_type", "TYPE_FP32"}, {"dims", {1, 8, 8}}};
  const Json scores = {{"name", "scores"}, {"data_type", "TYPE_FP32"}, {"dims", {10}}};
  const auto refusal = [&](const char* file, const char* key, const Json& changed, int batch = 8) {
    Json config = {{"max_batch_size", batch},
                   {"input", Json::array({image})},
                   {"output", Json::array({scores})}};
    config[key] = changed;
    Served served(file, config);
    return served.load();
  };
  const auto with = [](Json tensor, const char* key, const Json& value) {
    tensor[key] = value;
    return Json::array({tensor});
  };
  EXPECT_EQ(refusal("digits8.popef", "parameters", Json::object()), "");
  EXPECT_EQ(refusal("digits8.popef", "max_batch_size", 20),
            "");  // three runs of the model for a request
  EXPECT_EQ(refusal("digits8.popef", "input", with(image, "name", "picture")),
            "the configuration has input 'picture'; the model has 'image'");
  EXPECT_EQ(
      refusal("digits8.popef", "input", with(image, "data_type", "TYPE_FP16")),
      "the configuration has input 'image' with data_type TYPE_FP16; the model has TYPE_FP32");
  EXPECT_EQ(
      refusal("digits8.popef", "input", with(image, "dims", {1, 8, "9"})),
      "the configuration has input 'image' with dims [1,8,9]; the model has [1,8,8] after the "
      "batch dimension");
  EXPECT_EQ(refusal("digits8.popef", "output", with(scores, "dims", {-1})),
            "the configuration has output 'scores' with dims [-1]; the model has [10] after the "
            "batch dimension");
  EXPECT_EQ(refusal("buckets.popef", "max_batch_size", 21),
            "max_batch_size is 21; the largest compiled shape has 20 rows");
  EXPECT_EQ(refusal("nonzero.popef", "max_batch_size", 2),
            "max_batch_size is 2; expected 0, because requests cannot share a batch: an output has "
            "a size that depends on data");
}

TEST(TritonConfig, ParametersAreChecked) {
  const auto refusal = [](const char* name, const char* value) {
    Served served("digits8.popef", parameter(name, value));
    return served.load();
  };
  EXPECT_EQ(refusal("threads", "many"), "parameter 'threads' is \"many\"; expected an integer");
  EXPECT_EQ(refusal("synchronous_execution", "maybe"),
            "parameter 'synchronous_execution' is 'maybe'; expected 0 or 1");
  EXPECT_EQ(refusal("devices", "3-1"),
            "parameter 'devices' has '3-1'; expected a list as in 0,2-3");
  const auto of_type = [](const Json& value) {
    Served served("digits8.popef", {{"parameters", {{"threads", value}}}});
    return served.load();
  };
  EXPECT_EQ(of_type({{"int64_value", 2}}),
            "parameter 'threads' is {\"int64_value\":2}; expected { string_value: \"...\" }");
  EXPECT_EQ(of_type({{"string_value", 2}}),
            "parameter 'threads' is {\"string_value\":2}; expected { string_value: \"...\" }");
  EXPECT_EQ(of_type("2"), "parameter 'threads' is \"2\"; expected { string_value: \"...\" }");
  EXPECT_EQ(refusal("threads", "-1"), "parameter 'threads' is -1; expected 0 to 65536");
  EXPECT_EQ(refusal("threads", "1 "), "parameter 'threads' is \"1 \"; expected an integer");
  EXPECT_EQ(refusal("timeout_ns", "1.5"), "parameter 'timeout_ns' is \"1.5\"; expected an integer");
  host::take_log();
  EXPECT_EQ(refusal("thread", "2"), "");
  EXPECT_NE(host::take_log().find("parameter 'thread' has no effect; known: timeout_ns, threads"),
            std::string::npos);
}

// A configuration that was written for both modes still loads.
TEST(TritonConfig, ATimeoutWithoutEffectIsLogged) {
  const std::string warning =
      "parameter 'timeout_ns' has no effect, because synchronous_execution is 1";
  for (const char* synchronous : {"1", "0"}) {
    Json config = parameter("synchronous_execution", synchronous);
    config["parameters"]["timeout_ns"] = {{"string_value", "500000"}};
    Served served("digits8.popef", config);
    host::take_log();
    EXPECT_EQ(served.load(), "");
    EXPECT_EQ(host::take_log().find(warning) != std::string::npos, synchronous == std::string("1"));
  }
  Served served("digits8.popef", parameter("timeout_ns", "500000"));
  EXPECT_EQ(served.load(), "");
  EXPECT_NE(host::take_log().find(warning), std::string::npos) << "1 is the default";
}

TEST(TritonModel, NamesOfTheMapReplaceAnchors) {
  Served served("digits8.popef");
  std::ofstream(served.folder() / "name_map.json") << R"({"image": "input_0"})";
  ASSERT_EQ(served.load(), "");
  EXPECT_EQ(served.config()["input"][0]["name"], "input_0");
  ASSERT_EQ(served.add_instance(), "");
  const auto images = random_values(2 * 64);
  auto request = request_of(images);
  request->inputs[0].name = "input_0";
  served.run(request);
  expect_close(floats_of(*request, "scores"), reference(images));
}

TEST(TritonModel, NameMapThatNamesNoTensorIsRefused) {
  Served served("digits8.popef");
  std::ofstream(served.folder() / "name_map.json") << R"({"picture": "input_0"})";
  EXPECT_EQ(served.load(), "name_map.json: the model has no tensor 'picture'");
}

TEST(TritonModel, AnOnnxFileNextToAPopefFileIsReported) {
  for (const bool with_onnx : {true, false}) {
    Served served("digits8.popef", Json::object(), true);
    if (with_onnx) std::ofstream(served.folder() / "model.onnx") << "other";
    host::take_log();
    ASSERT_EQ(served.load(), "");
    EXPECT_EQ(host::take_log(), with_onnx
                                    ? "poprt: '" + (served.folder() / "executable.popef").string() +
                                          "' is used, without 'model.onnx' of the same folder\n"
                                    : "");
  }
}

TEST(TritonModel, FailedInitialisationCanBeFinalised) {
  {
    Served served(nullptr);
    EXPECT_NE(served.load().find("has no *.popef and no model.poprt"), std::string::npos);
    EXPECT_EQ(served.add_instance(), "the model is not initialised");
    TRITONBACKEND_Request* none = nullptr;
    EXPECT_EQ(host::text_of(library().execute(&served.instance(), &none, 0)),
              "the instance is not initialised");
  }
  Served damaged(nullptr);
  std::string bytes(fs::file_size(files() / "digits8.popef") / 2, '\0');
  std::ifstream(files() / "digits8.popef", std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(damaged.folder() / "executable.popef", std::ios::binary) << bytes;
  EXPECT_NE(damaged.load(), "");
  EXPECT_NE(damaged.add_instance(), "");
}

TEST(TritonModel, OnnxIsCompiledIfTheServerAllowsIt) {
  {
    Served served(nullptr);
    fs::copy_file(DIGITS, served.folder() / "model.onnx");
    EXPECT_NE(served.load().find("compiling its ONNX model is not allowed"), std::string::npos);
  }
  setenv("POPART_CACHE_DIR", (files() / "cache").string().c_str(), 1);
  Served served(nullptr, parameter("compile.input_shape", "image=4,1,8,8"), true);
  fs::copy_file(DIGITS, served.folder() / "model.onnx");
  EXPECT_EQ(served.load(), "");
  unsetenv("POPART_CACHE_DIR");
  EXPECT_EQ(served.config()["max_batch_size"], 4);
}

TEST(TritonModel, ParametersOfTheCompilerAreForOnnxFiles) {
  const auto refusal = [](const char* name, const char* value, bool compile) {
    Served served("digits8.popef", parameter(name, value), compile);
    return served.load();
  };
  EXPECT_EQ(refusal("compile.precision", "fp16", true),
            "parameter 'compile.precision' has no effect on a PopEF file; expected an ONNX file");
  EXPECT_EQ(refusal("compile.shapes", "on_demand", false),
            "parameter 'compile.shapes' is on_demand, which needs "
            "--backend-config=poprt,compile=true");
  EXPECT_NE(refusal("compile.shapes", "on_demand", true).find("does not contain its ONNX model"),
            std::string::npos);
  EXPECT_EQ(refusal("compile.shapes", "fixed", false), "");
}

TEST(TritonModel, OptionsOfTheCommandLineAreChecked) {
  const auto answer = [](const Json& cmdline) {
    TRITONBACKEND_Backend backend;
    backend.config.text = Json{{"cmdline", cmdline}}.dump();
    const std::string message = text_of(library().initialize(&backend));
    EXPECT_EQ(text_of(library().finalize(&backend)), "");
    return message;
  };
  EXPECT_EQ(answer({{"compile", "yes"}}), "option compile is \"yes\"; expected true or false");
  EXPECT_EQ(answer({{"compile", true}}), "option compile is true; expected true or false");
  take_log();
  EXPECT_EQ(answer({{"auto-complete-config", "true"}, {"compile", "true"}}), "");
  EXPECT_EQ(take_log().find("no effect"), std::string::npos);
  EXPECT_EQ(answer({{"complie", "true"}}), "");
  EXPECT_NE(take_log().find("option 'complie' has no effect; known: compile"), std::string::npos);
}

TEST(TritonRequests, ShareABatch) {
  Served served("digits8.popef", {{"max_batch_size", 16}});
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  for (const size_t last : {size_t(2), size_t(3)}) {  // 8 rows; 9 rows, which is two batches
    const auto a = random_values(5 * 64), b = random_values(64), c = random_values(last * 64);
    auto first = request_of(a), second = request_of(b), third = request_of(c);
    served.run(first, second, third);
    expect_close(floats_of(*first, "scores"), reference(a));
    expect_close(floats_of(*second, "scores"), reference(b));
    expect_close(floats_of(*third, "scores"), reference(c));
    EXPECT_EQ(third->outputs.at("scores").shape, (std::vector<int64_t>{int64_t(last), 10}));
  }
  EXPECT_EQ(served.instance().batches, (std::vector<uint64_t>{8, 9}));
  EXPECT_EQ(served.instance().succeeded, 6);
}

TEST(TritonRequests, OfMoreRowsThanABatchAreDivided) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  const auto a = random_values(6 * 64), b = random_values(6 * 64);
  auto first = request_of(a), second = request_of(b);
  served.run(first, second);
  expect_close(floats_of(*first, "scores"), reference(a));
  expect_close(floats_of(*second, "scores"), reference(b));
  EXPECT_EQ(served.instance().batches, (std::vector<uint64_t>{6, 6}));
}

TEST(TritonRequests, InputsMayBeInSeveralBuffers) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  const auto whole = random_values(8 * 64), part = random_values(3 * 64);
  auto first = request_of(whole, 100), second = request_of(part, 7);
  second->inputs[0].buffers.insert(second->inputs[0].buffers.begin() + 1, std::vector<char>());
  served.run(first, second);
  expect_close(floats_of(*first, "scores"), reference(whole));
  expect_close(floats_of(*second, "scores"), reference(part));
}

TEST(TritonRequests, OutputsThatAreNotRequestedAreLeftOut) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  auto none = request_of(random_values(8 * 64));
  none->wanted.clear();
  served.run(none);
  EXPECT_EQ(none->error, "");
  EXPECT_TRUE(none->outputs.empty());
}

TEST(TritonRequests, ThatAreCancelledWhileOthersAreComputedDoNotRun) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  // The second one does not fit into the batch of the first one.
  const auto images = random_values(8 * 64), few = random_values(2 * 64);
  auto first = request_of(images), second = request_of(few), third = request_of(few);
  first->cancels = second.get();
  served.run(first, second, third);
  expect_close(floats_of(*first, "scores"), reference(images));
  EXPECT_EQ(second->code, TRITONSERVER_ERROR_CANCELLED) << second->error;
  EXPECT_EQ(second->error, "the client cancelled the request");
  expect_close(floats_of(*third, "scores"), reference(few));
  const std::lock_guard lock(served.instance().mutex);
  EXPECT_EQ(served.instance().batches, (std::vector<uint64_t>{8, 2}));
}

TEST(TritonRequests, ThatAreWrongDoNotAffectOthers) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  const auto images = random_values(2 * 64);
  auto shape = request_of(images), bytes = request_of(images), name = request_of(images),
       type = request_of(images), gpu = request_of(images), cancelled = request_of(images),
       output = request_of(images), missing = request_of(images), good = request_of(images);
  shape->inputs[0].shape = {2, 8, 8, 1};
  bytes->inputs[0].buffers[0].resize(100);
  name->inputs[0].name = "picture";
  type->inputs[0].type = TRITONSERVER_TYPE_FP16;
  gpu->inputs[0].memory = TRITONSERVER_MEMORY_GPU;
  cancelled->cancelled = true;
  output->wanted = {"score"};
  missing->inputs.clear();
  served.run(shape, bytes, name, type, gpu, cancelled, output, missing, good);
  EXPECT_EQ(shape->error,
            "input 'image' has shape [2,8,8,1]; expected [8,1,8,8] with any number of rows");
  EXPECT_EQ(bytes->error, "input 'image' has 100 bytes; expected 512");
  EXPECT_EQ(name->error, "the model has no input 'picture'");
  EXPECT_EQ(type->error, "input 'image' has type FP16; expected FP32");
  EXPECT_EQ(gpu->error, "input 'image' is in the memory of a GPU");
  EXPECT_EQ(cancelled->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(output->error, "the model has no output 'score'");
  EXPECT_EQ(missing->error, "input 'image' is missing");
  EXPECT_EQ(missing->code, TRITONSERVER_ERROR_INVALID_ARG);
  expect_close(floats_of(*good, "scores"), reference(images));
  EXPECT_EQ(served.instance().failed, 8);
  EXPECT_EQ(served.instance().succeeded, 1);
}

// The first request fills a batch, whose run takes longer than the timeout.
TEST(TritonRequests, ThatAreLateDoNotJoinABatch) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const auto a = random_values(8 * 64), b = random_values(3 * 64), c = random_values(2 * 64);
  auto first = request_of(a), patient = request_of(b), late = request_of(c);
  late->timeout_us = 1;
  served.run(first, patient, late);
  expect_close(floats_of(*first, "scores"), reference(a));
  expect_close(floats_of(*patient, "scores"), reference(b));
  EXPECT_EQ(late->code, TRITONSERVER_ERROR_UNAVAILABLE);
  EXPECT_EQ(late->error, "the request waited longer than its timeout for its computation");
  EXPECT_EQ(late->sent, 1);
}

TEST(TritonRequests, ParametersWithoutAnEffectCauseAWarning) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  host::take_log();
  for (int i = 0; i < 2; i++) {
    auto request = request_of(random_values(64));
    request->parameters = {{"heat", 2.0}, {"trace", std::string("x")}};
    served.run(request);
    EXPECT_EQ(request->error, "");
  }
  EXPECT_EQ(host::take_log(),
            "poprt: parameter 'heat' of a request has no effect\n"
            "poprt: parameter 'trace' of a request has no effect\n");
}

TEST(TritonRequests, WithoutAResponseAreReleased) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  auto request = request_of(random_values(64));
  request->refuse_response = true;
  TRITONBACKEND_Request* all[] = {request.get()};
  EXPECT_EQ(host::text_of(library().execute(&served.instance(), all, 1)), "");
  EXPECT_EQ(request->released, 1);
  EXPECT_EQ(request->sent, 0);
}

TEST(TritonRequests, OfSeveralShapesUseTheirOwn) {
  for (const int batch : {0, 20}) {
    Served served("buckets.popef", {{"max_batch_size", batch}});
    ASSERT_EQ(served.load(), "");
    ASSERT_EQ(served.add_instance(), "");
    const auto a = random_values(3 * 64), b = random_values(17 * 64), c = random_values(64);
    auto first = request_of(a), second = request_of(b, 1000), third = request_of(c),
         large = request_of(random_values(21 * 64));
    served.run(first, second, third, large);
    expect_close(floats_of(*first, "scores"), reference(a));
    expect_close(floats_of(*second, "scores"), reference(b));
    expect_close(floats_of(*third, "scores"), reference(c));
    EXPECT_NE(large->error.find("expected 1 to 20"), std::string::npos) << large->error;
    const auto expected = batch ? std::vector<uint64_t>{20, 1} : std::vector<uint64_t>{1, 1, 1};
    EXPECT_EQ(served.instance().batches, expected);
  }
}

TEST(TritonRequests, SelectAModelOfAFusedOneByName) {
  for (const char* synchronous : {"1", "0"}) {
    Served served("fused.popef", parameter("synchronous_execution", synchronous));
    ASSERT_EQ(served.load(), "");
    EXPECT_EQ(served.config()["input"][1]["optional"], true);
    ASSERT_EQ(served.add_instance(), "");
    const auto images = random_values(8 * 64);
    auto request = request_of(images), mixed = request_of(images);
    request->inputs[0].name = "graph1/image";
    request->wanted = {"graph0/scores", "graph1/scores"};
    mixed->inputs.push_back(mixed->inputs[0]);
    mixed->inputs[0].name = "graph0/image";
    mixed->inputs[1].name = "graph1/image";
    mixed->wanted = {"graph0/scores"};
    auto other = request_of(images);
    other->inputs[0].name = "graph1/image";
    other->wanted = {"graph0/scores"};
    served.run(request, mixed, other);
    expect_close(floats_of(*request, "graph1/scores"), reference(images));
    EXPECT_FALSE(request->outputs.contains("graph0/scores"));
    EXPECT_NE(mixed->error, "");
    EXPECT_EQ(other->error,
              "output 'graph0/scores' belongs to another model of a fused one than the inputs");
  }
}

TEST(TritonRequests, SizesThatDependOnDataMatchTheResult) {
  Served served("nonzero.popef");
  ASSERT_EQ(served.load(), "");
  const Json output = served.config()["output"][0], input = served.config()["input"][0];
  ASSERT_EQ(served.config()["output"].size(), 1u);
  for (const Json& size : output["dims"]) EXPECT_EQ(size, -1);
  ASSERT_EQ(served.add_instance(), "");
  const auto shape = input["dims"].get<std::vector<int64_t>>();
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  std::vector<float> values(count);
  values[1] = 3;
  values[count - 1] = -2;
  auto request = std::make_unique<TRITONBACKEND_Request>();
  TRITONBACKEND_Input tensor;
  tensor.name = input["name"];
  tensor.shape = shape;
  tensor.buffers = {bytes_of(values.data(), count * sizeof(float))};
  request->inputs.push_back(tensor);
  request->wanted = {output["name"]};
  served.run(request);
  ASSERT_EQ(request->error, "");
  EXPECT_EQ(request->outputs.at(output["name"]).shape,
            (std::vector<int64_t>{static_cast<int64_t>(shape.size()), 2}));
}

TEST(TritonInstances, OnAGpuAreRefused) {
  Served served("digits8.popef");
  ASSERT_EQ(served.load(), "");
  EXPECT_EQ(served.add_instance(TRITONSERVER_INSTANCEGROUPKIND_GPU),
            "instance_group has KIND_GPU; expected KIND_CPU");
}

TEST(TritonInstances, UseTheDevicesOfTheParameter) {
  Served served("digits8.popef", parameter("devices", "5,7"));
  ASSERT_EQ(served.load(), "");
  EXPECT_EQ(served.add_instance(), "");
  EXPECT_EQ(served.add_instance(), "");
  EXPECT_EQ(served.add_instance(),
            "there are more instances than the 2 devices of parameter 'devices'");
  served.remove_instances();
  EXPECT_EQ(served.add_instance(), "");
}

// Eight threads with an instance each.
TEST(TritonInstances, RunAtTheSameTime) {
  Served served("digits8.popef", parameter("threads", "1"));
  ASSERT_EQ(served.load(), "");
  for (int i = 0; i < 8; i++) ASSERT_EQ(served.add_instance(), "");
  const auto images = random_values(3 * 64);
  const auto expected = reference(images);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; i++)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; round++) {
        auto request = request_of(images, round % 2 ? 64 : 0);
        TRITONBACKEND_Request* all[] = {request.get()};
        EXPECT_EQ(host::text_of(library().execute(&served.instance(i), all, 1)), "");
        expect_close(floats_of(*request, "scores"), expected);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 8; i++) EXPECT_EQ(served.instance(i).succeeded, 20);
}

TEST(TritonAsynchronous, RequestsOfSeveralCallsShareABatch) {
  Json config = parameter("synchronous_execution", "0");
  config["parameters"]["timeout_ns"] = {{"string_value", "-1"}};  // no padding
  Served served("digits8.popef", config);
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  const auto a = random_values(3 * 64), b = random_values(5 * 64);
  auto first = request_of(a), second = request_of(b, 100);
  TRITONBACKEND_Request *one[] = {first.get()}, *two[] = {second.get()};
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), one, 1)), "");
  EXPECT_EQ(first->released, 0);  // waits for more rows
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), two, 1)), "");
  first->wait_released();
  second->wait_released();
  expect_close(floats_of(*first, "scores"), reference(a));
  expect_close(floats_of(*second, "scores"), reference(b));
  served.instance().mutex.lock();
  EXPECT_EQ(served.instance().batches, (std::vector<uint64_t>{8}));
  served.instance().mutex.unlock();
}

TEST(TritonAsynchronous, UnloadAnswersWaitingRequests) {
  Json config = parameter("synchronous_execution", "0");
  config["parameters"]["timeout_ns"] = {{"string_value", "-1"}};
  Served served("digits8.popef", config);
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  auto request = request_of(random_values(64)), wrong = request_of(random_values(64));
  wrong->inputs[0].name = "picture";
  TRITONBACKEND_Request* all[] = {request.get(), wrong.get()};
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), all, 2)), "");
  EXPECT_EQ(wrong->error, "the model has no input 'picture'");
  served.remove_instances();
  EXPECT_EQ(request->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(request->released, 1);
}

TEST(TritonAsynchronous, ModelsAtSeveralShapesAnswerFromEightThreads) {
  Served served("buckets.popef", parameter("synchronous_execution", "0"));
  ASSERT_EQ(served.load(), "");
  ASSERT_EQ(served.add_instance(), "");
  const auto images = random_values(7 * 64);
  const auto expected = reference(images);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      for (int round = 0; round < 10; round++) {
        auto request = request_of(images, round % 2 ? 99 : 0);
        TRITONBACKEND_Request* all[] = {request.get()};
        EXPECT_EQ(host::text_of(library().execute(&served.instance(), all, 1)), "");
        request->wait_released();
        expect_close(floats_of(*request, "scores"), expected);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.instance().succeeded, 80);
}

}  // namespace

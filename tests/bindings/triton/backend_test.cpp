// The Triton backend in a small server (host.h).
#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "host.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Options = std::vector<std::pair<std::string, std::string>>;

void succeed(poprt_error* error) {
  const std::string text = poprt_error_message(error);
  poprt_error_free(error);
  if (!text.empty()) throw std::runtime_error(text);
}

void compile(const char* onnx, const Options& options, const fs::path& popef) {
  std::vector<poprt_option> named;
  for (const auto& [name, value] : options) named.push_back({name.c_str(), value.c_str()});
  poprt_compile_options settings = {};
  settings.struct_size = sizeof settings;
  settings.options = named.data();
  settings.option_count = named.size();
  poprt_compiler* compiler = nullptr;
  succeed(poprt_compiler_create(&settings, &compiler));
  poprt_error* const error =
      poprt_compiler_compile_to_popef(compiler, onnx, popef.string().c_str());
  poprt_compiler_free(compiler);
  succeed(error);
}

// A folder with PopEF files that all tests share.
const fs::path& files() {
  static const fs::path folder = [] {
    std::string name = (fs::temp_directory_path() / "poprt_triton_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    const fs::path made = name;
    compile(DIGITS, {{"input_shape", "image=8,1,8,8"}}, made / "digits8.popef");
    compile(DIGITS, {{"input_shape", "image=1,1,8,8/4,1,8,8/20,1,8,8"}}, made / "buckets.popef");
    compile(MODELS "/nonzero.onnx", {}, made / "nonzero.popef");
    poprt_generator_options generator_options = {};
    generator_options.struct_size = sizeof generator_options;
    generator_options.slots = 2;
    poprt_generator* generator = nullptr;
    succeed(poprt_generator_create(GENERATION "/genai", &generator_options, &generator));
    succeed(poprt_generator_save(generator, (made / "text.popef").string().c_str()));
    poprt_generator_free(generator);
    poprt_executable *first = nullptr, *second = nullptr, *fused = nullptr;
    succeed(poprt_executable_open((made / "digits8.popef").string().c_str(), &first));
    succeed(poprt_executable_open((made / "digits8.popef").string().c_str(), &second));
    const poprt_executable* both[] = {first, second};
    succeed(poprt_executable_fuse(both, 2, &fused));
    succeed(poprt_executable_save(fused, (made / "fused.popef").string().c_str()));
    poprt_executable_free(first);
    poprt_executable_free(second);
    poprt_executable_free(fused);
    return made;
  }();
  return folder;
}

class RemoveFiles : public testing::Environment {
 public:
  void TearDown() override { fs::remove_all(files()); }
};
const auto* const environment = testing::AddGlobalTestEnvironment(new RemoveFiles);

const host::Library& library() {
  static const host::Library loaded(BACKEND);
  return loaded;
}

std::vector<float> random_values(size_t count) {
  static std::mt19937 engine(7);
  std::uniform_real_distribution<float> values(0, 16);
  std::vector<float> made(count);
  for (float& value : made) value = values(engine);
  return made;
}

std::vector<char> bytes_of(const void* data, size_t size) {
  const char* const from = static_cast<const char*>(data);
  return {from, from + size};
}

// The scores of images by a runner of the C library, without the backend.
std::vector<float> reference(const std::vector<float>& images) {
  poprt_executable* executable = nullptr;
  poprt_runner* runner = nullptr;
  succeed(poprt_executable_open((files() / "digits8.popef").string().c_str(), &executable));
  succeed(poprt_runner_create(executable, nullptr, &runner));
  const size_t rows = images.size() / 64, batches = (rows + 7) / 8;
  std::vector<float> padded(batches * 8 * 64), scores(batches * 8 * 10);
  std::copy(images.begin(), images.end(), padded.begin());
  const poprt_input in = {"image", 0, padded.data(), padded.size() * sizeof(float)};
  const poprt_output out = {"scores", 0, scores.data(), scores.size() * sizeof(float)};
  poprt_error* const error = poprt_runner_execute(runner, &in, 1, &out, 1);
  poprt_runner_free(runner);
  poprt_executable_free(executable);
  succeed(error);
  scores.resize(rows * 10);
  return scores;
}

// A request with images, in one buffer or in several of the given number of bytes.
std::unique_ptr<TRITONBACKEND_Request> request_of(const std::vector<float>& images,
                                                  size_t buffer_bytes = 0) {
  auto request = std::make_unique<TRITONBACKEND_Request>();
  TRITONBACKEND_Input input;
  input.name = "image";
  input.shape = {static_cast<int64_t>(images.size() / 64), 1, 8, 8};
  const std::vector<char> bytes = bytes_of(images.data(), images.size() * sizeof(float));
  const size_t step = buffer_bytes ? buffer_bytes : bytes.size();
  for (size_t at = 0; at < bytes.size(); at += step)
    input.buffers.push_back(bytes_of(bytes.data() + at, std::min(step, bytes.size() - at)));
  request->inputs.push_back(input);
  request->wanted = {"scores"};
  return request;
}

std::vector<float> floats_of(const TRITONBACKEND_Request& request, const char* output) {
  const auto& bytes = request.outputs.at(output).bytes;
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) ASSERT_NEAR(found[i], expected[i], 1e-3) << i;
}

// A model of the server with its version folder.
class Served {
 public:
  Served(const char* popef, Json config = Json::object(), bool compile_onnx = false) {
    std::string name = (files() / "model_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    folder_ = name;
    fs::create_directory(folder_ / "1");
    if (popef) fs::create_hard_link(files() / popef, folder_ / "1" / "executable.popef");
    backend_.config.text = Json{{"cmdline", {{"compile", compile_onnx ? "true" : "false"}}}}.dump();
    EXPECT_EQ(host::text_of(library().initialize(&backend_)), "");
    model_.backend = &backend_;
    model_.location = folder_.string();
    model_.config = config.dump();
  }
  ~Served() {
    for (auto& instance : instances_)
      EXPECT_EQ(host::text_of(library().instance_finalize(instance.get())), "");
    EXPECT_EQ(host::text_of(library().model_finalize(&model_)), "");
    EXPECT_EQ(host::text_of(library().finalize(&backend_)), "");
    fs::remove_all(folder_);
    EXPECT_EQ(host::live_objects(), 0);
  }
  fs::path folder() const { return folder_ / "1"; }
  TRITONBACKEND_Model& model() { return model_; }
  Json config() const { return Json::parse(model_.config); }

  std::string load() { return host::text_of(library().model_initialize(&model_)); }
  std::string add_instance(
      TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU) {
    instances_.push_back(std::make_unique<TRITONBACKEND_ModelInstance>());
    instances_.back()->model = &model_;
    instances_.back()->kind = kind;
    return host::text_of(library().instance_initialize(instances_.back().get()));
  }
  TRITONBACKEND_ModelInstance& instance(size_t i = 0) { return *instances_.at(i); }
  void remove_instances() {
    for (auto& instance : instances_)
      EXPECT_EQ(host::text_of(library().instance_finalize(instance.get())), "");
    instances_.clear();
  }

  template <class... Requests>
  void run(Requests&... requests) {
    std::vector<TRITONBACKEND_Request*> all = {requests.get()...};
    ASSERT_EQ(host::text_of(
                  library().execute(&instance(), all.data(), static_cast<uint32_t>(all.size()))),
              "");
    for (TRITONBACKEND_Request* request : all) {
      request->wait_released();
      EXPECT_EQ(request->released, 1);
      EXPECT_EQ(request->sent, 1);
    }
  }

 private:
  fs::path folder_;
  TRITONBACKEND_Backend backend_;
  TRITONBACKEND_Model model_;
  std::vector<std::unique_ptr<TRITONBACKEND_ModelInstance>> instances_;
};

Json parameter(const char* name, const char* value) {
  return {{"parameters", {{name, {{"string_value", value}}}}}};
}

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
  EXPECT_EQ(refusal("digits8.popef", "max_batch_size", 20), "");  // three runs of the model
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
  host::take_log();
  EXPECT_EQ(refusal("thread", "2"), "");
  EXPECT_NE(host::take_log().find("parameter 'thread' has no effect; known: timeout_ns, threads"),
            std::string::npos);
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
  EXPECT_EQ(type->error, "input 'image' has another type; expected FP32");
  EXPECT_EQ(gpu->error, "input 'image' is in the memory of a GPU");
  EXPECT_EQ(cancelled->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(output->error, "the model has no output 'score'");
  EXPECT_EQ(missing->error, "input 'image' is missing");
  EXPECT_EQ(missing->code, TRITONSERVER_ERROR_INVALID_ARG);
  expect_close(floats_of(*good, "scores"), reference(images));
  EXPECT_EQ(served.instance().failed, 8);
  EXPECT_EQ(served.instance().succeeded, 1);
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
  Served served("fused.popef");
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
  served.run(request, mixed);
  expect_close(floats_of(*request, "graph1/scores"), reference(images));
  EXPECT_FALSE(request->outputs.contains("graph0/scores"));
  EXPECT_NE(mixed->error, "");
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

// Texts of tests/data/generation/make.py.
Json reference_texts() {
  std::ifstream file(GENERATION "/expected.json");
  return Json::parse(file)["genai"];
}

template <class T>
TRITONBACKEND_Input input_of(const char* name, TRITONSERVER_DataType type,
                             const std::vector<T>& values) {
  TRITONBACKEND_Input input;
  input.name = name;
  input.type = type;
  input.shape = {static_cast<int64_t>(values.size())};
  input.buffers = {bytes_of(values.data(), values.size() * sizeof(T))};
  return input;
}

std::unique_ptr<TRITONBACKEND_Request> text_request(const std::vector<int64_t>& prompt,
                                                    int64_t max_new_tokens) {
  auto request = std::make_unique<TRITONBACKEND_Request>();
  request->inputs = {
      input_of("input_ids", TRITONSERVER_TYPE_INT64, prompt),
      input_of("max_new_tokens", TRITONSERVER_TYPE_INT64, std::vector<int64_t>{max_new_tokens}),
      input_of("ignore_stop", TRITONSERVER_TYPE_BOOL, std::vector<uint8_t>{1})};
  request->wanted = {"token_ids", "log_probabilities"};
  return request;
}

template <class T>
std::vector<T> values_of(const TRITONBACKEND_Output& output) {
  std::vector<T> values(output.bytes.size() / sizeof(T));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

std::vector<int64_t> tokens_of(const TRITONBACKEND_Request& request) {
  std::vector<int64_t> tokens;
  for (const auto& response : request.responses)
    for (const int64_t token : values_of<int64_t>(response.at("token_ids")))
      tokens.push_back(token);
  return tokens;
}

std::vector<int64_t> first_tokens(const Json& text, size_t count) {
  auto tokens = text["tokens"].get<std::vector<int64_t>>();
  tokens.resize(count);
  return tokens;
}

void execute(Served& served, TRITONBACKEND_Request& request) {
  TRITONBACKEND_Request* one = &request;
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), &one, 1)), "");
}

TEST(TritonGenerator, ConfigurationIsDecoupled) {
  Served served("text.popef");
  ASSERT_EQ(served.load(), "");
  const Json config = served.config();
  EXPECT_EQ(config["model_transaction_policy"], Json({{"decoupled", true}}));
  EXPECT_FALSE(config.contains("dynamic_batching"));
  EXPECT_EQ(config["input"][0],
            Json({{"name", "input_ids"}, {"data_type", "TYPE_INT64"}, {"dims", {-1}}}));
  for (size_t i = 1; i < config["input"].size(); i++)
    EXPECT_EQ(config["input"][i]["optional"], true);
  EXPECT_EQ(config["output"][1]["data_type"], "TYPE_FP32");
}

TEST(TritonGenerator, ConfigurationsThatContradictAreRefused) {
  Served batched("text.popef", {{"max_batch_size", 2}});
  EXPECT_EQ(batched.load(),
            "max_batch_size is 2; expected 0, because each request to a generator is one text");
  Served devices("text.popef", parameter("devices", "0"));
  EXPECT_EQ(devices.load(),
            "only parameter 'threads' has an effect on a generator; remove the others");
  const Json tokens = {{"name", "input_ids"}, {"data_type", "TYPE_INT32"}, {"dims", {-1}}};
  Served type("text.popef", {{"input", Json::array({tokens})}});
  EXPECT_EQ(type.load(),
            "the configuration has input 'input_ids' with data_type TYPE_INT32; the model has "
            "TYPE_INT64");
  Served named("text.popef", {{"default_model_filename", "model.poprt"}});
  fs::rename(named.folder() / "executable.popef", named.folder() / "model.poprt");
  EXPECT_NE(named.load().find("must have the ending .popef"), std::string::npos);
  Served gpu("text.popef");
  ASSERT_EQ(gpu.load(), "");
  EXPECT_NE(gpu.add_instance(TRITONSERVER_INSTANCEGROUPKIND_GPU).find("KIND_GPU"),
            std::string::npos);
}

TEST(TritonGenerator, EachTokenIsAResponse) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  for (const Json& text : reference_texts()) {
    const auto request = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
    execute(served, *request);
    request->wait_released();
    EXPECT_EQ(request->error, "");
    EXPECT_EQ(request->responses.size(), 8);
    EXPECT_EQ(request->ends, 1);
    EXPECT_EQ(tokens_of(*request), first_tokens(text, 8));
    for (size_t i = 0; i < 8; i++)
      EXPECT_NEAR(values_of<float>(request->responses[i].at("log_probabilities")).at(0),
                  text["log_probabilities"][i].get<double>(), 1e-3);
  }
  EXPECT_EQ(served.instance().succeeded, static_cast<int>(reference_texts().size()));
}

TEST(TritonGenerator, WithoutDecouplingATextIsOneResponse) {
  Served served("text.popef", {{"model_transaction_policy", {{"decoupled", false}}}});
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json text = reference_texts()[1];
  const auto request = text_request(text["prompt"].get<std::vector<int64_t>>(), 8);
  request->wanted = {"token_ids"};
  served.run(request);
  EXPECT_EQ(request->ends, 1);
  EXPECT_EQ(tokens_of(*request), first_tokens(text, 8));
  EXPECT_EQ(request->responses[0].size(), 1);
}

TEST(TritonGenerator, ManyTextsShareTheSlots) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json texts = reference_texts();
  std::vector<std::unique_ptr<TRITONBACKEND_Request>> requests;
  std::vector<TRITONBACKEND_Request*> all;
  for (size_t i = 0; i < 40; i++) {
    requests.push_back(
        text_request(texts[i % texts.size()]["prompt"].get<std::vector<int64_t>>(), 8));
    all.push_back(requests.back().get());
  }
  ASSERT_EQ(host::text_of(library().execute(&served.instance(), all.data(), 40)), "");
  for (size_t i = 0; i < 40; i++) {
    all[i]->wait_released();
    EXPECT_EQ(tokens_of(*all[i]), first_tokens(texts[i % texts.size()], 8));
    EXPECT_EQ(all[i]->ends, 1);
  }
}

TEST(TritonGenerator, OptionsOfSampling) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const Json text = reference_texts()[1];
  const auto prompt = text["prompt"].get<std::vector<int64_t>>();
  const auto tokens = [&](int64_t seed, float temperature, int64_t stop) {
    const auto request = text_request(prompt, 12);
    request->inputs.push_back(
        input_of("seed", TRITONSERVER_TYPE_INT64, std::vector<int64_t>{seed}));
    request->inputs.push_back(
        input_of("temperature", TRITONSERVER_TYPE_FP32, std::vector<float>{temperature}));
    if (stop >= 0)
      request->inputs.push_back(
          input_of("stop_token_ids", TRITONSERVER_TYPE_INT64, std::vector<int64_t>{stop}));
    execute(served, *request);
    request->wait_released();
    EXPECT_EQ(request->error, "");
    return tokens_of(*request);
  };
  EXPECT_EQ(tokens(1, 2, -1), tokens(1, 2, -1));
  EXPECT_NE(tokens(1, 2, -1), tokens(2, 2, -1));
  EXPECT_EQ(tokens(1, 0, text["tokens"][2].get<int64_t>()), first_tokens(text, 3));
}

TEST(TritonGenerator, HostileRequestsAreRefused) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const auto refusal = [&](const std::unique_ptr<TRITONBACKEND_Request>& request) {
    execute(served, *request);
    request->wait_released();
    EXPECT_EQ(request->ends, 1);
    EXPECT_EQ(request->code, TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_TRUE(request->responses.empty());
    return request->error;
  };
  EXPECT_NE(refusal(text_request({}, 8)).find("empty"), std::string::npos);
  EXPECT_NE(refusal(text_request({53}, 8)).find("token 53"), std::string::npos);
  EXPECT_NE(refusal(text_request({-1}, 8)).find("token -1"), std::string::npos);
  EXPECT_NE(refusal(text_request(std::vector<int64_t>(1000, 1), 8)).find("1000 tokens"),
            std::string::npos);
  EXPECT_NE(refusal(text_request({1}, -1)).find("max_new_tokens"), std::string::npos);
  auto request = text_request({1}, 8);
  request->inputs.erase(request->inputs.begin());
  EXPECT_EQ(refusal(request), "input 'input_ids' is missing");
  request = text_request({1}, 8);
  request->inputs[1].buffers[0].resize(4);
  EXPECT_EQ(refusal(request), "input 'max_new_tokens' has 4 bytes; expected 8");
  request = text_request({1}, 8);
  request->inputs[1].shape = {0};
  request->inputs[1].buffers.clear();
  EXPECT_NE(refusal(request).find("'max_new_tokens' has shape [0]"), std::string::npos);
  request = text_request({1}, 8);
  request->wanted.push_back("text");
  EXPECT_EQ(refusal(request), "the model has no output 'text'");
  request = text_request({1}, 8);
  request->refuse_response = true;
  execute(served, *request);
  request->wait_released();
  EXPECT_EQ(request->sent, 0);
}

TEST(TritonGenerator, ACancelledTextEnds) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  const auto early = text_request({7}, 60);
  early->cancelled = true;
  execute(served, *early);
  early->wait_released();
  EXPECT_EQ(early->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_TRUE(early->responses.empty());
  // The client cancels at its first token.
  const auto late = text_request({7}, 60);
  late->cancel_when_sent = true;
  execute(served, *late);
  late->wait_released();
  EXPECT_EQ(late->error, "the client cancelled the request");
  EXPECT_EQ(late->code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(late->ends, 1);
  EXPECT_EQ(late->responses.size(), 1);
}

TEST(TritonGenerator, UnloadingEndsTexts) {
  Served served("text.popef");
  ASSERT_EQ(served.load() + served.add_instance(), "");
  for (int i = 0; i < 20; i++) {
    const auto text = text_request({7}, 60);
    execute(served, *text);
    served.remove_instances();
    EXPECT_EQ(text->released, 1);
    EXPECT_EQ(text->ends, 1);
    EXPECT_TRUE(text->error.empty() || text->code == TRITONSERVER_ERROR_CANCELLED) << text->error;
    ASSERT_EQ(served.add_instance(), "");
  }
}

}  // namespace

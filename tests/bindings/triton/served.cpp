#include "served.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

namespace host {

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

const fs::path& files() {
  static const fs::path folder = [] {
    std::string name = (fs::temp_directory_path() / "poprt_triton_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    const fs::path made = name;
    compile(DIGITS, {{"input_shape", "image=8,1,8,8"}}, made / "digits8.popef");
    compile(DIGITS, {{"input_shape", "image=1,1,8,8/4,1,8,8/20,1,8,8"}}, made / "buckets.popef");
    compile(DIGITS, {{"input_shape", "image=8,1,8,8"}, {"embed_source", "1"}},
            made / "source.popef");
    compile(DIGITS, {{"input_shape", "image=1,1,8,8/4,1,8,8"}, {"embed_source", "1"}},
            made / "source_buckets.popef");
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

namespace {

class RemoveFiles : public testing::Environment {
 public:
  void TearDown() override { fs::remove_all(files()); }
};
const auto* const environment = testing::AddGlobalTestEnvironment(new RemoveFiles);

}  // namespace

const Library& library() {
  static const Library loaded(BACKEND);
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

std::unique_ptr<TRITONBACKEND_Request> request_of(const std::vector<float>& images,
                                                  size_t buffer_bytes) {
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

Json parameter(const char* name, const char* value) {
  return {{"parameters", {{name, {{"string_value", value}}}}}};
}

Served::Served(const char* popef, const Json& config, bool compile_onnx) {
  std::string name = (files() / "model_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
  folder_ = name;
  fs::create_directory(folder_ / "1");
  if (popef) fs::create_hard_link(files() / popef, folder_ / "1" / "executable.popef");
  backend_.config.text = Json{{"cmdline", {{"compile", compile_onnx ? "true" : "false"}}}}.dump();
  EXPECT_EQ(text_of(library().initialize(&backend_)), "");
  model_.backend = &backend_;
  model_.location = folder_.string();
  model_.config = config.dump();
}

Served::~Served() {
  for (auto& instance : instances_)
    EXPECT_EQ(text_of(library().instance_finalize(instance.get())), "");
  EXPECT_EQ(text_of(library().model_finalize(&model_)), "");
  EXPECT_EQ(text_of(library().finalize(&backend_)), "");
  fs::remove_all(folder_);
  EXPECT_EQ(live_objects(), 0);
}

std::string Served::add_instance(TRITONSERVER_InstanceGroupKind kind) {
  instances_.push_back(std::make_unique<TRITONBACKEND_ModelInstance>());
  instances_.back()->model = &model_;
  instances_.back()->kind = kind;
  return text_of(library().instance_initialize(instances_.back().get()));
}

void Served::remove_instances() {
  for (auto& instance : instances_)
    EXPECT_EQ(text_of(library().instance_finalize(instance.get())), "");
  instances_.clear();
}

void Served::run_all(std::vector<TRITONBACKEND_Request*> all) {
  ASSERT_EQ(text_of(library().execute(&instance(), all.data(), static_cast<uint32_t>(all.size()))),
            "");
  for (TRITONBACKEND_Request* request : all) {
    request->wait_released();
    EXPECT_EQ(request->released, 1);
    EXPECT_EQ(request->sent, 1);
  }
}

}  // namespace host

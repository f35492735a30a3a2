// What PopEF, Model Runtime and PopRT document, by their names, in the way that programs written
// for them use it: when one of the names goes, this does not compile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "poprt/poprt.hpp"

namespace model_runtime = poprt::runtime;
namespace popef = poprt::popef;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<popef::Model> model_of(const std::string& path) {
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseFile(path);
  return popef::ModelBuilder(reader).createModel();
}

// x -> y and c, 16 floats each.
struct Client {
  Client() : x(16), y(16), c(16) {
    std::iota(x.begin(), x.end(), 1.F);
    in["x"] = poprt::runtime::ConstTensorMemoryView(x.data(), 64);
    out["y"] = poprt::runtime::TensorMemoryView(y.data(), 64);
    out["c"] = poprt::runtime::TensorMemoryView(c.data(), 64);
  }
  std::vector<float> x, y, c;
  poprt::runtime::InputMemoryView in;
  poprt::runtime::OutputMemoryView out;
};

TEST(DocumentedNames, BlobsHaveTypes) {
  const auto model = model_of(DATA "/copies.popef");
  EXPECT_EQ(model->executable.type(), popef::BlobType::POPLAR_EXECUTABLE);
  std::stringstream file;
  popef::Writer writer(file);
  writer.createTensorData({"t", popef::TensorInfo(popef::DataType::U8, {1})})->write("1", 1);
  writer.createFeedData({"f", popef::TensorInfo(popef::DataType::U8, {1}), 1})->write("2", 1);
  writer.createOpaqueBlob("o", "e")->write("3", 1);
  writer.write(popef::Metadata());
  writer.close();
  popef::Reader reader;
  reader.parseBytes(file.str().data(), file.str().size());
  EXPECT_EQ(reader.tensors()[0].type(), popef::BlobType::DATA_TENSOR);
  EXPECT_EQ(reader.feeds()[0].type(), popef::BlobType::DATA_FEED);
  EXPECT_EQ(reader.opaqueBlobs()[0].type(), popef::BlobType::OPAQUE);
  EXPECT_NE(popef::BlobType::METADATA, popef::BlobType::OPAQUE);
}

TEST(DocumentedNames, EveryRunnerTakesAModel) {
  using namespace poprt::runtime;
  const auto copies = model_of(DATA "/copies.popef"), weights = model_of(DATA "/weights.popef"),
             fused = model_of(DATA "/fused.popef");
  const PackRunnerConfig packs(100, 0, "x");
  HostConcatRunnerConfig joins;
  joins.hostConcatConfig["x"] = {"x", {"a", "b"}, {16}, 64, {}};
  const auto runs = [](auto&& runner, InputMemoryView in) {
    Client k;
    runner.execute(in, k.out);
    return k.y;
  };
  const Client k;
  const InputMemoryView halves = {{"a", {k.x.data(), 32}}, {"b", {k.x.data() + 8, 32}}};
  EXPECT_EQ(runs(ModelRunner(copies), k.in), k.x);
  EXPECT_EQ(runs(ModelRunner(*copies), k.in), k.x);
  EXPECT_EQ(runs(PackRunner(copies, packs), k.in), k.x);
  EXPECT_EQ(runs(PackRunner(*copies, packs), k.in), k.x);
  EXPECT_EQ(runs(HostConcatRunner(copies, joins), halves), k.x);
  EXPECT_EQ(runs(HostConcatRunner(*copies, joins), halves), k.x);
  LightRunner light(weights), other(*weights);
  light.setInputAnchor("x", k.in.at("x"));
  light.updateWeights();
  EXPECT_EQ(runs(light, {}), k.x);
  EXPECT_EQ(other.getModelInputs()[0].name, "x");
  EXPECT_EQ(ModelFusionRunner(fused).getExecuteInputs().size(), 2u);
  EXPECT_EQ(ModelFusionRunner(*fused).getExecuteInputs().size(), 2u);
}

TEST(DocumentedNames, ModelsAreListsOfPaths) {
  // Literals, and strings, in every form of a list.
  EXPECT_EQ(poprt::Executable({DATA "/copies.popef"}).name(), "copies");
  const std::string path = DATA "/copies.popef", folder = testing::TempDir() + std::to_string(getpid());
  const std::string program = folder + "names_program.popef", values = folder + "names_values.popef";
  poprt::Executable(DATA "/copies.popef").save(program, values);
  EXPECT_EQ(poprt::Executable({program, values}).name(), "copies");
  EXPECT_EQ(poprt::Executable({program, values}, false).name(), "copies");
  EXPECT_EQ(poprt::Executable(std::vector<std::string>{program, values}).name(), "copies");
  EXPECT_EQ(model_runtime::ModelRunner({program, values}).getExecuteInputs().size(), 1u);
  EXPECT_EQ(model_runtime::Session({program, values}).getUserInputAnchors().size(), 1u);
  const auto missing = [](auto open) {
    try {
      open();
      ADD_FAILURE();
    } catch (const poprt::Error& e) {
      EXPECT_EQ(e.code(), poprt::ErrorCode::not_found) << e.what();
    }
  };
  missing([] { poprt::Executable({"/no/a.popef", "/no/b.popef"}); });
  missing([] { model_runtime::ModelRunner({"/no/a.popef", "/no/b.popef"}); });
  missing([] { model_runtime::Session({"/no/a.popef", "/no/b.popef"}); });
  missing([] { model_runtime::Session({"/no/a.popef", "/no/b.popef"}, {}); });
  std::remove(program.c_str());
  std::remove(values.c_str());
}

TEST(DocumentedNames, CompilersExportToStreams) {
  using namespace poprt::compiler;
  CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  const std::string path = testing::TempDir() + "names_" + std::to_string(getpid()) + ".popef";
  Compiler::compileAndExport(DATA "/identity.onnx", {}, path, options);
  std::stringstream stream, file;
  Compiler::compileAndExport(DATA "/identity.onnx", {}, stream, options);
  file << std::ifstream(path, std::ios::binary).rdbuf();
  std::remove(path.c_str());
  EXPECT_FALSE(file.str().empty());
  EXPECT_EQ(stream.str().size(), file.str().size());
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseStream(std::make_shared<std::stringstream>(stream.str()));
  const auto model = popef::ModelBuilder(reader).createModel();
  EXPECT_EQ(model->metadata.anchors().size(), 2u);
  std::ofstream nowhere("/no/such/folder/file");
  EXPECT_THROW(Compiler::compileAndExport(DATA "/identity.onnx", {}, nowhere, options),
               poprt::Error);
}

TEST(DocumentedNames, WaitConfigsHaveEveryForm) {
  using namespace poprt::runtime;
  const DeviceWaitConfig none, forever(DeviceWaitStrategy::WAIT_FOREVER),
      full(DeviceWaitStrategy::WAIT_WITH_TIMEOUT, 2s, 3s), limit(4s), both{15s, 1s};
  EXPECT_EQ(none.strategy, DeviceWaitStrategy::NO_WAIT);
  EXPECT_EQ(none.timeout, 0s);
  EXPECT_EQ(none.sleepTime, 15s);
  EXPECT_EQ(forever.strategy, DeviceWaitStrategy::WAIT_FOREVER);
  EXPECT_EQ(full.timeout, 2s);
  EXPECT_EQ(full.sleepTime, 3s);
  EXPECT_EQ(limit.strategy, DeviceWaitStrategy::WAIT_WITH_TIMEOUT);
  EXPECT_EQ(limit.timeout, 4s);
  EXPECT_EQ(both.sleepTime, 1s);
  // PopRT's are seconds.
  const DeviceWaitConfig seconds(1, 6), longest(INT64_MAX, INT64_MIN);
  EXPECT_EQ(seconds.strategy, DeviceWaitStrategy::WAIT_WITH_TIMEOUT);
  EXPECT_EQ(seconds.timeout, 1s);
  EXPECT_EQ(seconds.sleepTime, 6s);
  EXPECT_EQ(longest.timeout, std::chrono::nanoseconds::max());
  EXPECT_LT(longest.sleepTime, 0s);
  RuntimeConfig config;
  config.deviceWaitConfig = {0, 1};
  config.device = DeviceManager(1).getDevice();
  EXPECT_NO_THROW(ModelRunner(DATA "/copies.popef", config));
}

TEST(DocumentedNames, ModelRunnerConfigIsARuntimeConfig) {
  model_runtime::ModelRunnerConfig config;
  const poprt::runtime::RuntimeConfig defaults, same = config;
  EXPECT_EQ(same.deviceWaitConfig.timeout, defaults.deviceWaitConfig.timeout);
  EXPECT_EQ(same.deviceWaitConfig.sleepTime, defaults.deviceWaitConfig.sleepTime);
  EXPECT_EQ(same.threadSafe, defaults.threadSafe);
  EXPECT_EQ(same.replicationFactor, defaults.replicationFactor);
  EXPECT_EQ(same.timeoutNS, defaults.timeoutNS);
  EXPECT_EQ(same.validateIOParams, defaults.validateIOParams);
  EXPECT_EQ(same.batchingDim, defaults.batchingDim);
  EXPECT_EQ(same.checkPackageHash, defaults.checkPackageHash);
  EXPECT_EQ(same.ringBufferSizeMultiplier, defaults.ringBufferSizeMultiplier);
  EXPECT_EQ(same.autoReset, defaults.autoReset);
  EXPECT_EQ(same.flushOnWaitingOutputs, defaults.flushOnWaitingOutputs);
  EXPECT_EQ(same.batchSizeTimeoutNS, defaults.batchSizeTimeoutNS);
  EXPECT_EQ(same.dataParallelTimeoutNS, defaults.dataParallelTimeoutNS);
  EXPECT_EQ(same.isBatchSizeTimeoutEnabled, defaults.isBatchSizeTimeoutEnabled);
  EXPECT_EQ(same.requestTracepointsBufferSize, defaults.requestTracepointsBufferSize);

  Client k;
  config.device_wait_config = model_runtime::DeviceWaitConfig{15s /*timeout*/, 1s /*sleep_time*/};
  config.thread_safe = false;
  config.replication_factor = 2;
  config.timeout_ns = 5ms;
  config.validate_io_params = false;
  config.batching_dim = 0;
  config.check_package_hash = false;
  config.ring_buffer_size_multiplier = 3;
  config.auto_reset = true;
  config.frozen_inputs["x"] = {k.x.data(), 64};
  config.flush_on_waiting_outputs = true;
  config.batch_size_timeout_ns = 6ns;
  config.data_parallel_timeout_ns = 7ns;
  config.is_batch_size_timeout_enabled = true;
  config.request_tracepoints_buffer_size = 8;
  config.replica_id_to_device[1] = nullptr;
  config.flush_by_name.first["x"] = {k.x.data(), 64};
  const poprt::runtime::RuntimeConfig c = config;
  EXPECT_EQ(c.deviceWaitConfig.timeout, 15s);
  EXPECT_FALSE(c.threadSafe);
  EXPECT_EQ(c.replicationFactor, 2);
  EXPECT_EQ(c.timeoutNS, 5'000'000);
  EXPECT_FALSE(c.validateIOParams);
  EXPECT_EQ(c.batchingDim, 0u);
  EXPECT_FALSE(c.checkPackageHash);
  EXPECT_EQ(c.ringBufferSizeMultiplier, 3);
  EXPECT_TRUE(c.autoReset);
  EXPECT_EQ(c.frozenInputs.size(), 1u);
  EXPECT_TRUE(c.flushOnWaitingOutputs);
  EXPECT_EQ(c.batchSizeTimeoutNS, 6);
  EXPECT_EQ(c.dataParallelTimeoutNS, 7);
  EXPECT_TRUE(c.isBatchSizeTimeoutEnabled);
  EXPECT_EQ(c.requestTracepointsBufferSize, 8);
  EXPECT_EQ(c.replicaIdToDevice.size(), 1u);
  EXPECT_EQ(c.flushByName.first.size(), 1u);

  model_runtime::ModelRunnerConfig frozen;
  frozen.frozen_inputs["x"] = {k.x.data(), 64};
  model_runtime::ModelRunner runner(DATA "/copies.popef", frozen);
  runner.execute({}, k.out);
  EXPECT_EQ(k.y, k.x);
}

TEST(DocumentedNames, SessionConfigHasBothSpellings) {
  model_runtime::SessionConfig config;
  config.check_package_hash = false;
  config.wait_config = model_runtime::DeviceWaitConfig(7s);
  config.policy = model_runtime::LaunchPolicy::Deferred;
  EXPECT_FALSE(config.checkPackageHash);
  EXPECT_EQ(config.waitConfig.timeout, 7s);
  // Of a copy, the names are the copy's.
  model_runtime::SessionConfig copy = config, assigned;
  assigned = config;
  for (auto* c : {&copy, &assigned}) {
    EXPECT_FALSE(c->check_package_hash);
    EXPECT_EQ(c->policy, model_runtime::LaunchPolicy::Deferred);
    c->check_package_hash = true;
    c->wait_config.timeout = 8s;
    EXPECT_TRUE(c->checkPackageHash);
    EXPECT_EQ(c->waitConfig.timeout, 8s);
  }
  EXPECT_FALSE(config.checkPackageHash);
  EXPECT_EQ(config.waitConfig.timeout, 7s);
}

}  // namespace

// Uses the documented names of PopEF, Model Runtime and PopRT as programs for them do. If one of
// the names is removed, this file does not compile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "poprt/logging.hpp"
#include "poprt/poprt.hpp"

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
  // Paths may be literals or strings, in every form of a list.
  EXPECT_EQ(poprt::Executable({DATA "/copies.popef"}).name(), "copies");
  const std::string path = DATA "/copies.popef",
                    folder = testing::TempDir() + std::to_string(getpid());
  const std::string program = folder + "names_program.popef",
                    values = folder + "names_values.popef";
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

TEST(DocumentedNames, SummariesAreTexts) {
  using namespace poprt::compiler;
  CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  const std::string text =
      Compiler::compileAndGetSummaryReport(DATA "/identity.onnx", {}, options, true);
  for (const char* part :
       {"identity: ", " bytes of weights, ", "\ninput x: 32 bytes\n", "\noutput y: 32 bytes\n"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
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
  // A sleep of 0 is the shortest one; in the C interface, 0 means the default.
  EXPECT_EQ(both.rawSleepNs(), 1'000'000'000);
  EXPECT_EQ(DeviceWaitConfig(15s, 0s).rawSleepNs(), 1);
  // Numbers, as in PopRT, are seconds.
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
  // In a copy, both names refer to the fields of the copy.
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

TEST(DocumentedNames, PredicatesLookAtAnchors) {
  using namespace model_runtime;
  const auto seen = std::make_shared<std::vector<popef::Anchor>>();
  const AnchorCallbackPredicate documented = [seen](const popef::Anchor& a) {
    seen->push_back(a);
    return a.handle().empty() || a.name() == "c" ? AnchorCallbackPolicy::BIND_EMPTY_CB
                                                 : AnchorCallbackPolicy::BIND_USER_CB;
  };
  const AnchorCallbackPredicate ours = [](const AnchorInfo& a) {
    return a.name == "c" && a.isOutput && !a.programs.empty() ? AnchorCallbackPolicy::BIND_EMPTY_CB
                                                              : AnchorCallbackPolicy::BIND_USER_CB;
  };
  const auto model = model_of(DATA "/copies.popef");
  SessionConfig config;
  config.predicate = documented;
  Session session(model, config);
  ASSERT_EQ(seen->size(), 3u);
  for (const popef::Anchor& a : *seen) {
    EXPECT_FALSE(a.handle().empty());
    EXPECT_EQ(a.tensorInfo(), popef::TensorInfo(popef::DataType::F32, {16}));
    EXPECT_EQ(a.programs(), model->metadata.programFlow().main());
    EXPECT_FALSE(a.isPerReplica());
    EXPECT_EQ(a.type(), a.name() == "x" ? popef::TensorType::INPUT : popef::TensorType::OUTPUT);
  }
  ASSERT_EQ(session.getUserInputAnchors().size(), 1u);
  const popef::Anchor x = session.getUserInputAnchors()[0];
  EXPECT_EQ(x.name(), "x");
  EXPECT_EQ(x.handle(), seen->at(0).handle());
  EXPECT_EQ(x.tensorInfo().sizeInBytes(), 64u);
  ASSERT_EQ(session.getUserOutputAnchors().size(), 1u);
  EXPECT_EQ(session.getUserOutputAnchors()[0].name(), "y");
  config.predicate = ours;
  EXPECT_EQ(Session(model, config).getUserOutputAnchors().size(), 1u);
  // The same holds for a session with an executable of the compiler.
  poprt::compiler::CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  seen->clear();
  config.predicate = documented;
  const Session compiled(*poprt::compiler::Compiler::compile(DATA "/identity.onnx", {}, options),
                         config);
  ASSERT_EQ(seen->size(), 2u);
  EXPECT_FALSE(seen->at(1).handle().empty());
}

TEST(DocumentedNames, QueueManagersArePointers) {
  using namespace model_runtime;
  Client k;
  Session session({DATA "/copies.popef"}, {});
  int timeouts = 0, done = 0;
  const auto pred = predicate_factory::predProgramFlowMain(session.model()->metadata.programFlow());
  QueueManager* manager = session.createQueueManager(
      4,
      [&](InputRingBuffer* buffer) {
        timeouts++;
        if (buffer->readAvailable()) return;
        buffer->enqueue(k.x.data(), 64);
      },
      1ms, pred, pred);
  InputQueue& in = manager->inputQueue("x");
  EXPECT_EQ(&in, &manager->inputQueue("x"));
  EXPECT_EQ(in.tensorInfo().dataType(), popef::DataType::F32);
  EXPECT_EQ(in.tensorInfo().shape(), popef::TensorInfo(popef::DataType::F32, {16}).shape());
  EXPECT_EQ(in.tensorInfo().sizeInBytes(), 64u);
  EXPECT_GE(in.capacity(), 4u);
  for (const char* name : {"y", "c"}) {
    OutputQueue& out = manager->outputQueue(name);
    out.enqueue(k.out.at(name).data, out.tensorInfo().sizeInBytes(), [&done]() { done++; });
  }
  EXPECT_THROW(manager->outputQueue("x"), poprt::Error);
  session.runLoadPrograms();
  session.runMainPrograms();
  EXPECT_EQ(timeouts, 1);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(k.y, k.x);
  in.enqueue(k.x.data(), 64, [&](poprt::ErrorCode code) {
    done += code == poprt::ErrorCode::cancelled ? 10 : 100;
  });
  in.enqueue(k.x.data(), 64, [&] { done += 1000; });
  EXPECT_EQ(in.readAvailable(), 2u);
  manager->flushAll();
  EXPECT_EQ(done, 1012);
  // The other forms of the call.
  auto again = session.createQueueManager(2);
  again->disconnectAll();
  again.flushAll();
  const QueueManager copy =
      session.createQueueManager(2, [](InputQueue& q) { q.readAvailable(); }, 1ms);
  copy->disconnectAll();
  session.createQueueManager(2, nullptr, {}, pred);
  session.createQueueManager(2, std::function<void(InputRingBuffer*)>(), 1ms);
  session.unloadFromDevice();
  EXPECT_FALSE(session.isLoaded());
}

TEST(DocumentedNames, PopefValues) {
  using namespace popef;
  TensorInfo info;
  EXPECT_EQ(info.sizeInBytes(), 4u);
  info.setDataType(DataType::F16);
  info.setShape(std::vector<ShapeDimType>{2, 3});
  info.shape().push_back(4);
  EXPECT_EQ(info.dataType(), DataType::F16);
  EXPECT_EQ(info.sizeInBytes(), 48u);
  EXPECT_TRUE(info == TensorInfo(DataType::F16, {2, 3, 4}));
  EXPECT_TRUE(info != TensorInfo(DataType::F16, {24}));

  TensorDataInfo tensor;
  tensor.setName("t");
  tensor.setTensorInfo(info);
  EXPECT_EQ(tensor.name(), "t");
  EXPECT_EQ(tensor.tensorInfo(), info);
  FeedDataInfo feed;
  feed.setName("f");
  feed.setTensorInfo(info);
  feed.setNumTensors(5);
  EXPECT_EQ(feed.numTensors(), 5);
  const Option option("o", "1");
  EXPECT_EQ(option.name() + option.value(), "o1");

  ProgramFlow flow;
  flow.setLoad({0});
  flow.setMain({1});
  flow.setSave({2});
  for (auto* list : {&flow.load(), &flow.main(), &flow.save()})
    list->push_back(ProgramFlow::ProgramIndexType{9});

  Anchor anchor;
  anchor.setName("a");
  anchor.setHandle("h2d_a");
  anchor.setTensorInfo(info);
  anchor.setIsPerReplica(true);
  anchor.setType(TensorType::INPUT);
  anchor.setPrograms({Anchor::ProgramsType{1}});
  anchor.tensorInfo().setShape({2});
  EXPECT_EQ(anchor.name() + anchor.handle(), "ah2d_a");
  EXPECT_TRUE(anchor.isPerReplica());
  EXPECT_EQ(anchor.type(), TensorType::INPUT);
  EXPECT_NE(TensorType::OUTPUT, TensorType::UNKNOWN);
  EXPECT_EQ(anchor.programs().size(), 1u);

  Metadata m;
  m.setReplicationFactor(2);
  m.setNumIpus(4);
  m.setIpuVersion(21);
  m.setIsPOD(true);
  m.setNumProcesses(3);
  m.setIsInference(false);
  m.setExecutable("e");
  m.setSeedHandle("s");
  m.setEngineOptions({option});
  m.setDeviceOptions({option});
  m.setDeviceIterations(7);
  m.anchors().push_back(anchor);
  m.setProgramFlow(flow);
  m.setProgramsMap({{1, "Program"}});
  EXPECT_EQ(m.replicationFactor() + m.numIpus() + m.ipuVersion() + m.numProcesses(), 30);
  EXPECT_TRUE(m.isPOD() && !m.isInference());
  EXPECT_EQ(m.executable() + m.seedHandle(), "es");
  EXPECT_EQ(m.engineOptions().size() + m.deviceOptions().size(), 2u);
  EXPECT_EQ(m.deviceIterations(), 7);
  EXPECT_EQ(m.programFlow().main(), (ProgramFlow::Indices{1, 9}));
  EXPECT_EQ(m.programsMap().at(1), "Program");
}

TEST(DocumentedNames, PopefFiles) {
  using namespace popef;
  const std::string path = testing::TempDir() + "names_" + std::to_string(getpid()) + ".popef";
  {
    FileWriter writer(path, FileWriter::Mode::TRUNCATE);
    const std::shared_ptr<BlobWriter> code = writer.createExecutable("e", true);
    code->stream << "code";
    code->close();
    Metadata m;
    m.setExecutable("e");
    m.anchors().emplace_back("t", "h", TensorInfo(DataType::U8, {1}), TensorType::INPUT,
                             Anchor::Programs{});
    writer.write(m);
    writer.createTensorData(TensorDataInfo("t", TensorInfo(DataType::U8, {1})))->stream << "1";
    writer.createFeedData(FeedDataInfo("f", TensorInfo(DataType::U8, {1}), 2))->stream << "23";
    writer.close();
  }
  {
    FileWriter writer(path, FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("o", "e")->stream << "opaque";
    writer.close();
  }
  const auto all = [](std::istream& stream) {
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  };
  const auto reader = std::make_shared<Reader>();
  reader->parseFile(path);
  ASSERT_EQ(reader->executables().size(), 1u);
  const ExecutableReader code = reader->executables()[0];
  EXPECT_EQ(code.name, "e");
  EXPECT_EQ(all(code.executable), "code");
  EXPECT_EQ(all(*code.getStandaloneExecutableStream()), "code");
  const TensorReader tensor = reader->tensors().at(0);
  EXPECT_EQ(tensor.info.name(), "t");
  EXPECT_EQ(all(tensor.data), "1");
  EXPECT_EQ(all(*tensor.getStandaloneDataStream()), "1");
  const FeedReader feed = reader->feeds().at(0);
  EXPECT_EQ(feed.info.numTensors(), 2);
  EXPECT_EQ(all(feed.data), "23");
  EXPECT_EQ(all(*feed.getStandaloneDataStream()), "23");
  const OpaqueReader opaque = reader->opaqueBlobs().at(0);
  EXPECT_EQ(opaque.name + opaque.executable, "oe");
  EXPECT_EQ(opaque.getAvailableReadSize(), 6u);
  EXPECT_EQ(all(opaque.data), "opaque");
  EXPECT_EQ(all(*opaque.getStandaloneDataStream()), "opaque");
  const std::shared_ptr<Model> model = ModelBuilder(reader).createModel();
  EXPECT_EQ(model->metadata.executable(), reader->metadata().at(0).executable());
  const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  Reader streamed;
  streamed.parseStream(file);
  EXPECT_EQ(streamed.executables().size(), 1u);
  std::remove(path.c_str());
  EXPECT_THROW(Reader().parseFile(path), std::runtime_error);
}

TEST(DocumentedNames, Devices) {
  using namespace model_runtime;
  static_assert(std::is_move_constructible_v<Device> && !std::is_copy_constructible_v<Device>);
  const auto model = model_of(DATA "/copies.popef");
  const DeviceManager manager;
  const DeviceWaitConfig wait(1s, 1s);
  EXPECT_GE(manager.getNumDevices(), 1u);
  EXPECT_EQ(manager.ipuHardwareVersion(), "ipu21");
  EXPECT_EQ(manager.getDevice(1)->ipuVersion(), 21);
  EXPECT_NE(manager.getDevice(model), nullptr);
  EXPECT_NE(manager.getDevice(model, wait), nullptr);
  EXPECT_NE(manager.getDevice(1, DeviceConstraints(), wait), nullptr);
  EXPECT_NE(manager.getDevice(1, {}, {}), nullptr);
  EXPECT_EQ(manager.getSpecificDevice(0)->id(), 0);
  EXPECT_EQ(manager.getSpecificDevice(0, wait)->id(), 0);
  EXPECT_EQ(manager.getSpecificDevice(model, 0, wait)->id(), 0);
  EXPECT_EQ(manager.createIpuModelDevice(1)->ipuVersion(), 2);
  EXPECT_EQ(manager.createIpuModelDevice(1, 21, 8)->tilesPerIpu(), 8);
  EXPECT_EQ(manager.createIpuModelDevice(model, 8)->tilesPerIpu(), 8);
  EXPECT_EQ(manager.createSmallIpuModelDevice(1, 2)->ipuVersion(), 2);
  EXPECT_EQ(manager.createSmallIpuModelDevice(model)->numIpus(), 1);
  EXPECT_NE(DeviceWaitStrategy::NO_WAIT, DeviceWaitStrategy::WAIT_FOREVER);
}

TEST(DocumentedNames, Sessions) {
  using namespace model_runtime;
  struct Serve : StreamCallback {
    bool fetch(void* data, size_t bytes) noexcept override {
      std::memset(data, 0, bytes);
      return true;
    }
  };
  SessionConfig config;
  config.policy = LaunchPolicy::Immediate;
  Session session(std::vector<std::string>{DATA "/copies.popef"}, config);
  EXPECT_THROW(session.verifyConnected(), std::runtime_error);
  for (const popef::Anchor& a : session.getUserInputAnchors())
    session.setUserInputHandler(a.name(), std::make_shared<Serve>());
  for (const popef::Anchor& a : session.getUserOutputAnchors())
    session.setUserOutputHandler(a.name(), std::make_shared<Serve>());
  session.verifyConnected();
  session.runLoadPrograms();
  session.runMainPrograms();
  session.runSavePrograms();
  session.runPrograms(session.model()->metadata.programFlow().main());
  session.stop();
  EXPECT_FALSE(session.runMainPrograms());
  session.reload();
  session.bindToDevice(DeviceManager().getDevice(1));
  session.unloadFromDevice();

  using namespace predicate_factory::anchor_callbacks;
  const auto model = session.model();
  const auto& flow = model->metadata.programFlow();
  const popef::Anchor& first = model->metadata.anchors().at(0);
  constexpr auto accept = AnchorCallbackPolicy::BIND_USER_CB;
  constexpr auto reject = AnchorCallbackPolicy::BIND_EMPTY_CB;
  const AnchorCallbackPredicate main =
      orBind(accept, reject, predProgramFlowMain(flow, accept, reject),
             predProgramNotAssigned(accept, reject));
  EXPECT_EQ(main(first), accept);
  EXPECT_EQ(predProgramFlowLoad(flow)(first), reject);
  EXPECT_EQ(predProgramFlowSave(flow)(first), reject);
}

TEST(DocumentedNames, Runners) {
  using namespace poprt::runtime;
  static_assert(std::is_abstract_v<BaseRunner>);
  static_assert(std::is_base_of_v<BaseRunner, ModelRunner>);
  static_assert(std::is_base_of_v<ModelRunner, ModelFusionRunner>);
  static_assert(std::is_base_of_v<BaseRunner, PackRunner>);
  static_assert(std::is_base_of_v<BaseRunner, LightRunner>);
  static_assert(std::is_base_of_v<BaseRunner, HostConcatRunner>);
  static_assert(std::is_move_constructible_v<ModelRunner>);
  static_assert(!std::is_copy_constructible_v<ModelRunner>);
  static_assert(static_cast<int>(RunnerType::ModelRunner) == 0);
  static_assert(RunnerType::PackRunner != RunnerType::ModelFusionRunner);
  Client k;
  const auto executable = std::make_shared<poprt::Executable>(DATA "/copies.popef");
  RuntimeConfig config;
  config.runnerType = RunnerType::ModelRunner;
  config.replicaIdToDevice = ReplicaIdToDevice{{0, DeviceManager().getDevice(1)}};
  ModelRunner runner(executable, config);
  BaseRunner& base = runner;
  base.execute(k.in, k.out);
  EXPECT_EQ(k.y, k.x);
  OutputFutureMemoryView views = base.executeAsync(k.in, k.out);
  EXPECT_EQ(views.at("y").get().data, k.y.data());
  const OutputMemory owned = runner.execute(k.in);
  EXPECT_EQ(owned.at("y").getConstView().dataSizeBytes, 64u);
  const OutputFutureMemory futures = runner.executeAsync(k.in);
  const TensorMemory y = futures.at("y").get();
  EXPECT_EQ(std::memcmp(y.getView().data, k.x.data(), y.dataSizeBytes), 0);
  const std::vector<model_runtime::InputDesc> inputs = base.getExecuteInputs();
  const std::vector<OutputDesc> outputs = base.getExecuteOutputs();
  const DataDesc x = inputs.at(0);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.sizeInBytes, 64);
  EXPECT_EQ(x.shape, std::vector<int64_t>{16});
  EXPECT_EQ(x.dataType, popef::DataType::F32);
  EXPECT_FALSE(x.popefContainsTensorData);
  EXPECT_EQ(outputs.size(), 2u);
  InputMemory memory;
  memory.emplace("x", TensorMemory(64));
  const TensorMemoryView view = memory.at("x").getView();
  const ConstTensorMemoryView same = view, nothing;
  EXPECT_EQ(same.data, memory.at("x").data.get());
  EXPECT_EQ(nothing.data, nullptr);

  PackRunnerConfig pack(100, 0, "x", "");
  pack.runnerType = RunnerType::PackRunner;
  pack.deviceWaitConfig = DeviceWaitConfig(1, 6);
  EXPECT_EQ(pack.timeoutInMicroSeconds, 100);
  EXPECT_EQ(pack.maxValidNum, 0u);
  EXPECT_EQ(pack.dynamicInputName + pack.unpackInfoInputName + pack.maskName, "x");
  EXPECT_EQ(pack.compileBatchSize, -1);
  EXPECT_EQ(pack.algo, PackAlgorithm::NextFit);
  EXPECT_TRUE(pack.enablePrefetchDatastreams);
  pack.enableSingleRowMode("m", "u", 1);
  EXPECT_TRUE(pack.disableDataAcrossRows && pack.delimiterNum == 1);
  pack.enablePaddingRemovePattern("m", {"g"});
  EXPECT_TRUE(pack.enablePaddingRemove && pack.dynamicGroup.size() == 1);

  LightRunnerConfig own;
  own.checkPackageHash = true;
  own.replicaIdToDevice = {};
  LightRunner light(std::make_shared<poprt::Executable>(DATA "/weights.popef"), own);
  EXPECT_TRUE(light.get_model_inputs().at(0).popefContainsTensorData);
  light.set_input_anchor("x", k.in.at("x"));
  light.update_weights();
  light.stop();
  light.reload();
  HostConcatRunnerConfig joins;
  joins.checkPackageHash = true;
  joins.ringBufferSizeMultiplier = 30;
  EXPECT_EQ(joins.timeoutNS, 5'000'000);
  HostConcatConfig part;
  part.tensorName = "x";
  part.inputTensorNames = {"a", "b"};
  part.shape = {16};
  part.dataSizeBytes = 64;
  joins.hostConcatConfig["x"] = part;
  EXPECT_EQ(HostConcatRunner(executable, joins).getExecuteInputs().size(), 2u);

  EXPECT_EQ(executable->getPopefModel()->metadata.executable(), "copies");
  executable->appendOpaqueBlobs(std::pair<std::string, std::string>("a", "1"));
  executable->appendOpaqueBlobs(std::map<std::string, std::string>{{"b", "2"}});
  EXPECT_EQ(executable->getOpaqueBlobs().size(), 2u);
  EXPECT_EQ(poprt::Executable(std::make_shared<std::ifstream>(DATA "/copies.popef")).name(),
            "copies");
}

// An input handler that waits until the session is interrupted.
struct WaitingSource : model_runtime::StreamCallback {
  bool fetch(void*, size_t) noexcept override {
    std::unique_lock<std::mutex> lock(mutex);
    waits = true;
    changed.notify_all();
    changed.wait(lock, [&] { return interrupted; });
    return false;
  }
  void interrupt() noexcept override {
    const std::lock_guard<std::mutex> lock(mutex);
    interrupted = true;
    changed.notify_all();
  }
  void untilItWaits() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return waits; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool waits = false, interrupted = false;
};

TEST(DocumentedNames, ProgramsInAThreadReturnAfterStop) {
  using namespace model_runtime;
  Session session({DATA "/copies.popef"});
  const auto source = std::make_shared<WaitingSource>();
  session.setUserInputHandler("x", source);
  for (const char* name : {"y", "c"})
    session.setUserOutputHandler(name, std::make_shared<WaitingSource>());
  session.runLoadPrograms();
  std::thread main([&] { EXPECT_NO_THROW(while (session.runMainPrograms()){}); });
  source->untilItWaits();
  session.stop();
  main.join();
  EXPECT_FALSE(session.runMainPrograms());  // until the session is loaded again
  session.reload();
  source->interrupted = true;  // a handler that fails is an error
  EXPECT_THROW(session.runMainPrograms(), poprt::Error);
}

TEST(DocumentedNames, ProgramsInAThreadReturnAfterDisconnectAll) {
  using namespace model_runtime;
  Session session({DATA "/copies.popef"});
  for (int times = 0; times < 2; times++) {
    QueueManager* queues = session.createQueueManager(4);
    session.runLoadPrograms();
    std::thread main([&] { EXPECT_NO_THROW(while (session.runMainPrograms()){}); });
    if (times == 0)
      queues->disconnectAll();
    else
      session.disconnectAll();
    main.join();
    EXPECT_FALSE(session.runMainPrograms());
  }
}

TEST(DocumentedNames, RunnersAllocateAsManyRowsAsTheInputsHave) {
  std::vector<float> x(48);
  std::iota(x.begin(), x.end(), 1.F);
  model_runtime::ModelRunner runner(DATA "/copies.popef");
  for (const size_t batches : {1, 3}) {
    const model_runtime::InputMemoryView in = {{"x", {x.data(), batches * 64}}};
    model_runtime::OutputMemory now = runner.execute(in);
    model_runtime::OutputFutureMemory later = runner.executeAsync(in);
    EXPECT_EQ(now.at("y").data_size_bytes, batches * 64);
    const model_runtime::TensorMemory y = later.at("y").get();
    EXPECT_EQ(y.data_size_bytes, batches * 64);
    EXPECT_EQ(std::memcmp(y.data.get(), x.data(), batches * 64), 0);
    EXPECT_EQ(std::memcmp(now.at("y").data.get(), x.data(), batches * 64), 0);
  }
}

TEST(DocumentedNames, DurationsAreNumbersAndDurations) {
  poprt::runtime::RuntimeConfig c;
  c.timeoutNS = 5ms;
  EXPECT_EQ(c.timeoutNS, 5'000'000);
  EXPECT_TRUE(c.timeoutNS == 5ms);
  EXPECT_TRUE(c.timeoutNS != 6ms);
  const std::chrono::nanoseconds duration = c.timeoutNS;
  const int64_t number = c.timeoutNS;
  EXPECT_EQ(duration.count(), number);
  c.batchSizeTimeoutNS = std::chrono::seconds(1);
  c.dataParallelTimeoutNS = 7;
  EXPECT_EQ(c.batchSizeTimeoutNS.count(), 1'000'000'000);
  EXPECT_EQ(c.dataParallelTimeoutNS, 7);
}

TEST(DocumentedNames, ProgramsWriteIntoTheLog) {
  std::vector<std::string> messages;
  poprt::setLogLevel("info");
  poprt::setLogCallback([&](poprt::LogLevel level, const std::string& message) {
    messages.push_back(std::to_string(static_cast<int>(level)) + " " + message);
  });
  namespace logging = poprt::logging;
  logging::debug("nothing");
  logging::info("{} of {}", 1, std::string("two"));
  logging::warn("{1} {0} {{}}", 'a', "b");
  logging::err("[{:>5}] [{:<5}] [{:05}] [{:.2f}] [{:x}] [{:*>4}]", 1, 2, 3, 3.14159, 255, "x");
  logging::critical("{}", true);
  EXPECT_THROW(logging::err("{}"), std::invalid_argument);
  EXPECT_THROW(logging::err("{:y}", 1), std::invalid_argument);
  poprt::setLogCallback({});
  poprt::setLogLevel("warning");
  EXPECT_EQ(messages,
            (std::vector<std::string>{"2 1 of two", "3 b a {}",
                                      "4 [    1] [2    ] [00003] [3.14] [ff] [***x]", "4 true"}));
}

// The last message that a call writes into the log.
template <class... Args>
std::string logged(const std::string& text, const Args&... args) {
  std::string last;
  poprt::setLogCallback([&](poprt::LogLevel, const std::string& message) { last = message; });
  poprt::logging::err(text, args...);
  poprt::setLogCallback({});
  return last;
}

TEST(DocumentedNames, FieldsOfMessagesAreFormatted) {
  EXPECT_EQ(logged("{:5}|{:<5}|{:>5}|{:*<4}|{:^4}", 1, 2, 3, "x", "y"),
            "    1|2    |    3|x***| y  ");
  EXPECT_EQ(logged("{:^5}|{:*^6}|{:^1}|{:^+7.1f}|{:^06}", 1, "ab", "abc", 1.25, -3),
            "  1  |**ab**|abc| +1.2  |-00003");
  EXPECT_EQ(logged("{:+}|{:-}|{:+}|{:+d}|{:>+5}", 3, 3, -3, 4, 5), "+3|3|-3|+4|   +5");
  EXPECT_EQ(logged("{:x}|{:X}|{:#x}|{:o}|{:#o}|{:d}", 255, 255, 255, 8, 8, 7),
            "ff|FF|0xff|10|010|7");
  EXPECT_EQ(logged("{:f}|{:F}|{:e}|{:E}|{:g}", 1.5, 2.5, 3.5, 4.5, 5.5),
            "1.500000|2.500000|3.500000e+00|4.500000E+00|5.5");
  EXPECT_EQ(
      logged("{:.1f}|{:.0f}|{:06.2f}|{:+06.1f}|{:9.2e}|{:.3}", 1.25, 2.0, -1.5, 1.5, 1.5, 3.14159),
      "1.2|2|-01.50|+001.5| 1.50e+00|3.14");
  EXPECT_EQ(logged("{:05}|{:s}|{:}|{}", 12, "text", true, 'c'), "00012|text|true|c");
  EXPECT_EQ(logged("{0} {0:>3} {} {1} {}", 7, 8), "7   7 7 8 8");
  EXPECT_EQ(logged("{{}} {{{}}} } { a", 1), "{} {1} } { a");
  EXPECT_EQ(logged("{:9999}", 1).size(), 9999u);
  for (const char* text : {"{:y}", "{:100000}", "{:5dd}", "{:.}x{:q}", "{1}", "{} {}"})
    EXPECT_THROW(poprt::logging::err(text, 1), std::invalid_argument) << text;
}

TEST(DocumentedNames, EachFunctionOfTheLogHasItsLevel) {
  std::string levels;
  poprt::setLogLevel("trace");
  poprt::setLogCallback([&](poprt::LogLevel level, const std::string& message) {
    levels += message + std::to_string(static_cast<int>(level)) + " ";
  });
  namespace logging = poprt::logging;
  logging::trace("trace");
  logging::debug("debug");
  logging::info("info");
  logging::warn("warn");
  logging::err("err");
  poprt::setLogCallback({});
  poprt::setLogLevel("warning");
  EXPECT_EQ(levels, "trace0 debug1 info2 warn3 err4 ");
}

// A callback lives until the next one is set, and no longer.
TEST(DocumentedNames, TheLogKeepsItsCallbackUntilTheNext) {
  const auto count = std::make_shared<int>(0);
  poprt::setLogCallback([count](poprt::LogLevel, const std::string&) { ++*count; });
  EXPECT_EQ(count.use_count(), 2);
  poprt::logging::err("one");
  poprt::setLogCallback([](poprt::LogLevel, const std::string&) {});
  EXPECT_EQ(count.use_count(), 1);
  poprt::logging::err("of the next callback");
  poprt::setLogCallback({});
  EXPECT_EQ(*count, 1);
}

TEST(DocumentedNames, MessagesHaveTheNamesOfOptionsInCpp) {
  using poprt::detail::spelled;
  EXPECT_EQ(spelled("`batch_size` and `input_shapes`, not ` ` or `A`"),
            "batchSize and inputShape, not ` ` or `A`");
  EXPECT_EQ(spelled("`timeout_ns`, `overlap_io`, `x2_y`, `open"),
            "timeoutNS, overlapIO, `x2_y`, `open");
  poprt::runtime::PackRunnerConfig config(100, 0, "x");
  config.runner.batchingDim = 0;
  try {
    poprt::runtime::PackRunner(DATA "/copies.popef", config);
    ADD_FAILURE();
  } catch (const poprt::Error& e) {
    EXPECT_STREQ(e.what(), "packs are whole batches: leave batchingDim unset");
  }
}

}  // namespace

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "poprt/poprt.hpp"

namespace {

using poprt::Error;
using poprt::ErrorCode;
using poprt::Executable;
using namespace poprt::runtime;

std::string read(const std::string& path) {
  std::ostringstream s;
  s << std::ifstream(path, std::ios::binary).rdbuf();
  return s.str();
}

struct Client {
  Client() : x(16), y(16), c(16) {
    std::iota(x.begin(), x.end(), 1.f);
    in["x"] = {x.data(), 64};
    out["y"] = {y.data(), 64};
    out["c"] = {c.data(), 64};
  }
  std::vector<float> x, y, c;
  InputMemoryView in;
  OutputMemoryView out;
};

TEST(CppWrapper, DescribesExecutables) {
  const Executable e(DATA "/copies.popef");
  EXPECT_EQ(e.name(), "copies");
  ASSERT_EQ(e.getInputs().size(), 1u);
  const auto x = e.getInputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.sizeInBytes, 64);
  EXPECT_EQ(x.shape, std::vector<int64_t>{16});
  EXPECT_EQ(x.dataType, poprt::DataType::F32);
  EXPECT_EQ(e.getOutputs()[1].name, "c");
  EXPECT_NE(e.listing().find("copy"), std::string::npos);
}

TEST(CppWrapper, ThrowsErrorsWithTheirCode) {
  try {
    Executable("/no/such.popef");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(e.what()).find("/no/such.popef"), std::string::npos);
  }
}

TEST(CppWrapper, RunsInEveryWay) {
  ModelRunner runner(DATA "/copies.popef");
  Client a;
  runner.execute(a.in, a.out);
  EXPECT_EQ(a.x, a.y);

  const OutputMemory result = runner.execute(a.in);
  EXPECT_EQ(std::memcmp(result.at("y").data.get(), a.x.data(), 64), 0);

  Client b;
  auto futures = runner.executeAsync(b.in, b.out);
  ASSERT_EQ(futures.size(), 2u);
  EXPECT_EQ(futures.at("y").get().data, b.y.data());
  EXPECT_EQ(b.x, b.y);

  Client c;
  const Request request = runner.submit(c.in, c.out);
  request.wait();
  EXPECT_TRUE(request.done());
  EXPECT_TRUE(request.waitFor(std::chrono::seconds(1)));
  EXPECT_EQ(c.x, c.y);

  Client d;
  const void* inputs[] = {d.x.data()};
  void* outputs[] = {d.y.data(), d.c.data()};
  runner.execute(inputs, outputs);
  EXPECT_EQ(d.x, d.y);
}

TEST(CppWrapper, RunnersTakeDevicesAndConfigs) {
  const DeviceManager manager(2);
  EXPECT_EQ(manager.getNumDevices(), 2u);
  EXPECT_EQ(manager.ipuHardwareVersion(), "ipu21");
  RuntimeConfig config;
  config.device = manager.getSpecificDevice(1);
  config.profile = true;
  EXPECT_EQ(config.device->id(), 1);
  EXPECT_EQ(config.device->ipuVersion(), 21);
  const auto executable = std::make_shared<Executable>(DATA "/copies.popef");
  Runner runner(executable, config);
  EXPECT_EQ(runner.getExecuteInputs()[0].name, "x");
  EXPECT_EQ(runner.getExecuteOutputs().size(), 2u);
  Client c;
  runner.execute(c.in, c.out);
  EXPECT_NE(runner.profile().find("\"runs\": 1"), std::string::npos);
  EXPECT_THROW(manager.getSpecificDevice(1), Error);
  runner.stop();
  EXPECT_THROW(runner.execute(c.in, c.out), Error);
}

TEST(CppWrapper, OpensFromMemoryAndSaves) {
  const std::string bytes = read(DATA "/copies.popef");
  const Executable e = Executable::fromBytes(bytes.data(), bytes.size());
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_cpp_wrapper.popef";
  e.save(path);
  EXPECT_EQ(read(path), bytes);
  std::remove(path.c_str());
  EXPECT_NE(poprt::dumpPopef(DATA "/copies.popef").find("copies"), std::string::npos);
}

TEST(CppWrapper, ExceptionInProgressEndsTheCompilation) {
  poprt::compiler::CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  options.progress = [&](double done, const std::string&) {
    if (done > 0.3) throw std::domain_error("enough");
  };
  const std::string path =
      testing::TempDir() + std::to_string(getpid()) + "_cpp_wrapper_stopped.popef";
  std::remove(path.c_str());
  EXPECT_THROW(
      poprt::compiler::Compiler::compileAndExport(DATA "/identity.onnx", {}, path, options),
      std::domain_error);
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(CppWrapper, CompilesPathsAndBytes) {
  poprt::compiler::CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  double last = 0;
  options.progress = [&](double done, const std::string&) { last = done; };
  using poprt::compiler::Compiler;
  const auto a = Compiler::compile(DATA "/identity.onnx", {"y"}, options);
  EXPECT_EQ(last, 1.0);
  EXPECT_EQ(a->getInputs()[0].shape, (std::vector<int64_t>{2, 4}));
  const auto b = Compiler::compile(read(DATA "/identity.onnx"), {}, options);
  EXPECT_EQ(b->getOutputs()[0].sizeInBytes, 32);
  const std::string path =
      testing::TempDir() + std::to_string(getpid()) + "_cpp_wrapper_identity.popef";
  options.opaqueBlobs["notes"] = "free text";
  Compiler::compileAndExport(DATA "/identity.onnx", {}, path, options);
  EXPECT_EQ(Executable(path).name(), "identity");
  EXPECT_NE(poprt::dumpPopef(path).find("notes"), std::string::npos);
  std::remove(path.c_str());
  options = {};
  options.batchSize = 2;
  options.inputLength["s"] = 3;
  EXPECT_EQ(Compiler::compile(MODELS "/sequence.onnx", {}, options)->getInputs().size(), 3);
  EXPECT_NE(Compiler::listOps().find("Identity"), std::string::npos);
  EXPECT_FALSE(Compiler::listPasses().empty());
}

TEST(CppWrapper, AcquiresDevicesByCountModelAndId) {
  const DeviceManager manager(4);
  const Executable model(DATA "/copies.popef");
  const auto device = manager.getDevice(2, DeviceConstraints{21, 1472, true});
  EXPECT_EQ(device->numIpus(), 2);
  EXPECT_EQ(manager.getDevice(model)->numIpus(), 1);
  EXPECT_EQ(manager.getSpecificDevice(model, 3)->id(), 3);
  try {
    manager.getSpecificDevice(
        device->id(), DeviceWaitConfig(std::chrono::milliseconds(1), std::chrono::milliseconds(1)));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unavailable);
  }
  EXPECT_TRUE(manager.createIpuModelDevice(1)->isIpuModel());
  EXPECT_EQ(manager.createSmallIpuModelDevice(1)->tilesPerIpu(), 4);
}

TEST(CppWrapper, ManagerUsesOnlyVisibleDevices) {
  DeviceManagerConfig config;
  config.deviceCount = 6;
  config.visibleDevices = "1,3-4";
  const DeviceManager manager(config);
  EXPECT_EQ(manager.getDeviceIds(), (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(manager.getDevice()->id(), 1);
  EXPECT_THROW(manager.getSpecificDevice(0), Error);
}

TEST(CppWrapper, SessionsServeHandlersAndQueues) {
  struct Sink : StreamCallback {
    bool fetch(void* data, size_t bytes) noexcept override {
      values.assign(static_cast<float*>(data), static_cast<float*>(data) + bytes / 4);
      return true;
    }
    std::vector<float> values;
  };
  const Client c;
  SessionConfig config;
  config.policy = LaunchPolicy::Deferred;
  Session session(std::vector<std::string>{DATA "/copies.popef"}, config);
  EXPECT_FALSE(session.isLoaded());
  ASSERT_EQ(session.getUserInputAnchors().size(), 1u);
  EXPECT_EQ(session.getUserOutputAnchors()[1].name(), "c");
  EXPECT_THROW(session.verifyConnected(), Error);
  const auto sink = std::make_shared<Sink>();
  session.setUserOutputHandler("c", sink);
  int timeouts = 0, answers = 0;
  const auto onlyInputAndY = [](const AnchorInfo& a) {
    return a.name == "c" ? AnchorCallbackPolicy::BIND_EMPTY_CB : AnchorCallbackPolicy::BIND_USER_CB;
  };
  const QueueManager queues = session.createQueueManager(
      4,
      [&](InputQueue& q) {
        timeouts++;
        q.enqueue(c.x.data(), 64);
      },
      std::chrono::milliseconds(1), onlyInputAndY);
  EXPECT_NO_THROW(session.verifyConnected());
  std::vector<float> y(16);
  OutputQueue out = queues.outputQueue("y");
  out.enqueue(y.data(), 64, [&](ErrorCode code) { answers += code == ErrorCode::ok; });
  EXPECT_EQ(out.tensorInfo().sizeInBytes(), 64u);
  EXPECT_THROW(queues.outputQueue("c"), Error);
  session.runLoadPrograms();
  session.runMainPrograms();
  EXPECT_EQ(timeouts, 1);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(y, c.x);
  EXPECT_EQ(sink->values.size(), 16u);
  queues.disconnectAll();
  EXPECT_THROW(session.runPrograms({1}), Error);
  session.stop();
  session.reload();
  EXPECT_TRUE(session.isLoaded());
  session.unloadFromDevice();
  EXPECT_FALSE(session.isLoaded());
}

TEST(CppWrapper, PredicatesCombine) {
  using namespace predicate_factory::anchor_callbacks;
  constexpr auto user = AnchorCallbackPolicy::BIND_USER_CB;
  constexpr auto empty = AnchorCallbackPolicy::BIND_EMPTY_CB;
  const AnchorInfo main{"a", false, {1}}, none{"b", false, {}}, save{"c", true, {2}};
  const auto either = orBind(user, empty, predProgramIndex({1}), predProgramNotAssigned());
  EXPECT_EQ(either(main), user);
  EXPECT_EQ(either(none), user);
  EXPECT_EQ(either(save), empty);
  const auto both = andBind(user, empty, predProgramIndex({1}), predProgramIndex({1, 2}));
  EXPECT_EQ(both(main), user);
  EXPECT_EQ(both(save), empty);
  EXPECT_EQ(predProgramIndex({1}, empty, user)(main), empty);
}

// Makes the calls of poptorch, Paddle and PopRT's documentation, which pass a popef::Model.
TEST(CppWrapper, AcceptsPopefModels) {
  auto reader = std::make_shared<poprt::popef::Reader>();
  reader->parseFile(DATA "/copies.popef");
  const auto model = poprt::popef::ModelBuilder(reader).createModel();
  reader.reset();
  const DeviceManager manager(2);
  SessionConfig config;
  config.device = manager.getDevice(model);
  EXPECT_EQ(config.device->numIpus(), 1);
  EXPECT_EQ(manager.getSpecificDevice(model, 1)->id(), 1);
  EXPECT_EQ(manager.createIpuModelDevice(model, 8)->tilesPerIpu(), 8);
  EXPECT_EQ(manager.createSmallIpuModelDevice(model)->ipuVersion(), 21);

  using namespace predicate_factory;
  const auto& flow = model->metadata.programFlow();
  config.predicate = orBind(AnchorCallbackPolicy::BIND_USER_CB, AnchorCallbackPolicy::BIND_EMPTY_CB,
                            predProgramFlowMain(flow), predProgramNotAssigned());
  Client c;
  {
    Session session(model, config);
    EXPECT_EQ(session.model()->metadata.executable(), "copies");
    EXPECT_EQ(session.model()->metadata.programFlow().main(), flow.main());
    EXPECT_EQ(session.model(), session.model()) << "references into the model must stay valid";
    ASSERT_EQ(session.getUserInputAnchors().size(), 1u);
    const auto empty_callbacks = [](const AnchorInfo&) {
      return AnchorCallbackPolicy::BIND_EMPTY_CB;
    };
    const auto pred = predProgramFlowMain(flow);
    EXPECT_THROW(session.createQueueManager(2, {}, {}, empty_callbacks, pred).inputQueue("x"),
                 Error);
    EXPECT_THROW(session.createQueueManager(2, {}, {}, pred, empty_callbacks).outputQueue("y"),
                 Error);
    const QueueManager queues = session.createQueueManager(2, {}, {}, pred, pred);
    queues.inputQueue("x").enqueue(c.x.data(), 64);
    queues.outputQueue("y").enqueue(c.y.data(), 64);
    queues.outputQueue("c").enqueue(c.c.data(), 64);
    session.runLoadPrograms();
    session.runMainPrograms();
    EXPECT_EQ(c.x, c.y);
  }
  ModelRunner runner(model);
  InputMemory owned;
  owned.emplace("x", TensorMemory(64));
  std::memcpy(owned.at("x").data.get(), c.x.data(), 64);
  std::fill(c.y.begin(), c.y.end(), 0.f);
  runner.execute(viewOf(owned), c.out);
  EXPECT_EQ(c.x, c.y);
}

TEST(CppWrapper, ExecutablesAreModelsAndStreams) {
  const std::string bytes = read(DATA "/copies.popef");
  const auto inside = std::make_shared<std::stringstream>("before" + bytes + "behind");
  inside->seekg(6);
  Executable e(inside, bytes.size());
  EXPECT_EQ(e.name(), "copies");
  EXPECT_EQ(e.getPopefModel()->metadata.anchors().size(), 3u);
  EXPECT_EQ(e.getPopefModel(), e.getPopefModel()) << "references into the model must stay valid";
  EXPECT_TRUE(e.getOpaqueBlobs().empty());
  e.appendOpaqueBlobs(std::map<std::string, std::string>{{"one", "first"}, {"two", ""}});
  e.appendOpaqueBlobs(std::pair<std::string, std::string>{"three", "third"});
  EXPECT_EQ(e.getOpaqueBlobs(), (std::map<std::string, std::string>{
                                    {"one", "first"}, {"two", ""}, {"three", "third"}}));
  std::stringstream saved;
  e.serialize(saved);
  const std::string again = saved.str();
  EXPECT_EQ(Executable::fromBytes(again.data(), again.size()).getOpaqueBlobs(), e.getOpaqueBlobs());
  Client c;
  ModelRunner(e).execute(c.in, c.out);
  EXPECT_EQ(c.x, c.y);

  // A file of another package is opened if the check is off.
  std::string other = read(DATA "/copies.popef");
  const size_t package = other.rfind("poprt 1.");
  ASSERT_NE(package, std::string::npos);
  other[package + 6] = '9';
  const auto stream = std::make_shared<std::istringstream>(other);
  Executable unchecked(stream, 0, false);
  unchecked.appendOpaqueBlobs(std::map<std::string, std::string>{{"one", "first"}});
  EXPECT_EQ(unchecked.getOpaqueBlobs(), (std::map<std::string, std::string>{{"one", "first"}}));

  poprt::compiler::CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  const auto compiled = poprt::compiler::Compiler::compile(DATA "/identity.onnx", {}, options);
  EXPECT_EQ(compiled->getPopefModel()->metadata.executable(), compiled->name());
}

TEST(CppWrapper, PredicatesFollowProgramFlows) {
  using namespace predicate_factory::anchor_callbacks;
  constexpr auto user = AnchorCallbackPolicy::BIND_USER_CB;
  constexpr auto empty = AnchorCallbackPolicy::BIND_EMPTY_CB;
  poprt::popef::ProgramFlow flow;
  flow.setLoad({0, 1});
  flow.setMain({5});
  flow.setSave({7});
  struct {
    std::vector<uint32_t> programs;
    AnchorCallbackPolicy load, main, save;
  } rows[] = {{{}, empty, empty, empty}, {{1}, user, empty, empty},   {{5}, empty, user, empty},
              {{7}, empty, empty, user}, {{5, 7}, empty, user, user}, {{0, 5, 7}, user, user, user},
              {{9}, empty, empty, empty}};
  for (const auto& row : rows) {
    const AnchorInfo a{"a", false, row.programs};
    EXPECT_EQ(predProgramFlowLoad(flow)(a), row.load);
    EXPECT_EQ(predProgramFlowMain(flow)(a), row.main);
    EXPECT_EQ(predProgramFlowSave(flow)(a), row.save);
    EXPECT_EQ(predProgramFlowMain(flow, empty, user)(a), row.main == user ? empty : user);
    EXPECT_EQ(predicate_factory::predProgramFlowMain(flow)(a), row.main);
  }
}

TEST(CppWrapper, KeepsWeightsVariableOnRequest) {
  poprt::compiler::CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  options.constantWeights = false;  // identity.onnx has no weights, so nothing changes
  EXPECT_EQ(
      poprt::compiler::Compiler::compile(DATA "/identity.onnx", {}, options)->getInputs().size(),
      1u);
  Session session(std::vector<std::string>{DATA "/weights.popef"});
  std::vector<float> value(16, 3.f), back(16);
  session.updateWeights("x", value.data(), 64);
  session.readWeights("x", back.data(), 64);
  EXPECT_EQ(value, back);
}

// Freeing a session calls its handlers, which the assignment therefore keeps until then.
TEST(CppWrapper, AssignmentFreesTheSessionBeforeItsHandlers) {
  struct Handler : StreamCallback {
    explicit Handler(std::vector<std::string>& all) : events(all) {}
    ~Handler() override { events.emplace_back("destroyed"); }
    bool fetch(void*, size_t) noexcept override { return false; }
    void interrupt() noexcept override { events.emplace_back("interrupted"); }
    std::vector<std::string>& events;
  };
  std::vector<std::string> events;
  Session session(std::vector<std::string>{DATA "/copies.popef"});
  session.setUserOutputHandler("c", std::make_shared<Handler>(events));
  session = Session(std::vector<std::string>{DATA "/weights.popef"});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(std::count(events.begin(), events.end(), "destroyed"), 1);
  EXPECT_EQ(events.back(), "destroyed");
  std::vector<float> value(16);
  session.readWeights("x", value.data(), 64);
}

TEST(CppWrapper, SeveralThreadsConnectASession) {
  struct Sink : StreamCallback {
    bool fetch(void*, size_t) noexcept override { return true; }
  };
  Session session(std::vector<std::string>{DATA "/copies.popef"});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; round++) {
        session.setUserOutputHandler("c", std::make_shared<Sink>());
        session.createQueueManager(2, [](InputQueue&) {}, std::chrono::seconds(1));
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_NO_THROW(session.verifyConnected());
}

TEST(RuntimeConfig, HasTheDocumentedDefaults) {
  const RuntimeConfig c;
  EXPECT_EQ(c.runnerType, RunnerType::ModelRunner);
  EXPECT_EQ(c.deviceWaitConfig.timeout, std::chrono::seconds(1));
  EXPECT_EQ(c.deviceWaitConfig.sleepTime, std::chrono::seconds(6));
  EXPECT_TRUE(c.threadSafe);
  EXPECT_EQ(c.timeoutNS, 10000000);
  EXPECT_TRUE(c.validateIOParams);
  EXPECT_EQ(c.batchingDim, UINT32_MAX);
  EXPECT_TRUE(c.checkPackageHash);
  EXPECT_EQ(c.ringBufferSizeMultiplier, 2);
  EXPECT_FALSE(c.autoReset);
  EXPECT_FALSE(c.flushOnWaitingOutputs);
  EXPECT_EQ(c.batchSizeTimeoutNS, INT64_MAX);
  EXPECT_EQ(c.dataParallelTimeoutNS, INT64_MAX);
  EXPECT_FALSE(c.isBatchSizeTimeoutEnabled);
  EXPECT_EQ(c.requestTracepointsBufferSize, 1000);
  EXPECT_TRUE(c.replicaIdToDevice.empty());
  const PackRunnerConfig p;
  EXPECT_EQ(p.runnerType, RunnerType::PackRunner);
  EXPECT_EQ(p.timeoutInMicroSeconds, 0);
  EXPECT_EQ(p.maxValidNum, 0u);
  EXPECT_EQ(p.algo, PackAlgorithm::NextFit);
  EXPECT_EQ(p.compileBatchSize, -1);
  EXPECT_FALSE(p.disableDataAcrossRows);
  EXPECT_FALSE(p.enablePaddingRemove);
  EXPECT_EQ(p.delimiterNum, 0u);
  EXPECT_TRUE(p.enablePrefetchDatastreams);
}

TEST(RuntimeConfig, RefusesSettingsUnsupportedByModelRunner) {
  const auto refused = [](auto change, const char* part) {
    RuntimeConfig c;
    change(c);
    try {
      ModelRunner(DATA "/copies.popef", c);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused([](auto& c) { c.runnerType = RunnerType::PackRunner; }, "runnerType is PackRunner");
  refused([](auto& c) { c.runnerType = RunnerType::ModelFusionRunner; },
          "runnerType is ModelFusionRunner");
  refused([](auto& c) { c.ringBufferSizeMultiplier = 0; }, "ringBufferSizeMultiplier");
  refused([](auto& c) { c.replicationFactor = 0; }, "replicationFactor");
  refused([](auto& c) { c.timeoutNS = -5; }, "timeouts");
  refused([](auto& c) { c.batchSizeTimeoutNS = -1; }, "timeouts");
  refused([](auto& c) { c.requestTracepointsBufferSize = -1; }, "requestTracepointsBufferSize");
  RuntimeConfig c;
  c.ringBufferSizeMultiplier = 5;
  EXPECT_NE(ModelRunner(DATA "/copies.popef", c).statistics().find("\"queue_capacity\": 5,"),
            std::string::npos);
}

TEST(CppWrapper, FuturesComeInBothKindsAndCarryTheError) {
  RuntimeConfig config;
  config.faults = "unknown_runtime_error@3";
  ModelRunner runner(DATA "/copies.popef", config);
  Client k;
  const OutputFutureMemoryView views = runner.executeAsync(k.in, k.out);
  EXPECT_EQ(views.at("y").get().data, k.y.data());
  EXPECT_EQ(k.x, k.y);
  const OutputFutureMemory owned = runner.executeAsync(k.in);
  EXPECT_EQ(std::memcmp(owned.at("y").get().data.get(), k.x.data(), 64), 0);
  const auto failing = runner.executeAsync(k.in, k.out);
  try {
    failing.at("c").get();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unknown);
    EXPECT_NE(std::string(e.what()).find("unknown_runtime_error"), std::string::npos);
  }
}

TEST(CppWrapper, ServesBatchesOfAnySize) {
  RuntimeConfig config;
  config.batchingDim = 0;
  config.timeoutNS = 1000;
  ModelRunner runner(DATA "/copies.popef", config);
  std::vector<float> x(37, 2.f), y(37), c(37);
  runner.execute({{"x", {x.data(), 148}}}, {{"y", {y.data(), 148}}, {"c", {c.data(), 148}}});
  EXPECT_EQ(x, y);
  config.timeoutNS = 0;
  ModelRunner waiting(DATA "/copies.popef", config);
  Request r = waiting.submit({{"x", {x.data(), 4}}}, {{"y", {y.data(), 4}}, {"c", {c.data(), 4}}});
  EXPECT_FALSE(r.waitFor(std::chrono::milliseconds(1)));
  EXPECT_TRUE(r.cancel());
  EXPECT_THROW(r.wait(), Error);
}

TEST(CppWrapper, ARequestThatMissesItsDeadlineIsDone) {
  RuntimeConfig config;
  config.batchingDim = 0;
  config.timeoutNS = 0;
  ModelRunner runner(DATA "/copies.popef", config);
  std::vector<float> x(1, 2.f), y(1), c(1);
  Request r = runner.submit({{"x", {x.data(), 4}}}, {{"y", {y.data(), 4}}, {"c", {c.data(), 4}}},
                            std::chrono::milliseconds(5));
  try {
    EXPECT_TRUE(r.waitFor(std::chrono::minutes(1)));
    ADD_FAILURE() << "the request has an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::deadline_exceeded);
    EXPECT_TRUE(r.done());
  }
}

TEST(CppWrapper, ATimeoutOfBatchesIsNotShortenedByTheDefault) {
  RuntimeConfig config;
  config.batchingDim = 0;
  config.isBatchSizeTimeoutEnabled = true;
  config.batchSizeTimeoutNS = std::chrono::hours(1);
  ModelRunner runner(DATA "/copies.popef", config);
  std::vector<float> x(1, 2.f), y(1), c(1);
  Request r = runner.submit({{"x", {x.data(), 4}}}, {{"y", {y.data(), 4}}, {"c", {c.data(), 4}}});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(r.cancel()) << "the batch must wait for more rows";
}

TEST(CppWrapper, HasTheOtherRunners) {
  Client k;
  {
    PackRunnerConfig config(100, 0, "x");
    PackRunner pack(DATA "/copies.popef", config);
    std::vector<float> y(3), c(3);
    pack.execute({{"x", {k.x.data(), 12}}}, {{"y", {y.data(), 12}}, {"c", {c.data(), 12}}});
    EXPECT_EQ(y, (std::vector<float>{1, 2, 3}));
  }
  {
    HostConcatRunnerConfig config;
    config.hostConcatConfig["x"] = {"x", {"a", "b"}, {16}, 64, {16, 48}};
    HostConcatRunner joined(DATA "/copies.popef", config);
    joined.execute({{"a", {k.x.data(), 16}}, {"b", {k.x.data() + 4, 48}}}, k.out);
    EXPECT_EQ(k.x, k.y);
  }
  {
    LightRunner light(DATA "/weights.popef");
    ASSERT_EQ(light.getModelInputs().size(), 1u);
    EXPECT_TRUE(light.getModelInputs()[0].popefContainsTensorData);
    EXPECT_TRUE(light.getExecuteInputs().empty());
    light.setInputAnchor("x", k.in.at("x"));
    light.updateWeights();
    std::fill(k.y.begin(), k.y.end(), 0.f);
    light.execute({}, k.out);
    EXPECT_EQ(k.x, k.y);
    light.stop();
    EXPECT_THROW(light.execute({}, k.out), Error);
    light.reload();
    light.execute({}, k.out);
  }
  {
    ModelFusionRunner fused(DATA "/fused.popef");
    uint32_t index = 9;
    float x[4] = {1, 2, 3, 4}, y[4];
    fused.execute({{"graph1/x", {x, 16}}}, {{"graph1/y", {y, 16}}, {"graph1/k", {&index, 4}}});
    EXPECT_EQ(index, 1u);
  }
}

TEST(CppWrapper, CountersOfARunnerAndOfAReplica) {
  RuntimeConfig config;
  config.replicationFactor = 2;
  ModelRunner runner(DATA "/copies.popef", config);
  Client k;
  for (int i = 0; i < 3; i++) runner.execute(k.in, k.out);
  const poprt::runtime::RunnerCounters all = runner.counters();
  EXPECT_EQ(all.completed, 3u);
  EXPECT_EQ(all.latency_count, 3u);
  EXPECT_EQ(all.replicas, 2u);
  EXPECT_EQ(runner.counters(0).completed + runner.counters(1).completed, 3u);
  try {
    runner.counters(2);
    ADD_FAILURE() << "there are two";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(e.what()).find("there is no replica 2: the runner has 2"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace

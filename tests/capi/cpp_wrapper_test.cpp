#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

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
  const std::string path = testing::TempDir() + "cpp_wrapper.popef";
  e.save(path);
  EXPECT_EQ(read(path), bytes);
  std::remove(path.c_str());
  EXPECT_NE(poprt::dumpPopef(DATA "/copies.popef").find("copies"), std::string::npos);
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
  const std::string path = testing::TempDir() + "cpp_wrapper_identity.popef";
  Compiler::compileAndExport(DATA "/identity.onnx", {}, path, options);
  EXPECT_EQ(Executable(path).name(), "identity");
  std::remove(path.c_str());
  EXPECT_NE(Compiler::listOps().find("Identity"), std::string::npos);
  EXPECT_FALSE(Compiler::listPasses().empty());
}

TEST(CppWrapper, DevicesAreAcquiredAsAsked) {
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
  EXPECT_EQ(session.getUserOutputAnchors()[1].name, "c");
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
  EXPECT_EQ(out.tensorInfo().sizeInBytes, 64);
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

TEST(CppWrapper, WeightsStayVariableWhenAsked) {
  poprt::compiler::CompilerOptions options;
  options.inputShape["x"] = {2, 4};
  options.constantWeights = false;  // identity.onnx has none: nothing changes
  EXPECT_EQ(
      poprt::compiler::Compiler::compile(DATA "/identity.onnx", {}, options)->getInputs().size(),
      1u);
  Session session(std::vector<std::string>{DATA "/weights.popef"});
  std::vector<float> value(16, 3.f), back(16);
  session.updateWeights("x", value.data(), 64);
  session.readWeights("x", back.data(), 64);
  EXPECT_EQ(value, back);
}

}  // namespace

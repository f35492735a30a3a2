#include "runtime/session/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "device/device_manager.h"
#include "device/null/null_device.h"
#include "program/builder.h"
#include "program/link.h"
#include "program/serialize.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/queue/queue_manager.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/variants.h"
#include "support/copy_model.h"
#include "support/function_device.h"
#include "support/long_matmul.h"

namespace poprt::runtime {
namespace {

using test::CopyModel;

TEST(Session, RunsLoadMainAndSavePrograms) {
  CopyModel copy(8);
  program::Program& p = copy.b.program();
  // load: weights -> arena; main: arena -> y; save: arena -> c
  p.load = {p.main[2]};
  p.load[0].operands[1] = p.main[0].operands[1];
  p.save = {p.main[1]};
  p.save[0].operands[1] = p.main[2].operands[1];
  p.main = {p.main[1]};
  Session session(make_model("m", copy.image()));
  std::vector<float> x(8), y(8), c(8);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  session.run_load_programs();
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(y, copy.constants);
  session.run_save_programs(inputs, outputs);
  EXPECT_EQ(c, copy.constants);
}

TEST(Session, HoldsItsDeviceUntilDestroyed) {
  CopyModel copy(8);
  const auto model = make_model("m", copy.image());
  const device::DeviceManager manager(1);
  SessionConfig config;
  config.device = manager.get_device();
  config.exclusive = true;
  auto session = std::make_unique<Session>(model, config);
  config.device.reset();
  try {
    Session(model, SessionConfig{session->device(), {}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_STREQ(e.what(), "device 0 is in use by another session");
  }
  EXPECT_THROW(manager.get_device(), Error);
  session.reset();
  EXPECT_NO_THROW(manager.get_device());
}

TEST(Session, AFailedLoadGivesTheDeviceBack) {
  CopyModel copy(8);
  copy.b.program().kernels[0] = "warp";
  const auto model = make_model("digits", copy.image());
  const auto device = device::DeviceManager(1).get_device();
  try {
    Session(model, SessionConfig{device, {}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_STREQ(e.what(), "executable 'digits': needs kernel 'warp', made by a newer poprt?");
  }
  EXPECT_TRUE(device->acquire());
}

TEST(Session, RunsOnAnyKindOfDevice) {
  CopyModel copy(8);
  Session session(make_model("m", copy.image()),
                  SessionConfig{std::make_shared<device::NullDevice>(), {}});
  std::vector<float> x(8, 1.f), y(8, 2.f), c(8);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(y, std::vector<float>(8, 2.f));
}

TEST(Session, EveryIpuModelGivesTheSameResults) {
  CopyModel copy(1000);
  const auto model = make_model("m", copy.image());
  const device::DeviceManager manager(1);
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), -500.f);
  for (const auto& device :
       {manager.get_device(), manager.create_ipu_model_device(),
        manager.create_ipu_model_device(1, 1), manager.create_ipu_model_device(1, 21, 16),
        manager.create_small_ipu_model_device()}) {
    Session session(model, SessionConfig{device, {}});
    std::vector<float> y(1000), c(1000);
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data(), c.data()};
    session.run_load_programs();
    session.run_main_programs(inputs, outputs);
    EXPECT_EQ(y, x);
    EXPECT_EQ(c, copy.constants);
  }
}

std::shared_ptr<const Model> copy_model(CopyModel& copy, uint64_t iterations = 1,
                                        uint32_t replicas = 1) {
  popef::Metadata m = make_metadata("m", copy.b.program());
  m.setDeviceIterations(iterations);
  m.setReplicationFactor(replicas);
  m.setNumIpus(replicas);
  if (replicas > 1)
    for (popef::Anchor& a : m.anchors()) {
      a.setIsPerReplica(a.name() != "c");
      if (a.isPerReplica()) a.tensorInfo().shape().insert(a.tensorInfo().shape().begin(), replicas);
    }
  return make_model("m", copy.image(), {}, {}, m);
}

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return {ErrorCode::ok, ""};
}

// Counts the calls, and provides or consumes numbered values.
struct Recorder : StreamCallback {
  explicit Recorder(size_t n, bool in) : count(n), is_input(in) {}

  Result prefetch(void* p) noexcept override {
    prefetches++;
    if (!may_prefetch) return Result::not_available;
    give(p);
    return Result::success;
  }
  Result fetch(void* p) noexcept override {
    fetches++;
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return !blocked || interrupted; });
    if (blocked) return Result::not_available;
    if (is_input)
      give(p);
    else
      taken.push_back(*static_cast<float*>(p));
    return Result::success;
  }
  void complete() noexcept override {
    completes++;
    next++;
  }
  void invalidate_prefetched() noexcept override { invalidations++; }
  void interrupt() noexcept override {
    const std::lock_guard lock(mutex);
    interrupted = true;
    wake.notify_all();
  }
  void resume() noexcept override {
    const std::lock_guard lock(mutex);
    interrupted = false;
  }
  void give(void* p) const { std::fill_n(static_cast<float*>(p), count, next); }

  const size_t count;
  const bool is_input;
  bool may_prefetch = false, blocked = false, interrupted = false;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> prefetches{0}, fetches{0}, completes{0}, invalidations{0};
  float next = 1;
  std::vector<float> taken;
};

struct ConnectedSession {
  ConnectedSession(Session& session, size_t n)
      : x(std::make_shared<Recorder>(n, true)),
        y(std::make_shared<Recorder>(n, false)),
        c(std::make_shared<Recorder>(n, false)) {
    session.set_user_input_handler("x", x);
    session.set_user_output_handler("y", y);
    session.set_user_output_handler("c", c);
  }
  std::shared_ptr<Recorder> x, y, c;
};

TEST(Session, CallbacksAreCalledForEveryIterationAndReplica) {
  CopyModel copy(4);
  device::DeviceManager manager(3);
  SessionConfig config;
  config.device = manager.get_device(3);
  Session session(copy_model(copy, 5, 3), config);
  const ConnectedSession at(session, 4);
  session.run_load_programs();
  session.run_main_programs();
  EXPECT_EQ(at.x->completes, 15);
  EXPECT_EQ(at.y->completes, 15);
  EXPECT_EQ(at.c->completes, 5);  // one value for all replicas
  std::vector<float> expected(15);
  std::iota(expected.begin(), expected.end(), 1.f);
  EXPECT_EQ(at.y->taken, expected);
  EXPECT_EQ(at.c->taken, std::vector<float>(5, copy.constants[0]));
}

TEST(Session, AModelOfSeveralReplicasNeedsAsManyIpus) {
  CopyModel copy(4);
  SessionConfig config;
  config.device = device::DeviceManager(8).create_ipu_model_device(2);
  EXPECT_EQ(error_of([&] { Session small(copy_model(copy, 1, 3), config); }).code(),
            ErrorCode::failed_precondition);
  config.device.reset();
  Session session(copy_model(copy, 1, 3));
  EXPECT_EQ(session.device()->num_ipus(), 3);
}

TEST(Session, DoesNotFetchPrefetchedData) {
  CopyModel copy(4);
  Session session(copy_model(copy, 4));
  const ConnectedSession at(session, 4);
  at.x->may_prefetch = true;
  session.run_main_programs();
  EXPECT_EQ(at.x->fetches, 1);  // the first; the others were there
  EXPECT_EQ(at.x->completes, 4);
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 2, 3, 4}));
  session.run_main_programs();
  EXPECT_EQ(at.x->fetches, 1);
  EXPECT_EQ(at.y->taken.size(), 8u);
  EXPECT_EQ(at.y->taken.back(), 8);
  session.unload_from_device();
  EXPECT_EQ(at.x->invalidations, 1);
}

TEST(Session, NewCallbackDoesNotReceivePrefetchedData) {
  CopyModel copy(4);
  Session session(copy_model(copy));
  const ConnectedSession at(session, 4);
  at.x->may_prefetch = true;
  session.run_main_programs();
  EXPECT_EQ(at.x->prefetches, 1);
  QueueManager& queues = session.create_queue_manager(4);
  EXPECT_EQ(at.x->invalidations, 1);
  const std::vector<float> x = {7, 8, 9, 10};
  std::vector<float> y(4), c(4);
  queues.input_queue("x").enqueue(x.data(), 16);
  queues.output_queue("y").enqueue(y.data(), 16);
  queues.output_queue("c").enqueue(c.data(), 16);
  session.run_main_programs();
  EXPECT_EQ(y, x);
}

// stop() calls the handlers, so no handler may be replaced in the meantime. interrupt() waits, and
// a handler that is replaced while it waits is noticed.
TEST(Session, HandlersAreNotReplacedWhileTheyAreInterrupted) {
  for (const char* name : {"x", "y"}) {
    CopyModel copy(4);
    Session session(copy_model(copy));
    const bool input = name[0] == 'x';
    struct Interrupted : StreamCallback {
      Result prefetch(void*) noexcept override { return Result::not_available; }
      Result fetch(void*) noexcept override { return Result::not_available; }
      void complete() noexcept override {}
      void invalidate_prefetched() noexcept override {}
      void interrupt() noexcept override {
        if (replacer.joinable()) return;
        replacer = std::thread([this] {
          replace();
          replaced = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        replaced_meanwhile = replaced.load();
      }
      void resume() noexcept override {}
      std::function<void()> replace;
      std::thread replacer;
      std::atomic<bool> replaced{false}, replaced_meanwhile{false};
    };
    const auto first = std::make_shared<Interrupted>();
    const auto second = std::make_shared<Recorder>(4, input);
    const auto set = [&](const std::shared_ptr<StreamCallback>& handler) {
      if (input)
        session.set_user_input_handler(name, handler);
      else
        session.set_user_output_handler(name, handler);
    };
    first->replace = [&] { set(second); };
    set(first);
    session.stop();
    first->replacer.join();
    EXPECT_FALSE(first->replaced_meanwhile) << name;
    EXPECT_TRUE(first->replaced) << name;
  }
}

TEST(Session, VerifiesThatAnchorsAreConnected) {
  CopyModel copy(4);
  Session session(copy_model(copy));
  const Error before = error_of([&] { session.verify_connected(); });
  EXPECT_EQ(before.code(), ErrorCode::failed_precondition);
  EXPECT_STREQ(before.what(), "anchors without a callback: 'x', 'y', 'c'");
  EXPECT_EQ(error_of([&] { session.run_main_programs(); }).code(), ErrorCode::failed_precondition);
  session.set_user_output_handler("c", std::make_shared<Recorder>(4, false));
  EXPECT_EQ(session.unconnected_anchors(), (std::vector<std::string>{"x", "y"}));
  const ConnectedSession at(session, 4);
  EXPECT_NO_THROW(session.verify_connected());
  session.set_user_input_handler("x", nullptr);
  EXPECT_EQ(session.unconnected_anchors(), (std::vector<std::string>{"x"}));
  const Error unknown = error_of([&] { session.set_user_input_handler("z", nullptr); });
  EXPECT_EQ(unknown.code(), ErrorCode::not_found);
  EXPECT_STREQ(unknown.what(), "there is no input 'z'; inputs are: 'x'");
}

TEST(Session, PredicatesSelectUserAnchors) {
  CopyModel copy(4);
  SessionConfig config;
  config.input_predicate = [](const popef::Anchor&) { return AnchorCallbackPolicy::bind_empty_cb; };
  config.output_predicate = [](const popef::Anchor& a) {
    return a.name() == "c" ? AnchorCallbackPolicy::bind_empty_cb
                           : AnchorCallbackPolicy::bind_user_cb;
  };
  Session session(copy_model(copy), config);
  EXPECT_TRUE(session.user_input_anchors().empty());
  ASSERT_EQ(session.user_output_anchors().size(), 1u);
  EXPECT_EQ(session.user_output_anchors()[0]->name, "y");
  // Rejected anchors do not block: inputs are zeros, and outputs are dropped.
  const auto y = std::make_shared<Recorder>(4, false);
  session.set_user_output_handler("y", y);
  session.run_main_programs();
  EXPECT_EQ(y->taken, std::vector<float>{0});
}

TEST(Session, APredicateMayExcludeTheDataOfAnInput) {
  CopyModel copy(4);
  static const std::array<float, 4> data{5, 6, 7, 8};
  auto model = std::make_shared<Model>(*copy_model(copy));
  model->input_data[0] = std::as_bytes(std::span(data));
  for (popef::Anchor& a : model->metadata.anchors())
    if (a.name() == "x") a.setPrograms({0});  // load
  const auto result = [&](const AnchorCallbackPredicate& predicate) {
    SessionConfig config;
    config.input_predicate = predicate;
    Session session(model, config);
    EXPECT_TRUE(session.user_input_anchors().empty());
    const auto y = std::make_shared<Recorder>(4, false), c = std::make_shared<Recorder>(4, false);
    session.set_user_output_handler("y", y);
    session.set_user_output_handler("c", c);
    session.run_main_programs();
    return y->taken;
  };
  const std::vector<float> given{5}, zeros{0};
  const auto& flow = model->metadata.programFlow();
  EXPECT_EQ(result({}), given);
  EXPECT_EQ(result([](const popef::Anchor& a) {
              return a.name() == "x" ? AnchorCallbackPolicy::bind_empty_cb
                                     : AnchorCallbackPolicy::bind_user_cb;
            }),
            zeros);
  // These select programs.
  namespace predicates = predicate_factory::anchor_callbacks;
  EXPECT_EQ(result(predicates::pred_program_flow_main(flow)), given);
  EXPECT_EQ(
      result(predicates::or_bind(
          AnchorCallbackPolicy::bind_user_cb, AnchorCallbackPolicy::bind_empty_cb,
          {predicates::pred_program_flow_main(flow), predicates::pred_program_not_assigned()})),
      given);
}

TEST(Session, ProgramsRunByIndexInTheOrderGiven) {
  CopyModel copy(4);
  program::Program& p = copy.b.program();
  // load: weights -> arena; main: x -> arena and arena -> y; save: arena -> c
  const auto weights = p.main[2].operands[0], middle = p.main[0].operands[1],
             to_c = p.main[2].operands[1];
  p.load = {p.main[2]};
  p.load[0].operands = {weights, middle};
  p.save = {p.main[2]};
  p.save[0].operands = {middle, to_c};
  p.main.pop_back();
  Session session(copy_model(copy));
  ASSERT_EQ(session.user_output_anchors().size(), 1u);  // c is not main's
  const ConnectedSession at(session, 4);
  session.run_programs(std::vector<uint32_t>{0, 2, 1, 2});
  // After load it is the constant, after main the input, as if it had been trained.
  EXPECT_EQ(at.c->taken, (std::vector<float>{copy.constants[0], 1}));
  EXPECT_EQ(at.y->taken, std::vector<float>{1});
  session.run_save_programs();
  EXPECT_EQ(at.c->taken.back(), 1);
  const Error e = error_of([&] { session.run_programs(std::vector<uint32_t>{1, 9}); });
  EXPECT_EQ(e.code(), ErrorCode::not_found);
  EXPECT_STREQ(e.what(), "there is no program 9; programs are 0, 1, 2");
  EXPECT_EQ(at.y->taken.size(), 1u) << "nothing ran";
}

TEST(Session, ProgramsOfOneFlowAreOneRunThatServesTheirAnchors) {
  CopyModel copy(4);
  popef::Metadata m = make_metadata("m", copy.b.program());
  m.programFlow().setLoad({0, 2});
  m.programFlow().setMain({1, 5});
  m.programsMap()[9] = "custom";
  for (popef::Anchor& a : m.anchors()) a.setPrograms({a.name() == "x" ? 1u : 5u});
  Session session(make_model("m", copy.image(), {}, {}, m));
  const ConnectedSession at(session, 4);
  const auto run = [&](std::vector<uint32_t> indices) { session.run_programs(indices); };
  run({0, 2});
  EXPECT_TRUE(at.y->taken.empty());
  run({1, 5});
  EXPECT_EQ(at.y->taken, std::vector<float>{1});
  run({5});  // x keeps its value
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 1}));
  run({1});
  EXPECT_EQ(at.y->taken.size(), 2u) << "y is not program 1's";
  run({5, 1, 5, 9, 1});
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 1, 3, 4}));
  run({9});
  run({});
  const Error e = error_of([&] { run({1, 3}); });
  EXPECT_EQ(e.code(), ErrorCode::not_found);
  EXPECT_STREQ(e.what(), "there is no program 3; programs are 0, 1, 2, 5, 9");
}

// The memory of an element is not valid after its callback, and a handler may prefetch the next
// value.
TEST(Session, AnInputKeepsItsLastValueHoweverItWasTransferred) {
  CopyModel copy(4);
  popef::Metadata m = make_metadata("m", copy.b.program());
  m.programFlow().setMain({1, 5});
  for (popef::Anchor& a : m.anchors()) a.setPrograms({a.name() == "x" ? 1u : 5u});
  Session queued(make_model("m", copy.image(), {}, {}, m));
  QueueManager& queues = queued.create_queue_manager(4);
  std::vector<float> x(4, 3), y(4), again(4), c(8);
  queues.input_queue("x").enqueue(x.data(), 16);
  queues.output_queue("y").enqueue(y.data(), 16);
  queues.output_queue("c").enqueue(c.data(), 32);
  queued.run_programs(std::vector<uint32_t>{1, 5});
  EXPECT_EQ(y, x);
  std::ranges::fill(x, -1);
  queues.output_queue("y").enqueue(again.data(), 16);
  queued.run_programs(std::vector<uint32_t>{5});
  EXPECT_EQ(again, y);

  Session handled(make_model("m", copy.image(), {}, {}, m));
  const ConnectedSession at(handled, 4);
  at.x->may_prefetch = true;
  handled.run_programs(std::vector<uint32_t>{1, 5});
  handled.run_programs(std::vector<uint32_t>{5});
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 1}));
}

TEST(Session, AnInputPerReplicaKeepsTheValueOfEachReplica) {
  CopyModel copy(4);
  popef::Metadata m = copy_model(copy, 1, 2)->metadata;
  m.programFlow().setMain({1, 5});
  for (popef::Anchor& a : m.anchors()) a.setPrograms({a.name() == "x" ? 1u : 5u});
  device::DeviceManager manager(2);
  SessionConfig config;
  config.device = manager.get_device(2);
  Session session(make_model("m", copy.image(), {}, {}, m), config);
  const ConnectedSession at(session, 4);
  session.run_programs(std::vector<uint32_t>{1, 5});
  session.run_programs(std::vector<uint32_t>{5});
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 2, 1, 2}));
}

TEST(Session, ProgramsOfTheMapHaveNoEffectWithoutAFlow) {
  CopyModel copy(4);
  Session session(copy_model(copy));  // 0 is load and 2 is save, of which there are none
  const ConnectedSession at(session, 4);
  session.run_programs(std::vector<uint32_t>{0, 1, 2});
  EXPECT_EQ(at.y->taken, std::vector<float>{1});
}

TEST(Session, OnlyADeviceOfTheModelsVersionAndSizeIsBound) {
  CopyModel copy(4);
  const auto bind = [&](uint32_t replicas, int version, SessionConfig config = {}) {
    popef::Metadata m = make_metadata("m", copy.b.program());
    m.setReplicationFactor(replicas);
    m.setNumIpus(replicas);
    m.setIpuVersion(version);
    Session session(make_model("m", copy.image(), {}, {}, m), config);
  };
  EXPECT_EQ(error_of([&] { bind(1, 1); }).code(), ErrorCode::not_found);
  EXPECT_NO_THROW(bind(1, 2));  // a C600 IPU runs these
  const device::DeviceManager manager(3);
  SessionConfig config;
  config.device = manager.get_device(1);
  const Error version = error_of([&] { bind(1, 1, config); });
  EXPECT_EQ(version.code(), ErrorCode::failed_precondition);
  EXPECT_NE(std::string(version.what()).find("is for ipu1, device"), std::string::npos);
  const Error size = error_of([&] { bind(2, 21, config); });
  EXPECT_EQ(size.code(), ErrorCode::failed_precondition);
  EXPECT_NE(std::string(size.what()).find("for 2 IPUs"), std::string::npos);
  config.device = manager.create_ipu_model_device(1, 2);
  EXPECT_NO_THROW(bind(1, 21, config));
}

TEST(Session, AnchorsWithoutAHandleCannotBeConnected) {
  CopyModel copy(4);
  popef::Metadata m = make_metadata("m", copy.b.program());
  m.anchors()[0].setHandle("");
  Session session(make_model("m", copy.image(), {}, {}, m));
  EXPECT_TRUE(session.user_input_anchors().empty());
  const Error e =
      error_of([&] { session.set_user_input_handler("x", std::make_shared<Recorder>(4, true)); });
  EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
  EXPECT_NE(std::string(e.what()).find("'x' has no handle"), std::string::npos);
  const auto& queues = session.create_queue_manager(
      1, {}, {}, [](const popef::Anchor&) { return AnchorCallbackPolicy::bind_user_cb; });
  EXPECT_TRUE(queues.inputs().empty());
}

TEST(Session, RunWithDisconnectedQueuesFails) {
  CopyModel copy(4);
  Session session(copy_model(copy));
  session.create_queue_manager(2).disconnect_all();
  const Error e = error_of([&] { session.run_main_programs(); });
  EXPECT_EQ(e.code(), ErrorCode::cancelled);
  EXPECT_NE(std::string(e.what()).find("the queue of 'x' was disconnected"), std::string::npos)
      << e.what();
}

// A caller that ends the programs gets no error; a callback without data and a session that leaves
// its device are errors.
TEST(Session, ARunThatIsEndedOnPurposeReturnsFalse) {
  CopyModel copy(4);
  Session session(copy_model(copy));
  session.create_queue_manager(2).disconnect_all();
  EXPECT_FALSE(session.run_main_programs_unless_stopped());
  const ConnectedSession at(session, 4);
  EXPECT_TRUE(session.run_main_programs_unless_stopped());
  at.x->blocked = true;
  bool ran = true;
  std::thread runner([&] { ran = session.run_main_programs_unless_stopped(); });
  while (at.x->fetches == 0) std::this_thread::yield();
  session.stop();
  runner.join();
  EXPECT_FALSE(ran);
  EXPECT_FALSE(session.run_main_programs_unless_stopped());
  session.reload();
  Error left(ErrorCode::ok, "");
  at.x->fetches = 0;
  std::thread another(
      [&] { left = error_of([&] { (void)session.run_main_programs_unless_stopped(); }); });
  while (at.x->fetches == 0) std::this_thread::yield();
  session.unload_from_device();
  another.join();
  EXPECT_EQ(left.code(), ErrorCode::cancelled);
  EXPECT_NE(std::string(left.what()).find("left its device"), std::string::npos) << left.what();
}

TEST(Session, StopEndsABlockedRun) {
  CopyModel copy(4);
  Session session(copy_model(copy));
  const ConnectedSession at(session, 4);
  at.x->blocked = true;
  ErrorCode code = ErrorCode::ok;
  std::chrono::steady_clock::time_point ended;
  std::thread runner([&] {
    code = error_of([&] { session.run_main_programs(); }).code();
    ended = std::chrono::steady_clock::now();
  });
  while (at.x->fetches == 0) std::this_thread::yield();
  const auto requested = std::chrono::steady_clock::now();
  session.stop();
  runner.join();
  EXPECT_EQ(code, ErrorCode::cancelled);
  RecordProperty(
      "stop_microseconds",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::microseconds>(ended - requested).count()));
  // It stays stopped until it is loaded again.
  at.x->blocked = false;
  EXPECT_EQ(error_of([&] { session.run_main_programs(); }).code(), ErrorCode::cancelled);
  session.reload();
  EXPECT_NO_THROW(session.run_main_programs());
  EXPECT_EQ(at.y->taken, std::vector<float>{1});
}

TEST(Session, UnloadsAndLoadsAgainWithTheSameResults) {
  CopyModel copy(4);
  Session session(copy_model(copy));
  const ConnectedSession at(session, 4);
  EXPECT_TRUE(session.is_loaded());
  session.unload_from_device();
  session.unload_from_device();
  EXPECT_FALSE(session.is_loaded());
  const Error e = error_of([&] { session.run_main_programs(); });
  EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
  EXPECT_NE(std::string(e.what()).find("is on no device"), std::string::npos);
  session.reload();
  session.run_main_programs();
  EXPECT_EQ(at.c->taken, std::vector<float>{copy.constants[0]});
}

TEST(Session, ABoundDeviceIsTakenFromTheSessionBefore) {
  CopyModel copy(4);
  const auto model = copy_model(copy);
  SessionConfig config;
  config.device = device::DeviceManager(1).get_device();
  Session first(model, config);
  const ConnectedSession at_first(first, 4);
  Session second(model, config);
  const ConnectedSession at_second(second, 4);
  EXPECT_FALSE(first.is_loaded());
  EXPECT_TRUE(second.is_loaded());
  EXPECT_EQ(error_of([&] { first.run_main_programs(); }).code(), ErrorCode::failed_precondition);
  EXPECT_NO_THROW(second.run_main_programs());
  first.reload();
  EXPECT_FALSE(second.is_loaded());
  EXPECT_NO_THROW(first.run_main_programs());
  // A run that is blocked does not keep the device.
  at_first.x->blocked = true;
  ErrorCode code = ErrorCode::ok;
  std::thread runner([&] { code = error_of([&] { first.run_main_programs(); }).code(); });
  while (at_first.x->fetches < 2) std::this_thread::yield();
  second.bind_to_device();
  runner.join();
  EXPECT_EQ(code, ErrorCode::cancelled);
  EXPECT_NO_THROW(second.run_main_programs());
  config.exclusive = true;
  Session third(model, config);
  EXPECT_EQ(error_of([&] { second.reload(); }).code(), ErrorCode::failed_precondition);
  EXPECT_TRUE(third.is_loaded());
}

// If the other device is in use, the session stays on its device.
TEST(Session, AMoveToADeviceInUseLeavesItWhereItIs) {
  CopyModel copy(4);
  const auto model = copy_model(copy);
  device::DeviceManager manager(2);
  SessionConfig config;
  config.device = manager.get_device();
  Session first(model, config);
  const ConnectedSession at(first, 4);
  SessionConfig alone = config;
  alone.device = manager.get_device();
  alone.exclusive = true;
  Session owner(model, alone);
  EXPECT_EQ(error_of([&] { first.bind_to_device(alone.device); }).code(),
            ErrorCode::failed_precondition);
  EXPECT_EQ(first.device(), config.device);
  EXPECT_TRUE(first.is_loaded());
  EXPECT_TRUE(owner.is_loaded());
  EXPECT_NO_THROW(first.run_main_programs());
  Session next(model, config);
  EXPECT_TRUE(next.is_loaded());
  EXPECT_FALSE(first.is_loaded()) << "the next session has evicted it";
}

TEST(Session, ConcurrentFirstRunsBindADeferredOneOnce) {
  for (int round = 0; round < 20; round++) {
    const auto device = std::make_shared<test::FunctionDevice>(test::add_one(4));
    SessionConfig config;
    config.policy = LaunchPolicy::deferred;
    config.device = device;
    Session session(test::add_one_model({4}), config);
    std::atomic<int> ready{0}, right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&] {
        const std::vector<float> x = {1, 2, 3, 4};
        std::vector<float> y(4);
        const void* const in[] = {x.data()};
        void* const out[] = {y.data()};
        ready++;
        while (ready < 4) std::this_thread::yield();
        try {
          session.run_main_programs(in, out);
          right += y[3] == 5;
        } catch (const Error& e) {
          ADD_FAILURE() << e.what();
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(right, 4);
    EXPECT_EQ(device->loads, 1);
  }
}

// A callback may call stop() whenever it is called.
TEST(Session, CallbacksMayStopWhileTheyAreReplacedOrResumed) {
  struct Stopper : Recorder {
    using Recorder::Recorder;
    void invalidate_prefetched() noexcept override { session->stop(); }
    void resume() noexcept override {
      Recorder::resume();
      if (stops) session->stop();
    }
    Session* session = nullptr;
    bool stops = false;
  };
  CopyModel copy(4);
  Session session(copy_model(copy));
  const ConnectedSession at(session, 4);
  const auto x = std::make_shared<Stopper>(4, true);
  x->session = &session;
  x->may_prefetch = true;
  session.set_user_input_handler("x", x);
  session.run_main_programs();
  session.set_user_input_handler("x", at.x);  // discards prefetched data
  EXPECT_EQ(error_of([&] { session.run_main_programs(); }).code(), ErrorCode::cancelled);
  session.set_user_input_handler("x", x);
  x->stops = true;
  session.reload();
  EXPECT_EQ(error_of([&] { session.run_main_programs(); }).code(), ErrorCode::cancelled);
}

TEST(Session, ADeferredOneAcquiresItsDeviceLater) {
  CopyModel copy(4);
  SessionConfig config;
  config.policy = LaunchPolicy::deferred;
  Session session(copy_model(copy), config);
  EXPECT_FALSE(session.is_loaded());
  EXPECT_EQ(session.device(), nullptr);
  const ConnectedSession at(session, 4);
  session.run_load_programs();
  EXPECT_TRUE(session.is_loaded());
  ASSERT_NE(session.device(), nullptr);
  session.run_main_programs();
  EXPECT_EQ(at.y->taken.size(), 1u);

  Session moved(copy_model(copy), config);
  const auto device = device::DeviceManager(8).get_specific_device(7);
  moved.bind_to_device(device);
  EXPECT_EQ(moved.device(), device);
}

TEST(Session, OpensFilesAndChecksTheirPackage) {
  CopyModel copy(4);
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "_session.popef";
  write_popef(path, "m", copy.b.program(), copy.b.weight_records());
  const std::filesystem::path paths[] = {path};
  Session session(paths);
  const ConnectedSession at(session, 4);
  session.run_main_programs();
  EXPECT_EQ(at.c->taken, std::vector<float>{copy.constants[0]});
  EXPECT_EQ(session.model().metadata.executable(), "m");

  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string package(program::package());
  const size_t where = bytes.str().find(package);
  ASSERT_NE(where, std::string::npos);
  file.seekp(static_cast<std::streamoff>(where));
  file << "other";
  file.close();
  const Error e = error_of([&] { Session{paths}; });
  EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
  EXPECT_NE(std::string(e.what()).find("package hash"), std::string::npos);
  SessionConfig config;
  config.check_package_hash = false;
  EXPECT_NO_THROW(Session(paths, config));
  std::filesystem::remove(path);
}

// An input whose value comes with the program, as compilers make for weights that may change.
TEST(Session, NamedWeightsAreUpdatedAtRunTime) {
  CopyModel copy(4);
  program::Program& p = copy.b.program();
  p.inputs[0].data = copy.b.weight_records()[0].offset;  // x starts as the constants
  Session session(copy_model(copy));
  EXPECT_TRUE(session.user_input_anchors().empty());
  const auto y = std::make_shared<Recorder>(4, false), c = std::make_shared<Recorder>(4, false);
  session.set_user_output_handler("y", y);
  session.set_user_output_handler("c", c);
  session.run_main_programs();
  const std::vector<float> value = {5, 6, 7, 8};
  session.update_weights("x", {value.data(), 16});
  session.run_main_programs();
  EXPECT_EQ(y->taken, (std::vector<float>{copy.constants[0], 5}));
  std::vector<float> read(4);
  session.read_weights("x", {read.data(), 16});
  EXPECT_EQ(read, value);
  EXPECT_EQ(c->taken, std::vector<float>(2, copy.constants[0])) << "other weights stay";

  // Null pointers take them, too.
  std::vector<float> out(4), constant(4);
  const void* inputs[] = {nullptr};
  void* outputs[] = {out.data(), constant.data()};
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(out, value);
  session.reload();
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(out, value) << "updates survive a reload";

  EXPECT_EQ(error_of([&] { session.update_weights("x", {value.data(), 12}); }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { session.read_weights("x", {read.data(), 12}); }).code(),
            ErrorCode::invalid_argument);
  const Error null = error_of([&] { session.read_weights("x", {nullptr, 16}); });
  EXPECT_EQ(null.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(null.what(), "argument 'data' is null");
  const Error e = error_of([&] { session.update_weights("w", {value.data(), 16}); });
  EXPECT_EQ(e.code(), ErrorCode::not_found);
  EXPECT_STREQ(e.what(), "there are no weights 'w'; weights that can be updated are: 'x'");
}

// Data that a handler fetches does not replace updated weights.
TEST(Session, UpdatedWeightsSurviveAHandler) {
  CopyModel copy(4);
  program::Program& p = copy.b.program();
  p.inputs[0].data = copy.b.weight_records()[0].offset;
  Session session(copy_model(copy));
  const ConnectedSession at(session, 4);
  const std::vector<float> value = {5, 6, 7, 8};
  session.update_weights("x", {value.data(), 16});
  session.run_main_programs();
  EXPECT_EQ(at.y->taken, std::vector<float>{1}) << "the handler's";
  session.set_user_input_handler("x", nullptr);
  session.run_main_programs();
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 5}));
  std::vector<float> weights(4);
  session.read_weights("x", {weights.data(), 16});
  EXPECT_EQ(weights, value);
}

TEST(Session, FeedsGiveOneValueAfterTheOtherAndWrap) {
  CopyModel copy(1);
  const float values[] = {1, 2, 3};
  const InputData data[] = {{"x", std::as_bytes(std::span(values))}};
  const auto model = make_model("m", copy.image(), {}, {}, std::nullopt, data);
  Session session(model);
  const auto y = std::make_shared<Recorder>(1, false);
  session.set_user_output_handler("y", y);
  session.set_user_output_handler("c", std::make_shared<Recorder>(1, false));
  for (int i = 0; i < 5; i++) session.run_main_programs();
  EXPECT_EQ(y->taken, (std::vector<float>{1, 2, 3, 1, 2}));
  const InputData torn[] = {{"x", std::as_bytes(std::span(values)).first(6)}};
  EXPECT_EQ(error_of([&] { make_model("m", copy.image(), {}, {}, std::nullopt, torn); }).code(),
            ErrorCode::data_loss);
}

TEST(Session, MakesSeedsWhereTheFileHasNone) {
  CopyModel copy(4);
  popef::Metadata m = make_metadata("m", copy.b.program());
  m.setSeedHandle("h2d_x");
  Session session(make_model("m", copy.image(), {}, {}, m));
  EXPECT_TRUE(session.user_input_anchors().empty());
  std::set<uint32_t> seen;
  struct Bits : StreamCallback {
    explicit Bits(std::set<uint32_t>& s) : set(s) {}
    Result fetch(void* p) noexcept override {
      for (int i = 0; i < 4; i++) set.insert(static_cast<uint32_t*>(p)[i]);
      return Result::success;
    }
    std::set<uint32_t>& set;
  };
  session.set_user_output_handler("y", std::make_shared<Bits>(seen));
  session.set_user_output_handler("c", std::make_shared<Recorder>(4, false));
  for (int i = 0; i < 8; i++) session.run_main_programs();
  EXPECT_GT(seen.size(), 28u);
}

// Returns its mask as the output `real`.
std::shared_ptr<const Model> model_with_mask() {
  program::Builder b;
  const Shape shape = {4};
  const program::BufferId operands[] = {
      b.input(b.add_input({"poprt.real.length", DType::boolean, shape}), 0, 4, DType::boolean,
              shape),
      b.output(b.add_output({"real", DType::boolean, shape}), 0, 4, DType::boolean, shape)};
  b.emit("copy", operands, {}, {}, "real");
  const program::LoadedProgram part = program::load_in_memory(b.program(), b.weight_records());
  const program::Variant variants[] = {{&part.program, part.weights, ""}};
  const program::Linked linked = program::link_buckets(variants);
  const std::string notes = R"({"kind": "shapes", "dimensions": ["length"],
    "inputs": {"poprt.real.length": {"shape": ["length"], "pad": "mask"}},
    "outputs": {"real": {"shape": ["length"]}},
    "buckets": [{"inputs": {"poprt.real.length": [4]}, "outputs": {"real": [4]}}]})";
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            linked.program, linked.weights, {{kVariants, notes}});
  return open_payload("mask", payload->bytes(), payload);
}

TEST(Session, AllPlacesAreRealUnlessTheCallerGivesTheMask) {
  Session session(model_with_mask());
  ASSERT_EQ(session.user_input_anchors().size(), 1u);
  EXPECT_EQ(session.user_input_anchors()[0]->name, program::kBucketIndex);
  const uint32_t bucket = 0;
  std::array<uint8_t, 4> real = {};
  const std::array<uint8_t, 4> ones = {1, 1, 1, 1}, given = {1, 0, 1, 0};
  void* outputs[] = {real.data()};
  const void* inputs[] = {nullptr, &bucket};
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(real, ones);
  inputs[0] = given.data();
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(real, given);
  inputs[0] = nullptr;
  session.complete_inputs(inputs);
  ASSERT_NE(inputs[0], nullptr);
  EXPECT_EQ(std::memcmp(inputs[0], ones.data(), 4), 0);
}

TEST(Session, StopEndsARunWithinALongInstruction) {
  test::LongMatmul m;
  Session session(make_model("long", test::LongMatmul::image()));
  EXPECT_TRUE(test::caught_in_the_middle([&](auto delay) {
    std::fill(m.y.begin(), m.y.end(), 0);
    std::thread stopper([&] {
      std::this_thread::sleep_for(delay);
      session.stop();
    });
    const Error e = error_of([&] { session.run_main_programs(m.inputs, m.outputs); });
    stopper.join();
    session.reload();
    return e.code() == ErrorCode::cancelled && m.begun() && !m.finished();
  }));
}

}  // namespace
}  // namespace poprt::runtime

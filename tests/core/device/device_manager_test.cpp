#include "device/device_manager.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/error_code.h"
#include "support/failing_allocation.h"
#include "support/sanitized.h"

namespace poprt::device {
namespace {

using test::code_of;

TEST(DeviceManager, CountUsesTheArgumentThenTheEnvironment) {
  unsetenv("POPRT_DEVICES");
  EXPECT_EQ(DeviceManager().device_count(), 16384);
  setenv("POPRT_DEVICES", "7", 1);
  EXPECT_EQ(DeviceManager().device_count(), 7);
  EXPECT_EQ(DeviceManager(2).device_count(), 2);
  setenv("POPRT_DEVICES", "many", 1);
  EXPECT_EQ(code_of([] { DeviceManager(); }), ErrorCode::invalid_argument);
  unsetenv("POPRT_DEVICES");
  EXPECT_EQ(code_of([] { DeviceManager(-1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { DeviceManager((1 << 20) + 1); }), ErrorCode::invalid_argument);
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// A device whose memory is exhausted while it is taken is free afterwards, also if only the control
// block of its pointer is missing.
TEST(DeviceManager, ADeviceThatCannotBeMadeIsFreeAgain) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer owns malloc";
  const DeviceManager manager(3);
  int failed = 0;
  for (int64_t left = 0;; left++) {
    ASSERT_LT(left, 1000);
    std::shared_ptr<Device> device;
    test::allocations_left = left;
    try {
      device = manager.get_device(3);
    } catch (const std::bad_alloc&) {
    }
    test::allocations_left = -1;
    if (device) break;
    failed++;
    EXPECT_EQ(code_of([&] { manager.get_device(3); }), ErrorCode::ok) << left;
  }
  EXPECT_GT(failed, 2);
}

TEST(DeviceManager, NumbersUpToTheirLimitsAreTaken) {
  EXPECT_EQ(DeviceManager(1 << 20).device_count(), 1 << 20);
  EXPECT_EQ(message_of([] { DeviceManager((1 << 20) + 1); }),
            "device count must be 1 to 1048576, given 1048577");
  EXPECT_EQ(DeviceManager(1).device_ids(), std::vector<int64_t>{0});
  const DeviceManager manager(1025);
  EXPECT_EQ(manager.get_device(1024)->num_ipus(), 1024);
  EXPECT_EQ(message_of([&] { manager.get_device(1025); }),
            "a device has 1 to 1024 IPUs, requested 1025");
  EXPECT_EQ(manager.create_ipu_model_device(1024)->num_ipus(), 1024);
  EXPECT_EQ(message_of([&] { manager.create_ipu_model_device(1025); }),
            "a device has 1 to 1024 IPUs, requested 1025");
  EXPECT_EQ(manager.create_ipu_model_device(1, 2, 1 << 20)->properties().tiles_per_ipu, 1 << 20);
  EXPECT_EQ(message_of([&] { manager.create_ipu_model_device(1, 2, (1 << 20) + 1); }),
            "an IPU has 1 to 1048576 tiles, requested 1048577");
  EXPECT_EQ(message_of([&] { manager.create_ipu_model_device(1, 2, -1); }),
            "an IPU has 1 to 1048576 tiles, requested -1");
  EXPECT_EQ(manager.create_ipu_model_device(1, 2, 0)->properties().tiles_per_ipu, 1472);
  EXPECT_EQ(manager.create_ipu_model_device(1, 21, 1)->properties().tiles_per_ipu, 1);
  EXPECT_FALSE(DeviceManager(1).get_device()->properties().ipu_model);
}

TEST(DeviceManager, AWaitTakesNoTimeOrMore) {
  const DeviceManager manager(1);
  const std::chrono::nanoseconds zero(0), less(-1);
  const auto with = [&](std::chrono::nanoseconds timeout, std::chrono::nanoseconds sleep) {
    return message_of([&] { manager.get_device(1, WaitConfig(timeout, sleep)); });
  };
  EXPECT_EQ(with(zero, zero), "");
  EXPECT_EQ(with(less, zero), "the timeout and sleep time of a wait are not negative");
  EXPECT_EQ(with(zero, less), "the timeout and sleep time of a wait are not negative");
}

TEST(DeviceManager, ErrorsNameBusyAndAvailableDevices) {
  const DeviceManager two(2);
  const auto all = two.get_device(2);
  EXPECT_EQ(message_of([&] { two.get_device(); }),
            "all 2 devices are busy: free a runner or device, or set POPRT_DEVICES higher");
  EXPECT_EQ(message_of([&] { two.get_device(1, WaitConfig(std::chrono::nanoseconds(0))); }),
            "all 2 devices are busy: free a runner or device, or set POPRT_DEVICES higher (after "
            "0.000 s)");
  EXPECT_EQ(message_of([&] { two.get_specific_device(1); }),
            "device 1 is busy: free its runner or handle first, or take another (POPRT_DEVICES "
            "sets the number)");
  EXPECT_EQ(message_of([&] { DeviceManager(3).get_device(2); }),
            "1 of 3 devices are not busy, requested 2: free a runner or device, or set "
            "POPRT_DEVICES higher");
  EXPECT_EQ(message_of([&] { two.get_device(3); }),
            "a device of 3 IPUs was requested, 2 IPUs are visible");
  EXPECT_EQ(message_of([&] { two.get_device(Constraints{1, 2, 0, false}); }),
            "ipu2 was requested, devices are ipu21");
  EXPECT_EQ(message_of([&] { two.get_device(Constraints{1, 0, 1473, false}); }),
            "1473 tiles were requested, devices have 1472 per IPU");
  EXPECT_EQ(message_of([&] { two.get_specific_device(2); }),
            "there is no visible device 2: ids are 0 to 1");
  const DeviceManager some(ManagerConfig{9, {}, "3,5-6"});
  EXPECT_EQ(message_of([&] { some.get_specific_device(4); }),
            "there is no visible device 4: ids are 3, 5, 6");
  const DeviceManager row(ManagerConfig{9, {}, "3-6"});
  EXPECT_EQ(message_of([&] { row.get_specific_device(7); }),
            "there is no visible device 7: ids are 3 to 6");
  Constraints pair;
  pair.num_ipus = 2;
  EXPECT_EQ(message_of([&] { some.get_specific_device(6, {}, pair); }),
            "2 IPUs from device 6 on were requested, 1 are visible");
  EXPECT_EQ(some.get_specific_device(3, {}, pair)->ids(), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(message_of([] { DeviceManager(ManagerConfig{6, {}, "6"}); }),
            "visible devices '6': expected ids from 0 to 5 as in '0,2-3'");
  EXPECT_EQ(DeviceManager(ManagerConfig{6, {}, "5,1-1"}).device_ids(),
            (std::vector<int64_t>{1, 5}));
}

TEST(DeviceManager, HandsOutEachDeviceOnce) {
  const DeviceManager manager(2);
  auto a = manager.get_device();
  const auto b = manager.get_device();
  EXPECT_EQ(a->id(), 0);
  EXPECT_EQ(b->id(), 1);
  EXPECT_EQ(code_of([&] { manager.get_device(); }), ErrorCode::unavailable);
  EXPECT_EQ(code_of([&] { DeviceManager(2).get_device(); }), ErrorCode::unavailable);
  a.reset();
  EXPECT_EQ(manager.get_device()->id(), 0);
}

// Devices are acquired and released in random order, by managers that see all or some of them, and
// compared with a list of free devices.
TEST(DeviceManager, HandsOutTheLowestThatAreFree) {
  const DeviceManager all(12);
  ManagerConfig config;
  config.device_count = 12;
  config.visible = "2-3,7-11";
  const DeviceManager some(config);
  std::mt19937 rng(5);
  std::map<int64_t, std::shared_ptr<Device>> held;  // by the first id of each
  std::set<int64_t> busy;
  for (int step = 0; step < 2000; step++) {
    if (rng() % 2 && !held.empty()) {
      const auto at = std::next(held.begin(), static_cast<ptrdiff_t>(rng() % held.size()));
      for (const int64_t id : at->second->ids()) busy.erase(id);
      held.erase(at);
      continue;
    }
    const DeviceManager& manager = rng() % 2 ? all : some;
    const auto count = static_cast<int64_t>(1 + rng() % 3);
    std::vector<int64_t> want;
    for (const int64_t id : manager.device_ids())
      if (!busy.contains(id) && static_cast<int64_t>(want.size()) < count) want.push_back(id);
    if (static_cast<int64_t>(want.size()) < count) {
      EXPECT_EQ(code_of([&] { manager.get_device(count); }), ErrorCode::unavailable);
      continue;
    }
    auto device = manager.get_device(count);
    ASSERT_EQ(device->ids(), want) << step;
    busy.insert(want.begin(), want.end());
    held[want[0]] = std::move(device);
  }
}

TEST(DeviceManager, DevicesThatAreNotSharedLeaveNoFile) {
  char name[] = "/tmp/poprt_devices_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name), before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  for (int i = 0; i < 2; i++) EXPECT_EQ(DeviceManager(2).get_device()->id(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(DeviceManager, SpecificDevice) {
  const DeviceManager manager(3);
  const auto two = manager.get_specific_device(2);
  EXPECT_EQ(two->id(), 2);
  EXPECT_EQ(two->ipu_version(), 21);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(2); }), ErrorCode::unavailable);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(3); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(-1); }), ErrorCode::not_found);
}

TEST(DeviceManager, DevicesOfSeveralIpusTakeAsManyIds) {
  const DeviceManager manager(3);
  EXPECT_EQ(code_of([&] { manager.get_device(0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { manager.get_device(4); }), ErrorCode::not_found);
  auto one = manager.get_specific_device(1);
  auto two = manager.get_device(2);
  EXPECT_EQ(two->num_ipus(), 2);
  EXPECT_EQ(two->ids(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(code_of([&] { manager.get_device(); }), ErrorCode::unavailable);
  one.reset();
  EXPECT_EQ(code_of([&] { manager.get_device(2); }), ErrorCode::unavailable);
  two.reset();
  Constraints constraints;
  constraints.num_ipus = 2;
  EXPECT_EQ(manager.get_specific_device(1, {}, constraints)->ids(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(code_of([&] { manager.get_specific_device(2, {}, constraints); }),
            ErrorCode::not_found);
}

TEST(DeviceManager, OnlyVisibleDevicesAreUsed) {
  const auto ids = [](const char* list) {
    return DeviceManager(ManagerConfig{6, {}, list}).device_ids();
  };
  EXPECT_EQ(ids("2"), (std::vector<int64_t>{2}));
  EXPECT_EQ(ids("4,0,1-2,1"), (std::vector<int64_t>{0, 1, 2, 4}));
  for (const char* bad : {"6", "-1", "a", "1,", ",1", "2-1", "1-", "1 2", "99999999999999999999"})
    EXPECT_EQ(code_of([&] { ids(bad); }), ErrorCode::invalid_argument) << bad;

  setenv("POPRT_VISIBLE_DEVICES", "1,3", 1);
  const DeviceManager manager(4);
  unsetenv("POPRT_VISIBLE_DEVICES");
  EXPECT_EQ(manager.device_count(), 2);
  const auto a = manager.get_device(), b = manager.get_device();
  EXPECT_EQ(a->id(), 1);
  EXPECT_EQ(b->id(), 3);
  EXPECT_EQ(code_of([&] { manager.get_device(); }), ErrorCode::unavailable);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(0); }), ErrorCode::not_found);
}

TEST(DeviceManager, UnsatisfiableConstraintsAreAnImmediateError) {
  const DeviceManager manager(1);
  const WaitConfig forever(WaitStrategy::wait_forever);
  EXPECT_EQ(code_of([&] { manager.get_device(Constraints{1, 2, 0, false}, forever); }),
            ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { manager.get_device(Constraints{1, 0, 1473, false}, forever); }),
            ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { manager.get_device(Constraints{2, 0, 0, false}, forever); }),
            ErrorCode::not_found);
  const auto device = manager.get_device(Constraints{1, 21, 1472, true}, forever);
  EXPECT_TRUE(device->properties().remote_buffers);
}

TEST(DeviceManager, IpuModelsAreSeparateDevices) {
  const DeviceManager manager(1);
  const auto busy = manager.get_device();
  const auto model = manager.create_ipu_model_device(2),
             small = manager.create_small_ipu_model_device();
  EXPECT_EQ(model->num_ipus(), 2);
  EXPECT_EQ(model->ipu_version(), 2);
  EXPECT_EQ(model->properties().tiles_per_ipu, 1472);
  EXPECT_TRUE(model->properties().ipu_model);
  EXPECT_EQ(model->id(), -1);
  EXPECT_EQ(small->properties().tiles_per_ipu, 4);
  EXPECT_EQ(manager.create_ipu_model_device(1, 1)->properties().tiles_per_ipu, 1216);
  EXPECT_EQ(manager.create_ipu_model_device(1, 21, 16)->properties().tiles_per_ipu, 16);
  EXPECT_EQ(code_of([&] { manager.create_ipu_model_device(0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { manager.create_ipu_model_device(1, 3); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { manager.create_ipu_model_device(1, 2, -4); }),
            ErrorCode::invalid_argument);
}

TEST(WaitConfig, HasTheDocumentedForms) {
  const WaitConfig none, limit(std::chrono::seconds(3)), both(WaitStrategy::wait_forever);
  EXPECT_EQ(none.strategy, WaitStrategy::no_wait);
  EXPECT_EQ(none.timeout.count(), 0);
  EXPECT_EQ(none.sleep_time, std::chrono::seconds(15));
  EXPECT_EQ(limit.strategy, WaitStrategy::wait_with_timeout);
  EXPECT_EQ(limit.timeout, std::chrono::seconds(3));
  EXPECT_EQ(both.sleep_time, std::chrono::seconds(15));
}

TEST(DeviceManager, WaitsForTheConfiguredTime) {
  const DeviceManager manager(1);
  auto device = manager.get_device();
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::milliseconds limit(30);
  try {
    manager.get_device(1, WaitConfig(limit, std::chrono::milliseconds(1)));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unavailable);
    EXPECT_NE(std::string(e.what()).find("after 0.030 s"), std::string::npos) << e.what();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, limit);
  EXPECT_EQ(code_of([&] { manager.get_device(1, WaitConfig(std::chrono::seconds(-1))); }),
            ErrorCode::invalid_argument);
  // A device of this process is seen at once, long before the sleep time of 15 s.
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device.reset();
  });
  EXPECT_EQ(manager.get_device(1, WaitConfig(WaitStrategy::wait_forever))->id(), 0);
  other.join();
}

// Two processes that share a folder of locks. The child holds device 0 until it receives a byte or
// is killed.
class SharedDevices : public testing::Test {
 protected:
  SharedDevices() {
    char name[] = "/tmp/poprt_devices_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~SharedDevices() override { std::filesystem::remove_all(folder_); }

  ManagerConfig config() const { return {2, folder_, {}}; }

  pid_t start_holder() {
    int ready[2];
    if (pipe(ready) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      char ok = 'x';
      try {
        const auto held = DeviceManager(config()).get_specific_device(0);
        ok = 'y';
        if (write(ready[1], &ok, 1) != 1) _exit(2);
        for (;;) pause();
      } catch (...) {
        if (write(ready[1], &ok, 1) != 1) _exit(2);
      }
      _exit(1);
    }
    char answer = 0;
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void kill_and_wait(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  std::string folder_;
};

TEST_F(SharedDevices, AreBusyInOtherProcessesToo) {
  const pid_t child = start_holder();
  const DeviceManager manager(config());
  try {
    manager.get_specific_device(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unavailable);
    EXPECT_NE(std::string(e.what()).find(fmt::format("process {} has device 0", child)),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(manager.get_device()->id(), 1);
  // The setting does not affect devices that are not shared.
  EXPECT_EQ(DeviceManager(2).get_device()->id(), 0);
  kill_and_wait(child);
}

TEST_F(SharedDevices, AKilledProcessReleasesThem) {
  for (int i = 0; i < 3; i++) {
    const pid_t child = start_holder();
    const DeviceManager manager(config());
    EXPECT_EQ(code_of([&] { manager.get_specific_device(0); }), ErrorCode::unavailable);
    kill_and_wait(child);
    EXPECT_EQ(manager.get_specific_device(0)->id(), 0);
  }
}

TEST_F(SharedDevices, WaitingEndsWhenTheOtherProcessIsGone) {
  const pid_t child = start_holder();
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    kill_and_wait(child);
  });
  const WaitConfig wait(WaitStrategy::wait_forever, {}, std::chrono::milliseconds(5));
  EXPECT_EQ(DeviceManager(config()).get_specific_device(0, wait)->id(), 0);
  killer.join();
}

// Whether a thread of this process sleeps. A thread that waits for a processor does not.
bool sleeps(pid_t thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
  std::string line;
  std::getline(file, line);
  const size_t name = line.rfind(')');
  return name != std::string::npos && line.compare(name, 3, ") S") == 0;
}

// A waiting thread of this process wakes up immediately, however long its sleep time is.
TEST(DeviceManager, WakesAWaitingThreadWhenADeviceIsFree) {
  struct State {
    std::atomic<pid_t> thread{0};
    std::promise<int64_t> found;
  };
  auto device = DeviceManager(1).get_device();
  const auto state = std::make_shared<State>();
  std::future<int64_t> id = state->found.get_future();
  std::thread([state] {
    state->thread = gettid();
    const WaitConfig wait(WaitStrategy::wait_forever, {}, std::chrono::hours(1));
    const int64_t found = DeviceManager(1).get_device(1, wait)->id();
    state->found.set_value(found);  // the device is free again
  }).detach();                      // else a test that fails would not end
  for (int in_a_row = 0; in_a_row < 3;
       in_a_row = state->thread && sleeps(state->thread) ? in_a_row + 1 : 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  device.reset();
  ASSERT_EQ(id.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(id.get(), 0);
}

TEST_F(SharedDevices, TheEnvironmentNamesTheFolder) {
  const auto shared = [&](const char* value) {
    setenv("POPRT_SHARED_DEVICES", value, 1);
    const DeviceManager manager(1);
    unsetenv("POPRT_SHARED_DEVICES");
    const auto device = manager.get_device();
    return std::filesystem::exists(folder_ + "/devices.lock");
  };
  EXPECT_FALSE(shared("0"));
  EXPECT_FALSE(shared(""));
  EXPECT_TRUE(shared(folder_.c_str()));
  std::filesystem::remove(folder_ + "/devices.lock");
  setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  EXPECT_FALSE(shared("1"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/poprt/devices.lock"));
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(SharedDevices, AFolderThatCannotBeMadeIsAnErrorThatNamesTheVariable) {
  const std::string missing = folder_ + "/none/inner";
  setenv("POPRT_SHARED_DEVICES", missing.c_str(), 1);
  try {
    const DeviceManager manager(1);
    ADD_FAILURE() << "made";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::permission_denied);
    EXPECT_EQ(std::string(e.what()), "POPRT_SHARED_DEVICES=" + missing + ": cannot make folder '" +
                                         missing + "': No such file or directory");
  }
  unsetenv("POPRT_SHARED_DEVICES");
}

TEST_F(SharedDevices, AreLookedAtAgainAfterTheSleepTime) {
  const pid_t child = start_holder();
  const pid_t waiter = gettid();
  const auto start = std::chrono::steady_clock::now();
  std::thread killer([&] {
    // On a busy machine the waiter may begin late; the device must still be taken when it first
    // looks.
    for (int in_a_row = 0; in_a_row < 5; in_a_row = sleeps(waiter) ? in_a_row + 1 : 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    kill_and_wait(child);
  });
  const std::chrono::milliseconds sleep(300);
  const WaitConfig wait(WaitStrategy::wait_forever, {}, sleep);
  const auto device = DeviceManager(config()).get_specific_device(0, wait);
  EXPECT_GE(std::chrono::steady_clock::now() - start, sleep) << "free long before";
  killer.join();
}

TEST_F(SharedDevices, AForkedChildDoesNotKeepThem) {
  auto held = DeviceManager(config()).get_specific_device(0);
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  held.reset();
  const pid_t other = start_holder();  // could not, if the first child had the lock
  kill_and_wait(other);
  kill_and_wait(child);
}

// A sanitizer's own threads do not survive fork().
#if !POPRT_TEST_SANITIZED
// A fork while another thread has the lock gives the child new pools. A device that the child
// inherited must not become free there when the child releases it.
TEST(DeviceManager, AForkedChildDoesNotFreeAnIdOfItsNewPools) {
  const DeviceManager manager(16384);
  auto inherited = manager.get_specific_device(0);
  std::vector<std::shared_ptr<Device>> others;
  for (int i = 0; i < 15; i++) others.push_back(manager.get_device(1024));
  std::atomic<bool> end{false};
  std::thread other([&] {  // a refusal counts the free devices with the lock
    while (!end)
      if (code_of([&] { manager.get_device(1024); }) != ErrorCode::unavailable) std::abort();
  });
  enum Answer : int { kRight, kWrong, kNoNewPools };
  int answer = kNoNewPools;
  for (int i = 0; i < 200 && answer == kNoNewPools; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // ends a child that waits for ever
      std::shared_ptr<Device> own;
      if (code_of([&] { own = manager.get_specific_device(0); }) != ErrorCode::ok)
        _exit(kNoNewPools);
      inherited.reset();
      const bool busy = code_of([&] { manager.get_specific_device(0); }) == ErrorCode::unavailable;
      own.reset();
      const bool free = code_of([&] { manager.get_specific_device(0); }) == ErrorCode::ok;
      _exit(busy && free ? kRight : kWrong);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    answer = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  end = true;
  other.join();
  EXPECT_EQ(answer, kRight);
}
#endif

TEST(RuntimeDir, RefusesFoldersOfOthers) {
  EXPECT_EQ(code_of([] { DeviceManager(ManagerConfig{1, "relative", {}}); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { DeviceManager(ManagerConfig{1, "/dev/null", {}}); }),
            ErrorCode::permission_denied);
  EXPECT_EQ(code_of([] { DeviceManager(ManagerConfig{1, "/no/such/folder", {}}); }),
            ErrorCode::permission_denied);
}

struct FakeSession final : Occupant {
  explicit FakeSession(int& counter) : evicted(counter) {}
  void evict() noexcept override { evicted++; }
  int& evicted;
};

TEST(Device, BindingASessionEvictsTheOneBefore) {
  int first = 0, second = 0;
  FakeSession a(first), b(second);
  const auto device = DeviceManager(1).get_device();
  device->bind(a, false);
  EXPECT_TRUE(device->is_bound(a));
  device->bind(a, false);
  EXPECT_EQ(first, 0);
  device->bind(b, true);
  EXPECT_EQ(first, 1);
  EXPECT_FALSE(device->is_bound(a));
  device->unbind(a);  // it is no longer bound to a
  EXPECT_TRUE(device->is_bound(b));
  EXPECT_EQ(code_of([&] { device->bind(a, false); }), ErrorCode::failed_precondition);
  EXPECT_EQ(second, 0);
  device->unbind(b);
  device->bind(a, false);
  EXPECT_TRUE(device->is_bound(a));
}

TEST(Device, ASessionMayBecomeExclusiveAndStopBeingSo) {
  int first = 0, second = 0;
  FakeSession a(first), b(second);
  const auto device = DeviceManager(1).get_device();
  device->bind(a, false);
  device->bind(a, true);
  EXPECT_EQ(message_of([&] { device->bind(b, false); }), "device 0 is in use by another session");
  EXPECT_FALSE(device->acquire());
  device->release();  // releases no session's device
  EXPECT_TRUE(device->is_bound(a));
  device->bind(a, false);
  device->bind(b, false);
  EXPECT_EQ(first, 1);
  EXPECT_TRUE(device->is_bound(b));
  device->unbind(b);
  EXPECT_TRUE(device->acquire());
  EXPECT_EQ(code_of([&] { device->bind(a, false); }), ErrorCode::failed_precondition)
      << "who acquires it is exclusive";
}

TEST(Device, ServesOneSessionAtATime) {
  const auto device = DeviceManager(1).get_device();
  EXPECT_TRUE(device->acquire());
  EXPECT_FALSE(device->acquire());
  device->release();
  EXPECT_TRUE(device->acquire());
}

}  // namespace
}  // namespace poprt::device

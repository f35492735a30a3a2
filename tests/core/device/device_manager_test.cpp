#include "device/device_manager.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace poprt::device {
namespace {

template <class F>
ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

TEST(DeviceManager, CountComesFromArgumentThenEnvironmentThenFour) {
  unsetenv("POPRT_DEVICES");
  EXPECT_EQ(DeviceManager().device_count(), 4);
  setenv("POPRT_DEVICES", "7", 1);
  EXPECT_EQ(DeviceManager().device_count(), 7);
  EXPECT_EQ(DeviceManager(2).device_count(), 2);
  setenv("POPRT_DEVICES", "many", 1);
  EXPECT_EQ(code_of([] { DeviceManager(); }), ErrorCode::invalid_argument);
  unsetenv("POPRT_DEVICES");
  EXPECT_EQ(code_of([] { DeviceManager(-1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { DeviceManager(1025); }), ErrorCode::invalid_argument);
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

TEST(DeviceManager, SpecificDevice) {
  const DeviceManager manager(3);
  const auto two = manager.get_specific_device(2);
  EXPECT_EQ(two->id(), 2);
  EXPECT_EQ(two->ipu_version(), 21);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(2); }), ErrorCode::unavailable);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(3); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { manager.get_specific_device(-1); }), ErrorCode::not_found);
}

TEST(DeviceManager, DevicesHaveOneIpu) {
  const DeviceManager manager(1);
  EXPECT_EQ(code_of([&] { manager.get_device(0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { manager.get_device(2); }), ErrorCode::unimplemented);
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

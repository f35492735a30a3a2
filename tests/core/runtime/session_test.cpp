#include "runtime/session.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device_manager.h"
#include "device/null/null_device.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

using testing::CopyModel;

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

TEST(Session, HoldsItsDeviceUntilItGoes) {
  CopyModel copy(8);
  const auto model = make_model("m", copy.image());
  const device::DeviceManager manager(1);
  auto session = std::make_unique<Session>(model, SessionConfig{manager.get_device(), {}});
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

}  // namespace
}  // namespace poprt::runtime

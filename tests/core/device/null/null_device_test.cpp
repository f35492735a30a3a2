#include "device/null/null_device.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace poprt::device {
namespace {

TEST(NullDevice, IsNumberZeroUnlessItIsGivenAnother) {
  EXPECT_EQ(NullDevice().id(), 0);
  EXPECT_EQ(NullDevice(7).id(), 7);
  EXPECT_EQ(NullDevice().ipu_version(), 0);
}

TEST(NullDevice, DoesNotWriteOutputs) {
  auto program = std::make_shared<program::Program>();
  program->outputs.push_back({"y", DType::f32, {2}});
  const auto engine = NullDevice().load({program, {}, {}}, {});
  float y[2] = {3, 4};
  void* outputs[] = {y};
  engine->run(Flow::main, nullptr, outputs);
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 4);
  EXPECT_TRUE(engine->profile().empty());
}

TEST(NullDevice, ChecksPrograms) {
  auto program = std::make_shared<program::Program>();
  program->main.push_back({4, {}, {}, {}, "x"});
  EXPECT_THROW(NullDevice().load({program, {}, {}}, {}), Error);
}

}  // namespace
}  // namespace poprt::device

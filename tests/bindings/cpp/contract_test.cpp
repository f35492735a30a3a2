// Guarantees of the binding for every object: memory of one call has no effect on the next, every
// 16-bit float has the same value in the language and in the library, and objects are destroyed in
// any order (scenarios 75 to 77).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "scenario_support.h"

namespace scenario {
namespace {

template <class T>
ConstTensorMemoryView given(const std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}

template <class T>
TensorMemoryView taken(std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}

void expect_affine(const std::vector<float>& x, const std::vector<float>& y) {
  for (size_t i = 0; i < x.size(); i++) ASSERT_EQ(y[i], 2 * x[i] + 1) << i;
}

TEST(scenario, s75_new_memory_replaces_the_old) {
  ModelRunner runner(affine());
  std::vector<float> x(8, 1), y(8), x2(8, 50), y2(8);
  InputMemoryView in = {{"x", given(x)}};
  OutputMemoryView out = {{"y", taken(y)}};
  runner.execute(in, out);
  expect_affine(x, y);
  in["x"] = given(x2);
  runner.execute(in, out);
  expect_affine(x2, y);
  const std::vector<float> before = y;
  out["y"] = taken(y2);
  x2[3] = -5;
  runner.execute(in, out);
  expect_affine(x2, y2);
  EXPECT_EQ(y, before);
  for (const size_t batches : {3, 1, 2}) {
    x.assign(8 * batches, static_cast<float>(batches));
    y.assign(8 * batches, 0);
    in["x"] = given(x);
    out["y"] = taken(y);
    runner.submit(in, out).wait();
    expect_affine(x, y);
  }
}

TEST(scenario, s75_a_run_in_flight_keeps_its_memory) {
  ModelRunner runner(compile("slow.onnx"));
  std::vector<float> x(kSlow, 1), old(kSlow), now(kSlow);
  OutputMemoryView out = {{"y", taken(old)}};
  const auto run = runner.submit({{"x", given(x)}}, out);
  out["y"] = taken(now);
  run.wait();
  EXPECT_EQ(old, std::vector<float>(kSlow, 1));
  EXPECT_EQ(now, std::vector<float>(kSlow));
}

// The value of a code, computed from the definition of half precision.
double half_value(int code) {
  const int exponent = code >> 10 & 31;
  const double fraction = code & 1023, sign = code >= 0x8000 ? -1 : 1;
  if (exponent == 31)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(1 + fraction / 1024, exponent - 15));
}

float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(scenario, s76_runs_take_and_return_every_code) {
  ModelRunner runner(compile("floats.onnx"));
  std::vector<uint16_t> codes(65536), halves(65536), brains(65536);
  std::vector<float> value(65536), half_values(65536), brain_values(65536);
  for (int code = 0; code < 65536; code++) {
    codes[code] = static_cast<uint16_t>(code);
    value[code] = static_cast<float>(half_value(code));
  }
  const auto run = [&](const std::vector<float>& v) {
    runner.execute({{"half", given(codes)}, {"brain", given(codes)}, {"value", given(v)}},
                   {{"half_value", taken(half_values)},
                    {"brain_value", taken(brain_values)},
                    {"value_half", taken(halves)},
                    {"value_brain", taken(brains)}});
  };
  run(value);
  const auto usual = [](int code) { return (code & 0x7f80) != 0 && (code & 0x7f80) != 0x7f80; };
  for (int code = 0; code < 65536; code++) {
    if (!std::isnan(half_value(code))) {
      ASSERT_EQ(half_values[code], static_cast<float>(half_value(code))) << code;
      ASSERT_EQ(halves[code], code);
    }
    if (usual(code)) {
      ASSERT_EQ(brain_values[code], float_of(static_cast<uint32_t>(code) << 16)) << code;
    }
  }
  const std::vector<float> back = brain_values;
  run(back);
  for (int code = 0; code < 65536; code++) {
    if (usual(code)) {
      ASSERT_EQ(brains[code], code);
    }
  }
}

TEST(scenario, s77_objects_are_destroyed_in_any_order) {
  std::array<int, 5> order = {0, 1, 2, 3, 4};
  do {
    auto manager = std::make_shared<DeviceManager>();
    auto executable = affine();
    auto device = manager->getDevice();
    RuntimeConfig config;
    config.threads = 1;
    config.device = device;
    auto runner = std::make_shared<ModelRunner>(*executable, config);
    config.device.reset();
    std::vector<float> x(8, 1), y(8);
    auto request = std::make_shared<poprt::runtime::Request>(
        runner->submit({{"x", given(x)}}, {{"y", taken(y)}}));
    const std::array<std::function<void()>, 5> destroy = {
        [&] { manager.reset(); }, [&] { executable.reset(); }, [&] { device.reset(); },
        [&] { runner.reset(); }, [&] { request.reset(); }};
    for (const int i : order) destroy[static_cast<size_t>(i)]();
    // The runner has completed the run, or cancelled it before it began.
    EXPECT_TRUE(y == std::vector<float>(8, 3) || y == std::vector<float>(8, 0)) << y[0];
  } while (std::next_permutation(order.begin(), order.end()));
  const DeviceManager all(4);
  std::vector<std::shared_ptr<poprt::runtime::Device>> devices;
  for (int64_t id = 0; id < 4; id++) devices.push_back(all.getSpecificDevice(id));
  EXPECT_EQ(devices.size(), 4U);
}

}  // namespace
}  // namespace scenario

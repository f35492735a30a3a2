// Shared by the tests of replicas: requests that check their own answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/runner/model_runner.h"
#include "support/function_device.h"

namespace poprt::runtime::replica_test {

using poprt::test::add_one;
using poprt::test::add_one_model;
using poprt::test::FunctionDevice;
using poprt::test::Gate;

inline RunnerConfig on(std::shared_ptr<device::Device> device) {
  RunnerConfig config;
  config.session.device = std::move(device);
  return config;
}

// One request's memory, with guards on both sides of the output.
struct Rows {
  explicit Rows(size_t n, float first = 0) : x(n), y(n + 2, -7.f) {
    for (size_t i = 0; i < n; i++) x[i] = first + static_cast<float>(i);
    in[0] = {"x", 0, x.data(), n * 4};
    out[0] = {"y", 0, y.data() + 1, n * 4};
  }
  bool right() const {
    for (size_t i = 0; i < x.size(); i++)
      if (y[i + 1] != x[i] + 1) return false;
    return y.front() == -7.f && y.back() == -7.f;
  }
  std::vector<float> x, y;
  InputBinding in[1];
  OutputBinding out[1];
};

template <class Condition>
bool eventually(Condition&& condition) {
  for (int i = 0; i < 60000; i++) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

}  // namespace poprt::runtime::replica_test

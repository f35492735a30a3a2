// Helpers that the scenarios share.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <poprt/poprt.hpp>
#include <string>
#include <utility>
#include <vector>

namespace scenario {

using poprt::Error;
using poprt::ErrorCode;
using poprt::Executable;
using poprt::compiler::Compiler;
using poprt::compiler::CompilerOptions;
using poprt::runtime::ConstTensorMemoryView;
using poprt::runtime::DeviceManager;
using poprt::runtime::InputMemoryView;
using poprt::runtime::ModelRunner;
using poprt::runtime::OutputMemoryView;
using poprt::runtime::RuntimeConfig;
using poprt::runtime::TensorMemoryView;

inline constexpr size_t kSlow = 512 * 512;

inline std::string model(const std::string& name) { return std::string(DATA "/") + name; }

inline std::shared_ptr<Executable> compile(
    const std::string& file, const std::map<std::string, std::vector<int64_t>>& shape = {}) {
  CompilerOptions options;
  options.inputShape = shape;
  return Compiler::compile(model(file), {}, options);
}

inline std::shared_ptr<Executable> affine() { return compile("affine.onnx", {{"x", {2, 4}}}); }

inline RuntimeConfig config() {
  RuntimeConfig c;
  c.threads = 1;
  return c;
}

template <class T>
ConstTensorMemoryView view(const std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}
template <class T>
TensorMemoryView view(std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}

// x and y of affine.
struct Client {
  explicit Client(float first = 0) {
    std::iota(x.begin(), x.end(), first);
    in["x"] = view(std::as_const(x));
    out["y"] = view(y);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  bool right() const {
    for (size_t i = 0; i < x.size(); i++)
      if (y[i] != 2 * x[i] + 1) return false;
    return true;
  }
  std::vector<float> x = std::vector<float>(8), y = std::vector<float>(8);
  InputMemoryView in;
  OutputMemoryView out;
};

struct SlowClient {
  std::vector<float> x = std::vector<float>(kSlow), y = std::vector<float>(kSlow);
  InputMemoryView in{{"x", view(std::as_const(x))}};
  OutputMemoryView out{{"y", view(y)}};
};

// Fails unless `use` throws that code with all parts in its message.
template <class Use>
void fails(Use&& use, ErrorCode code, const std::vector<std::string>& parts = {}) {
  try {
    use();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " in " << e.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

inline void expect_devices_free() {
  const DeviceManager manager;
  std::vector<std::shared_ptr<poprt::runtime::Device>> all;
  for (size_t i = 0; i < manager.getNumDevices(); i++) all.push_back(manager.getDevice());
}

}  // namespace scenario

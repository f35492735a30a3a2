// A model whose shapes are compiled when requests arrive, and its requests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "base/error.h"
#include "program/batch_rows.h"
#include "program/builder.h"
#include "program/serialize.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/runner/shape_runner.h"
#include "runtime/session/popef_file.h"

namespace poprt::runtime::shape_test {

using namespace std::chrono_literals;
using program::kOpen;

// y [batch, length] = x [batch, length], f [3] = fixed [3], n [?] = x as one row.
inline program::OpenShapes open_copies() {
  return {
      {{"x", DType::f32, {kOpen, kOpen}, {"batch", "length"}}, {"fixed", DType::f32, {3}, {""}}},
      {{"y", DType::f32, {kOpen, kOpen}, {"batch", "length"}}, {"f", DType::f32, {3}, {""}}}};
}

inline std::shared_ptr<const Model> shaped_copies(const Shape& shape, bool separate_rows = false) {
  program::Builder b;
  const auto add = [&](const char* in, const char* out, const Shape& s) {
    const uint64_t bytes = dtype_bytes(DType::f32, element_count(s));
    const program::BufferId operands[] = {
        b.input(b.add_input({in, DType::f32, s}), 0, bytes, DType::f32, s),
        b.output(b.add_output({out, DType::f32, s}), 0, bytes, DType::f32, s)};
    b.emit("copy", operands, {}, {}, out);
  };
  add("x", "y", shape);
  if (!separate_rows) add("fixed", "f", {3});
  program::Notes notes;
  if (separate_rows)
    notes[program::kBatchRows] = program::note_of_batch_rows({{0, shape[0], {"x"}, ""}});
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            b.program(), b.weight_records(), notes);
  return open_payload("copies", payload->bytes(), payload);
}

// x and y only, with the proof that rows do not affect each other.
inline program::OpenShapes open_rows() {
  program::OpenShapes shapes = open_copies();
  shapes.inputs.pop_back();
  shapes.outputs.pop_back();
  return shapes;
}

struct ShapedRequest {
  ShapedRequest(int64_t batch, int64_t length, float first = 1, bool rows_only = false)
      : shape{batch, length}, x(static_cast<size_t>(batch * length)), y(x.size(), -1) {
    std::iota(x.begin(), x.end(), first);
    in = {{"x", 0, x.data(), x.size() * 4, shape.data(), 2}};
    out = {{"y", 0, y.data(), y.size() * 4}};
    if (rows_only) return;
    in.push_back({"fixed", 0, fixed, 12});
    out.push_back({"f", 0, f, 12});
  }
  void expect_right() const { EXPECT_EQ(y, x) << shape_string(shape); }
  Shape shape;
  std::vector<float> x, y;
  float fixed[3] = {1, 2, 3}, f[3] = {};
  std::vector<InputBinding> in;
  std::vector<OutputBinding> out;
};

Error shaped_error(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return {ErrorCode::ok, "no error"};
}

// A compiler that counts its calls, and that can be held.
class CountingCompiler {
 public:
  explicit CountingCompiler(bool separate_rows = false) : separate_rows_(separate_rows) {}

  CompileShape function() {
    return [this](const std::vector<Shape>& inputs) {
      calls++;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !held_; });
      if (inputs[0][1] == kBad) fail(ErrorCode::unimplemented, "a length of {}", kBad);
      return CompiledShape{shaped_copies(inputs[0], separate_rows_), inputs[0][1] == kCached};
    };
  }
  void hold(bool on) {
    const std::lock_guard lock(mutex_);
    held_ = on;
    changed_.notify_all();
  }
  static constexpr int64_t kBad = 99, kCached = 98;
  std::atomic<int> calls{0};

 private:
  const bool separate_rows_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
};

// A request leaves the queue shortly after its answer.
inline void expect_idle(const ShapeRunner& runner) {
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (runner.statistics().in_flight > 0 && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_EQ(runner.statistics().in_flight, 0u);
}

inline ShapeRunnerConfig limited_to(size_t shapes) {
  ShapeRunnerConfig config;
  config.max_shapes = shapes;
  return config;
}

}  // namespace poprt::runtime::shape_test

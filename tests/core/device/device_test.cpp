// Hostile executables on the device: every executable that is accepted runs.
#include "device/device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

#include "base/error.h"
#include "device/emulator/emulator.h"
#include "program/builder.h"
#include "program/serialize.h"

namespace poprt::device {
namespace {

using program::BufferId;
using program::Builder;
using program::kNoBuffer;
using program::Space;

// Memory that ends at an inaccessible page; it is read-only after freeze().
class Fenced {
 public:
  explicit Fenced(uint64_t bytes) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    body_ = (bytes + page - 1) / page * page;
    map_ = mmap(nullptr, body_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(static_cast<std::byte*>(map_) + body_, page, PROT_NONE);
    data_ = static_cast<std::byte*>(map_) + body_ - bytes;
    page_ = page;
  }
  ~Fenced() { munmap(map_, body_ + page_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::byte* data() const { return data_; }
  void freeze() { mprotect(map_, body_, PROT_READ); }

 private:
  void* map_;
  std::byte* data_;
  uint64_t body_, page_;
};

// Kernels of many kinds: several results, data-dependent indices, operands that may be absent.
Builder sample() {
  Builder b;
  const auto x = b.add_input({"x", DType::f32, {8, 8}});
  const auto k = b.add_input({"k", DType::s64, {8}});
  const auto y = b.add_output({"y", DType::f32, {8, 8}});
  const auto z = b.add_output({"z", DType::s64, {8, 2}});
  const BufferId in = b.input(x, 0, 256, DType::f32, {8, 8});
  const BufferId indices = b.input(k, 0, 64, DType::s64, {8});
  const BufferId out = b.output(y, 0, 256, DType::f32, {8, 8});
  const BufferId out_indices = b.output(z, 0, 128, DType::s64, {8, 2});
  const BufferId w = b.weights(256, DType::f32, {8, 8}, [](std::span<std::byte> to) {
    std::fill(to.begin(), to.end(), std::byte{0x3d});
  });
  const BufferId row = b.weights(32, DType::f32, {8}, [](std::span<std::byte> to) {
    std::fill(to.begin(), to.end(), std::byte{0x3e});
  });
  const BufferId a = b.arena(0, 256, DType::f32, {8, 8});
  const BufferId c = b.arena(256, 256, DType::f32, {8, 8});
  const BufferId bytes = b.arena(512, 64, DType::u8, {8, 8});
  const BufferId one = b.arena(576, 4, DType::f32, {1});
  const BufferId byte = b.arena(640, 1, DType::u8, {1});
  const BufferId small = b.arena(704, 64, DType::f32, {8, 2});
  const BufferId counts = b.arena(768, 64, DType::s64, {8});
  const BufferId items = b.arena(832, 32, DType::f32, {8});
  const auto emit = [&](const char* kernel, std::vector<BufferId> operands,
                        std::vector<int64_t> ints, std::vector<float> floats = {}) {
    b.emit(kernel, operands, ints, floats, kernel);
  };
  emit("copy", {in, a}, {});
  emit("matmul_dynamic", {a, w, kNoBuffer, c}, {8, 8, 8, 8, 1, 8, 1, 0, 0, 0}, {1, 0});
  emit("layer_norm", {c, row, row, a, kNoBuffer, kNoBuffer}, {8, 8, 1, 1, 0}, {1e-5f});
  emit("softmax", {a, c}, {8, 8, 1, 0});
  emit("gather", {c, indices, a}, {1, 8, 8});
  emit("cumsum", {a, c}, {8, 8, 1, 0, 0, 0});
  emit("strided_copy", {c, a}, {4, 2, 0, 0, 8, 8, 1, 8, 8, 1});
  emit("top_k", {a, small, out_indices}, {8, 8, 1, 2, 1});
  emit("dynamic_quantize", {a, bytes, one, byte}, {});
  emit("unique", {row, items, counts, kNoBuffer, counts}, {1, 8, 1, 1, 8});
  emit("trilu", {a, kNoBuffer, c}, {1, 8, 8, 1});
  emit("cast", {bytes, c}, {0});
  emit("copy", {a, out}, {});
  return b;
}

uint64_t largest_count(const program::Program& p) {
  uint64_t most = p.arena_bytes;
  for (const auto* anchors : {&p.inputs, &p.outputs})
    for (const auto& a : *anchors) most = std::max(most, a.bytes());
  for (const auto& in : p.main)
    for (const int64_t i : in.ints) most = std::max(most, static_cast<uint64_t>(std::abs(i)));
  return most;
}

// Inputs and weights are read-only, and all memory ends at a fence: a kernel that writes or reads
// outside its operands ends the test program.
void run(const program::LoadedProgram& loaded) {
  const auto program = std::make_shared<const program::Program>(loaded.program);
  Fenced weights(loaded.weights.size());
  if (!loaded.weights.empty())
    std::memcpy(weights.data(), loaded.weights.data(), loaded.weights.size());
  weights.freeze();
  const auto engine = EmulatedDevice().load(
      {program, {weights.data(), loaded.weights.size()}, nullptr}, LoadOptions{1, false});
  std::vector<std::unique_ptr<Fenced>> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const auto& a : program->inputs) {
    memory.push_back(std::make_unique<Fenced>(a.bytes()));
    for (uint64_t i = 0; i < a.bytes(); i++) memory.back()->data()[i] = std::byte(i * 37);
    memory.back()->freeze();
    inputs.push_back(memory.back()->data());
  }
  for (const auto& a : program->outputs) {
    memory.push_back(std::make_unique<Fenced>(a.bytes()));
    outputs.push_back(memory.back()->data());
  }
  engine->run(Flow::main, inputs.data(), outputs.data());
}

TEST(Device, RunsAcceptedMutationsOfAnExecutable) {
  Builder b = sample();
  std::ostringstream stream;
  program::write_executable(stream, b.program(), b.weight_records());
  const std::string original = stream.str();
  const std::unique_ptr<void, void (*)(void*)> storage(
      std::aligned_alloc(64, (original.size() + 63) / 64 * 64), std::free);
  const std::span<std::byte> payload(static_cast<std::byte*>(storage.get()), original.size());
  std::memcpy(payload.data(), original.data(), original.size());
  const auto whole = program::read_executable(payload, nullptr);
  run(whole);
  // Header and program; the weights are only data.
  const size_t interesting = original.size() - whole.weights.size();
  std::mt19937 random(20);
  int accepted = 0, refused = 0, large = 0;
  for (int i = 0; i < 20000; i++) {
    std::memcpy(payload.data(), original.data(), original.size());
    for (unsigned n = 0; n <= random() % 3; n++) {
      std::byte& at = payload[128 + random() % (interesting - 128)];
      // Small numbers turn one index into another; the rest is damage.
      at = random() % 2 ? static_cast<std::byte>(random() % 20) : static_cast<std::byte>(random());
    }
    try {
      const auto loaded = program::read_executable(payload, nullptr);
      if (largest_count(loaded.program) > (1 << 20)) {
        large++;  // legal, and slow
        continue;
      }
      run(loaded);
      accepted++;
    } catch (const Error& e) {
      refused++;
      ASSERT_TRUE(e.code() == ErrorCode::data_loss || e.code() == ErrorCode::failed_precondition ||
                  e.code() == ErrorCode::invalid_argument || e.code() == ErrorCode::unimplemented ||
                  e.code() == ErrorCode::resource_exhausted)
          << e.what();
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
  EXPECT_LT(large, 2000);
}

}  // namespace
}  // namespace poprt::device

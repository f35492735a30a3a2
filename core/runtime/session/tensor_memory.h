// Memory of tensors with the names of Model Runtime: views of user memory, and owned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

namespace poprt::runtime {

struct TensorMemoryView {
  void* data = nullptr;
  uint64_t bytes = 0;
};

struct ConstTensorMemoryView {
  ConstTensorMemoryView() = default;
  ConstTensorMemoryView(const void* d, uint64_t n) : data(d), bytes(n) {}
  ConstTensorMemoryView(const TensorMemoryView& v) : data(v.data), bytes(v.bytes) {}  // NOLINT

  const void* data = nullptr;
  uint64_t bytes = 0;
};

// Copies share the memory, which is aligned to 64 bytes and not initialised.
class TensorMemory {
 public:
  TensorMemory() = default;
  explicit TensorMemory(uint64_t bytes)
      : bytes_(bytes), data_(::operator new(bytes, std::align_val_t{64}), [](void* p) {
          ::operator delete(p, std::align_val_t{64});
        }) {}

  void* data() const { return data_.get(); }
  uint64_t bytes() const { return bytes_; }
  TensorMemoryView view() const { return {data_.get(), bytes_}; }
  ConstTensorMemoryView const_view() const { return {data_.get(), bytes_}; }

 private:
  uint64_t bytes_ = 0;
  std::shared_ptr<void> data_;
};

using InputMemoryView = std::unordered_map<std::string, ConstTensorMemoryView>;
using OutputMemoryView = std::unordered_map<std::string, TensorMemoryView>;
using OutputMemory = std::unordered_map<std::string, TensorMemory>;

}  // namespace poprt::runtime

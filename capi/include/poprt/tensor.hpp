// Memory of tensors. Each union contains one size under two names: PopRT's and Model Runtime's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

#include "poprt/error.hpp"

namespace model_runtime {

struct TensorMemoryView {
  TensorMemoryView() : data(nullptr) {}
  TensorMemoryView(void* d, uint64_t size) : data(d), dataSizeBytes(size) {}
  void* data;
  union {
    uint64_t dataSizeBytes = 0;
    uint64_t data_size_bytes;
  };
};

struct ConstTensorMemoryView {
  ConstTensorMemoryView() : data(nullptr) {}
  ConstTensorMemoryView(const void* d, uint64_t size) : data(d), dataSizeBytes(size) {}
  ConstTensorMemoryView(const TensorMemoryView& v) : data(v.data), dataSizeBytes(v.dataSizeBytes) {}
  const void* data;
  union {
    uint64_t dataSizeBytes = 0;
    uint64_t data_size_bytes;
  };
};

// Owns its bytes (64-byte aligned, not initialised). Copies share them.
struct TensorMemory {
  TensorMemory() = default;
  explicit TensorMemory(uint64_t size)
      : dataSizeBytes(size), data(::operator new(size, std::align_val_t{64}), [](void* p) {
          ::operator delete(p, std::align_val_t{64});
        }) {}
  TensorMemoryView getView() { return {data.get(), dataSizeBytes}; }
  ConstTensorMemoryView getView() const { return {data.get(), dataSizeBytes}; }
  ConstTensorMemoryView getConstView() const { return {data.get(), dataSizeBytes}; }
  union {
    uint64_t dataSizeBytes = 0;
    uint64_t data_size_bytes;
  };
  std::shared_ptr<void> data;
};

using InputMemoryView = std::unordered_map<std::string, ConstTensorMemoryView>;
using OutputMemoryView = std::unordered_map<std::string, TensorMemoryView>;
using InputMemory = std::unordered_map<std::string, TensorMemory>;
using OutputMemory = std::unordered_map<std::string, TensorMemory>;
using OutputFutureMemory = std::unordered_map<std::string, std::shared_future<TensorMemory>>;
using OutputFutureMemoryView =
    std::unordered_map<std::string, std::shared_future<TensorMemoryView>>;

}  // namespace model_runtime

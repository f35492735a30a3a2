#include "device/emulator/memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace poprt::device {
namespace {

constexpr uint64_t kHugePage = 2 << 20;
constexpr uint64_t kLarge = uint64_t{1} << 30;
constexpr uint64_t kLimit = uint64_t{1} << 40;

}  // namespace

Memory::Memory(uint64_t bytes, const char* what) {
  if (bytes == 0) return;
  if (bytes > kLimit)
    fail(ErrorCode::resource_exhausted, "{}: {} bytes are more than the limit of {}", what, bytes,
         kLimit);
  // Pages are allocated on first access. If the machine does not have enough memory, the process
  // would be killed in the middle of a run.
  struct sysinfo machine{};
  if (bytes >= kLarge && sysinfo(&machine) == 0) {
    const uint64_t there = uint64_t{machine.totalram + machine.totalswap} * machine.mem_unit;
    if (bytes > there)
      fail(ErrorCode::resource_exhausted, "{}: {} bytes are more than the {} of this machine", what,
           bytes, there);
  }
  const bool huge = bytes >= kHugePage;
  map_bytes_ = bytes + (huge ? kHugePage : 0);
  map_ = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    fail(ErrorCode::resource_exhausted, "{}: cannot map {} bytes: {}", what, bytes,
         std::strerror(errno));
  }
  bytes_ = bytes;
  data_ = static_cast<std::byte*>(map_);
  if (huge) {
    const auto address = reinterpret_cast<uintptr_t>(map_);
    data_ += (kHugePage - address % kHugePage) % kHugePage;
    madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // only a hint; may fail
  }
}

Memory::~Memory() {
  if (map_) munmap(map_, map_bytes_);
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      map_(std::exchange(other.map_, nullptr)),
      map_bytes_(std::exchange(other.map_bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(map_, other.map_);
  std::swap(map_bytes_, other.map_bytes_);
  return *this;
}

}  // namespace poprt::device

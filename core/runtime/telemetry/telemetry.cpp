#include "runtime/telemetry/telemetry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "device/runtime_dir.h"
#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::runtime {

using namespace telemetry;

namespace {

// Adds to a counter that has one writer at a time, so it needs no read-modify-write.
void add(Counter& counter, uint64_t n) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

uint64_t nanoseconds(Telemetry::Clock::duration d) noexcept {
  return static_cast<uint64_t>(
      std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(d).count()));
}

template <size_t N>
void copy_name(std::array<char, N>& to, std::string_view name) {
  to.fill(0);
  std::copy_n(name.data(), std::min(name.size(), N - 1), to.data());
}

// A write section of a sequence lock: the sequence is odd during the life of this object. Only one
// thread at a time has such an object: the constructor waits, because one thread may compute while
// another one answers requests.
class SeqlockWrite {
 public:
  explicit SeqlockWrite(telemetry::Replica& r) noexcept
      : replica_(r), sequence_(r.sequence.load(std::memory_order_relaxed)) {
    for (int tries = 0;
         sequence_ % 2 != 0 ||
         !r.sequence.compare_exchange_weak(sequence_, sequence_ + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed);
         tries++) {
      if (tries > 100)
        sched_yield();  // the other thread was interrupted during its few nanoseconds
      sequence_ = r.sequence.load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_release);  // before the changes
  }
  ~SeqlockWrite() {
    // A reader that sees this value also sees the changes before it.
    replica_.sequence.store(sequence_ + 2, std::memory_order_release);
  }
  SeqlockWrite(const SeqlockWrite&) = delete;
  SeqlockWrite& operator=(const SeqlockWrite&) = delete;

 private:
  telemetry::Replica& replica_;
  uint64_t sequence_;
};

// Removes the segments of killed processes.
void remove_stale(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const SegmentName& s : list_segments(folder))
    if (!s.alive) std::filesystem::remove(s.path, ignored);
}

}  // namespace

bool telemetry_wanted() {
  const char* value = std::getenv("POPRT_TELEMETRY");
  return value && *value && std::string_view(value) != "0";
}

std::filesystem::path telemetry_dir() {
  const char* folder = std::getenv("POPRT_TELEMETRY_DIR");
  return device::runtime_dir(folder ? folder : "");
}

Telemetry::Telemetry(std::string_view name, uint32_t replica, uint32_t queues,
                     std::span<const std::string> variants, bool generator)
    : queues_(std::min(queues, kMaxQueues)) {
  variants = variants.first(std::min<size_t>(variants.size(), kMaxVariants));
  const size_t head = sizeof(Header) + sizeof(telemetry::Replica) + sizeof(Queue) * queues_;
  const size_t variants_end = head + sizeof(Variant) * variants.size();
  bytes_ = variants_end + (generator ? sizeof(Generator) : 0);
  static std::atomic<uint64_t> made{0};
  const std::filesystem::path folder = telemetry_dir();
  remove_stale(folder);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto started = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  path_ =
      folder / fmt::format("{}{}.{}.{:x}", kSegmentPrefix, getpid(), made.fetch_add(1), started);
  // The file is locked and complete before it gets the name that readers look for.
  const std::filesystem::path hidden = folder / ("." + path_.filename().string());
  const auto refuse = [&](const char* what) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    unlink(hidden.c_str());
    const bool no_room = error == ENOSPC || error == ENOMEM || error == EFBIG;
    fail(no_room ? ErrorCode::resource_exhausted : ErrorCode::permission_denied,
         "cannot {} telemetry segment '{}': {}", what, path_.string(), std::strerror(error));
  };
  fd_ = open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) refuse("make");
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(fd_, F_OFD_SETLK, &lock) != 0) refuse("lock");
  // Allocates the space now: a full disk must be an error here, not a signal later.
  if (const int error = allocate(fd_, bytes_); error != 0) {
    errno = error;
    refuse("allocate");
  }
  void* const map = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) refuse("map");
  map_ = static_cast<std::byte*>(map);
  Header& h = *new (map_) Header{};
  h.magic = kMagic;
  h.major = kMajor;
  h.minor = kMinor;
  h.header_bytes = sizeof(Header);
  h.replica_bytes = sizeof(telemetry::Replica);
  h.queue_bytes = sizeof(Queue);
  h.queue_count = queues_;
  h.variant_bytes = sizeof(Variant);
  h.variant_count = static_cast<uint32_t>(variants.size());
  h.generator_bytes = generator ? sizeof(Generator) : 0;
  h.histogram_buckets = kBuckets;
  h.replica = replica;
  process_ = getpid();
  h.pid = static_cast<uint64_t>(process_);
  h.started_ns = static_cast<uint64_t>(started);
  copy_name(h.name, name);
  replica_ = new (map_ + sizeof(Header)) telemetry::Replica{};
  for (uint32_t i = 0; i < queues_; i++)
    new (map_ + sizeof(Header) + sizeof(telemetry::Replica) + i * sizeof(Queue)) Queue{};
  for (size_t i = 0; i < variants.size(); i++)
    copy_name((new (map_ + head + i * sizeof(Variant)) Variant{})->name, variants[i]);
  if (!variants.empty())
    variants_ = {std::launder(reinterpret_cast<Variant*>(map_ + head)), variants.size()};
  if (generator) generator_ = new (map_ + variants_end) Generator{};
  if (rename(hidden.c_str(), path_.c_str()) != 0) {
    munmap(map_, bytes_);
    refuse("name");
  }
}

Telemetry::~Telemetry() {
  // The segment of a forked child is that of its parent.
  if (process_ == getpid()) unlink(path_.c_str());
  munmap(map_, bytes_);
  close(fd_);
}

std::unique_ptr<Telemetry> Telemetry::try_make(std::string_view name, uint32_t replica,
                                               uint32_t queues,
                                               std::span<const std::string> variants,
                                               bool generator) noexcept {
  try {
    return std::make_unique<Telemetry>(name, replica, queues, variants, generator);
  } catch (const std::exception& e) {
    try {
      log().warn("no telemetry: {}", e.what());
    } catch (const std::exception&) {  // telemetry must not disturb the session
    }
    return nullptr;
  }
}

void Telemetry::completed(std::chrono::nanoseconds latency) noexcept {
  telemetry::Replica& r = *replica_;
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(0, latency.count()));
  const SeqlockWrite section(r);
  add(r.completed, 1);
  add(r.latency_sum_ns, ns);
  add(r.histogram[bucket_of(ns)], 1);
  if (ns > r.latency_max_ns.load(std::memory_order_relaxed))
    r.latency_max_ns.store(ns, std::memory_order_relaxed);
}

void Telemetry::failed() noexcept {
  const SeqlockWrite section(*replica_);
  add(replica_->failed, 1);
}

void Telemetry::ran(Clock::time_point begin, Clock::time_point end, size_t variant) noexcept {
  telemetry::Replica& r = *replica_;
  const SeqlockWrite section(r);
  if (variant < variants_.size()) {
    add(variants_[variant].runs, 1);
    add(variants_[variant].busy_ns, nanoseconds(end - begin));
  }
  add(r.runs, 1);
  add(r.busy_ns, nanoseconds(end - begin));
  r.updated_ns.store(nanoseconds(end.time_since_epoch()), std::memory_order_relaxed);
}

void Telemetry::name_variant(size_t variant, std::string_view name) noexcept {
  if (variant >= variants_.size() || name.empty()) return;
  std::array<char, kNameBytes>& to = variants_[variant].name;
  std::copy_n(name.data() + 1, std::min(name.size(), kNameBytes - 1) - 1, to.data() + 1);
  std::atomic_thread_fence(std::memory_order_release);  // the first byte makes the name visible
  to[0] = name[0];
}

Queue* Telemetry::name_queue(uint32_t index, std::string_view name, bool is_output,
                             uint64_t capacity) {
  if (index >= queues_) return nullptr;
  auto& q = *std::launder(reinterpret_cast<Queue*>(
      map_ + sizeof(Header) + sizeof(telemetry::Replica) + index * sizeof(Queue)));
  copy_name(q.name, name);
  q.direction = is_output;
  q.capacity = capacity;
  return &q;
}

void Telemetry::add_ring(std::span<const std::pair<std::string_view, bool>> anchors,
                         uint64_t capacity) {
  for (uint32_t i = 0; i < anchors.size(); i++) {
    Queue* const q = name_queue(i, anchors[i].first, anchors[i].second, capacity);
    if (!q) return;
    if (i == 0) ring_ = q;
    q->shares = i == 0 ? 0 : 1;
  }
}

void Telemetry::enqueued(uint64_t fill) noexcept {
  if (!ring_) return;
  add(ring_->enqueued, 1);
  if (fill > ring_->high_water.load(std::memory_order_relaxed))
    ring_->high_water.store(fill, std::memory_order_relaxed);
}

void Telemetry::finished(uint64_t n) noexcept {
  if (ring_ && n) add(ring_->finished, n);
}

void Telemetry::stalled() noexcept {
  if (ring_) add(ring_->stalls, 1);
}

}  // namespace poprt::runtime

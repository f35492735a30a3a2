#include "runtime/telemetry/telemetry_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "base/json.h"

namespace poprt::runtime {

using namespace telemetry;

namespace {

constexpr int kAttempts = 100;
constexpr uint32_t kMaxRecord = 1 << 16;  // maximum size of a record of a later minor version

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    if (fd_ < 0)
      fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied,
           "cannot open telemetry segment '{}': {}", path.string(), std::strerror(errno));
    struct stat info;
    if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      close(fd_);
      throw_broken("it is no file");
    }
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[noreturn]] void throw_broken(std::string_view what) const {
    fail(ErrorCode::data_loss, "'{}' is not a telemetry segment: {}", path_.string(), what);
  }
  // Whether a process holds the publisher's lock.
  bool locked() const {
    struct flock lock{};
    lock.l_type = F_RDLCK;  // the kind of lock that a read-only descriptor may request
    lock.l_whence = SEEK_SET;
    return fcntl(fd_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  }
  void read(uint64_t offset, void* to, size_t bytes) const {
    if (pread(fd_, to, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
      throw_broken("it is too short");
  }

 private:
  const std::filesystem::path& path_;
  const int fd_;
};

// A copy of the record in the file. Its contents are not checked.
struct RawReplica {
  uint64_t sequence, completed, failed, latency_sum_ns, latency_max_ns, runs, busy_ns, updated_ns;
  std::array<uint64_t, kBuckets> histogram;
  uint64_t submitted;
};
static_assert(offsetof(RawReplica, submitted) == offsetof(telemetry::Replica, submitted));
struct RawQueue {
  std::array<char, kNameBytes> name;
  uint64_t direction, capacity, enqueued, high_water, finished, stalls, shares;
};
static_assert(offsetof(RawQueue, shares) == offsetof(Queue, shares));
struct RawVariant {
  std::array<char, kNameBytes> name;
  uint64_t runs, busy_ns;
};
static_assert(offsetof(RawVariant, busy_ns) == offsetof(Variant, busy_ns));
static_assert(sizeof(GeneratorSnapshot) == offsetof(Generator, reserved) &&
              offsetof(GeneratorSnapshot, busy) == offsetof(Generator, busy) &&
              offsetof(GeneratorSnapshot, decode_ns) == offsetof(Generator, decode_ns));

// Names are printed on terminals and in JSON.
std::string printable(const std::array<char, kNameBytes>& name) {
  std::string s(name.data(), strnlen(name.data(), name.size()));
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return s;
}

}  // namespace

std::vector<SegmentName> list_segments(const std::filesystem::path& folder) {
  std::vector<SegmentName> list;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kSegmentPrefix)) continue;
    try {
      list.push_back({it->path(), File(it->path()).locked()});
    } catch (const Error&) {  // removed, or not a segment
    }
  }
  std::sort(list.begin(), list.end(),
            [](const SegmentName& a, const SegmentName& b) { return a.path < b.path; });
  return list;
}

uint64_t TelemetrySnapshot::quantile_ns(double q) const {
  uint64_t total = 0;
  for (const uint64_t n : histogram) total += n;
  if (total == 0) return 0;
  const double wanted = std::ceil(q * static_cast<double>(total));
  uint64_t seen = 0;
  for (size_t i = 0; i < histogram.size(); i++) {
    seen += histogram[i];
    if (static_cast<double>(seen) >= wanted && histogram[i] != 0)
      return i < bucket_of(UINT64_MAX) ? std::min(bucket_begin(i + 1) - 1, latency_max_ns)
                                       : latency_max_ns;
  }
  return latency_max_ns;
}

GeneratorSnapshot GeneratorSnapshot::limited() const {
  constexpr uint64_t kMostSlots = 1 << 16, kMostLength = uint64_t{1} << 32;
  GeneratorSnapshot g = *this;
  g.slots = std::min(g.slots, kMostSlots);
  g.max_length = std::min(g.max_length, kMostLength);
  g.busy = std::min(g.busy, g.slots);
  g.used = std::min(g.used, g.places());
  return g;
}

TelemetrySnapshot read_segment(const std::filesystem::path& path) {
  const File file(path);
  Header h;
  file.read(0, &h, sizeof h);
  if (h.magic != kMagic) file.throw_broken("it has another tag");
  if (h.major != kMajor)
    fail(ErrorCode::failed_precondition,
         "telemetry segment '{}' has version {}.{}, this library reads {}", path.string(), h.major,
         h.minor, kMajor);
  const auto plausible = [](uint32_t bytes, size_t known) {
    return bytes >= known && bytes <= kMaxRecord && bytes % 8 == 0;
  };
  if (!plausible(h.header_bytes, sizeof(Header)) ||
      !plausible(h.replica_bytes, sizeof(telemetry::Replica)) ||
      !plausible(h.queue_bytes, sizeof(Queue)) || h.queue_count > kMaxQueues ||
      h.histogram_buckets != kBuckets || h.variant_count > kMaxVariants ||
      (h.variant_count > 0 && !plausible(h.variant_bytes, sizeof(Variant))) ||
      (h.generator_bytes > 0 && !plausible(h.generator_bytes, sizeof(Generator))))
    file.throw_broken("its sizes make no sense");

  TelemetrySnapshot s;
  s.name = printable(h.name);
  s.pid = h.pid;
  s.started_ns = h.started_ns;
  s.replica = h.replica;
  s.alive = file.locked();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  s.sampled_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());

  RawReplica r;
  const int attempts = s.alive ? kAttempts : 1;  // the record of a dead process does not change
  for (int i = 0; i < attempts && !s.consistent; i++) {
    uint64_t before, after;
    file.read(h.header_bytes, &before, sizeof before);
    file.read(h.header_bytes, &r, sizeof r);
    file.read(h.header_bytes, &after, sizeof after);
    s.consistent = before == after && before % 2 == 0;
  }
  s.submitted = r.submitted;
  s.completed = r.completed;
  s.failed = r.failed;
  // The sequence does not cover `submitted`, so this counter may not agree with the others.
  const uint64_t done = r.completed + r.failed;
  s.in_flight = r.submitted > done ? r.submitted - done : 0;
  s.latency_sum_ns = r.latency_sum_ns;
  s.latency_max_ns = r.latency_max_ns;
  s.runs = r.runs;
  s.busy_ns = r.busy_ns;
  s.histogram = r.histogram;
  const auto read_queue = [&](uint64_t i) {
    RawQueue q;
    file.read(uint64_t{h.header_bytes} + h.replica_bytes + i * h.queue_bytes, &q, sizeof q);
    return q;
  };
  for (uint32_t i = 0; i < h.queue_count; i++) {
    RawQueue q = read_queue(i);
    if (q.capacity == 0) continue;  // not in use
    if (q.shares != 0) {
      if (q.shares > h.queue_count) file.throw_broken("a queue shares the counters of none");
      const RawQueue from = read_queue(q.shares - 1);
      q.enqueued = from.enqueued;
      q.high_water = from.high_water;
      q.finished = from.finished;
      q.stalls = from.stalls;
    }
    s.queues.push_back({printable(q.name), q.direction != 0, q.capacity,
                        q.enqueued > q.finished ? q.enqueued - q.finished : 0, q.high_water,
                        q.enqueued, q.finished, q.stalls});
  }
  const uint64_t queues_end =
      uint64_t{h.header_bytes} + h.replica_bytes + uint64_t{h.queue_count} * h.queue_bytes;
  for (uint32_t i = 0; i < h.variant_count; i++) {
    RawVariant b;
    file.read(queues_end + uint64_t{i} * h.variant_bytes, &b, sizeof b);
    if (b.name[0] != 0) s.variants.push_back({printable(b.name), b.runs, b.busy_ns});
  }
  if (h.generator_bytes > 0) {
    GeneratorSnapshot g;
    file.read(queues_end + uint64_t{h.variant_count} * h.variant_bytes, &g, sizeof g);
    s.generator = g.limited();
  }
  return s;
}

namespace {

nlohmann::ordered_json json_of(const TelemetrySnapshot& s) {
  nlohmann::ordered_json j;
  j["name"] = s.name;
  j["pid"] = s.pid;
  j["replica"] = s.replica;
  j["alive"] = s.alive;
  j["consistent"] = s.consistent;
  j["started_ns"] = s.started_ns;
  j["sampled_ns"] = s.sampled_ns;
  j["requests"] = {{"submitted", s.submitted},
                   {"completed", s.completed},
                   {"failed", s.failed},
                   {"in_flight", s.in_flight}};
  const double elapsed =
      s.sampled_ns > s.started_ns ? static_cast<double>(s.sampled_ns - s.started_ns) : 0;
  j["requests_per_second"] = elapsed > 0 ? static_cast<double>(s.completed) / elapsed * 1e9 : 0;
  j["runs"] = s.runs;
  j["busy_ns"] = s.busy_ns;
  const double mean =
      s.completed ? static_cast<double>(s.latency_sum_ns) / static_cast<double>(s.completed) : 0;
  nlohmann::ordered_json buckets = nlohmann::ordered_json::array();
  for (size_t i = 0; i < s.histogram.size(); i++)
    if (s.histogram[i] != 0) buckets.push_back({bucket_begin(i), s.histogram[i]});
  j["latency_ns"] = {{"mean", mean},
                     {"p50", s.quantile_ns(0.5)},
                     {"p90", s.quantile_ns(0.9)},
                     {"p99", s.quantile_ns(0.99)},
                     {"p99.9", s.quantile_ns(0.999)},
                     {"max", s.latency_max_ns},
                     {"histogram", std::move(buckets)}};
  j["queues"] = nlohmann::ordered_json::array();
  for (const QueueSnapshot& q : s.queues)
    j["queues"].push_back({{"name", q.name},
                           {"direction", q.is_output ? "output" : "input"},
                           {"capacity", q.capacity},
                           {"fill", q.fill},
                           {"high_water", q.high_water},
                           {"enqueued", q.enqueued},
                           {"finished", q.finished},
                           {"stalls", q.stalls}});
  for (const VariantSnapshot& b : s.variants)
    j["branches"].push_back({{"name", b.name}, {"runs", b.runs}, {"busy_ns", b.busy_ns}});
  if (s.generator) {
    const GeneratorSnapshot& g = *s.generator;
    j["generator"] = {{"slots", g.slots},
                      {"busy", g.busy},
                      {"waiting", g.waiting},
                      {"submitted", g.submitted},
                      {"ended", g.ended},
                      {"prompt_tokens", g.prompt_tokens},
                      {"reused_tokens", g.reused_tokens},
                      {"prompt_ns", g.prompt_ns},
                      {"decode_tokens", g.decode_tokens},
                      {"decode_steps", g.decode_steps},
                      {"decode_ns", g.decode_ns},
                      {"max_length", g.max_length},
                      {"places", g.places()},
                      {"used_places", g.used},
                      {"cache_bytes", g.cache_bytes}};
  }
  return j;
}

std::string text(const nlohmann::ordered_json& j) { return json_text(j, 2); }

}  // namespace

std::string to_json(const TelemetrySnapshot& snapshot) { return text(json_of(snapshot)); }

std::string telemetry_json(const std::filesystem::path& folder) {
  auto all = nlohmann::ordered_json::array();
  for (const SegmentName& segment : list_segments(folder)) {
    try {
      all.push_back(json_of(read_segment(segment.path)));
    } catch (const Error&) {  // removed, or not a segment
    }
  }
  return text(all);
}

}  // namespace poprt::runtime

#include "device/device_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/first_use.h"
#include "base/fork_condition.h"
#include "base/fork_mutex.h"
#include "device/emulator/emulator.h"
#include "device/environment.h"
#include "device/process_locks.h"
#include "device/runtime_dir.h"

namespace poprt::device {
namespace {

using Clock = std::chrono::steady_clock;

// The default is larger than the number of devices that a process can use: the devices are
// emulated, so memory is exhausted first, and that error is clear.
constexpr int64_t kDefaultDevices = 16384;
constexpr int64_t kMaxDevices = 1 << 20;
constexpr int64_t kMostIpus = 1024;  // of one device
constexpr int64_t kMaxTiles = 1 << 20;
constexpr auto kShortestSleep = std::chrono::milliseconds(1);

// The IPUs of one folder, or of this process.
struct Pool {
  std::vector<bool> taken;              // indexed by id, up to the highest one tried so far
  size_t first_free = 0;                // this process has taken all lower ids
  std::unique_ptr<ProcessLocks> locks;  // null if the IPUs are not shared

  bool try_take(int64_t id) {
    const auto index = static_cast<size_t>(id);
    if (index >= taken.size()) taken.resize(index + 1);
    if (taken[index] || (locks && !locks->try_lock(id))) return false;
    taken[index] = true;
    while (first_free < taken.size() && taken[first_free]) first_free++;
    return true;
  }
  void give_back(int64_t id) {
    if (static_cast<size_t>(id) >= taken.size()) return;
    if (locks) locks->unlock(id);
    taken[static_cast<size_t>(id)] = false;
    first_free = std::min(first_free, static_cast<size_t>(id));
  }
};

// The devices that are taken. Never destroyed, because devices may be released while the process
// exits.
struct Registry {
  ForkMutex mutex;
  ForkCondition freed;
  std::map<std::string, Pool> pools;  // by folder
  pid_t process = this_process();     // the process that made the pools
  uint64_t renewals = 0;              // of the pools

  // A thread of the parent that had the lock during a fork may have been in the middle of a change.
  // The child then begins with new pools, and the old ones are never destroyed. Requires the lock.
  void renew() {
    if (process == this_process() || !mutex.abandoned()) return;
    static_cast<void>(new std::map<std::string, Pool>(std::move(pools)));
    process = this_process();
    renewals++;
  }
  // The pool of a folder, made by the first call. Throws permission_denied if the file of locks
  // cannot be opened. Requires the lock.
  Pool& pool(const std::string& folder) {
    Pool& p = pools[folder];
    if (!folder.empty() && !p.locks)
      p.locks = std::make_unique<ProcessLocks>(std::filesystem::path(folder) / "devices.lock");
    return p;
  }
};

Registry& registry() {
  static constinit FirstUse<Registry> made;
  return made.get();
}

// `renewals` is the value of the registry when the ids were taken.
void give_back(const std::vector<int64_t>& ids, const std::string& folder,
               uint64_t renewals) noexcept {
  Registry& all = registry();
  {
    const std::lock_guard guard(all.mutex);
    all.renew();
    // The pools of a child may be new; then ids that it inherited are not of them.
    if (all.renewals != renewals) return;
    Pool& pool = all.pools.find(folder)->second;
    for (const int64_t id : ids) pool.give_back(id);
  }
  all.freed.notify_all();
}

std::string text_of(const std::string& given, const char* variable) {
  if (!given.empty()) return given;
  const char* text = std::getenv(variable);
  return text ? text : "";
}

// "0,2-3" -> 0, 2, 3.
std::vector<int64_t> read_ids(std::string_view list, int64_t count) {
  std::vector<int64_t> ids;
  const auto bad = [&] {
    fail(ErrorCode::invalid_argument,
         "visible devices '{}': expected ids from 0 to {} as in '0,2-3'", list, count - 1);
  };
  const char *at = list.data(), *const end = at + list.size();
  const auto number = [&] {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value >= count) bad();
    at = next;
    return value;
  };
  for (;;) {
    const int64_t first = number();
    int64_t last = first;
    if (at != end && *at == '-') {
      at++;
      last = number();
    }
    if (last < first) bad();
    for (int64_t id = first; id <= last; id++) ids.push_back(id);
    if (at == end) break;
    if (*at++ != ',') bad();
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// The properties of all devices of a manager.
constexpr Properties kEmulated{};

void check(const Constraints& c, int64_t visible) {
  if (c.num_ipus < 1 || c.num_ipus > kMostIpus)
    fail(ErrorCode::invalid_argument, "a device has 1 to {} IPUs, requested {}", kMostIpus,
         c.num_ipus);
  if (c.num_ipus > visible)
    fail(ErrorCode::not_found, "a device of {} IPUs was requested, {} IPUs are visible", c.num_ipus,
         visible);
  if (c.ipu_version != 0 && c.ipu_version != kEmulated.ipu_version)
    fail(ErrorCode::not_found, "ipu{} was requested, devices are ipu{}", c.ipu_version,
         kEmulated.ipu_version);
  if (c.min_tiles > kEmulated.tiles_per_ipu)
    fail(ErrorCode::not_found, "{} tiles were requested, devices have {} per IPU", c.min_tiles,
         kEmulated.tiles_per_ipu);
}

// Takes `count` free ids from `candidates`, which must be in ascending order. Returns no ids if
// fewer are free.
std::vector<int64_t> try_take(Pool& pool, std::span<const int64_t> candidates, int64_t count) {
  std::vector<int64_t> taken;
  taken.reserve(static_cast<size_t>(count));
  const auto give_back = [&] {
    for (const int64_t id : taken) pool.give_back(id);
  };
  const auto first = static_cast<int64_t>(pool.first_free);
  try {
    for (auto id = std::ranges::lower_bound(candidates, first); id != candidates.end(); ++id)
      if (pool.try_take(*id)) {
        taken.push_back(*id);
        if (static_cast<int64_t>(taken.size()) == count) return taken;
      }
  } catch (...) {  // no memory for the state of an id
    give_back();
    throw;
  }
  give_back();
  return {};
}

size_t count_free(Pool& pool, std::span<const int64_t> candidates) {
  return static_cast<size_t>(std::ranges::count_if(candidates, [&](int64_t id) {
    if (!pool.try_take(id)) return false;
    pool.give_back(id);
    return true;
  }));
}

std::string busy_message(Pool& pool, std::span<const int64_t> candidates, int64_t wanted,
                         const WaitConfig& wait) {
  std::string s;
  if (candidates.size() == 1)
    s = fmt::format(
        "device {} is busy: free its runner or handle first, or take another (POPRT_DEVICES sets "
        "the number)",
        candidates[0]);
  else if (const size_t free = count_free(pool, candidates); free != 0)
    s = fmt::format(
        "{} of {} devices are not busy, requested {}: free a runner or device, or set "
        "POPRT_DEVICES higher",
        free, candidates.size(), wanted);
  else
    s = fmt::format("all {} devices are busy: free a runner or device, or set POPRT_DEVICES higher",
                    candidates.size());
  if (pool.locks)
    for (const int64_t id : candidates)
      if (const pid_t owner = pool.locks->owner(id); owner != 0)
        s += fmt::format("; process {} has device {}", owner, id);
  if (wait.strategy == WaitStrategy::wait_with_timeout)
    s += fmt::format(" (after {:.3f} s)", std::chrono::duration<double>(wait.timeout).count());
  return s;
}

}  // namespace

DeviceManager::DeviceManager(const ManagerConfig& config) {
  int64_t count = config.device_count;
  if (count == 0)
    count = environment_int("POPRT_DEVICES", 1, kMaxDevices).value_or(kDefaultDevices);
  if (count < 1 || count > kMaxDevices)
    fail(ErrorCode::invalid_argument, "device count must be 1 to {}, given {}", kMaxDevices, count);
  const std::string shared = text_of(config.shared, "POPRT_SHARED_DEVICES");
  if (!shared.empty() && shared != "0") {
    try {
      folder_ = runtime_dir(shared == "1" ? std::string() : shared).string();
    } catch (Error& e) {
      if (config.shared.empty()) e.add_context("POPRT_SHARED_DEVICES=" + shared);
      throw;
    }
  }
  const std::string visible = text_of(config.visible, "POPRT_VISIBLE_DEVICES");
  if (!visible.empty()) {
    ids_ = read_ids(visible, count);
  } else {
    ids_.resize(static_cast<size_t>(count));
    std::iota(ids_.begin(), ids_.end(), int64_t{0});
  }
}

std::shared_ptr<Device> DeviceManager::take(const Constraints& constraints, const WaitConfig& wait,
                                            std::span<const int64_t> candidates) const {
  if (wait.timeout < WaitConfig::Duration::zero() || wait.sleep_time < WaitConfig::Duration::zero())
    fail(ErrorCode::invalid_argument, "the timeout and sleep time of a wait are not negative");
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  r.renew();
  Pool& pool = r.pool(folder_);
  const auto start = Clock::now();
  std::vector<int64_t> ids;
  for (;;) {
    ids = try_take(pool, candidates, constraints.num_ipus);
    if (!ids.empty()) break;
    auto sleep = std::max<WaitConfig::Duration>(wait.sleep_time, kShortestSleep);
    if (wait.strategy == WaitStrategy::wait_with_timeout) {
      const auto left = wait.timeout - (Clock::now() - start);
      if (left <= WaitConfig::Duration::zero())
        fail(ErrorCode::unavailable, "{}",
             busy_message(pool, candidates, constraints.num_ipus, wait));
      sleep = std::min<WaitConfig::Duration>(sleep, left);
    } else if (wait.strategy == WaitStrategy::no_wait) {
      fail(ErrorCode::unavailable, "{}",
           busy_message(pool, candidates, constraints.num_ipus, wait));
    }
    r.freed.wait_until(lock,
                       Clock::now() + std::min<WaitConfig::Duration>(sleep, std::chrono::hours(1)));
  }
  const uint64_t renewals = r.renewals;
  // The deleter locks the mutex, and a shared pointer that cannot be made calls it.
  lock.unlock();
  std::unique_ptr<Device> device;
  std::function<void(Device*)> release;
  try {
    release = [ids, folder = folder_, renewals](Device* taken) {
      delete taken;
      give_back(ids, folder, renewals);
    };
    device = std::make_unique<EmulatedDevice>(ids, kEmulated);
  } catch (...) {
    give_back(ids, folder_, renewals);
    throw;
  }
  return {device.release(), std::move(release)};
}

std::shared_ptr<Device> DeviceManager::get_device(const Constraints& constraints,
                                                  const WaitConfig& wait) const {
  check(constraints, device_count());
  return take(constraints, wait, ids_);
}

std::shared_ptr<Device> DeviceManager::get_device(int64_t num_ipus, const WaitConfig& wait) const {
  Constraints constraints;
  constraints.num_ipus = num_ipus;
  return get_device(constraints, wait);
}

std::shared_ptr<Device> DeviceManager::get_specific_device(int64_t id, const WaitConfig& wait,
                                                           const Constraints& constraints) const {
  check(constraints, device_count());
  const auto first = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (first == ids_.end() || *first != id)
    fail(ErrorCode::not_found, "there is no visible device {}: ids are {}", id,
         ids_.back() - ids_.front() + 1 == device_count()
             ? fmt::format("{} to {}", ids_.front(), ids_.back())
             : fmt::format("{}", fmt::join(ids_, ", ")));
  if (ids_.end() - first < constraints.num_ipus)
    fail(ErrorCode::not_found, "{} IPUs from device {} on were requested, {} are visible",
         constraints.num_ipus, id, ids_.end() - first);
  return take(constraints, wait, {first, first + constraints.num_ipus});
}

std::shared_ptr<Device> DeviceManager::create_ipu_model_device(int64_t num_ipus, int ipu_version,
                                                               int64_t tiles_per_ipu) const {
  Properties p;
  p.ipu_version = ipu_version;
  p.ipu_model = true;
  switch (ipu_version) {
    case 1: p.tiles_per_ipu = 1216; break;
    case 2:
    case 21: p.tiles_per_ipu = 1472; break;
    default:
      fail(ErrorCode::invalid_argument, "IPU versions are 1, 2 and 21, given {}", ipu_version);
  }
  if (num_ipus < 1 || num_ipus > kMostIpus)
    fail(ErrorCode::invalid_argument, "a device has 1 to {} IPUs, requested {}", kMostIpus,
         num_ipus);
  if (tiles_per_ipu < 0 || tiles_per_ipu > kMaxTiles)
    fail(ErrorCode::invalid_argument, "an IPU has 1 to {} tiles, requested {}", kMaxTiles,
         tiles_per_ipu);
  if (tiles_per_ipu != 0) p.tiles_per_ipu = tiles_per_ipu;
  return std::make_shared<EmulatedDevice>(std::vector<int64_t>(static_cast<size_t>(num_ipus), -1),
                                          p);
}

}  // namespace poprt::device

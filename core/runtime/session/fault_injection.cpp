#include "runtime/session/fault_injection.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace poprt::runtime {
namespace {

constexpr std::string_view kClasses[] = {"application_runtime_error", "recoverable_runtime_error",
                                         "unrecoverable_runtime_error", "unknown_runtime_error",
                                         "runtime_error"};
constexpr std::string_view kActions[] = {"NONE", "IPU_RESET", "LINK_RESET", "PARTITION_RESET",
                                         "FULL_RESET"};

template <class T>
T number(std::string_view text, std::string_view fault) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorCode::invalid_argument, "fault '{}': '{}' is no number", fault, text);
  return value;
}

template <class Enum, size_t N>
Enum find(const std::string_view (&names)[N], std::string_view text, std::string_view fault) {
  std::string known;
  for (size_t i = 0; i < N; i++) {
    if (names[i] == text) return static_cast<Enum>(i);
    known += fmt::format("{}{}", i ? ", " : "", names[i]);
  }
  fail(ErrorCode::invalid_argument, "fault '{}': '{}' is none of {}", fault, text, known);
}

Fault parse(std::string_view text) {
  const std::string_view all = text;
  Fault fault;
  for (size_t mark; (mark = text.find_last_of("@*/")) != std::string_view::npos;) {
    const std::string_view value = text.substr(mark + 1);
    if (text[mark] == '@') fault.at = number<uint64_t>(value, all);
    if (text[mark] == '*') fault.count = number<uint64_t>(value, all);
    if (text[mark] == '/') fault.replica = number<int>(value, all);
    text = text.substr(0, mark);
  }
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view detail =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (name == "slow") {
    fault.delay = std::chrono::nanoseconds(number<int64_t>(detail, all));
    return fault;
  }
  fault.error.emplace();
  fault.error->error = find<DeviceErrorClass>(kClasses, name, all);
  if (!detail.empty()) fault.error->action = find<RecoveryAction>(kActions, detail, all);
  return fault;
}

}  // namespace

std::string_view device_error_name(DeviceErrorClass error) {
  return kClasses[static_cast<size_t>(error)];
}

std::string_view recovery_action_name(RecoveryAction action) {
  return kActions[static_cast<size_t>(action)];
}

ErrorCode DeviceError::code() const {
  switch (error) {
    case DeviceErrorClass::application_runtime_error: return ErrorCode::aborted;
    case DeviceErrorClass::recoverable_runtime_error: return ErrorCode::unavailable;
    case DeviceErrorClass::unrecoverable_runtime_error: return ErrorCode::internal;
    case DeviceErrorClass::unknown_runtime_error: return ErrorCode::unknown;
    case DeviceErrorClass::runtime_error: break;
  }
  return ErrorCode::failed_precondition;
}

std::string DeviceError::message(int replica, bool auto_reset) const {
  std::string text(device_error_name(error));
  if (action != RecoveryAction::none) text += fmt::format(" ({})", recovery_action_name(action));
  text += fmt::format(" on replica {}: ", replica);
  if (resettable() && auto_reset)
    text += "the IPU is reset before the next request";
  else if (resettable())
    text += "make a new runner, or set auto_reset";
  else if (error == DeviceErrorClass::recoverable_runtime_error)
    text += "the recovery action must be taken by hand, then make a new runner";
  else
    text += "the device needs attention, then make a new runner";
  return text;
}

FaultInjector::FaultInjector(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find(';');
    if (end != 0) add(parse(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

std::shared_ptr<FaultInjector> FaultInjector::from_environment() {
  const char* text = std::getenv("POPRT_INJECT_FAULTS");
  return text && *text ? std::make_shared<FaultInjector>(text) : nullptr;
}

void FaultInjector::add(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned()) return;
  faults_.push_back(fault);
}

void FaultInjector::add_random(uint64_t seed, uint32_t per_million, DeviceError error) {
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned()) return;
  random_.push_back({seed, per_million, error});
}

std::optional<DeviceError> FaultInjector::before_run(int replica) {
  std::optional<DeviceError> result;
  std::chrono::nanoseconds delay{0};
  {
    const std::lock_guard lock(mutex_);
    if (mutex_.abandoned()) return std::nullopt;
    const auto index = static_cast<size_t>(replica);
    if (runs_.size() <= index) runs_.resize(index + 1);
    const uint64_t mine = ++runs_[index], all = ++all_runs_;
    for (const Fault& f : faults_) {
      const uint64_t run = f.replica < 0 ? all : mine;
      if ((f.replica >= 0 && f.replica != replica) || run < f.at || run - f.at >= f.count) continue;
      delay += f.delay;
      if (f.error) result = f.error;
    }
    for (Random& r : random_) {
      // splitmix64: https://prng.di.unimi.it/splitmix64.c (public domain)
      uint64_t z = r.state += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      if ((z ^ (z >> 31)) % 1'000'000 < r.per_million) result = r.error;
    }
  }
  if (delay.count() > 0) std::this_thread::sleep_for(delay);
  return result;
}

uint64_t FaultInjector::runs() const {
  const std::lock_guard lock(mutex_);
  return all_runs_;
}

}  // namespace poprt::runtime

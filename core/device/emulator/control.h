// Conditional and repeated regions during a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "program/control.h"

namespace poprt::device {

// One control instruction: an end of a conditional or repeated region, or one of a shard or
// transfer, which steer() ignores (program/control.h).
struct Region {
  program::Control kind = program::Control::end;
  size_t other = 0;       // position of the other end
  bool when = false;      // for if_region
  uint32_t number = 0;    // for case_region
  bool parallel = false;  // for case_region: whether other threads are worth waking
  int64_t most = 0;       // for loop, as in program::ControlLoop
  bool limit = false;
  Region* begin = nullptr;  // for an end: the begin of its region
  void* const* data = nullptr;
  std::string_view name;  // of the instruction
  // The state of a running loop; only run() writes it.
  int64_t round = 0, rounds = 0, count = 0;
};

// steer() returns it if the run fails.
inline constexpr size_t kFailed = SIZE_MAX;

inline bool wants_round(const Region& loop) noexcept {
  const auto* condition = static_cast<const uint8_t*>(loop.data[1]);
  return !condition || *condition != 0;
}

// Whether another round begins. Writes the index of the round.
inline bool next_round(const Region& loop) noexcept {
  std::memcpy(loop.data[2], &loop.round, sizeof loop.round);
  return loop.round < loop.rounds && wants_round(loop);
}

// Whether only the limit has ended the loop.
inline bool exceeds_limit(const Region& loop) noexcept {
  return loop.limit && loop.round >= loop.most && loop.round < loop.count && wants_round(loop);
}

// The error of a loop that exceeds its limit.
inline Error limit_error(const Region& loop) {
  if (loop.most == 0)
    return {
        ErrorCode::invalid_argument,
        fmt::format("loop '{}' never ends: no trip count bounds it, and its condition stays true",
                    loop.name)};
  return {ErrorCode::resource_exhausted,
          fmt::format("loop '{}' runs more rounds than {}, the bound that it is compiled for",
                      loop.name, loop.most)};
}

// Returns the position before the next instruction to run, or kFailed.
inline size_t steer(Region& region, size_t position) noexcept {
  switch (region.kind) {
    case program::Control::if_region:
      return (*static_cast<const uint8_t*>(region.data[0]) != 0) == region.when ? position
                                                                                : region.other;
    case program::Control::case_region: {
      uint32_t index;
      std::memcpy(&index, region.data[0], sizeof index);
      return index == region.number ? position : region.other;
    }
    case program::Control::loop: {
      region.round = 0;
      region.count = program::kEveryRound;
      if (region.data[0]) std::memcpy(&region.count, region.data[0], sizeof region.count);
      region.rounds = std::min(region.most, region.count);
      if (next_round(region)) return position;
      return exceeds_limit(region) ? kFailed : region.other;
    }
    case program::Control::shard:
    case program::Control::transfer: return position;
    case program::Control::end: break;
  }
  Region& begin = *region.begin;
  if (begin.kind != program::Control::loop) return position;
  begin.round++;
  if (next_round(begin)) return region.other;
  return exceeds_limit(begin) ? kFailed : position;
}

}  // namespace poprt::device

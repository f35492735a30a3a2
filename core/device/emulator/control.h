// Conditional and repeated regions during a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "program/control.h"

namespace poprt::device {

// One end of a conditional or repeated region (program/control.h).
struct Region {
  program::Control kind = program::Control::end;
  size_t other = 0;         // position of the other end
  bool when = false;        // for branch
  uint32_t number = 0;      // for choice
  bool parallel = false;    // for choice: whether other threads are worth waking
  int64_t most = 0;         // for loop
  Region* begin = nullptr;  // for an end: the begin of its region
  void* const* data = nullptr;
  // The state of a running loop; only run() writes it.
  int64_t round = 0, rounds = 0;
};

// Whether another round begins; then it writes the index of the round. `left` is the number of
// rounds that all loops of this run may still begin.
inline bool next_round(Region& loop, int64_t& left) noexcept {
  const auto* condition = static_cast<const uint8_t*>(loop.data[1]);
  const bool more = left > 0 && loop.round < loop.rounds && (!condition || *condition != 0);
  if (more) left--;
  std::memcpy(loop.data[2], &loop.round, sizeof loop.round);
  return more;
}

// Returns the position before the next instruction to run.
inline size_t steer(Region& region, size_t position, int64_t& left) noexcept {
  switch (region.kind) {
    case program::Control::branch:
      return (*static_cast<const uint8_t*>(region.data[0]) != 0) == region.when ? position
                                                                                : region.other;
    case program::Control::choice: {
      uint32_t index;
      std::memcpy(&index, region.data[0], sizeof index);
      return index == region.number ? position : region.other;
    }
    case program::Control::loop: {
      region.rounds = region.most;
      region.round = 0;
      if (region.data[0]) {
        int64_t count;
        std::memcpy(&count, region.data[0], sizeof count);
        region.rounds = std::min(region.rounds, count);
      }
      return next_round(region, left) ? position : region.other;
    }
    case program::Control::shard:
    case program::Control::transfer: return position;
    case program::Control::end: break;
  }
  if (region.begin->kind != program::Control::loop) return position;
  region.begin->round++;
  return next_round(*region.begin, left) ? region.other : position;
}

}  // namespace poprt::device

#include "ipu/exchange.h"

#include "ipu/calibration.h"

namespace poprt::ipu {
namespace {

// Bytes per cycle and tile.
double rate_of(const Target& target, bool shared) {
  return static_cast<double>(target.exchange_bytes) * (shared ? 2 : 1) *
         calibration().exchange_efficiency;
}

}  // namespace

int64_t exchange_cycles(const Target& target, int64_t bytes, bool shared, int64_t peers) {
  if (bytes <= 0) return 0;
  const double rate = rate_of(target, shared);
  return static_cast<int64_t>(static_cast<double>(bytes) / rate + 0.5) +
         fragment_cycles(bytes, peers);
}

int64_t bytes_in_exchange(const Target& target, int64_t cycles, bool shared) {
  return static_cast<int64_t>(static_cast<double>(cycles) * rate_of(target, shared) + 0.5);
}

int64_t fragment_cycles(int64_t bytes, int64_t peers) {
  constexpr int64_t kShort = 64 * 4;
  if (peers < 2 || bytes / peers >= kShort) return 0;
  return (peers - 1) * static_cast<int64_t>(calibration().fragment);
}

}  // namespace poprt::ipu

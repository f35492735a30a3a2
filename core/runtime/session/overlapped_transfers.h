// A session's loop over the batches of a step if transfers overlap with the computation. Only files
// of the session include it.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "runtime/session/io_overlap.h"
#include "runtime/session/session.h"

namespace poprt::runtime {

// Here an item of IoOverlap is one transfer of every stream, in memory of its slot. Requires the
// session's run_mutex_.
class Session::OverlappedTransfers final : public IoOverlap::Work {
 public:
  explicit OverlappedTransfers(Session& session);
  bool possible() const noexcept;  // whether all callbacks allow it
  void begin();         // begins a run: determines which streams have callbacks, and their memory
  void end() noexcept;  // ends a run that failed

  void load(uint64_t item) override;
  void compute(uint64_t item) override;
  void store(uint64_t item) override;
  void interrupt() noexcept override;

 private:
  struct Slot {
    // For streams with a callback, and for seeds.
    std::vector<TensorMemory> input_memory, output_memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    Telemetry::Clock::time_point loaded;
  };
  Slot& slot(uint64_t item) { return slots_[item % IoOverlap::kSlots]; }
  static bool is_called(const Stream& s) { return s.callback && s.served; }

  Session& session_;
  std::array<Slot, IoOverlap::kSlots> slots_;
  std::atomic<bool> interrupted_{false};
  uint64_t begun_ = 0, answered_ = 0;  // transfers of the current run
};

}  // namespace poprt::runtime

// A session's loop over the batches of a step when transfers overlap with the computation. Included
// by the session's own files only.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "runtime/session/io_overlap.h"
#include "runtime/session/session.h"

namespace poprt::runtime {

// What an item of IoOverlap is here: a transfer of every stream, in memory of its slot. With the
// session's run_mutex_.
class Session::OverlappedTransfers final : public IoOverlap::Work {
 public:
  explicit OverlappedTransfers(Session& session);
  bool possible() const noexcept;  // all callbacks allow it
  void begin();                    // of a run: which streams have callbacks, and their memory
  void end() noexcept;             // of a run that failed

  void load(uint64_t item) override;
  void compute(uint64_t item) override;
  void store(uint64_t item) override;
  void interrupt() noexcept override;

 private:
  struct Slot {
    std::vector<TensorMemory> input_memory, output_memory;  // of streams with a callback, and seeds
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    Telemetry::Clock::time_point loaded;
  };
  Slot& slot(uint64_t item) { return slots_[item % IoOverlap::kSlots]; }
  static bool is_called(const Stream& s) { return s.callback && s.served; }

  Session& session_;
  std::array<Slot, IoOverlap::kSlots> slots_;
  std::atomic<bool> interrupted_{false};
  uint64_t begun_ = 0, answered_ = 0;  // transfers of a run
};

}  // namespace poprt::runtime

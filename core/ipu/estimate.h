// The estimate of a program on a chip: cycles, memory, host transfers and throughput.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ipu/memory.h"
#include "ipu/program.h"

namespace poprt::ipu {

// How well a number is known (docs/chip.md).
enum class Trust : uint8_t { calibrated, checked, unchecked };
std::string_view trust_name(Trust trust);

// The most bytes that the host buffers for one stream.
inline constexpr int64_t kStreamBytes = int64_t{128} << 20;

// The trust in a number, and the error that was measured for numbers of its class.
struct Quality {
  Trust trust = Trust::unchecked;
  std::string_view error;
};

struct Estimate {
  Target target;
  ChipOptions options;
  ChipProgram program;
  std::vector<TileMemory> memory;  // by IPU

  int64_t cycles = 0;  // of the device for one batch
  int64_t compute_cycles = 0, exchange_cycles = 0, sync_cycles = 0, overhead_cycles = 0;
  int64_t io_cycles = 0;  // of copies between I/O tiles and others, and syncs of streams
  int64_t inter_ipu_cycles = 0;
  std::vector<int64_t> stage_cycles;  // by IPU
  // With pipelining, P stages work on G batches of a step in P - 1 rounds that fill the pipeline,
  // G - (P - 1) main rounds and P - 1 that drain it. A round takes as long as the slowest stage.
  int64_t stages = 1;           // IPUs with operations
  int64_t pipeline_rounds = 0;  // of one step; 0 without pipelining
  int64_t flops = 0;
  double host_seconds = 0;                // of the transfers of one batch, on the shared link
  double fill_seconds = 0;                // the time of the host to prepare the inputs of a batch
  double wait_seconds = 0;                // the part of fill_seconds for which the chip waits
  int64_t stream_bytes = 0;               // of the stream that needs most, with all its buffers
  int64_t stream_buffers = 1;             // of that stream
  double period_seconds = 0;              // from batch to batch in the steady state
  double latency_seconds = 0;             // of one batch that runs alone
  double throughput = 0;                  // samples per second
  double tile_balance = 0;                // average use of the tiles while they compute
  std::vector<std::string> without_rule;  // operators, each once

  Quality cycle_quality, memory_quality, host_quality;

  // Whether the tiles have enough memory, and the host has room for the buffers of every stream.
  bool fits() const;
  bool tiles_fit() const;
  bool streams_fit() const;
  // Whether it fits, but an IPU is borderline.
  bool borderline() const;
  double milliseconds() const { return 1e3 * target.seconds(static_cast<double>(cycles)); }
  double utilization() const;    // of the AMP at half precision
  int64_t tile_bytes() const;    // of the busiest tile, without gaps
  int64_t needed_bytes() const;  // of the busiest tile, with gaps
};

// "does not fit", "fits, borderline" or "fits".
std::string_view verdict(bool fits, bool borderline);

// Computes the estimate of a program whose operations are assigned to IPUs.
Estimate estimate_of(ChipProgram program, const Target& target, const ChipOptions& options);

// Assigns operations to IPUs in the order of the program, so that each IPU has an equal part of the
// load: of the bytes of weights and of the cycles. The bytes count more if memory is scarce.
void assign_ipus(ChipProgram& program, const Target& target, const ChipOptions& options);

}  // namespace poprt::ipu
